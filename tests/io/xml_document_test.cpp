#include "costate/io/text/xml_document.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/io/text/xml_attributes.h"

namespace costate::io {
namespace {

std::string no_files(const std::string& path) {
  throw Error({"cannot read the file '" + path + "'", path, {}});
}

template <class Action>
std::string message(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string message_of(const std::string& text) {
  return message([&] { parse_xml(text, "f.xml", no_files); });
}

TEST(XmlDocument, ElementsAndAttributesKnowTheirLines) {
  const XmlElement root = parse_xml("<a>\n  <b x='1'\n     y='2'/>\n</a>", "f.xml", no_files);
  ASSERT_EQ(root.children.size(), 1u);
  EXPECT_EQ(root.children[0].where(), "f.xml:2");
  EXPECT_EQ(*root.children[0].find("y"), "2");
  EXPECT_EQ(root.children[0].find("z"), nullptr);
  EXPECT_EQ(root.children[0].attributes[1].place.text(), "f.xml:3");
}

TEST(XmlDocument, MistakesSayWhatIsWrongAndWhere) {
  EXPECT_EQ(message_of("<a>\n<b>\n</a>"), "f.xml:2: an element is not closed, or closed by another name");
  EXPECT_EQ(message_of("<a x=1/>"),
            "f.xml:1: an attribute is not written as name=\"value\", or is there twice");
  EXPECT_EQ(message_of("<a/>\n<b/>"), "f.xml:2: a second root element <b>\n  a file has one root");
  EXPECT_EQ(message_of(""), "f.xml: there is no element in the file");
  EXPECT_EQ(message_of("<!-- -->"), "f.xml: there is no element in the file");
  EXPECT_EQ(message_of(std::string("<a/>\0", 5)), "f.xml: the file is not text: it has a zero byte");
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "<a>";
  EXPECT_NE(message_of(deep).find("elements are nested too deeply"), std::string::npos);
}

TEST(XmlDocument, AFileIsIncludedOnceAndInPlace) {
  const FileReader files = [](const std::string& path) {
    return path == "d/part.xml" ? std::string("<p>\n<x/><y/></p>")
                                : std::string("<p><include file='part.xml'/></p>");
  };
  const XmlElement root = parse_xml("<a><include file='more.xml'/><z/></a>", "d/f.xml", files);
  ASSERT_EQ(root.children.size(), 3u);
  EXPECT_EQ(root.children[0].name, "x");
  EXPECT_EQ(root.children[0].where(), "d/part.xml:2");
  EXPECT_EQ(root.children[2].name, "z");
  const std::string twice = message(
      [&] { parse_xml("<a>\n<include file='part.xml'/><include file='more.xml'/></a>", "d/f.xml", files); });
  EXPECT_EQ(twice,
            "d/more.xml:1: the file 'd/part.xml' is included twice\n  a file may be included only once");
  EXPECT_EQ(message_of("<a>\n<include file='gone.xml'/></a>"), "f.xml:2: cannot read the file 'gone.xml'");
}

TEST(XmlAttributes, ReadNumbersWordsAndSwitches) {
  const XmlElement e =
      parse_xml("<e n='2.5' v=' 1 +2\t-3e1 ' i='7' t='true' a='auto' w='two'/>", "f.xml", no_files);
  XmlAttributes a(e);
  double n = 0;
  Vec3<double> v{0, 0, 0};
  int i = 0, w = 0;
  bool t = false;
  std::optional<bool> automatic = true;
  a.read("n", n);
  a.read("v", v);
  a.read("i", i);
  a.read("t", t);
  a.read("a", automatic);
  a.choose("w", w, {{"one", 1}, {"two", 2}});
  a.finish();
  EXPECT_EQ(n, 2.5);
  EXPECT_EQ(v.z, -30);
  EXPECT_EQ(i, 7);
  EXPECT_TRUE(t);
  EXPECT_FALSE(automatic.has_value());
  EXPECT_EQ(w, 2);
}

TEST(XmlAttributes, WhatNobodyAskedForIsUnknown) {
  const XmlElement e = parse_xml("<e dampin='1'/>", "f.xml", no_files);
  EXPECT_EQ(message([&] {
              XmlAttributes a(e);
              double damping = 0;
              a.read("damping", damping);
              a.finish();
            }),
            "f.xml:1: <e> has no attribute 'dampin'\n  did you mean 'damping'?");
}

TEST(XmlAttributes, NumbersAreChecked) {
  const auto read = [](const std::string& value) {
    const XmlElement e = parse_xml("<e x='" + value + "'/>", "f.xml", no_files);
    return message([&] {
      XmlAttributes a(e);
      int whole = 0;
      a.read("x", whole);
    });
  };
  EXPECT_EQ(read("1"), "no error");
  EXPECT_EQ(read("1.5"), "f.xml:1: attribute 'x' of <e> must be a whole number");
  EXPECT_EQ(read("1 2"), "f.xml:1: attribute 'x' of <e> has more than 1 number");
  EXPECT_EQ(read(""), "f.xml:1: attribute 'x' of <e> has 0 instead of 1 number");
  EXPECT_EQ(read("1e999"), "f.xml:1: attribute 'x' of <e> '1e999' is too large or not finite");
  EXPECT_EQ(read("inf"), "f.xml:1: attribute 'x' of <e> 'inf' is too large or not finite");
  EXPECT_EQ(read("0x10"), "f.xml:1: attribute 'x' of <e> '0x10' is not a number");
}

}  // namespace
}  // namespace costate::io
