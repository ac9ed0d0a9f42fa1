// reach: the end is a given state. Each tangent of the difference is linear in the numbers of the state, of a
// quaternion q as 2 vec(target* q), which is zero where both are the same rotation.
//
//   c = <w, x_N> + b      vjp: x_bar += w      hvp: 0
//
// Tests: tests/control/constraint_test.cpp.
#include <cmath>

#include "costate/control/problem.h"
#include "costate/core/error.h"

namespace costate::control {
namespace {

class LinearAtEnd final : public Objective<double> {
 public:
  LinearAtEnd(std::vector<double> w, double b) : w_(std::move(w)), b_(b) {}
  void check(std::int64_t, std::int64_t) const override {}
  std::int64_t next(std::int64_t k, std::int64_t steps) const override { return k <= steps ? steps : kNever; }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override { return k >= steps ? steps : -1; }
  void value(const At& at, double* loss) const override {
    for (int l = 0; l < at.lanes; ++l) {
      loss[l] += b_;
      for (std::size_t i = 0; i < w_.size(); ++i)
        loss[l] += w_[i] * at.in.x[i * std::size_t(at.lanes) + std::size_t(l)];
    }
  }
  void vjp(const At& at, const Cotangents<double>& bar) const override {
    for (std::size_t i = 0; i < w_.size(); ++i)
      for (int l = 0; l < at.lanes; ++l) bar.x[i * std::size_t(at.lanes) + std::size_t(l)] += w_[i];
  }
  void hvp(const At&, const Inputs<double>&, const Cotangents<double>&) const override {}  // linear

 private:
  std::vector<double> w_;
  double b_;
};

}  // namespace

std::vector<Constraint> reach(const Signature& signature, const StateSpace& space_in,
                              const std::vector<double>& target) {
  const StateSpace space = space_in.states() == 0 ? StateSpace(int(signature.states())) : space_in;
  if (int(target.size()) != space.states())
    throw Error("the target has " + std::to_string(target.size()) + " numbers instead of " +
                std::to_string(space.states()));
  for (const double number : target)
    if (!std::isfinite(number)) throw Error("the target is not finite");
  std::vector<Constraint> constraints;
  std::vector<double> d(std::size_t(space.tangents())), w(target.size());
  for (std::size_t j = 0; j < d.size(); ++j) {
    std::fill(d.begin(), d.end(), 0.0);
    d[j] = 1;
    space.lift(target.data(), d.data(), w.data());
    double b = 0;
    for (std::size_t i = 0; i < w.size(); ++i) b -= w[i] * target[i];
    constraints.push_back({std::make_shared<LinearAtEnd>(w, b), true, "reach tangent " + std::to_string(j)});
  }
  return constraints;
}

}  // namespace costate::control
