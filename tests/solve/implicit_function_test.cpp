#include "costate/solve/implicit_function.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "tests/expect_error.h"

namespace costate::solve {
namespace {

using costate::test::expect_error;

// z0 z1 = p0,  z0 + z1 = p1: the two numbers with a given product and sum.
class ProductAndSum : public NonlinearSystem {
 public:
  int unknowns() const override { return 2; }
  int parameters() const override { return 2; }
  void value(const double* z, const double* p, double* g) override {
    g[0] = z[0] * z[1] - p[0];
    g[1] = z[0] + z[1] - p[1];
  }
  void jacobian(const double* z, const double*, double* g_z) override {
    g_z[0] = z[1], g_z[1] = z[0], g_z[2] = 1, g_z[3] = 1;
  }
  void parameter_jvp(const double*, const double*, const double* p_dot, double* g_dot) override {
    g_dot[0] = -p_dot[0], g_dot[1] = -p_dot[1];
  }
  void parameter_vjp(const double*, const double*, const double* g_bar, double* p_bar) override {
    p_bar[0] -= g_bar[0], p_bar[1] -= g_bar[1];
  }
};

TEST(ImplicitFunction, DerivativesOfTheRootsMatchTheQuadraticFormula) {
  ProductAndSum system;
  ImplicitFunction implicit(system);
  const double p[] = {2.5, 4};
  double z[] = {5, 0};
  implicit.solve(p, z);
  const double root = std::sqrt(p[1] * p[1] - 4 * p[0]);  // z0 = (p1 + root)/2
  EXPECT_NEAR(z[0], (p[1] + root) / 2, 1e-14);
  implicit.linearise(z, p);

  const double z_bar[] = {1, 0};
  double p_bar[] = {10, 20};
  EXPECT_LT(implicit.vjp(z_bar, p_bar), 1e-15);
  EXPECT_NEAR(p_bar[0], 10 - 1 / root, 1e-13);  // added to what was there
  EXPECT_NEAR(p_bar[1], 20 + (1 + p[1] / root) / 2, 1e-13);

  const double p_dot[] = {0.3, -0.8};
  double z_dot[2];
  EXPECT_LT(implicit.jvp(p_dot, z_dot), 1e-15);
  EXPECT_NEAR(z_dot[0], (p_bar[0] - 10) * p_dot[0] + (p_bar[1] - 20) * p_dot[1], 1e-14);
}

TEST(ImplicitFunction, AFoldIsAnErrorNotANumber) {
  ProductAndSum system;
  ImplicitFunction implicit(system);
  const double p[] = {1, 2}, z[] = {1, 1};  // the double root
  expect_error([&] { return implicit.linearise(z, p); }, "the Jacobian of its equations is singular",
               "at a fold or a bifurcation");
}

TEST(ImplicitFunction, NoRootIsAnErrorThatSaysWhy) {
  ProductAndSum system;
  ImplicitFunction implicit(system);
  const double p[] = {2, 2};
  double z[] = {3, 0};
  try {
    implicit.solve(p, z);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("Newton's method found no root"), std::string::npos);
  }
}

}  // namespace
}  // namespace costate::solve
