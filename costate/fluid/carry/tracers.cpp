#include "costate/fluid/carry/tracers.h"

namespace costate::fluid {

template <class S, int Dim>
void CarriedPoints<S, Dim>::read(Packed<Real> from, const Plane<Real>& to) const {
  for (Index i = 0; i < numbers(); ++i) store<One>(to, i, read_or_zero(from, model.tracers_at + i));
}

template <class S, int Dim>
void CarriedPoints<S, Dim>::write(const Plane<Real>& from, PackedOut<Real> to) const {
  for (Index i = 0; i < numbers(); ++i) {
    to.value[model.tracers_at + i] = from.value[i];
    if constexpr (kIsDual<S>)
      if (to.tangent) to.tangent[model.tracers_at + i] = from.tangent[i];
  }
}

template <class S, int Dim>
void CarriedPoints<S, Dim>::clear(const Plane<Real>& of) const {
  for (Index i = 0; i < numbers(); ++i) store<One>(of, i, One(0));
}

template <class S, int Dim>
void CarriedPoints<S, Dim>::write_start(PackedOut<Real> x_bar) const {
  const Plane<Real>&kept = work.tracers.x_bar, &moved = work.tracers.out_bar;
  for (Index i = 0; i < numbers(); ++i) store<One>(moved, i, load<One>(moved, i) + load<One>(kept, i));
  write(moved, x_bar);
}

template <class S, int Dim>
void CarriedPoints<S, Dim>::apply(FlowModel::Weights w, int stage, const Speeds<Real>& u,
                                  const One& dt) const {
  const Plane<Real>&x = work.tracers.x, &y = current(stage), &next = made(stage);
  parallel_for(model.tracers, 512, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k)
      for (int c = 0; c < Dim; ++c) {
        const Index i = k * Dim + c;
        const One moved = load<One>(y, i) + dt * lookup(c, k, y).value(u[std::size_t(c)]);
        store<One>(next, i, One(Real(w.kept)) * load<One>(x, i) + One(Real(w.share)) * moved);
      }
  });
}

template <class S, int Dim>
void CarriedPoints<S, Dim>::transpose(FlowModel::Weights w, int stage, const Speeds<Real>& u, const One& dt,
                                      const Speeds<Real>& u_bar, One& dt_bar) const {
  const Plane<Real>&y = current(stage), &bar = work.tracers.out_bar, &x_bar = work.tracers.x_bar;
  const One share = One(Real(w.share)), step = share * dt;
  for (Index k = 0; k < model.tracers; ++k) {
    std::array<One, Dim> next_bar, y_bar;
    for (int c = 0; c < Dim; ++c) {
      const Index i = k * Dim + c;
      next_bar[std::size_t(c)] = load<One>(bar, i);
      y_bar[std::size_t(c)] = share * next_bar[std::size_t(c)];
      store<One>(x_bar, i, load<One>(x_bar, i) + One(Real(w.kept)) * next_bar[std::size_t(c)]);
    }
    for (int c = 0; c < Dim; ++c) {
      const One& pull = next_bar[std::size_t(c)];
      const Lookup<One, Dim> at = lookup(c, k, y);
      dt_bar = dt_bar + share * at.value(u[std::size_t(c)]) * pull;
      at.value_vjp(u[std::size_t(c)], step * pull, u_bar[std::size_t(c)], y_bar);
    }
    for (int c = 0; c < Dim; ++c) store<One>(bar, k * Dim + c, y_bar[std::size_t(c)]);
  }
}

template struct CarriedPoints<NativePack<float>, 2>;
template struct CarriedPoints<NativePack<double>, 2>;
template struct CarriedPoints<Dual<NativePack<float>>, 2>;
template struct CarriedPoints<Dual<NativePack<double>>, 2>;
template struct CarriedPoints<NativePack<float>, 3>;
template struct CarriedPoints<NativePack<double>, 3>;
template struct CarriedPoints<Dual<NativePack<float>>, 3>;
template struct CarriedPoints<Dual<NativePack<double>>, 3>;

}  // namespace costate::fluid
