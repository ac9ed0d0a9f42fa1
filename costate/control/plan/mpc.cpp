#include "costate/control/plan/mpc.h"

#include <algorithm>
#include <chrono>

#include "costate/control/dense.h"
#include "costate/control/plan/constrained.h"
#include "costate/core/error.h"

namespace costate::control {
namespace {

void expect_state(const Problem& problem, const std::vector<double>& x) {
  if (x.size() != problem.x0.size())
    throw Error("the state has " + std::to_string(x.size()) + " numbers instead of " +
                std::to_string(problem.x0.size()));
}

void put_inside(const Problem& problem, double* u, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!problem.lower.empty()) u[i] = std::max(u[i], problem.lower[i]);
    if (!problem.upper.empty()) u[i] = std::min(u[i], problem.upper[i]);
  }
}

// Row `ahead` of a plan, corrected by its feedback.
std::vector<double> act(const Problem& problem, const StateSpace& space, const Plan& plan,
                        const std::vector<double>& x, std::int64_t ahead) {
  const std::int64_t k = std::min(ahead, problem.steps - 1), n = space.states(), nt = space.tangents(),
                     m = std::int64_t(plan.u.size()) / problem.steps;
  Vector u = VectorIn(&plan.u[std::size_t(k * m)], m), dx(nt);
  if (!plan.K.empty()) {
    space.difference(x.data(), &plan.x[std::size_t(k * n)], dx.data());
    u += MatrixIn(&plan.K[std::size_t(k * m * nt)], m, nt) * dx;
  }
  put_inside(problem, u.data(), std::size_t(m));
  return numbers_of(u);
}

}  // namespace

Mpc::Mpc(Problem problem, const std::vector<double>& controls, MpcOptions options)
    : options_(std::move(options)) {
  problem.x0.assign(std::size_t(problem.system ? problem.system->signature().states() : 0), 0.0);
  check(problem);
  check(options_.ddp);
  const auto m = std::size_t(problem.system->signature().controls()), N = std::size_t(problem.steps);
  if (controls.size() != m && controls.size() != N * m)
    throw Error("the controls to start from have " + std::to_string(controls.size()) +
                " numbers instead of " + std::to_string(m) + " or " + std::to_string(N * m));
  for (std::size_t i = 0; i < N * m; ++i) plan_.u.push_back(controls[controls.size() == m ? i % m : i]);
  if (options_.ddp.method == Method::ddp && !problem.system->capabilities().second_order)
    throw Error({"the system has no second derivatives, which DDP needs", {}, "use Method::ilqr"});
  solver_ = std::make_unique<DdpSolver>(std::move(problem), options_.ddp);
}
Mpc::~Mpc() = default;
Mpc::Mpc(Mpc&&) noexcept = default;

const Plan& Mpc::update(const std::vector<double>& x, std::int64_t shift) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  DdpSolver& s = *solver_;
  const std::size_t m = plan_.u.size() / std::size_t(s.problem.steps), N = std::size_t(s.problem.steps);
  expect_state(s.problem, x);
  if (shift < 0) throw Error("time does not run backwards: shift is " + std::to_string(shift));
  const auto by = fresh_ ? 0 : std::min(std::size_t(shift), N);
  // The controls that the last plan's feedback gives from here: without it an unstable system would fall
  // before the first iteration. The last control is held for the steps that are new.
  const Plant& plant = s.expansion.plant();
  std::vector<double> u, states = x, at = x, y(x.size());
  auto block = plant.take();
  for (std::size_t k = 0; k < N; ++k) {
    std::vector<double> now =
        plan_.x.empty() || k + by >= N
            ? std::vector<double>(plan_.u.end() - std::ptrdiff_t((N - std::min(k + by, N - 1)) * m),
                                  plan_.u.end() - std::ptrdiff_t((N - std::min(k + by, N - 1) - 1) * m))
            : act(s.problem, plant.space(), plan_, at, std::int64_t(k + by));
    put_inside(s.problem, now.data(), m);
    u.insert(u.end(), now.begin(), now.end());
    plant.step(std::int64_t(k), at.data(), now.data(), y.data(), *block);
    at = y;
    states.insert(states.end(), at.begin(), at.end());
  }
  plant.give_back(std::move(block));
  for (auto& of : s.multipliers.y) {
    for (std::size_t k = 0; k + 1 < of.size(); ++k) of[k] = k + by + 1 < of.size() ? of[k + by] : 0.0;
  }
  s.iterations = 0;
  s.out_of_time = options_.ddp.budget_s > 0 ? deadline(options_.ddp.budget_s) : std::function<bool()>();
  s.resume(std::move(states), std::move(u));
  if (s.problem.constraints.empty())
    s.descend(options_.ddp.gradient_tolerance, options_.ddp.value_tolerance);
  else
    solve_constrained(s);
  s.finish_gains();
  plan_ = s.result();
  fresh_ = false;
  const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
  if (options_.ddp.budget_s > 0 && spent > options_.ddp.budget_s) ++late_;
  return plan_;
}

void Mpc::set_parameters(const Parameters<double>& parameters, Jacobians jacobians) {
  DdpSolver& s = *solver_;
  if (s.problem.jacobians && !jacobians)
    throw Error({"the Jacobians of this problem are those of its first parameters",
                 {},
                 "give new ones too: rigid_jacobians(model, options, parameters)"});
  s.expansion.set_parameters(parameters);
  s.problem.parameters = parameters, s.problem.jacobians = std::move(jacobians);
  s.forget_expansion();
}

void Mpc::start(const Plan& plan) {
  const Plant& plant = solver_->expansion.plant();
  const auto N = std::size_t(solver_->problem.steps), n = std::size_t(plant.states()),
             m = std::size_t(plant.controls()), nt = std::size_t(plant.tangents());
  const auto fits = [](const std::vector<double>& v, std::size_t size) {
    return v.empty() || v.size() == size;
  };
  if (plan.u.size() != N * m || !fits(plan.x, (N + 1) * n) || !fits(plan.K, N * m * nt))
    throw Error({"this plan has " + std::to_string(plan.u.size()) + " controls instead of " +
                     std::to_string(N * m) + ", or states or gains of another problem",
                 {},
                 "start from a plan of the same system over the same steps"});
  plan_ = plan, fresh_ = true;
}

std::vector<double> Mpc::control(const std::vector<double>& x, std::int64_t ahead) const {
  if (plan_.x.empty()) throw Error("there is no plan yet: call update first");
  expect_state(solver_->problem, x);
  if (ahead < 0) throw Error("a plan begins at its start: ahead is " + std::to_string(ahead));
  return act(solver_->problem, solver_->expansion.plant().space(), plan_, x, ahead);
}

AsyncMpc::AsyncMpc(Mpc mpc) : mpc_(std::move(mpc)), thread_([this] { run(); }) {}

AsyncMpc::~AsyncMpc() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void AsyncMpc::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || seen_at_ > taken_at_; });
    if (stopping_) return;
    const std::vector<double> x = seen_;
    const std::int64_t at = seen_at_, shift = taken_at_ < 0 ? 0 : at - taken_at_;
    taken_at_ = at;
    auto news = std::exchange(news_, std::nullopt);
    lock.unlock();
    std::exception_ptr error;
    Plan plan;
    try {
      if (news) mpc_.set_parameters(news->first, std::move(news->second));
      plan = mpc_.update(x, shift);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    if (!error) plan_ = std::move(plan), planned_at_ = at, ++plans_, late_ = mpc_.late();
    finished_at_ = at;
    changed_.notify_all();
  }
}

void AsyncMpc::observe(const std::vector<double>& x, std::int64_t k) {
  {
    const std::lock_guard lock(mutex_);
    if (k <= seen_at_) throw Error("step " + std::to_string(k) + " was seen before: steps grow");
    seen_ = x, seen_at_ = k;
  }
  changed_.notify_all();
}

void AsyncMpc::set_parameters(const Parameters<double>& parameters, Jacobians jacobians) {
  const std::lock_guard lock(mutex_);
  news_.emplace(parameters, std::move(jacobians));
}

std::vector<double> AsyncMpc::control(const std::vector<double>& x, std::int64_t k) {
  std::unique_lock lock(mutex_);
  if (seen_at_ < 0) throw Error("there is no plan yet: call observe first");
  expect_state(mpc_.problem(), x);
  changed_.wait(lock, [&] { return planned_at_ >= 0 || error_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return act(mpc_.problem(), mpc_.space(), plan_, x, std::max<std::int64_t>(0, k - planned_at_));
}

void AsyncMpc::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_at_ == seen_at_; });
}
int AsyncMpc::plans() const {
  const std::lock_guard lock(mutex_);
  return plans_;
}
int AsyncMpc::late() const {
  const std::lock_guard lock(mutex_);
  return late_;
}

const Problem& Mpc::problem() const { return solver_->problem; }
const StateSpace& Mpc::space() const { return solver_->expansion.plant().space(); }

}  // namespace costate::control
