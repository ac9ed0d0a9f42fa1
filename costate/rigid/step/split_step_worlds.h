// How the worlds of a pack take split steps each at its own pace: arrays touched where a mask says, and where
// steps come from and go to.
#pragma once

#include "costate/rigid/step/split_step.h"

namespace costate::rigid {

// --- arrays of a pack --------------------------------------------------------------------------------------

// to = from in the worlds of the mask.
template <class S>
void copy_where(const mask_t<S>& mask, const S* from, std::size_t n, S* to) {
  for (std::size_t i = 0; i < n; ++i) to[i] = select(mask, from[i], to[i]);
}
template <class S>
void set_where(const mask_t<S>& mask, const S& value, S& to) {
  to = select(mask, value, to);
}
// The entry of an array that each lane's index names.
template <class S>
S pick(const std::vector<S>& values, const S& index) {
  S out(0);
  for (std::size_t k = 0; k < values.size(); ++k) out = select(index == S(value_t<S>(k)), values[k], out);
  return out;
}

template <class S>
S nonzero(const S& x) {
  return select(x == S(0), S(1), x);
}

// One world's numbers of an array of packs, to or from an array of the same layout.
template <class S>
void copy_column(int l, const value_t<S>* from, std::size_t n, S* to) {
  auto* out = reinterpret_cast<value_t<S>*>(to);
  for (std::size_t i = 0; i < n; ++i)
    out[i * lanes_of<S> + std::size_t(l)] = from[i * lanes_of<S> + std::size_t(l)];
}
template <class S>
void copy_column(int l, const S* from, std::size_t n, value_t<S>* to) {
  const auto* in = reinterpret_cast<const value_t<S>*>(from);
  for (std::size_t i = 0; i < n; ++i)
    to[i * lanes_of<S> + std::size_t(l)] = in[i * lanes_of<S> + std::size_t(l)];
}
// The same for several worlds, to or from arrays of one world's alone (null: not this one), a few numbers at
// a time: what one world reads is still near for the next.
inline constexpr std::size_t kRowsAtOnce = 32;
template <class S>
void copy_to_rows(const S* from, std::size_t n, value_t<S>* const* rows) {
  const auto* in = reinterpret_cast<const value_t<S>*>(from);
  for (std::size_t begin = 0; begin < n; begin += kRowsAtOnce)
    for (std::size_t l = 0; l < lanes_of<S>; ++l) {
      if (!rows[l]) continue;
      for (std::size_t i = begin, end = std::min(n, begin + kRowsAtOnce); i < end; ++i)
        rows[l][i] = in[i * lanes_of<S> + l];
    }
}
template <class S>
void copy_rows(const value_t<S>* const* rows, std::size_t n, S* to) {
  auto* out = reinterpret_cast<value_t<S>*>(to);
  for (std::size_t begin = 0; begin < n; begin += kRowsAtOnce)
    for (std::size_t l = 0; l < lanes_of<S>; ++l) {
      if (!rows[l]) continue;
      for (std::size_t i = begin, end = std::min(n, begin + kRowsAtOnce); i < end; ++i)
        out[i * lanes_of<S> + l] = rows[l][i];
    }
}

// --- where steps come from and go to -----------------------------------------------------------------------

// For the report: world l is done with the transpose of step k, which was in parts or not.
template <class S>
void note_transposed(int l, std::int64_t k, bool in_parts, const StepWork<S>& w, SplitWork<S>& split) {
  if (in_parts) {
    split.switches.push_back(k);
    split.slowest_event.take(double(lane(split.slowest, l)), k);
    split.counts[l].coarse += std::int64_t(lane(split.coarse, l));
  }
  split.counts[l].ties += std::int64_t(lane(split.ties, l));
  split.counts[l].exhausted += std::int64_t(lane(split.exhausted, l));
  split.counts[l].slow += std::int64_t(lane(split.slow, l));
  split.counts[l].leaps += std::int64_t(lane(split.leaps, l));
  split.residual = std::max(split.residual, std::sqrt(double(lane(w.c.residual2, l))));
}

// Of w.x, w.u to w.y and w.tape, and back: the worlds side by side.
template <class S>
struct OneStep {
  const Stepper& stepper;
  StepWork<S>& w;
  SplitWork<S>& split;
  bool begun = false;

  std::size_t tape_size() const { return stepper.tape_of_step(); }
  mask_t<S> begin(const mask_t<S>&) {
    if (begun) return mask_t<S>(false);
    begun = true;
    std::copy(w.x.begin(), w.x.end(), split.now.x.begin());
    return mask_t<S>(true);
  }
  // The tape of part split.number; of the first kTapesKept.
  void keep_tape(const mask_t<S>& worlds) {
    for (std::size_t n = 0; n < kTapesKept; ++n)
      copy_where(worlds & (split.number == S(value_t<S>(n))), static_cast<const S*>(w.tape.data()),
                 tape_size(), split.tapes.data() + n * tape_size());
  }
  void end(const mask_t<S>& worlds, bool) {
    copy_where(worlds, static_cast<const S*>(w.y.data()), w.y.size(), split.end.data());
  }

  mask_t<S> begin_transpose(const mask_t<S>&) {
    if (begun) return mask_t<S>(false);
    begun = true;
    std::copy(w.x.begin(), w.x.end(), split.parts[0].x.begin());
    std::copy(w.y_bar.begin(), w.y_bar.end(), split.lambda.begin());
    const S *tape = w.tape.data(), *record = tape + split.tapes.size();
    std::copy(tape, record, split.tapes.begin());
    std::copy(record, record + split.record.size(), split.record.begin());
    return mask_t<S>(true);
  }
  void recall_tape(const mask_t<S>& worlds) {
    for (std::size_t n = 0; n < kTapesKept; ++n)
      copy_where(worlds & (split.number == S(value_t<S>(n))),
                 static_cast<const S*>(split.tapes.data() + n * tape_size()), tape_size(),
                 split.part_tape.data());
  }
  void end_transpose(const mask_t<S>& worlds, const mask_t<S>& cut) {
    if constexpr (is_dual<S>) {
      if (any(worlds & cut)) split.switches.push_back(0);
    } else {
      const S ended = select(worlds, S(1), S(0)), in_parts = select(cut, S(1), S(0));
      for (int l = 0; l < lanes_of<S>; ++l)
        if (lane(ended, l) > 0) note_transposed(l, 0, lane(in_parts, l) > 0, w, split);
      split.watch.see(worlds, stepper.constraints, w.c, w.x.data() + stepper.tree.nq);
      split.sweeps.see(worlds, stepper.constraints, w.c);
    }
  }
};

// Of a run: each world at its own step.
template <class S>
struct Columns {
  using T = value_t<S>;
  const Stepper& stepper;
  StepWork<S>& w;
  SplitWork<S>& split;
  const SplitRun<T>& run;
  std::int64_t ended[lanes_of<S>] = {};

  std::int64_t state_size() const { return stepper.states() * lanes_of<S>; }
  T* slot(T* base, std::int64_t j) const { return base + (run.start + j) % run.slots * state_size(); }
  const T* knot(std::int64_t j) const {
    return run.u + (run.first + j) / run.hold * stepper.controls() * lanes_of<S>;
  }
  // A world's tapes and record of a step lie together: it comes to them alone.
  T* tape(int l, std::int64_t j) const {
    return run.tape + (j * lanes_of<S> + l) * std::int64_t(stepper.tape_size());
  }
  T* tape_of_part(int l, std::int64_t j) const {
    return tape(l, j) + std::int64_t(lane(split.number, l)) * stepper.tape_of_step();
  }
  std::size_t part_size() const { return stepper.tape_of_step(); }
  bool has_tape(int l) const { return lane(split.number, l) < T(kTapesKept); }

  template <class F>
  void each(const mask_t<S>& worlds, F f) {
    const S in = select(worlds, S(1), S(0));
    for (int l = 0; l < lanes_of<S>; ++l)
      if (lane(in, l) > 0) f(l, ended[l]);
  }
  // Those of `idle` that have a step left.
  template <class F>
  mask_t<S> begin_each(const mask_t<S>& idle, F f) {
    alignas(alignof(S)) T got[lanes_of<S>] = {};
    each(idle, [&](int l, std::int64_t done) {
      if (done == run.count) return;
      got[l] = 1;
      f(l, done);
    });
    return load<S>(got) > S(0);
  }

  mask_t<S> begin(const mask_t<S>& idle) {
    return begin_each(idle, [&](int l, std::int64_t j) {
      copy_column(l, slot(run.states, j), w.x.size(), split.now.x.data());
      if (run.u) copy_column(l, knot(j), w.u.size(), w.u.data());
    });
  }
  void keep_tape(const mask_t<S>& worlds) {
    T* rows[lanes_of<S>] = {};
    each(worlds, [&](int l, std::int64_t j) {
      if (has_tape(l)) rows[l] = tape_of_part(l, j);
    });
    copy_to_rows(static_cast<const S*>(w.tape.data()), part_size(), rows);
  }
  void end(const mask_t<S>& worlds, bool with_tape) {
    T* rows[lanes_of<S>] = {};
    std::size_t used = 0;
    each(worlds, [&](int l, std::int64_t j) {
      copy_column(l, static_cast<const S*>(w.y.data()), w.y.size(), slot(run.states, j + 1));
      if (with_tape) rows[l] = tape(l, j) + split.tapes.size();
      used = std::max(used, std::size_t(stepper.record_used(int(lane(split.number, l)))));
      ++ended[l];
    });
    if (with_tape) copy_to_rows(static_cast<const S*>(split.record.data()), used, rows);
  }

  mask_t<S> begin_transpose(const mask_t<S>& idle) {
    const T* rows[lanes_of<S>] = {};
    std::size_t used = 0;
    const mask_t<S> got = begin_each(idle, [&](int l, std::int64_t done) {
      const std::int64_t j = run.count - 1 - done;
      copy_column(l, run.states + j * state_size(), w.x.size(), split.parts[0].x.data());
      if (run.u) copy_column(l, knot(j), w.u.size(), w.u.data());
      if (done == 0) copy_column(l, slot(run.lambda, 0), w.x.size(), split.lambda.data());
      rows[l] = tape(l, j) + split.tapes.size();
      used = std::max(used, std::size_t(stepper.record_used(int(rows[l][stepper.constraints.events()]))));
    });
    copy_rows(rows, used, split.record.data());
    return got;
  }
  void recall_tape(const mask_t<S>& worlds) {
    const T* rows[lanes_of<S>] = {};
    each(worlds, [&](int l, std::int64_t done) {
      if (has_tape(l)) rows[l] = tape_of_part(l, run.count - 1 - done);
    });
    copy_rows(rows, part_size(), split.part_tape.data());
  }
  // `cut`: in several parts.
  void end_transpose(const mask_t<S>& worlds, const mask_t<S>& cut) {
    const S in_parts = select(cut, S(1), S(0));
    each(worlds, [&](int l, std::int64_t done) {
      const std::int64_t j = run.count - 1 - done, k = run.first + j;
      copy_column(l, static_cast<const S*>(split.lambda.data()), w.x.size(), slot(run.lambda, done + 1));
      if (run.u_bar) {
        T* u_bar = run.u_bar + k / run.hold * stepper.controls() * lanes_of<S>;
        for (std::size_t i = 0; i < w.u_bar.size(); ++i) {
          u_bar[i * lanes_of<S> + std::size_t(l)] += lane(w.u_bar[i], l);
          reinterpret_cast<T*>(w.u_bar.data())[i * lanes_of<S> + std::size_t(l)] = 0;
        }
      }
      bool zone_changed = false;
      for (std::size_t row = 0; row < split.zones.size(); ++row)
        zone_changed |= lane(split.zones[row], l) != lane(w.c.zone[row], l);
      note_transposed(l, k, lane(in_parts, l) > 0, w, split);
      if (zone_changed && (done > 0 || split.follows)) split.switches.push_back(k + 1);
      ++ended[l];
    });
    for (std::size_t row = 0; row < split.zones.size(); ++row)
      set_where(worlds, w.c.zone[row], split.zones[row]);
    split.watch.see(worlds, stepper.constraints, w.c, w.x.data() + stepper.tree.nq);
    split.sweeps.see(worlds, stepper.constraints, w.c);
  }
};

}  // namespace costate::rigid
