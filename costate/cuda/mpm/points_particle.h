// What each particle does by itself: what one thread does.
//
//   DeformParticle   F+ and the stress by the material's law; what the particle spreads (mpm/system.h)
//   BarParticle      what its cotangents spread: V_bar = v+_bar + dt x+_bar, B_bar = (D^-1/dx) C+_bar
//   PullLaw          from what the nodes bring back to (x, v, C, F), the law's numbers, dt and actuation
//
// The laws are those of the CPU (mpm/laws), with one particle per thread instead of a pack. As
// mpm/transfer/particle_stage.h and particle_transpose.h. Tests: tests/cuda/device_points_test.cpp.
#pragma once

#include "costate/cuda/lane_thread.h"
#include "costate/cuda/mpm/points_order.h"
#include "costate/mpm/laws/response.h"

namespace costate::cuda {

// A material, and which particles are made of it.
template <class S>
struct PointsMaterial {
  static constexpr int kNumbers = mpm::kLargestParameterCount;
  std::int64_t offset[kNumbers];  // of its numbers in the parameters
  bool per_particle[kNumbers];
  int numbers;
  bool contracts;
  S fibre[3];
  const int* list;            // particles; null: all
  const int* actuator;        // of each particle
  std::int64_t first, count;  // where its particles begin when materials follow each other; how many

  COSTATE_HD COSTATE_INLINE std::int64_t particle(std::int64_t i) const { return list ? list[i] : i; }
};

// What several steps add to, or what is null because nobody wants it.
template <class S>
struct PointsSums {
  S* p;          // cotangents of the parameters: numbers that each particle has of its own
  S* numbers;    // planes of the law's numbers that particles share
  S* dt;         // a plane
  S* actuation;  // a plane, assigned
  std::int64_t plane;
};

template <class S, int D>
COSTATE_HD COSTATE_INLINE S volume_of(const PointsField<S, D>& field, std::int64_t particle) {
  return field.volume[field.same_volume ? 0 : particle];
}

// i: the particle's place among those of its material.
template <class S, int D>
COSTATE_HD COSTATE_INLINE void read_law(const PointsField<S, D>& field, const PointsMaterial<S>& material,
                                        const S* x, const S* u, const S* p, std::int64_t i,
                                        mpm::LawInput<S, D>& in) {
  const std::int64_t particle = material.particle(i);
  load_numbers<D * D>(x + field.C, particle, &in.C.e[0][0]);
  load_numbers<D * D>(x + field.F, particle, &in.F.e[0][0]);
  in.plastic = field.plastic >= 0 ? x[field.plastic + particle] : S(0);
  in.dt = p[field.dt];
  for (int n = 0; n < PointsMaterial<S>::kNumbers; ++n)
    in.p[n] = n < material.numbers ? p[material.offset[n] + (material.per_particle[n] ? i : 0)] : S(0);
  in.actuation = S(0);
  for (int a = 0; a < 3; ++a) in.fibre[a] = material.fibre[a];
  if (!material.contracts) return;
  const int actuator = material.actuator[particle];
  if (actuator >= 0) in.actuation = u[field.actuation + actuator];
}

namespace thread {

// y: the state after, or null if only the records are wanted.
template <class Law, class S, int D>
struct DeformParticle {
  PointsField<S, D> field;
  PointsMaterial<S> material;
  const int* slot;
  const S *x, *u, *p;
  S *y, *records;
  COSTATE_HD void operator()(std::int64_t i) const {
    using R = SpreadRecord<D>;
    const std::int64_t particle = material.particle(i);
    const int to = slot[particle];
    mpm::LawInput<S, D> in;
    mpm::LawOutput<S, D> out;
    S r[R::size], f[D], at[D], v[D];
    for (S& number : r) number = S(0);
    load_numbers<D>(x + field.x, particle, at);
    load_numbers<D>(x + field.v, particle, v);
    read_law(field, material, x, u, p, i, in);
    // A particle outside the grid, or one that is inverted, has no number any more: whoever looks finds its
    // step, and asks the CPU.
    if (to < 0) {
      for (int a = 0; y != nullptr && a < D; ++a) y[field.x + particle * D + a] = S(NAN);
      return;
    }
    Law::respond(in, out);
    cell_of(field, at, f);
    const S volume = volume_of(field, particle), mass = in.p[0] * volume, inertia = field.dx * mass,
            stress = in.dt * (volume * (field.inverse_moment * field.inverse_dx));
    for (int a = 0; a < D; ++a) {
      r[R::f + a] = f[a];
      r[R::Q + a] = mass * v[a];
      for (int b = 0; b < D; ++b) r[R::A + a * D + b] = inertia * in.C(a, b) - stress * out.tau(a, b);
    }
    r[R::Q + D] = mass;
    store_record(records + std::int64_t(to) * R::size, r);
    if (y == nullptr) return;
    if (!(out.J > S(0))) out.F(0, 0) = S(NAN);
    store_numbers<D * D>(y + field.F, particle, &out.F.e[0][0]);
    if (field.plastic >= 0) y[field.plastic + particle] = out.plastic;
  }
};

template <class S, int D>
struct BarParticle {
  PointsField<S, D> field;
  const int* slot;
  const S *x, *p, *y_bar;
  S* bars;
  COSTATE_HD void operator()(std::int64_t particle) const {
    using R = SpreadRecord<D>;
    const int to = slot[particle];
    S r[R::size], f[D], at[D], x_bar[D], v_bar[D], C_bar[D * D];
    for (S& number : r) number = S(0);
    load_numbers<D>(x + field.x, particle, at);
    load_numbers<D>(y_bar + field.x, particle, x_bar);
    load_numbers<D>(y_bar + field.v, particle, v_bar);
    load_numbers<D * D>(y_bar + field.C, particle, C_bar);
    if (to < 0) return;
    cell_of(field, at, f);
    const S dt = p[field.dt], scale = field.inverse_moment * field.inverse_dx;
    for (int a = 0; a < D; ++a) r[R::f + a] = f[a], r[R::Q + a] = v_bar[a] + dt * x_bar[a];
    for (int i = 0; i < D * D; ++i) r[R::A + i] = scale * C_bar[i];
    store_record(bars + std::int64_t(to) * R::size, r);
  }
};

// bar: cotangents of the state after in, before out.
template <class Law, class S, int D>
struct PullLaw {
  PointsField<S, D> field;
  PointsMaterial<S> material;
  const int* slot;
  const S *x, *u, *p, *pulled;
  S* bar;
  PointsSums<S> sums;
  COSTATE_HD void operator()(std::int64_t i) const {
    using P = PulledRecord<D>;
    const std::int64_t particle = material.particle(i);
    const int from = slot[particle];
    mpm::LawInput<S, D> in, in_bar;
    mpm::LawOutput<S, D> out, out_bar;
    S v[D], x_bar[D];
    read_law(field, material, x, u, p, i, in);
    load_numbers<D>(x + field.v, particle, v);
    load_numbers<D>(bar + field.x, particle, x_bar);
    load_numbers<D * D>(bar + field.F, particle, &out_bar.F.e[0][0]);
    if (from < 0) return forget(particle);
    S r[P::size];
    load_record(pulled + std::int64_t(from) * P::size, r);
    const S volume = volume_of(field, particle), mass = in.p[0] * volume,
            scale = volume * (field.inverse_moment * field.inverse_dx * field.inverse_dx);
    mpm::Matrix<S, D> A_bar;
    for (int a = 0; a < D; ++a)
      for (int b = 0; b < D; ++b) A_bar(a, b) = field.dx * r[P::A + a * D + b];
    out_bar.tau = (-in.dt * scale) * A_bar;
    out_bar.plastic = field.plastic >= 0 ? bar[field.plastic + particle] : S(0);
    out_bar.J = S(0);
    Law::respond_vjp(in, out_bar, in_bar);

    S mass_bar = r[P::Q + D] + contract(in.C, A_bar), dt_bar = in_bar.dt;
    in_bar.C += mass * A_bar;
    for (int a = 0; a < D; ++a) {
      mass_bar += v[a] * r[P::Q + a];
      dt_bar += x_bar[a] * r[P::v + a];
      v[a] = mass * r[P::Q + a];
      x_bar[a] += field.inverse_dx * r[P::X + a];
    }
    in_bar.p[0] = volume * mass_bar;
    store_numbers<D>(bar + field.x, particle, x_bar);
    store_numbers<D>(bar + field.v, particle, v);
    store_numbers<D * D>(bar + field.C, particle, &in_bar.C.e[0][0]);
    store_numbers<D * D>(bar + field.F, particle, &in_bar.F.e[0][0]);
    if (field.plastic >= 0) bar[field.plastic + particle] = in_bar.plastic;
    if (sums.actuation != nullptr) sums.actuation[particle] = in_bar.actuation;
    if (sums.dt != nullptr) {
      Law::respond(in, out);  // for the stress alone
      sums.dt[particle] += dt_bar - scale * contract(out.tau, A_bar);
    }
    for (int n = 0; sums.numbers != nullptr && n < material.numbers; ++n) {
      if (material.per_particle[n])
        sums.p[material.offset[n] + i] += in_bar.p[n];
      else
        sums.numbers[n * sums.plane + material.first + i] += in_bar.p[n];
    }
  }

 private:
  COSTATE_HD void forget(std::int64_t particle) const {
    for (int a = 0; a < D; ++a) bar[field.x + particle * D + a] = bar[field.v + particle * D + a] = S(0);
    for (int a = 0; a < D * D; ++a)
      bar[field.C + particle * D * D + a] = bar[field.F + particle * D * D + a] = S(0);
    if (field.plastic >= 0) bar[field.plastic + particle] = S(0);
    if (sums.actuation != nullptr) sums.actuation[particle] = S(0);
  }
};

// The sum over the particles of one actuator, in parts; and of the parts.
inline constexpr int kActuatorParts = 256;
template <class S>
struct SumOfActuator {
  const S* plane;
  const int *list, *begin;  // particles of each actuator
  double* partials;
  COSTATE_HD void operator()(std::int64_t index) const {
    const std::int64_t a = index / kActuatorParts;
    double sum = 0;
    for (int i = begin[a] + int(index % kActuatorParts); i < begin[a + 1]; i += kActuatorParts)
      sum += double(plane[list[i]]);
    partials[index] = sum;
  }
};
template <class S>
struct AddActuator {
  const double* partials;
  S* u_bar;
  COSTATE_HD void operator()(std::int64_t a) const {
    double sum = 0;
    for (int i = 0; i < kActuatorParts; ++i) sum += partials[a * kActuatorParts + i];
    u_bar[a] += S(sum);
  }
};

}  // namespace thread
}  // namespace costate::cuda
