#include "costate/ode/orbits/steady_state.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/ode/fields/mass_matrix.h"

namespace costate::ode {

class SteadyState::Equations : public solve::NonlinearSystem {
 public:
  Equations(const VectorField& field, double t)
      : field_(field), t_(t), scratch_(field.scratch_size()), ignored_(field.states()) {}
  int unknowns() const override { return field_.states(); }
  int parameters() const override { return field_.parameters(); }
  void value(const double* x, const double* p, double* f) override {
    field_.value(t_, x, p, f, scratch_.data());
  }
  void jacobian(const double* x, const double* p, double* f_x) override {
    field_.jacobian(t_, x, p, f_x, scratch_.data());
  }
  void parameter_jvp(const double* x, const double* p, const double* p_dot, double* f_dot) override {
    field_.jvp(t_, x, p, 0.0, nullptr, p_dot, f_dot, scratch_.data());
  }
  void parameter_vjp(const double* x, const double* p, const double* f_bar, double* p_bar) override {
    double t_bar = 0;
    field_.vjp(t_, x, p, f_bar, &t_bar, ignored_.data(), p_bar, scratch_.data());
  }

 private:
  const VectorField& field_;
  double t_;
  std::vector<double> scratch_, ignored_;
};

SteadyState::SteadyState(const VectorField& field, SteadyStateOptions options)
    : field_(field),
      options_(options),
      equations_(std::make_unique<Equations>(field, options.t)),
      implicit_(std::make_unique<solve::ImplicitFunction>(*equations_, options.newton)) {}

SteadyState::~SteadyState() = default;

// Pseudo-transient continuation until Newton's step is within sight. False with the reason if it gets
// nowhere.
bool SteadyState::follow_dynamics(const double* p, double* x, Result& result, std::string& failure) {
  const int n = field_.states();
  const MassMatrix mass(field_);
  std::vector<double> f(n), f_x(std::size_t(n) * n), dx(n), trial(n), f_trial(n), defect(n);
  solve::DenseLu<double> lu(n);
  const auto norm = [](const std::vector<double>& v) {
    double sum = 0;
    for (double e : v) sum += e * e;
    return std::sqrt(sum);
  };
  equations_->value(x, p, f.data());
  double size = norm(f), d = options_.first_pseudo_step;
  const double enough = 1e-6 * size;
  for (result.pseudo_steps = 0; result.pseudo_steps < options_.max_pseudo_steps; ++result.pseudo_steps) {
    if (size <= enough) return true;
    equations_->jacobian(x, p, f_x.data());
    for (int k = 0; k < n * n; ++k) lu.matrix()[k] = -f_x[k];
    mass.add_matrix(1 / d, lu.matrix(), n);
    if (!lu.factorise()) {
      d /= 2;
      continue;
    }
    lu.solve(f.data(), dx.data());
    for (int i = 0; i < n; ++i) trial[i] = x[i] + dx[i];
    equations_->value(trial.data(), p, f_trial.data());
    const double size_trial = norm(f_trial);
    // The step solved the linear model f + f_x dx = M dx/d: how far is f from it? A step across a fold is
    // far.
    std::copy(f_trial.begin(), f_trial.end(), defect.begin());
    mass.add(-1 / d, dx.data(), defect.data());
    const double trust = norm(defect) / size;
    if (!std::isfinite(size_trial) || trust > 0.5) {
      d /= 4;
      continue;
    }
    std::copy(trial.begin(), trial.end(), x);
    std::swap(f, f_trial);
    d *= std::max(trust < 0.1 ? 2.0 : 1.0, std::min(size / std::max(size_trial, 1e-300), 10.0));
    size = size_trial;
  }
  failure =
      "the dynamics do not settle in " + std::to_string(options_.max_pseudo_steps) + " pseudo-time steps";
  return false;
}

SteadyState::Result SteadyState::solve(const double* p, double* x) {
  const int n = field_.states();
  Result result;
  solve::Newton newton(n, options_.newton);
  std::vector<double> z(x, x + n);
  std::string newton_failure = "not tried";
  if (options_.newton_first) {
    const solve::NewtonResult direct = newton.solve(*equations_, p, z.data());
    result.newton_iterations = direct.iterations;
    result.residual = direct.residual;
    if (direct.converged) {
      std::copy(z.begin(), z.end(), x);
      return result;
    }
    newton_failure = direct.reason;
  }
  z.assign(x, x + n);
  std::string failure;
  if (follow_dynamics(p, z.data(), result, failure)) {
    const solve::NewtonResult last = newton.solve(*equations_, p, z.data());
    result.newton_iterations += last.iterations;
    result.residual = last.residual;
    if (last.converged) {
      std::copy(z.begin(), z.end(), x);
      return result;
    }
    failure = last.reason;
  }
  throw Error({"no steady state found: Newton's method from the start: " + newton_failure +
                   "; following the dynamics: " + failure,
               "", "start closer to the steady state, or check that there is one for these parameters"},
              Error::Kind::numerics);
}

void SteadyState::linearise(const double* x, const double* p) { implicit_->linearise(x, p); }
double SteadyState::jvp(const double* p_dot, double* x_dot) { return implicit_->jvp(p_dot, x_dot); }
double SteadyState::vjp(const double* x_bar, double* p_bar) { return implicit_->vjp(x_bar, p_bar); }

}  // namespace costate::ode
