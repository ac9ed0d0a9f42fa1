// Lennard-Jones, and its repulsive part.
//
//   lennard_jones           U = 4 epsilon (q^6 - q^3),  q = sigma^2 / r^2
//   lennard_jones_mixture   the same with sigma = (sigma_a + sigma_b) / 2,
//                           epsilon = sqrt(epsilon_a epsilon_b)
//                           (Lorentz-Berthelot), of numbers per atom
//   wca                     U + epsilon inside of 2^(1/6) sigma, nothing outside [1]
//
// `cutoff` (0: none) drops pairs that are farther apart; with `shifted` = 1 the energy at the cutoff is taken
// off; with `switch_from` the energy fades out between there and the cutoff (radial.h).
// In terms of s = r^2: dU/ds = 4 epsilon (3 q^3 - 6 q^6) / s, dU/dsigma = 4 epsilon (12 q^6 - 6 q^3) / sigma,
// d2U/ds2 = 4 epsilon (42 q^6 - 12 q^3) / s^2, d2U/ds dsigma = 4 epsilon (18 q^3 - 72 q^6) / (s sigma), and U
// is linear in epsilon.
//
// [1] Weeks, Chandler, Andersen: Role of repulsive forces ..., J. Chem. Phys. 54 (1971).
// Tests: tests/md/potential_test.cpp.
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/pair_kind.h"
#include "costate/md/potential/radial.h"

namespace costate::md {
namespace {

// U and its derivatives with respect to s, epsilon, sigma.
template <class T>
struct Pair {
  T u, s, epsilon, sigma;
};
template <class T>
COSTATE_INLINE Pair<T> lennard_jones(const T& s, const T& epsilon, const T& sigma) {
  const T inverse = 1 / s, q = sigma * sigma * inverse, q3 = q * q * q;
  const T shape = 4 * (q3 * q3 - q3), slope = q3 * (12 - 24 * q3);
  return {epsilon * shape, epsilon * slope * inverse, shape, -2 * epsilon * slope / sigma};
}

// Its slopes with respect to (epsilon, sigma).
template <class T>
COSTATE_INLINE Slopes<T, 2> lennard_jones_slopes(const T& s, const T& epsilon, const T& sigma) {
  const T inverse = 1 / s, q = sigma * sigma * inverse, q3 = q * q * q;
  const T slope = q3 * (12 - 24 * q3) * inverse;
  return {epsilon * slope,
          epsilon * q3 * (168 * q3 - 48) * inverse * inverse,
          {slope, epsilon * q3 * (72 - 288 * q3) * inverse / sigma}};
}

struct LennardJones {
  static constexpr int kAtoms = 2, kParameters = 2;
  static constexpr auto kLinks = kPair;
  explicit LennardJones(const Sites& sites)
      : cut{sites.options[0], sites.options[2], sites.options[1] != 0} {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    const T s = square_of(d[0]);
    Pair<T> pair = shifted(s, p);
    if (cut.from > 0) {
      const Switched<T> off = switch_off(cut, s);
      pair = {pair.u * off.value, pair.s * off.value + pair.u * off.slope, pair.epsilon * off.value,
              pair.sigma * off.value};
    }
    const auto near = cut.within(s);
    d_bar[0] = select(near, 2 * pair.s, T(0)) * d[0];
    p_bar[0] = select(near, pair.epsilon, T(0));
    p_bar[1] = select(near, pair.sigma, T(0));
    return select(near, pair.u, T(0));
  }
  template <class T>
  COSTATE_INLINE Slopes<T, 2> slopes(const T& s, const T* p) const {
    Slopes<T, 2> u = lennard_jones_slopes(s, p[0], p[1]);
    if (cut.from > 0) u = switched_slopes(u, s, p);
    const auto near = cut.within(s);
    return {select(near, u.s, T(0)),
            select(near, u.ss, T(0)),
            {select(near, u.sp[0], T(0)), select(near, u.sp[1], T(0))}};
  }
  template <class Number>
  double reach(const Number&) const {
    return cut.cutoff;
  }
  Cutoff cut;

 private:
  // With the energy at the cutoff taken off, if that is asked for.
  template <class T>
  COSTATE_INLINE Pair<T> shifted(const T& s, const T* p) const {
    Pair<T> pair = lennard_jones(s, p[0], p[1]);
    if (!cut.shifted) return pair;
    const Pair<T> edge = lennard_jones(T(value_t<T>(cut.cutoff * cut.cutoff)), p[0], p[1]);
    return {pair.u - edge.u, pair.s, pair.epsilon - edge.epsilon, pair.sigma - edge.sigma};
  }
  // Of U w with the switch w(s): (U w)_s = U_s w + U w_s, and so on.
  template <class T>
  COSTATE_INLINE Slopes<T, 2> switched_slopes(const Slopes<T, 2>& u, const T& s, const T* p) const {
    const Pair<T> pair = shifted(s, p);
    const Switched<T> w = switch_off(cut, s);
    return {u.s * w.value + pair.u * w.slope,
            u.ss * w.value + 2 * u.s * w.slope + pair.u * switch_curvature(cut, s),
            {u.sp[0] * w.value + pair.epsilon * w.slope, u.sp[1] * w.value + pair.sigma * w.slope}};
  }
};

// Numbers of a pair: epsilon_a, epsilon_b, sigma_a, sigma_b.
struct Mixture {
  static constexpr int kAtoms = 2, kParameters = 4;
  static constexpr auto kLinks = kPair;
  explicit Mixture(const Sites& sites) : law(sites) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::sqrt;
    const T mixed[2] = {sqrt(p[0] * p[1]), T(0.5) * (p[2] + p[3])};
    T bar[2];
    const T u = law(d, mixed, d_bar, bar);
    p_bar[0] = T(0.5) * bar[0] * mixed[0] / p[0];
    p_bar[1] = T(0.5) * bar[0] * mixed[0] / p[1];
    p_bar[2] = p_bar[3] = T(0.5) * bar[1];
    return u;
  }
  template <class T>
  COSTATE_INLINE Slopes<T, 4> slopes(const T& s, const T* p) const {
    using costate::sqrt;
    const T mixed[2] = {sqrt(p[0] * p[1]), T(0.5) * (p[2] + p[3])};
    const Slopes<T, 2> u = law.slopes(s, mixed);
    const T epsilon = T(0.5) * u.sp[0] * mixed[0], sigma = T(0.5) * u.sp[1];
    return {u.s, u.ss, {epsilon / p[0], epsilon / p[1], sigma, sigma}};
  }
  template <class Number>
  double reach(const Number&) const {
    return law.cut.cutoff;
  }
  LennardJones law;
};

struct Wca {
  static constexpr double kReach = 1.12246205;  // a little more than 2^(1/6)
  static constexpr int kAtoms = 2, kParameters = 2;
  static constexpr auto kLinks = kPair;
  explicit Wca(const Sites&) {}

  template <class T>
  COSTATE_INLINE T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    const T s = square_of(d[0]);
    const Pair<T> pair = lennard_jones(s, p[0], p[1]);
    const T q = p[1] * p[1] / s;
    const auto near = q * q * q > T(0.5);
    d_bar[0] = select(near, 2 * pair.s, T(0)) * d[0];
    p_bar[0] = select(near, pair.epsilon + 1, T(0));
    p_bar[1] = select(near, pair.sigma, T(0));
    return select(near, pair.u + p[0], T(0));
  }
  template <class T>
  COSTATE_INLINE Slopes<T, 2> slopes(const T& s, const T* p) const {
    const Slopes<T, 2> u = lennard_jones_slopes(s, p[0], p[1]);
    const T q = p[1] * p[1] / s;
    const auto near = q * q * q > T(0.5);
    return {select(near, u.s, T(0)),
            select(near, u.ss, T(0)),
            {select(near, u.sp[0], T(0)), select(near, u.sp[1], T(0))}};
  }
  template <class Number>
  double reach(const Number& number) const {
    return kReach * number(1);
  }
};

const std::vector<OptionKind> kCut = {{"cutoff", 0}, {"shifted", 0}, {"switch_from", 0}};

}  // namespace

PotentialKind lennard_jones_kind() {
  return pair_kind<LennardJones>("lennard_jones", "4 epsilon ((sigma/r)^12 - (sigma/r)^6)",
                                 {{"epsilon", {1}}, {"sigma", {1}}}, kCut);
}
PotentialKind lennard_jones_mixture_kind() {
  using Per = ParameterKind::Per;
  return pair_kind<Mixture>("lennard_jones_mixture", "lennard_jones with numbers per atom, Lorentz-Berthelot",
                            {{"epsilon", {1}, "", Per::atom}, {"sigma", {1}, "", Per::atom}}, kCut);
}
PotentialKind wca_kind() {
  PotentialKind kind = pair_kind<Wca>("wca", "lennard_jones + epsilon inside of 2^(1/6) sigma",
                                      {{"epsilon", {1}}, {"sigma", {1}}});
  kind.reach = {"sigma"};
  kind.reach_factor = Wca::kReach;
  return kind;
}

}  // namespace costate::md
