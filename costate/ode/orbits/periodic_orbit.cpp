#include "costate/ode/orbits/periodic_orbit.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/core/error.h"
#include "costate/ode/methods/step_control.h"

namespace costate::ode {

// The shooting equations for z = (x0, T) on a frozen grid of fractions of the period.
class PeriodicOrbit::Shooting : public solve::NonlinearSystem {
 public:
  Shooting(const VectorField& field, Stepper& stepper)
      : field_(field), stepper_(stepper), n_(field.states()), scratch_(field.scratch_size()) {}

  int unknowns() const override { return n_ + 1; }
  int parameters() const override { return field_.parameters(); }
  long steps() const { return long(fraction_.size()); }

  void set_phase(std::vector<double> normal, double offset) { normal_ = std::move(normal), offset_ = offset; }
  bool has_phase() const { return !normal_.empty(); }

  // f at x, and an Error if it changes with time.
  std::vector<double> rate(const double* x, const double* p) {
    std::vector<double> f(n_), f_t(n_);
    for (const double t : {0.0, 0.37, 1.9}) {  // cos(t) does not change at once
      field_.jvp(t, x, p, 1.0, nullptr, nullptr, f_t.data(), scratch_.data());
      for (double e : f_t) {
        if (e != 0) {
          throw Error(
              {"the field depends on time: its periodic solutions have the period of its forcing, which "
               "shooting cannot choose",
               "", "give the period by a stroboscopic map, or make time a state"});
        }
      }
    }
    field_.value(0.0, x, p, f.data(), scratch_.data());
    return f;
  }

  // Chooses the fractions by error control along the solution from x over one period.
  void choose_steps(const double* z, const double* p, const PeriodicOrbitOptions& options) {
    const double period = z[n_];
    std::vector<double> x(z, z + n_), y(n_), error(n_), scale(n_);
    fraction_.clear();
    StepControl control(stepper_.error_order());
    double t = 0, h = period / 100;
    for (long tries = 0; t < period; ++tries) {
      if (tries >= options.max_steps) {
        throw Error({"one period takes more than " + std::to_string(options.max_steps) + " steps",
                     "periodic orbit, t = " + std::to_string(t), "raise max_steps, or loosen rtol"},
                    Error::Kind::numerics);
      }
      const bool last = t + 1.01 * h >= period;
      if (last) h = period - t;
      if (!stepper_.step({t, h, x.data(), p}, y.data(), error.data())) {
        h *= control.fail();
        continue;
      }
      for (int i = 0; i < n_; ++i)
        scale[i] = options.atol + options.rtol * std::max(std::abs(x[i]), std::abs(y[i]));
      const double size = stepper_.error_norm(error.data(), scale.data(), n_);
      if (!(size <= 1)) {
        h *= std::isfinite(size) ? control.reject(size) : control.fail();
        continue;
      }
      fraction_.push_back(h / period);
      t = last ? period : t + h;
      h *= control.accept(size);
      std::swap(x, y);
    }
    start_.resize(fraction_.size() * n_);
  }

  // F(x0, T, p), and the states at the starts of the steps. False: a step failed.
  bool march(const double* z, const double* p, double* x) {
    std::copy(z, z + n_, x);
    std::vector<double> y(n_);
    for (long k = 0; k < steps(); ++k) {
      std::copy(x, x + n_, start_.data() + k * n_);
      if (!stepper_.step(input(k, z, p), y.data(), nullptr)) return false;
      std::copy(y.begin(), y.end(), x);
    }
    return true;
  }

  void value(const double* z, const double* p, double* g) override {
    std::vector<double> x(n_);
    if (!(z[n_] > 0) || !march(z, p, x.data())) {
      std::fill(g, g + n_ + 1, std::numeric_limits<double>::infinity());
      return;
    }
    g[n_] = -offset_;
    for (int i = 0; i < n_; ++i) {
      g[i] = x[i] - z[i];
      g[n_] += normal_[i] * z[i];
    }
  }

  void jacobian(const double* z, const double* p, double* g_z) override {
    std::vector<double> x(n_), direction(n_), column(n_);
    march(z, p, x.data());
    const int rows = n_ + 1;
    for (int j = 0; j <= n_; ++j) {
      std::fill(direction.begin(), direction.end(), 0.0);
      if (j < n_) direction[j] = 1;
      march_jvp(z, p, direction, j == n_ ? 1.0 : 0.0, nullptr, column);
      for (int i = 0; i < n_; ++i) g_z[i * rows + j] = column[i] - (i == j ? 1.0 : 0.0);
      g_z[n_ * rows + j] = j < n_ ? normal_[j] : 0.0;
    }
  }

  void parameter_jvp(const double* z, const double* p, const double* p_dot, double* g_dot) override {
    std::vector<double> x(n_), zero(n_), out(n_);
    march(z, p, x.data());
    march_jvp(z, p, zero, 0.0, p_dot, out);
    std::copy(out.begin(), out.end(), g_dot);
    g_dot[n_] = 0;
  }

  void parameter_vjp(const double* z, const double* p, const double* g_bar, double* p_bar) override {
    std::vector<double> x(n_), y_bar(g_bar, g_bar + n_), x_bar(n_);
    march(z, p, x.data());
    double t_bar = 0, h_bar = 0;
    for (long k = steps(); k-- > 0;) {
      std::fill(x_bar.begin(), x_bar.end(), 0.0);
      stepper_.step_vjp(input(k, z, p), y_bar.data(), {&t_bar, &h_bar, x_bar.data(), p_bar});
      std::swap(x_bar, y_bar);
    }
  }

 private:
  // Autonomous: every step may start at t = 0.
  StepInput input(long k, const double* z, const double* p) const {
    return {0.0, fraction_[k] * z[n_], start_.data() + k * n_, p};
  }
  void march_jvp(const double* z, const double* p, std::vector<double> x_dot, double period_dot,
                 const double* p_dot, std::vector<double>& out) {
    for (long k = 0; k < steps(); ++k) {
      stepper_.step_jvp(input(k, z, p), {0.0, fraction_[k] * period_dot, x_dot.data(), p_dot}, out.data());
      std::swap(x_dot, out);
    }
    std::swap(x_dot, out);
  }

  const VectorField& field_;
  Stepper& stepper_;
  int n_;
  std::vector<double> scratch_, normal_;
  double offset_ = 0;
  std::vector<double> fraction_;  // w_k
  std::vector<double> start_;     // x at the start of each step of the last march
};

PeriodicOrbit::PeriodicOrbit(const VectorField& field, Stepper& stepper, PeriodicOrbitOptions options)
    : shooting_(std::make_unique<Shooting>(field, stepper)),
      implicit_(std::make_unique<solve::ImplicitFunction>(*shooting_, options.newton)),
      options_(std::move(options)),
      z_(field.states() + 1),
      p_(field.parameters()) {
  if (!field.mass().empty()) throw Error("periodic orbits are found for fields without a mass matrix");
  if (stepper.memory() > 0)
    throw Error(std::string("periodic orbits need a one-step method, not ") + stepper.name());
  if (stepper.error_order() == 0)
    throw Error(std::string("periodic orbits need a method with an error estimate, not ") + stepper.name());
  if (!options_.normal.empty() && int(options_.normal.size()) != field.states()) {
    throw Error("the normal of the phase condition needs one component per state");
  }
}

PeriodicOrbit::~PeriodicOrbit() = default;

PeriodicOrbit::Result PeriodicOrbit::solve(const double* p, double* x0, double* period) {
  const int n = int(z_.size()) - 1;
  if (!(*period > 0)) throw Error("the guess of a period must be positive");
  std::copy(x0, x0 + n, z_.begin());
  z_[n] = *period;
  std::copy(p, p + p_.size(), p_.begin());

  std::vector<double> normal = options_.normal;
  double offset = options_.offset;
  const std::vector<double> f = shooting_->rate(x0, p);
  if (normal.empty()) {
    double size = 0;
    for (double e : f) size += e * e;
    if (size == 0) throw Error("the guess of a periodic orbit is a steady state");
    normal = f;
    offset = 0;
    for (int i = 0; i < n; ++i) normal[i] /= std::sqrt(size), offset += normal[i] * x0[i];
  }
  shooting_->set_phase(normal, offset);

  Result result;
  for (int pass = 0; pass < 2; ++pass) {  // steps along the guess, then along the orbit
    shooting_->choose_steps(z_.data(), p, options_);
    solve::Newton newton(n + 1, options_.newton);
    const solve::NewtonResult found = newton.solve(*shooting_, p, z_.data());
    if (!found.converged) {
      throw Error(
          {"no periodic orbit found: " + found.reason, "", "start closer to the orbit and to its period"},
          Error::Kind::numerics);
    }
    result.newton_iterations += found.iterations;
    result.residual = found.residual;
  }
  double moved = 0;
  for (double e : shooting_->rate(z_.data(), p)) moved = std::max(moved, std::abs(e) * z_[n]);
  double extent = options_.atol;
  for (int i = 0; i < n; ++i) extent = std::max(extent, std::abs(z_[i]));
  if (moved <= 1e-6 * extent) {
    throw Error({"shooting came to rest at a steady state, which is periodic with any period", "",
                 "start closer to the orbit, further from the steady state"},
                Error::Kind::numerics);
  }
  result.steps = shooting_->steps();
  implicit_->linearise(z_.data(), p_.data());
  std::copy(z_.begin(), z_.begin() + n, x0);
  *period = z_[n];
  return result;
}

double PeriodicOrbit::jvp(const double* p_dot, double* x0_dot, double* period_dot) {
  std::vector<double> z_dot(z_.size());
  const double left = implicit_->jvp(p_dot, z_dot.data());
  std::copy(z_dot.begin(), z_dot.end() - 1, x0_dot);
  *period_dot = z_dot.back();
  return left;
}

double PeriodicOrbit::vjp(const double* x0_bar, double period_bar, double* p_bar) {
  std::vector<double> z_bar(x0_bar, x0_bar + z_.size() - 1);
  z_bar.push_back(period_bar);
  return implicit_->vjp(z_bar.data(), p_bar);
}

std::vector<double> PeriodicOrbit::monodromy() const {
  const int n = int(z_.size()) - 1;
  std::vector<double> g_z(z_.size() * z_.size()), m(std::size_t(n) * n);
  shooting_->jacobian(z_.data(), p_.data(), g_z.data());
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) m[i * n + j] = g_z[i * (n + 1) + j] + (i == j ? 1.0 : 0.0);
  }
  return m;
}

std::vector<std::complex<double>> PeriodicOrbit::multipliers() const {
  const int n = int(z_.size()) - 1;
  const std::vector<double> m = monodromy();
  const Eigen::EigenSolver<Eigen::MatrixXd> solver(
      Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(m.data(), n,
                                                                                               n),
      false);
  std::vector<std::complex<double>> values(solver.eigenvalues().data(), solver.eigenvalues().data() + n);
  std::sort(values.begin(), values.end(), [](auto a, auto b) { return std::abs(a) > std::abs(b); });
  return values;
}

}  // namespace costate::ode
