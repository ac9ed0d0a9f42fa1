// Planning: one step of the Riccati recursion at the size of a humanoid, iterations of iLQR on the humanoid,
// the linear MPC layer with its gradient, and updates of a twin. `rate` counts steps, iterations, problems
// and updates.
#include "bench/measure.h"
#include "costate/control/filter/twin.h"
#include "costate/control/plan/ddp.h"
#include "costate/control/quadratic/lq.h"
#include "costate/control/quadratic/riccati.h"
#include "costate/core/philox.h"
#include "costate/io/model/load_model.h"
#include "costate/io/model/mjcf.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/program/lambda_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

std::vector<double> noise(std::size_t count, double size, std::uint32_t seed) {
  std::vector<double> v(count);
  for (std::size_t i = 0; i < count; ++i) v[i] = size * normal<double>(seed, 0, 0, std::uint32_t(i));
  return v;
}
std::vector<double> identity(int n, double weight) {
  std::vector<double> v(std::size_t(n) * std::size_t(n));
  for (int i = 0; i < n; ++i) v[std::size_t(i * n + i)] = weight;
  return v;
}

void riccati(benchmark::State& state, int n, int m) {
  const auto A = noise(std::size_t(n * n), 0.1, 1), B = noise(std::size_t(n * m), 0.1, 2), Q = identity(n, 1),
             R = identity(m, 1), q = noise(std::size_t(n), 1, 3), r = noise(std::size_t(m), 1, 4);
  control::RiccatiStage stage(n, m);
  control::StageGains gains;
  std::vector<double> P = identity(n, 2), p = q, P_before(P.size()), p_before(p.size());
  for (auto _ : state) {
    stage.expand({A.data(), B.data(), nullptr, Q.data(), nullptr, R.data(), q.data(), r.data()}, P.data(),
                 p.data());
    if (!stage.gains(nullptr, 0, gains)) state.SkipWithError("not convex");
    stage.close(gains, P_before.data(), p_before.data());
    benchmark::DoNotOptimize(P_before.data());
  }
  report(state, {.items = 1});
}

// A model reaches for another pose, whose numbers q[first..last) are 0.1 off, from those bent and from
// controls u.
void reach(benchmark::State& state, rigid::Model model, std::int64_t steps, int first, int last,
           double bent = 0, double u = 0) {
  model.options.integrator = rigid::Integrator::euler;
  const rigid::SystemOptions options{.onset = rigid::Onset::none};
  control::Problem p;
  p.system = rigid::make_system<double>(model, options);
  p.parameters = Parameters<double>(p.system->signature());
  p.space = control::space_of(model);
  p.jacobians = control::rigid_jacobians(model, options, p.parameters);
  p.steps = steps;
  p.x0 = rigid::initial_state(model);
  for (int i = first; i < last; ++i) p.x0[std::size_t(i)] += bent;
  std::vector<std::int64_t> all;
  for (std::int64_t k = 1; k <= steps; ++k) all.push_back(k);
  std::vector<double> pose, still;
  for (std::int64_t k = 1; k <= steps; ++k) {
    for (int i = 0; i < model.nq; ++i)
      pose.push_back(p.x0[std::size_t(i)] + (i >= first && i < last ? 0.1 : 0.0));
    still.insert(still.end(), std::size_t(model.nv), 0.0);
  }
  const Signature& s = p.system->signature();
  p.objective =
      loss::sum<double>({loss::track<double>(s, "q", all, pose, 1.0),
                         loss::track<double>(s, "v", all, still, 1e-3), loss::effort<double>(s, 1e-3)});
  const int iterations = 5;
  for (auto _ : state) {
    const control::Plan plan = control::plan(p, std::vector<double>(std::size_t(s.controls()), u),
                                             {.iterations = iterations, .gradient_tolerance = 0});
    if (plan.iterations != iterations) state.SkipWithError(plan.reason.c_str());
  }
  report(state, {.items = double(iterations)});
}

// It stands; whole steps, contact with the floor.
void humanoid(benchmark::State& state, std::int64_t steps) {
  const rigid::Model model = rigid::load(COSTATE_SCENES "/humanoid.xml");
  reach(state, model, steps, 7, model.nq);
}

// Links on hinges, each with a motor, as in bench/peers/control_crocoddyl.py.
rigid::Model chain(int joints) {
  std::string open = "<mujoco><option timestep=\"0.01\" integrator=\"Euler\"/><worldbody>", close, motors;
  for (int i = 0; i < joints; ++i) {
    const std::string name = "joint" + std::to_string(i);
    open += "<body pos=\"0 0 " + std::string(i > 0 ? "0.3" : "0") + "\"><joint name=\"" + name +
            "\" axis=\"" + (i % 2 ? "0 0 1" : "0 1 0") +
            "\"/><inertial pos=\"0 0.02 0.15\" mass=\"3\" diaginertia=\"0.03 0.03 0.01\"/>";
    close += "</body>", motors += "<motor joint=\"" + name + "\"/>";
  }
  return rigid::compile(
      io::parse_mjcf(open + close + "</worldbody><actuator>" + motors + "</actuator></mujoco>"));
}

void quadrotor(benchmark::State& state) {
  rigid::Model model = rigid::load(COSTATE_SCENES "/quadrotor.xml");
  model.options.contact = false, model.options.timestep = 0.03;
  reach(state, model, 33, 0, 3, 0, 0.2 * 9.81);
}

// Crocoddyl's unicycle: Euler steps of 0.1 s, weights 10 and 1, compiled as it is there.
void unicycle(benchmark::State& state) {
  Signature s;
  s.state("x", 3).control("u", 2);
  control::Problem p;
  p.system = lambda_system<double, Sizes{.states = 3, .controls = 2}>(
      s,
      [](auto x, auto u, auto) {
        return std::array{u[0] * cos(x[2]), u[0] * sin(x[2]), u[1]};
      },
      euler(0.1), 8);
  p.parameters = Parameters<double>(p.system->signature());
  p.steps = 200;
  p.x0 = {-1, -1, 1};
  const auto last = [](auto x, auto, auto) { return 50.0 * (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); };
  const auto running = [=](auto x, auto u, auto c) {
    return last(x, u, c) + 0.5 * (u[0] * u[0] + u[1] * u[1]);
  };
  p.objective = loss::sum<double>(
      {loss::lambda<double>(s, running, loss::each_step()), loss::lambda<double>(s, last, loss::at_end())});
  double iterations = 0, runs = 0;
  for (auto _ : state) {
    const control::Plan plan =
        control::plan(p, std::vector<double>(2, 0.0), {.iterations = 6, .gradient_tolerance = 0});
    iterations += plan.iterations, ++runs;
  }
  report(state, {.items = iterations / runs});
}

// One linear-quadratic problem without bounds: a single pass.
void regulator(benchmark::State& state) {
  const int n = 37, m = 12;
  control::LinearQuadratic p;
  p.states = n, p.controls = m, p.steps = 100;
  p.A = noise(std::size_t(n * n), 0.1, 1), p.B = noise(std::size_t(n * m), 0.1, 2);
  p.Q = identity(n, 1), p.R = identity(m, 1), p.x0 = std::vector<double>(std::size_t(n), 1.0);
  for (auto _ : state) benchmark::DoNotOptimize(control::solve(p).u.data());
  report(state, {.items = 1});
}

void layer(benchmark::State& state, int n, bool gradient) {
  const int m = 2, count = 64;
  std::vector<control::LinearQuadratic> batch(count);
  for (int i = 0; i < count; ++i) {
    control::LinearQuadratic& p = batch[std::size_t(i)];
    p.states = n, p.controls = m, p.steps = 20;
    p.A = identity(n, 0.9), p.B = noise(std::size_t(n * m), 0.3, 1), p.Q = identity(n, 1),
    p.R = identity(m, 0.1);
    const auto move = noise(std::size_t(n * n), 0.05, 2);
    for (std::size_t j = 0; j < move.size(); ++j) p.A[j] += move[j];
    p.x0 = noise(std::size_t(n), 1, std::uint32_t(10 + i));
    p.lower.assign(m, -0.3), p.upper.assign(m, 0.3);
  }
  for (auto _ : state) {
    const auto solutions = control::solve(batch);
    if (!gradient) continue;
    std::vector<control::LinearQuadraticCotangent> bars(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) bars[i].u = solutions[i].u;
    benchmark::DoNotOptimize(control::solve_vjp(batch, solutions, bars).data());
  }
  report(state, {.items = double(count)});
}

// A twin of a cart-pole at 100 Hz takes in one measurement of both joints and tunes two masses and a damping:
// by the extended Kalman filter (window 0), or estimating the last steps anew.
void twin(benchmark::State& state, std::int64_t window) {
  rigid::Model model = rigid::load(COSTATE_SCENES "/cart_pole.xml");
  model.options.contact = false, model.options.timestep = 0.01;
  control::TwinProblem p;
  p.system = rigid::make_system<double>(model);
  const Signature& s = p.system->signature();
  p.parameters = Parameters<double>(s);
  p.measured = {loss::expression<double>(s, "q[0]"), loss::expression<double>(s, "q[1]")};
  p.measurement_noise = {1e-6, 1e-6};
  p.process_noise = identity(4, 1e-10), p.P0 = identity(4, 1e-4), p.x0 = {0, 0, 0, 0};
  p.tuned = {{.name = "body/cart/mass", .deviation = 0.1, .drift = 1e-3, .lower = 0.1},
             {.name = "body/pole/mass", .deviation = 0.02, .drift = 1e-3, .lower = 0.01},
             {.name = "joint/hinge/damping", .deviation = 0.01, .drift = 1e-4, .lower = 0}};
  p.window = window;
  control::Twin twin(p);
  Rollout<double> truth(p.system, {.steps = 1});
  Arguments<double> at = truth.arguments();
  at.x0 = p.x0;
  std::int64_t k = 0;
  const auto advance = [&] {
    at.controls = {0.3 * std::sin(0.1 * double(k)) + 0.2 * std::sin(0.31 * double(k))};
    at.x0 = truth.simulate(at).final_state;
    twin.step(at.controls, {at.x0[0] + 1e-3 * normal<double>(1, 0, std::uint64_t(k), 0),
                            at.x0[1] + 1e-3 * normal<double>(1, 0, std::uint64_t(k), 1)});
    ++k;
  };
  while (k < window + 10) advance();
  for (auto _ : state) advance();
  report(state, {.items = 1});
}

const bool registered = [] {
  const auto add = [](const std::string& name, auto f) {
    benchmark::RegisterBenchmark(name.c_str(), f)->UseRealTime();
  };
  add("control/riccati46/double/forward", [](benchmark::State& s) { riccati(s, 46, 17); });
  add("control/riccati54/double/forward", [](benchmark::State& s) { riccati(s, 54, 21); });
  add("control/unicycle200/double/forward", unicycle);
  add("control/lqr37/double/forward", regulator);
  add("control/ilqr_double_pendulum100/double/forward",
      [](benchmark::State& s) { reach(s, chain(2), 100, 0, 2, 0.2); });
  add("control/ilqr_arm100/double/forward", [](benchmark::State& s) { reach(s, chain(7), 100, 0, 7, 0.2); });
  add("control/ilqr_quadrotor33/double/forward", quadrotor);
  for (const std::int64_t steps : {48, 56})
    add("control/ilqr_humanoid" + std::to_string(steps) + "/double/forward",
        [=](benchmark::State& s) { humanoid(s, steps); });
  for (const std::int64_t window : {0, 20, 200})
    add("control/twin_window" + std::to_string(window) + "/double/forward",
        [=](benchmark::State& s) { twin(s, window); });
  for (const int n : {4, 12})
    for (const bool gradient : {false, true})
      add("control/box_mpc" + std::to_string(n) + "/double/" + (gradient ? "gradient" : "forward"),
          [=](benchmark::State& s) { layer(s, n, gradient); });
  return true;
}();

}  // namespace
}  // namespace costate::bench
