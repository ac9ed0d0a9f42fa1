// read_columns: a text file of numbers with a line of names above them, as spreadsheets and loggers write it.
//
//   t,angle
//   0.00,0.500
//   0.05,          an empty cell, or nan: nothing was measured
//
// Cells are separated by commas, semicolons or tabs; lines that start with # are left out, except that the
// names may stand in one of them, right above the numbers. Every mistake is told with its line.
// Tests: tests/io/table_file_test.cpp.
#pragma once

#include <string>
#include <vector>

namespace costate::io {

inline constexpr std::size_t kMaxTableSize = std::size_t{1} << 28;

// The named columns; NaN where a cell is empty. Throws Error.
std::vector<std::vector<double>> read_columns(const std::string& path, const std::vector<std::string>& names);

}  // namespace costate::io
