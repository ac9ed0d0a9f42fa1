#include "costate/io/text/toml_document.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"

namespace costate::io {
namespace {

std::string message(const std::string& text) {
  try {
    const TomlDocument document(text, "f.toml");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(TomlDocument, TablesKeepTheOrderOfTheFile) {
  const TomlDocument d("[state]\nz = 1\na = 2.5\nm = 3\n", "f.toml");
  EXPECT_EQ(d.root().find("state")->keys, (std::vector<std::string>{"z", "a", "m"}));
  EXPECT_EQ(d.root().find("state")->find("a")->number, 2.5);
  EXPECT_TRUE(d.root().find("state")->find("z")->whole);
}

TEST(TomlDocument, ValuesKnowWhereTheirTextBegins) {
  const TomlDocument d("a = \"x\"\nb = '''\ny'''\nc = \"\\u0061\"\n", "f.toml");
  const TomlValue& a = *d.root().find("a");
  EXPECT_EQ(a.text_place.line, 1);
  EXPECT_EQ(a.text_place.column, 6);
  const TomlValue& b = *d.root().find("b");
  EXPECT_EQ(b.text, "y");
  EXPECT_EQ(b.text_place.line, 3);
  EXPECT_EQ(b.text_place.column, 1);
  EXPECT_TRUE(b.text_is_verbatim);
  EXPECT_FALSE(d.root().find("c")->text_is_verbatim);
}

TEST(TomlDocument, AMistakeIsShownWithItsLineAndACaret) {
  const TomlDocument d("a = 1\n  b = \"x + y\"\n", "f.toml");
  try {
    d.fail({2, 12}, "unknown name 'y'", "did you mean 'x'?");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "f.toml:2:12: unknown name 'y'\n"
                 "    b = \"x + y\"\n"
                 "             ^\n"
                 "  did you mean 'x'?");
  }
}

TEST(TomlDocument, CaretsCountCharactersNotBytes) {
  const TomlDocument d("# \xC3\xA4\xC3\xB6 x\n", "f.toml");
  try {
    d.fail({1, 6}, "here");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f.toml:1:6: here\n  # \xC3\xA4\xC3\xB6 x\n       ^");
  }
}

TEST(TomlDocument, SyntaxErrorsHaveAPlace) {
  EXPECT_EQ(message("a = 1\nb = = 2\n").substr(0, 11), "f.toml:2:5:");
  EXPECT_EQ(message("a = 1\na = 2\n").substr(0, 11), "f.toml:2:5:");
}

TEST(TomlDocument, WhatTheParserAssertsIsAMistakeWithALine) {
  EXPECT_EQ(message("a = 1\n[=]\nb = 2\n").substr(0, 27), "f.toml:2:1: this is not TOM");
  EXPECT_EQ(message("[=").substr(0, 11), "f.toml:1:1:");
}

TEST(TomlDocument, NamesAreAsciiAndStringsAndCommentsAreNot) {
  EXPECT_EQ(message("a = 1\n\xC3\xA4 = 3\n").substr(0, 11), "f.toml:2:1:");
  EXPECT_EQ(message("a = [0.\"\"\"5.\xD0\xA2}\n").substr(0, 9), "f.toml:1:");
  const TomlDocument d("\xEF\xBB\xBF# \xC3\xA4\na = \"\xC3\xA4@\xE2\x82\xAC!\"  # \xC3\xA4\n", "f.toml");
  EXPECT_EQ(d.root().find("a")->text, "\xC3\xA4@\xE2\x82\xAC!");
}

TEST(TomlDocument, TextThatIsNotUtf8IsRefusedWhereItIsNot) {
  EXPECT_EQ(message("a = 1\nb = \"\xC3\xA4\xFF\"\n").substr(0, 29), "f.toml:2:7: this is not UTF-8");
  EXPECT_NE(message("\xC3"), "");
}

TEST(TomlDocument, DepthIsBounded) {
  std::string dotted = "a";
  for (int i = 0; i < 100000; ++i) dotted += ".a";
  EXPECT_NE(message(dotted + " = 1").find("more than 64 parts"), std::string::npos);
  EXPECT_NE(message("[" + dotted + "]").find("more than 64 parts"), std::string::npos);
  EXPECT_NE(message("x = " + std::string(100, '[') + std::string(100, ']')).find("nested"),
            std::string::npos);
  EXPECT_FALSE(message("x = " + std::string(100000, '[')).empty());
  EXPECT_NE(message(std::string(kMaxFileSize + 1, '#')).find("limit"), std::string::npos);
}

TEST(TomlDocument, DotsInsideStringsNumbersAndCommentsDoNotCount) {
  const std::string dots(200, '.');
  EXPECT_EQ(message("a = \"" + dots + "\"\nb = '" + dots + "'\n# " + dots + "\nc = '''\n" + dots + "'''\n"),
            "");
  std::string numbers = "a = [0.5";
  for (int i = 0; i < 200; ++i) numbers += ", 0.5";
  EXPECT_EQ(message(numbers + "]"), "");
}

}  // namespace
}  // namespace costate::io
