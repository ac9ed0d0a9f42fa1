// A rod that conducts heat, as a System with its transpose by hand: docs/adding_a_physics.md.
//   build/bin/own_system
#include <cstdio>

// [system]
#include "costate/system/check/checks.h"
#include "costate/system/rollout.h"

// y_i = x_i + dt k (x_(i-1) - 2 x_i + x_(i+1)),  x_(-1) = u (a heater),  x_n = x_(n-1) (an insulated end)
class Rod final : public costate::System<double> {
 public:
  explicit Rod(std::int64_t cells) : n_(cells) {
    fields_.state("temperature", cells, "K").control("heater", 1, "K").parameter("k", 0.2, "1/s");
  }
  const costate::Signature& signature() const override { return fields_; }

  void step(const costate::StepContext&, const costate::Inputs<double>& in, double* y, double*,
            costate::Workspace&) const override {
    for (std::int64_t i = 0; i < n_; ++i) y[i] = in.x[i] + kDt * in.p[0] * bend(in.x, in.u[0], i);
  }

  // y is linear in (x, u) for a given k: the same line with tangents, and the part of k. Null means zero.
  void step_jvp(const costate::StepContext& at, const costate::Inputs<double>& in,
                const costate::Inputs<double>& in_dot, double* y, double* y_dot,
                costate::Workspace& work) const override {
    step(at, in, y, nullptr, work);
    const double u_dot = in_dot.u ? in_dot.u[0] : 0, k_dot = in_dot.p ? in_dot.p[0] : 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      y_dot[i] = kDt * k_dot * bend(in.x, in.u[0], i);
      if (in_dot.x)
        y_dot[i] += in_dot.x[i] + kDt * in.p[0] * bend(in_dot.x, u_dot, i);
      else if (i == 0)
        y_dot[i] += kDt * in.p[0] * u_dot;
    }
  }

  // Each place that a number is read from collects from the places that it was used in. x_bar is overwritten,
  // u_bar and p_bar are added to, and null means that nobody wants it.
  void step_vjp(const costate::StepContext&, const costate::Inputs<double>& in, const double*,
                const double* y_bar, const costate::Cotangents<double>& bar, const costate::Activity&,
                costate::Workspace&) const override {
    const double c = kDt * in.p[0];
    for (std::int64_t i = 0; i < n_; ++i) {
      const double left = i > 0 ? y_bar[i - 1] : 0, right = i + 1 < n_ ? y_bar[i + 1] : y_bar[i];
      bar.x[i] = y_bar[i] + c * (left - 2 * y_bar[i] + right);
    }
    if (bar.u) bar.u[0] += c * y_bar[0];
    if (bar.p)
      for (std::int64_t i = 0; i < n_; ++i) bar.p[0] += kDt * bend(in.x, in.u[0], i) * y_bar[i];
  }

 private:
  static constexpr double kDt = 0.5;
  double bend(const double* x, double heater, std::int64_t i) const {
    return (i > 0 ? x[i - 1] : heater) - 2 * x[i] + (i + 1 < n_ ? x[i + 1] : x[i]);
  }
  std::int64_t n_;
  costate::Signature fields_;
};
// [/system]

int main() {
  using namespace costate;
  // [use]
  const auto rod = std::make_shared<Rod>(100);
  Rollout<double> rollout(std::shared_ptr<const System<double>>(rod), {.steps = 400, .hold = 100});
  auto at = rollout.arguments();
  for (double& heater : at.controls) heater = 50;
  std::vector<double> wanted(100, 20.0);
  const auto objective = loss::final<double>(rod->signature(), "temperature", wanted);
  const auto g = rollout.value_and_gradient(at, *objective);
  std::printf("loss %.3f, d/d heater %.4f %.4f %.4f %.4f, d/d k %.3f\n", g.value, g.controls[0],
              g.controls[1], g.controls[2], g.controls[3], g.parameters["k"][0]);
  for (const auto& result : {check::dot_product(rollout, at), check::stencil(rollout, at, *objective)}) {
    std::printf("%s  %s\n", result.passed() ? "pass" : "FAIL", result.name.c_str());
    if (!result.passed()) return 1;
  }
  // [/use]
}
