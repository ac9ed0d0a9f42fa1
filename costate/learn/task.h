// Task: what a policy is to learn. A plant, what is seen of it, what is rewarded, and when an episode ends.
//
//   o = observe(x)         what the policy sees
//   y = plant, `hold` steps from x with the control u held
//   r = reward(x -> y, u)  of that decision
//   alive(y) > 0           otherwise the episode ends there, and nothing comes after it
//
// The three functions are Programs (recorded, or formulas) of the plant's states by name after the steps, of
// "last_NAME", the states before them, of the controls by name, of "alive" (1, or 0 where the episode ends)
// in a reward, and of the plant's parameters. They may read what they need.
// Tests: tests/learn/learner_test.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/ad/executable.h"
#include "costate/ad/program.h"
#include "costate/system/system.h"

namespace costate::learn {

// Parameters of the plant that differ from episode to episode (variation.h): names, as a glob, and by which
// part of themselves, up and down.
struct Varied {
  std::string names;
  double by = 0;
};

struct Task {
  std::shared_ptr<const System<double>> plant = {};
  std::int64_t hold = 1;          // steps of the plant per decision
  std::int64_t decisions = 1000;  // after which an episode is cut off
  ad::Program observe = {}, reward = {};
  ad::Program alive = {};                      // without outputs: an episode is only cut off
  std::vector<double> start = {};              // a state
  std::vector<double> uniform = {};            // half widths around it, per state; empty: none
  std::vector<double> normal = {};             // standard deviations, per state; empty: none
  std::vector<double> lower = {}, upper = {};  // of the controls
  std::vector<Varied> vary = {};
};

// Formulas over the names above, one output each.
ad::Program task_program(const Signature& plant, const std::vector<std::string>& formulas,
                         const std::string& where);

// The functions of a task over many worlds, with their transposes. Arrays are world by world.
class TaskFunctions {
 public:
  // Throws Error where a function does not fit the plant, or a size is wrong.
  explicit TaskFunctions(const Task& task);

  std::int64_t observations() const { return observations_; }

  void observe(std::int64_t worlds, const double* x, double* o);
  // Adds to x_bar.
  void observe_vjp(std::int64_t worlds, const double* x, const double* o_bar, double* x_bar);
  bool ends() const { return ends_; }  // whether an episode may end before it is cut off
  // 1, or 0 where an episode ends.
  void alive(std::int64_t worlds, const double* y, double* alive);
  // What `alive` of the task says: an episode ends where it is not positive. Of a task that ends.
  void margin(std::int64_t worlds, const double* y, double* margin);
  // Adds to y_bar.
  void margin_vjp(std::int64_t worlds, const double* y, const double* margin_bar, double* y_bar);
  void reward(std::int64_t worlds, const double* x, const double* u, const double* y, const double* alive,
              double* r);
  // Adds to the cotangents.
  void reward_vjp(std::int64_t worlds, const double* x, const double* u, const double* y, const double* alive,
                  const double* r_bar, double* x_bar, double* u_bar, double* y_bar);

 private:
  // Runs over columns_, into which the arrays were turned: x, u, last, alive, then what more goes in and out.
  void run(const ad::Executable& code, std::int64_t worlds, int extra_inputs, int outputs);
  void state_in(std::int64_t worlds, const double* x);
  void turn_in(std::size_t column, std::int64_t worlds, std::int64_t size, const double* rows);
  void make_room(std::size_t column, std::int64_t worlds, std::int64_t size);
  void add_out(std::size_t column, std::int64_t worlds, std::int64_t size, double* rows);

  std::int64_t states_, controls_, observations_ = 0;
  bool ends_ = false;
  ad::Executable observe_, observe_vjp_, reward_, reward_vjp_, alive_, alive_vjp_;
  std::vector<std::vector<double>> columns_;  // number by number, of every array that goes in or out
  std::vector<std::byte> scratch_;
};

}  // namespace costate::learn
