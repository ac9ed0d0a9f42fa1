#include "tests/system/contract.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/system/ranges.h"
#include "tests/expect_error.h"
#include "tests/system/entry_points.h"

namespace costate::test {

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

template <class Real>
bool same_bits(const Parameters<Real>& a, const Parameters<Real>& b) {
  for (std::size_t f = 0; f < a.signature().fields(Role::parameter).size(); ++f) {
    const auto x = a.values(f), y = b.values(f);
    if (!same_bits(std::vector<Real>(x.begin(), x.end()), std::vector<Real>(y.begin(), y.end())))
      return false;
  }
  return true;
}

template <class Real>
void expect_same_bits(const Gradient<Real>& a, const Gradient<Real>& b, const std::string& what) {
  EXPECT_EQ(a.value, b.value) << what;
  EXPECT_TRUE(same_bits(a.x0, b.x0)) << what << ", with respect to x0";
  EXPECT_TRUE(same_bits(a.controls, b.controls)) << what << ", with respect to the controls";
  const auto& fields = a.parameters.signature().fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto x = a.parameters.values(f), y = b.parameters.values(f);
    EXPECT_TRUE(same_bits(std::vector<Real>(x.begin(), x.end()), std::vector<Real>(y.begin(), y.end())))
        << what << ", with respect to " << fields[f].name;
  }
}

template <class Real>
std::function<Arguments<Real>(const Rollout<Real>&, unsigned)> starting_at(const Arguments<Real>& at) {
  return [at](const Rollout<Real>& rollout, unsigned) {
    const Signature& signature = rollout.system().signature();
    Arguments<Real> here = at;
    if (rollout.options().worlds == 1) {  // the first of them
      here.x0.resize(std::size_t(signature.states()));
      const auto& fields = signature.fields(Role::parameter);
      for (std::size_t f = 0; f < fields.size(); ++f) {
        const auto values = at.parameters.values(f).first(std::size_t(fields[f].size));
        here.parameters.set(f, {values.begin(), values.end()});
      }
    }
    here.controls.resize(std::size_t(rollout.knots() * signature.controls()));
    for (std::size_t i = 0; i < here.controls.size(); ++i)
      here.controls[i] = at.controls[i % at.controls.size()];
    return here;
  };
}

namespace {

template <class Real>
Arguments<Real> normal_numbers(const Rollout<Real>& rollout, unsigned seed) {
  Arguments<Real> at = rollout.arguments();
  for (std::size_t i = 0; i < at.x0.size(); ++i) at.x0[i] = static_cast<Real>(0.5 * normal(seed, 0, i));
  for (std::size_t i = 0; i < at.controls.size(); ++i)
    at.controls[i] = static_cast<Real>(0.3 * normal(seed, 1, i));
  return at;
}

template <class Real>
ObjectivePtr<Real> squares_at_the_end(const Signature& signature) {
  std::vector<ObjectivePtr<Real>> terms;
  for (const Field& field : signature.fields(Role::state))
    terms.push_back(loss::final<Real>(signature, field.name, {}));
  if (signature.controls() > 0) terms.push_back(loss::effort<Real>(signature, 0.1));
  return loss::sum<Real>(terms);
}

// The checks of one system. Each is a function of its own; run() is the list.
template <class Real>
class Checks {
 public:
  Checks(std::shared_ptr<const System<Real>> system, const Contract<Real>& contract)
      : system_(std::move(system)), c_(contract), entries_(*system_), one_run_(system_, kRunOptions) {
    if (!c_.states) c_.states = normal_numbers<Real>;
    if (!c_.objective) c_.objective = squares_at_the_end<Real>(system_->signature());
  }

  void run() {
    expect_ranges();
    const AcrossRanges across;  // numbers are moved to both sides of where they are
    expect_pure();
    expect_runs_are_steps();
    expect_nulls_mean_nothing();
    expect_lanes_are_independent();
    Rollout<Real> one(system_, {.steps = 1});
    for (const unsigned seed : seeds()) {
      expect_transpose_matches_dual<Real>(*system_, c_.states(one, seed), c_.transpose_gate);
    }
    expect_deterministic();
    expect_same_forward();
    expect_worlds_are_independent();
    expect_dot_products();
    if (c_.smooth && sizeof(Real) == 8) {
      expect_differences();
      if (system_->capabilities().second_order) expect_second_order();
    }
  }

 private:
  // Of states that differ.
  std::vector<unsigned> seeds() {
    std::vector<unsigned> result = {1};
    const auto first = c_.states(one_run_, 1).x0;
    for (unsigned seed = 2; seed <= c_.seeds; ++seed)
      if (!same_bits(c_.states(one_run_, seed).x0, first)) result.push_back(seed);
    return result;
  }

  // A run refuses each number that a parameter must not have, and says so.
  void expect_ranges() {
    const Arguments<Real> at = c_.states(one_run_, 1);
    for (const std::size_t f : system_->signature().limited()) {
      const Field& field = system_->signature().fields(Role::parameter)[f];
      for (const ParameterRange& range : field.ranges) {
        Arguments<Real> wrong = at;
        const std::span<Real> numbers = wrong.parameters.values(f);
        if (numbers.empty()) continue;
        if (range.pairs)
          numbers[0] = numbers[1] + 1;
        else
          numbers[0] = Real(std::isfinite(range.low) ? range.low - (range.open ? 0 : 1) : range.high);
        expect_error([&] { return one_run_.simulate(wrong); }, "'" + field.name);
      }
    }
  }

  // World number w: valid arguments, moved a little so that no two have the same numbers; world 0 is not
  // moved.
  World<Real> world(unsigned w) {
    Arguments<Real> at = c_.states(one_run_, w + 1);
    if (w > 0) at = check::moved(at, check::random_direction(one_run_, at, 100 + w), 1e-3);
    return {std::move(at), 1000 + w};
  }
  std::vector<World<Real>> worlds(unsigned first) {
    std::vector<World<Real>> result;
    for (int l = 0; l < system_->lanes(); ++l) result.push_back(world(first + unsigned(l)));
    return result;
  }

  void expect_pure() {
    set_thread_count(1);  // threads that start late allocate for themselves
    expect_pure_on_one_thread();
    set_thread_count(0);
  }
  void expect_pure_on_one_thread() {
    auto here = entries_.load(worlds(0));
    const auto elsewhere = entries_.load(worlds(unsigned(system_->lanes())));
    const auto otherwise = entries_.load(worlds(0), &elsewhere);
    const auto before = here.copy();
    for (const Entry entry : entries_.offered()) {
      const auto work = system_->make_workspace();
      std::int64_t allocations = 0, later = 0;
      const auto first = entries_.call(entry, here, *work);
      EXPECT_TRUE(entries_.all_written(entry, first));
      const auto again = entries_.call(entry, here, *work, &allocations);
      EXPECT_TRUE(entries_.same_bits(entry, again, first)) << "in a second call";
      for (const Entry other : entries_.offered()) entries_.call(other, elsewhere, *work);
      const auto after = entries_.call(entry, here, *work, &later);
      EXPECT_TRUE(entries_.same_bits(entry, after, first)) << "after the workspace has served another state";
      if (entry == Entry::step_vjp || entry == Entry::reverse) {
        EXPECT_TRUE(entries_.same_bits(entry, entries_.call(entry, otherwise, *work), first))
            << "recorded over the tape of another state";
      }
      EXPECT_EQ(allocations, 0) << to_string(entry) << " allocated memory";
      EXPECT_EQ(later, 0) << to_string(entry) << " allocated memory after another state";
    }
    EXPECT_TRUE(here.intact()) << "an entry point wrote beyond the end of an input";
    const auto now = here.copy();
    static const char* const names[] = {"the state",
                                        "the controls",
                                        "the parameters",
                                        "the tangent of the state",
                                        "the tangent of the controls",
                                        "the tangent of the parameters",
                                        "the cotangent",
                                        "the rate of the cotangent",
                                        "the recorded states",
                                        "the tapes of its steps",
                                        "the tape of the run"};
    for (std::size_t i = 0; i < now.size(); ++i)
      EXPECT_TRUE(same_bits(now[i], before[i])) << "an entry point wrote to its input: " << names[i];
  }

  void expect_runs_are_steps() {
    const auto in = entries_.load(worlds(0));
    const auto work = system_->make_workspace();
    const auto step = entries_.call(Entry::step, in, *work);
    const auto run = entries_.call(Entry::advance, in, *work);
    EXPECT_TRUE(entries_.same_bits(Entry::advance, run, entries_.advance_by_steps(in, *work)))
        << "in a run and step by step";
    const auto can = system_->capabilities();
    if (can.jvp) {
      const auto jvp = entries_.call(Entry::step_jvp, in, *work);
      EXPECT_TRUE(c_.value_gate > 0 ? entries_.close(Entry::step_jvp, {jvp[0]}, {step[0]}, c_.value_gate)
                                    : entries_.same_bits(Entry::step_jvp, {jvp[0]}, {step[0]}))
          << "against step";
    }
    if (can.vjp) {
      const auto in_run = entries_.call(Entry::reverse, in, *work);
      const auto by_steps = entries_.reverse_by_steps(in, *work);
      EXPECT_TRUE(c_.run_gate > 0 ? entries_.close(Entry::reverse, in_run, by_steps, c_.run_gate)
                                  : entries_.same_bits(Entry::reverse, in_run, by_steps))
          << "in a run and step by step";
    }
    if (can.vjp && can.second_order) {
      EXPECT_TRUE(entries_.close(Entry::step_hvp, entries_.call(Entry::step_hvp, in, *work),
                                 entries_.call(Entry::step_vjp, in, *work), c_.transpose_gate))
          << "against step_vjp";
    }
    if (can.reversible) {
      EXPECT_TRUE(entries_.close(Entry::step_back, entries_.call(Entry::step_back, in, *work),
                                 {{"state", Role::state, in.x.numbers()}}, c_.transpose_gate))
          << "against the state before the step";
    }
  }

  // What is not wanted changes nothing else, and cotangents of controls and parameters are added to what is
  // there.
  void expect_nulls_mean_nothing() {
    const auto in = entries_.load(worlds(0));
    const auto work = system_->make_workspace();
    const auto can = system_->capabilities();
    const double gate = c_.transpose_gate;
    if (can.vjp) {
      const auto all = entries_.vjp(in, *work, true, true, Real(0));
      EXPECT_TRUE(
          entries_.same_bits(Entry::step_vjp, entries_.vjp(in, *work, true, true, Real(0), false), all))
          << "without a tape";
      const auto bare = entries_.vjp(in, *work, false, false, Real(0));
      EXPECT_TRUE(entries_.close(Entry::step_vjp, {bare[0]}, {all[0]}, gate)) << "without u and p";
      auto added = entries_.vjp(in, *work, true, true, Real(2));
      for (std::size_t part : {1u, 2u})
        for (std::size_t i = 0; i < added[part].numbers.size(); ++i) added[part].numbers[i] -= Real(2);
      EXPECT_TRUE(entries_.close(Entry::step_vjp, added, all, gate)) << "added to numbers that were there";
      if (entries_.tape_replaces_state()) {
        EXPECT_TRUE(entries_.close(Entry::step_vjp, entries_.vjp_from_tape(in, *work), all, gate))
            << "from the tape instead of the state";
      }
    }
    if (can.jvp) {
      EXPECT_TRUE(entries_.close(Entry::step_jvp, entries_.jvp_of_state_alone(in, *work, true),
                                 entries_.jvp_of_state_alone(in, *work, false), gate))
          << "with nulls for zero tangents";
    }
  }

  void expect_lanes_are_independent() {
    const int lanes = system_->lanes();
    if (lanes == 1) return;
    const auto all = worlds(0);
    const auto together = entries_.load(all);
    const auto work = system_->make_workspace();
    for (int l = 0; l < lanes; l += std::max(1, lanes / 8)) {
      const auto alone = entries_.load({all[std::size_t(l)]});
      for (const Entry entry : entries_.offered()) {
        const auto a = entries_.call(entry, alone, *work);
        const auto b = entries_.call(entry, together, *work);
        EXPECT_TRUE(entries_.same_lane(entry, a, b, l)) << "alone and among neighbours";
      }
    }
  }

  Rollout<Real> rollout(std::int64_t steps, std::int64_t number_of_worlds, Checkpoints schedule = store_all(),
                        std::vector<std::string> active = {"**"}) {
    return Rollout<Real>(system_, {.steps = steps,
                                   .worlds = number_of_worlds,
                                   .checkpoints = schedule,
                                   .hold = c_.hold,
                                   .active = std::move(active)});
  }

  void expect_deterministic() {
    Rollout<Real> reference = rollout(c_.steps, c_.worlds);
    const Arguments<Real> at = c_.states(reference, 1), direction = check::random_direction(reference, at, 9),
                          other = check::moved(c_.states(reference, 2), direction, 1e-3);
    const Gradient<Real> expected = reference.value_and_gradient(at, *c_.objective);
    const Tangent<Real> tangent = reference.jvp(at, direction);
    for (const Checkpoints& schedule :
         {store_all(), segments(), segments(7), binomial(1), binomial(4), binomial(1000)}) {
      for (const int threads : {1, 2, 3, 7}) {
        set_thread_count(threads);
        Rollout<Real> again = rollout(c_.steps, c_.worlds, schedule);
        const std::string what = schedule.name() + ", " + std::to_string(threads) + " threads";
        expect_same_bits(again.value_and_gradient(at, *c_.objective), expected, what);
        again.value(other, *c_.objective);
        expect_same_bits(again.value_and_gradient(at, *c_.objective), expected,
                         what + ", after another state");
        if (schedule.kind == Checkpoints::Kind::store_all) {
          const Tangent<Real> t = again.jvp(at, direction);
          EXPECT_TRUE(same_bits(t.final_state, tangent.final_state)) << "state of jvp, " << what;
          EXPECT_TRUE(same_bits(t.final_state_dot, tangent.final_state_dot)) << "tangent of jvp, " << what;
        }
      }
    }
    set_thread_count(0);
    // forward() then backward() is the same computation, also after another state in between.
    reference.value_and_gradient(other, *c_.objective);
    reference.forward(at);
    Gradient<Real> later = reference.backward(*c_.objective);
    later.value = expected.value;  // backward() alone has none
    expect_same_bits(later, expected, "forward, then backward");
  }

  // States do not depend on what is kept or differentiated.
  void expect_same_forward() {
    Rollout<Real> with = rollout(c_.steps, c_.worlds),
                  without = rollout(c_.steps, c_.worlds, store_all(), {});
    const Arguments<Real> at = c_.states(with, 1);
    const auto end = with.simulate(at).final_state;
    EXPECT_TRUE(same_bits(end, with.forward(at).final_state)) << "simulate and forward";
    EXPECT_TRUE(same_bits(end, without.forward(at).final_state)) << "with and without active parameters";
    const double value = with.value(at, *c_.objective);
    EXPECT_EQ(value, with.value_and_gradient(at, *c_.objective).value) << "value and value_and_gradient";
    EXPECT_EQ(value, without.value_and_gradient(at, *c_.objective).value)
        << "value with and without active parameters";
  }

  // A block and a bit of worlds, with shared parameters and with their own, against each world alone.
  void expect_worlds_are_independent() {
    const std::int64_t count = std::min<std::int64_t>(system_->lanes() + 1, 9);
    const std::int64_t steps = std::min<std::int64_t>(c_.steps, 10);
    Rollout<Real> many = rollout(steps, count), one = rollout(steps, 1);
    std::vector<Arguments<Real>> alone;
    for (unsigned w = 0; w < unsigned(count); ++w) {
      const Arguments<Real> at = c_.states(one, w + 1);
      alone.push_back(w == 0 ? at : check::moved(at, check::random_direction(one, at, 100 + w), 1e-3));
    }
    const auto& fields = system_->signature().fields(Role::parameter);
    for (const bool own : {false, true}) {
      Arguments<Real> all = many.arguments();
      all.x0.clear();
      all.controls.clear();
      std::vector<std::vector<Real>> parameters(fields.size());
      for (Arguments<Real>& at : alone) {
        if (!own) at.parameters = alone.front().parameters;
        all.x0.insert(all.x0.end(), at.x0.begin(), at.x0.end());
        all.controls.insert(all.controls.end(), at.controls.begin(), at.controls.end());
      }
      for (std::size_t f = 0; f < fields.size(); ++f) {
        for (std::size_t w = 0; w < (own ? alone.size() : 1); ++w) {
          auto values = alone[w].parameters.values(f);
          if (own)
            for (Real& value : values) value *= Real(1 + 1e-3 * double(w));
          parameters[f].insert(parameters[f].end(), values.begin(), values.end());
        }
        all.parameters.set(f, parameters[f]);
      }
      const auto objective = squares_at_the_end<Real>(system_->signature());
      const Gradient<Real> together = many.value_and_gradient(all, *objective);
      // Another world has another noise: only the first is the same world alone.
      const std::size_t comparable = draws_noise(*system_, alone.front()) ? 1 : alone.size();
      for (std::size_t w = 0; w < comparable; ++w) {
        const Gradient<Real> g = one.value_and_gradient(alone[w], *objective);
        const std::string what = "world " + std::to_string(w) + " of " + std::to_string(count) +
                                 (own ? " with its own parameters" : "") + ", alone and among the others";
        EXPECT_EQ(together.values[w], g.value) << what;
        const auto part = [&](const std::vector<Real>& numbers, std::size_t size) {
          return std::vector<Real>(numbers.begin() + std::ptrdiff_t(w * size),
                                   numbers.begin() + std::ptrdiff_t((w + 1) * size));
        };
        EXPECT_TRUE(same_bits(part(together.x0, g.x0.size()), g.x0)) << what << ", with respect to x0";
        EXPECT_TRUE(same_bits(part(together.controls, g.controls.size()), g.controls))
            << what << ", with respect to the controls";
        for (std::size_t f = 0; own && f < fields.size(); ++f) {
          const auto a = together.parameters.values(f), b = g.parameters.values(f);
          EXPECT_TRUE(std::equal(b.begin(), b.end(), a.begin() + std::ptrdiff_t(w * b.size())))
              << what << ", with respect to " << fields[f].name;
        }
      }
    }
  }

  void expect_dot_products() {
    if (!system_->capabilities().jvp) return;
    const auto expect = [&](Rollout<Real>& over, unsigned seed, int directions) {
      const auto result = check::dot_product(
          over, c_.states(over, seed), {.seed = seed, .directions = directions, .dot_gate = c_.dot_gate});
      EXPECT_TRUE(result.passed() && !result.skipped)
          << result.to_text() << " over " << over.options().steps << " steps, state " << seed;
    };
    Rollout<Real> step = rollout(1, 1), short_run = rollout(c_.steps, c_.worlds);
    for (const unsigned seed : seeds()) expect(step, seed, 20), expect(short_run, seed, 8);
    if (c_.long_steps > 0) {
      Rollout<Real> long_run = rollout(c_.long_steps, 1, segments());
      expect(long_run, 1, 2);
    }
  }

  void expect_differences() {
    Rollout<Real> over = rollout(c_.steps, c_.worlds);
    const Arguments<Real> at = c_.states(over, 1);
    const auto stencil =
        check::stencil(over, at, *c_.objective,
                       {.seed = 3, .directions = 3, .step = c_.stencil_step, .gate = c_.stencil_gate});
    EXPECT_TRUE(stencil.passed() && !stencil.skipped) << stencil.to_text();
    if (c_.taylor_step == 0) return;
    const auto taylor = check::taylor(over, at, *c_.objective, {.seed = 4, .step = c_.taylor_step});
    EXPECT_TRUE(taylor.passed() && !taylor.skipped) << taylor.to_text();
  }

  // Hessian-vector product against a six-point stencil of gradients, and against itself mirrored.
  void expect_second_order() {
    Rollout<Real> over = rollout(c_.steps, c_.worlds);
    const Arguments<Real> at = c_.states(over, 1), d = check::random_direction(over, at, 5),
                          e = check::random_direction(over, at, 6);
    const double h = c_.second_order_step;
    const auto slope = [&](int i) {
      return check::inner(over.value_and_gradient(check::moved(at, d, i * h), *c_.objective), e);
    };
    const double difference =
        (45 * (slope(1) - slope(-1)) - 9 * (slope(2) - slope(-2)) + (slope(3) - slope(-3))) / (60 * h);
    const double exact = check::inner(over.hessian_vector(at, d, *c_.objective).product, e);
    EXPECT_NEAR(exact, difference, c_.second_order_gate * std::max(1.0, std::abs(difference)))
        << "hessian_vector against differences of gradients";
    const double mirrored = check::inner(over.hessian_vector(at, e, *c_.objective).product, d);
    EXPECT_NEAR(exact, mirrored, 1e-11 * std::max(1.0, std::abs(exact))) << "<e, H d> against <d, H e>";
  }

  std::shared_ptr<const System<Real>> system_;
  Contract<Real> c_;
  EntryPoints<Real> entries_;
  Rollout<Real> one_run_;
};

}  // namespace

template <class Real>
void expect_contract(std::shared_ptr<const System<Real>> system, const Contract<Real>& contract) {
  SCOPED_TRACE(contract.name + (sizeof(Real) == 8 ? " in double" : " in float"));
  Checks<Real>(std::move(system), contract).run();
}

#define COSTATE_INSTANTIATE(Real)                                                                   \
  template bool same_bits(const std::vector<Real>&, const std::vector<Real>&);                      \
  template bool same_bits(const Parameters<Real>&, const Parameters<Real>&);                        \
  template void expect_same_bits(const Gradient<Real>&, const Gradient<Real>&, const std::string&); \
  template std::function<Arguments<Real>(const Rollout<Real>&, unsigned)> starting_at(              \
      const Arguments<Real>&);                                                                      \
  template void expect_contract(std::shared_ptr<const System<Real>>, const Contract<Real>&);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate::test
