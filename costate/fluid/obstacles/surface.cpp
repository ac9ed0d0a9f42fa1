#include "costate/fluid/obstacles/surface.h"

namespace costate::fluid {

template <class S, bool Stretched>
void Surfaces<S, Stretched>::factorise() const {
  using P = NativePack<Real>;
  const Surfaces<P, Stretched> values{model, work, solver, {u.value}, {p.value}, Real(0)};
  const std::size_t n = numbers();
  std::vector<double>& matrix = work.surface_factor;
  std::vector<Real>& unit = work.surface_back;
  for (std::size_t j = 0; j < n; ++j) {
    std::fill(unit.begin(), unit.end(), Real(0));
    unit[j] = 1;
    values.image(unit, work.surface_rhs);
    for (std::size_t i = 0; i < n; ++i) matrix[i * n + j] = double(work.surface_rhs[i]);
  }
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, matrix[i * n + i]);
  const double shift = largest * (sizeof(Real) == 8 ? 1e-12 : 1e-5);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = 0.5 * (matrix[i * n + j] + matrix[j * n + i]) + (i == j ? shift : 0.0);
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      if (i == j && !(sum > 0))
        throw Error({"the surface of a body cannot be held: its points do not determine their forces",
                     {},
                     "move bodies apart, or make them larger than a few cells"},
                    Error::Kind::numerics);
      matrix[i * n + j] = i == j ? std::sqrt(sum) : sum / matrix[j * n + j];
    }
    for (std::size_t k = j + 1; k < n; ++k) matrix[j * n + k] = matrix[k * n + j];  // both halves
  }
}

template <class S, bool Stretched>
void Surfaces<S, Stretched>::apply(const Speeds<Real>& out) const {
  if (model.pressure >= 0) {
    each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
      store<S>(work.surface_pressure, at, load<S>(work.pressure, at), count);
    });
  }
  each_point([&](std::size_t b, std::size_t i, const Pair& x, const auto& q) {
    for (std::size_t a = 0; a < 2; ++a)
      put(work.surface_rhs, 2 * i + a, interpolated(out[a], b, a, x) - speed(b, a, x, q));
  });
  solve(work.surface_force);
  make_forces(work.surface_force);
  Projection<S, 2, Stretched>(model.sides, solver).apply(work.held, work.held, {}, work);
  each_face(true, [&](std::size_t a, Index at, Index count) {
    store<S>(out[a], at, load<S>(out[a], at) - load<S>(work.held[a], at), count);
  });
  if (model.pressure >= 0) {
    each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
      store<S>(work.pressure, at, load<S>(work.surface_pressure, at) - load<S>(work.pressure, at), count);
    });
    model.sides.template set_pressure<One>(work.pressure);
  }
}

template <class S, bool Stretched>
void Surfaces<S, Stretched>::add_forces(FlowModel::Weights w) const {
  each_point([&](std::size_t b, std::size_t i, const Pair& x, const auto& q) {
    const One scale = per_time(w) * One(Real(model.obstacles[b].cell[0] * model.obstacles[b].cell[1]));
    const One fx = scale * get(work.surface_force, 2 * i), fy = scale * get(work.surface_force, 2 * i + 1);
    const std::array<One, 3> wrench{fx, fy, (x[0] - q[0]) * fy - (x[1] - q[1]) * fx};
    for (std::size_t k = 0; k < 3; ++k) {
      work.force[b][2 * k] += double(value(wrench[k]));
      if constexpr (kIsDual<S>) work.force[b][2 * k + 1] += double(wrench[k].d[0]);
    }
  });
}

template <class S, bool Stretched>
void Surfaces<S, Stretched>::transpose(FlowModel::Weights w) const {
  each_point([&](std::size_t b, std::size_t i, const Pair& x, const auto& q) {
    for (std::size_t a = 0; a < 2; ++a)
      put(work.surface_rhs, 2 * i + a,
          interpolated(work.star_bar[a], b, a, x) - per_time(w) * felt(b, a, x, q));
  });
  solve(work.surface_back);
  make_forces(work.surface_back);
  Projection<S, 2, Stretched>(model.sides, solver).transpose(work.held, work.held, {}, work);
  each_face(false, [&](std::size_t a, Index at, Index count) {
    store<S>(work.star_bar[a], at, load<S>(work.star_bar[a], at) - load<S>(work.held[a], at), count);
  });
}

template <class S, bool Stretched>
void Surfaces<S, Stretched>::transpose_bodies(FlowModel::Weights w, const Speeds<Real>& out,
                                              PackedOut<Real> u_bar, PackedOut<Real> p_bar,
                                              One& dt_bar) const {
  each_point([&](std::size_t b, std::size_t i, const Pair& x, const auto& q) {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    const One spin = read_number<S>(o.driven ? u : p, o.motion_at + 2);
    Pair x_bar{One(0), One(0)}, back{}, force{};
    for (std::size_t a = 0; a < 2; ++a) {
      const One f = force[a] = get(work.surface_force, 2 * i + a);
      back[a] = get(work.surface_back, 2 * i + a);
      const Pair by_star = slope(work.star_bar[a], b, a, x), by_out = slope(out[a], b, a, x);
      for (std::size_t d = 0; d < 2; ++d) x_bar[d] = x_bar[d] - (f * by_star[d] + back[a] * by_out[d]);
      dt_bar = dt_bar - per_time(w) * felt(b, a, x, q) * f / dt;
    }
    // u_body = velocity + spin (-(y - cy), x - cx), and so is what is felt of the torque
    const One torque_bar = per_time(w) * work.template wrenches_bar<One>()[b][2];
    const Pair turned{spin * back[1] + torque_bar * force[1], -(spin * back[0]) - torque_bar * force[0]};
    for (std::size_t d = 0; d < 2; ++d) x_bar[d] = x_bar[d] + turned[d];
    const PackedOut<Real> motion = o.driven ? u_bar : p_bar;
    if (motion.value) {
      for (std::size_t a = 0; a < 2; ++a) add_number<S>(motion, o.motion_at + Index(a), back[a]);
      add_number<S>(motion, o.motion_at + 2, back[1] * (x[0] - q[0]) - back[0] * (x[1] - q[1]));
    }
    if (!p_bar.value) return;
    for (std::size_t d = 0; d < 2; ++d) add_number<S>(p_bar, o.shape_at + Index(d), -turned[d]);
    position_vjp(b, i, q, x_bar, p_bar);
  });
}

template <class S, bool Stretched>
void Surfaces<S, Stretched>::image(const std::vector<Real>& f, std::vector<Real>& to) const {
  make_forces(f);
  Projection<S, 2, Stretched>(model.sides, solver).apply(work.held, work.held, {}, work);
  each_point([&](std::size_t b, std::size_t i, const Pair& x, const auto&) {
    for (std::size_t a = 0; a < 2; ++a) put(to, 2 * i + a, interpolated(work.held[a], b, a, x));
  });
}

template struct Surfaces<NativePack<float>, false>;
template struct Surfaces<NativePack<double>, false>;
template struct Surfaces<Dual<NativePack<float>>, false>;
template struct Surfaces<Dual<NativePack<double>>, false>;
template struct Surfaces<NativePack<float>, true>;
template struct Surfaces<NativePack<double>, true>;
template struct Surfaces<Dual<NativePack<float>>, true>;
template struct Surfaces<Dual<NativePack<double>>, true>;

}  // namespace costate::fluid
