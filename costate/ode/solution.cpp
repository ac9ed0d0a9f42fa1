#include "costate/ode/solution.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/text.h"

namespace costate::ode {
namespace {

// The step whose interpolant is used at a time: beyond an end, the longer of the two steps there, since an
// event may have cut the last one short.
long step_for(const Replay& replay, const Trajectory& tr, double time) {
  const double sign = tr.t1 >= tr.t0 ? 1 : -1;
  const long last = tr.size() - 1;
  if (sign * time < sign * tr.t0) return 0;
  if (sign * time <= sign * tr.t1 || last == 0) return replay.step_at(time);
  const bool jumped = tr.steps[last - 1].event >= 0;  // the step before belongs to another piece
  if (jumped || tr.steps[last].row != tr.steps[last - 1].row) return last;
  return std::abs(tr.steps[last - 1].h) > std::abs(tr.steps[last].h) ? last - 1 : last;
}

}  // namespace

std::vector<double> Solution::final_state() const {
  return {trajectory_->final.begin(), trajectory_->final.begin() + states()};
}

std::vector<double> Solution::at(const std::vector<double>& times) const {
  const Trajectory& tr = *trajectory_;
  std::vector<double> rows, x(tr.states());
  if (tr.steps.empty()) {
    for (std::size_t i = 0; i < times.size(); ++i)
      rows.insert(rows.end(), tr.final.begin(), tr.final.begin() + states());
    return rows;
  }
  Replay replay(tr);
  for (const double time : times) {
    const long k = step_for(replay, tr, time);
    const StepInput in = replay.input(k);
    const double end = tr.steps[k].event >= 0 ? tr.events[tr.steps[k].event].t
                       : k + 1 < tr.size()    ? tr.steps[k + 1].t
                                              : tr.t1;
    if (in.h != 0 && time == end)
      std::copy_n(replay.end(k), tr.states(), x.begin());
    else
      replay.interpolate(in, in.h != 0 ? (time - in.t) / in.h : 0, x.data());
    rows.insert(rows.end(), x.begin(), x.begin() + states());
  }
  return rows;
}

std::vector<double> Solution::operator()(double time) const {
  const Trajectory& tr = *trajectory_;
  const double sign = tr.t1 >= tr.t0 ? 1 : -1;
  if (sign * time < sign * tr.t0 || sign * time > sign * tr.t1) {
    throw Error({"t = " + number(time) + " is outside the solution, which spans " + number(tr.t0) + " to " +
                     number(tr.t1),
                 "ode::Solution", ""});
  }
  return at({time});
}

}  // namespace costate::ode
