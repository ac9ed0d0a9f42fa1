// Options and arguments of a rollout that make no sense are refused before anything runs.
#include <cmath>
#include <string>

#include "costate/core/error.h"
#include "costate/system/ranges.h"
#include "costate/system/room.h"
#include "costate/system/run/rollout_impl.h"

namespace costate {
namespace {

constexpr double kCopies = 3;    // of controls on their way: the defaults, those of a call, those of a block
constexpr double kShare = 0.25;  // of the memory, for what an error advises

// Of so many bytes only each such one fits well.
std::string thinned(double bytes) {
  return std::to_string(std::int64_t(std::ceil(bytes / (kShare * memory_bytes()))));
}

// Before they are filled with zeros.
void expect_room_for(const RolloutOptions& o, const Signature& signature, double number) {
  const std::string of = " of " + std::to_string(o.steps) + " steps";
  const double every = double(signature.controls()) * number * kCopies * double(o.steps);
  expect_room("the controls" + of, every / double(o.hold),
              "hold = " + thinned(every) + " lets as many steps share a row of controls");
  if (o.keep == 0) return;
  const double states = double(signature.states()) * number * double(o.worlds) * double(o.steps);
  expect_room("the kept states" + of, states / double(o.keep),
              "keep = " + thinned(states) + " keeps one in so many, keep = 0 only the last one");
}

}  // namespace

template <class Real>
void Rollout<Real>::Impl::check_options() const {
  if (!system) throw Error("a rollout needs a system");
  if (options.steps < 0)
    throw Error("steps = " + std::to_string(options.steps) + ": a rollout cannot have fewer than 0 steps");
  if (options.worlds < 1)
    throw Error("worlds = " + std::to_string(options.worlds) + ": a rollout has at least one world");
  if (options.hold < 1)
    throw Error("hold = " + std::to_string(options.hold) + ": a control is held for at least one step");
  if (options.keep < 0)
    throw Error("keep = " + std::to_string(options.keep) + ": every keep-th state is returned, 0 for none");
  if (options.checkpoints.kind == Checkpoints::Kind::reversible && !system->capabilities().reversible) {
    throw Error({"checkpoints = reversible, but this physics cannot step backwards",
                 {},
                 "use binomial(slots) or segments() to bound the memory"});
  }
  expect_room_for(options, system->signature(), sizeof(Real));
  Schedule(options.checkpoints,
           options.steps);  // complains about nonsense now, not in the middle of a gradient
}

template <class Real>
void Rollout<Real>::Impl::check_shapes(const Arguments<Real>& a, const char* what) const {
  const Signature& signature = system->signature();
  const auto expect = [&](const char* name, std::size_t have, std::int64_t row) {
    const auto size = static_cast<std::int64_t>(have);
    if (size == row || size == row * options.worlds) return;
    throw Error(std::string(what) + name + " has " + std::to_string(size) + " numbers instead of " +
                std::to_string(row) + " (shared) or " + std::to_string(row * options.worlds) +
                " (one row for each of " + std::to_string(options.worlds) + " worlds)");
  };
  expect("x0", a.x0.size(), signature.states());
  expect("controls", a.controls.size(), knots * signature.controls());
  if (!same_fields(a.parameters.signature(), signature, Role::parameter)) {
    throw Error(std::string(what) + "parameters belong to another system: make them from system.signature()");
  }
  for (std::size_t f = 0; f < signature.fields(Role::parameter).size(); ++f) {
    if (!a.parameters.per_world(f) || a.parameters.worlds() == options.worlds) continue;
    throw Error(std::string(what) + "parameter '" + signature.fields(Role::parameter)[f].name +
                "' is given for " + std::to_string(a.parameters.worlds()) + " worlds, the rollout has " +
                std::to_string(options.worlds));
  }
}

template <class Real>
void Rollout<Real>::Impl::check_values(const Arguments<Real>& arguments) const {
  check_shapes(arguments, "");
  check_ranges(system->signature(), arguments.parameters);
}

#define COSTATE_INSTANTIATE(Real)                                                             \
  template void Rollout<Real>::Impl::check_options() const;                                   \
  template void Rollout<Real>::Impl::check_shapes(const Arguments<Real>&, const char*) const; \
  template void Rollout<Real>::Impl::check_values(const Arguments<Real>&) const;
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate
