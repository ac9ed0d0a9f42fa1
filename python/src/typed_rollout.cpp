#include "typed_rollout.h"

#include "costate/cuda/resident.h"
#include "costate/system/linearize.h"
#include "without_gil.h"

namespace costate::python {
namespace {

template <class Real>
class TypedRollout final : public PyRollout {
 public:
  TypedRollout(std::shared_ptr<const AnySystem> s, RolloutOptions o, bool fixed) {
    system = std::move(s);
    options = std::move(o);
    fixed_worlds = fixed;
    single = sizeof(Real) == 4;
    plan(options.worlds);  // complains about nonsense now
  }

  Simulation simulate(const FieldsLike& x0, const FieldsLike& u, const Values& p) override {
    Session session(*this, x0, u, p);
    return packed(session, without_gil([&] { return session.plan.rollout.simulate(*session.arguments); }));
  }

  Simulation forward(const FieldsLike& x0, const FieldsLike& u, const Values& p) override {
    auto session = std::make_unique<Session>(*this, x0, u, p);
    Simulation result = packed(*session, without_gil([&] {
      const std::lock_guard lock(session->plan.forward_mutex);
      return session->plan.rollout.forward(*session->arguments);
    }));
    waiting_ = std::move(session);
    return result;
  }

  PyGradient backward(const AnyLossPtr& loss) override {
    const auto session = take_waiting();
    return backward(*session, session->plan.bind(*this, loss));
  }
  PyGradient backward(const ArrayLike& final_bar, const ArrayLike& states_bar) override {
    const auto session = take_waiting();
    return backward(*session, cotangents(*session, final_bar, states_bar));
  }

  double value(const FieldsLike& x0, const FieldsLike& u, const Values& p, const AnyLossPtr& loss) override {
    Session session(*this, x0, u, p);
    const auto objective = session.plan.bind(*this, loss);
    return without_gil([&] { return session.plan.rollout.value(*session.arguments, *objective); });
  }

  Array values(const FieldsLike& x0, const FieldsLike& u, const Values& p, const AnyLossPtr& loss) override {
    Session session(*this, x0, u, p);
    const auto objective = session.plan.bind(*this, loss);
    auto values = without_gil([&] { return session.plan.rollout.values(*session.arguments, *objective); });
    return to_numpy(std::move(values), session.with_batch({}));
  }

  PyGradient value_and_gradient(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                                const AnyLossPtr& loss) override {
    Session session(*this, x0, u, p);
    return value_and_gradient(session, session.plan.bind(*this, loss));
  }
  PyGradient pull_back(const FieldsLike& x0, const FieldsLike& u, const Values& p, const ArrayLike& final_bar,
                       const ArrayLike& states_bar) override {
    Session session(*this, x0, u, p);
    return value_and_gradient(session, cotangents(session, final_bar, states_bar));
  }

  std::pair<Array, Array> jvp(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                              const FieldsLike& x0_dot, const FieldsLike& u_dot,
                              const Values& p_dot) override {
    Session session(*this, x0, u, p);
    const Arguments<Real> direction = session.direction(x0_dot, u_dot, p_dot);
    auto tangent = without_gil([&] { return session.plan.rollout.jvp(*session.arguments, direction); });
    const Shape shape = session.with_batch({session.states()});
    return std::make_pair(to_numpy(std::move(tangent.final_state), shape),
                          to_numpy(std::move(tangent.final_state_dot), shape));
  }

  std::pair<PyGradient, PyGradient> hessian_vector(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                                                   const FieldsLike& x0_dot, const FieldsLike& u_dot,
                                                   const Values& p_dot, const AnyLossPtr& loss) override {
    Session session(*this, x0, u, p);
    return hessian_vector(session, session.direction(x0_dot, u_dot, p_dot), session.plan.bind(*this, loss));
  }
  std::pair<PyGradient, PyGradient> pull_back_tangent(const FieldsLike& x0, const FieldsLike& u,
                                                      const Values& p, const FieldsLike& x0_dot,
                                                      const FieldsLike& u_dot, const Values& p_dot,
                                                      const ArrayLike& final_bar,
                                                      const ArrayLike& states_bar) override {
    Session session(*this, x0, u, p);
    return hessian_vector(session, session.direction(x0_dot, u_dot, p_dot),
                          cotangents(session, final_bar, states_bar));
  }

  nb::tuple linearize(const FieldsLike& x0, const FieldsLike& u, const Values& p) override {
    Session session(*this, x0, u, p);
    auto found = without_gil([&] {
      return costate::linearize<Real>(system->make<Real>(1), session.plan.rollout.options(),
                                      *session.arguments);
    });
    const std::size_t n = session.states(), steps = static_cast<std::size_t>(options.steps);
    const auto per_step = [&](std::vector<Real>& values, std::size_t size) {
      const Shape shape = {steps, n, size};
      return to_numpy(std::move(values), shape);
    };
    const std::size_t controls = static_cast<std::size_t>(system->signature().controls()),
                      parameters = n > 0 ? found.c.size() / (n * steps) : 0;
    return nb::make_tuple(to_numpy(std::move(found.states), {steps + 1, n}), per_step(found.a, n),
                          per_step(found.b, controls), per_step(found.c, parameters));
  }

  std::vector<check::Result> check(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                                   const AnyLossPtr& loss, std::uint64_t seed, double step) override {
    Session session(*this, x0, u, p);
    const auto objective = loss ? session.plan.bind(*this, loss) : nullptr;
    const check::Options settings{.seed = seed, .step = step};
    return without_gil([&] {
      Rollout<Real>& rollout = session.plan.rollout;
      const Arguments<Real>& at = *session.arguments;
      std::vector<check::Result> results;
      if (system->capabilities().jvp) results.push_back(check::dot_product(rollout, at, settings));
      if (objective) {
        results.push_back(check::stencil(rollout, at, *objective, settings));
        results.push_back(check::taylor(rollout, at, *objective, settings));
      }
      return results;
    });
  }

  std::vector<check::Trust> trust(const FieldsLike& x0, const FieldsLike& u, const Values& p,
                                  const AnyLossPtr& loss, const check::TrustOptions& settings) override {
    Session session(*this, x0, u, p);
    const auto objective = session.plan.bind(*this, loss);
    return without_gil([&] {
      return check::trust<Real>(system->make<Real>(1), session.plan.rollout.options(), *session.arguments,
                                *objective, settings);
    });
  }

  std::pair<PyGradient, nb::dict> smoothed_gradient(const FieldsLike& x0, const FieldsLike& u,
                                                    const Values& p, const AnyLossPtr& loss,
                                                    const estimate::Smoothing& smoothing,
                                                    estimate::Order order) override {
    Session session(*this, x0, u, p);
    const auto objective = session.plan.bind(*this, loss);
    auto estimate = without_gil([&] {
      return estimate::smoothed_gradient<Real>(system->make<Real>(smoothing.samples),
                                               session.plan.rollout.options(), *session.arguments, *objective,
                                               smoothing, order);
    });
    nb::dict told;
    told["standard_error"] = estimate.standard_error;
    told["first_order_share"] = estimate.first_order_share;
    told["disagreement"] = estimate.disagreement;
    estimate.gradient.x0.resize(session.arguments->x0.size());
    estimate.gradient.controls.resize(session.arguments->controls.size());
    return {packed(session, std::move(estimate.gradient)), told};
  }

  void simulate_there(const ResidentCall& call, const ResidentStates& to) override {
    resident(call.worlds)
        .simulate(there(call), at<Real>(to.final_state), at<Real>(to.states),
                  reinterpret_cast<void*>(call.stream));
  }
  void pull_back_there(const ResidentCall& call, const ResidentStates& bars,
                       const ResidentBars& to) override {
    cuda::ResidentCotangents<Real> out{at<Real>(to.x0), at<Real>(to.u), {}};
    out.parameters.resize(system->signature().fields(Role::parameter).size());
    for (const auto& [field, address] : to.parameters) out.parameters[field] = at<Real>(address);
    resident(call.worlds)
        .pull_back(there(call), at<Real>(bars.final_state), at<Real>(bars.states), out,
                   reinterpret_cast<void*>(call.stream));
  }

 private:
  template <class T>
  static T* at(std::uintptr_t address) {
    return reinterpret_cast<T*>(address);
  }
  cuda::ResidentArguments<Real> there(const ResidentCall& call) const {
    cuda::ResidentArguments<Real> arguments{
        {at<Real>(call.x0.at), call.x0.shared}, {at<Real>(call.u.at), call.u.shared}, {}};
    arguments.parameters.resize(system->signature().fields(Role::parameter).size());
    for (const auto& [field, given] : call.parameters)
      arguments.parameters[field] = {at<Real>(given.at), given.shared};
    return arguments;
  }
  cuda::ResidentRollout<Real>& resident(std::int64_t worlds) {
    const std::lock_guard lock(resident_mutex_);
    auto& made = residents_[worlds];
    if (!made) {
      RolloutOptions o = options;
      o.worlds = worlds;
      made = std::make_unique<cuda::ResidentRollout<Real>>(system->make<Real>(worlds), o);
    }
    return *made;
  }

  // Arguments are kept from call to call: most parameters do not change.
  struct Filled {
    Arguments<Real> arguments;
    std::vector<std::size_t> changed;
  };
  struct Plan {
    Plan(SystemPtr<Real> s, const RolloutOptions& o)
        : rollout(std::move(s), o), defaults(rollout.arguments()) {}
    Rollout<Real> rollout;
    const Arguments<Real> defaults;
    std::vector<std::unique_ptr<Filled>> idle;  // guarded by Python's lock
    std::vector<std::pair<AnyLossPtr, ObjectivePtr<Real>>> losses;
    std::mutex forward_mutex;

    ObjectivePtr<Real> bind(const TypedRollout& owner, const AnyLossPtr& loss) {
      if (loss->changes) return loss->template bind<Real>(*owner.system);
      for (const auto& [known, bound] : losses) {
        if (known == loss) return bound;
      }
      if (losses.size() >= 8) losses.erase(losses.begin());
      losses.emplace_back(loss, loss->template bind<Real>(*owner.system));
      return losses.back().second;
    }
  };

  // One call: its arrays, and the plan that serves it.
  struct Session {
    Session(TypedRollout& owner, const FieldsLike& x0, const FieldsLike& u, const Values& p)
        : rollout(owner), call(*owner.system, knots_of(owner.options), x0, u, p), plan(owner.plan_for(call)) {
      if (plan.idle.empty()) {
        filled = std::make_unique<Filled>();
        filled->arguments = plan.defaults;
      } else {
        filled = std::move(plan.idle.back());
        plan.idle.pop_back();
      }
      arguments = &filled->arguments;
      call.fill(*arguments, plan.defaults.parameters, filled->changed);
    }
    ~Session() { plan.idle.push_back(std::move(filled)); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    std::size_t states() const { return static_cast<std::size_t>(rollout.system->signature().states()); }
    Shape with_batch(Shape row) const {
      Shape shape = call.batch() ? *call.batch()
                    : plan.rollout.options().worlds > 1
                        ? Shape{static_cast<std::size_t>(plan.rollout.options().worlds)}
                        : Shape{};
      shape.insert(shape.end(), row.begin(), row.end());
      return shape;
    }
    Arguments<Real> direction(const FieldsLike& x0, const FieldsLike& u, const Values& p) const {
      const Call<Real> dot(*rollout.system, knots_of(rollout.options), x0, u, p);
      Arguments<Real> direction;
      dot.fill_direction(direction, *arguments);
      return direction;
    }

    TypedRollout& rollout;
    const Call<Real> call;
    Plan& plan;
    std::unique_ptr<Filled> filled;
    Arguments<Real>* arguments;
  };

  Plan& plan(std::int64_t worlds) {
    auto& made = plans_[worlds];
    if (!made) {
      RolloutOptions o = options;
      o.worlds = worlds;
      made = std::make_unique<Plan>(system->make<Real>(worlds), o);
    }
    return *made;
  }
  Plan& plan_for(const Call<Real>& call) {
    const std::int64_t worlds =
        call.batch() ? static_cast<std::int64_t>(product(*call.batch())) : options.worlds;
    if (fixed_worlds && worlds != options.worlds)
      throw Error("the arrays are for " + std::to_string(worlds) + " worlds, the rollout has " +
                  std::to_string(options.worlds));
    return plan(worlds);
  }

  std::unique_ptr<Session> take_waiting() {
    if (!waiting_)
      throw Error({"backward() without a forward() before it", {}, "each forward() serves one backward()"});
    return std::move(waiting_);
  }

  ObjectivePtr<Real> cotangents(const Session& session, const ArrayLike& final_bar,
                                const ArrayLike& states_bar) const {
    std::vector<std::int64_t> steps;
    std::vector<std::vector<Real>> values;
    const Shape one = session.with_batch({session.states()});
    const std::size_t row = product(one);
    const auto take = [&](nb::handle bar, const Shape& wanted, const char* what) {
      const auto given = as_array<Real>(bar, what);
      if (shape_of(given) != wanted) wrong_shape(what, shape_of(given), text_of(wanted));
      return std::vector<Real>(given.data(), given.data() + given.size());
    };
    if (!states_bar.is_none()) {
      if (options.keep == 0)
        throw Error({"there are no states to take cotangents of", {}, "make the rollout with keep = 1"});
      for (std::int64_t k = 0; k <= options.steps; k += options.keep) steps.push_back(k);
      Shape wanted = one;
      wanted.insert(wanted.begin(), steps.size());
      const auto all = take(states_bar, wanted, "the cotangent of states");
      for (std::size_t j = 0; j < steps.size(); ++j)
        values.emplace_back(all.data() + j * row, all.data() + (j + 1) * row);
    }
    if (!final_bar.is_none()) {
      auto last = take(final_bar, one, "the cotangent of final_state");
      if (!steps.empty() && steps.back() == options.steps) {
        for (std::size_t i = 0; i < row; ++i) values.back()[i] += last[i];
      } else {
        steps.push_back(options.steps);
        values.push_back(std::move(last));
      }
    }
    return loss::cotangents<Real>(system->signature(), std::move(steps), std::move(values));
  }

  PyGradient backward(Session& session, const ObjectivePtr<Real>& objective) {
    return packed(session, without_gil([&] {
                    const std::lock_guard lock(session.plan.forward_mutex);
                    return session.plan.rollout.backward(*objective);
                  }));
  }
  PyGradient value_and_gradient(Session& session, const ObjectivePtr<Real>& objective) {
    return packed(session, without_gil([&] {
                    return session.plan.rollout.value_and_gradient(*session.arguments, *objective);
                  }));
  }
  std::pair<PyGradient, PyGradient> hessian_vector(Session& session, const Arguments<Real>& direction,
                                                   const ObjectivePtr<Real>& objective) {
    auto both = without_gil(
        [&] { return session.plan.rollout.hessian_vector(*session.arguments, direction, *objective); });
    return std::make_pair(packed(session, std::move(both.gradient)),
                          packed(session, std::move(both.product)));
  }

  Simulation packed(const Session& session, Trajectory<Real> trajectory) const {
    Simulation result;
    result.name = system->name();
    result.signature = {system, &system->signature()};
    result.t = nb::borrow<Array>(nb::none());
    const Shape row = session.with_batch({session.states()});
    result.final_state = to_numpy(std::move(trajectory.final_state), row);
    if (options.keep > 0) {
      Shape shape = row;
      shape.insert(shape.begin(), trajectory.kept.size());
      result.states = to_numpy(std::move(trajectory.states), shape);
      result.t = times(session, trajectory.kept);
      result.steps = to_numpy(std::move(trajectory.kept));
    } else {
      result.states = result.steps = nb::borrow<Array>(nb::none());
    }
    result.diverged = to_numpy(std::move(trajectory.diverged));
    return result;
  }

  // Of kept steps, where the system has a dt.
  Array times(const Session& session, const std::vector<std::int64_t>& steps) const {
    if (!system->signature().find_if(Role::parameter, "dt")) return nb::borrow<Array>(nb::none());
    const auto dt = std::as_const(session.arguments->parameters)["dt"];
    std::vector<double> t;
    for (const std::int64_t k : steps)
      for (const Real h : dt) t.push_back(double(k) * double(h));
    Shape shape = dt.size() > 1 ? session.with_batch({}) : Shape{};
    shape.insert(shape.begin(), steps.size());
    return to_numpy(std::move(t), shape);
  }

  PyGradient packed(const Session& session, Gradient<Real> gradient) const {
    PyGradient result;
    result.value = gradient.value;
    result.values = to_numpy(std::move(gradient.values), session.with_batch({}));
    result.x0 = to_numpy(std::move(gradient.x0), session.call.x0_shape());
    result.controls = to_numpy(std::move(gradient.controls), session.call.u_shape());
    const auto& fields = system->signature().fields(Role::parameter);
    const auto active = system->signature().match(Role::parameter, options.active);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (!active[f]) continue;
      const auto values = gradient.parameters.values(f);
      result.parameters[fields[f].name.c_str()] =
          to_numpy(std::vector<Real>(values.begin(), values.end()), session.call.parameter_shape(f));
    }
    result.report = std::move(gradient.report);
    return result;
  }

  std::map<std::int64_t, std::unique_ptr<Plan>> plans_;
  std::mutex resident_mutex_;
  std::map<std::int64_t, std::unique_ptr<cuda::ResidentRollout<Real>>> residents_;
  std::unique_ptr<Session> waiting_;  // between forward and backward
};

}  // namespace

std::unique_ptr<PyRollout> make_rollout(std::shared_ptr<const AnySystem> system, RolloutOptions options,
                                        bool fixed_worlds, bool single) {
  if (single)
    return std::make_unique<TypedRollout<float>>(std::move(system), std::move(options), fixed_worlds);
  return std::make_unique<TypedRollout<double>>(std::move(system), std::move(options), fixed_worlds);
}

}  // namespace costate::python
