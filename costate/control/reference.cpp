#include "costate/control/reference.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/quat.h"

namespace costate::control {
namespace {

using Q = Quat<double>;

void expect_weights(const char* name, const std::vector<double>& weights, std::size_t count) {
  if (weights.size() != count)
    throw Error(std::string("there are ") + std::to_string(weights.size()) + " weights of " + name +
                " instead of " + std::to_string(count));
  for (const double weight : weights)
    if (!(weight >= 0 && std::isfinite(weight)))
      throw Error(std::string("a weight of ") + name + " is negative or not finite");
}

// 2 vec(r* q), and its transpose.
Vec3<double> turn(const Q& r, const Q& q) { return 2.0 * (conjugate(r) * q).vec(); }
Q turn_vjp(const Q& r, const Vec3<double>& e_bar) { return r * Q{0, 2 * e_bar.x, 2 * e_bar.y, 2 * e_bar.z}; }

}  // namespace

Reference::Reference(const Signature& signature, StateSpace space, ReferenceWeights weights,
                     std::vector<double> states, std::vector<double> controls)
    : space_(space.states() == 0 ? StateSpace(int(signature.states())) : std::move(space)),
      weights_(std::move(weights)),
      states_(std::move(states)),
      controls_(std::move(controls)),
      tangent_of_(std::size_t(space_.states()), -1) {
  const auto tangents = std::size_t(space_.tangents()), n = std::size_t(space_.states()),
             m = weights_.controls.size();
  if (space_.states() != signature.states())
    throw Error("a space of " + std::to_string(n) + " states for a system of " +
                std::to_string(signature.states()));
  if (states_.empty() || states_.size() % n != 0)
    throw Error("the reference has " + std::to_string(states_.size()) + " numbers, which are not rows of " +
                std::to_string(n));
  expect_weights("states", weights_.states, tangents);
  if (!weights_.last.empty()) expect_weights("the last state", weights_.last, tangents);
  if (m > 0) expect_weights("controls", weights_.controls, std::size_t(signature.controls()));
  if (!controls_.empty() && controls_.size() != m && controls_.size() != m * (states_.size() / n))
    throw Error("the reference has " + std::to_string(controls_.size()) + " controls instead of " +
                std::to_string(m) + " or " + std::to_string(m * (states_.size() / n)));
  for (const auto* numbers : {&states_, &controls_})
    for (const double number : *numbers)
      if (!std::isfinite(number)) throw Error("the reference is not finite");
  const auto& quaternions = space_.quaternions();
  for (int i = 0, j = 0; i < space_.states();) {
    if (std::binary_search(quaternions.begin(), quaternions.end(), i))
      i += 4, j += 3;
    else
      tangent_of_[std::size_t(i++)] = j++;
  }
}

const double* Reference::state(std::int64_t k) const {
  return &states_[std::size_t(std::clamp<std::int64_t>(k + begin_, 0, rows() - 1) * space_.states())];
}
const double* Reference::control(std::int64_t k) const {
  const auto m = std::int64_t(weights_.controls.size());
  const std::int64_t have = std::int64_t(controls_.size()) / m;
  return &controls_[std::size_t(std::clamp<std::int64_t>(k + begin_, 0, have - 1) * m)];
}
const std::vector<double>& Reference::weights(const At& at) const {
  return at.last() && !weights_.last.empty() ? weights_.last : weights_.states;
}

void Reference::check(std::int64_t, std::int64_t worlds) const {
  if (worlds != 1) throw Error("a reference is followed by one world");
}

void Reference::value(const At& at, double* loss) const {
  const double *r = state(at.k), *x = at.in.x;
  const std::vector<double>& w = weights(at);
  const int lanes = at.lanes;
  for (int i = 0; i < space_.states(); ++i) {
    if (tangent_of_[std::size_t(i)] < 0) continue;
    const double weight = 0.5 * w[std::size_t(tangent_of_[std::size_t(i)])];
    for (int l = 0; l < lanes; ++l) loss[l] += weight * (x[i * lanes + l] - r[i]) * (x[i * lanes + l] - r[i]);
  }
  int passed = 0;  // quaternions: each has a tangent less than numbers
  for (const int i : space_.quaternions()) {
    const double* weight = &w[std::size_t(i - passed++)];
    const Q about{r[i], r[i + 1], r[i + 2], r[i + 3]};
    for (int l = 0; l < lanes; ++l) {
      const double* q = x + i * lanes + l;
      const Vec3<double> e = turn(about, {q[0], q[lanes], q[2 * lanes], q[3 * lanes]});
      loss[l] += 0.5 * (weight[0] * e.x * e.x + weight[1] * e.y * e.y + weight[2] * e.z * e.z);
    }
  }
  if (!at.in.u) return;
  const double* c = controls_.empty() ? nullptr : control(at.k);
  for (int j = 0; j < int(weights_.controls.size()); ++j) {
    for (int l = 0; l < lanes; ++l) {
      const double e = at.in.u[j * lanes + l] - (c ? c[j] : 0.0);
      loss[l] += 0.5 * weights_.controls[std::size_t(j)] * e * e;
    }
  }
}

void Reference::add_product(const At& at, const double* from, const double* origin, double* to) const {
  const double* r = state(at.k);
  const std::vector<double>& w = weights(at);
  const int lanes = at.lanes;
  for (int i = 0; i < space_.states(); ++i) {
    if (tangent_of_[std::size_t(i)] < 0) continue;
    const double weight = w[std::size_t(tangent_of_[std::size_t(i)])], zero = origin ? origin[i] : 0.0;
    for (int l = 0; l < lanes; ++l) to[i * lanes + l] += weight * (from[i * lanes + l] - zero);
  }
  int passed = 0;
  for (const int i : space_.quaternions()) {
    const double* weight = &w[std::size_t(i - passed++)];
    const Q about{r[i], r[i + 1], r[i + 2], r[i + 3]};
    for (int l = 0; l < lanes; ++l) {
      const double* q = from + i * lanes + l;
      // The reference itself has no turn about itself: nothing is to be taken off.
      const Vec3<double> e = turn(about, {q[0], q[lanes], q[2 * lanes], q[3 * lanes]});
      const Q bar = turn_vjp(about, {weight[0] * e.x, weight[1] * e.y, weight[2] * e.z});
      double* out = to + i * lanes + l;
      out[0] += bar.w, out[lanes] += bar.x, out[2 * lanes] += bar.y, out[3 * lanes] += bar.z;
    }
  }
}

void Reference::vjp(const At& at, const Cotangents<double>& bar) const {
  if (bar.x) add_product(at, at.in.x, state(at.k), bar.x);
  if (!bar.u || !at.in.u) return;
  const double* c = controls_.empty() ? nullptr : control(at.k);
  for (int j = 0; j < int(weights_.controls.size()); ++j)
    for (int l = 0; l < at.lanes; ++l)
      bar.u[j * at.lanes + l] +=
          weights_.controls[std::size_t(j)] * (at.in.u[j * at.lanes + l] - (c ? c[j] : 0.0));
}

void Reference::hvp(const At& at, const Inputs<double>& in_dot, const Cotangents<double>& bar_dot) const {
  if (in_dot.x && bar_dot.x) add_product(at, in_dot.x, nullptr, bar_dot.x);
  if (!in_dot.u || !bar_dot.u || !at.in.u) return;
  for (int j = 0; j < int(weights_.controls.size()); ++j)
    for (int l = 0; l < at.lanes; ++l)
      bar_dot.u[j * at.lanes + l] += weights_.controls[std::size_t(j)] * in_dot.u[j * at.lanes + l];
}

}  // namespace costate::control
