// Adaptive ensembles: many worlds of a small system in SIMD lanes, each with its own step sizes.
//
// A lane holds one world with its time, its step size and its controller. All lanes attempt a step together;
// each accepts or rejects its own (step_control.h's rule, in lanes), and a lane whose world has reached t1
// takes the next world. What a world computes does not depend on its neighbours: results have the same bits
// for every number of threads.
//
// The discrete adjoint replays a log of the attempts (t, h, x per lane; h = 0 where one was rejected) from
// the last to the first: exact for the steps that each world took.
// Tests: tests/ode/lanes/adaptive_ensemble_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/ode/lanes/adaptive_step.h"

namespace costate::ode {

struct EnsembleOptions {
  double rtol = 1e-6, atol = 1e-9;
  long max_steps = 100000;  // attempts of one world
};

// Layout of arrays over worlds: [index][world].
struct EnsembleResult {
  std::vector<double> y;    // at t1
  std::vector<long> steps;  // accepted, per world
  long attempts = 0;        // of all worlds
};
struct EnsembleGradient {
  EnsembleResult result;
  std::vector<double> y0, p;
};
// The cotangent of a world's final state, of which it is told.
using EnsembleCotangent = std::function<void(std::int64_t world, const double* y, double* y_bar)>;

template <class Rhs, class Pair = runge_kutta::DormandPrince, class S = NativePack<double>>
class AdaptiveEnsemble {
 public:
  static constexpr int NX = Rhs::states, NP = Rhs::parameters, kLanes = lanes_of<S>;
  static_assert(std::is_same_v<value_t<S>, double>);

  AdaptiveEnsemble(double t0, double t1, EnsembleOptions options = {}) : t0_(t0), t1_(t1), options_(options) {
    if (!(options.atol > 0) || !(options.rtol >= 0)) {
      throw Error({"an ensemble needs atol > 0 and rtol >= 0", "ode::AdaptiveEnsemble", ""});
    }
  }

  EnsembleResult solve(std::int64_t worlds, const std::vector<double>& y0,
                       const std::vector<double>& p) const {
    EnsembleGradient out = run(worlds, y0, p, nullptr);
    return std::move(out.result);
  }
  EnsembleGradient gradient(std::int64_t worlds, const std::vector<double>& y0, const std::vector<double>& p,
                            const EnsembleCotangent& cotangent) const {
    return run(worlds, y0, p, &cotangent);
  }

 private:
  using Step = AdaptiveStep<Rhs, Pair, S>;
  using X = Vec<S, NX>;
  using P = Vec<S, NP>;
  using Mask = mask_t<S>;

  struct Attempt {
    S t, h;  // h = 0: rejected
    X x;
  };
  // Attempts of the groups alternate in the log. After attempt `after`, lane `lane` of its group finished
  // `world`.
  struct Finish {
    std::size_t after;
    int lane;
    std::int64_t world;
  };
  // One chunk of worlds, from first to last.
  struct Chunk {
    std::vector<Attempt> log;
    std::vector<Finish> finishes;
  };

  // Two groups of lanes in counterpoint: see stages_beside_control. (Four gain nothing.)
  static constexpr int kGroups = 2;
  static constexpr std::int64_t kChunk = 16 * kGroups * kLanes;
  static constexpr double kLogFloor = -13.287712379549449;  // log2(1e-4)

  EnsembleGradient run(std::int64_t worlds, const std::vector<double>& y0, const std::vector<double>& p,
                       const EnsembleCotangent* cotangent) const {
    if (std::int64_t(y0.size()) != worlds * NX || std::int64_t(p.size()) != worlds * NP) {
      throw Error({"y0 and p must have one value per state or parameter and world", "ode::AdaptiveEnsemble",
                   "the layout is [index][world]"});
    }
    EnsembleGradient out;
    out.result.y.resize(y0.size());
    out.result.steps.resize(worlds);
    if (cotangent) {
      out.y0.resize(y0.size());
      out.p.resize(p.size());
    }
    out.result.attempts = parallel_sum<long>(worlds, kChunk, 0L, [&](std::int64_t begin, std::int64_t end) {
      thread_local Chunk chunk;
      chunk.log.clear();
      chunk.finishes.clear();
      const long attempts =
          forward(begin, end, worlds, y0.data(), p.data(), out.result, cotangent ? &chunk : nullptr);
      if (cotangent) backward(chunk, worlds, p.data(), out, *cotangent);
      return attempts;
    });
    return out;
  }

  // Lanes of one chunk on their way.
  struct Lanes {
    S t, h, log_old, grow;  // log2 of the last error; upper limit of the next factor
    S accepted;
    X x, k0;
    P p;
    std::int64_t world[kLanes];
    long entered[kLanes];  // iteration in which the world took the lane
    // An attempt whose stages are there and whose control is still to come.
    S length;
    Mask last;
    X y, k6, error;
  };

  static void set_lane(S& s, int lane, double v) {
    if constexpr (kLanes == 1)
      s = v;
    else
      s.set(lane, v);
  }

  // How the worlds of a chunk set out: f(x0) and the first step size, [index][world of the chunk].
  struct Start {
    alignas(64) double h[kChunk];
    alignas(64) double f0[NX][kChunk];
  };

  // Starting step of [HNW II.4], for a pack of worlds.
  S initial_step(const X& x, const P& p, X& f0) const {
    const S sign(t1_ >= t0_ ? 1.0 : -1.0), span(std::abs(t1_ - t0_)), tiny(1e-300);
    f0 = Rhs::value(S(t0_), x, Vec<S, 0>{}, p);
    const auto norm = [&](const X& v) {
      S sum(0.0);
      for (int i = 0; i < NX; ++i) {
        const S ratio = v[i] / (S(options_.atol) + S(options_.rtol) * abs(x[i]));
        sum += ratio * ratio;
      }
      return sqrt(sum * S(1.0 / NX));
    };
    const S d0 = norm(x), d1 = norm(f0);
    const S h0 = min(select((d0 < S(1e-5)) | (d1 < S(1e-5)), S(1e-6), S(0.01) * d0 / max(d1, tiny)), span);
    X x1, change;
    for (int i = 0; i < NX; ++i) x1[i] = x[i] + sign * h0 * f0[i];
    const X f1 = Rhs::value(S(t0_) + sign * h0, x1, Vec<S, 0>{}, p);
    for (int i = 0; i < NX; ++i) change[i] = f1[i] - f0[i];
    const S d2 = norm(change) / max(h0, tiny);
    const S steepest = max(d1, d2);
    const S h1 = select(steepest <= S(1e-15), max(S(1e-6), h0 * S(1e-3)),
                        pow(S(0.01) / max(steepest, S(1e-15)), S(0.2)));
    return min(min(S(100.0) * h0, h1), span);
  }

  [[gnu::noinline]] void set_out(std::int64_t begin, std::int64_t end, std::int64_t worlds, const double* y0,
                                 const double* p, Start& start) const {
    for (std::int64_t first = begin; first < end; first += kLanes) {
      X x = X::zero(), f0;
      P q = P::zero();
      for (int lane = 0; lane < kLanes; ++lane) {
        const std::int64_t world = std::min(first + lane, end - 1);
        for (int i = 0; i < NX; ++i) set_lane(x[i], lane, y0[i * worlds + world]);
        for (int i = 0; i < NP; ++i) set_lane(q[i], lane, p[i * worlds + world]);
      }
      store<S>(start.h + (first - begin), initial_step(x, q, f0));
      for (int i = 0; i < NX; ++i) store<S>(start.f0[i] + (first - begin), f0[i]);
    }
  }

  // `world` takes a lane; `place` is where it stands in the chunk.
  void enter(Lanes& l, int lane, long iteration, std::int64_t world, std::int64_t place, std::int64_t worlds,
             const double* y0, const double* p, const Start& start) const {
    for (int i = 0; i < NX; ++i) {
      set_lane(l.x[i], lane, y0[i * worlds + world]);
      set_lane(l.k0[i], lane, start.f0[i][place]);
    }
    for (int i = 0; i < NP; ++i) set_lane(l.p[i], lane, p[i * worlds + world]);
    set_lane(l.t, lane, t0_);
    set_lane(l.h, lane, start.h[place]);
    set_lane(l.log_old, lane, kLogFloor);
    set_lane(l.grow, lane, 10.0);
    l.world[lane] = world;
    l.entered[lane] = iteration;
    set_lane(l.accepted, lane, 0.0);
  }

  [[noreturn]] void fail(const std::string& what, std::int64_t world, double t,
                         const std::string& advice) const {
    throw Error({what, "world " + std::to_string(world) + ", t = " + std::to_string(t), advice},
                Error::Kind::numerics);
  }

  // An attempt has two halves: its stages, here those of group l, and its control, here that of group m: the
  // error, the size of the next step, and where the lanes stand then. Each half is a long chain of dependent
  // operations. Piece by piece in turn, the two chains stand side by side in the processor's window and hide
  // each other's latency, while only one group's stages need registers. Not inlined: one piece of machine
  // code, hence the same bits for every lane of every group.
  [[gnu::noinline]] void stages_beside_control(Lanes& l, Lanes& m, double smallest, Attempt* log,
                                               Mask* arrived, Mask* trouble) const {
    const S rtol(options_.rtol), atol(options_.atol), end_time(t1_), sign(t1_ >= t0_ ? 1.0 : -1.0);
    // Exponents of the controller: see step_control.h with k = 5.
    constexpr double kBeta = 0.04, kExponent = 0.2 - 0.75 * kBeta;
    X k[7];
    k[0] = l.k0;
    const S remaining = sign * (end_time - l.t);
    l.last = l.h * S(1.01) >= remaining;
    l.length = select(l.last, remaining, l.h);
    const S h = sign * l.length;
    Step::template stage<1>(l.t, h, l.x, l.p, k);

    const S err2 = Step::norm_squared(m.error, m.x, m.y, rtol, atol);

    Step::template stage<2>(l.t, h, l.x, l.p, k);

    const Mask accept = err2 <= S(1.0);
    // Not a number: as bad as can be.
    const S bounded = select(err2 <= S(1e8), max(err2, S(1e-20)), S(1e8));
    const S log_err = S(0.5) * rough_log2(bounded);

    Step::template stage<3>(l.t, h, l.x, l.p, k);

    const S gain = S(kExponent) * log_err - select(accept, S(kBeta) * m.log_old, S(0.0));
    const S factor = min(max(S(0.9) * rough_exp2(-gain), S(0.2)), select(accept, m.grow, S(1.0)));

    Step::template stage<4>(l.t, h, l.x, l.p, k);

    const S taken = sign * m.length;
    if (log) *log = {m.t, select(accept, taken, S(0.0)), m.x};
    m.h = m.length * factor;
    m.log_old = select(accept, max(log_err, S(kLogFloor)), m.log_old);
    m.grow = select(accept, S(10.0), S(1.0));
    m.t = select(accept, select(m.last, end_time, m.t + taken), m.t);

    Step::template stage<5>(l.t, h, l.x, l.p, k);

    for (int i = 0; i < NX; ++i) {
      m.x[i] = select(accept, m.y[i], m.x[i]);
      m.k0[i] = select(accept, m.k6[i], m.k0[i]);
    }
    m.accepted += select(accept, S(1.0), S(0.0));
    *trouble = (!accept) & (m.h < S(smallest));
    *arrived = accept & m.last;

    l.y = Step::template stage<6>(l.t, h, l.x, l.p, k);
    l.k6 = k[6];
    l.error = Step::error(h, k);
  }

  long forward(std::int64_t begin, std::int64_t end, std::int64_t worlds, const double* y0, const double* p,
               EnsembleResult& result, Chunk* chunk) const {
    const double smallest =
        16 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t0_), std::abs(t1_));
    Start start;
    set_out(begin, end, worlds, y0, p, start);
    Lanes groups[kGroups];
    std::int64_t next = begin;
    int busy = 0;
    for (Lanes& l : groups) {
      for (int lane = 0; lane < kLanes; ++lane) {
        // More lanes than worlds: the spare ones stand at the end of the first world, and nobody looks.
        const std::int64_t world = next < end ? next : begin;
        enter(l, lane, 0, world, world - begin, worlds, y0, p, start);
        if (next < end) {
          ++busy;
          ++next;
        } else {
          l.world[lane] = -1;
          set_lane(l.t, lane, t1_);
        }
      }
    }
    long attempts = 0;
    Mask arrived, trouble;
    {
      Lanes nobody = groups[0];  // has no attempt to end
      nobody.length = S(0);
      nobody.last = nobody.length > S(0);
      nobody.y = nobody.k6 = nobody.error = X::zero();
      for (int g = kGroups / 2; g < kGroups; ++g) {
        stages_beside_control(groups[g], nobody, smallest, nullptr, &arrived, &trouble);
      }
    }
    for (long iteration = 0; busy > 0; ++iteration) {
      if (chunk) chunk->log.resize(chunk->log.size() + kGroups);
      for (int beside = 0; beside < kGroups; ++beside) {
        const int g = (beside + kGroups / 2) % kGroups;
        Lanes& l = groups[g];
        Attempt* log = chunk ? chunk->log.data() + chunk->log.size() - kGroups + g : nullptr;
        stages_beside_control(groups[beside], l, smallest, log, &arrived, &trouble);
        // Trouble and arrivals are rare: look lane by lane only then.
        if (any(trouble) || (iteration & 255) == 255) check(l, iteration, smallest);
        if (!any(arrived)) continue;
        for (int lane = 0; lane < kLanes; ++lane) {
          const std::int64_t world = l.world[lane];
          if (world < 0 || !lane_of(arrived, lane)) continue;
          for (int i = 0; i < NX; ++i) result.y[i * worlds + world] = costate::lane(l.x[i], lane);
          result.steps[world] = long(costate::lane(l.accepted, lane));
          attempts += iteration + 1 - l.entered[lane];
          if (chunk) chunk->finishes.push_back({std::size_t(iteration * kGroups + g), lane, world});
          if (next < end) {
            enter(l, lane, iteration + 1, next, next - begin, worlds, y0, p, start);
            ++next;
          } else {
            l.world[lane] = -1;  // keeps the last world, standing still at t1
            --busy;
          }
        }
      }
    }
    return attempts;
  }

  static bool lane_of(const Mask& m, int lane) {
    if constexpr (kLanes == 1)
      return m;
    else
      return m[lane];
  }

  void check(const Lanes& l, long iteration, double smallest) const {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (l.world[lane] < 0) continue;
      const double h = costate::lane(l.h, lane), t = costate::lane(l.t, lane);
      if (!(h >= smallest) && t != t1_) {
        fail("the step size fell to " + std::to_string(h), l.world[lane], t,
             "raise rtol or atol; if the state blows up, check the parameters of this world");
      }
      if (iteration + 1 - l.entered[lane] > options_.max_steps) {
        fail("t1 was not reached in " + std::to_string(options_.max_steps) + " steps", l.world[lane], t,
             "raise max_steps, or loosen rtol; stiff problems belong to an implicit method");
      }
    }
  }

  // Lanes on their way back.
  struct Reverse {
    X lambda = X::zero();
    P p = P::zero(), p_bar = P::zero();
    std::int64_t world[kLanes];
  };
  // Not inlined, so that all groups share its bits.
  [[gnu::noinline]] static void undo(const Attempt& a, Reverse& group) {
    group.lambda = Step::step_vjp(a.t, a.h, a.x, group.p, group.lambda, group.p_bar);
  }

  void backward(const Chunk& chunk, std::int64_t worlds, const double* p, EnsembleGradient& out,
                const EnsembleCotangent& cotangent) const {
    Reverse groups[kGroups];
    for (Reverse& group : groups) std::fill(group.world, group.world + kLanes, -1);
    const auto hand_over = [&](const Reverse& group, int lane) {
      const std::int64_t world = group.world[lane];
      if (world < 0) return;
      for (int i = 0; i < NX; ++i) out.y0[i * worlds + world] = costate::lane(group.lambda[i], lane);
      for (int i = 0; i < NP; ++i) out.p[i * worlds + world] = costate::lane(group.p_bar[i], lane);
    };
    std::size_t finish = chunk.finishes.size();
    for (std::size_t first = chunk.log.size(); first >= kGroups;) {
      first -= kGroups;
      for (; finish > 0 && chunk.finishes[finish - 1].after >= first; --finish) {
        const Finish& f = chunk.finishes[finish - 1];
        Reverse& group = groups[f.after - first];
        hand_over(group, f.lane);
        double y[NX], y_bar[NX] = {};
        for (int i = 0; i < NX; ++i) y[i] = out.result.y[i * worlds + f.world];
        cotangent(f.world, y, y_bar);
        for (int i = 0; i < NX; ++i) set_lane(group.lambda[i], f.lane, y_bar[i]);
        for (int i = 0; i < NP; ++i) {
          set_lane(group.p[i], f.lane, p[i * worlds + f.world]);
          set_lane(group.p_bar[i], f.lane, 0.0);
        }
        group.world[f.lane] = f.world;
      }
      for (std::size_t g = 0; g < kGroups; ++g) undo(chunk.log[first + g], groups[g]);
    }
    for (const Reverse& group : groups) {
      for (int lane = 0; lane < kLanes; ++lane) hand_over(group, lane);
    }
  }

  double t0_, t1_;
  EnsembleOptions options_;
};

}  // namespace costate::ode
