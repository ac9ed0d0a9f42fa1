// Collector: the gradients of many blocks, put together in the order of the blocks, so that neither the
// number of threads nor the order of arrival shows. What worlds have of their own is copied; what they share
// is summed: lanes in order within a block, blocks in order in waves, whose partial sums bound the memory.
// Internal to Rollout. The report: report_collector.h.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "costate/system/block.h"
#include "costate/system/block_memory.h"

namespace costate {

// What a rollout knows about its own size.
template <class Real>
struct RolloutShape {
  const System<Real>& system;
  const RolloutOptions& options;
  const Activity& activity;
  std::int64_t blocks, knots;
};

inline constexpr std::int64_t kWaveNumbers = 1 << 22;  // partial sums held at once

// [index][lane] to rows of worlds. A world that diverged has `of_masked` instead of its numbers.
template <class Real>
void scatter(const BlockResults<Real>& block, const Real* from, std::int64_t row, Real* to,
             Real of_masked = 0) {
  for (int l = 0; l < block.live_lanes; ++l) {
    Real* target = to + (block.first_world + l) * row;
    if (block.diverged[l])
      std::fill_n(target, row, of_masked);
    else if (block.rows)
      copy(target, from + l * row, row);
    else
      take_lane(from, row, block.lanes, l, target);
  }
}

// Sum over the worlds of a block, lanes in order.
template <class Real>
void sum_lanes(const BlockResults<Real>& block, const Real* from, std::int64_t row, double* to) {
  const char* const dead = block.diverged.data();
  const int live = block.live_lanes;
  const bool all = std::none_of(dead, dead + live, [](char d) { return d != 0; });
  for (std::int64_t i = 0; i < row; ++i, from += block.lanes) {
    double sum = 0;
    for (int l = 0; l < live; ++l) {
      if (all || !dead[l]) sum += from[l];
    }
    to[i] = sum;
  }
}

// The values of all worlds that are not masked. Not a number if all of them are: a sum of nothing would look
// like a perfect one.
inline double sum_of_live(const std::vector<double>& values, const std::vector<char>& masked) {
  double sum = 0;
  bool any = false;
  for (std::size_t w = 0; w < values.size(); ++w) {
    if (masked[w]) continue;
    sum += values[w];
    any = true;
  }
  return any ? sum : std::numeric_limits<double>::quiet_NaN();
}

template <class Real>
struct Collector {
  const RolloutShape<Real> rollout;
  const Arguments<Real>& arguments;
  Gradient<Real>& out;
  bool rates = false;  // of a Hessian-vector product instead of the gradient
  bool shared_x0 = false, shared_controls = false;
  std::vector<std::int64_t> shared_offset;  // per parameter field, in a row of partial sums; -1: per world
  std::int64_t row = 0, norms = 0;
  std::vector<double> partial, total;

  Collector(const RolloutShape<Real>& r, const Arguments<Real>& a, Gradient<Real>& o, bool rates_)
      : rollout(r), arguments(a), out(o), rates(rates_) {
    const Signature& s = r.system.signature();
    const bool several = r.options.worlds > 1;  // nothing to add up otherwise: a large world is copied once
    shared_x0 = several && static_cast<std::int64_t>(a.x0.size()) == s.states();
    shared_controls = several && static_cast<std::int64_t>(a.controls.size()) == r.knots * s.controls();
    if (shared_x0) row += s.states();
    if (shared_controls) row += r.knots * s.controls();
    const auto& fields = s.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const bool sum = several && r.activity.parameters[f] && !a.parameters.per_world(f);
      shared_offset.push_back(sum ? row : -1);
      if (sum) row += fields[f].size;
    }
    norms = row;
    row += adjoint_samples(r.options.steps);
    total.assign(row, 0.0);
    out.values.assign(r.options.worlds, 0.0);
    out.x0.assign(a.x0.size(), Real(0));
    out.controls.assign(a.controls.size(), Real(0));
    out.parameters = a.parameters.zeros();
  }

  std::int64_t wave() const {
    return std::clamp<std::int64_t>(kWaveNumbers / std::max<std::int64_t>(1, row), 1, rollout.blocks);
  }

  void take(const BlockResults<Real>& block, std::int64_t slot) {
    const Signature& s = rollout.system.signature();
    double* sums = partial.data() + slot * row;
    const Real* x_bar = rates ? block.x0_bar_dot : block.x0_bar;
    const Real* u_bar = rates ? block.u_bar_dot : block.u_bar;
    const Real* p_bar = rates ? block.p_bar_dot : block.p_bar;
    for (int l = 0; l < block.live_lanes; ++l) out.values[block.first_world + l] = block.loss[l];
    std::int64_t offset = 0;
    const auto deliver = [&](const Real* from, const double* sum, std::int64_t size, bool shared, Real* to) {
      if (!shared) return scatter(block, from, size, to);
      if (sum)
        std::copy(sum, sum + size, sums + offset);
      else
        sum_lanes(block, from, size, sums + offset);
      offset += size;
    };
    deliver(x_bar, block.x0_bar_sum, s.states(), shared_x0, out.x0.data());
    deliver(u_bar, block.u_bar_sum, rollout.knots * s.controls(), shared_controls, out.controls.data());
    const auto& fields = s.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (!rollout.activity.parameters[f]) continue;
      deliver(p_bar + fields[f].offset * block.lanes,
              block.p_bar_sum ? block.p_bar_sum + fields[f].offset : nullptr, fields[f].size,
              shared_offset[f] >= 0, out.parameters.values(f).data());
    }
    std::copy(block.adjoint_norm2.begin(), block.adjoint_norm2.end(), sums + norms);
  }

  void add_wave(std::int64_t count) {
    for (std::int64_t slot = 0; slot < count; ++slot) {
      for (std::int64_t i = 0; i < row; ++i) total[i] += partial[slot * row + i];
    }
  }

  void finish() {
    const Signature& s = rollout.system.signature();
    std::int64_t offset = 0;
    const auto deliver = [&](std::int64_t size, Real* to) {
      for (std::int64_t i = 0; i < size; ++i) to[i] = static_cast<Real>(total[offset + i]);
      offset += size;
    };
    if (shared_x0) deliver(s.states(), out.x0.data());
    if (shared_controls) deliver(rollout.knots * s.controls(), out.controls.data());
    for (std::size_t f = 0; f < shared_offset.size(); ++f) {
      if (shared_offset[f] >= 0) deliver(s.fields(Role::parameter)[f].size, out.parameters.values(f).data());
    }
  }
};

}  // namespace costate
