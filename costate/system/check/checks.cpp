#include "costate/system/check/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/core/text.h"
#include "costate/system/ranges.h"

namespace costate::check {
namespace {

template <class Real>
constexpr double gate_of(double for_double, double for_float) {
  return sizeof(Real) == 8 ? for_double : for_float;
}

// f(a, b) for every number of two things with x0, controls and parameters of equal shape.
template <class A, class B, class F>
void for_each_number(A& a, const B& b, const F& f) {
  const auto pair = [&](auto&& x, auto&& y) {
    for (std::size_t i = 0; i < x.size(); ++i) f(x[i], y[i]);
  };
  pair(a.x0, b.x0);
  pair(a.controls, b.controls);
  const std::size_t fields = a.parameters.signature().fields(Role::parameter).size();
  for (std::size_t k = 0; k < fields; ++k) pair(a.parameters.values(k), b.parameters.values(k));
}

// Streams of random numbers that do not overlap: one per kind of array.
enum Stream : std::uint32_t { kX, kU, kP, kW };

template <class Real>
void randomise(std::span<Real> to, std::uint64_t seed, Stream stream, std::uint32_t part = 0) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<Real>(2 * uniform(seed, stream, i, part) - 1);
}

}  // namespace

template <class Real>
Arguments<Real> random_direction(const Rollout<Real>& rollout, const Arguments<Real>& at,
                                 std::uint64_t seed) {
  Arguments<Real> d{std::vector<Real>(at.x0.size()), std::vector<Real>(at.controls.size()),
                    at.parameters.zeros()};
  const auto fill = [&](std::span<Real> to, std::span<const Real> around, Stream stream) {
    randomise(to, seed, stream);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] *= std::max(Real(1), std::abs(around[i]));
  };
  fill(d.x0, at.x0, kX);
  fill(d.controls, at.controls, kU);
  const auto active = rollout.system().signature().match(Role::parameter, rollout.options().active);
  for (std::size_t f = 0; f < active.size(); ++f) {
    if (!active[f]) continue;
    // A parameter moves in proportion to itself: a mass of 1e-3 may not become negative.
    const auto around = at.parameters.values(f);
    randomise(d.parameters.values(f), seed, kP, static_cast<std::uint32_t>(f));
    for (std::size_t i = 0; i < around.size(); ++i)
      d.parameters.values(f)[i] *= around[i] != 0 ? std::abs(around[i]) : Real(1);
  }
  return d;
}

template <class Real>
double inner(const Gradient<Real>& gradient, const Arguments<Real>& direction) {
  double sum = 0;
  for_each_number(gradient, direction, [&](Real g, Real d) { sum += double(g) * double(d); });
  return sum;
}

template <class Real>
Arguments<Real> moved(const Arguments<Real>& at, const Arguments<Real>& direction, double h) {
  Arguments<Real> result = at;
  for_each_number(result, direction,
                  [&](Real& x, Real d) { x = static_cast<Real>(double(x) + h * double(d)); });
  return result;
}

namespace {

template <class Real>
double dot(const std::vector<Real>& a, const std::vector<Real>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double(a[i]) * double(b[i]);
  return sum;
}

// How far <Jv, w> moves when every number of the start and of v changes by one rounding.
template <class Real>
double rounding(Rollout<Real>& rollout, const Arguments<Real>& at, const Arguments<Real>& v,
                const std::vector<Real>& w, double jv_w, std::uint64_t seed) {
  constexpr std::uint32_t kTimes = 8;
  const auto nudge = [&](std::vector<Real>& to, std::uint32_t part) {
    std::vector<Real> side(to.size());
    randomise<Real>(side, seed, kX, part);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const Real far = std::numeric_limits<Real>::infinity();
      if (to[i] != 0) to[i] = std::nextafter(to[i], side[i] > 0 ? far : -far);
    }
  };
  double most = 0;
  for (std::uint32_t k = 0; k < kTimes; ++k) {
    Arguments<Real> beside = at, along = v;
    nudge(beside.x0, 2 * k + 1);
    nudge(along.x0, 2 * k + 2);
    most = std::max(most, std::abs(dot(rollout.jvp(beside, along).final_state_dot, w) - jv_w));
  }
  return most;
}

}  // namespace

template <class Real>
Result dot_product(Rollout<Real>& rollout, const Arguments<Real>& at, const Options& options) {
  const double gate = options.dot_gate > 0 ? options.dot_gate : gate_of<Real>(1e-13, 1e-5);
  Result result{"dot product <Jv, w> = <v, J'w>", 0, gate, {}};
  double jump = 0;
  const Signature& signature = rollout.system().signature();
  const std::size_t size = signature.states() * rollout.options().worlds;
  for (int trial = 0; trial < options.directions; ++trial) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(trial);
    const Arguments<Real> v = random_direction(rollout, at, seed);
    std::vector<Real> w(size);
    randomise<Real>(w, seed, kW);
    const std::vector<Real> jv = rollout.jvp(at, v).final_state_dot;
    const double jv_w = dot(jv, w), scale = std::sqrt(dot(jv, jv) * dot(w, w));
    const auto objective = loss::cotangents<Real>(signature, {rollout.options().steps}, {w});
    const double v_jw = inner(rollout.value_and_gradient(at, *objective), v);
    const double unit = scale > 0 ? 1 / scale : 1, error = std::abs(jv_w - v_jw) * unit;
    const double moved = error > gate ? rounding(rollout, at, v, w, jv_w, seed) * unit : 0;
    if (error > gate && error <= moved) {
      jump = std::max(jump, moved);
    } else if (!(error <= result.error)) {
      result.error = error;
      if (std::isnan(error)) break;
    }
  }
  if (jump > 0 && result.passed()) {
    result.skipped = true;
    result.detail = "not comparable: <Jv, w> jumps by " + scientific(jump, 1) +
                    " when the start changes by a rounding (a tie of contacts, or chaos)";
  }
  return result;
}

namespace {

// Lines through `at` in random directions. All that is given must outlive them.
template <class Real>
std::vector<Line> lines_through(Rollout<Real>& rollout, const Arguments<Real>& at,
                                const Objective<Real>& objective, const Options& options) {
  const Gradient<Real> gradient = rollout.value_and_gradient(at, objective);
  const std::vector<std::int64_t> pattern = gradient.report.mode_switches;
  std::vector<Line> lines;
  for (int trial = 0; trial < options.directions; ++trial) {
    const Arguments<Real> d = random_direction(rollout, at, options.seed + std::uint64_t(trial));
    Line line{"direction " + std::to_string(trial + 1), gradient.value, inner(gradient, d)};
    // Of the terms that make up <g, d>, so that a cancelling direction is not an alarm.
    double square = 0;
    for_each_number(gradient, d, [&](Real g, Real x) { square += std::pow(double(g) * double(x), 2); });
    line.norm = std::max(std::sqrt(square), std::abs(line.slope));
    line.loss = [&rollout, &at, &objective, d](double h) {
      return rollout.value(moved(at, d, h), objective);
    };
    if (!pattern.empty())
      line.same = [&rollout, &at, &objective, d, pattern](double h) {
        return rollout.value_and_gradient(moved(at, d, h), objective).report.mode_switches == pattern;
      };
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<Line> regardless_of_contacts(std::vector<Line> lines) {
  for (Line& line : lines) line.same = {};
  return lines;
}

template <class Real>
StencilOutcome stencil_at(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
                          const Options& options, const Stencil& how) {
  const std::vector<Line> lines = lines_through(rollout, at, objective, options);
  // To ask whether contacts change costs a gradient per point: only where the stencil fails without.
  StencilOutcome outcome = compare_stencil(regardless_of_contacts(lines), how);
  if (!outcome.result.passed() && lines.front().same) outcome = compare_stencil(lines, how);
  return outcome;
}

// The worst of all directions; `kink` is filled in where the one that fails has one.
template <class Real>
Result taylor_at(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
                 const Options& options, const Stencil& how, std::optional<Kink>& kink) {
  constexpr double kGate = 0.05;
  Result worst{.name = {}, .error = -1, .gate = 0, .detail = {}};
  for (const Line& line : lines_through(rollout, at, objective, options)) {
    Result one = compare_taylor(regardless_of_contacts({line}).front(), how, kGate);
    if (!one.passed() && line.same) one = compare_taylor(line, how, kGate);
    const bool worse = worst.skipped == one.skipped ? !(one.error <= worst.error) : worst.skipped;
    if (!worst.name.empty() && !worse) continue;
    worst = one;
    kink =
        one.passed() ? std::nullopt : kink_of(line, {.step = options.step, .gate = 1e-6, .noise = how.noise});
  }
  return worst;
}

// Points a little off one at which the loss has two slopes, such as a control of zero whose range begins
// there. `measure` is asked until a check passes; `failed` otherwise.
template <class Real, class Measure>
Result step_off(Rollout<Real>& rollout, const Arguments<Real>& at, const Options& options, const Kink& kink,
                Result failed, const Measure& measure) {
  const AcrossRanges across;
  const Arguments<Real> aside = random_direction(rollout, at, options.seed + 1000);
  for (const double distance : {1e-3, 3e-3, 1e-2}) {
    Result there = measure(moved(at, aside, distance));
    if (!there.passed()) continue;
    there.detail += ", " + number(distance, 2) + " of the scales off the start: " + kink.to_text();
    return there;
  }
  failed.detail += "; the loss has no derivative here: " + kink.to_text();
  return failed;
}

}  // namespace

template <class Real>
Result stencil(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
               const Options& options) {
  constexpr double kRounding = 8 * std::numeric_limits<Real>::epsilon();
  const double gate = options.gate > 0 ? options.gate : gate_of<Real>(1e-9, 1e-2);
  const Stencil how{.step = options.step, .gate = gate, .noise = kRounding};
  const auto outcome = stencil_at(rollout, at, objective, options, how);
  Result result = outcome.result;
  if (outcome.kink && !result.passed())
    result = step_off(rollout, at, options, *outcome.kink, result, [&](const Arguments<Real>& there) {
      return stencil_at(rollout, there, objective, options, how).result;
    });
  result.name = "six-point stencil";
  return result;
}

template <class Real>
Result taylor(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
              const Options& options) {
  constexpr double kNoise = 64 * std::numeric_limits<Real>::epsilon();
  const Stencil how{.step = options.step / 64, .noise = kNoise};
  std::optional<Kink> kink, other;
  Result result = taylor_at(rollout, at, objective, options, how, kink);
  if (kink)
    result = step_off(rollout, at, options, *kink, result, [&](const Arguments<Real>& there) {
      return taylor_at(rollout, there, objective, options, how, other);
    });
  result.name = "Taylor remainder";
  return result;
}

template <class Real>
TimeStepChange time_step_change(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                                const Arguments<Real>& at, const Objective<Real>& objective) {
  const Field& dt = system->signature().find(Role::parameter, "dt");
  if (objective.next(0, options.steps) != options.steps) {
    throw Error("the time-step check needs an objective of the final state only");
  }
  // dt itself is left out: it means something else after halving.
  std::vector<std::string> active;
  const auto chosen = system->signature().match(Role::parameter, options.active);
  for (std::size_t f = 0; f < chosen.size(); ++f) {
    const Field& field = system->signature().fields(Role::parameter)[f];
    if (chosen[f] && field.name != dt.name) active.push_back(field.name);
  }
  options.active = active;
  options.spot_check = options.time_step_check = false;
  Rollout<Real> coarse(system, options);
  const Gradient<Real> g1 = coarse.value_and_gradient(at, objective);
  options.steps *= 2;
  options.hold *= 2;
  Arguments<Real> half = at;
  for (Real& value : half.parameters["dt"]) value /= 2;
  Rollout<Real> fine(system, options);
  const Gradient<Real> g2 = fine.value_and_gradient(half, objective);

  double difference = 0, scale = 0;
  for_each_number(g1, Arguments<Real>{g2.x0, g2.controls, g2.parameters}, [&](Real a, Real b) {
    difference += (double(a) - double(b)) * (double(a) - double(b));
    scale += double(b) * double(b);
  });
  return {scale > 0 ? std::sqrt(difference / scale) : std::sqrt(difference),
          std::abs(g1.value - g2.value) / std::max(std::abs(g2.value), 1e-300)};
}

template <class Real>
Result time_step(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                 const Arguments<Real>& at, const Objective<Real>& objective) {
  const TimeStepChange change = time_step_change(std::move(system), std::move(options), at, objective);
  Result result{"gradient at dt against dt/2", change.gradient, 0.05, {}};
  result.detail = "loss changes by " + scientific(change.loss);
  if (!result.passed() && change.loss < 0.5 * result.error) {
    result.detail +=
        ": the gradient is discretisation-dominated; reduce dt, or split steps at contact onset (onset = "
        "split)";
  }
  return result;
}

#define COSTATE_INSTANTIATE(Real)                                                                          \
  template Arguments<Real> random_direction(const Rollout<Real>&, const Arguments<Real>&, std::uint64_t);  \
  template double inner(const Gradient<Real>&, const Arguments<Real>&);                                    \
  template Arguments<Real> moved(const Arguments<Real>&, const Arguments<Real>&, double);                  \
  template Result dot_product(Rollout<Real>&, const Arguments<Real>&, const Options&);                     \
  template Result stencil(Rollout<Real>&, const Arguments<Real>&, const Objective<Real>&, const Options&); \
  template Result taylor(Rollout<Real>&, const Arguments<Real>&, const Objective<Real>&, const Options&);  \
  template TimeStepChange time_step_change(std::shared_ptr<const System<Real>>, RolloutOptions,            \
                                           const Arguments<Real>&, const Objective<Real>&);                \
  template Result time_step(std::shared_ptr<const System<Real>>, RolloutOptions, const Arguments<Real>&,   \
                            const Objective<Real>&);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate::check
