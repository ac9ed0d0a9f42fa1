#include "costate/md/io/structure.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/expect_error.h"
#include "tests/fuzz/fuzz_structure.h"

namespace costate::md {
namespace {

using costate::test::expect_error;

TEST(Structure, ReadsWhatItWrites) {
  const Structure pair{.elements = {"Ar", "Ne"},
                       .x = {0, 0.1, 1e-7, 3.25, -2, 1.0 / 3},
                       .v = {1, 2, 3, 4, 5, 6},
                       .masses = {},
                       .box = {10, 11, 12}};
  const Structure again = parse_xyz(to_xyz(pair), "pair.xyz");
  EXPECT_EQ(again.elements, pair.elements);
  EXPECT_EQ(again.x, pair.x);
  EXPECT_EQ(again.v, pair.v);
  EXPECT_EQ(again.box, pair.box);
}

TEST(Structure, ReadsPlainXyzAndMasses) {
  EXPECT_EQ(parse_xyz("1\nwater, one of three\nO 1 2 3\n", "o.xyz").x, (std::vector<double>{1, 2, 3}));
  const auto s = parse_xyz(
      "1\nProperties=species:S:1:pos:R:3:tags:I:1:masses:R:1 pbc=\"T T T\"\nH 1 2 3 7 1.5\n", "h.xyz");
  EXPECT_EQ(s.masses, std::vector<double>{1.5});
}

TEST(Structure, ReadsPdb) {
  const auto s = parse_pdb(
      "CRYST1   20.000   21.000   22.000  90.00  90.00  90.00 P 1           1\n"
      "ATOM      1  N   ALA A   1      11.104   6.134  -6.504  1.00  0.00           N\n"
      "HETATM    2 CL   CL  A   2       1.000   2.000   3.000  1.00  0.00          CL\n"
      "END\n",
      "two.pdb");
  EXPECT_EQ(s.elements, (std::vector<std::string>{"N", "Cl"}));
  EXPECT_EQ(s.x, (std::vector<double>{11.104, 6.134, -6.504, 1, 2, 3}));
  EXPECT_EQ(s.box, (std::vector<double>{20, 21, 22}));
}

TEST(Structure, SaysWhereAFileIsWrong) {
  expect_error([] { return parse_xyz("two\n", "a.xyz"); }, "a.xyz:1: 'two' is not a number");
  expect_error([] { return parse_xyz("2\n\nAr 0 0 0\n", "a.xyz"); }, "the file ends before atom 1");
  expect_error([] { return parse_xyz("1\n\nAr 0 0\n", "a.xyz"); }, "a.xyz:3: a column of 'pos' is missing");
  expect_error([] { return parse_xyz("99999999999\n\n", "a.xyz"); }, "not a number of atoms");
  expect_error([] { return parse_xyz("1\nLattice=\"1 1 0 0 1 0 0 0 1\"\nAr 0 0 0\n", "a.xyz"); },
               "not rectangular");
  expect_error([] { return parse_pdb("END\n", "a.pdb"); }, "there are no atoms");
  expect_error([] { return element_mass("Xx"); }, "the mass of element 'Xx' is not known", "give the masses");
}

TEST(Structure, ColumnsOfAnotherWidthAreRefused) {
  const auto with = [](const std::string& properties, const std::string& line) {
    return [=] { return parse_xyz("1\nProperties=species:S:1:" + properties + "\n" + line + "\n", "a.xyz"); };
  };
  expect_error(with("pos:R:3:velo:R:2", "Ar 0 0 0 1 2"), "a.xyz:2: Properties has 2 columns of 'velo'",
               "there are 3");
  expect_error(with("pos:R:2", "Ar 0 0"), "2 columns of 'pos'");
  expect_error(with("pos:R:3:mass:R:2", "Ar 0 0 0 1 1"), "2 columns of 'mass'");
  expect_error(with("pos:R:3:velo:R:3:velo:R:3", "Ar 0 0 0 1 1 1 1 1 1"), "'velo' twice");
  expect_error(with("pos:R:3:velo:R:1e9", "Ar 0 0 0 1"), "a column that is none: velo");
  expect_error(with("pos:R:3:velo:R:3", "Ar 0 0 0 1 nan 1"), "'nan' is not a number");
  expect_error(with("pos:R:3", "Ar 0 0 1.0D+00"), "'1.0D+00' is not a number");
}

TEST(Structure, PdbFilesAsTheyAreFound) {
  const std::string atom = "ATOM      1 1HB  ALA A   1      11.104   6.134  -6.504  1.00  0.00\n";
  // A box of one unit means none; without a column of elements the name has it.
  const Structure s =
      parse_pdb("CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1\n" + atom, "a.pdb");
  EXPECT_TRUE(s.box.empty());
  EXPECT_EQ(s.elements, std::vector<std::string>{"H"});
  std::string second = atom;
  second[16] = 'B';
  expect_error([&] { return parse_pdb(atom + second, "a.pdb"); }, "a.pdb:2: an atom has a second place",
               "keep one of them");
  const std::string box = "CRYST1   20.000   21.000   22.000  90.00  90.00  90.00 P 1           1\n";
  expect_error([&] { return parse_pdb(box + box + atom, "a.pdb"); }, "a.pdb:2: there is a second box");
  expect_error([&] { return parse_pdb(atom.substr(0, 40) + "\n", "a.pdb"); }, "a.pdb:1: ");
  const std::string tail = atom.substr(0, atom.size() - 1) + std::string(76 - (atom.size() - 1), ' ');
  expect_error([&] { return parse_pdb(tail + "\f1\n", "a.pdb"); }, "other signs than letters",
               "columns 77 and 78");
  expect_error([] { return parse_pdb("ATOM  \n", "a.pdb"); }, "'' is not a number");
}

// Whatever is cut off or changed, a file is read or refused.
TEST(Structure, WithAnyBytesChangedIsReadOrRefused) {
  const std::string xyz =
      "2\nLattice=\"10 0 0 0 11 0 0 0 12\" Properties=species:S:1:pos:R:3:velo:R:3\nAr 0 1 2 3 4 5\nNe 1 2 3 "
      "4 5 6\n";
  const std::string pdb =
      "CRYST1   20.000   21.000   22.000  90.00  90.00  90.00 P 1           1\n"
      "ATOM      1  N   ALA A   1      11.104   6.134  -6.504  1.00  0.00           N\n";
  const auto read = [](const std::string& text, bool is_pdb) {
    try {
      const Structure s = is_pdb ? parse_pdb(text, "f") : parse_xyz(text, "f");
      EXPECT_EQ(s.x.size(), 3 * s.atoms());
      EXPECT_TRUE(s.v.empty() || s.v.size() == s.x.size());
      EXPECT_TRUE(s.masses.empty() || s.masses.size() == s.atoms());
      EXPECT_TRUE(s.box.empty() || s.box.size() == 3);
    } catch (const Error&) {
    }
  };
  for (const bool is_pdb : {false, true}) {
    const std::string& whole = is_pdb ? pdb : xyz;
    for (std::size_t i = 0; i <= whole.size(); ++i) read(whole.substr(0, i), is_pdb);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const char c : {'\0', '\n', ' ', '9', '-', ':', '=', '"', 'e', '\xff'}) {
        std::string changed = whole;
        changed[i] = c;
        read(changed, is_pdb);
      }
    }
  }
}

TEST(Structure, OfTheFuzzersCorpusIsReadOrRefused) {
  int files = 0, read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(COSTATE_FUZZ_STRUCTURES)) {
    std::ifstream file(entry.path(), std::ios::binary);
    SCOPED_TRACE(entry.path().filename());
    read += fuzz::fuzz_structure({std::istreambuf_iterator<char>(file), {}}) == "read";
    ++files;
  }
  EXPECT_GE(files, 5);
  EXPECT_GE(read, 5);
}

TEST(Structure, WritesDcdRecords) {
  const std::string bytes = to_dcd({{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}, {5, 6, 7}, 0.01);
  std::size_t at = 0;
  std::vector<std::string> records;
  while (at < bytes.size()) {
    std::int32_t size = 0, again = 0;
    std::memcpy(&size, bytes.data() + at, 4);
    records.push_back(bytes.substr(at + 4, std::size_t(size)));
    std::memcpy(&again, bytes.data() + at + 4 + size, 4);
    ASSERT_EQ(size, again);
    at += 8 + std::size_t(size);
  }
  ASSERT_EQ(records.size(), 3 + 2 * 4u);
  EXPECT_EQ(records[0].substr(0, 4), "CORD");
  float x[2];
  std::memcpy(x, records[4].data(), 8);
  EXPECT_EQ(x[0], 0);
  EXPECT_EQ(x[1], 3);
  std::memcpy(x, records[10].data(), 8);
  EXPECT_EQ(x[1], 11);
  // A box that breathes: edges of every frame.
  const std::string breathes = to_dcd({{0, 1, 2}, {3, 4, 5}}, {5, 6, 7, 8, 9, 10}, 0.01);
  double edge[2];
  for (const std::size_t frame : {0u, 1u}) {  // records of 84, 84, 4 bytes; then 48, 4, 4, 4 of every frame
    std::memcpy(&edge[frame], breathes.data() + 92 + 92 + 12 + frame * (56 + 36) + 4, 8);
    EXPECT_EQ(edge[frame], frame == 0 ? 5 : 8);
  }
  expect_error([] { return to_dcd({{0, 1, 2}, {0, 1}}, {}, 0.01); }, "all the same atoms");
  expect_error([] { return to_dcd({{0, 1, 2}}, {1, 2}, 0.01); }, "three edges");
}

}  // namespace
}  // namespace costate::md
