// The density of a step, and the density that a model samples: what costate/estimate asks of molecules.
//
//   E       y = x + h b F(x) + a xi                d log p / dp = sum_i xi_i / a_i  h b_i dF_i/dp
//   R       y = x + h R R' F(x) + sqrt(2 kT h) R xi   f_bar = sqrt(h / (2 kT)) R xi
//   ABOBA   z = x + dt/2 v,  v' = c v + (1 + c) dt/2 F(z) / m + a xi,  x' = z + dt/2 v':
//           d log p / dp = sum_i xi_i / a_i  (1 + c) dt / (2 m_i) dF_i/dp
//
// Other words drift between a kick and the noise, so that the density of a step is not that of its noise.
// All are (dF/dp)' f_bar, with xi held. Tests: tests/estimate/girsanov_test.cpp.
#pragma once

#include "costate/md/integrator/friction.h"
#include "costate/md/integrator/overdamped.h"

namespace costate::md {

enum class Likelihood { none, overdamped, preconditioned, langevin };

inline Likelihood likelihood_of(const Word& word) {
  std::string letters;
  for (const Letter& letter : word.letters) letters += letter.name;
  return letters == "E"       ? Likelihood::overdamped
         : letters == "R"     ? Likelihood::preconditioned
         : letters == "ABOBA" ? Likelihood::langevin
                              : Likelihood::none;
}

// f_bar such that the score of the step is (dF/dp)' f_bar; x moves to where that force is evaluated.
template <class S>
void noise_covector(Likelihood likelihood, Part<S> part, S* state, S* f_bar) {
  const Layout& at = part.at;
  const int n = at.dimensions;
  const S dt = part.p[at.dt], half = S(0.5) * dt;
  part.h = dt;
  if (likelihood == Likelihood::preconditioned) return Preconditioned::score(part, f_bar);
  for (int atom = 0; atom < at.atoms; ++atom) {
    S factor;
    if (likelihood == Likelihood::overdamped) {
      const Mobility<S> m(part, atom);
      factor = dt * m.b / m.amplitude;
    } else {
      const Decay<S> decay(part.p[at.friction], dt);
      const S mass = part.p[at.mass + atom];
      factor = (S(1) + decay.c) * half / (mass * decay.s * costate::sqrt(part.p[at.kT] / mass));
    }
    for (int i = atom * n; i < atom * n + n; ++i) f_bar[i] = factor * part.xi[i];
  }
  for (int i = 0; likelihood == Likelihood::langevin && i < at.dof; ++i)
    state[at.x + i] += half * state[at.v + i];
}

}  // namespace costate::md
