#include "costate/solve/newton.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/float_traps.h"

namespace costate::solve {
namespace {

// One equation from two functions, without parameters.
class Scalar : public NonlinearSystem {
 public:
  Scalar(double (*g)(double), double (*slope)(double)) : g_(g), slope_(slope) {}
  int unknowns() const override { return 1; }
  int parameters() const override { return 0; }
  void value(const double* z, const double*, double* g) override { *g = g_(*z), ++evaluations; }
  void jacobian(const double* z, const double*, double* g_z) override { *g_z = slope_(*z); }
  void parameter_jvp(const double*, const double*, const double*, double* g_dot) override { *g_dot = 0; }
  void parameter_vjp(const double*, const double*, const double*, double*) override {}
  int evaluations = 0;

 private:
  double (*g_)(double);
  double (*slope_)(double);
};

TEST(Newton, FindsARootToRoundOff) {
  Scalar system([](double z) { return z * z - 2; }, [](double z) { return 2 * z; });
  double z = 1;
  const NewtonResult r = Newton(1).solve(system, nullptr, &z);
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_DOUBLE_EQ(z, std::sqrt(2.0));
  EXPECT_LE(r.iterations, 7);
}

TEST(Newton, DampingSavesAStartWhereFullStepsDiverge) {  // atan from 3: the undamped iteration overshoots
                                                         // further each time
  Scalar system([](double z) { return std::atan(z); }, [](double z) { return 1 / (1 + z * z); });
  double z = 3;
  const NewtonResult r = Newton(1).solve(system, nullptr, &z);
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_NEAR(z, 0, 1e-12);
}

TEST(Newton, StepsBackFromWhereTheEquationsAreNotFinite) {
  const test::AllowFloatExceptions nan_ahead;
  Scalar system([](double z) { return std::log(z); }, [](double z) { return 1 / z; });
  double z = 8;  // the full step lands at a negative number
  const NewtonResult r = Newton(1).solve(system, nullptr, &z);
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_NEAR(z, 1, 1e-14);
}

TEST(Newton, SaysWhyItFailed) {
  Scalar no_root([](double z) { return z * z + 1; }, [](double z) { return 2 * z; });
  double z = 1;
  NewtonResult r = Newton(1).solve(no_root, nullptr, &z);
  EXPECT_FALSE(r.converged);
  EXPECT_NE(r.reason.find("singular"), std::string::npos)
      << r.reason;  // it comes to rest at the minimum, z = 0

  z = 2;
  r = Newton(1, {.max_iterations = 2}).solve(no_root, nullptr, &z);
  EXPECT_FALSE(r.converged);
  EXPECT_NE(r.reason.find("no convergence in 2 iterations"), std::string::npos) << r.reason;
}

TEST(Newton, ResidualToleranceEndsEarly) {
  Scalar system([](double z) { return z * z - 2; }, [](double z) { return 2 * z; });
  double z = 1;
  const NewtonResult r = Newton(1, {.residual_tolerance = 1e-2}).solve(system, nullptr, &z);
  EXPECT_TRUE(r.converged);
  EXPECT_LE(r.residual, 1e-2);
  EXPECT_GT(r.residual, 1e-8);
}

}  // namespace
}  // namespace costate::solve
