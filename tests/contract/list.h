// Every physics and every function that makes a System, each with a small case of the contract. list_test.cpp
// reads the headers and fails where something in them is missing here.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace costate::test {

struct Listed {
  std::string name;                 // of the test
  std::vector<std::string> covers;  // factories, classes and kinds, qualified: "rigid::ContactModel::hard"
  std::function<void()> expect;
};

std::vector<Listed> every_physics();
void add_grids_and_springs(std::vector<Listed>& list);  // list_continua.cpp

inline void PrintTo(const Listed& listed, std::ostream* out) { *out << listed.name; }

}  // namespace costate::test
