// The space that states live in: numbers, some of which are unit quaternions.
//
// Plans, gains and filters count in tangents: a quaternion q moves by a rotation phi in body axes, three
// numbers instead of four, in its place among the others. So the tangents of a rigid model are
// (nv, nv, na) numbers, the rows of rigid::StepJacobian.
//
//   move         x (+) d:  q exp(phi)                     difference  y (-) x:  log(x* y)
//   rate_of      E(x) d: how the numbers move along d, (0, phi)/2 turned by q
//   tangent_of   its left inverse: phi = 2 vec(q* q_dot), for unit q
//   pull, lift   the transposes of rate_of and tangent_of
//   bend         the second derivative of x (+) d at d = 0 against a cotangent: -1/4 <x_bar, q> I
//
// Tests: tests/control/manifold_test.cpp.
#pragma once

#include <vector>

namespace costate::rigid {
struct Model;
}

namespace costate::control {

class StateSpace {
 public:
  // quaternions: where each begins, in rising order.
  explicit StateSpace(int states = 0, std::vector<int> quaternions = {});

  int states() const { return states_; }
  int tangents() const { return states_ - int(quaternions_.size()); }
  const std::vector<int>& quaternions() const { return quaternions_; }

  void move(const double* x, const double* d, double* y) const;
  void difference(const double* y, const double* x, double* d) const;
  void rate_of(const double* x, const double* d, double* x_dot) const;
  void tangent_of(const double* x, const double* x_dot, double* d) const;
  void pull(const double* x, const double* x_bar, double* d_bar) const;
  void lift(const double* x, const double* d_bar, double* x_bar) const;
  // Adds to H, tangents x tangents with rows `stride` apart.
  void bend(const double* x, const double* x_bar, double* H, int stride) const;

 private:
  template <class Plain, class Turned>
  void walk(const Plain& plain, const Turned& turned) const;

  int states_;
  std::vector<int> quaternions_;
};

// Of a rigid model: the quaternions of its free and ball joints.
StateSpace space_of(const rigid::Model& model);

}  // namespace costate::control
