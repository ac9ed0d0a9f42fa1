#include "tests/system/entry_points.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "costate/core/philox.h"
#include "tests/allocation_guard.h"

namespace costate::test {
namespace {

constexpr std::int64_t kGuard = 16;  // numbers behind every array

template <class Real>
constexpr Real kGuardValue = Real(-7.25e11);

template <class Real>
bool same(Real a, Real b) {
  return std::memcmp(&a, &b, sizeof(Real)) == 0;
}

template <class Real>
Real direction(std::uint64_t seed, std::uint32_t stream, std::int64_t i, Real scale) {
  return static_cast<Real>(2 * uniform(seed, stream, std::uint64_t(i)) - 1) * scale;
}

}  // namespace

const char* to_string(Entry entry) {
  static const char* const names[] = {"step",      "step_jvp", "step_vjp", "step_hvp",
                                      "step_back", "energy",   "advance",  "reverse"};
  return names[static_cast<int>(entry)];
}

template <class Real>
void Guarded<Real>::assign(std::int64_t size, Real value) {
  size_ = size;
  buffer_.reserve(size + kGuard);
  std::fill_n(buffer_.data(), size, value);
  std::fill_n(buffer_.data() + size, kGuard, kGuardValue<Real>);
}
template <class Real>
bool Guarded<Real>::intact() const {
  return std::all_of(buffer_.data() + size_, buffer_.data() + size_ + kGuard,
                     [](Real x) { return same(x, kGuardValue<Real>); });
}

template <class Real>
bool EntryPoints<Real>::Inputs::intact() const {
  for (const auto* part :
       {&x, &u, &p, &x_dot, &u_dot, &p_dot, &y_bar, &y_bar_dot, &states, &step_tapes, &run_tape})
    if (!part->intact()) return false;
  return true;
}
template <class Real>
std::vector<std::vector<Real>> EntryPoints<Real>::Inputs::copy() {
  return {x.numbers(),      u.numbers(),          p.numbers(),       x_dot.numbers(),
          u_dot.numbers(),  p_dot.numbers(),      y_bar.numbers(),   y_bar_dot.numbers(),
          states.numbers(), step_tapes.numbers(), run_tape.numbers()};
}

namespace {

template <class Real>
Activity all_of(const System<Real>& system) {
  return {std::vector<bool>(system.signature().fields(Role::parameter).size(), true), true};
}

}  // namespace

template <class Real>
EntryPoints<Real>::EntryPoints(const System<Real>& system)
    : system_(system),
      everything_(all_of(system)),
      beside_(system.tape(everything_, {})),
      alone_(system.tape(everything_, {.keeps_states = false})),
      n_(system.state_size()),
      nu_(system.control_size()),
      np_(system.parameter_size()),
      tape_n_(std::max(beside_.size, alone_.size) * system.lanes()),
      lanes_(system.lanes()),
      has_tape_(beside_.size > 0),
      tape_replaces_state_(alone_.instead_of_states) {
  const auto can = system.capabilities();
  offered_ = {Entry::step, Entry::advance};
  if (can.jvp) offered_.push_back(Entry::step_jvp);
  if (can.vjp) offered_.insert(offered_.end(), {Entry::step_vjp, Entry::reverse});
  if (can.second_order) offered_.push_back(Entry::step_hvp);
  if (can.reversible) offered_.push_back(Entry::step_back);
  if (can.energy) offered_.push_back(Entry::energy);
}

template <class Real>
auto EntryPoints<Real>::load(const std::vector<World<Real>>& worlds, const Inputs* before) const -> Inputs {
  Inputs in;
  for (auto* part : {&in.x, &in.x_dot, &in.y_bar, &in.y_bar_dot}) part->assign(n_, Real(0));
  for (auto* part : {&in.u, &in.u_dot}) part->assign(kKnots * nu_, Real(0));
  for (auto* part : {&in.p, &in.p_dot}) part->assign(np_, Real(0));
  const auto& fields = system_.signature().fields(Role::parameter);
  for (int l = 0; l < lanes_; ++l) {
    const World<Real>& world = worlds[std::min<std::size_t>(std::size_t(l), worlds.size() - 1)];
    const auto put = [&](Guarded<Real>& value, Guarded<Real>& dot, std::int64_t i, Real number, Real scale,
                         std::uint32_t stream) {
      value.data()[i * lanes_ + l] = number;
      dot.data()[i * lanes_ + l] = direction(world.seed, stream, i, scale);
    };
    for (std::int64_t i = 0; i < system_.signature().states(); ++i) {
      const Real x = world.at.x0[std::size_t(i)];
      put(in.x, in.x_dot, i, x, std::max(Real(1), std::abs(x)), 11);
      in.y_bar.data()[i * lanes_ + l] = direction(world.seed, 12, i, Real(1));
      in.y_bar_dot.data()[i * lanes_ + l] = direction(world.seed, 13, i, Real(1));
    }
    for (std::size_t i = 0; i < world.at.controls.size(); ++i) {
      const Real u = world.at.controls[i];
      put(in.u, in.u_dot, std::int64_t(i), u, std::max(Real(1), std::abs(u)), 14);
    }
    for (std::size_t f = 0; f < fields.size(); ++f) {
      for (std::int64_t i = 0; i < fields[f].size; ++i) {
        const Real p = world.at.parameters.values(f)[std::size_t(i)];
        put(in.p, in.p_dot, fields[f].offset + i, p, p != 0 ? std::abs(p) : Real(1), 15);
      }
    }
  }
  const auto work = system_.make_workspace();
  in.states.assign((kRun + 1) * n_, std::numeric_limits<Real>::quiet_NaN());
  for (auto* part : {&in.step_tapes, &in.run_tape}) part->assign(kRun * tape_n_, Real(0));
  if (before) {
    std::copy_n(before->step_tapes.data(), kRun * tape_n_, in.step_tapes.data());
    std::copy_n(before->run_tape.data(), kRun * tape_n_, in.run_tape.data());
  }
  std::copy_n(in.x.data(), n_, in.states.data());
  for (std::int64_t j = 0; tape_n_ > 0 && j < kRun; ++j) {
    system_.step(context(kFirst + j), step_inputs(in, kFirst + j, in.states.data() + j * n_),
                 in.states.data() + (j + 1) * n_, in.step_tapes.data() + j * tape_n_, *work);
  }
  advance(in, {in.states.data(), kRun + 1, 0}, in.run_tape, *work);
  return in;
}

// As rollouts do it: a run begins and ends.
template <class Real>
void EntryPoints<Real>::advance(const Inputs& in, const Ring<Real>& states, Guarded<Real>& tape,
                                Workspace& work) const {
  system_.begin_run(in.p.data(), nullptr, everything_, work);
  system_.advance(run(in), states, {tape_n_ > 0 ? tape.data() : nullptr, tape_n_}, work);
  system_.end_run(in.p.data(), nullptr, everything_, work);
}
template <class Real>
void EntryPoints<Real>::reverse(const Inputs& in, Workspace& work) {
  system_.begin_run(in.p.data(), p_bar_.data(), everything_, work);
  system_.reverse(run(in), in.states.data(), {has_tape_ ? in.run_tape.data() : nullptr, tape_n_},
                  {lambda_.data(), 2, 0}, nu_ > 0 ? u_bar_.data() : nullptr, p_bar_.data(), everything_,
                  work);
  system_.end_run(in.p.data(), p_bar_.data(), everything_, work);
}

template <class Real>
costate::Inputs<Real> EntryPoints<Real>::step_inputs(const Inputs& in, std::int64_t k, const Real* x) const {
  return {x, nu_ > 0 ? in.u.data() + k / kHold * nu_ : nullptr, in.p.data()};
}

// Overwritten outputs are not a number, those that are added to are zero.
template <class Real>
void EntryPoints<Real>::prepare() {
  constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
  for (auto* part : {&y_, &y_dot_, &x_bar_, &x_bar_dot_}) part->assign(n_, nan);
  for (auto* part : {&u_bar_, &u_bar_dot_}) part->assign(kKnots * nu_, Real(0));
  for (auto* part : {&p_bar_, &p_bar_dot_}) part->assign(np_, Real(0));
  ring_.assign((kRun + 1) * n_, nan);
  lambda_.assign(2 * n_, nan);
  tape_.assign(kRun * tape_n_, Real(0));
}

template <class Real>
void EntryPoints<Real>::invoke(Entry entry, const Inputs& in, Workspace& work) {
  const Real* const u_dot = nu_ > 0 ? in.u_dot.data() + kFirst / kHold * nu_ : nullptr;
  const auto at_knot = [&](Guarded<Real>& u) { return nu_ > 0 ? u.data() + kFirst / kHold * nu_ : nullptr; };
  const costate::Inputs<Real> now = step_inputs(in, kFirst, in.x.data()),
                              dot{in.x_dot.data(), u_dot, in.p_dot.data()};
  const Cotangents<Real> bar{x_bar_.data(), at_knot(u_bar_), p_bar_.data()},
      bar_dot{x_bar_dot_.data(), at_knot(u_bar_dot_), p_bar_dot_.data()};
  switch (entry) {
    case Entry::step:
      return system_.step(context(kFirst), now, y_.data(), tape_n_ > 0 ? tape_.data() : nullptr, work);
    case Entry::step_jvp:
      return system_.step_jvp(context(kFirst), now, dot, y_.data(), y_dot_.data(), work);
    case Entry::step_vjp:
      return system_.step_vjp(context(kFirst), now, has_tape_ ? in.step_tapes.data() : nullptr,
                              in.y_bar.data(), bar, everything_, work);
    case Entry::step_hvp:
      return system_.step_hvp(context(kFirst), now, dot, in.y_bar.data(), in.y_bar_dot.data(), bar, bar_dot,
                              everything_, work);
    case Entry::step_back:
      return system_.step_back(context(kFirst), {nullptr, now.u, now.p}, in.states.data() + n_, y_.data(),
                               work);
    case Entry::energy:
      return system_.energy({in.x.data(), nullptr, in.p.data()}, y_.data(), work);
    case Entry::advance:
      return advance(in, {ring_.data(), kRun + 1, 0}, tape_, work);
    case Entry::reverse:
      return reverse(in, work);
  }
}

template <class Real>
Outputs<Real> EntryPoints<Real>::cotangents(const Real* x_bar) const {
  return {{"cotangent of the state", Role::state, {x_bar, x_bar + n_}},
          {"cotangent of the control", Role::control, u_bar_.numbers()},
          {"cotangent of the parameter", Role::parameter, p_bar_.numbers()}};
}

template <class Real>
Outputs<Real> EntryPoints<Real>::call(Entry entry, const Inputs& in, Workspace& work,
                                      std::int64_t* allocations) {
  prepare();
  std::copy_n(in.x.data(), n_, ring_.data());
  std::copy_n(in.y_bar.data(), n_, lambda_.data());
  work.diagnostics.mode_switches.clear();  // as for every rollout; what it holds for one is kept
  const AllocationGuard guard;
  invoke(entry, in, work);
  if (allocations) *allocations = guard.count();
  for (const auto* part : {&y_, &y_dot_, &x_bar_, &x_bar_dot_, &u_bar_, &u_bar_dot_, &p_bar_, &p_bar_dot_,
                           &ring_, &lambda_, &tape_})
    EXPECT_TRUE(part->intact()) << to_string(entry) << " wrote beyond the end of an array";
  const Output<Real> tape{"tape", Role::state, tape_.numbers(), true};
  switch (entry) {
    case Entry::step:
      return {{"state", Role::state, y_.numbers()}, tape};
    case Entry::step_jvp:
      return {{"state", Role::state, y_.numbers()}, {"tangent of the state", Role::state, y_dot_.numbers()}};
    case Entry::step_vjp:
      return cotangents(x_bar_.data());
    case Entry::step_hvp: {
      Outputs<Real> out = cotangents(x_bar_.data());
      out.push_back({"rate of the cotangent of the state", Role::state, x_bar_dot_.numbers()});
      out.push_back({"rate of the cotangent of the control", Role::control, u_bar_dot_.numbers()});
      out.push_back({"rate of the cotangent of the parameter", Role::parameter, p_bar_dot_.numbers()});
      return out;
    }
    case Entry::step_back:
      return {{"state", Role::state, y_.numbers()}};
    case Entry::energy:
      return {{"energy", Role::state, {y_.data(), y_.data() + lanes_}}};
    case Entry::advance:
      return {{"state", Role::state, ring_.numbers()}, tape};
    case Entry::reverse:
      return cotangents(lambda_.data() + kRun % 2 * n_);
  }
  return {};
}

template <class Real>
Outputs<Real> EntryPoints<Real>::advance_by_steps(const Inputs& in, Workspace& work) {
  prepare();
  std::copy_n(in.x.data(), n_, ring_.data());
  for (std::int64_t j = 0; j < kRun; ++j) {
    system_.step(context(kFirst + j), step_inputs(in, kFirst + j, ring_.data() + j * n_),
                 ring_.data() + (j + 1) * n_, tape_n_ > 0 ? tape_.data() + j * tape_n_ : nullptr, work);
  }
  return {{"state", Role::state, ring_.numbers()}, {"tape", Role::state, tape_.numbers(), true}};
}

template <class Real>
Outputs<Real> EntryPoints<Real>::reverse_by_steps(const Inputs& in, Workspace& work) {
  prepare();
  std::copy_n(in.y_bar.data(), n_, lambda_.data());
  for (std::int64_t j = kRun - 1; j >= 0; --j) {
    const std::int64_t from = (kRun - 1 - j) % 2, k = kFirst + j;
    system_.step_vjp(context(k), step_inputs(in, k, in.states.data() + j * n_),
                     has_tape_ ? in.step_tapes.data() + j * tape_n_ : nullptr, lambda_.data() + from * n_,
                     {lambda_.data() + (1 - from) * n_, nu_ > 0 ? u_bar_.data() + k / kHold * nu_ : nullptr,
                      p_bar_.data()},
                     everything_, work);
  }
  return cotangents(lambda_.data() + kRun % 2 * n_);
}

template <class Real>
Outputs<Real> EntryPoints<Real>::vjp(const Inputs& in, Workspace& work, bool controls, bool parameters,
                                     Real before, bool tape) {
  prepare();
  u_bar_.assign(kKnots * nu_, before);
  p_bar_.assign(np_, before);
  system_.step_vjp(context(kFirst), step_inputs(in, kFirst, in.x.data()),
                   has_tape_ && tape ? in.step_tapes.data() : nullptr, in.y_bar.data(),
                   {x_bar_.data(), controls && nu_ > 0 ? u_bar_.data() + kFirst / kHold * nu_ : nullptr,
                    parameters ? p_bar_.data() : nullptr},
                   everything_, work);
  return cotangents(x_bar_.data());
}

template <class Real>
Outputs<Real> EntryPoints<Real>::vjp_from_tape(const Inputs& in, Workspace& work) {
  prepare();
  system_.step_vjp(context(kFirst), step_inputs(in, kFirst, nullptr), in.step_tapes.data(), in.y_bar.data(),
                   {x_bar_.data(), nu_ > 0 ? u_bar_.data() + kFirst / kHold * nu_ : nullptr, p_bar_.data()},
                   everything_, work);
  return cotangents(x_bar_.data());
}

template <class Real>
Outputs<Real> EntryPoints<Real>::jvp_of_state_alone(const Inputs& in, Workspace& work, bool nulls) {
  prepare();  // u_bar_ and p_bar_ are zeros of the right size
  system_.step_jvp(
      context(kFirst), step_inputs(in, kFirst, in.x.data()),
      {in.x_dot.data(), nulls || nu_ == 0 ? nullptr : u_bar_.data(), nulls ? nullptr : p_bar_.data()},
      y_.data(), y_dot_.data(), work);
  return {{"state", Role::state, y_.numbers()}, {"tangent of the state", Role::state, y_dot_.numbers()}};
}

// --- comparing ---------------------------------------------------------------------------------------------

template <class Real>
std::string EntryPoints<Real>::describe(Entry entry, const Output<Real>& output, std::size_t i) const {
  std::string text = std::string(to_string(entry)) + ", " + output.what;
  if (output.tape) return text + ", number " + std::to_string(i);
  const std::int64_t index = std::int64_t(i) / lanes_, total = system_.signature().total(output.role);
  if (entry != Entry::energy) text += " " + system_.signature().describe(output.role, index % total);
  if (index >= total) text += ", step or knot " + std::to_string(index / total);
  return text + ", lane " + std::to_string(std::int64_t(i) % lanes_);
}

namespace {

template <class Real>
std::string two(Real a, Real b) {
  char text[80];
  std::snprintf(text, sizeof text, ": %.17g against %.17g", double(a), double(b));
  return text;
}

}  // namespace

template <class Real>
testing::AssertionResult EntryPoints<Real>::same_bits(Entry entry, const Outputs<Real>& a,
                                                      const Outputs<Real>& b) const {
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].tape) continue;
    for (std::size_t i = 0; i < a[k].numbers.size(); ++i) {
      if (!same(a[k].numbers[i], b[k].numbers[i]))
        return testing::AssertionFailure()
               << describe(entry, a[k], i) << two(a[k].numbers[i], b[k].numbers[i]);
    }
  }
  return testing::AssertionSuccess();
}

template <class Real>
testing::AssertionResult EntryPoints<Real>::same_lane(Entry entry, const Outputs<Real>& a,
                                                      const Outputs<Real>& b, int lane) const {
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].tape) continue;
    for (std::size_t i = std::size_t(lane); i < a[k].numbers.size(); i += std::size_t(lanes_)) {
      if (!same(a[k].numbers[i], b[k].numbers[i]))
        return testing::AssertionFailure()
               << describe(entry, a[k], i) << two(a[k].numbers[i], b[k].numbers[i]);
    }
  }
  return testing::AssertionSuccess();
}

template <class Real>
testing::AssertionResult EntryPoints<Real>::close(Entry entry, const Outputs<Real>& a, const Outputs<Real>& b,
                                                  double gate) const {
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    if (a[k].tape) continue;
    double scale = 1;
    for (const Real x : b[k].numbers)
      if (!std::isnan(x)) scale = std::max(scale, std::abs(double(x)));
    for (std::size_t i = 0; i < a[k].numbers.size(); ++i) {
      const double x = a[k].numbers[i], y = b[k].numbers[i];
      if (std::isnan(x) || std::isnan(y) || std::abs(x - y) > gate * scale)
        return testing::AssertionFailure() << describe(entry, a[k], i) << two(x, y) << ", that is "
                                           << std::abs(x - y) / scale << " of the largest";
    }
  }
  return testing::AssertionSuccess();
}

template <class Real>
testing::AssertionResult EntryPoints<Real>::all_written(Entry entry, const Outputs<Real>& outputs) const {
  for (const Output<Real>& output : outputs) {
    if (output.tape) continue;
    for (std::size_t i = 0; i < output.numbers.size(); ++i) {
      if (std::isnan(output.numbers[i]))
        return testing::AssertionFailure() << describe(entry, output, i) << " was not written";
    }
  }
  return testing::AssertionSuccess();
}

template class EntryPoints<float>;
template class EntryPoints<double>;

}  // namespace costate::test
