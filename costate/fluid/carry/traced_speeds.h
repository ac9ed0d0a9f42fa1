// Speeds that are traced back along themselves, and their transpose: star = traced u (carry/trace.h), on free
// faces. Beyond a side with given speeds lie those along it.
// Tests: tests/fluid/smoke_test.cpp, tests/contract.
#pragma once

#include "costate/fluid/carry/trace.h"

namespace costate::fluid {

template <class S, int Dim>
struct TracedSpeeds {
  using Real = value_t<S>;
  using One = Single<S>;
  const Sides& sides;
  FlowScratch<Real>& work;
  One dt;
  const Trace<S, Dim> points{sides, work, work.x, dt};

  void apply() const {
    for (int c = 0; c < Dim; ++c)
      points.traced(c, sides.free_faces(c), work.x[std::size_t(c)], beyond(c, work.side),
                    work.star[std::size_t(c)]);
  }
  // From star_bar; adds to out_bar, to the cotangents of given speeds and, if `sums`, to dt_bar.
  void transpose(bool sums, One& dt_bar) const {
    for (int c = 0; c < Dim; ++c) {
      const Box box = sides.free_faces(c);
      const auto a = std::size_t(c);
      points.clear_shifts();
      points.traced_vjp(c, box, work.x[a], beyond(c, work.side), work.star_bar[a], work.out_bar[a],
                        beyond(c, work.side_bar));
      if (sums) dt_bar = dt_bar + points.dt_bar(c, box);
      points.shifts_vjp(c, work.out_bar);
    }
  }

 private:
  typename Trace<S, Dim>::Beyond beyond(int c, const SideSpeeds<Real>& given) const {
    typename Trace<S, Dim>::Beyond all{};
    for (std::size_t side = 0; side < 2 * Dim; ++side)
      if (int(side / 2) != c && sides.kind[side / 2][side % 2] == Side::Kind::velocity)
        all[side] = &given[side / 2][side % 2][std::size_t(c)];
    return all;
  }
};

}  // namespace costate::fluid
