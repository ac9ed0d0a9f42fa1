// The transposes of particle_stage.h. They need the velocities of the grid, hence first its momentum and mass
// once more, from the tape or from the particles:
//
//   scatter_momentum         the grid's momentum and mass
//   scatter_cotangents       transpose of the gather: v_i_ += w_i (V_ + B_ d_i),
//                            V_ = v+_ + dt x+_, B_ = (D^-1/dx) C+_
//   gather_cotangents        the rest: positions through the weights, then Q_, A_, tau_ back to (x, v, C, F)
//                            and the material's numbers
//
// Tests: tests/mpm/system_test.cpp.
#pragma once

#include "costate/mpm/transfer/particle_pack.h"

namespace costate::mpm {

template <class Real_, int D, int kTaps>
class ParticleTranspose : ParticlePacks<Values<Real_>, D, kTaps> {
  using Base = ParticlePacks<Values<Real_>, D, kTaps>;
  using Base::c_, Base::dt_, Base::kWidth, Base::layout_, Base::x_;
  using typename Base::Chosen, typename Base::In, typename Base::Lanes, typename Base::Out,
      typename Base::Plain, typename Base::Real;
  using Mode = Values<Real_>;

 public:
  using Base::Base;

  void scatter_momentum(const ParticleOrder::Pencil& pencil, Real* grid) const {
    alignas(64) Real values[kWidth * Record::size];
    const Out records{values, nullptr};
    this->for_packs(pencil, [&](const Chosen& at) {
      LawInput<Lanes, D> in;
      LawOutput<Lanes, D> out;
      this->read_law(at, in);
      this->respond(at.material, in, out);
      std::int64_t offset[kWidth];
      this->template write_stencil<false>(at, records, offset);
      this->write_momentum(at, in, out.tau, records);
      this->scatter_cells(at, offset, records, Record::A, Record::Q, Out{grid, nullptr},
                          [&](int l) COSTATE_INLINE_LAMBDA {
                            if (l < at.next_count) this->template touch_all<0>(x_.v, at.next[l]);
                          });
    });
  }

  void scatter_cotangents(const ParticleOrder::Pencil& pencil, const Real* y_bar, Real* grid_bar) const {
    alignas(64) Real values[kWidth * Record::size];
    const Out records{values, nullptr};
    this->for_packs(pencil, [&](const Chosen& at) {
      std::int64_t offset[kWidth];
      this->template write_stencil<false>(at, records, offset);
      write_gather_bar(at, y_bar, records);
      this->scatter_cells(at, offset, records, Record::B, Record::V, Out{grid_bar, nullptr},
                          [&](int l) COSTATE_INLINE_LAMBDA {
                            if (l >= at.next_count) return;
                            this->template touch<0>(x_.v, layout_.x, D, at.next[l]);
                            this->template touch_motion<0>(y_bar, at.next[l]);
                          });
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
      const ParticleOrder::Run& run = this->order_.runs()[r];
      Plain total[kLargestParameterCount], dt_total(0);
      for (Plain& t : total) t = Plain(0);
      const auto& numbers = layout_.materials[run.material].numbers;
      this->for_packs_of(run, [&](const Chosen& at) {
        LawInput<Lanes, D> in, in_bar;
        LawOutput<Lanes, D> out;
        this->read_law(at, in);
        this->respond(at.material, in, out);
        std::int64_t offset[kWidth];
        this->template write_stencil<true>(at, records, offset);
        const Lanes mass = this->write_momentum(at, in, out.tau, records);
        write_gather_bar(at, y_bar, records);
        for (int l = 0; l < at.count; ++l) {
          if (l < at.next_count)
            this->template touch_all<0>(x_.v, at.next[l]), this->template touch_all<0>(y_bar, at.next[l]),
                this->template touch_all<1>(x_bar, at.next[l]);
          Transfer<Mode, D, kTaps>::gather_vjp(values + l * Record::size, velocity + offset[l],
                                               grid_bar + offset[l], c_.strides, answer + l * Gathered::size);
        }
        GridAnswer from_grid;
        read_grid_answer(at, records, answers, from_grid);
        const Lanes dt_bar = momentum_vjp(at, in, out.tau, mass, from_grid, y_bar, x_bar, in_bar);

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
  // What the grid answers a pack: cotangents of Q = (m v, m) and A = dx (m C - dt V D^-1 tau), of positions
  // in cells through the weights, and the new velocities.
  struct GridAnswer {
    Lanes Q_bar[4], v_next[D], X_bar[D];
    Matrix<Lanes, D> A_bar;
  };
  COSTATE_INLINE void read_grid_answer(const Chosen& at, Out records, Out answers, GridAnswer& g) const {
    this->read_answer(answers, at.count, Gathered::V, g.Q_bar);
    this->read_answer(answers, at.count, Gathered::velocity, g.v_next);
    for (int a = 0; a < D; ++a) {
      Lanes parts[4];
      this->read_answer(answers, at.count, Gathered::X + 4 * column_of<D>(a), parts);
      g.X_bar[a] = (parts[0] + parts[1]) + (parts[2] + parts[3]);
    }
    for (int b = 0; b < D; ++b) {
      Lanes column[D], A_column[D], B_column[D];
      this->read_answer(answers, at.count, Gathered::B + 4 * column_of<D>(b), column);
      read_record(records, Record::A + 4 * b, A_column);
      read_record(records, Record::B + 4 * b, B_column);
      for (int a = 0; a < D; ++a) {
        g.A_bar(a, b) = Lanes(c_.dx) * column[a];
        g.X_bar[b] -= A_column[a] * g.Q_bar[a] + B_column[a] * g.v_next[a];
      }
    }
  }

  // Q and A back to (x, v, C, F, plastic), which it writes, and to the law's inputs. Returns the cotangent of
  // dt.
  COSTATE_INLINE Lanes momentum_vjp(const Chosen& at, const LawInput<Lanes, D>& in,
                                    const Matrix<Lanes, D>& tau, const Lanes& mass, const GridAnswer& g,
                                    const Real* y_bar, Real* x_bar, LawInput<Lanes, D>& in_bar) const {
    const In from{y_bar, nullptr};
    const Out to{x_bar, nullptr};
    Lanes v[D], x_next_bar[D];
    this->read(x_, layout_.v, at, v);
    this->read(from, layout_.x, at, x_next_bar);
    const Lanes stress_scale =
        Lanes(this->volume_lanes(at)) * Lanes(Real(kInverseMoment<kTaps>) * c_.inverse_dx * c_.inverse_dx);
    const Lanes dt(dt_);
    LawOutput<Lanes, D> out_bar;
    out_bar.tau = (-dt * stress_scale) * g.A_bar;
    gather_lanes<Mode, D * D>(from + layout_.F, at.index, &out_bar.F.e[0][0]);
    if (layout_.plastic >= 0)
      gather_lanes<Mode, 1>(from + layout_.plastic, at.index, &out_bar.plastic);
    else
      out_bar.plastic = Lanes(0);
    c_.laws[at.material].respond_vjp(in, out_bar, in_bar);

    Lanes dt_bar = in_bar.dt - stress_scale * contract(tau, g.A_bar);
    Lanes mass_bar = g.Q_bar[3];
    mass_bar += contract(in.C, g.A_bar);
    in_bar.C += mass * g.A_bar;
    Lanes x_new_bar[D], v_bar[D];
    for (int a = 0; a < D; ++a) {
      mass_bar += v[a] * g.Q_bar[a];
      v_bar[a] = mass * g.Q_bar[a];
      dt_bar += x_next_bar[a] * g.v_next[a];
      x_new_bar[a] = x_next_bar[a] + Lanes(c_.inverse_dx) * g.X_bar[a];
    }
    in_bar.p[0] = Lanes(this->volume_lanes(at)) * mass_bar;

    this->write(to, layout_.x, at, x_new_bar);
    this->write(to, layout_.v, at, v_bar);
    scatter_lanes<Mode, D * D>(to + layout_.C, at.index, at.count, &in_bar.C.e[0][0]);
    scatter_lanes<Mode, D * D>(to + layout_.F, at.index, at.count, &in_bar.F.e[0][0]);
    if (layout_.plastic >= 0)
      scatter_lanes<Mode, 1>(to + layout_.plastic, at.index, at.count, &in_bar.plastic);
    return dt_bar;
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
  void add_each(const Chosen& at, const Plain& bar, Real* to) const {
    for (int l = 0; l < at.count; ++l) to[layout_.index_in_material[at.index[l]]] += bar[l];
  }
  void add_actuation(const Chosen& at, const Plain& bar, double* to) const {
    for (int l = 0; l < at.count; ++l) {
      const std::int32_t actuator = layout_.actuator[at.index[l]];
      if (actuator >= 0) to[actuator] += double(bar[l]);
    }
  }

  template <int N>
  COSTATE_INLINE static void read_record(Out records, int place, Lanes (&out)[N]) {
    Base::template take<Record::size>(records, place, out);
  }

  // V_bar = v+_ + dt x+_ and B_bar = (D^-1/dx) C+_.
  COSTATE_INLINE void write_gather_bar(const Chosen& at, const Real* y_bar, Out records) const {
    Lanes x_bar[D], v_bar[D], C_bar[D * D];
    const In from{y_bar, nullptr};
    this->read(from, layout_.x, at, x_bar);
    this->read(from, layout_.v, at, v_bar);
    gather_lanes<Mode, D * D>(from + layout_.C, at.index, C_bar);
    const Lanes dt(dt_), scale(Real(kInverseMoment<kTaps>) * c_.inverse_dx), zero(Plain(0));
    for (int a = 0; a < D; ++a) v_bar[a] += dt * x_bar[a];
    this->put(records, Record::V, v_bar[0], v_bar[1], D == 3 ? v_bar[D - 1] : zero, zero);
    for (int b = 0; b < D; ++b) {
      Lanes column[3] = {zero, zero, zero};
      for (int a = 0; a < D; ++a) column[a] = scale * C_bar[a * D + b];
      this->put(records, Record::B + 4 * b, column[0], column[1], column[2], zero);
    }
  }
};

}  // namespace costate::mpm
