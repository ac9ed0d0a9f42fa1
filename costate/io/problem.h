// Problem: an initial value problem with a loss, read from a TOML file. The format: docs/equations.md.
//
//   const io::Problem ball = io::load_problem("bouncing_ball.toml");
//   const ode::Solution s = io::solve(ball);                          run.h
//   const ode::Gradient g = io::gradient(ball, s, "discrete");
//
// Everything that can be wrong with a file is found here, and reported with its line and column.
// Tests: tests/io/problem_test.cpp, wrong_files_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costate/io/scope.h"
#include "costate/ode/fields/program_field.h"
#include "costate/ode/gradient.h"
#include "costate/ode/loss.h"
#include "costate/ode/solve.h"

namespace costate::io {

// One number among the inputs that an optimiser changes.
struct Input {
  enum class Of { state, parameter, control };
  std::string name;  // "parameters.g", "state.u[2]", "controls.thrust[0]"
  Of of = Of::state;
  int index = 0;  // in y0, p or options.controls.values
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

struct Optimize {
  std::vector<Input> variables;
  std::string method = "lbfgs";  // lbfgs, adam, gradient_descent, cma_es
  int iterations = 200;
  double rate = 0.01;  // adam, gradient_descent
  double tolerance = 1e-8;
};

// Measurements of one quantity.
struct Series {
  std::string text;                            // of the formula
  std::shared_ptr<const ode::Function> value;  // one output
  std::vector<double> t, measured;
  double sigma = 1;  // standard deviation of a measurement
};

struct Fit {
  std::vector<Input> variables;
  std::vector<Series> data;
  int iterations = 100;
  double tolerance = 1e-10;
};

struct Problem {
  std::string file;
  std::vector<Variable> states, parameters;
  // Each has `size` values over time, in options.controls.values at control_index(control, i).
  std::vector<Variable> controls;
  std::size_t control_index(const Variable& control, int i) const {
    return std::size_t(i) * controls.size() + std::size_t(control.offset);
  }
  std::vector<double> y0, p;
  std::vector<std::string> equations;  // as written, one per element of the state
  std::vector<std::string> guards;     // as written, one per event
  std::vector<int> algebraic;          // elements of the state whose equation is 0 = ...

  std::shared_ptr<const ode::VectorField> field;
  double t0 = 0, t1 = 0;
  ode::Options options;  // with the controls, the events and the running cost
  ode::Loss loss;
  std::string final_text, running_text, samples_text;  // of the loss, as written
  bool has_loss() const { return loss.final || loss.samples || options.running; }

  std::optional<Optimize> optimize;
  std::optional<Fit> fit;
};

// The value that `input` names, and its part of a gradient.
double& value_of(Problem& problem, const Input& input);
double value_of(const Problem& problem, const Input& input);
double derivative_of(const ode::Gradient& gradient, const Input& input);

// A value given beside the file: {"parameters.g", "1.6"}.
using Setting = std::pair<std::string, std::string>;

// Throw Error (Kind::input) on any mistake.
Problem load_problem(const std::string& path, const std::vector<Setting>& settings = {});
Problem parse_problem(std::string text, const std::string& name, const std::vector<Setting>& settings = {});

}  // namespace costate::io
