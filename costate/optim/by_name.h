// Minimisers by their names, for whoever lets a user choose one: "lbfgs", "adam", "gradient_descent",
// "cma_es".
//
// Tests: tests/optim/by_name_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "costate/optim/adam.h"
#include "costate/optim/cma_es.h"
#include "costate/optim/gradient_descent.h"
#include "costate/optim/lbfgs.h"
#include "costate/optim/levenberg_marquardt.h"

namespace costate::optim {

std::vector<std::string> method_names();

// Every setting that one of them has; the others do not look at it.
struct Settings {
  std::string method = "lbfgs";
  std::optional<double> rate =
      {};  // first step (lbfgs), step (adam, gradient_descent), first width (cma_es); none: their own default
  double decay = 1;                // adam
  double momentum = 0;             // gradient_descent
  int memory = 10;                 // lbfgs
  std::vector<double> scale = {};  // cma_es
  int population = 0;              // cma_es
  std::uint64_t seed = 1;          // cma_es
  Stopping stopping = {};
  Bounds bounds = {};
  Callback callback = {};
};

// What a run of any method remembers.
using AnyState =
    std::variant<LbfgsState, AdamState, GradientDescentState, CmaEsState, LevenbergMarquardtState>;
const DescentState& common(const AnyState& state);
// An empty memory of the method; Error for a name that there is not. "levenberg_marquardt" has one too.
AnyState fresh_state(const std::string& method);

// `values` is what cma_es asks for; the other methods ask for `objective`. The state is that of
// fresh_state(), or of an earlier run.
Result minimize(const Objective& objective, const ValuesOfPoints& values, const std::vector<double>& x0,
                const Settings& settings, AnyState& state);

}  // namespace costate::optim
