// Bodies that the flow moves, in two dimensions: a plate that falls, a foil on a spring.
//
//   M dV/dt = wrench + M (g, 0) - spring pose - damper V      V = (velocity, spin), pose = (moved, turned)
//
// M = diag(mass, mass, inertia) is what the body has beyond the fluid that it displaces, which the mask moves
// along already: (density - 1) area, per density of the fluid. Numbers of V that are not free are given, as
// those of bodies that are led are. In a stage the body and the fluid in its mask exchange momentum
// implicitly and together, so that a light body among heavy fluid is stable whatever dt is:
//
//   star_0 = (pre + s sum_others kappa u) / (1 + s sum kappa)               as if the body were not there
//   (M + s K) V = M (kept V_n + share V_c) + s (M g - spring pose - damper V_c + A)       s = share dt
//   A = h^2 sum N' kappa star_0     K = h^2 sum N' k N,  k = kappa / (1 + s kappa)
//   star = star_0 + s kappa N V / (1 + s sum kappa)
//
//   pose+ = pose + dt/2 (V_n + V_n+1), and during the step the body is at pose + dt/2 V_n
//
// Bodies that a linkage holds together (linkage.h) find V together, from the same A and K, and mu from V_bar.
//
// Transpose of a stage, with b = star_bar / (1 + s sum kappa) and felt = N wrench_bar (resistance.h):
//
//   mu = (M + s K)'^-1 (V_bar + sum N' kappa (s b - b_s felt))    pre_bar = b + c
//   c = sum_bodies h^2 s kappa N mu / (1 + s sum kappa)
//   kappa_bar = s (N V - star) b - s star_0 c + b_s felt (star - N V)
//               + h^2 s N mu (star_0 - N V / (1 + s kappa)^2)
//
// and N, which knows the centre, from each of its uses. The resistance of other bodies and dt get what
// momentum.h gives them for star_0, and here the rest. Where two bodies overlap, each one's K knows only its
// own mask. On a stretched grid h^2 is the space of each face. Tests: tests/fluid/free_test.cpp.
#pragma once

#include "costate/fluid/obstacles/linked.h"

namespace costate::fluid {

template <class S>
struct FreeBodies {
  using Real = value_t<S>;
  using One = Single<S>;
  using Bodies = Obstacles<S, 2>;
  using Three = std::array<One, 3>;
  const FlowModel& model;
  FlowScratch<Real>& work;
  typename Bodies::From in;
  const Shape& shape = model.sides.shape;
  Bodies bodies{model, work};

  // A body's own parameters.
  enum { kMass, kInertia, kGravity, kSpring = 4, kDamper = 7 };

  // --- rates of the state and of the stages: number 0 is the state's, s + 1 those that stage s makes -------

  template <class F>
  void each(const F& f) const {
    for (std::size_t b = 0; b < model.obstacles.size(); ++b)
      if (model.obstacles[b].flow_moves()) f(b, model.obstacles[b]);
  }
  // Those with a mass and a rate of their own.
  template <class F>
  void each_single(const F& f) const {
    for (std::size_t b = 0; b < model.obstacles.size(); ++b)
      if (model.obstacles[b].free_at >= 0) f(b, model.obstacles[b]);
  }
  LinkedBodies<S> linked{model, work, in};
  void read_rates(Packed<Real> from, std::size_t which) const;
  void write_rates(std::size_t which, PackedOut<Real> to) const;
  // Where the stage leaves the body: resistance.h reads it as the body's motion.
  void use(std::size_t which) const {
    each([&](std::size_t b, const auto&) {
      for (std::size_t i = 0; i < 3; ++i) work.template moving<One>()[b][i] = rate(which, b)[i];
    });
  }

  // --- a stage: work.star is star_0, and becomes star ------------------------------------------------------

  // Not inlined: the step and its transpose, which makes the stage again, must round alike.
  [[gnu::noinline]] void apply(FlowModel::Weights w, int stage) const;
  // From star_0 to star, with the rates that the stage has made; `along` is the difference.
  [[gnu::noinline]] void let_move(FlowModel::Weights w, int stage) const;
  // pose+.
  void move(int stages, PackedOut<Real> y) const;

  // --- transpose -------------------------------------------------------------------------------------------

  void begin_transpose(int stages, Packed<Real> y_bar, const typename Bodies::To& bar) const;
  // star is that of the stage (momentum.h, then let_move). star_bar, before the division, gets what pre_bar
  // gets by way of the bodies.
  void transpose(FlowModel::Weights w, int stage, const typename Bodies::To& bar) const;
  // After it and the division: masks, centres, poses, dt.
  void transpose_bodies(FlowModel::Weights w, bool viscosity, const typename Bodies::To& bar) const;
  void end_transpose(PackedOut<Real> x_bar) const;

 private:
  using Matrix = std::array<Three, 3>;
  struct Sums {
    Three a;
    Matrix k;
  };
  Three& rate(std::size_t which, std::size_t b) const {
    return work.template of_bodies<One>().rate[which][b];
  }
  Three& rate_bar(std::size_t which, std::size_t b) const {
    return work.template of_bodies<One>().rate_bar[which][b];
  }
  static void put(PackedOut<Real> to, Index at, const One& x) {
    if constexpr (kIsDual<S>) {
      to.value[at] = x.v;
      if (to.tangent) to.tangent[at] = x.d[0];
    } else {
      to.value[at] = x;
    }
  }
  One own(std::size_t b, Index number) const {
    return read_number<S>(in.p, model.obstacles[b].body_at + number);
  }
  One mass(std::size_t b, std::size_t i) const { return own(b, i < 2 ? kMass : kInertia); }
  One step(FlowModel::Weights w) const { return One(Real(w.share)) * in.dt; }
  One given(const FlowModel::ObstacleModel& o, std::size_t i) const {
    return read_number<S>(o.driven ? in.u : in.p, o.motion_at + Index(i));
  }
  // In the middle of the step.
  One pose(std::size_t b, std::size_t i) const {
    return read_number<S>(in.x, model.obstacles[b].moved_at + Index(i)) +
           One(Real(0.5)) * in.dt * rate(0, b)[i];
  }
  One total(std::size_t a, Index at) const {
    One sum = load<One>(work.mask[0][a], at);
    for (std::size_t b = 1; b < work.mask.size(); ++b) sum = sum + load<One>(work.mask[b][a], at);
    return sum;
  }
  One along(std::size_t a, const std::array<double, 3>& x, const ShapeNumbers<One>& q, const Three& v) const {
    return bodies.speed(a, x, q, {v[0], v[1], v[2], One(0), One(0), One(0)});
  }
  Three& mu(std::size_t b) const { return work.template of_bodies<One>().mu[b]; }
  // f(a, at, place, kappa) for the faces that a body holds.
  template <class F>
  void each_held(std::size_t b, const F& f) const {
    bodies.each_face([&](std::size_t a, Index at, const auto& x) {
      if (work.mask[b][a].value[at] != Real(0)) f(a, at, x, load<One>(work.mask[b][a], at));
    });
  }
  template <class F>
  ShapeNumbers<One> sums_held(std::size_t b, std::size_t count, const F& f) const {
    return bodies.row_sums(count, [&](std::size_t a, Index at, const auto& x, auto& to) {
      if (work.mask[b][a].value[at] != Real(0)) f(a, at, x, load<One>(work.mask[b][a], at), to);
    });
  }
  One star_0(std::size_t a, Index at) const {
    return load<One>(work.star[a], at) - load<One>(work.along[a], at);
  }

  // A and K. `moved`: work.star is star, not star_0.
  [[gnu::noinline]] Sums sum_up(std::size_t b, const ShapeNumbers<One>& q, FlowModel::Weights w,
                                bool moved = true) const;
  // What pushes the body besides the fluid.
  One pushed(std::size_t b, std::size_t i, int stage) const {
    One f = -(own(b, kSpring + Index(i)) * pose(b, i)) -
            own(b, kDamper + Index(i)) * rate(std::size_t(stage), b)[i];
    if (i < 2) f = f + own(b, kMass) * own(b, kGravity + Index(i));
    return f;
  }
  One brought(std::size_t b, std::size_t i, FlowModel::Weights w, int stage) const {
    return One(Real(w.kept)) * rate(0, b)[i] + One(Real(w.share)) * rate(std::size_t(stage), b)[i];
  }
  Three right_side(std::size_t b, FlowModel::Weights w, int stage, const Three& a) const {
    Three rhs;
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    for (std::size_t i = 0; i < 3; ++i)
      rhs[i] = o.free[i] ? mass(b, i) * brought(b, i, w, stage) + step(w) * (pushed(b, i, stage) + a[i])
                         : given(o, i);
    return rhs;
  }
  Matrix matrix(const FlowModel::ObstacleModel& o, const Matrix& k, FlowModel::Weights w) const {
    Matrix m;
    const auto b = std::size_t(&o - model.obstacles.data());
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        m[i][j] = o.free[i] ? step(w) * k[i][j] + (i == j ? mass(b, i) : One(0)) : One(i == j ? 1 : 0);
    return m;
  }
  // M x = y, or M' x = y; all leading minors of M are positive.
  static Three solved(Matrix m, Three y, bool transposed) {
    if (transposed)
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < i; ++j) std::swap(m[i][j], m[j][i]);
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t i = k + 1; i < 3; ++i) {
        const One factor = m[i][k] / m[k][k];
        for (std::size_t j = k; j < 3; ++j) m[i][j] = m[i][j] - factor * m[k][j];
        y[i] = y[i] - factor * y[k];
      }
    }
    for (std::size_t k = 3; k-- > 0;) {
      for (std::size_t j = k + 1; j < 3; ++j) y[k] = y[k] - m[k][j] * y[j];
      y[k] = y[k] / m[k][k];
    }
    return y;
  }

  // V_bar + sum N' kappa (s b - b_s felt)
  Three rate_bar_of(std::size_t b, const ShapeNumbers<One>& q, FlowModel::Weights w, int stage) const {
    const auto sums = sums_held(b, 3, [&](std::size_t a, Index at, const auto& x, const One&, auto& to) {
      bodies.add_speed_vjp(a, x, q, speed_bar(b, a, at, w), to);
    });
    Three v_bar = rate_bar(std::size_t(stage) + 1, b);
    for (std::size_t i = 0; i < 3; ++i) v_bar[i] = v_bar[i] + sums[i];
    return v_bar;
  }
  One divided(std::size_t a, Index at, FlowModel::Weights w) const {  // b
    return load<One>(work.whole_bar[a], at) / (One(1) + step(w) * total(a, at));
  }
  One speed_bar(std::size_t b, std::size_t a, Index at, FlowModel::Weights w) const {
    return load<One>(work.mask[b][a], at) *
           (step(w) * divided(a, at, w) - One(Real(w.mean)) * bodies.felt(b, a, at));
  }
  S divided_pack(std::size_t a, Index at, FlowModel::Weights w) const {
    S sum = load<S>(work.mask[0][a], at);
    for (std::size_t b = 1; b < work.mask.size(); ++b) sum = sum + load<S>(work.mask[b][a], at);
    return load<S>(work.whole_bar[a], at) / (S(Real(1)) + everywhere<S>(step(w)) * sum);
  }
  // mu of a number that is given goes to what it is given by, and to nothing else.
  void transpose_rates(std::size_t b, FlowModel::Weights w, int stage, const Sums& sums,
                       const typename Bodies::To& bar) const;
  void pose_vjp(std::size_t b, std::size_t i, const One& pose_bar, const typename Bodies::To& bar) const {
    add_number<S>(bar.x, model.obstacles[b].moved_at + Index(i), pose_bar);
    rate_bar(0, b)[i] = rate_bar(0, b)[i] + One(Real(0.5)) * in.dt * pose_bar;
    bar.dt = bar.dt + One(Real(0.5)) * rate(0, b)[i] * pose_bar;
  }
  // mu of every body, and what it does to the numbers that the body's own motion depends on.
  void transpose_motions(FlowModel::Weights w, int stage, const typename Bodies::To& bar) const;
  // What mu and V do to a body's mask, centre, pose and dt.
  void transpose_body(std::size_t b, FlowModel::Weights w, bool viscosity,
                      const typename Bodies::To& bar) const;
};

}  // namespace costate::fluid
