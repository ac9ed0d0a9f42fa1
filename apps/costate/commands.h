// The commands of the tool. Each reads a problem file, prints to stdout, and returns the exit code:
// 0 all is well, 1 a check failed. Errors are thrown: run() turns them into 2 (input) and 3 (numerics).
#pragma once

#include <string>
#include <vector>

#include "costate/io/check.h"
#include "costate/io/problem.h"

namespace costate::app {

// The whole command line; the exit code.
int run(int argc, char** argv);

struct Arguments {
  std::string file;
  std::vector<std::string> set;  // "parameters.g=1.6"
  std::string method;            // of solution; empty: the file's
  std::string adjoint = "discrete";
  int keep_every = 0;  // 0: the file's
  bool json = false;
  int dense = 0;    // 0: the steps themselves
  std::string csv;  // file for the solution; empty: none
  unsigned seed = 1;
  // of scenes
  std::string output;  // prefix of the files that are written; empty: the name of the scene
  int iterations = 0;  // 0: the file's
  int steps = 200;     // that are checked
  bool resume = false;
  std::string from;  // state file whose best variables are the start; empty: the scene's own
  // of recordings
  std::vector<std::string> files;
  std::string title;
};

// What --set says.
std::vector<io::Setting> settings_of(const Arguments& arguments);
// The problem with what the command line changes.
io::Problem load(const Arguments& arguments);

// Prints a table of checks, or JSON; the exit code.
int report_checks(const std::vector<io::CheckResult>& results, bool json);

int run_solve(const Arguments& arguments);
int run_grad(const Arguments& arguments);
int run_check(const Arguments& arguments);
int run_info(const Arguments& arguments);
int run_optimize(const Arguments& arguments);

// Of a model of rigid bodies (docs/models.md).
int run_model_info(const Arguments& arguments);

}  // namespace costate::app
