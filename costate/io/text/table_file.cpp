#include "costate/io/text/table_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>

#include "costate/core/error.h"
#include "costate/io/text/toml_document.h"

namespace costate::io {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // spreadsheets begin files with it

std::string_view trimmed(std::string_view cell) {
  const auto blank = [](char c) { return c == ' ' || c == '\r' || c == '"'; };
  while (!cell.empty() && blank(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && blank(cell.back())) cell.remove_suffix(1);
  return cell;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t from = 0;;) {
    const std::size_t to = std::min(line.find_first_of(",;\t", from), line.size());
    cells.push_back(trimmed(line.substr(from, to - from)));
    if (to == line.size()) return cells;
    from = to + 1;
  }
}

bool is_number(std::string_view cell) {
  double number = 0;
  if (!cell.empty() && cell.front() == '+') cell.remove_prefix(1);
  const auto parsed = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == cell.data() + cell.size();
}

double number_of(std::string_view cell, const std::string& where) {
  if (cell.empty() || cell == "nan" || cell == "NaN") return std::numeric_limits<double>::quiet_NaN();
  double number = 0;
  if (cell.front() == '+') cell.remove_prefix(1);
  const auto parsed = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != cell.data() + cell.size() || !std::isfinite(number))
    throw Error({"'" + std::string(cell.substr(0, 40)) + "' is not a number", where,
                 "leave the cell empty where nothing was measured"});
  return number;
}

std::vector<std::size_t> places_of(const std::vector<std::string_view>& head,
                                   const std::vector<std::string>& names, const std::string& where) {
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    if (std::count(head.begin(), head.end(), name) > 1)
      throw Error({"there are two columns '" + name + "'", where, "give one of them another name"});
    const auto found = std::find(head.begin(), head.end(), name);
    if (found == head.end())
      throw Error({"there is no column '" + name + "'", where,
                   suggestion(name, std::vector<std::string>(head.begin(), head.end()))});
    places.push_back(std::size_t(found - head.begin()));
  }
  return places;
}

}  // namespace

std::vector<std::vector<double>> read_columns(const std::string& path,
                                              const std::vector<std::string>& names) {
  std::ifstream file(path);
  if (!file) throw Error({"there is no such file, or it cannot be read", path, ""});
  std::vector<std::vector<double>> columns(names.size());
  std::vector<std::size_t> places;
  std::string line, comment;
  std::size_t size = 0, width = 0;
  for (int number = 1; std::getline(file, line); ++number) {
    if ((size += line.size()) > kMaxTableSize) throw Error({"the file is larger than 256 MB", path, ""});
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (trimmed(line).empty()) continue;
    if (line.front() == '#') {
      if (places.empty()) comment = line.substr(1);
      continue;
    }
    const std::string where = path + ":" + std::to_string(number);
    std::vector<std::string_view> cells = cells_of(line);
    if (places.empty()) {
      // NumPy writes the names as a comment.
      const bool named = !comment.empty() && std::all_of(cells.begin(), cells.end(), is_number);
      const std::vector<std::string_view> head = named ? cells_of(comment) : cells;
      places = places_of(head, names, where);
      width = head.size();
      if (!named) continue;
    }
    while (cells.size() > width && cells.back().empty()) cells.pop_back();
    if (cells.size() > width)
      throw Error({"this line has " + std::to_string(cells.size()) + " cells, and there are names for " +
                       std::to_string(width),
                   where, "write numbers with a point instead of a comma: a comma ends a cell"});
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (places[i] >= cells.size())
        throw Error(
            {"this line has " + std::to_string(cells.size()) + " cells and none for '" + names[i] + "'",
             where, "the first line names the columns"});
      columns[i].push_back(number_of(cells[places[i]], where));
    }
  }
  if (places.empty() || columns[0].empty())
    throw Error({"there are no rows of numbers", path, "write a line of names, then one line per time"});
  return columns;
}

}  // namespace costate::io
