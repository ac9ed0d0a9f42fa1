// Membranes with two directions, warp and weft: u and v are the columns of F, in a frame whose first axis is
// the warp (SoftMaterial::warp). E = (F'F - I)/2.
//
//   orthotropic      W = (c11 Exx^2 + c22 Eyy^2)/2 + c12 Exx Eyy + 2 G Exy^2
//                    c11 = E1/(1 - nu^2), c22 = E2/(1 - nu^2), c12 = nu sqrt(E1 E2)/(1 - nu^2)
//                    plane stress; nu is the geometric mean of both Poisson's ratios, so that every nu below
//                    1 is a material. With E1 = E2 and G = E/2(1 + nu) it is stvk.
//   baraff_witkin    W = stretch_u (|u| - 1)^2/2 + stretch_v (|v| - 1)^2/2 + shear (u.v)^2/2           [1]
//
// [1] Baraff, Witkin: Large Steps in Cloth Simulation, SIGGRAPH 1998. Tests: tests/soft/law_test.cpp.
#include <cmath>

#include "costate/soft/laws/kinds.h"
#include "costate/soft/laws/numbers_law.h"

namespace costate::soft {
namespace {

struct Orthotropic {
  static constexpr const char* kName = "orthotropic";
  static const std::vector<LawNumber>& numbers() {
    static const std::vector<LawNumber> all = {
        {"E1", "Pa", 1e5, 0}, {"E2", "Pa", 1e5, 0}, {"nu", "", 0.3, -1, 1}, {"G", "Pa", 4e4, 0}};
    return all;
  }
  static bool defined(const Mat32&, const double*) { return true; }

  // The four stiffnesses, or their derivatives.
  struct Hooke {
    double c11, c22, c12, G;
    Sym2 operator()(const Sym2& e) const {
      return {c11 * e.xx + c12 * e.yy, c12 * e.xx + c22 * e.yy, 2 * G * e.xy};
    }
  };

  Mat32 F;
  Sym2 E;
  double c[4];
  Hooke hooke;
  Orthotropic(const Mat32& f, const double* given)
      : F(f),
        E(0.5 * (symmetric_product(f, f) + Sym2{-1, -1, 0})),
        c{given[0], given[1], given[2], given[3]} {
    const double d = 1 - c[2] * c[2];
    hooke = {c[0] / d, c[1] / d, c[2] * std::sqrt(c[0] * c[1]) / d, c[3]};
  }

  double energy() const { return 0.5 * contract(E, hooke(E)); }
  Mat32 stress() const { return F * hooke(E); }
  Mat32 stress_dot(const Mat32& dF) const { return dF * hooke(E) + F * hooke(symmetric_product(F, dF)); }
  Mat32 by(int i) const {
    const double nu = c[2], d = 1 - nu * nu, mean = std::sqrt(c[0] * c[1]);
    const Hooke slope[4] = {
        {1 / d, 0, 0.5 * nu * mean / c[0] / d, 0},
        {0, 1 / d, 0.5 * nu * mean / c[1] / d, 0},
        {2 * nu * c[0] / (d * d), 2 * nu * c[1] / (d * d), mean * (1 + nu * nu) / (d * d), 0},
        {0, 0, 0, 1}};
    return F * slope[i](E);
  }
};

struct BaraffWitkin {
  static constexpr const char* kName = "baraff_witkin";
  static const std::vector<LawNumber>& numbers() {
    static const std::vector<LawNumber> all = {
        {"stretch_u", "Pa", 1e5, 0}, {"stretch_v", "Pa", 1e5, 0}, {"shear", "Pa", 1e4, 0}};
    return all;
  }
  static bool defined(const Mat32& f, const double*) {
    return squared_norm(f.column(0)) > 0 && squared_norm(f.column(1)) > 0;
  }

  Mat32 F;
  double length[2], cosine;
  const double* k;
  BaraffWitkin(const Mat32& f, const double* given)
      : F(f), length{norm(f.column(0)), norm(f.column(1))}, cosine(dot(f.column(0), f.column(1))), k(given) {}

  static Mat32 columns(const Vec3<double>& u, const Vec3<double>& v) {
    return {{{u.x, v.x}, {u.y, v.y}, {u.z, v.z}}};
  }
  double energy() const {
    double sum = 0.5 * k[2] * cosine * cosine;
    for (int j = 0; j < 2; ++j) sum += 0.5 * k[j] * (length[j] - 1) * (length[j] - 1);
    return sum;
  }
  Mat32 stress(double stretch_u, double stretch_v, double shear) const {
    const auto u = F.column(0), v = F.column(1);
    return columns((stretch_u * (1 - 1 / length[0])) * u + (shear * cosine) * v,
                   (stretch_v * (1 - 1 / length[1])) * v + (shear * cosine) * u);
  }
  Mat32 stress() const { return stress(k[0], k[1], k[2]); }
  Mat32 stress_dot(const Mat32& dF) const {
    const auto u = F.column(0), v = F.column(1), du = dF.column(0), dv = dF.column(1);
    const auto along = [&](int j, const Vec3<double>& w, const Vec3<double>& dw) {
      const double l = length[j];
      return (k[j] * (1 - 1 / l)) * dw + (k[j] * dot(w, dw) / (l * l * l)) * w;
    };
    const double turn = dot(du, v) + dot(u, dv);
    return columns(along(0, u, du) + (k[2] * turn) * v + (k[2] * cosine) * dv,
                   along(1, v, dv) + (k[2] * turn) * u + (k[2] * cosine) * du);
  }
  Mat32 by(int i) const { return stress(i == 0, i == 1, i == 2); }
};

template <class K>
class WovenLaw final : public NumbersLaw<K, MembraneLaw> {
 public:
  bool directed() const override { return true; }
  const char* complaint() const override { return "has a side of no length"; }
};

}  // namespace

const MembraneLaw& membrane_orthotropic() {
  static const WovenLaw<Orthotropic> law;
  return law;
}
const MembraneLaw& membrane_baraff_witkin() {
  static const WovenLaw<BaraffWitkin> law;
  return law;
}

}  // namespace costate::soft
