#include "costate/fluid/obstacles/linked.h"

#include <cassert>

namespace costate::fluid {

template <class S>
void LinkedBodies<S>::begin() const {
  auto& n = numbers();
  read(in.x, model.linkage_states, n.x);
  read(in.u, model.linkage_controls, n.u);
  read(in.p, model.linkage_parameters, n.p);
  each([&](std::size_t b, std::size_t shape) {
    for (std::size_t i = 0; i < 3; ++i) {
      const auto number = frame_number(b, i);
      n.frames[shape][i] = number ? to_linkage(read_number<S>(in.p, *number)) : T(0);
    }
  });
  model.linkage->begin(
      LinkageInputs<T>{n.x.data(), n.u.data(), n.p.data(), n.frames.data(), to_linkage(in.dt)},
      n.poses.data(), *work.linkage);
  each([&](std::size_t b, std::size_t shape) {
    work.template of_bodies<One>().pose[b] = to_flow(n.poses[shape]);
  });
}

template <class S>
void LinkedBodies<S>::read_wrenches() const {
  each([&](std::size_t b, std::size_t shape) {
    for (std::size_t i = 0; i < 3; ++i) {
      const double* number = work.force[b].data() + 2 * i;
      if constexpr (kIsDual<S>)
        numbers().wrenches[shape][i] = T(number[0], number[1]);
      else
        numbers().wrenches[shape][i] = number[0];
    }
  });
}

template <class S>
void LinkedBodies<S>::end(PackedOut<Real> y) const {
  auto& n = numbers();
  read_wrenches();
  model.linkage->end(n.wrenches.data(), n.y.data(), *work.linkage);
  for (std::size_t i = 0; i < n.y.size(); ++i) {
    const One x = to_flow(n.y[i]);
    const Index at = model.linkage_states + Index(i);
    if constexpr (kIsDual<S>) {
      y.value[at] = x.v;
      if (y.tangent) y.tangent[at] = x.d[0];
    } else {
      y.value[at] = x;
    }
  }
}

// A transpose of values alone: with a linkage, flows claim no second order.
template <class S>
void LinkedBodies<S>::end_vjp(Packed<Real> y_bar, bool parameters) const {
  assert(!kIsDual<S>);
  if constexpr (!kIsDual<S>) {
    auto& n = numbers();
    read_wrenches();
    read(y_bar, model.linkage_states, n.y);
    const LentDiagnostics lent(work.diagnostics, work.linkage->diagnostics);
    model.linkage->end_vjp(n.wrenches.data(), n.y.data(), parameters, n.motions.data(), *work.linkage);
    std::fill(n.poses_bar.begin(), n.poses_bar.end(), Planar<T>{});
    each([&](std::size_t b, std::size_t shape) {
      work.template of_bodies<One>().reaction_bar[b] = to_flow(n.motions[shape]);
    });
  }
}

template <class S>
void LinkedBodies<S>::begin_vjp(const typename Bodies::To& bar) const {
  if constexpr (!kIsDual<S>) {
    auto& n = numbers();
    for (auto* list : {&n.u, &n.p}) std::fill(list->begin(), list->end(), 0.0);
    std::fill(n.frames.begin(), n.frames.end(), Planar<double>{});
    LinkageBar own{n.x.data(), n.u.data(), bar.p.value ? n.p.data() : nullptr, n.frames.data(), 0.0};
    model.linkage->begin_vjp(n.poses_bar.data(), own, *work.linkage);
    for (std::size_t i = 0; i < n.x.size(); ++i) bar.x.value[model.linkage_states + Index(i)] = Real(n.x[i]);
    for (std::size_t i = 0; bar.u.value && i < n.u.size(); ++i)
      bar.u.value[model.linkage_controls + Index(i)] += Real(n.u[i]);
    if (!bar.p.value) return;
    for (std::size_t i = 0; i < n.p.size(); ++i)
      bar.p.value[model.linkage_parameters + Index(i)] += Real(n.p[i]);
    each([&](std::size_t b, std::size_t shape) {
      for (std::size_t i = 0; i < 3; ++i)
        if (const auto number = frame_number(b, i)) bar.p.value[*number] += Real(n.frames[shape][i]);
    });
    bar.dt = bar.dt + Real(own.dt);
  }
}

template struct LinkedBodies<NativePack<float>>;
template struct LinkedBodies<NativePack<double>>;
template struct LinkedBodies<Dual<NativePack<float>>>;
template struct LinkedBodies<Dual<NativePack<double>>>;

}  // namespace costate::fluid
