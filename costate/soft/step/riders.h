// Vertices that ride on the links of a carrier (carrier.h).
//
//   z_i = p + R c_i                 c_i = R0'(X_i - p0): the rest shape, seen from the link at the start
//   w   = sum (f_i, R c_i x f_i)    wrench of forces f on the vertices of a link, moment about its place
//   g_i = V + W x R c_i             velocities of vertices for a velocity (V, W) of the link
//
// Transposes: of g it is w; of z and w with respect to the link and to X, links_vjp.
// Tests: tests/coupled/carrier_test.cpp.
#pragma once

#include <vector>

#include "costate/soft/step/carrier.h"

namespace costate::soft {

class Riders {
 public:
  struct Rider {
    int vertex, link;
  };
  std::vector<Rider> all = {};

  bool empty() const { return all.empty(); }
  void start_from(std::vector<Link<double>> links) { start_ = std::move(links); }
  std::size_t links() const { return start_.size(); }

  // Arrays of vertices have three numbers per vertex of the model; only those of riders are read and written.
  // rest: the model's rest positions, rest_dot their tangents (null: zero).
  void place(const Link<double>* links, const double* rest, double* z) const;
  void place(const Link<Carrier::Tangent>* links, const double* rest, const double* rest_dot,
             double* z_dot) const;
  void push(const Link<double>* links, const double* rest, const LinkVector<double>* moving, double* g) const;
  void wrenches(const Link<double>* links, const double* rest, const double* f, LinkVector<double>* w) const;
  // f with the tangents f_dot (null: zero).
  void wrenches(const Link<Carrier::Tangent>* links, const double* rest, const double* rest_dot,
                const double* f, const double* f_dot, LinkVector<Carrier::Tangent>* w) const;
  // The sum of |f_i . g_i| for links that move so: what the force of a dof is the sum of.
  double weight(const double* f, const double* g) const;

  // Of places z_bar of vertices, and of the power of the wrenches of f on links that move so. Assigns
  // links_bar, adds to rest_bar.
  void links_vjp(const Link<double>* links, const double* rest, const double* f,
                 const LinkVector<double>* moving, const double* z_bar, Link<double>* links_bar,
                 double* rest_bar) const;

 private:
  template <class T>
  Vec3<T> arm(const Rider& rider, const Link<T>& link, const Vec3<T>& X) const;
  std::vector<Link<double>> start_;
};

}  // namespace costate::soft
