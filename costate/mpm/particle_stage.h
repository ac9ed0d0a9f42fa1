// What particles do in a step, a pack of one material at a time: deform and scatter, gather and move, and the transposes of both.
//
//   deform_and_scatter       (x, v, C, F) -> F+, and the grid's momentum and mass
//   gather_and_move          grid velocities -> (x+, v+, C+)
//   scatter_both             the first again, and the transpose of the gather onto the grid: v_i_ += w_i (V_ + B_ d_i), V_ = v+_ + dt x+_,
//                            B_ = (D^-1/dx) C+_
//   gather_cotangents        the rest: positions through the weights, then Q_, A_, tau_ back to (x, v, C, F) and the material's numbers
//
// A stage handles one pencil; its particles' numbers go through records (transfer.h) that stay in the first-level cache.
// Tests: tests/mpm/system_test.cpp.
#pragma once

#include "costate/mpm/lane_io.h"
#include "costate/mpm/law.h"
#include "costate/mpm/layout.h"
#include "costate/mpm/particle_order.h"
#include "costate/mpm/spline.h"
#include "costate/mpm/transfer.h"

namespace costate::mpm {

inline constexpr std::int64_t kNoParticle = INT64_MAX;

// Constants of a System that its stages share.
template <class Real, int D>
struct ParticleConstants {
  const Layout* layout;
  const Model* model;
  std::vector<Real> volume;  // of each particle
  bool same_volume;
  std::vector<Law<typename Values<Real>::Lanes, D>> laws;
  std::vector<Law<typename Tangents<Real>::Lanes, D>> tangent_laws;
  RowStrides strides;
  Real inverse_dx, dx, courant;
  Real shift[3];  // x / dx - shift is the position in cells from the first node's border
};

template <class Mode, int D, int kTaps>
class ParticleStage {
 public:
  using Real = typename Mode::Real;
  using Lanes = typename Mode::Lanes;
  using Plain = NativePack<Real>;
  using Number = typename Mode::Number;
  using In = Slice<const Real>;
  using Out = Slice<Real>;
  static constexpr int kWidth = kNativeLanes<Real>;

  ParticleStage(const ParticleConstants<Real, D>& constants, const ParticleOrder& order, In x, In u, In p)
      : c_(constants),
        layout_(*constants.layout),
        order_(order),
        x_(x),
        u_(u),
        p_(p),
        dt_(number_at<Mode>(p, layout_.dt)) {}

  // Returns the first inverted particle, or kNoParticle.
  std::int64_t deform_and_scatter(const ParticleOrder::Pencil& pencil, Out y, Out grid) const {
    std::int64_t inverted = kNoParticle;
    alignas(64) Real values[kWidth * Record::size], tangents[Mode::kTangent ? kWidth * Record::size : 1];
    const Out records{values, Mode::kTangent ? tangents : nullptr};
    for_packs(pencil, [&](const Chosen& at) {
      LawInput<Lanes, D> in;
      LawOutput<Lanes, D> out;
      read_law(at, in);
      respond(at.material, in, out);
      scatter_lanes<Mode, D * D>(y + layout_.F, at.index, at.count, &out.F.e[0][0]);
      if (layout_.plastic >= 0) scatter_lanes<Mode, 1>(y + layout_.plastic, at.index, at.count, &out.plastic);
      inverted = std::min(inverted, first_where(at, !(primal(out.J) > Plain(0))));
      std::int64_t offset[kWidth];
      write_stencil<false>(at, records, offset);
      write_momentum(at, in, out.tau, records);
      for (int l = 0; l < at.count; ++l) {
        if (l < at.next_count) touch_all<0>(x_.v, at.next[l]), touch<1>(y.v, layout_.F, D * D, at.next[l]);
        Transfer<Mode, D, kTaps>::scatter(slice(records, l), Record::A, Record::Q, grid + offset[l],
                                          c_.strides);
      }
    });
    return inverted;
  }

  // Returns the first particle that moves too far, or kNoParticle.
  std::int64_t gather_and_move(const ParticleOrder::Pencil& pencil, In grid, Out y) const {
    std::int64_t too_fast = kNoParticle;
    alignas(64) Real values[kWidth * Record::size], tangents[Mode::kTangent ? kWidth * Record::size : 1];
    alignas(64) Real answer[kWidth * Gathered::size],
        answer_dot[Mode::kTangent ? kWidth * Gathered::size : 1];
    const Out records{values, Mode::kTangent ? tangents : nullptr};
    const Out answers{answer, Mode::kTangent ? answer_dot : nullptr};
    const Real scale = Real(kInverseMoment<kTaps>) * c_.inverse_dx;
    for_packs(pencil, [&](const Chosen& at) {
      std::int64_t offset[kWidth];
      Lanes x[D], v[D], C[D * D];
      read(x_, layout_.x, at, x);
      write_stencil<false>(at, records, offset);
      for (int l = 0; l < at.count; ++l) {
        if (l < at.next_count) touch<0>(x_.v, layout_.x, D, at.next[l]), touch_motion<1>(y.v, at.next[l]);
        Transfer<Mode, D, kTaps>::gather(slice(records, l), grid + offset[l], c_.strides,
                                         answers + l * Gathered::size);
      }
      read_answer(answers, at.count, Gathered::V, v);
      Plain way(0);
      for (int a = 0; a < D; ++a) {
        x[a] = x[a] + Lanes(lanes_of_number(dt_)) * v[a];
        const Plain speed = abs(primal(v[a]));
        way = select(speed > way, speed, way);
      }
      for (int b = 0; b < D; ++b) {
        Lanes column[D];
        read_answer(answers, at.count, Gathered::B + 4 * column_of<D>(b), column);
        for (int a = 0; a < D; ++a) C[a * D + b] = Lanes(scale) * column[a];
      }
      write(y, layout_.x, at, x);
      write(y, layout_.v, at, v);
      scatter_lanes<Mode, D * D>(y + layout_.C, at.index, at.count, C);
      way = way * Plain(primal(dt_) * c_.inverse_dx);
      too_fast = std::min(too_fast, first_where(at, !(way <= Plain(c_.courant))));
    });
    return too_fast;
  }

  // --- transposes; values only ---------------------------------------------------------------------------------------

  // The grid's momentum and mass again, and the transpose of the gather beside it: both spread over the same stencils.
  void scatter_both(const ParticleOrder::Pencil& pencil, const Real* y_bar, Real* grid,
                    Real* grid_bar) const {
    alignas(64) Real values[kWidth * Record::size];
    const Out records{values, nullptr};
    for_packs(pencil, [&](const Chosen& at) {
      LawInput<Lanes, D> in;
      LawOutput<Lanes, D> out;
      read_law(at, in);
      respond(at.material, in, out);
      std::int64_t offset[kWidth];
      write_stencil<false>(at, records, offset);
      write_momentum(at, in, out.tau, records);
      write_gather_bar(at, y_bar, records);
      for (int l = 0; l < at.count; ++l) {
        if (l < at.next_count) touch_all<0>(x_.v, at.next[l]), touch_motion<0>(y_bar, at.next[l]);
        const In record = slice(records, l);
        Transfer<Mode, D, kTaps>::scatter(record, Record::A, Record::Q, Out{grid + offset[l], nullptr},
                                          c_.strides);
        Transfer<Mode, D, kTaps>::scatter(record, Record::B, Record::V, Out{grid_bar + offset[l], nullptr},
                                          c_.strides);
      }
    });
  }

  // Sums for the numbers that particles share, of one pencil.
  struct Sums {
    double dt;
    double* actuation;  // null: not wanted
    double* materials;  // materials x kLargestParameterCount; null: not wanted
  };

  void gather_cotangents(const ParticleOrder::Pencil& pencil, const Real* velocity, const Real* grid_bar,
                         const Real* y_bar, Real* x_bar, Real* p_bar, Sums& sums) const {
    alignas(64) Real values[kWidth * Record::size];
    alignas(64) Real answer[kWidth * Gathered::size];
    const Out records{values, nullptr}, answers{answer, nullptr};
    for (std::int32_t r = pencil.first_run; r < pencil.last_run; ++r) {
      const ParticleOrder::Run& run = order_.runs()[static_cast<std::size_t>(r)];
      Plain total[kLargestParameterCount], dt_total(0);
      for (Plain& t : total) t = Plain(0);
      const auto& numbers = layout_.materials[static_cast<std::size_t>(run.material)].numbers;
      for_packs_of(run, [&](const Chosen& at) {
        LawInput<Lanes, D> in, in_bar;
        LawOutput<Lanes, D> out, out_bar;
        read_law(at, in);
        respond(at.material, in, out);
        std::int64_t offset[kWidth];
        write_stencil<true>(at, records, offset);
        const Lanes mass = write_momentum(at, in, out.tau, records);
        write_gather_bar(at, y_bar, records);
        for (int l = 0; l < at.count; ++l) {
          if (l < at.next_count)
            touch_all<0>(x_.v, at.next[l]), touch_all<0>(y_bar, at.next[l]), touch_all<1>(x_bar, at.next[l]);
          Transfer<Mode, D, kTaps>::gather_vjp(values + l * Record::size, velocity + offset[l],
                                               grid_bar + offset[l], c_.strides, answer + l * Gathered::size);
        }

        // Q = (m v, m), A = dx (m C - dt V D^-1 tau)
        Lanes v[D], Q_bar[4], V_bar[D], x_next_bar[D], v_next[D], X_bar[D];
        read(x_, layout_.v, at, v);
        read_answer(answers, at.count, Gathered::V, Q_bar);
        read_answer(answers, at.count, Gathered::velocity, v_next);
        for (int a = 0; a < D; ++a) {
          Lanes parts[4];
          read_answer(answers, at.count, Gathered::X + 4 * column_of<D>(a), parts);
          X_bar[a] = (parts[0] + parts[1]) + (parts[2] + parts[3]);
        }
        read(In{y_bar, nullptr}, layout_.x, at, x_next_bar);
        Lanes mass_bar = Q_bar[3];
        Matrix<Lanes, D> A_bar;
        for (int b = 0; b < D; ++b) {
          Lanes column[D], A_column[D], B_column[D];
          read_answer(answers, at.count, Gathered::B + 4 * column_of<D>(b), column);
          read_record(records, at.count, Record::A + 4 * b, A_column);
          read_record(records, at.count, Record::B + 4 * b, B_column);
          for (int a = 0; a < D; ++a) {
            A_bar(a, b) = Lanes(c_.dx) * column[a];
            X_bar[b] -= A_column[a] * Q_bar[a] + B_column[a] * v_next[a];
          }
        }
        read_record(records, at.count, Record::V, V_bar);
        const Lanes stress_scale =
            Lanes(volume_lanes(at)) * Lanes(Real(kInverseMoment<kTaps>) * c_.inverse_dx * c_.inverse_dx);
        const Lanes dt(dt_);
        out_bar.tau = (-dt * stress_scale) * A_bar;
        gather_lanes<Mode, D * D>(In{y_bar, nullptr} + layout_.F, at.index, &out_bar.F.e[0][0]);
        if (layout_.plastic >= 0)
          gather_lanes<Mode, 1>(In{y_bar, nullptr} + layout_.plastic, at.index, &out_bar.plastic);
        else
          out_bar.plastic = Lanes(0);
        c_.laws[static_cast<std::size_t>(at.material)].respond_vjp(in, out_bar, in_bar);
        Lanes dt_bar = in_bar.dt - stress_scale * contract(out.tau, A_bar);
        mass_bar += contract(in.C, A_bar);
        in_bar.C += mass * A_bar;
        Lanes x_new_bar[D], v_bar[D];
        for (int a = 0; a < D; ++a) {
          mass_bar += v[a] * Q_bar[a];
          v_bar[a] = mass * Q_bar[a];
          dt_bar += x_next_bar[a] * v_next[a];
          x_new_bar[a] = x_next_bar[a] + Lanes(c_.inverse_dx) * X_bar[a];
        }
        in_bar.p[0] = Lanes(volume_lanes(at)) * mass_bar;

        write(Out{x_bar, nullptr}, layout_.x, at, x_new_bar);
        write(Out{x_bar, nullptr}, layout_.v, at, v_bar);
        scatter_lanes<Mode, D * D>(Out{x_bar, nullptr} + layout_.C, at.index, at.count, &in_bar.C.e[0][0]);
        scatter_lanes<Mode, D * D>(Out{x_bar, nullptr} + layout_.F, at.index, at.count, &in_bar.F.e[0][0]);
        if (layout_.plastic >= 0)
          scatter_lanes<Mode, 1>(Out{x_bar, nullptr} + layout_.plastic, at.index, at.count, &in_bar.plastic);

        const auto real = lane_numbers() < Plain(Real(at.count));
        dt_total += select(real, dt_bar, Plain(0));
        if (sums.actuation) add_actuation(at, in_bar.actuation, sums.actuation);
        if (!sums.materials) return;
        for (std::size_t n = 0; n < numbers.size(); ++n) {
          if (numbers[n].per_particle)
            add_each(at, in_bar.p[n], p_bar + numbers[n].offset);
          else
            total[n] += select(real, in_bar.p[n], Plain(0));
        }
      });
      sums.dt += lane_sum(dt_total);
      if (sums.materials) {
        for (std::size_t n = 0; n < numbers.size(); ++n)
          sums.materials[run.material * kLargestParameterCount + static_cast<std::int64_t>(n)] +=
              lane_sum(total[n]);
      }
    }
  }

 private:
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
      at.next = order + kWidth;
      at.next_count = std::min<std::int32_t>(kWidth, run.end - begin - at.count);
      body(at);
    }
  }
  // Each body, while it handles particle l of a pack, asks for the numbers of particle l of the next: they lie in memory in the caller's order,
  // not in ours.
  template <class Body>
  COSTATE_INLINE void for_packs(const ParticleOrder::Pencil& pencil, const Body& body) const {
    for (std::int32_t r = pencil.first_run; r < pencil.last_run; ++r)
      for_packs_of(order_.runs()[static_cast<std::size_t>(r)], body);
  }

  template <int kWrite>
  COSTATE_INLINE static void touch(const Real* from, std::int64_t field, int size, std::int32_t particle) {
    __builtin_prefetch(from + field + std::int64_t(particle) * size, kWrite);
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

  // --- numbers of a pack ---------------------------------------------------------------------------------------------
  COSTATE_INLINE static Lanes lanes_of_number(const Number& s) {
    if constexpr (Mode::kTangent)
      return {Plain(s.v), Plain(s.d[0])};
    else
      return Lanes(s);
  }
  COSTATE_INLINE static Plain lane_numbers() {
    Plain r;
    for (int l = 0; l < kWidth; ++l) r.v[l] = Real(l);
    return r;
  }
  static double lane_sum(const Plain& p) {
    double sum = 0;
    for (int l = 0; l < kWidth; ++l) sum += double(p[l]);
    return sum;
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
    for (int l = 0; l < kWidth; ++l) buffer[l] = c_.volume[static_cast<std::size_t>(at.index[l])];
    return Plain::load(buffer);
  }
  COSTATE_INLINE Lanes number_lanes(const Chosen& at, const Layout::Number& number) const {
    if (!number.per_particle) return lanes_of_number(number_at<Mode>(p_, number.offset));
    return lanes_from([&](int l) {
      const auto particle = static_cast<std::size_t>(at.index[l]);
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
  void add_each(const Chosen& at, const Plain& bar, Real* to) const {
    for (int l = 0; l < at.count; ++l)
      to[layout_.index_in_material[static_cast<std::size_t>(at.index[l])]] += bar[l];
  }
  void add_actuation(const Chosen& at, const Plain& bar, double* to) const {
    for (int l = 0; l < at.count; ++l) {
      const std::int32_t actuator = layout_.actuator[static_cast<std::size_t>(at.index[l])];
      if (actuator >= 0) to[actuator] += double(bar[l]);
    }
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
    const auto& numbers = layout_.materials[static_cast<std::size_t>(at.material)].numbers;
    for (std::size_t n = 0; n < numbers.size(); ++n) in.p[n] = number_lanes(at, numbers[n]);
    in.actuation = Lanes(Plain(0));
    const Material& material = c_.model->materials[static_cast<std::size_t>(at.material)];
    if (material.kind == MaterialKind::muscle) {
      for (std::size_t a = 0; a < 3; ++a) in.fibre[a] = Real(material.fibre[a]);
      in.actuation = lanes_from([&](int l) {
        const std::int32_t actuator = layout_.actuator[static_cast<std::size_t>(at.index[l])];
        return actuator >= 0 ? number_at<Mode>(u_, layout_.actuation + actuator) : Number(Real(0));
      });
    }
  }
  COSTATE_INLINE void respond(std::int32_t material, const LawInput<Lanes, D>& in,
                              LawOutput<Lanes, D>& out) const {
    if constexpr (Mode::kTangent)
      c_.tangent_laws[static_cast<std::size_t>(material)].respond(in, out);
    else
      c_.laws[static_cast<std::size_t>(material)].respond(in, out);
  }

  // --- records -------------------------------------------------------------------------------------------------------
  COSTATE_INLINE static In slice(Out records, int l) {
    return {records.v + l * Record::size, records.d ? records.d + l * Record::size : nullptr};
  }
  COSTATE_INLINE static void put(Out records, int place, const Lanes& a, const Lanes& b, const Lanes& c,
                                 const Lanes& d) {
    const auto put_plain = [&](Real* to, const Plain& pa, const Plain& pb, const Plain& pc, const Plain& pd) {
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
  template <int N>
  COSTATE_INLINE static void read_record(Out records, int, int place, Lanes (&out)[N]) {
    take<Record::size>(records, place, out);
  }

  // Weights, offsets and, with kSlopes, slopes of a pack's stencils, and where each stencil begins in the grid.
  template <bool kSlopes>
  COSTATE_INLINE void write_stencil(const Chosen& at, Out records, std::int64_t (&offset)[kWidth]) const {
    Lanes x[D];
    read(x_, layout_.x, at, x);
    Spline<Lanes> s[D];
    alignas(64) Real cells[D][kWidth];
    for (int a = 0; a < D; ++a) {
      const Plain place = fma(primal(x[a]), Plain(c_.inverse_dx), Plain(-c_.shift[a])), cell = floor(place);
      cell.store(cells[a]);
      const Plain f = place - cell + Plain(Real(kFirstNodeShift<kTaps>));
      if constexpr (Mode::kTangent)
        s[a] = spline<kTaps>(Lanes(f, Plain(c_.inverse_dx) * x[a].d[0]));
      else
        s[a] = spline<kTaps>(f);
    }
    for (int l = 0; l < kWidth; ++l) {
      offset[l] = std::int64_t(cells[0][l]) * c_.strides.first + 4 * std::int64_t(cells[D - 1][l]);
      if constexpr (D == 3) offset[l] += std::int64_t(cells[1][l]) * c_.strides.second;
    }
    const Spline<Lanes>& last = s[D - 1];
    put(records, Record::w_last, last.w[0], last.w[1], last.w[2], last.w[3]);
    const Lanes one(Plain(1)), two(Plain(2)), three(Plain(3)), zero(Plain(0));
    put(records, Record::d_last, -last.f, one - last.f, two - last.f, three - last.f);
    put(records, Record::w_first, s[0].w[0], s[0].w[1], s[0].w[2], s[0].w[3]);
    if constexpr (D == 3) put(records, Record::w_second, s[1].w[0], s[1].w[1], s[1].w[2], s[1].w[3]);
    put(records, Record::f, s[0].f, D == 3 ? s[1].f : zero, zero, zero);
    if constexpr (kSlopes) {
      put(records, Record::slope_last, last.slope[0], last.slope[1], last.slope[2], last.slope[3]);
      put(records, Record::slope_first, s[0].slope[0], s[0].slope[1], s[0].slope[2], s[0].slope[3]);
      if constexpr (D == 3)
        put(records, Record::slope_second, s[1].slope[0], s[1].slope[1], s[1].slope[2], s[1].slope[3]);
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
  // V_bar = v+_ + dt x+_ and B_bar = (D^-1/dx) C+_.
  COSTATE_INLINE void write_gather_bar(const Chosen& at, const Real* y_bar, Out records) const {
    Lanes x_bar[D], v_bar[D], C_bar[D * D];
    const In from{y_bar, nullptr};
    read(from, layout_.x, at, x_bar);
    read(from, layout_.v, at, v_bar);
    gather_lanes<Mode, D * D>(from + layout_.C, at.index, C_bar);
    const Lanes dt(dt_), scale(Real(kInverseMoment<kTaps>) * c_.inverse_dx), zero(Plain(0));
    for (int a = 0; a < D; ++a) v_bar[a] += dt * x_bar[a];
    put(records, Record::V, v_bar[0], v_bar[1], D == 3 ? v_bar[D - 1] : zero, zero);
    for (int b = 0; b < D; ++b) {
      Lanes column[3] = {zero, zero, zero};
      for (int a = 0; a < D; ++a) column[a] = scale * C_bar[a * D + b];
      put(records, Record::B + 4 * b, column[0], column[1], column[2], zero);
    }
  }

  const ParticleConstants<Real, D>& c_;
  const Layout& layout_;
  const ParticleOrder& order_;
  In x_, u_, p_;
  Number dt_;
};

}  // namespace costate::mpm
