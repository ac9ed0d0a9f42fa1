#include "table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

namespace costate::app {
namespace {

bool is_number(const std::string& cell) {
  if (cell.empty()) return false;
  char* end = nullptr;
  std::strtod(cell.c_str(), &end);
  return *end == '\0';
}

}  // namespace

Table::Table(std::vector<std::string> head) : head_(!head.empty()) {
  if (head_) rows_.push_back(std::move(head));
}

void Table::row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::text() const {
  std::vector<std::size_t> width;
  std::vector<bool> right;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < rows_[r].size(); ++c) {
      if (c >= width.size()) {
        width.push_back(0);
        right.push_back(true);
      }
      width[c] = std::max(width[c], rows_[r][c].size());
      if (!(head_ && r == 0) && !rows_[r][c].empty() && !is_number(rows_[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += "  ";
      line += right[c] ? fmt::format("{:>{}}", row[c], width[c]) : fmt::format("{:<{}}", row[c], width[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string number(double value) { return fmt::format("{:.15g}", value); }
std::string brief(double value) { return fmt::format("{:.2g}", value); }

}  // namespace costate::app
