// Table: rows of text in aligned columns. Numbers are written with as many digits as they have.
#pragma once

#include <string>
#include <vector>

namespace costate::app {

class Table {
 public:
  explicit Table(std::vector<std::string> head = {});
  void row(std::vector<std::string> cells);
  // Indented by two spaces; columns two spaces apart. Cells that are numbers stand to the right.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  bool head_;
};

// 15 digits, so that decimal input comes out as it went in.
std::string number(double value);
// Few digits, for errors and tolerances: 3.2e-12.
std::string brief(double value);

}  // namespace costate::app
