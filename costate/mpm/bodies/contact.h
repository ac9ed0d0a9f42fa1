// The velocity r of a node relative to a surface with outward normal n, after contact, and the transpose.
// r_n = r.n, r_t = r - r_n n:
//
//   sticky     0
//   slip       r_t
//   separate   r_t where r_n < 0, else r
//   coulomb    r_t max(0, 1 + mu r_n/|r_t|) where r_n < 0, else r         an impulse inside the friction cone
//
// Continuous everywhere; corners at r_n = 0 and where sliding begins. Tests: tests/mpm/transfer_test.cpp,
// collider_test.cpp.
#pragma once

#include "costate/core/vec3.h"
#include "costate/mpm/model.h"

namespace costate::mpm {

template <class S>
COSTATE_HD Vec3<S> contact_velocity(Contact contact, const Vec3<S>& r, const Vec3<S>& n, const S& mu) {
  const S zero(0), normal = dot(r, n);
  if (contact == Contact::none ||
      ((contact == Contact::separate || contact == Contact::coulomb) && !(normal < zero)))
    return r;
  if (contact == Contact::sticky) return Vec3<S>::zero();
  const Vec3<S> tangential = r - normal * n;
  if (contact != Contact::coulomb) return tangential;
  const S speed = norm(tangential);
  if (!(speed > -mu * normal)) return Vec3<S>::zero();
  return (S(1) + mu * normal / speed) * tangential;
}

template <class S>
struct ContactBar {
  Vec3<S> r, n;
  S mu;
};
template <class S>
COSTATE_HD ContactBar<S> contact_velocity_vjp(Contact contact, const Vec3<S>& r, const Vec3<S>& n,
                                              const S& mu, const Vec3<S>& out_bar) {
  const S zero(0), normal = dot(r, n);
  const Vec3<S> none = Vec3<S>::zero();
  if (contact == Contact::none ||
      ((contact == Contact::separate || contact == Contact::coulomb) && !(normal < zero)))
    return {out_bar, none, zero};
  if (contact == Contact::sticky) return {none, none, zero};
  const Vec3<S> tangential = r - normal * n;
  Vec3<S> tangential_bar = out_bar;
  S normal_bar = zero, mu_bar = zero;
  if (contact == Contact::coulomb) {
    const S speed = norm(tangential);
    if (!(speed > -mu * normal)) return {none, none, zero};
    const S share = normal / speed, factor_bar = dot(out_bar, tangential);
    tangential_bar = (S(1) + mu * share) * out_bar - (factor_bar * mu * share / (speed * speed)) * tangential;
    normal_bar = factor_bar * mu / speed;
    mu_bar = factor_bar * share;
  }
  normal_bar -= dot(tangential_bar, n);
  return {tangential_bar + normal_bar * n, normal_bar * r - normal * tangential_bar, mu_bar};
}

}  // namespace costate::mpm
