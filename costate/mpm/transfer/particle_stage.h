// What particles do in a step: deform and scatter, gather and move.
//
//   deform_and_scatter       (x, v, C, F) -> F+, and the grid's momentum and mass
//   gather_and_move          grid velocities -> (x+, v+, C+)
//
// Transpose: particle_transpose.h. Tests: tests/mpm/system_test.cpp.
#pragma once

#include "costate/mpm/transfer/particle_pack.h"

namespace costate::mpm {

template <class Mode, int D, int kTaps>
class ParticleStage : ParticlePacks<Mode, D, kTaps> {
  using Base = ParticlePacks<Mode, D, kTaps>;
  using Base::c_, Base::dt_, Base::kWidth, Base::layout_, Base::x_;
  using typename Base::Chosen, typename Base::In, typename Base::Lanes, typename Base::Out,
      typename Base::Plain, typename Base::Real;

 public:
  using Base::Base;

  // Returns the first inverted particle, or kNoParticle.
  std::int64_t deform_and_scatter(const ParticleOrder::Pencil& pencil, Out y, Out grid) const {
    std::int64_t inverted = kNoParticle;
    alignas(64) Real values[kWidth * Record::size], tangents[Mode::kTangent ? kWidth * Record::size : 1];
    const Out records{values, Mode::kTangent ? tangents : nullptr};
    this->for_packs(pencil, [&](const Chosen& at) {
      LawInput<Lanes, D> in;
      LawOutput<Lanes, D> out;
      this->read_law(at, in);
      this->respond(at.material, in, out);
      scatter_lanes<Mode, D * D>(y + layout_.F, at.index, at.count, &out.F.e[0][0]);
      if (layout_.plastic >= 0) scatter_lanes<Mode, 1>(y + layout_.plastic, at.index, at.count, &out.plastic);
      inverted = std::min(inverted, this->first_where(at, !(primal(out.J) > Plain(0))));
      std::int64_t offset[kWidth];
      this->template write_stencil<false>(at, records, offset);
      this->write_momentum(at, in, out.tau, records);
      this->scatter_cells(at, offset, records, Record::A, Record::Q, grid, [&](int l) COSTATE_INLINE_LAMBDA {
        if (l < at.next_count)
          this->template touch_all<0>(x_.v, at.next[l]),
              this->template touch<1>(y.v, layout_.F, D * D, at.next[l]);
      });
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
    const Plain cells(primal(dt_) * c_.inverse_dx), limit(c_.courant);
    this->for_packs(pencil, [&](const Chosen& at) {
      std::int64_t offset[kWidth];
      Lanes x[D], v[D], C[D * D];
      this->read(x_, layout_.x, at, x);
      this->template write_stencil<false>(at, records, offset);
      for (int l = 0; l < at.count;) {
        const std::int64_t cell = offset[l];
        const auto rows = Transfer<Mode, D, kTaps>::Rows::load(grid + cell, c_.strides);
        do {
          if (l < at.next_count)
            this->template touch<0>(x_.v, layout_.x, D, at.next[l]),
                this->template touch_motion<1>(y.v, at.next[l]);
          Transfer<Mode, D, kTaps>::gather(this->slice(records, l), rows, answers + l * Gathered::size);
        } while (++l < at.count && offset[l] == cell);
      }
      this->read_answer(answers, at.count, Gathered::V, v);
      for (int a = 0; a < D; ++a) x[a] = x[a] + Lanes(this->lanes_of_number(dt_)) * v[a];
      for (int b = 0; b < D; ++b) {
        Lanes column[D];
        this->read_answer(answers, at.count, Gathered::B + 4 * column_of<D>(b), column);
        for (int a = 0; a < D; ++a) C[a * D + b] = Lanes(scale) * column[a];
      }
      this->write(y, layout_.x, at, x);
      this->write(y, layout_.v, at, v);
      scatter_lanes<Mode, D * D>(y + layout_.C, at.index, at.count, C);
      auto slow = abs(primal(v[0])) * cells <= limit;  // false where it is not a number
      for (int a = 1; a < D; ++a) slow = slow & (abs(primal(v[a])) * cells <= limit);
      too_fast = std::min(too_fast, this->first_where(at, !slow));
    });
    return too_fast;
  }
};

}  // namespace costate::mpm
