// Term: one part of a loss, whatever its kind: when it looks, and the objective that looks then. Each kind is
// a file of this folder.
//
//   formula, position, velocity, effort    programs of quantities             squares.h
//   track                                  loss::track (costate/system/objective.h)
//   in_region, spilled                     points and a region                region.h
//   match                                  points and where they should be    match.h
//   height_field                           volume over the ground             height_field.h
//   jerk, overshoot                        prices on paths (path.h)
//
// A term is the mean over its times, times its weight.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "costate/study/path.h"
#include "costate/system/objective.h"

namespace costate::study {

// An objective in the precision that a study turns out to have, at the steps that it turns out to have.
struct AnyObjective {
  using Steps = std::vector<std::int64_t>;
  std::function<ObjectivePtr<float>(const Steps&)> in_float = {};
  std::function<ObjectivePtr<double>(const Steps&)> in_double = {};

  template <class Real>
  ObjectivePtr<Real> make(const Steps& steps) const {
    if constexpr (sizeof(Real) == 4)
      return in_float(steps);
    else
      return in_double(steps);
  }
  explicit operator bool() const { return bool(in_double); }
};
// make(Real(), steps)
template <class Make>
AnyObjective any_objective(const Make& make) {
  return {[make](const AnyObjective::Steps& steps) { return make(float(), steps); },
          [make](const AnyObjective::Steps& steps) { return make(double(), steps); }};
}

struct Term {
  std::string name;
  std::vector<std::int64_t> steps = {};  // increasing
  bool reads_controls = false;           // there is no control after the last step
  bool observed = true;                  // an objective of the quantities; otherwise of the state itself
  AnyObjective objective = {};
  AnyObjective fraction = {};  // of the points that are inside, at the last of the steps; may be empty
};

// A price on the way something moves.
struct PathPrice {
  enum class Kind { jerk, overshoot };
  std::string name;
  Kind kind = Kind::jerk;
  std::vector<std::size_t> paths = {};
  double limit = 0;  // overshoot
  double weight = 1;
};
double price_of(const PathPrice& price, const std::vector<Path>& paths);
void price_of_vjp(const PathPrice& price, const std::vector<Path>& paths, std::vector<Path>& paths_bar);

}  // namespace costate::study
