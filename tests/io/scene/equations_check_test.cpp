
#include <gtest/gtest.h>

#include "costate/ode/sundials/sundials_backend.h"
#include "tests/io/scene/studies.h"

namespace costate::io::test {
namespace {

const check::Result& named(const std::vector<check::Result>& results, const std::string& name) {
  for (const check::Result& r : results) {
    if (r.name == name) return r;
  }
  throw std::runtime_error("no check " + name);
}

TEST(Check, ReferenceEquationsPass) {
  for (const char* file :
       {"lotka_volterra_final", "lotka_volterra_running", "lorenz", "van_der_pol", "drag", "bouncing_ball"}) {
    for (const check::Result& r : checked(reference(file)))
      EXPECT_TRUE(r.passed()) << file << ": " << r.name << ", error " << r.error << ", gate " << r.gate;
  }
}

TEST(Check, CvodesIsAskedWhereItAppliesAndSkippedWhereThereAreEvents) {
  EXPECT_EQ(named(checked(reference("lorenz")), "discrete against cvodes").skipped,
            !ode::sundials::available());
  EXPECT_TRUE(named(checked(reference("bouncing_ball")), "discrete against cvodes").skipped);
}

// A field whose transpose is wrong by one part in a million: what checks are for.
class WrongTranspose final : public ode::VectorField {
 public:
  explicit WrongTranspose(std::shared_ptr<const ode::VectorField> field) : field_(std::move(field)) {}
  int states() const override { return field_->states(); }
  int parameters() const override { return field_->parameters(); }
  std::size_t scratch_size() const override { return field_->scratch_size(); }
  void value(double t, const double* x, const double* p, double* dx, double* s) const override {
    field_->value(t, x, p, dx, s);
  }
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* dx_dot, double* s) const override {
    field_->jvp(t, x, p, t_dot, x_dot, p_dot, dx_dot, s);
  }
  void vjp(double t, const double* x, const double* p, const double* dx_bar, double* t_bar, double* x_bar,
           double* p_bar, double* s) const override {
    std::vector<double> wrong(dx_bar, dx_bar + states());
    wrong[0] *= 1 + 1e-6;
    field_->vjp(t, x, p, wrong.data(), t_bar, x_bar, p_bar, s);
  }

 private:
  std::shared_ptr<const ode::VectorField> field_;
};

TEST(Check, AnAdjointThatIsWrongByAMillionthFails) {
  Equations problem = reference("lorenz");
  problem.field = std::make_shared<WrongTranspose>(problem.field);
  const std::vector<check::Result> results = checked(problem);
  EXPECT_FALSE(named(results, "dot product").passed());
  EXPECT_FALSE(named(results, "stencil").passed());
  EXPECT_FALSE(named(results, "discrete against forward").passed());
}

// Wrong by a lot: even the Taylor test, which is weak, must see it.
TEST(Check, AWrongLossGradientFailsTheTaylorTest) {
  Equations problem = reference("van_der_pol");
  class Wrong final : public ode::Function {
   public:
    int states() const override { return 2; }
    int parameters() const override { return 1; }
    int outputs() const override { return 1; }
    void value(double, const double* x, const double*, double* y, double*) const override { *y = x[0]; }
    void jvp(double, const double*, const double*, double, const double* x_dot, const double*, double* y_dot,
             double*) const override {
      *y_dot = x_dot ? 1.01 * x_dot[0] : 0.0;
    }
    void vjp(double, const double*, const double*, const double* y_bar, double*, double* x_bar, double*,
             double*) const override {
      x_bar[0] += 1.01 * *y_bar;
    }
  };
  problem.terms[0].final = std::make_shared<Wrong>();
  const std::vector<check::Result> results = checked(problem);
  EXPECT_FALSE(named(results, "Taylor").passed());
  EXPECT_FALSE(named(results, "stencil").passed());
}

}  // namespace
}  // namespace costate::io::test
