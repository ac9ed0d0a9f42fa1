// Law: the energy of a deformation per rest volume, W(F), with everything that a solver and its transpose
// ask.
//
//   F = dx/dX           deformation gradient, 3 x C: C = 3 for solids, 2 for membranes (per rest area and
//                       unit of thickness)
//   P = dW/dF           first Piola-Kirchhoff stress [Pa]
//   A = dP/dF           3C x 3C, symmetric: both the Newton matrix and the transpose multiply with it
//   P_c                 derivative of P with respect to the numbers c of the law (E, nu, ...)
//
// Matrices lie row by row. A kind is one file, laws/<kind>.cpp, and one line in the list of laws.cpp. Laws of
// Lame's constants derive from LameLaw, which does what is the same for all of them.
// Tests: tests/soft/law_test.cpp, which runs over both lists.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "costate/core/mat3.h"

namespace costate::soft {

struct LawNumber {
  const char *name, *unit;
  double value;                                                // unless the material says otherwise
  double low, high = std::numeric_limits<double>::infinity();  // both ends are outside
};

template <int C>
class Law {
 public:
  static constexpr int kSize = 3 * C;
  virtual ~Law() = default;

  virtual const char* name() const = 0;
  virtual const std::vector<LawNumber>& numbers() const = 0;
  // Whether W(F) has a value: laws with a logarithm have none where det F <= 0.
  virtual bool defined(const double* F, const double* c) const = 0;
  // Whether the axes of F matter: a membrane whose first axis is the warp of its material.
  virtual bool directed() const { return false; }
  // What a cell is where there is none.
  virtual const char* complaint() const { return "is inside out"; }

  virtual double energy(const double* F, const double* c) const = 0;
  virtual void stress(const double* F, const double* c, double* P) const = 0;
  virtual void stress_slope(const double* F, const double* c, double* A) const = 0;
  // c_bar += d(P : G)/dc.
  virtual void numbers_vjp(const double* F, const double* c, const double* G, double* c_bar) const = 0;
  // P_dot += dP/dc c_dot.
  virtual void numbers_jvp(const double* F, const double* c, const double* c_dot, double* P_dot) const = 0;
};
using SolidLaw = Law<3>;
using MembraneLaw = Law<2>;

const std::vector<const SolidLaw*>& solid_laws();
const std::vector<const MembraneLaw*>& membrane_laws();

// Error that lists the names, where there is none of this one.
const SolidLaw& solid_law(const std::string& name);
const MembraneLaw& membrane_law(const std::string& name);

}  // namespace costate::soft
