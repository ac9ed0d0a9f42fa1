// Piecewise controls and events in one solution.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "costate/core/error.h"
#include "costate/ode/adjoints/continuous_adjoint.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/adjoints/hessian.h"
#include "costate/ode/controls.h"
#include "costate/ode/solve.h"
#include "tests/ode/controlled_problem.h"
#include "tests/ode/dual_field.h"

namespace costate::ode {
namespace {

using test::Inputs;
using test::stencil;
constexpr auto kHold = Controls::Interpolation::hold, kLinear = Controls::Interpolation::linear;

// A ball above a floor that the second control raises and lowers, in thin air, with a jet: parameters (e, g,
// jet, floor).
const auto ball = make_field<2, 4>([](auto t, auto x, auto p) {
  using std::cos;
  return std::array{1.0 * x[1], p[2] - p[1] - 0.1 * x[1] * x[1] + 0.2 * cos(t)};
});
const Event bounce{
    .name = "floor",
    .guard = make_function<2, 4>([](auto t, auto x, auto p) { return x[0] - 0.05 * p[3] - 0.02 * t; }),
    .direction = -1,
    .jump = make_function<2, 4>([](auto t, auto x, auto p) {
      return std::array{1.0 * x[0], -p[0] * x[1] + 0.05 * t * p[2]};
    })};
const Loss loss{.final = make_function<2, 4>([](auto t, auto x, auto p) {
                  return x[0] * x[1] * x[0] + p[2] * x[0] + 0.3 * t * x[1] + p[3];
                }),
                .samples = std::make_shared<test::ControlledSample>(std::vector<double>{0.312, 0.53, 1.11})};

class BouncingBall : public testing::TestWithParam<Controls::Interpolation> {
 protected:
  Inputs at() const {
    Inputs in{
        .t0 = 0.1, .t1 = 1.6, .y0 = {1.2, 0.3}, .p = {0.7, 9.8}, .u = {0.5, 0.4, 2, 0.3, -1, 0.5, 3, 0.2}};
    if (GetParam() == kLinear) in.u.insert(in.u.end(), {1.0, 0.1});
    return in;
  }
  Inputs direction() const {
    Inputs d{.y0 = {0.3, -0.4}, .p = {0.2, -0.6}, .u = {0.3, -0.1, 0.2, 0.5, -0.4, 0.1, 0.7, -0.2, 0.6, 0.3}};
    d.u.resize(at().u.size());
    return d;
  }
  Options options(const Inputs& in) const {
    return {.method = "dopri5",
            .rtol = 1e-13,
            .atol = {1e-13},
            .events = {bounce},
            .controls = {.values = in.u, .interpolation = GetParam()}};
  }
  Solution fixed(const Inputs& in) const {
    Options o = options(in);
    o.dt = 0.04;
    return solve(ball, {in.t0, in.t1}, in.y0, in.p, o);
  }
};
INSTANTIATE_TEST_SUITE_P(Interpolation, BouncingBall, testing::Values(kHold, kLinear),
                         [](const auto& tested) { return tested.param == kHold ? "hold" : "linear"; });

TEST_P(BouncingBall, EveryInputAgreesWithAStencilOnTheSameSteps) {
  const Inputs in = at();
  const Solution s = fixed(in);
  ASSERT_GE(s.events.size(), 2u);
  // Events in more than one interval, and an interval that begins with a restarted grid.
  EXPECT_NE(s.trajectory().steps[std::size_t(s.events.front().step)].row,
            s.trajectory().steps[std::size_t(s.events.back().step)].row);
  const Gradient g = gradient(s, loss);
  EXPECT_FALSE(g.dt.has_value());
  for (unsigned seed = 1; seed <= 20; ++seed)  // among the inputs: t0 and t1
    EXPECT_LT(test::dot_product_error(s, loss.samples->times(), seed), 1e-13) << seed;
  const auto by = [&](const std::function<void(Inputs&, double)>& move) {
    return stencil(
        [&](double e) {
          Inputs moved = in;
          move(moved, e);
          return evaluate(fixed(moved), loss).value;
        },
        2e-4);
  };
  const auto expect = [&](double got, double want, const std::string& what) {
    EXPECT_NEAR(got, want, 1e-9 * std::max(1.0, std::abs(want))) << what;
  };
  for (std::size_t i = 0; i < 2; ++i) expect(g.x0[i], by([&](Inputs& m, double e) { m.y0[i] += e; }), "y0");
  for (std::size_t i = 0; i < 2; ++i)
    expect(g.parameters["p"][i], by([&](Inputs& m, double e) { m.p[i] += e; }), "p");
  for (std::size_t i = 0; i < in.u.size(); ++i)
    expect(g.controls[i], by([&](Inputs& m, double e) { m.u[i] += e; }), "u" + std::to_string(i));
}

TEST_P(BouncingBall, ForwardReverseAndContinuousAdjointsAgree) {
  const Inputs in = at();
  for (const char* method : {"dopri5", "dop853", "rodas5p", "radau5"}) {
    SCOPED_TRACE(method);
    Options o = options(in);
    o.method = method;
    if (method[0] == 'r') o.rtol = 1e-9, o.atol = {1e-10};
    const Solution s = solve(ball, {in.t0, in.t1}, in.y0, in.p, o);
    const Gradient reverse = gradient(s, loss);
    std::vector<std::pair<Gradient, double>> others = {{forward_gradient(s, loss), 1e-12}};
    if (method[0] == 'd') {
      const AdjointOptions tight{.method = "dop853", .rtol = 1e-12, .atol = 1e-12};
      others.push_back({interpolating_adjoint(s, loss, tight), 1e-7});
      others.push_back({backsolve_adjoint(s, loss, tight), 1e-7});
    }
    for (const auto& [other, gate] : others) {
      SCOPED_TRACE(other.report.estimator);
      const auto expect = [gate](double a, double b) {
        EXPECT_NEAR(a, b, gate * std::max(1.0, std::abs(a)));
      };
      for (std::size_t i = 0; i < 2; ++i) expect(reverse.x0[i], other.x0[i]);
      for (std::size_t i = 0; i < 2; ++i) expect(reverse.parameters["p"][i], other.parameters["p"][i]);
      for (std::size_t i = 0; i < in.u.size(); ++i) expect(reverse.controls[i], other.controls[i]);
      expect(reverse.t0, other.t0);
      expect(reverse.t1, other.t1);
    }
    for (unsigned seed = 1; seed <= 20; ++seed)
      EXPECT_LT(test::dot_product_error(s, loss.samples->times(), seed), 1e-13) << seed;
  }
}

TEST_P(BouncingBall, HessianAgreesWithAStencilOfTheGradient) {
  const Inputs in = at(), d = direction();
  const Gradient h = hessian_vector(fixed(in), loss, {.y0 = d.y0, .p = d.p, .controls = d.u});
  const auto rate = [&](const std::function<double(const Gradient&)>& part) {
    return stencil([&](double e) { return part(gradient(fixed(moved(in, d, e)), loss)); }, 2e-4);
  };
  const auto expect = [](double got, double want) {
    EXPECT_NEAR(got, want, 1e-7 * std::max(1.0, std::abs(want)));
  };
  for (std::size_t i = 0; i < 2; ++i) expect(h.x0[i], rate([&](const Gradient& g) { return g.x0[i]; }));
  for (std::size_t i = 0; i < 2; ++i)
    expect(h.parameters["p"][i], rate([&](const Gradient& g) { return g.parameters["p"][i]; }));
  for (std::size_t i = 0; i < in.u.size(); ++i)
    expect(h.controls[i], rate([&](const Gradient& g) { return g.controls[i]; }));
}

const auto cart = make_field<2, 1>([](auto, auto x, auto u) { return std::array{1.0 * x[1], 1.0 * u[0]}; });

// x = t reaches 1 at the knot of [0, 2]. There v is halved; before it u = 0, after it u = 3.
TEST(ControlsAndEvents, AnEventAtTheVeryInstantOfAKnotHappensOnce) {
  const Event halve{.name = "gate",
                    .guard = make_function<2, 1>([](auto, auto x, auto) { return x[0] - 1.0; }),
                    .jump = make_function<2, 1>([](auto, auto x, auto) {
                      return std::array{1.0 * x[0], 0.5 * x[1]};
                    })};
  for (const double dt : {0.0, 0.25}) {
    const Solution s =
        solve(cart, {0, 2}, {0, 1}, {}, {.dt = dt, .events = {halve}, .controls = {.values = {0, 3}}});
    ASSERT_EQ(s.events.size(), 1u);
    EXPECT_NEAR(s.events[0].t, 1, 1e-15);
    EXPECT_NEAR(s.final_state()[1], 0.5 + 3, 1e-13);
    // One-sided: the event on the side of the first interval, or of the second, as it was found.
    const Gradient g = gradient(s, OutputCotangents{.final = {0, 1}});
    const Gradient f =
        forward_gradient(s, {.final = make_function<2, 1>([](auto, auto x, auto) { return 1.0 * x[1]; })});
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(g.x0[i], f.x0[i], 1e-13);
      EXPECT_NEAR(g.controls[i], f.controls[i], 1e-13);
    }
    EXPECT_NEAR(g.t1, f.t1, 1e-13);
  }
}

// The time at which a terminal event ends the solution depends on t1 through the knots alone.
TEST(ControlsAndEvents, ATerminalEventStillKnowsTheSpanThroughItsKnots) {
  const Event arrive{.name = "wall",
                     .guard = make_function<2, 1>([](auto, auto x, auto) { return x[0] - 1.0; }),
                     .terminal = true};
  const auto end = [&](double t1) {
    return solve(cart, {0, t1}, {0, 0}, {}, {.events = {arrive}, .controls = {.values = {1, 4, 4, 4}}});
  };
  const Solution s = end(4);
  EXPECT_EQ(s.status, Status::terminated);
  // v = 1 and x = 1/2 at the knot; 1/2 = s + 2 s^2 after it.
  EXPECT_NEAR(s.end_time(), 1 + (std::sqrt(5.0) - 1) / 4, 1e-12);
  const Gradient g = gradient(s, OutputCotangents{.end_time = 1});
  EXPECT_NEAR(g.t1, stencil([&](double e) { return end(4 + e).end_time(); }), 1e-9);
  EXPECT_EQ(g.controls[2], 0);
  EXPECT_EQ(g.controls[3], 0);
  EXPECT_NEAR(sensitivities(s, {{.t1 = 1}})[0].end_time, g.t1, 1e-13);
  EXPECT_NEAR(interpolating_adjoint(s, OutputCotangents{.end_time = 1}, {.rtol = 1e-12, .atol = 1e-12}).t1,
              g.t1, 1e-9);
}

TEST(ControlsAndEvents, AGuardThatAControlCarriesOverZeroHasNotCrossed) {
  const auto falling = make_field<1, 1>([](auto, auto x, auto) { return 0.0 * x[0] - 1.0; });
  const Event threshold{.name = "threshold",
                        .guard = make_function<1, 1>([](auto, auto x, auto u) { return x[0] - u[0]; })};
  // At t = 1 u jumps from above x to below it; later x falls through u.
  const Solution s =
      solve(falling, {0, 4}, {3}, {}, {.events = {threshold}, .controls = {.values = {4, 0.5, 0.5, 0.5}}});
  ASSERT_EQ(s.events.size(), 1u);
  EXPECT_NEAR(s.events[0].t, 2.5, 1e-12);
  EXPECT_NEAR(gradient(s, OutputCotangents{.event_times = {1}}).controls[2], -1, 1e-12);
}

// x' = -x + z, 0 = z - u: z follows the control.
struct FollowedControl {
  static constexpr int kStates = 2, kParameters = 1;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = x[1] - x[0];
    dx[1] = x[1] - p[0];
  }
};
TEST(ControlsAndEvents, AnAlgebraicEquationTakesControlsThatAreContinuous) {
  const test::DualField<FollowedControl> field({}, {1, 0, 0, 0});
  for (const char* method : {"rodas5p", "radau5"}) {
    SCOPED_TRACE(method);
    const auto run = [&](const std::vector<double>& u, Controls::Interpolation kind) {
      return solve(field, {0, 2}, {0, u[0]}, {},
                   {.method = method,
                    .rtol = 1e-10,
                    .atol = {1e-11},
                    .controls = {.values = u, .interpolation = kind}});
    };
    EXPECT_NO_THROW(run({1, 1}, kHold));
    try {
      run({1, 2}, kHold);
      FAIL() << "z would have to jump";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("jump in an algebraic equation"), std::string::npos);
    }
    // u = t, t in [0, 1], then 2 - t: x(2) = int e^(s-2) u(s) ds.
    const Solution s = run({0, 1, 0}, kLinear);
    EXPECT_NEAR(s.final_state()[1], 0, 1e-12);
    EXPECT_NEAR(s.final_state()[0], 1 - 2 * std::exp(-1.0) + std::exp(-2.0), 1e-8);
    EXPECT_NEAR(gradient(s, OutputCotangents{.final = {1, 0}}).controls[1], s.final_state()[0], 1e-8);
  }
}

}  // namespace
}  // namespace costate::ode
