// costate.learn: policies that learn a task.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "any_system.h"
#include "costate/learn/learner.h"
#include "learning.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using namespace learn;
using Numbers = std::vector<double>;

Numbers numbers(nb::handle object, const char* what) {
  return object.is_none() ? Numbers{} : to_vector<double>(object, what);
}

// A Learner with the task that it learns.
struct PyLearner {
  Task task;
  std::unique_ptr<Learner> learner;

  nb::dict iterate() {
    const Learned l = without_gil([&] { return learner->iterate(); });
    nb::dict d;
    d["iteration"] = l.iteration, d["steps"] = l.steps, d["mean_return"] = l.mean_return;
    d["mean_length"] = l.mean_length, d["objective"] = l.objective, d["critic_error"] = l.critic_error;
    d["gradient_norm"] = l.gradient_norm, d["horizon"] = l.horizon;
    return d;
  }
  nb::dict policy() const {
    const Policy& p = learner->policy();
    Numbers deviation;
    for (std::size_t i = 0; i < p.seen.mean.size(); ++i) deviation.push_back(p.seen.deviation(i));
    nb::dict d;
    d["sizes"] = p.network.sizes();
    d["memory"] = p.remembered();
    d["parameters"] = to_numpy(Numbers(p.parameters), {p.parameters.size()});
    d["mean"] = to_numpy(Numbers(p.seen.mean), {p.seen.mean.size()});
    d["deviation"] = to_numpy(std::move(deviation), {p.seen.mean.size()});
    d["lower"] = to_numpy(Numbers(p.lower), {p.lower.size()});
    d["upper"] = to_numpy(Numbers(p.upper), {p.upper.size()});
    return d;
  }
  nb::tuple evaluate(std::int64_t worlds, std::uint64_t seed) const {
    Scores s = without_gil([&] { return learn::evaluate(task, learner->policy(), worlds, seed); });
    const std::size_t n = s.returns.size();
    return nb::make_tuple(to_numpy(std::move(s.returns), {n}), to_numpy(std::move(s.lengths), {n}));
  }
};

LearnOptions options_of(const nb::dict& given) {
  LearnOptions o;
  for (auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    const auto set = [&](const char* known, auto& to) {
      if (name != known) return false;
      if (!nb::try_cast(value, to)) throw Error("'" + name + "' has a value of the wrong kind");
      return true;
    };
    if (set("method", o.method) || set("steps", o.steps) || set("worlds", o.worlds) ||
        set("horizon", o.horizon) || set("hidden", o.hidden) || set("critic", o.critic) ||
        set("discount", o.discount) || set("lambda_", o.lambda) || set("rate", o.rate) ||
        set("critic_rate", o.critic_rate) || set("last_rate", o.last_rate) || set("beta1", o.beta1) ||
        set("beta2", o.beta2) || set("gradient_limit", o.gradient_limit) ||
        set("adjoint_limit", o.adjoint_limit) || set("noise", o.noise) ||
        set("critic_passes", o.critic_passes) || set("critic_batches", o.critic_batches) ||
        set("target", o.target) || set("passes", o.passes) || set("batches", o.batches) ||
        set("clip", o.clip) || set("seed", o.seed) || set("memory", o.memory) ||
        set("shortest", o.shortest) || set("longest", o.longest) || set("stretch", o.stretch) ||
        set("dual_rate", o.dual_rate) || set("edge", o.edge) || set("population", o.population))
      continue;
    throw Error({"learning has no option '" + name + "'", "", "see costate.learn.Learner"});
  }
  return o;
}

PyLearner make(const AnySystem& plant, std::int64_t hold, std::int64_t decisions, const ad::Program& observe,
               const ad::Program& reward, const ad::Program* alive, const ArrayLike& start,
               const ArrayLike& uniform, const ArrayLike& normal, const ArrayLike& lower,
               const ArrayLike& upper, const nb::dict& vary, const nb::dict& options) {
  const LearnOptions chosen = options_of(options);
  Task task{.plant = plant.make<double>(chosen.worlds),
            .hold = hold,
            .decisions = decisions,
            .observe = observe,
            .reward = reward,
            .alive = alive ? *alive : ad::Program(),
            .start = numbers(start, "start"),
            .uniform = numbers(uniform, "uniform"),
            .normal = numbers(normal, "normal"),
            .lower = numbers(lower, "lower"),
            .upper = numbers(upper, "upper")};
  for (auto [name, by] : vary) task.vary.push_back({nb::cast<std::string>(name), nb::cast<double>(by)});
  auto learner = make_learner(task, chosen);
  return {std::move(task), std::move(learner)};
}

}  // namespace

void bind_learning(nb::module_& m) {
  nb::class_<PyLearner>(m, "_Learner", "What costate.learn.Learner runs.")
      .def("iterate", &PyLearner::iterate)
      .def("evaluate", &PyLearner::evaluate, "worlds"_a, "seed"_a)
      .def_prop_ro("policy", &PyLearner::policy)
      .def_prop_ro("done", [](const PyLearner& l) { return l.learner->done(); })
      .def_prop_ro("iterations", [](const PyLearner& l) { return l.learner->iterations(); })
      .def("memory",
           [](const PyLearner& l) {
             Numbers all = l.learner->memory();
             const std::size_t n = all.size();
             return to_numpy(std::move(all), {n});
           })
      .def(
          "restore",
          [](PyLearner& l, const ArrayLike& memory) { l.learner->restore(numbers(memory, "memory")); },
          "memory"_a);
  m.def("_make_learner", &make, "plant"_a, "hold"_a, "decisions"_a, "observe"_a, "reward"_a, "alive"_a.none(),
        "start"_a, "uniform"_a, "normal"_a, "lower"_a, "upper"_a, "vary"_a, "options"_a);
}

}  // namespace costate::python
