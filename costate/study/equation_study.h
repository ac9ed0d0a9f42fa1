// EquationStudy: a study of differential equations: adaptive, stiff and fixed steps, events, algebraic
// equations.
// Tests: tests/io/scene/equations_test.cpp.
#pragma once

#include "costate/study/equations.h"

namespace costate::study {

class EquationStudy final : public Study {
 public:
  explicit EquationStudy(Equations equations);

  const Equations& equations() const { return equations_; }

  // All numbers of the start, the parameters and the controls.
  std::vector<Variable> inputs(bool scaled) const override;
  std::int64_t steps() const override { return 0; }
  bool has_loss() const override { return !equations_.terms.empty(); }
  NamedTexts facts() const override;
  std::string headline() const override;
  std::string identity() const override;

  double value(const std::vector<double>& z) override;
  double value_and_gradient(const std::vector<double>& z, double* gradient) override;
  std::vector<Derivative> further_derivatives() const override { return further_; }
  void use_adjoint(const std::string& name) override;
  Run run(const std::vector<double>& z, const RunOptions& options = {}) override;
  int residuals() const override;
  void residuals(const std::vector<double>& z, double* residual, double* jacobian) override;

  void curvature(const std::vector<double>& z, const std::vector<double>& weights, double* hessian) override;
  check::Result dot_product(std::uint64_t seed) override;
  Stencil stencil() const override;
  bool has_modes() const override { return false; }
  std::vector<check::Result> comparisons() override;

 private:
  Equations at(const std::vector<double>& z) const;
  void require_loss() const;

  Equations equations_;
  std::string adjoint_ = "discrete";
  std::vector<Derivative> further_;
};

}  // namespace costate::study
