// Law: everything that is particular to one kind of material, for whoever reads, checks, lays out or moves
// one.
//
// A kind is one file, laws/<kind>.cpp: equations, response and transpose (response.h), and a Law that ends
// it. Its name is one line of COSTATE_MPM_LAWS (model.h). A number that no other kind has is also a member of
// Material.
// Tests: tests/mpm/law_test.cpp, which runs over laws().
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "costate/mpm/model.h"
#include "costate/system/signature.h"

namespace costate::mpm {

inline constexpr ParameterRange kAny = {};

// A differentiable number of a material: parameter "material/<material>/<name>", default as in Material.
struct Number {
  const char *name, *unit;
  double Material::*value;
  ParameterRange range;
};

struct Responses;  // response.h

struct Law {
  const char* name;
  std::span<const Number> numbers;  // in the order of the Signature; the first is the density
  // The speed of the fastest wave [m/s].
  double (*wave_speed)(const Material& material);
  const Responses* responses;
  std::optional<double> plastic = {};  // state "particle/plastic" at rest; none: the law has no such state
  bool contracts = false;              // along Material::fibre, driven by the control "actuation"

  const Number* find(const std::string& number) const;

  // Law::liquid in laws/liquid.cpp, and so on: a law that is not in the list does not compile.
#define COSTATE_DECLARE(kind) static const Law kind;
  COSTATE_MPM_LAWS(COSTATE_DECLARE)
#undef COSTATE_DECLARE
};

// All of them, in the order of MaterialKind.
std::span<const Law* const> laws();
const Law& law_of(MaterialKind kind);

// What is wrong with a material's numbers ("needs -1 < nu < 0.5, not 0.7"), or nothing.
std::string objection(const Material& material);

// For the files of the laws.
inline constexpr Number kDensity = {"density", "kg/m^3", &Material::density, kPositive};
inline constexpr Number kYoungsModulus = {"E", "Pa", &Material::E, kPositive};
inline constexpr Number kPoissonsRatio = {"nu", "", &Material::nu, {.low = -1, .high = 0.5}};

// sqrt((lambda + 2 mu) / density): pressure waves of a solid of (E, nu).
double pressure_wave_speed(const Material& material);

}  // namespace costate::mpm
