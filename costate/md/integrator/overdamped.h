// Overdamped Langevin dynamics, dx = b F dt + sqrt(2 kT b) dW with the mobility b = 1 / (m friction): the
// limit of Langevin's equation of the same friction for long times. Unequal masses precondition the motion.
//
//   E   Euler-Maruyama   x' = x + h b F(x) + n,                             n = sqrt(2 kT b h) xi
//   G   descent          x' = x + h b F(x): the same without noise, which comes to rest at a minimum
//   H   Heun             x* = x + h b F(x) + n,  x' = x + h b (F(x) + F(x*)) / 2 + n
//   R   preconditioned   x' = x + h R R' F(x) + sqrt(2 kT h) R xi: Euler-Maruyama with the mobility R R' of
//                        all coordinates in the place of b
//
// Transposes as in the code, last line first. The cotangent of n reaches kT, b and h through
// dn = n/2 (dkT/kT + db/b + dh/h). Of R, with q = R' x'_bar and a = sqrt(2 kT h):
//   F_bar = h R q,   R_bar = x'_bar (h R'F + a xi)' + h F q',   h_bar = F.(R q) + a xi.q / (2 h)
// Tests: tests/md/integrator_test.cpp, equilibrium_test.cpp.
#pragma once

#include "costate/md/integrator/part.h"

namespace costate::md {

// Sums that both letters collect for the numbers that all atoms share.
template <class S>
struct OverdampedSums {
  S noise = S(0), drift = S(0), mobility = S(0);  // n.n_bar, b F.x_bar, b b_bar

  void add_to(Part<S>& c) const {
    c.p_bar[c.at.kT] += S(0.5) * noise / c.p[c.at.kT];
    c.p_bar[c.at.friction] -= mobility / c.p[c.at.friction];
    c.h_bar += drift + S(0.5) * noise / c.h;
  }
};

template <class S>
struct Mobility {
  S b, amplitude;
  Mobility(const Part<S>& c, int atom) {
    using costate::sqrt;
    b = S(1) / (c.p[c.at.mass + atom] * c.p[c.at.friction]);
    amplitude = sqrt(S(2) * c.p[c.at.kT] * b * c.h);
  }
};

struct EulerMaruyama {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    const int n = c.at.dimensions;
    S* x = s + c.at.x;
    for (int atom = 0; atom < c.at.atoms; ++atom) {
      const Mobility<S> m(c, atom);
      for (int i = atom * n; i < atom * n + n; ++i) x[i] += c.h * m.b * c.force[i] + m.amplitude * c.xi[i];
    }
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const int n = c.at.dimensions;
    S *x_bar = bar + c.at.x, *f_bar = c.work;
    OverdampedSums<S> sums;
    for (int atom = 0; atom < c.at.atoms; ++atom) {
      const Mobility<S> m(c, atom);
      S noise(0), drift(0);
      for (int i = atom * n; i < atom * n + n; ++i) {
        noise += m.amplitude * c.xi[i] * x_bar[i];
        drift += m.b * c.force[i] * x_bar[i];
        f_bar[i] = c.h * m.b * x_bar[i];
      }
      const S mobility = c.h * drift + S(0.5) * noise;
      c.p_bar[c.at.mass + atom] -= mobility / c.p[c.at.mass + atom];
      sums.noise += noise, sums.drift += drift, sums.mobility += mobility;
    }
    sums.add_to(c);
    c.forces.evaluate_vjp(s + c.at.x, c.p, f_bar, x_bar, c.p_bar);
  }
};

struct Descent {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    const int n = c.at.dimensions;
    for (int atom = 0; atom < c.at.atoms; ++atom) {
      const S step = c.h / (c.p[c.at.mass + atom] * c.p[c.at.friction]);
      for (int i = atom * n; i < atom * n + n; ++i) s[c.at.x + i] += step * c.force[i];
    }
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const int n = c.at.dimensions;
    S *x_bar = bar + c.at.x, *f_bar = c.work, sum(0);
    for (int atom = 0; atom < c.at.atoms; ++atom) {
      const S step = c.h / (c.p[c.at.mass + atom] * c.p[c.at.friction]);
      S work(0);
      for (int i = atom * n; i < atom * n + n; ++i) {
        work += step * c.force[i] * x_bar[i];
        f_bar[i] = step * x_bar[i];
      }
      c.p_bar[c.at.mass + atom] -= work / c.p[c.at.mass + atom];
      sum += work;
    }
    c.p_bar[c.at.friction] -= sum / c.p[c.at.friction];
    c.h_bar += sum / c.h;
    c.forces.evaluate_vjp(s + c.at.x, c.p, f_bar, x_bar, c.p_bar);
  }
};

struct Heun {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    const int n = c.at.dimensions;
    S *x = s + c.at.x, *trial = c.work, *trial_force = c.work + c.at.dof;
    predict(c, x, trial, trial_force);
    for (int atom = 0; atom < c.at.atoms; ++atom) {
      const Mobility<S> m(c, atom);
      for (int i = atom * n; i < atom * n + n; ++i)
        x[i] += S(0.5) * c.h * m.b * (c.force[i] + trial_force[i]) + m.amplitude * c.xi[i];
    }
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const int n = c.at.dimensions, dof = c.at.dof;
    S *x_bar = bar + c.at.x, *trial = c.work, *trial_force = c.work + dof, *f_bar = c.work + 2 * dof;
    predict(c, s + c.at.x, trial, trial_force);
    // Corrector. Its force reaches the trial position, whose cotangent is collected in trial_bar.
    OverdampedSums<S> sums;
    for (int atom = 0; atom < c.at.atoms; ++atom) {
      const Mobility<S> m(c, atom);
      S noise(0), drift(0);
      for (int i = atom * n; i < atom * n + n; ++i) {
        noise += m.amplitude * c.xi[i] * x_bar[i];
        drift += S(0.5) * m.b * (c.force[i] + trial_force[i]) * x_bar[i];
        f_bar[i] = S(0.5) * c.h * m.b * x_bar[i];
      }
      const S mobility = c.h * drift + S(0.5) * noise;
      c.p_bar[c.at.mass + atom] -= mobility / c.p[c.at.mass + atom];
      sums.noise += noise, sums.drift += drift, sums.mobility += mobility;
    }
    S* trial_bar = trial_force;  // the force itself has been used
    for (int i = 0; i < dof; ++i) trial_bar[i] = S(0);
    c.forces.evaluate_vjp(trial, c.p, f_bar, trial_bar, c.p_bar);
    // Predictor.
    for (int atom = 0; atom < c.at.atoms; ++atom) {
      const Mobility<S> m(c, atom);
      S noise(0), drift(0);
      for (int i = atom * n; i < atom * n + n; ++i) {
        noise += m.amplitude * c.xi[i] * trial_bar[i];
        drift += m.b * c.force[i] * trial_bar[i];
        f_bar[i] += c.h * m.b * trial_bar[i];  // on top of what the corrector gave to F(x)
        x_bar[i] += trial_bar[i];
      }
      const S mobility = c.h * drift + S(0.5) * noise;
      c.p_bar[c.at.mass + atom] -= mobility / c.p[c.at.mass + atom];
      sums.noise += noise, sums.drift += drift, sums.mobility += mobility;
    }
    sums.add_to(c);
    c.forces.evaluate_vjp(s + c.at.x, c.p, f_bar, x_bar, c.p_bar);
  }

 private:
  template <class S>
  static void predict(const Part<S>& c, const S* x, S* trial, S* trial_force) {
    const int n = c.at.dimensions;
    for (int atom = 0; atom < c.at.atoms; ++atom) {
      const Mobility<S> m(c, atom);
      for (int i = atom * n; i < atom * n + n; ++i)
        trial[i] = x[i] + c.h * m.b * c.force[i] + m.amplitude * c.xi[i];
    }
    c.forces.evaluate(trial, c.p, c.at.dof, trial_force);
  }
};

struct Preconditioned {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    const int n = c.at.dof;
    const S *R = c.p + c.at.preconditioner, amplitude = noise(c);
    S* push = c.work;  // h R'F + a xi
    transposed(c, c.force, push);
    for (int j = 0; j < n; ++j) push[j] = c.h * push[j] + amplitude * c.xi[j];
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) s[c.at.x + i] += R[i * n + j] * push[j];
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const int n = c.at.dof;
    const S *R = c.p + c.at.preconditioner, amplitude = noise(c);
    S *x_bar = bar + c.at.x, *q = c.work, *g = c.work + n, *f_bar = c.work + 2 * n;
    S* R_bar = c.p_bar + c.at.preconditioner;
    transposed(c, x_bar, q);
    transposed(c, c.force, g);
    S noise_bar(0), drift(0);
    for (int j = 0; j < n; ++j) {
      noise_bar += amplitude * c.xi[j] * q[j];
      drift += g[j] * q[j];
      g[j] = c.h * g[j] + amplitude * c.xi[j];
    }
    for (int i = 0; i < n; ++i) {
      f_bar[i] = S(0);
      for (int j = 0; j < n; ++j) {
        f_bar[i] += R[i * n + j] * q[j];
        R_bar[i * n + j] += x_bar[i] * g[j] + c.h * c.force[i] * q[j];
      }
      f_bar[i] = c.h * f_bar[i];
    }
    c.p_bar[c.at.kT] += S(0.5) * noise_bar / c.p[c.at.kT];
    c.h_bar += drift + S(0.5) * noise_bar / c.h;
    c.forces.evaluate_vjp(s + c.at.x, c.p, f_bar, x_bar, c.p_bar);
  }
  // d log p / dF of a step, with its noise held: (2 kT h R R')^-1 (h R R') a R xi = sqrt(h / (2 kT)) R xi.
  template <class S>
  static void score(const Part<S>& c, S* f_bar) {
    const int n = c.at.dof;
    const S* R = c.p + c.at.preconditioner;
    const S factor = costate::sqrt(c.h / (S(2) * c.p[c.at.kT]));
    for (int i = 0; i < n; ++i) {
      f_bar[i] = S(0);
      for (int j = 0; j < n; ++j) f_bar[i] += factor * R[i * n + j] * c.xi[j];
    }
  }

 private:
  template <class S>
  static S noise(const Part<S>& c) {
    return costate::sqrt(S(2) * c.p[c.at.kT] * c.h);
  }
  // R' y.
  template <class S>
  static void transposed(const Part<S>& c, const S* y, S* to) {
    const int n = c.at.dof;
    const S* R = c.p + c.at.preconditioner;
    for (int j = 0; j < n; ++j) to[j] = S(0);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) to[j] += R[i * n + j] * y[i];
  }
};

}  // namespace costate::md
