#include "costate/soft/laws/by_name.h"
#include "costate/soft/laws/kinds.h"

namespace costate::soft {
const std::vector<LawNumber>& young_and_poisson() {
  static const std::vector<LawNumber> numbers = {{"E", "Pa", 1e5, 0}, {"nu", "", 0.3, -1, 0.5}};
  return numbers;
}

Lame solid_lame(const double* c) {
  const double E = c[0], nu = c[1], a = 1 + nu, b = 1 - 2 * nu;
  return {E / (2 * a),      E * nu / (a * b), 1 / (2 * a),
          -E / (2 * a * a), nu / (a * b),     E * (1 + 2 * nu * nu) / (a * a * b * b)};
}
Lame membrane_lame(const double* c) {
  const double E = c[0], nu = c[1], a = 1 + nu, b = 1 - nu * nu;
  return {E / (2 * a), E * nu / b, 1 / (2 * a), -E / (2 * a * a), nu / b, E * (1 + nu * nu) / (b * b)};
}

const std::vector<const SolidLaw*>& solid_laws() {
  static const std::vector<const SolidLaw*> all = {&neo_hookean(),
                                                   &neo_hookean_j(),
                                                   &neo_hookean_simple(),
                                                   &neo_hookean_stable(),
                                                   &fixed_corotated(),
                                                   &corotated(),
                                                   &arap(),
                                                   &stvk(),
                                                   &hencky(),
                                                   &mooney_rivlin(),
                                                   &fung(),
                                                   &fibre(),
                                                   &muscle()};
  return all;
}
const std::vector<const MembraneLaw*>& membrane_laws() {
  static const std::vector<const MembraneLaw*> all = {&membrane_stvk(),        &membrane_neo_hookean(),
                                                      &membrane_arap(),        &membrane_limited(),
                                                      &membrane_orthotropic(), &membrane_baraff_witkin()};
  return all;
}
const SolidLaw& solid_law(const std::string& name) { return law_by_name(solid_laws(), name, "a solid"); }
const MembraneLaw& membrane_law(const std::string& name) {
  return law_by_name(membrane_laws(), name, "a membrane");
}

}  // namespace costate::soft
