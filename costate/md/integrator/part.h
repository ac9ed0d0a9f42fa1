// What a letter of an integrator's word is given: the forces, the parameters, its share h of dt, its noise.
//
//   apply(part, s)           the state s moves on
//   apply_vjp(part, s, bar)  from the cotangent after the letter to the one before it, given the
//                            state before; adds to part.p_bar and part.h_bar
//   undo(part, s)            the state before, from the state after
//
// A letter that needs the force finds it in part.force, evaluated at the position before the letter.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "costate/core/parallel.h"
#include "costate/md/layout.h"
#include "costate/md/potential/term.h"

namespace costate::md {

// f(i) for every coordinate or atom; those of one large world are shared out among threads, where there are
// enough of them to be worth the waking of a thread.
template <class S, class F>
COSTATE_INLINE void each_coordinate(int count, const F& f) {
  if constexpr (std::is_arithmetic_v<S>) {
    parallel_for(count, 32'768, [&](std::int64_t begin, std::int64_t end) {
      for (int i = int(begin); i < int(end); ++i) f(i);
    });
  } else {
    for (int i = 0; i < count; ++i) f(i);
  }
}

// The sum of all terms.
//
// The last kick of a step and the first one of the step after it are at the same place, and a kick does not
// change the cotangent of the velocity: their transposes ask for the same product. It is remembered, but
// of worlds so small that this costs more than the product.
inline constexpr int kLeastRemembered = 6;  // coordinates
template <class S>
struct Forces {
  struct Product {
    std::vector<S> x, f_bar, x_bar, p_bar;
    bool known = false;
  };
  const std::vector<std::unique_ptr<Term<S>>>* terms = nullptr;
  std::vector<std::unique_ptr<TermScratch>>* scratch = nullptr;
  Product* last = nullptr;  // null: nothing is remembered

  void evaluate(const S* x, const S* p, int dof, S* f) const {
    each_coordinate<S>(dof, [=](int i) { f[i] = S(0); });
    for (std::size_t t = 0; t < terms->size(); ++t) (*terms)[t]->force(x, p, f, (*scratch)[t].get());
  }
  void evaluate_vjp(const S* x, const S* p, const S* f_bar, S* x_bar, S* p_bar) const {
    if (!last) return product(x, p, f_bar, x_bar, p_bar);
    const std::size_t n = last->x.size();
    if (!last->known || !same(x, last->x) || !same(f_bar, last->f_bar)) {
      std::copy(x, x + n, last->x.begin());
      std::copy(f_bar, f_bar + n, last->f_bar.begin());
      std::fill(last->x_bar.begin(), last->x_bar.end(), S(0));
      std::fill(last->p_bar.begin(), last->p_bar.end(), S(0));
      product(x, p, f_bar, last->x_bar.data(), last->p_bar.data());
      last->known = true;
    }
    for (std::size_t i = 0; i < n; ++i) x_bar[i] += last->x_bar[i];
    for (std::size_t i = 0; i < last->p_bar.size(); ++i) p_bar[i] += last->p_bar[i];
  }
  void energies(const S* x, const S* p, S* e) const {
    for (std::size_t t = 0; t < terms->size(); ++t) (*terms)[t]->energies(x, p, e, (*scratch)[t].get());
  }
  void energies_vjp(const S* x, const S* p, const S* e_bar, S* x_bar, S* p_bar) const {
    for (std::size_t t = 0; t < terms->size(); ++t)
      (*terms)[t]->energies_vjp(x, p, e_bar, x_bar, p_bar, (*scratch)[t].get());
  }
  void energy_vjp(const S* x, const S* p, const S& u_bar, S* x_bar, S* p_bar) const {
    for (std::size_t t = 0; t < terms->size(); ++t)
      (*terms)[t]->energy_vjp(x, p, u_bar, x_bar, p_bar, (*scratch)[t].get());
  }
  S virial(const S* x, const S* p) const {
    S sum(0);
    for (std::size_t t = 0; t < terms->size(); ++t) sum += (*terms)[t]->virial(x, p, (*scratch)[t].get());
    return sum;
  }
  void virial_vjp(const S* x, const S* p, const S& w_bar, S* x_bar, S* p_bar) const {
    for (std::size_t t = 0; t < terms->size(); ++t)
      (*terms)[t]->virial_vjp(x, p, w_bar, x_bar, p_bar, (*scratch)[t].get());
  }
  S energy(const S* x, const S* p) const {
    S sum(0);
    for (std::size_t t = 0; t < terms->size(); ++t) sum += (*terms)[t]->energy(x, p, (*scratch)[t].get());
    return sum;
  }

 private:
  void product(const S* x, const S* p, const S* f_bar, S* x_bar, S* p_bar) const {
    for (std::size_t t = terms->size(); t-- > 0;)
      (*terms)[t]->force_vjp(x, p, f_bar, x_bar, p_bar, (*scratch)[t].get());
  }
  // To the bit: what is remembered must not show.
  static bool same(const S* a, const std::vector<S>& b) {
    return std::memcmp(a, b.data(), b.size() * sizeof(S)) == 0;
  }
};

// e^(-rate h) and sqrt(1 - e^(-2 rate h)).
template <class S>
struct Decay {
  S c, s;
  Decay() = default;
  Decay(const S& rate, const S& h) {
    using costate::exp, costate::expm1, costate::sqrt;
    c = exp(-rate * h);
    s = sqrt(-expm1(S(-2) * rate * h));
  }
};

template <class S>
struct Part {
  const Layout& at;
  const Forces<S>& forces;
  const S* p;
  S h;
  const S* xi;                      // standard normals of this letter
  const S* force;                   // at the position before the letter; null: it needs none
  S* work;                          // 3 dof numbers of scratch
  const Decay<S>* decay = nullptr;  // of friction over h (letter O)
  const S* thermal = nullptr;       // sqrt(kT / m) of every coordinate (letter O)
  const S* kick = nullptr;          // h / m of every coordinate
  const S* virial = nullptr;        // at the position before the letter (letter P)
  S* p_bar = nullptr;
  S h_bar = S(0);
  bool numbers = true;  // whether mass, kT, friction and dt are asked for, besides those of the forces

  const S& mass(int dof) const { return p[at.mass + dof / at.dimensions]; }
  S& mass_bar(int dof) const { return p_bar[at.mass + dof / at.dimensions]; }
};

}  // namespace costate::md
