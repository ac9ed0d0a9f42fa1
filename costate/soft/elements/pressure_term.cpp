#include "costate/soft/elements/pressure_term.h"

#include <algorithm>
#include <map>

#include "costate/core/error.h"
#include "costate/core/mat3.h"
#include "costate/soft/mesh/surface.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;

// Every edge is passed once each way.
void check_closed(const Part& part, const std::vector<int>& triangles) {
  std::map<std::pair<int, int>, int> passed;
  for (std::size_t t = 0; t < triangles.size(); t += 3)
    for (std::size_t k = 0; k < 3; ++k) {
      const int a = triangles[t + k], b = triangles[t + (k + 1) % 3];
      passed[std::minmax(a, b)] += a < b ? 1 : -1;
    }
  for (const auto& [edge, sum] : passed)
    if (sum != 0)
      throw Error({"part '" + part.name +
                       "' has a pressure, but its surface is open at the edge of vertices " +
                       std::to_string(edge.first) + " and " + std::to_string(edge.second),
                   {},
                   "close the surface, with all triangles the same way round, or set pressure = 0"});
}

class PressureTerm final : public Term {
 public:
  PressureTerm(std::vector<int> triangles, const PressurePlaces& places) : at_(places) {
    groups_ = {3, std::move(triangles)};
  }

  void energy(const At& at, double* values) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e)
      values[e] = -pressure(at) / 6 * dot(corner(e, 0, at.z), cross(corner(e, 1, at.z), corner(e, 2, at.z)));
  }
  void residual(const At& at, double* slots) const override { forces(at, pressure(at), slots); }
  void matrix(const At& at, double* blocks) const override {
    const double p = at.convex ? 0 : pressure(at) / 6;
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      double* to = blocks + 54 * e;  // (0,0), (0,1), (0,2), (1,1), (1,2), (2,2)
      std::fill(to, to + 54, 0.0);
      put_cross(p * corner(e, 2, at.z), to + 9);
      put_cross(-p * corner(e, 1, at.z), to + 18);
      put_cross(p * corner(e, 0, at.z), to + 36);
    }
  }
  void residual_jvp(const At& at, const AtDot& d, double* slots) const override {
    forces(at, (d.p ? d.p[at_.pressure] : 0) + (d.u && at_.control >= 0 ? d.u[at_.control] : 0), slots);
  }
  void residual_vjp(const At& at, const double* mu, AtBar& bar) const override {
    for (double* slots : {bar.x, bar.w, bar.rest})
      if (slots) std::fill(slots, slots + 3 * groups_.slots(), 0.0);
    double sum = 0;
    for (std::int64_t e = 0; e < groups_.count(); ++e)
      for (int a = 0; a < 3; ++a)
        sum -= dot(corner(e, a, mu), cross(corner(e, (a + 1) % 3, at.z), corner(e, (a + 2) % 3, at.z))) / 6;
    bar.p[at_.pressure] += sum;
    if (at_.control >= 0) bar.u[at_.control] += sum;
  }

 private:
  double pressure(const At& at) const {
    return at.p[at_.pressure] + (at_.control >= 0 && at.u ? at.u[at_.control] : 0);
  }
  V corner(std::int64_t e, int a, const double* y) const {
    const double* at = y + 3 * groups_.vertex[std::size_t(3 * e + a)];
    return {at[0], at[1], at[2]};
  }
  void forces(const At& at, double p, double* slots) const {
    for (std::int64_t e = 0; e < groups_.count(); ++e)
      for (int a = 0; a < 3; ++a) {
        const V f = (-p / 6) * cross(corner(e, (a + 1) % 3, at.z), corner(e, (a + 2) % 3, at.z));
        for (int d = 0; d < 3; ++d) slots[9 * e + 3 * a + d] = f[d];
      }
  }
  // [v]x, row by row.
  static void put_cross(const V& v, double* to) {
    const double m[9] = {0, -v.z, v.y, v.z, 0, -v.x, -v.y, v.x, 0};
    std::copy(m, m + 9, to);
  }

  PressurePlaces at_;
};

}  // namespace

std::unique_ptr<Term> pressure_term(const Part& part, const PressurePlaces& places) {
  std::vector<int> triangles = surface_of(part);
  check_closed(part, triangles);
  return std::make_unique<PressureTerm>(std::move(triangles), places);
}

}  // namespace costate::soft
