// RodLaw: from the numbers of a material to what a rod resists with.
//
//   stretch EA [N]; twist [N m^2]; bend_1, bend_2 [N m^2] against bending towards the frame point, sideways
//   gyration: square of the cross-section's radius of gyration about the axis [m^2]
//   natural_bend, natural_twist: which share of the rest shape's curvature and twist is free of stress
//
//   rod            an ellipse of half axes a (towards the frame point) and b, of E and nu:
//                  A = pi a b,  I_1 = pi a^3 b/4,  I_2 = pi a b^3/4,  G = E/(2 (1 + nu)),
//                  J = pi a^3 b^3/(a^2 + b^2) (Saint-Venant),  gyration = (a^2 + b^2)/4
//   rod_stiffness  each of them is a number
//
// Tests: tests/soft/rod_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/soft/laws/law.h"

namespace costate::soft {

template <class S>
struct RodStiffness {
  S stretch, bend_1, bend_2, twist, gyration, natural_bend, natural_twist;
};
inline constexpr int kRodStiffnesses = 7, kMostRodNumbers = 7;

class RodLaw {
 public:
  virtual ~RodLaw() = default;
  virtual const char* name() const = 0;
  virtual const std::vector<LawNumber>& numbers() const = 0;
  virtual RodStiffness<double> stiffness(const double* c) const = 0;
  // slope[i][j]: of the i-th stiffness, in the order above, with respect to number j.
  virtual void slopes(const double* c, double (&slope)[kRodStiffnesses][kMostRodNumbers]) const = 0;
};

const std::vector<const RodLaw*>& rod_laws();
// Error that lists the names, where there is none of this one.
const RodLaw& rod_law(const std::string& name);

}  // namespace costate::soft
