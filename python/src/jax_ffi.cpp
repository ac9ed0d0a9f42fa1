// costate.jax: rollouts as custom calls of XLA, without Python in between.
//
// A call's arrays are x0, u and some parameters, each with the same batch axes in front (what jax.vmap makes
// of them); XLA calls from threads of its own, without Python's lock. The rollout is found by a number among
// the call's attributes.
//
//   forward    x0, u, p...            ->  final state, and the kept states (*batch, kept, states) where the
//                                         rollout keeps some
//   tangent    x0, u, p..., dots      ->  rate of the final state, where none are kept
//   backward   x0, u, p..., bars      ->  x0_bar, u_bar, p_bar...; runs forward again, so nothing waits
//                                         between the two calls
#include <map>
#include <mutex>

#include <xla/ffi/api/ffi.h>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "costate/cuda/resident.h"
#include "module.h"
#include "typed_rollout.h"

namespace costate::python {
namespace {

namespace ffi = xla::ffi;
using namespace nb::literals;

// Rollouts of one number of worlds each, and arguments that are not in use.
template <class Real>
class Pool {
 public:
  struct Plan {
    Plan(SystemPtr<Real> system, const RolloutOptions& options)
        : rollout(std::move(system), options), defaults(rollout.arguments()) {}
    Rollout<Real> rollout;
    const Arguments<Real> defaults;
    std::vector<std::unique_ptr<Arguments<Real>>> idle;
  };
  struct Loan {
    Pool& pool;
    Plan& plan;
    std::unique_ptr<Arguments<Real>> arguments;
    ~Loan() {
      const std::lock_guard lock(pool.mutex_);
      plan.idle.push_back(std::move(arguments));
    }
  };
  Loan borrow(const AnySystem& system, RolloutOptions options, std::int64_t worlds) {
    const std::lock_guard lock(mutex_);
    auto& plan = plans_[worlds];
    if (!plan) {
      options.worlds = worlds;
      plan = std::make_unique<Plan>(system.make<Real>(worlds), options);
    }
    if (plan->idle.empty()) return {*this, *plan, std::make_unique<Arguments<Real>>(plan->defaults)};
    auto arguments = std::move(plan->idle.back());
    plan->idle.pop_back();
    return {*this, *plan, std::move(arguments)};
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, std::unique_ptr<Plan>> plans_;
};

struct JaxRollout {
  std::shared_ptr<const AnySystem> system;
  RolloutOptions options;
  std::vector<std::size_t>
      fields;  // parameters that a call gives, in this order; the others have their defaults
  Pool<float> in_single;
  Pool<double> in_double;

  // With arrays that stay on a GPU, by number of worlds.
  std::mutex resident_mutex;
  std::map<std::int64_t, std::unique_ptr<cuda::ResidentRollout<float>>> resident_single;
  std::map<std::int64_t, std::unique_ptr<cuda::ResidentRollout<double>>> resident_double;

  template <class Real>
  cuda::ResidentRollout<Real>& resident(std::int64_t worlds) {
    const auto find = [&](auto& among) -> auto& {
      const std::lock_guard lock(resident_mutex);
      auto& made = among[worlds];
      if (!made) {
        RolloutOptions o = options;
        o.worlds = worlds;
        made = std::make_unique<cuda::ResidentRollout<Real>>(system->make<Real>(worlds), o);
      }
      return *made;
    };
    if constexpr (sizeof(Real) == 8)
      return find(resident_double);
    else
      return find(resident_single);
  }

  template <class Real>
  Pool<Real>& pool() {
    if constexpr (sizeof(Real) == 8)
      return in_double;
    else
      return in_single;
  }
};

std::mutex registry_mutex;
std::map<std::int64_t, std::shared_ptr<JaxRollout>> registry;

std::shared_ptr<JaxRollout> find(std::int64_t handle) {
  const std::lock_guard lock(registry_mutex);
  const auto found = registry.find(handle);
  if (found == registry.end()) throw Error("this rollout no longer exists");
  return found->second;
}

template <class Real>
struct Numbers {
  Real* data;
  std::size_t size;
  std::vector<Real> vector() const { return {data, data + size}; }
  void take(const std::vector<Real>& values) const { std::copy(values.begin(), values.end(), data); }
};

// The arrays of a call.
class Buffers {
 public:
  Buffers(const ffi::RemainingArgs& in, const ffi::RemainingRets& out) : in_(in), out_(out) {}
  std::size_t inputs() const { return in_.size(); }
  ffi::DataType type() const { return input(0).element_type(); }
  ffi::AnyBuffer input(std::size_t i) const { return in_.get<ffi::AnyBuffer>(i).value(); }
  template <class Real>
  Numbers<Real> in(std::size_t i) const {
    const auto buffer = input(i);
    return {static_cast<Real*>(buffer.untyped_data()), buffer.element_count()};
  }
  template <class Real>
  Numbers<Real> out(std::size_t i) const {
    const auto buffer = *out_.get<ffi::AnyBuffer>(i).value();
    return {static_cast<Real*>(buffer.untyped_data()), buffer.element_count()};
  }
  // Everything before the last axis of x0.
  std::int64_t worlds() const {
    std::int64_t product = 1;
    const auto dimensions = input(0).dimensions();
    for (std::size_t i = 0; i + 1 < dimensions.size(); ++i) product *= dimensions[i];
    return product;
  }

 private:
  const ffi::RemainingArgs& in_;
  const ffi::RemainingRets& out_;
};

template <class Real>
void fill(Arguments<Real>& a, const JaxRollout& rollout, const Buffers& buffers) {
  a.x0 = buffers.in<Real>(0).vector();
  a.controls = buffers.in<Real>(1).vector();
  for (std::size_t i = 0; i < rollout.fields.size(); ++i)
    a.parameters.set(rollout.fields[i], buffers.in<Real>(2 + i).vector());
}

// (kept, worlds, states) and (worlds, kept, states), both ways.
template <class Real>
void swap_axes(const Real* from, std::int64_t rows, std::int64_t columns, std::int64_t size, Real* to) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j)
      std::copy_n(from + (i * columns + j) * size, size, to + (j * rows + i) * size);
  }
}

template <class Real>
void forward(JaxRollout& rollout, const Buffers& buffers) {
  const std::int64_t worlds = buffers.worlds();
  auto loan = rollout.pool<Real>().borrow(*rollout.system, rollout.options, worlds);
  fill(*loan.arguments, rollout, buffers);
  const Trajectory<Real> trajectory = loan.plan.rollout.simulate(*loan.arguments);
  buffers.out<Real>(0).take(trajectory.final_state);
  if (rollout.options.keep > 0)
    swap_axes(trajectory.states.data(), static_cast<std::int64_t>(trajectory.kept.size()), worlds,
              rollout.system->signature().states(), buffers.out<Real>(1).data);
}

template <class Real>
void tangent(JaxRollout& rollout, const Buffers& buffers) {
  auto loan = rollout.pool<Real>().borrow(*rollout.system, rollout.options, buffers.worlds());
  fill(*loan.arguments, rollout, buffers);
  const std::size_t dots = 2 + rollout.fields.size();
  Arguments<Real> direction{buffers.in<Real>(dots).vector(), buffers.in<Real>(dots + 1).vector(),
                            loan.arguments->parameters.zeros()};
  for (std::size_t i = 0; i < rollout.fields.size(); ++i)
    direction.parameters.set(rollout.fields[i], buffers.in<Real>(dots + 2 + i).vector());
  buffers.out<Real>(0).take(loan.plan.rollout.jvp(*loan.arguments, direction).final_state_dot);
}

template <class Real>
void backward(JaxRollout& rollout, const Buffers& buffers) {
  const std::int64_t worlds = buffers.worlds(), states = rollout.system->signature().states();
  const RolloutOptions& options = rollout.options;
  auto loan = rollout.pool<Real>().borrow(*rollout.system, options, worlds);
  fill(*loan.arguments, rollout, buffers);
  const std::size_t bars = 2 + rollout.fields.size();
  std::vector<std::int64_t> steps;
  std::vector<std::vector<Real>> values;
  std::vector<Real> last = buffers.in<Real>(bars).vector();
  if (options.keep > 0) {
    for (std::int64_t k = 0; k <= options.steps; k += options.keep) steps.push_back(k);
    const auto kept = static_cast<std::int64_t>(steps.size());
    const auto given = buffers.in<Real>(bars + 1);
    std::vector<Real> by_step(given.size);
    swap_axes<Real>(given.data, worlds, kept, states, by_step.data());
    for (std::int64_t j = 0; j < kept; ++j)
      values.emplace_back(by_step.data() + j * worlds * states, by_step.data() + (j + 1) * worlds * states);
  }
  if (!steps.empty() && steps.back() == options.steps) {
    for (std::size_t i = 0; i < last.size(); ++i) values.back()[i] += last[i];
  } else {
    steps.push_back(options.steps);
    values.push_back(std::move(last));
  }
  const auto objective =
      loss::cotangents<Real>(rollout.system->signature(), std::move(steps), std::move(values));
  const Gradient<Real> gradient = loan.plan.rollout.value_and_gradient(*loan.arguments, *objective);
  buffers.out<Real>(0).take(gradient.x0);
  buffers.out<Real>(1).take(gradient.controls);
  for (std::size_t i = 0; i < rollout.fields.size(); ++i) {
    const auto bar = gradient.parameters.values(rollout.fields[i]);
    buffers.out<Real>(2 + i).take({bar.begin(), bar.end()});
  }
}

// The same with arrays of a GPU, in the order of XLA's stream.
template <class Real>
cuda::ResidentArguments<Real> there(const JaxRollout& rollout, const Buffers& buffers) {
  if (rollout.options.keep > 0)
    throw Error({"kept states are not available where JAX has its arrays on a GPU",
                 {},
                 "make the rollout with keep=0, or jit with backend='cpu'"});
  cuda::ResidentArguments<Real> at{{buffers.in<Real>(0).data, false}, {buffers.in<Real>(1).data, false}, {}};
  at.parameters.resize(rollout.system->signature().fields(Role::parameter).size());
  for (std::size_t i = 0; i < rollout.fields.size(); ++i)
    at.parameters[rollout.fields[i]] = {buffers.in<Real>(2 + i).data, false};
  return at;
}
template <class Real>
void forward_there(JaxRollout& rollout, const Buffers& buffers, void* stream) {
  rollout.resident<Real>(buffers.worlds())
      .simulate(there<Real>(rollout, buffers), buffers.out<Real>(0).data, nullptr, stream);
}
template <class Real>
void backward_there(JaxRollout& rollout, const Buffers& buffers, void* stream) {
  cuda::ResidentCotangents<Real> to{buffers.out<Real>(0).data, buffers.out<Real>(1).data, {}};
  to.parameters.resize(rollout.system->signature().fields(Role::parameter).size());
  for (std::size_t i = 0; i < rollout.fields.size(); ++i)
    to.parameters[rollout.fields[i]] = buffers.out<Real>(2 + i).data;
  rollout.resident<Real>(buffers.worlds())
      .pull_back(there<Real>(rollout, buffers), buffers.in<Real>(2 + rollout.fields.size()).data, nullptr, to,
                 stream);
}

template <class InSingle, class InDouble>
ffi::Error call(std::int64_t handle, const ffi::RemainingArgs& in, const ffi::RemainingRets& out,
                const InSingle& in_single, const InDouble& in_double) {
  try {
    const Buffers buffers(in, out);
    const auto rollout = find(handle);
    if (buffers.type() == ffi::DataType::F32)
      in_single(*rollout, buffers);
    else
      in_double(*rollout, buffers);
    return ffi::Error::Success();
  } catch (const std::exception& error) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, error.what());
  }
}

ffi::Error forward_call(std::int64_t handle, ffi::RemainingArgs in, ffi::RemainingRets out) {
  return call(handle, in, out, forward<float>, forward<double>);
}
ffi::Error tangent_call(std::int64_t handle, ffi::RemainingArgs in, ffi::RemainingRets out) {
  return call(handle, in, out, tangent<float>, tangent<double>);
}
ffi::Error backward_call(std::int64_t handle, ffi::RemainingArgs in, ffi::RemainingRets out) {
  return call(handle, in, out, backward<float>, backward<double>);
}

ffi::Error forward_there_call(void* stream, std::int64_t handle, ffi::RemainingArgs in,
                              ffi::RemainingRets out) {
  return call(
      handle, in, out, [&](auto& rollout, auto& buffers) { forward_there<float>(rollout, buffers, stream); },
      [&](auto& rollout, auto& buffers) { forward_there<double>(rollout, buffers, stream); });
}
ffi::Error backward_there_call(void* stream, std::int64_t handle, ffi::RemainingArgs in,
                               ffi::RemainingRets out) {
  return call(
      handle, in, out, [&](auto& rollout, auto& buffers) { backward_there<float>(rollout, buffers, stream); },
      [&](auto& rollout, auto& buffers) { backward_there<double>(rollout, buffers, stream); });
}

XLA_FFI_DEFINE_HANDLER(kForwardThere, forward_there_call,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<void*>>()
                           .Attr<std::int64_t>("handle")
                           .RemainingArgs()
                           .RemainingRets());
XLA_FFI_DEFINE_HANDLER(kBackwardThere, backward_there_call,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<void*>>()
                           .Attr<std::int64_t>("handle")
                           .RemainingArgs()
                           .RemainingRets());
XLA_FFI_DEFINE_HANDLER(kForward, forward_call,
                       ffi::Ffi::Bind().Attr<std::int64_t>("handle").RemainingArgs().RemainingRets());
XLA_FFI_DEFINE_HANDLER(kTangent, tangent_call,
                       ffi::Ffi::Bind().Attr<std::int64_t>("handle").RemainingArgs().RemainingRets());
XLA_FFI_DEFINE_HANDLER(kBackward, backward_call,
                       ffi::Ffi::Bind().Attr<std::int64_t>("handle").RemainingArgs().RemainingRets());

std::int64_t register_rollout(const PyRollout& rollout, const std::vector<std::string>& parameters) {
  auto made = std::make_shared<JaxRollout>();
  made->system = rollout.system;
  made->options = rollout.options;
  made->options.active = parameters;  // exactly these need a cotangent
  for (const std::string& name : parameters) made->fields.push_back(rollout.system->parameter(name));
  const std::lock_guard lock(registry_mutex);
  const std::int64_t handle = registry.empty() ? 1 : registry.rbegin()->first + 1;
  registry.emplace(handle, std::move(made));
  return handle;
}

}  // namespace

void bind_jax(nb::module_& m) {
  const auto capsule = [](auto* handler) {
    return nb::capsule(reinterpret_cast<void*>(handler), "xla._CUSTOM_CALL_TARGET");
  };
  auto j = m.def_submodule("xla", "Custom calls for costate.jax.");
  j.def("forward", [capsule] { return capsule(kForward); });
  j.def("tangent", [capsule] { return capsule(kTangent); });
  j.def("backward", [capsule] { return capsule(kBackward); });
  j.def("forward_there", [capsule] { return capsule(kForwardThere); });
  j.def("backward_there", [capsule] { return capsule(kBackwardThere); });
  j.def("register_rollout", &register_rollout, "rollout"_a, "parameters"_a,
        "The number under which calls find a rollout. It stays: compiled functions may use it at any time.");
}

}  // namespace costate::python
