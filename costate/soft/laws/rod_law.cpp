#include "costate/soft/laws/rod_law.h"

#include <numbers>

#include "costate/ad/dual.h"
#include "costate/ad/dual_functions.h"
#include "costate/soft/laws/by_name.h"

namespace costate::soft {
namespace {

const LawNumber kNaturalBend{"natural_bend", "", 1, -std::numeric_limits<double>::infinity()},
    kNaturalTwist{"natural_twist", "", 1, -std::numeric_limits<double>::infinity()};

struct Ellipse {
  static constexpr const char* kName = "rod";
  static const std::vector<LawNumber>& numbers() {
    static const std::vector<LawNumber> all = {{"E", "Pa", 1e6, 0}, {"nu", "", 0.3, -1, 0.5},
                                               {"a", "m", 1e-3, 0}, {"b", "m", 1e-3, 0},
                                               kNaturalBend,        kNaturalTwist};
    return all;
  }
  template <class S>
  static RodStiffness<S> stiffness(const S* c) {
    const S E = c[0], a = c[2], b = c[3], area = std::numbers::pi * a * b, aa = a * a, bb = b * b;
    const S twist = E / (2.0 * (1.0 + c[1])) * area * aa * bb / (aa + bb);
    return {E * area, 0.25 * E * area * aa, 0.25 * E * area * bb, twist, 0.25 * (aa + bb), c[4], c[5]};
  }
};

struct Given {
  static constexpr const char* kName = "rod_stiffness";
  static const std::vector<LawNumber>& numbers() {
    static const std::vector<LawNumber> all = {{"stretch", "N", 100, 0},
                                               {"bend_1", "N m^2", 1e-4, 0},
                                               {"bend_2", "N m^2", 1e-4, 0},
                                               {"twist", "N m^2", 1e-4, 0},
                                               {"gyration", "m^2", 1e-6, 0},
                                               kNaturalBend,
                                               kNaturalTwist};
    return all;
  }
  template <class S>
  static RodStiffness<S> stiffness(const S* c) {
    return {c[0], c[1], c[2], c[3], c[4], c[5], c[6]};
  }
};

template <class Kind>
class LawOf final : public RodLaw {
 public:
  const char* name() const override { return Kind::kName; }
  const std::vector<LawNumber>& numbers() const override { return Kind::numbers(); }
  RodStiffness<double> stiffness(const double* c) const override { return Kind::stiffness(c); }
  void slopes(const double* c, double (&slope)[kRodStiffnesses][kMostRodNumbers]) const override {
    using D = Dual<double, kMostRodNumbers>;
    D in[kMostRodNumbers];
    const int count = int(numbers().size());
    for (int j = 0; j < kMostRodNumbers; ++j) in[j] = j < count ? D::variable(c[j], j) : D(0.0);
    const RodStiffness<D> r = Kind::stiffness(in);
    const D* all[kRodStiffnesses] = {&r.stretch,  &r.bend_1,       &r.bend_2,       &r.twist,
                                     &r.gyration, &r.natural_bend, &r.natural_twist};
    for (int i = 0; i < kRodStiffnesses; ++i)
      for (int j = 0; j < kMostRodNumbers; ++j) slope[i][j] = all[i]->d[j];
  }
};

}  // namespace

const std::vector<const RodLaw*>& rod_laws() {
  static const LawOf<Ellipse> ellipse;
  static const LawOf<Given> given;
  static const std::vector<const RodLaw*> all = {&ellipse, &given};
  return all;
}
const RodLaw& rod_law(const std::string& name) { return law_by_name(rod_laws(), name, "a rod"); }

}  // namespace costate::soft
