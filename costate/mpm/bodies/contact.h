// The velocity r of a node relative to a surface with outward normal n, after contact, and the transpose.
// r_n = r.n, r_t = r - r_n n:
//
//   sticky     0
//   slip       r_t
//   separate   r_t where r_n < 0, else r
//   coulomb    r_t max(0, 1 + mu r_n/|r_t|) where r_n < 0, else r         an impulse inside the friction cone
//
// Continuous everywhere; corners at r_n = 0 and where sliding begins.
//
// Inside a wall there is no leaving it: a node that is held by a share k of one (collider.h) may not move along
// its normal either way,
//
//   held       r + k (contact(r; -n, mu) - r) where r_n >= 0, else contact(r; n, mu)        separate, coulomb
//
// Without it, material that has come past the middle of a thin wall, where the normal turns over, would leave on
// the other side. Tests: tests/mpm/transfer_test.cpp, collider_test.cpp.
#pragma once

#include "costate/core/vec3.h"
#include "costate/mpm/model.h"

namespace costate::mpm {

template <class S>
Vec3<S> contact_velocity(Contact contact, const Vec3<S>& r, const Vec3<S>& n, const S& mu) {
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
ContactBar<S> contact_velocity_vjp(Contact contact, const Vec3<S>& r, const Vec3<S>& n, const S& mu,
                                   const Vec3<S>& out_bar) {
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

// Whether the surface lets a velocity go that leaves it.
template <class S>
bool leaves(Contact contact, const Vec3<S>& r, const Vec3<S>& n) {
  return (contact == Contact::separate || contact == Contact::coulomb) && !(dot(r, n) < S(0));
}

template <class S>
Vec3<S> held_velocity(Contact contact, const Vec3<S>& r, const Vec3<S>& n, const S& mu, const S& k) {
  if (!leaves(contact, r, n) || !(k > S(0))) return contact_velocity(contact, r, n, mu);
  return r + k * (contact_velocity(contact, r, -n, mu) - r);
}

template <class S>
struct HeldBar {
  Vec3<S> r, n;
  S mu, k;
};
template <class S>
HeldBar<S> held_velocity_vjp(Contact contact, const Vec3<S>& r, const Vec3<S>& n, const S& mu, const S& k,
                             const Vec3<S>& out_bar) {
  if (!leaves(contact, r, n) || !(k > S(0))) {
    const ContactBar<S> c = contact_velocity_vjp(contact, r, n, mu, out_bar);
    return {c.r, c.n, c.mu, S(0)};
  }
  const S k_bar = dot(out_bar, contact_velocity(contact, r, -n, mu) - r);
  const ContactBar<S> c = contact_velocity_vjp(contact, r, -n, mu, k * out_bar);
  return {c.r + (S(1) - k) * out_bar, -c.n, c.mu, k_bar};
}

}  // namespace costate::mpm
