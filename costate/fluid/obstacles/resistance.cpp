#include "costate/fluid/obstacles/resistance.h"

namespace costate::fluid {

template <class S, int Dim>
void Obstacles<S, Dim>::read_masks(bool moving, const From& in) const {
  for (std::size_t b = 0; b < model.obstacles.size(); ++b) {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    if (o.moves() != moving || !o.points.empty()) continue;
    const ShapeNumbers<One> q = numbers(b, in);
    if (o.level >= 0) {
      read_field<S>(shape, shape.all_cells(), in.p + o.level, work.level[b]);
      model.sides.template extend<One>(work.level[b]);
    }
    const Mask mask(o.core, o.width);
    each_face([&](std::size_t a, Index at, const auto& x) {
      store<One>(work.mask[b][a], at,
                 One(Real(mask.scale)) * face_viscosity(a, at) * mask.chi(depth(b, q, a, at, x)));
    });
  }
}

template <class S, int Dim>
void Obstacles<S, Dim>::write_level(std::size_t b, PackedOut<Real> p_bar) const {
  const Index level = model.obstacles[b].level;
  if (level < 0) return;
  clear<S>(shape, work.level_bar);
  add_to_cells(work.level_face, work.level_bar);
  model.sides.template extend_vjp<One>(work.level_bar);
  write_field<S>(shape, shape.all_cells(), work.level_bar, p_bar + level, true);
}

template <class S, int Dim>
void Obstacles<S, Dim>::read_motion(const From& in) const {
  bool first = true;
  for (std::size_t b = 0; b < model.obstacles.size(); ++b) {
    if (!model.obstacles[b].points.empty() || model.obstacles[b].flow_moves()) continue;
    const Motion m = motion(b, in);
    const ShapeNumbers<One> q = numbers(b, in);
    each_face([&](std::size_t a, Index at, const auto& x) {
      const One before = first ? One(0) : load<One>(work.carried[a], at);
      store<One>(work.carried[a], at, before + load<One>(work.mask[b][a], at) * speed(a, x, q, m));
    });
    first = false;
  }
  if (first)
    for (std::size_t a = 0; a < Dim; ++a) clear<S>(shape, work.carried[a]);
}

template <class S, int Dim>
void Obstacles<S, Dim>::move(const From& in, PackedOut<Real> y) const {
  for (std::size_t b = 0; b < model.obstacles.size(); ++b) {
    const Index at = model.obstacles[b].moved_at;
    if (at < 0 || model.obstacles[b].free_at >= 0) continue;
    const Motion m = motion(b, in);
    for (std::size_t i = 0; i < kPose; ++i) {
      const One next = read_number<S>(in.x, at + Index(i)) + in.dt * m[i];
      y.value[at + Index(i)] = value(next);
      if constexpr (kIsDual<S>) y.tangent[at + Index(i)] = next.d[0];
    }
  }
}

template <class S, int Dim>
void Obstacles<S, Dim>::add_forces(double share, const From& in,
                                   std::vector<std::array<double, 12>>& force) const {
  for (std::size_t b = 0; b < model.obstacles.size(); ++b) {
    if (!model.obstacles[b].points.empty()) continue;
    const Motion m = motion(b, in);
    const ShapeNumbers<One> q = numbers(b, in);
    const auto total = row_sums(kMotion, [&](std::size_t a, Index at, const auto& x, auto& sums) {
      const One taken = load<One>(work.mask[b][a], at) * (load<One>(work.star[a], at) - speed(a, x, q, m));
      add_speed_vjp(a, x, q, size(a, at) * taken, sums);
    });
    for (std::size_t i = 0; i < kMotion; ++i) {
      force[b][2 * i] += share * volume() * double(value(total[i]));
      if constexpr (kIsDual<S>) force[b][2 * i + 1] += share * volume() * double(total[i].d[0]);
    }
  }
}

template <class S, int Dim>
void Obstacles<S, Dim>::write_forces(PackedOut<Real> y) const {
  for (std::size_t b = 0; b < work.force.size(); ++b) {
    for (std::size_t i = 0; i < kMotion; ++i) {
      const Index at = model.obstacles[b].force_at + Index(i);
      y.value[at] = Real(work.force[b][2 * i]);
      if (kIsDual<S>) y.tangent[at] = Real(work.force[b][2 * i + 1]);
    }
  }
}

template <class S, int Dim>
void Obstacles<S, Dim>::read_forces_bar(const From& in, Packed<Real> y_bar) const {
  auto& bars = work.template wrenches_bar<One>();
  for (std::size_t b = 0; b < bars.size(); ++b) {
    bool any = false;
    for (std::size_t i = 0; i < kMotion; ++i) {
      One bar = read_number<S>(y_bar, model.obstacles[b].force_at + Index(i));
      if (model.obstacles[b].linked >= 0) bar = bar + work.template of_bodies<One>().reaction_bar[b][i];
      bars[b][i] = One(Real(volume(b))) * bar;
      any = any || value(bars[b][i]) != Real(0);
      if constexpr (kIsDual<S>) any = any || bars[b][i].d[0] != Real(0);
    }
    work.feels[b] = any && model.obstacles[b].points.empty();
    if (!work.feels[b]) continue;
    const ShapeNumbers<One> q = numbers(b, in);
    each_face([&](std::size_t a, Index at, const auto& x) {
      store<One>(work.felt[b][a], at, size(a, at) * speed(a, x, q, bars[b]));
    });
  }
}

template <class S, int Dim>
void Obstacles<S, Dim>::transpose(const From& in, bool viscosity, Packed<Real> y_bar, const To& bar) const {
  for (std::size_t b = 0; b < model.obstacles.size(); ++b) {
    const FlowModel::ObstacleModel& o = model.obstacles[b];
    if (!o.points.empty() || o.flow_moves()) continue;
    const bool moves = o.moved_at >= 0;
    const Motion m = motion(b, in);
    const ShapeNumbers<One> q = numbers(b, in);
    const auto speed_bar = [&](std::size_t a, Index at) {
      return load<One>(work.mask[b][a], at) * (load<One>(work.carried_bar[a], at) - felt(b, a, at));
    };
    ShapeNumbers<One> motion_bar = row_sums(kMotion, [&](std::size_t a, Index at, const auto& x, auto& sums) {
      add_speed_vjp(a, x, q, speed_bar(a, at), sums);
    });
    if (bar.p.value || moves) {
      ShapeNumbers<One> q_bar = read_masks_vjp(
          b, q,
          [&](std::size_t a, Index at, const auto& x) {
            const One body = speed(a, x, q, m);
            return load<One>(work.resist_bar[a], at) + body * load<One>(work.carried_bar[a], at) +
                   felt(b, a, at) * (load<One>(work.mean_star[a], at) - body);
          },
          viscosity);
      speed_centre_vjp(m, motion_bar, q_bar);
      if (work.feels[b]) {
        const auto taken = row_sums(Dim, [&](std::size_t a, Index at, const auto& x, auto& sums) {
          sums[a] = sums[a] + size(a, at) * load<One>(work.mask[b][a], at) *
                                  (load<One>(work.mean_star[a], at) - speed(a, x, q, m));
        });
        speed_centre_vjp(work.template wrenches_bar<One>()[b], taken, q_bar);
      }
      if (bar.p.value) write_shape(b, q_bar, bar.p);
      if (moves) move_vjp(b, in, m, q_bar, y_bar, motion_bar, bar);
    }
    const PackedOut<Real> to = o.driven ? bar.u : bar.p;
    if (to.value)
      for (std::size_t i = 0; i < kMotion; ++i) add_number<S>(to, o.motion_at + Index(i), motion_bar[i]);
  }
}

template <class S, int Dim>
void Obstacles<S, Dim>::move_vjp(std::size_t b, const From& in, const Motion& m,
                                 const ShapeNumbers<One>& q_bar, Packed<Real> y_bar,
                                 ShapeNumbers<One>& motion_bar, const To& bar) const {
  const Index at = model.obstacles[b].moved_at;
  for (std::size_t i = 0; i < kPose; ++i) {
    const One next_bar = read_number<S>(y_bar, at + Index(i));
    const auto number = shape_number(b, i);
    const One pose_bar = number ? q_bar[*number] : One(0);
    const One over_time = next_bar + One(Real(0.5)) * pose_bar, x_bar = next_bar + pose_bar;
    motion_bar[i] = motion_bar[i] + in.dt * over_time;
    bar.dt = bar.dt + m[i] * over_time;
    bar.x.value[at + Index(i)] = value(x_bar);
    if constexpr (kIsDual<S>)
      if (bar.x.tangent) bar.x.tangent[at + Index(i)] = x_bar.d[0];
  }
}

template <class S, int Dim>
void Obstacles<S, Dim>::add_to_cells(const Speeds<Real>& faces, const Plane<Real>& cells) const {
  for (std::size_t a = 0; a < Dim; ++a) {
    model.sides.template wrap<One>(faces[a], int(a));
    each_pack<S>(shape, shape.widened(shape.all_cells()), [&](Index at, Index count) {
      store<S>(cells, at,
               load<S>(cells, at) + (load<S>(faces[a], at) + load<S>(faces[a], at + shape.stride[a])), count);
    });
  }
}

template struct Obstacles<NativePack<float>, 2>;
template struct Obstacles<NativePack<double>, 2>;
template struct Obstacles<Dual<NativePack<float>>, 2>;
template struct Obstacles<Dual<NativePack<double>>, 2>;
template struct Obstacles<NativePack<float>, 3>;
template struct Obstacles<NativePack<double>, 3>;
template struct Obstacles<Dual<NativePack<float>>, 3>;
template struct Obstacles<Dual<NativePack<double>>, 3>;

}  // namespace costate::fluid
