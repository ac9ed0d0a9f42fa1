#include "costate/md/io/structure.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "costate/core/error.h"
#include "costate/core/text.h"

namespace costate::md {
namespace {

constexpr std::size_t kMostAtoms = 10'000'000, kMostBytes = std::size_t(2) << 30;

// A text line by line, for errors that say where.
class Lines {
 public:
  Lines(const std::string& text, const std::string& name) : in_(text), name_(name) {}
  bool next(std::string& line) {
    if (!std::getline(in_, line)) return false;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    ++number_;
    return true;
  }
  [[noreturn]] void fail(const std::string& what, const std::string& advice = {}) const {
    throw Error({what, name_ + ":" + std::to_string(number_), advice});
  }
  double number(const std::string& word) const {
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    while (used < word.size() && (word[used] == ' ' || word[used] == '\t')) ++used;
    if (word.empty() || used != word.size() || !std::isfinite(value)) fail("'" + word + "' is not a number");
    return value;
  }

 private:
  std::istringstream in_;
  std::string name_;
  std::size_t number_ = 0;
};

// key=value and key="some values".
std::map<std::string, std::string> key_values(const std::string& line) {
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < line.size();) {
    while (i < line.size() && line[i] == ' ') ++i;
    const std::size_t equals = line.find('=', i), space = line.find(' ', i);
    if (equals == std::string::npos) break;
    if (space < equals) {
      i = space;
      continue;
    }
    const std::string key = line.substr(i, equals - i);
    const bool quoted = equals + 1 < line.size() && line[equals + 1] == '"';
    const std::size_t begin = equals + (quoted ? 2 : 1);
    std::size_t end = line.find(quoted ? '"' : ' ', begin);
    if (end == std::string::npos) end = line.size();
    found[key] = line.substr(begin, end - begin);
    i = end + 1;
  }
  return found;
}

std::vector<double> rectangular(const Lines& lines, const std::string& text) {
  std::istringstream in(text);
  std::vector<double> m;
  for (std::string word; in >> word;) m.push_back(lines.number(word));
  if (m.size() != 9) lines.fail("Lattice has " + std::to_string(m.size()) + " numbers", "it has nine");
  for (std::size_t i = 0; i < 9; ++i)
    if (i % 4 != 0 && m[i] != 0)
      lines.fail("the box is not rectangular", "only edges along x, y and z are supported");
  return {m[0], m[4], m[8]};
}

struct Column {
  std::string name;
  char type;
  int count;
};
// Of the columns that are read; 0: others.
int width_of(const std::string& name) {
  if (name == "species" || name == "masses" || name == "mass") return 1;
  return name == "pos" || name == "velo" || name == "vel" ? 3 : 0;
}
std::vector<Column> columns_of(const Lines& lines, const std::string& properties) {
  std::vector<Column> columns;
  std::istringstream in(properties);
  std::string name, type, count;
  while (std::getline(in, name, ':') && std::getline(in, type, ':') && std::getline(in, count, ':')) {
    const double n = lines.number(count);
    if (type.size() != 1 || n < 1 || n > 64 || n != std::floor(n))
      lines.fail("Properties has a column that is none: " + name);
    const int due = width_of(name);
    if (due > 0 && n != due)
      lines.fail("Properties has " + number(n) + " columns of '" + name + "'",
                 "there are " + std::to_string(due));
    for (const Column& other : columns)
      if (due > 0 && other.name == name) lines.fail("Properties has '" + name + "' twice");
    columns.push_back({name, type[0], int(n)});
  }
  return columns;
}

}  // namespace

Structure parse_xyz(const std::string& text, const std::string& name) {
  Lines lines(text, name);
  std::string line;
  if (!lines.next(line)) lines.fail("the file is empty");
  const double count = lines.number(line);
  if (!(count >= 1) || count > double(kMostAtoms) || count != std::floor(count))
    lines.fail("the first line is not a number of atoms", "an XYZ file begins with it");
  if (!lines.next(line)) lines.fail("the second line is missing");
  const auto keys = key_values(line);
  Structure out;
  if (const auto lattice = keys.find("Lattice"); lattice != keys.end())
    out.box = rectangular(lines, lattice->second);
  const auto properties = keys.find("Properties");
  const std::vector<Column> columns =
      columns_of(lines, properties == keys.end() ? "species:S:1:pos:R:3" : properties->second);
  for (std::size_t i = 0; i < std::size_t(count); ++i) {
    if (!lines.next(line)) lines.fail("the file ends before atom " + std::to_string(i));
    std::istringstream in(line);
    for (const Column& column : columns) {
      for (int k = 0; k < column.count; ++k) {
        std::string word;
        if (!(in >> word)) lines.fail("a column of '" + column.name + "' is missing");
        if (column.name == "species") out.elements.push_back(word);
        if (column.name == "pos") out.x.push_back(lines.number(word));
        if (column.name == "velo" || column.name == "vel") out.v.push_back(lines.number(word));
        if (column.name == "masses" || column.name == "mass") out.masses.push_back(lines.number(word));
      }
    }
    if (out.elements.size() != i + 1 || out.x.size() != 3 * (i + 1))
      lines.fail("an atom needs species and pos");
  }
  return out;
}

Structure parse_pdb(const std::string& text, const std::string& name) {
  Lines lines(text, name);
  Structure out;
  bool unit_box = false;  // the format's way to say that there is none
  const auto field = [](const std::string& line, std::size_t first, std::size_t length) {
    std::string word = line.size() > first ? line.substr(first, length) : "";
    word.erase(0, word.find_first_not_of(' '));
    word.erase(word.find_last_not_of(' ') + 1);
    return word;
  };
  for (std::string line; lines.next(line);) {
    if (line.starts_with("CRYST1")) {
      if (!out.box.empty()) lines.fail("there is a second box", "keep one CRYST1");
      for (const std::size_t at : {6, 15, 24}) out.box.push_back(lines.number(field(line, at, 9)));
      for (const std::size_t at : {33, 40, 47})
        if (lines.number(field(line, at, 7)) != 90) lines.fail("the box is not rectangular");
      unit_box = out.box == std::vector<double>{1, 1, 1};
    } else if (line.starts_with("ATOM  ") || line.starts_with("HETATM")) {
      for (const std::size_t at : {30, 38, 46}) out.x.push_back(lines.number(field(line, at, 8)));
      if (const std::string place = field(line, 16, 1); !place.empty() && place != "A")
        lines.fail("an atom has a second place, the alternate location '" + place + "'",
                   "keep one of them: the other would be an atom of its own");
      std::string element = field(line, 76, 2);
      if (element.empty()) {  // the name begins with it, or with a digit before it
        const std::string atom = field(line, 12, 4);
        element = atom.substr(std::min(atom.find_first_not_of("0123456789"), atom.size()), 1);
      }
      if (element.empty()) lines.fail("an atom has neither an element nor a name");
      const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
      if (!std::all_of(element.begin(), element.end(), is_letter))
        lines.fail("an element is written with other signs than letters", "it stands in columns 77 and 78");
      if (element.size() == 2) element[1] = char(std::tolower(element[1]));
      out.elements.push_back(element);
      if (out.elements.size() > kMostAtoms) lines.fail("there are more than 10 million atoms");
    } else if (line.starts_with("ENDMDL")) {
      break;
    }
  }
  if (out.elements.empty()) lines.fail("there are no atoms");
  if (unit_box) out.box.clear();
  return out;
}

Structure load_structure(const std::string& path) {
  const bool pdb = path.ends_with(".pdb");
  if (!pdb && !path.ends_with(".xyz") && !path.ends_with(".extxyz"))
    throw Error({"the ending of this file says nothing about atoms", path, "name it .xyz, .extxyz or .pdb"});
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) throw Error({"this is not a file", path, ""});
  if (std::filesystem::file_size(path, none) > kMostBytes)
    throw Error({"the file is larger than 2 GB", path, ""});
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error({"the file cannot be read", path, ""});
  std::stringstream text;
  text << in.rdbuf();
  return pdb ? parse_pdb(text.str(), path) : parse_xyz(text.str(), path);
}

double element_mass(const std::string& element) {
  static const std::map<std::string, double> kMasses = {
      {"H", 1.008},   {"He", 4.0026}, {"Li", 6.94},   {"B", 10.81},   {"C", 12.011},  {"N", 14.007},
      {"O", 15.999},  {"F", 18.998},  {"Ne", 20.180}, {"Na", 22.990}, {"Mg", 24.305}, {"Al", 26.982},
      {"Si", 28.085}, {"P", 30.974},  {"S", 32.06},   {"Cl", 35.45},  {"Ar", 39.95},  {"K", 39.098},
      {"Ca", 40.078}, {"Ti", 47.867}, {"Fe", 55.845}, {"Ni", 58.693}, {"Cu", 63.546}, {"Zn", 65.38},
      {"Br", 79.904}, {"Kr", 83.798}, {"Ag", 107.87}, {"I", 126.90},  {"Xe", 131.29}, {"Au", 196.97}};
  const auto found = kMasses.find(element);
  if (found == kMasses.end())
    throw Error({"the mass of element '" + element + "' is not known", {}, "give the masses yourself"});
  return found->second;
}

std::string to_xyz(const Structure& frame) {
  std::string text = std::to_string(frame.atoms()) + "\n";
  if (!frame.box.empty())
    text += "Lattice=\"" + exact_number(frame.box[0]) + " 0 0 0 " + exact_number(frame.box[1]) + " 0 0 0 " +
            exact_number(frame.box[2]) + "\" ";
  text += std::string("Properties=species:S:1:pos:R:3") + (frame.v.empty() ? "" : ":velo:R:3") + "\n";
  for (std::size_t i = 0; i < frame.atoms(); ++i) {
    const std::string& element = frame.elements[i];
    if (element.empty() || element.find_first_of(" \t\r\n\v\f") != std::string::npos)
      throw Error({"the element of atom " + std::to_string(i) + " is '" + element + "'",
                   {},
                   "XYZ files have columns: give a name without spaces"});
    text += element;
    for (std::size_t k = 0; k < 3; ++k) text += " " + exact_number(frame.x[3 * i + k]);
    for (std::size_t k = 0; k < 3 && !frame.v.empty(); ++k) text += " " + exact_number(frame.v[3 * i + k]);
    text += "\n";
  }
  return text;
}

std::string to_dcd(const std::vector<std::vector<double>>& frames, const std::vector<double>& box,
                   double dt) {
  for (const auto& frame : frames)
    if (frame.size() != frames[0].size() || frame.size() % 3 != 0)
      throw Error("the frames of a DCD file have three numbers per atom, and all the same atoms");
  if (!box.empty() && box.size() != 3 && box.size() != 3 * frames.size())
    throw Error("a box has three edges, one for all frames or one for each");
  std::string out;
  const auto raw = [](std::string& to, const auto& value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  // A record of Fortran: its length before and behind it.
  const auto record = [&](const std::string& bytes) {
    raw(out, std::int32_t(bytes.size()));
    out += bytes;
    raw(out, std::int32_t(bytes.size()));
  };
  std::int32_t control[20] = {};
  control[0] = std::int32_t(frames.size());
  control[1] = control[2] = 1;
  control[3] = std::int32_t(frames.size());
  const float step = float(dt);
  std::memcpy(&control[9], &step, 4);
  control[10] = box.empty() ? 0 : 1;
  control[19] = 24;
  std::string header = "CORD";
  for (const std::int32_t value : control) raw(header, value);
  record(header);
  std::string title;
  raw(title, std::int32_t(1));
  title += std::string("written by costate") + std::string(80 - 18, ' ');
  record(title);
  const std::size_t n = frames.empty() ? 0 : frames[0].size() / 3;
  std::string atoms;
  raw(atoms, std::int32_t(n));
  record(atoms);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const std::vector<double>& frame = frames[f];
    if (!box.empty()) {
      const double* edge = &box[box.size() == 3 ? 0 : 3 * f];
      std::string cell;
      for (const double value : {edge[0], 90.0, edge[1], 90.0, 90.0, edge[2]}) raw(cell, value);
      record(cell);
    }
    for (std::size_t k = 0; k < 3; ++k) {
      std::string axis;
      for (std::size_t i = 0; i < n; ++i) raw(axis, float(frame[3 * i + k]));
      record(axis);
    }
  }
  return out;
}

}  // namespace costate::md
