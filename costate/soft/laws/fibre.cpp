// Fibres along a direction a of the rest shape: s = |F a|^2 with a unit vector, W = w(s).
//
//   fibre    w = k1/(2 k2) (exp(k2 (s - 1)^2) - 1)            stiffens as it is stretched [1]
//   muscle   w = stiffness/2 (sqrt(s) - (1 - contraction))^2  pulls itself to 1 - contraction of its length
//
//   P = 2 w' f a',  f = F a;       dP = 2 w'' ds f a' + 2 w' dF a a',  ds = 2 f . dF a
//
// (ax, ay, az) may have any length; derivatives with respect to it are those of its direction. A fibre alone
// resists nothing else: its part shares the cells of another one.
// [1] Holzapfel, Gasser, Ogden: J. Elasticity 61 (2000), eq. 66. Tests: tests/soft/law_test.cpp.
#include <cmath>

#include "costate/soft/laws/kinds.h"
#include "costate/soft/laws/numbers_law.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;

// w', w'' and their derivatives with respect to the two numbers come from S(s, c).
template <class S>
struct Along {
  static constexpr const char* kName = S::kName;
  static constexpr bool kInverts = true;
  static const std::vector<LawNumber>& numbers() {
    static const std::vector<LawNumber> all = {
        S::kFirst, S::kSecond, {"ax", "", 1, -1e300}, {"ay", "", 0, -1e300}, {"az", "", 0, -1e300}};
    return all;
  }
  M3 F;
  V a, f;
  double length;  // of (ax, ay, az)
  S w;
  Along(const M3& given, const double* c)
      : F(given),
        a(normalized(V{c[2], c[3], c[4]})),
        f(F * a),
        length(norm(V{c[2], c[3], c[4]})),
        w(dot(f, f), c) {}

  double energy() const { return w.value; }
  M3 stress() const { return (2 * w.slope) * outer(f, a); }
  M3 stress_dot(const M3& dF) const {
    const V df = dF * a;
    return (4 * w.curve * dot(f, df)) * outer(f, a) + (2 * w.slope) * outer(df, a);
  }
  M3 by(int i) const {
    if (i < 2) return (2 * w.slope_by[i]) * outer(f, a);
    V da = V::zero();
    da[i - 2] = 1;
    da = (1 / length) * (da - dot(a, da) * a);
    const V df = F * da;
    return (4 * w.curve * dot(f, df)) * outer(f, a) + (2 * w.slope) * (outer(df, a) + outer(f, da));
  }
};

struct Stiffening {
  static constexpr const char* kName = "fibre";
  static constexpr LawNumber kFirst = {"k1", "Pa", 1e4, 0}, kSecond = {"k2", "", 1, 0};
  double value, slope, curve, slope_by[2];
  Stiffening(double s, const double* c) {
    const double k1 = c[0], k2 = c[1], e = s - 1, grown = std::exp(k2 * e * e);
    value = k1 / (2 * k2) * (grown - 1);
    slope = k1 * e * grown;
    curve = k1 * grown * (1 + 2 * k2 * e * e);
    slope_by[0] = e * grown, slope_by[1] = slope * e * e;
  }
};

struct Contracting {
  static constexpr const char* kName = "muscle";
  static constexpr LawNumber kFirst = {"stiffness", "Pa", 1e4, 0}, kSecond = {"contraction", "", 0, -1e300};
  double value, slope, curve, slope_by[2];
  Contracting(double s, const double* c) {
    const double k = c[0], rest = 1 - c[1], l = std::sqrt(s);
    value = 0.5 * k * (l - rest) * (l - rest);
    slope = 0.5 * k * (1 - rest / l);
    curve = 0.25 * k * rest / (l * s);
    slope_by[0] = 0.5 * (1 - rest / l), slope_by[1] = 0.5 * k / l;
  }
};

}  // namespace

const SolidLaw& fibre() {
  static const NumbersLaw<Along<Stiffening>> law;
  return law;
}
const SolidLaw& muscle() {
  static const NumbersLaw<Along<Contracting>> law;
  return law;
}

}  // namespace costate::soft
