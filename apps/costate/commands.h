// The commands of the tool. Each opens a study (docs/studies.md), prints to stdout, and returns the exit
// code: 0 all is well, 1 a check failed. Errors are thrown: run() turns them into 2 (input) and 3 (numerics).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "costate/io/scene/load_study.h"

namespace costate::app {

// The whole command line; the exit code.
int run(int argc, char** argv);

struct Arguments {
  std::string file;
  std::vector<std::string> set;  // "parameters.g=1.6"
  std::string solver;            // of equations; empty: the file's
  std::string method;            // of optimisation; empty: the file's
  std::string adjoint = "discrete";
  int checkpoints = 0;   // 0: the file's
  int iterations = 0;    // 0: the file's
  std::string device;    // of the rollouts; empty: the file's
  bool devices = false;  // info lists them
  bool json = false;
  int dense = 0;           // rows of a solution; 0: at the steps themselves
  std::string csv;         // file for the solution; empty: none
  std::string trajectory;  // file for the frames of molecules; empty: none
  unsigned seed = 1;
  bool trust = false;  // grad measures how far its gradient can be followed
  int steps = 0;       // that are checked; 0: as many as there is time for
  double budget = 20;  // seconds, about, of a check
  std::string output;  // prefix of the files that are written; empty: the name of the file
  bool resume = false;
  std::string pool;  // who computes: "threads:2", "processes:4", "mpi"; empty: this process
  std::string from;  // state file whose best variables are the start; empty: the file's own
  // of estimators
  std::vector<std::string> methods, parameters;
  std::vector<std::int64_t> horizons, samples;
  std::vector<double> exact;           // derivatives that are known, one per horizon
  std::vector<std::string> reference;  // of reweighting: "double_well/b=0.1"
  std::int64_t every = 0;              // of reinforce and reweighting: also states on the way
  // of recordings
  std::vector<std::string> files;
  std::string title, png, mp4;
  double time = -1;  // of a picture; < 0: the end
};

// What the command line changes of a file: keys and values.
std::vector<io::Setting> all_settings_of(const Arguments& arguments);
// The study with that.
std::unique_ptr<study::Study> open_study(const Arguments& arguments, bool for_check = false);

// What a careful user should know before a run begins, to stderr: walls that leak, places without a gradient.
std::vector<std::string> tell_notes(const study::Study& study, const std::vector<std::string>& before = {});
// Files of a run: PREFIX.html, PREFIX.rec, ...; from --output, or the file's own name without its folder.
std::string output_prefix(const Arguments& arguments);
// Before work that would be lost otherwise: throw where this file, or no file of this prefix, can be written.
void expect_writable(const std::string& path, const std::string& option);
void expect_writable_prefix(const std::string& prefix);
// "93 % in the mug": what a recording is captioned with.
std::string caption_of(const study::Run& run);

int run_run(const Arguments& arguments);
int run_grad(const Arguments& arguments);
int run_check(const Arguments& arguments);
int run_identify(const Arguments& arguments);
int run_info(const Arguments& arguments);
int run_optimize(const Arguments& arguments);
// A worker of --pool processes: computes what its input asks for.
int run_work();
int run_plan(const Arguments& arguments);
// Several estimators of the gradient of an average (docs/estimators.md).
int run_estimators(const Arguments& arguments);
// Recordings to a page.
int run_view(const Arguments& arguments);
// Of a model of rigid bodies (docs/models.md).
int run_model_info(const Arguments& arguments);

}  // namespace costate::app
