// Particles of one pencil, a pack of one material at a time: what the stages of a step and their transposes
// share.
//
// A pack's numbers come from the state in the caller's order, go through its material's law lane by lane, and
// travel to and from the grid in records (transfer.h) that stay in the first-level cache. Particles of one
// cell that follow each other share the rows of their stencil in registers. Forward: particle_stage.h.
// Transpose: particle_transpose.h. Tests: tests/mpm/system_test.cpp.
#pragma once

#include "costate/mpm/laws/response.h"
#include "costate/mpm/layout.h"
#include "costate/mpm/transfer/lane_io.h"
#include "costate/mpm/transfer/particle_order.h"
#include "costate/mpm/transfer/spline.h"
#include "costate/mpm/transfer/transfer.h"

namespace costate::mpm {

// A lambda that only asks for data has no effect that the compiler knows of: unless inlined at once, its
// calls are dropped.
#define COSTATE_INLINE_LAMBDA __attribute__((always_inline))

inline constexpr std::int64_t kNoParticle = INT64_MAX;

// Constants of a System that its stages share.
template <class Real, int D>
struct ParticleConstants {
  const Layout* layout;
  const Model* model;
  std::vector<Real> volume;  // of each particle
  bool same_volume;
  std::vector<Response<typename Values<Real>::Lanes, D>> laws;
  std::vector<Response<typename Tangents<Real>::Lanes, D>> tangent_laws;
  RowStrides strides;
  Real inverse_dx, dx, courant;
  Real shift[3];  // x / dx - shift is the position in cells from the first node's border
};

template <class Mode, int D, int kTaps>
class ParticlePacks {
 public:
  using Real = typename Mode::Real;
  using Lanes = typename Mode::Lanes;
  using Plain = NativePack<Real>;
  using Number = typename Mode::Number;
  using In = Slice<const Real>;
  using Out = Slice<Real>;
  static constexpr int kWidth = kNativeLanes<Real>;

  ParticlePacks(const ParticleConstants<Real, D>& constants, const ParticleOrder& order, In x, In u, In p)
      : c_(constants),
        layout_(*constants.layout),
        order_(order),
        x_(x),
        u_(u),
        p_(p),
        dt_(number_at<Mode>(p, layout_.dt)) {}

 protected:
  static constexpr int kAhead = 2;
  struct Chosen {               // a pack: particles of one material; lanes past count repeat the last
    const std::int32_t* index;  // kWidth of them
    int count;
    std::int32_t material;
    const std::int32_t* next;  // particles of the next pack, to be fetched meanwhile
    int next_count;
  };

  template <class Body>
  COSTATE_INLINE void for_packs_of(const ParticleOrder::Run& run, const Body& body) const {
    for (std::int32_t begin = run.begin; begin < run.end; begin += kWidth) {
      Chosen at;
      at.count = std::min<std::int32_t>(kWidth, run.end - begin);
      at.material = run.material;
      const std::int32_t* order = order_.order() + begin;
      // A full pack reads its indices where they are: scalar loads just after a wide store would wait for it.
      at.index = order;
      std::int32_t padded[kWidth];
      if (at.count < kWidth) {
        for (int l = 0; l < kWidth; ++l) padded[l] = order[std::min(l, at.count - 1)];
        at.index = padded;
      }
      at.next = order + kAhead * kWidth;
      at.next_count = std::clamp<std::int32_t>(run.end - begin - kAhead * kWidth, 0, kWidth);
      body(at);
    }
  }
  // Each body, while it handles particle l of a pack, asks for the numbers of particle l of the next: they
  // lie in memory in the caller's order, not in ours.
  template <class Body>
  COSTATE_INLINE void for_packs(const ParticleOrder::Pencil& pencil, const Body& body) const {
    for (std::int32_t r = pencil.first_run; r < pencil.last_run; ++r) for_packs_of(order_.runs()[r], body);
  }

  template <int kWrite>
  COSTATE_INLINE static void touch(const Real* from, std::int64_t field, int size, std::int32_t particle) {
    const Real* first = from + field + std::int64_t(particle) * size;
    __builtin_prefetch(first, kWrite);
    if (size > 3) __builtin_prefetch(first + size - 1, kWrite);
  }
  template <int kWrite>
  COSTATE_INLINE void touch_motion(const Real* from, std::int32_t particle) const {
    touch<kWrite>(from, layout_.x, D, particle);
    touch<kWrite>(from, layout_.v, D, particle);
    touch<kWrite>(from, layout_.C, D * D, particle);
  }
  template <int kWrite>
  COSTATE_INLINE void touch_all(const Real* from, std::int32_t particle) const {
    touch_motion<kWrite>(from, particle);
    touch<kWrite>(from, layout_.F, D * D, particle);
  }

  // --- numbers of a pack
  // ---------------------------------------------------------------------------------------------
  COSTATE_INLINE static Lanes lanes_of_number(const Number& s) {
    if constexpr (Mode::kTangent)
      return {Plain(s.v), Plain(s.d[0])};
    else
      return Lanes(s);
  }
  template <class Where>
  COSTATE_INLINE std::int64_t first_where(const Chosen& at, const Where& bad) const {
    if (!any(bad)) return kNoParticle;
    std::int64_t first = kNoParticle;
    for (int l = 0; l < at.count; ++l)
      if (bad[l]) first = std::min<std::int64_t>(first, at.index[l]);
    return first;
  }
  COSTATE_INLINE Plain volume_lanes(const Chosen& at) const {
    if (c_.same_volume) return Plain(c_.volume[0]);
    alignas(64) Real buffer[kWidth];
    for (int l = 0; l < kWidth; ++l) buffer[l] = c_.volume[at.index[l]];
    return Plain::load(buffer);
  }
  COSTATE_INLINE Lanes number_lanes(const Chosen& at, const Layout::Place& number) const {
    if (!number.per_particle) return lanes_of_number(number_at<Mode>(p_, number.offset));
    return lanes_from([&](int l) {
      const std::size_t particle = at.index[l];
      return number_at<Mode>(p_, number.offset + layout_.index_in_material[particle]);
    });
  }
  template <class Source>
  COSTATE_INLINE static Lanes lanes_from(const Source& number) {
    alignas(64) Real v[kWidth], d[kWidth];
    for (int l = 0; l < kWidth; ++l) {
      const Number s = number(l);
      if constexpr (Mode::kTangent)
        v[l] = s.v, d[l] = s.d[0];
      else
        v[l] = s;
    }
    if constexpr (Mode::kTangent)
      return {Plain::load(v), Plain::load(d)};
    else
      return Plain::load(v);
  }
  template <int N>
  COSTATE_INLINE static void read(In from, std::int64_t field, const Chosen& at, Lanes (&out)[N]) {
    gather_lanes<Mode, N>(from + field, at.index, out);
  }
  template <int N>
  COSTATE_INLINE static void write(Out to, std::int64_t field, const Chosen& at, const Lanes (&in)[N]) {
    scatter_lanes<Mode, N>(to + field, at.index, at.count, in);
  }
  COSTATE_INLINE void read_law(const Chosen& at, LawInput<Lanes, D>& in) const {
    gather_lanes<Mode, D * D>(x_ + layout_.C, at.index, &in.C.e[0][0]);
    gather_lanes<Mode, D * D>(x_ + layout_.F, at.index, &in.F.e[0][0]);
    if (layout_.plastic >= 0)
      gather_lanes<Mode, 1>(x_ + layout_.plastic, at.index, &in.plastic);
    else
      in.plastic = Lanes(Plain(0));
    in.dt = lanes_of_number(dt_);
    const auto& numbers = layout_.materials[at.material].numbers;
    for (std::size_t n = 0; n < numbers.size(); ++n) in.p[n] = number_lanes(at, numbers[n]);
    in.actuation = Lanes(Plain(0));
    const Material& material = c_.model->materials[at.material];
    if (layout_.materials[at.material].contracts) {
      for (std::size_t a = 0; a < 3; ++a) in.fibre[a] = Real(material.fibre[a]);
      in.actuation = lanes_from([&](int l) {
        const std::int32_t actuator = layout_.actuator[at.index[l]];
        return actuator >= 0 ? number_at<Mode>(u_, layout_.actuation + actuator) : Number(Real(0));
      });
    }
  }
  COSTATE_INLINE void respond(std::int32_t material, const LawInput<Lanes, D>& in,
                              LawOutput<Lanes, D>& out) const {
    if constexpr (Mode::kTangent)
      c_.tangent_laws[material].respond(in, out);
    else
      c_.laws[material].respond(in, out);
  }

  // Spreads Q + A d of each particle of a pack; those of one cell meet in registers. meanwhile(l) is called
  // once a particle.
  template <class Meanwhile>
  COSTATE_INLINE void scatter_cells(const Chosen& at, const std::int64_t (&offset)[kWidth], Out records,
                                    int A, int Q, Out grid, const Meanwhile& meanwhile) const {
    using Rows = typename Transfer<Mode, D, kTaps>::Rows;
    for (int l = 0; l < at.count;) {
      const std::int64_t cell = offset[l];
      Rows rows = Rows::zero();
      do {
        meanwhile(l);
        Transfer<Mode, D, kTaps>::scatter(slice(records, l), A, Q, rows);
      } while (++l < at.count && offset[l] == cell);
      rows.add_to(grid + cell, c_.strides);
    }
  }

  // --- records
  // -------------------------------------------------------------------------------------------------------
  COSTATE_INLINE static In slice(Out records, int l) {
    return {records.v + l * Record::size, records.d ? records.d + l * Record::size : nullptr};
  }
  COSTATE_INLINE static void put(Out records, int place, const Lanes& a, const Lanes& b, const Lanes& c,
                                 const Lanes& d) {
    const auto put_plain = [&](Real* to, const Plain& pa, const Plain& pb, const Plain& pc,
                               const Plain& pd) COSTATE_INLINE_LAMBDA {
      Plain four[4] = {pa, pb, pc, pd};
      write_four([&](int l) { return to + l * Record::size + place; }, kWidth, four);
    };
    if constexpr (Mode::kTangent) {
      put_plain(records.v, a.v, b.v, c.v, d.v);
      put_plain(records.d, a.d[0], b.d[0], c.d[0], d.d[0]);
    } else {
      put_plain(records.v, a, b, c, d);
    }
  }
  template <int kStride, int N>
  COSTATE_INLINE static void take(Out from, int place, Lanes (&out)[N]) {
    const auto take_plain = [&](const Real* source, Plain(&four)[4]) {
      read_four([&](int l) { return source + l * kStride + place; }, four);
    };
    Plain v[4];
    take_plain(from.v, v);
    if constexpr (Mode::kTangent) {
      Plain d[4];
      take_plain(from.d, d);
      for (int a = 0; a < N; ++a) out[a] = {v[a], d[a]};
    } else {
      for (int a = 0; a < N; ++a) out[a] = v[a];
    }
  }
  // Lanes past the count have no record of their own in an answer: they take that of the last particle.
  template <int N>
  COSTATE_INLINE static void read_answer(Out answers, int count, int place, Lanes (&out)[N]) {
    for (int l = count; l < kWidth; ++l) {
      for (int c = 0; c < 4; ++c) {
        answers.v[l * Gathered::size + place + c] = answers.v[(count - 1) * Gathered::size + place + c];
        if constexpr (Mode::kTangent)
          answers.d[l * Gathered::size + place + c] = answers.d[(count - 1) * Gathered::size + place + c];
      }
    }
    take<Gathered::size>(answers, place, out);
  }
  // Weights, offsets and, with kSlopes, slopes of a pack's stencils, and where each stencil begins in the
  // grid.
  template <bool kSlopes>
  COSTATE_INLINE void write_stencil(const Chosen& at, Out records, std::int64_t (&offset)[kWidth]) const {
    Lanes x[D];
    read(x_, layout_.x, at, x);
    std::int64_t begin[kWidth] = {};
    for (int a = 0; a < D; ++a) {
      const Plain place = fma(primal(x[a]), Plain(c_.inverse_dx), Plain(-c_.shift[a])), cell = floor(place);
      const std::int64_t stride = a == D - 1 ? 4 : a == 0 ? c_.strides.first : c_.strides.second;
      alignas(64) Real cells[kWidth];
      cell.store(cells);
      for (int l = 0; l < kWidth; ++l) begin[l] += std::int64_t(cells[l]) * stride;
      const Plain f = place - cell + Plain(Real(kFirstNodeShift<kTaps>));
      if constexpr (Mode::kTangent)
        write_axis<kSlopes>(a, Lanes(f, Plain(c_.inverse_dx) * x[a].d[0]), records);
      else
        write_axis<kSlopes>(a, f, records);
    }
    for (int l = 0; l < kWidth; ++l) offset[l] = begin[l];
  }
  template <bool kSlopes>
  COSTATE_INLINE static void write_axis(int axis, const Lanes& f, Out records) {
    const bool first = axis == 0, last = axis == D - 1;
    const auto put_four = [&](int place, const Lanes(&four)[4]) COSTATE_INLINE_LAMBDA {
      put(records, place, four[0], four[1], four[2], four[3]);
    };
    Lanes w[4], d[4];
    spline_weights<kTaps>(f, w);
    for (int k = 0; k < 4; ++k) d[k] = Lanes(Plain(Real(k))) - f;
    put_four(last ? Record::w_last : first ? Record::w_first : Record::w_second, w);
    if (last || kSlopes) put_four(last ? Record::d_last : first ? Record::d_first : Record::d_second, d);
    if (!last) {
      for (int k = 0; k < 4; ++k) w[k] = w[k] * d[k];
      put_four(first ? Record::wd_first : Record::wd_second, w);
    }
    if constexpr (kSlopes) {
      Lanes slope[4];
      spline_slopes<kTaps>(f, slope);
      put_four(last ? Record::slope_last : first ? Record::slope_first : Record::slope_second, slope);
    }
  }

  // Q and A of the scatter. Returns the mass.
  COSTATE_INLINE Lanes write_momentum(const Chosen& at, const LawInput<Lanes, D>& in,
                                      const Matrix<Lanes, D>& tau, Out records) const {
    Lanes v[D];
    read(x_, layout_.v, at, v);
    const Lanes volume(volume_lanes(at)), mass = in.p[0] * volume, zero(Plain(0));
    const Lanes inertia = Lanes(Plain(c_.dx)) * mass;
    const Lanes stress = in.dt * (volume * Lanes(Plain(Real(kInverseMoment<kTaps>) * c_.inverse_dx)));
    for (int b = 0; b < D; ++b) {
      Lanes a[3] = {zero, zero, zero};
      for (int i = 0; i < D; ++i) a[i] = inertia * in.C(i, b) - stress * tau(i, b);
      put(records, Record::A + 4 * b, a[0], a[1], a[2], zero);
    }
    put(records, Record::Q, mass * v[0], mass * v[1], D == 3 ? mass * v[D - 1] : zero, mass);
    return mass;
  }

  const ParticleConstants<Real, D>& c_;
  const Layout& layout_;
  const ParticleOrder& order_;
  In x_, u_, p_;
  Number dt_;
};

}  // namespace costate::mpm
