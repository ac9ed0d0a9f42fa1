// Stages that a solution keeps spare its gradient work and change none of its bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/methods/method.h"
#include "costate/ode/solve.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

class StageMemory : public testing::TestWithParam<const char*> {};

// Samples, so that interpolants are differentiated too; time enters, so do three parameters.
TEST_P(StageMemory, ChangesNoBitOfAGradient) {
  const auto field = make_field<2, 3>(test::driven_pendulum);
  const OutputCotangents cotangents{
      .final = {1, -0.5}, .sample_times = {0.7, 0.71, 2.9}, .samples = {1, 2, 3, 4, 5, 6}};
  const auto run = [&](int keep_every, long stage_memory) {
    const Options options{.method = GetParam(),
                          .rtol = 1e-6,
                          .atol = {1e-6},
                          .keep_every = keep_every,
                          .stage_memory = stage_memory};
    const Solution s = solve(field, {0, 3}, {1, 0.2}, {2, 1.3, 0.4}, options);
    EXPECT_GT(s.counts.accepted, 5);
    Gradient g = gradient(s, cotangents);
    for (const OutputTangent& t : sensitivities(s, {{.y0 = {1, 0}}, {.p = {0, 1, 0}}}))
      g.x0.insert(g.x0.end(), t.final.begin(), t.final.end());
    return g;
  };
  const Gradient none = run(1, 0);
  for (const Gradient& g : {run(1, 1 << 20), run(1, 600), run(3, 1 << 20)}) {
    EXPECT_EQ(g.x0, none.x0);
    EXPECT_THAT(g.parameters["p"], testing::ElementsAreArray(none.parameters["p"]));
    EXPECT_EQ(g.t0, none.t0);
    EXPECT_EQ(g.t1, none.t1);
  }
}

TEST_P(StageMemory, ChangesNoBitAcrossEvents) {
  const auto field = make_field<2, 2>(test::falling);
  const auto run = [&](long stage_memory) {
    Options options{.method = GetParam(), .rtol = 1e-6, .atol = {1e-6}, .stage_memory = stage_memory};
    options.events = {{.name = "ground",
                       .guard = make_function<2, 2>(test::height),
                       .direction = -1,
                       .jump = make_function<2, 2>(test::bounce)}};
    const Solution s = solve(field, {0, 15}, {50, 0}, {0.8, 9.8}, options);
    EXPECT_EQ(s.events.size(), 3u);
    return gradient(s, OutputCotangents{.final = {1, 0}});
  };
  const Gradient kept = run(1 << 20), computed = run(0);
  EXPECT_EQ(kept.x0, computed.x0);
  EXPECT_THAT(kept.parameters["p"], testing::ElementsAreArray(computed.parameters["p"]));
  EXPECT_NEAR(kept.parameters["p"][0], 314.56883995768527, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Methods, StageMemory,
                         testing::Values("bs3", "dopri5", "tsit5", "dop853", "radau5", "rodas5p"));

// The stages as a compiled field runs them, against the same field seen through virtual calls alone.
class Opaque final : public VectorField {
 public:
  explicit Opaque(const VectorField& inner) : inner_(inner) {}
  int states() const override { return inner_.states(); }
  int parameters() const override { return inner_.parameters(); }
  void value(double t, const double* x, const double* p, double* dx, double* s) const override {
    inner_.value(t, x, p, dx, s);
  }
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* dx_dot, double* s) const override {
    inner_.jvp(t, x, p, t_dot, x_dot, p_dot, dx_dot, s);
  }
  void vjp(double t, const double* x, const double* p, const double* dx_bar, double* t_bar, double* x_bar,
           double* p_bar, double* s) const override {
    inner_.vjp(t, x, p, dx_bar, t_bar, x_bar, p_bar, s);
  }

 private:
  const VectorField& inner_;
};

TEST(CompiledStages, AgreeWithStagesThroughVirtualCalls) {
  // Eleven inputs are more than one strip of directions; seven states are more than the unrolled loops know.
  const auto narrow = make_field<2, 3>(test::driven_pendulum);
  const auto wide = make_field<7, 3>([](auto t, auto x, auto p) {
    std::array<decltype(p[0] * x[0] * t), 7> dx;
    for (int i = 0; i < 7; ++i)
      dx[std::size_t(i)] = p[i % 3] * (x[(i + 1) % 7] - x[i] * x[i]) * (1.0 + 0.1 * t);
    return dx;
  });
  const auto compare = [](const VectorField& field, const std::vector<double>& y0) {
    const Opaque opaque(field);
    const std::vector<double> p = {0.7, 0.4, 0.9};
    OutputCotangents bar{.final = std::vector<double>(y0.size(), 1.0), .sample_times = {0.4}, .samples = y0};
    for (const char* method : {"rk4", "dopri5", "dop853"}) {
      const Options options{.method = method, .dt = 0.25};
      const Gradient a = gradient(solve(field, {0, 2}, y0, p, options), bar),
                     b = gradient(solve(opaque, {0, 2}, y0, p, options), bar);
      for (std::size_t i = 0; i < y0.size(); ++i) EXPECT_NEAR(a.x0[i], b.x0[i], 1e-13) << method;
      for (std::size_t i = 0; i < p.size(); ++i)
        EXPECT_NEAR(a.parameters["p"][i], b.parameters["p"][i], 1e-13) << method;
      EXPECT_NEAR(a.t0, b.t0, 1e-13);
      EXPECT_NEAR(a.t1, b.t1, 1e-13);
    }
  };
  compare(narrow, {1, 0.2});
  compare(wide, {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4});
}

TEST(Methods, ImplicitOnesAreSolvedByName) {
  const auto field = make_field<3, 3>([](auto, auto y, auto p) {
    const auto a = p[0] * y[0], b = p[1] * y[1] * y[2], c = p[2] * y[1] * y[1];
    return std::array{b - a, a - b - c, 1.0 * c};
  });
  for (const char* method : {"radau5", "rodas5p"}) {
    const Solution s =
        solve(field, {0, 40}, {1, 0, 0}, {0.04, 1e4, 3e7}, {.method = method, .rtol = 1e-8, .atol = {1e-12}});
    EXPECT_NEAR(s.final_state()[0], 0.71582706872, 1e-8) << method;
    const Gradient g = gradient(s, OutputCotangents{.final = {1, 0, 0}});
    EXPECT_NEAR(g.parameters["p"][0], -4.24755877, 1e-7) << method;
    EXPECT_LT(s.counts.accepted, 400) << method;
  }
}

}  // namespace
}  // namespace costate::ode
