#include "costate/fluid/obstacles/free.h"

namespace costate::fluid {

template <class S>
void FreeBodies<S>::read_rates(Packed<Real> from, std::size_t which) const {
  each_single([&](std::size_t b, const auto& o) {
    for (std::size_t i = 0; i < 3; ++i) rate(which, b)[i] = read_number<S>(from, o.free_at + Index(i));
  });
}

template <class S>
void FreeBodies<S>::write_rates(std::size_t which, PackedOut<Real> to) const {
  each_single([&](std::size_t b, const auto& o) {
    for (std::size_t i = 0; i < 3; ++i) put(to, o.free_at + Index(i), rate(which, b)[i]);
  });
}

template <class S>
void FreeBodies<S>::apply(FlowModel::Weights w, int stage) const {
  each([&](std::size_t b, const auto& o) {
    const ShapeNumbers<One> q = bodies.numbers(b, in);
    const Sums sums = sum_up(b, q, w, false);
    if (o.linked >= 0) {
      LinkedForce<typename LinkedBodies<S>::T>& to = linked.numbers().forces[std::size_t(o.linked)];
      to.at_rest = linked.to_linkage(sums.a);
      for (std::size_t i = 0; i < 3; ++i) to.stiffness[i] = linked.to_linkage(sums.k[i]);
      return;
    }
    const Three rhs = right_side(b, w, stage, sums.a);
    rate(std::size_t(stage) + 1, b) = solved(matrix(o, sums.k, w), rhs, false);
  });
  if (model.linkage)
    linked.stage(w, stage, [&](std::size_t b, const Three& v) { rate(std::size_t(stage) + 1, b) = v; });
  let_move(w, stage);
}

template <class S>
void FreeBodies<S>::let_move(FlowModel::Weights w, int stage) const {
  use(std::size_t(stage) + 1);
  const One s = step(w);
  for (std::size_t a = 0; a < 2; ++a) clear<S>(shape, work.along[a]);
  each([&](std::size_t b, const auto&) {
    const ShapeNumbers<One> q = bodies.numbers(b, in);
    each_held(b, [&](std::size_t a, Index at, const auto& x, const One& kappa) {
      const One more =
          s * kappa * bodies.speed(a, x, q, work.template moving<One>()[b]) / (One(1) + s * total(a, at));
      store<One>(work.along[a], at, load<One>(work.along[a], at) + more);
      store<One>(work.star[a], at, load<One>(work.star[a], at) + more);
    });
  });
}

template <class S>
void FreeBodies<S>::move(int stages, PackedOut<Real> y) const {
  write_rates(std::size_t(stages), y);
  each_single([&](std::size_t b, const auto& o) {
    for (std::size_t i = 0; i < 3; ++i) {
      const One mean = One(Real(0.5)) * (rate(0, b)[i] + rate(std::size_t(stages), b)[i]);
      put(y, o.moved_at + Index(i), read_number<S>(in.x, o.moved_at + Index(i)) + in.dt * mean);
    }
  });
}

template <class S>
void FreeBodies<S>::begin_transpose(int stages, Packed<Real> y_bar, const typename Bodies::To& bar) const {
  each([&](std::size_t b, const auto&) {
    for (std::size_t which = 0; which < 4; ++which) rate_bar(which, b) = {One(0), One(0), One(0)};
  });
  each_single([&](std::size_t b, const auto& o) {
    const auto last = std::size_t(stages);
    for (std::size_t i = 0; i < 3; ++i) {
      const One next = read_number<S>(y_bar, o.moved_at + Index(i)), half = One(Real(0.5)) * in.dt * next;
      rate_bar(last, b)[i] = read_number<S>(y_bar, o.free_at + Index(i)) + half;
      rate_bar(0, b)[i] = rate_bar(0, b)[i] + half;
      bar.dt = bar.dt + One(Real(0.5)) * (rate(0, b)[i] + rate(last, b)[i]) * next;
      put(bar.x, o.moved_at + Index(i), next);
    }
  });
}

template <class S>
void FreeBodies<S>::transpose(FlowModel::Weights w, int stage, const typename Bodies::To& bar) const {
  const One s = step(w), volume(Real(bodies.volume()));
  const auto space = [&](std::size_t a, Index at) { return volume * One(bodies.size(a, at)); };
  for (std::size_t a = 0; a < 2; ++a)
    each_pack<S>(shape, model.sides.free_faces(int(a)), [&](Index at, Index count) {
      store<S>(work.whole_bar[a], at, load<S>(work.star_bar[a], at), count);
    });
  transpose_motions(w, stage, bar);
  each([&](std::size_t b, const auto&) {
    const ShapeNumbers<One> q = bodies.numbers(b, in);
    each_held(b, [&](std::size_t a, Index at, const auto& x, const One& kappa) {
      store<One>(work.star_bar[a], at,
                 load<One>(work.star_bar[a], at) + space(a, at) * s * kappa * along(a, x, q, mu(b)));
    });
  });
}

template <class S>
void FreeBodies<S>::transpose_motions(FlowModel::Weights w, int stage, const typename Bodies::To& bar) const {
  each_single([&](std::size_t b, const auto& o) {
    const ShapeNumbers<One> q = bodies.numbers(b, in);
    const Sums sums = sum_up(b, q, w);
    mu(b) = solved(matrix(o, sums.k, w), rate_bar_of(b, q, w, stage), true);
    transpose_rates(b, w, stage, sums, bar);
  });
  if (model.linkage)
    linked.stage_vjp(
        w, stage, [&](std::size_t b) { return rate_bar_of(b, bodies.numbers(b, in), w, stage); },
        [&](std::size_t b, const Three& found) { mu(b) = found; });
}

template <class S>
void FreeBodies<S>::transpose_bodies(FlowModel::Weights w, bool viscosity,
                                     const typename Bodies::To& bar) const {
  const One s = step(w), mean(Real(w.mean));
  for (std::size_t a = 0; a < 2; ++a)
    each_pack<S>(shape, model.sides.free_faces(int(a)), [&](Index at, Index count) {
      const S more = load<S>(work.along[a], at), b = divided_pack(a, at, w);
      const auto add = [&](const Speeds<Real>& to, const S& x) {
        store<S>(to[a], at, load<S>(to[a], at) + x, count);
      };
      add(work.resist_bar, -(everywhere<S>(s) * more * b));
      add(work.mean_star, everywhere<S>(mean) * more);
    });
  each([&](std::size_t b, const auto&) { transpose_body(b, w, viscosity, bar); });
}

template <class S>
void FreeBodies<S>::end_transpose(PackedOut<Real> x_bar) const {
  each_single([&](std::size_t b, const auto& o) {
    for (std::size_t i = 0; i < 3; ++i) put(x_bar, o.free_at + Index(i), rate_bar(0, b)[i]);
  });
}

template <class S>
auto FreeBodies<S>::sum_up(std::size_t b, const ShapeNumbers<One>& q, FlowModel::Weights w, bool moved) const
    -> Sums {
  const One s = step(w), volume(Real(bodies.volume()));
  const auto sums = sums_held(b, 9, [&](std::size_t a, Index at, const auto& x, const One& kappa, auto& to) {
    const One k = kappa / (One(1) + s * kappa);
    const Three n = a == 0 ? Three{One(1), One(0), q[1] - One(Real(x[1]))}
                           : Three{One(0), One(1), One(Real(x[0])) - q[0]};
    const One size(bodies.size(a, at)),
        taken = size * kappa * (moved ? star_0(a, at) : load<One>(work.star[a], at)), held = size * k;
    std::size_t next = 3;
    for (std::size_t i = 0; i < 3; ++i) {
      to[i] = to[i] + n[i] * taken;
      for (std::size_t j = i; j < 3; ++j, ++next) to[next] = to[next] + held * n[i] * n[j];
    }
  });
  Sums found;
  std::size_t next = 3;
  for (std::size_t i = 0; i < 3; ++i) {
    found.a[i] = volume * sums[i];
    for (std::size_t j = i; j < 3; ++j, ++next) found.k[i][j] = found.k[j][i] = volume * sums[next];
  }
  return found;
}

template <class S>
void FreeBodies<S>::transpose_rates(std::size_t b, FlowModel::Weights w, int stage, const Sums& sums,
                                    const typename Bodies::To& bar) const {
  const FlowModel::ObstacleModel& o = model.obstacles[b];
  const One s = step(w);
  Three& mu = this->mu(b);
  const Three& v = rate(std::size_t(stage) + 1, b);
  const auto own_bar = [&](Index number, const One& x) {
    if (bar.p.value) add_number<S>(bar.p, o.body_at + number, x);
  };
  One s_bar(0);
  for (std::size_t i = 0; i < 3; ++i) {
    if (!o.free[i]) {
      const PackedOut<Real> to = o.driven ? bar.u : bar.p;
      if (to.value) add_number<S>(to, o.motion_at + Index(i), mu[i]);
      mu[i] = One(0);
      continue;
    }
    One& now_bar = rate_bar(std::size_t(stage), b)[i];
    now_bar = now_bar + (One(Real(w.share)) * mass(b, i) - s * own(b, kDamper + Index(i))) * mu[i];
    rate_bar(0, b)[i] = rate_bar(0, b)[i] + One(Real(w.kept)) * mass(b, i) * mu[i];
    One mass_bar = mu[i] * (brought(b, i, w, stage) - v[i]);
    if (i < 2) {
      mass_bar = mass_bar + s * mu[i] * own(b, kGravity + Index(i));
      own_bar(kGravity + Index(i), s * mu[i] * own(b, kMass));
    }
    own_bar(i < 2 ? kMass : kInertia, mass_bar);
    own_bar(kSpring + Index(i), -(s * mu[i] * pose(b, i)));
    own_bar(kDamper + Index(i), -(s * mu[i] * rate(std::size_t(stage), b)[i]));
    pose_vjp(b, i, -(s * own(b, kSpring + Index(i)) * mu[i]), bar);
    One held = pushed(b, i, stage) + sums.a[i];
    for (std::size_t j = 0; j < 3; ++j) held = held - sums.k[i][j] * v[j];
    s_bar = s_bar + mu[i] * held;
  }
  bar.dt = bar.dt + One(Real(w.share)) * s_bar;
}

template <class S>
void FreeBodies<S>::transpose_body(std::size_t b, FlowModel::Weights w, bool viscosity,
                                   const typename Bodies::To& bar) const {
  const ShapeNumbers<One> q = bodies.numbers(b, in);
  const One s = step(w), mean(Real(w.mean)), volume(Real(bodies.volume()));
  const auto space = [&](std::size_t a, Index at) { return volume * One(bodies.size(a, at)); };
  const Three& m = mu(b);
  Three v;
  for (std::size_t i = 0; i < 3; ++i) v[i] = work.template moving<One>()[b][i];
  // On a face.
  struct Parts {
    One kappa, star, before, nv, nmu, b, soft, felt;
  };
  const auto parts = [&](std::size_t a, Index at, const auto& x) {
    const One kappa = load<One>(work.mask[b][a], at);
    return Parts{kappa,
                 load<One>(work.star[a], at),
                 star_0(a, at),
                 along(a, x, q, v),
                 space(a, at) * s * along(a, x, q, m),
                 divided(a, at, w),
                 One(1) / (One(1) + s * kappa),
                 mean * bodies.felt(b, a, at)};
  };
  ShapeNumbers<One> q_bar = bodies.read_masks_vjp(
      b, q,
      [&](std::size_t a, Index at, const auto& x) {
        const Parts f = parts(a, at, x);
        const One c = load<One>(work.star_bar[a], at) - f.b;
        return s * (f.nv - f.star) * f.b - s * f.before * c + f.felt * (f.star - f.nv) +
               f.nmu * (f.before - f.nv * f.soft * f.soft);
      },
      viscosity);
  const auto sums = sums_held(b, 7, [&](std::size_t a, Index at, const auto& x, const One& kappa, auto& to) {
    const Parts f = parts(a, at, x);
    const One k = kappa * f.soft;
    to[a] = to[a] + kappa * (s * f.b - f.felt) - k * f.nmu;                            // of N V
    to[2 + a] = to[2 + a] + space(a, at) * s * (kappa * f.before - k * f.nv);          // of N mu
    to[4 + a] = to[4 + a] + mean * One(bodies.size(a, at)) * kappa * (f.star - f.nv);  // of N wrench_bar
    to[6] = to[6] + f.b * kappa * f.nv / (One(1) + s * total(a, at)) + f.nmu * f.nv * k * k;  // of s
  });
  const auto centre = [&](const Three& motion, std::size_t first) {
    ShapeNumbers<One> along_axes{};
    along_axes[0] = sums[first], along_axes[1] = sums[first + 1];
    bodies.speed_centre_vjp({motion[0], motion[1], motion[2], One(0), One(0), One(0)}, along_axes, q_bar);
  };
  centre(v, 0), centre(m, 2);
  const auto& wrench = work.template wrenches_bar<One>()[b];
  if (work.feels[b]) centre({wrench[0], wrench[1], wrench[2]}, 4);
  bar.dt = bar.dt + One(Real(w.share)) * sums[6];
  if (bar.p.value) bodies.write_shape(b, q_bar, bar.p);
  for (std::size_t i = 0; i < 3; ++i)
    if (const auto number = bodies.shape_number(b, i)) {
      if (const int link = model.obstacles[b].linked; link < 0)
        pose_vjp(b, i, q_bar[*number], bar);
      else
        linked.numbers().poses_bar[std::size_t(link)][i] += linked.to_linkage(q_bar[*number]);
    }
}

template struct FreeBodies<NativePack<float>>;
template struct FreeBodies<NativePack<double>>;
template struct FreeBodies<Dual<NativePack<float>>>;
template struct FreeBodies<Dual<NativePack<double>>>;

}  // namespace costate::fluid
