#include "costate/fluid/pressure/viscous_solver.h"

namespace costate::fluid {
namespace {

// Of component c along an axis.
Ends speed_ends(const Sides& sides, int c, int axis) {
  if (sides.shape.periodic[std::size_t(axis)]) return Ends::periodic;
  if (axis == c) {
    if (sides.open(axis, 0)) return sides.open(axis, 1) ? Ends::even_even : Ends::even_wall;
    return sides.open(axis, 1) ? Ends::wall_even : Ends::wall_wall;
  }
  const auto odd = [&](std::size_t end) {
    return sides.kind[std::size_t(axis)][end] == Side::Kind::velocity;
  };
  if (odd(0)) return odd(1) ? Ends::odd_odd : Ends::odd_even;
  return odd(1) ? Ends::even_odd : Ends::even_even;
}

}  // namespace

template <class Real>
ViscousSolver<Real>::ViscousSolver(const Sides& sides) : shape_(sides.shape) {
  for (int c = 0; c < shape_.dim; ++c) {
    std::array<Ends, 3> ends{};
    for (int a = 0; a < shape_.dim; ++a) ends[std::size_t(a)] = speed_ends(sides, c, a);
    box_[std::size_t(c)] = sides.free_faces(c);
    transform_[std::size_t(c)] = BoxTransform<Real>(shape_, box_[std::size_t(c)], ends, -1);
  }
}

template <class Real>
Index ViscousSolver<Real>::scratch_numbers() const {
  Index most = 0;
  for (int c = 0; c < shape_.dim; ++c) most = std::max(most, transform_[std::size_t(c)].scratch_numbers());
  return most;
}

template <class Real>
void ViscousSolver<Real>::solve(int component, Real* field, double spread, Real* scratch) const {
  const BoxTransform<Real>& transform = transform_[std::size_t(component)];
  const Box& box = box_[std::size_t(component)];
  const Index height = box.hi[1] - box.lo[1];
  std::array<double, 3> per_h2{};
  for (std::size_t a = 0; a < std::size_t(shape_.dim); ++a) per_h2[a] = spread / (shape_.h[a] * shape_.h[a]);
  transform.forward(field, scratch);
  each_row(shape_, box, [&](Index row, Index at) {
    double along = 1 + per_h2[1] * transform.lambda(1)[std::size_t(row % height)];
    if (shape_.dim == 3) along += per_h2[2] * transform.lambda(2)[std::size_t(row / height)];
    const double* lambda = transform.lambda(0).data();
    for (Index i = 0; i < box.width(); ++i)
      field[at + i] /= Real(transform.gain() * (along + per_h2[0] * lambda[i]));
  });
  transform.inverse(field, scratch);
}

template class ViscousSolver<float>;
template class ViscousSolver<double>;

}  // namespace costate::fluid
