#include "costate/ode/methods/method.h"

#include "costate/core/error.h"
#include "costate/ode/methods/explicit_rk.h"
#include "costate/ode/methods/implicit_method.h"
#include "costate/ode/methods/symplectic.h"

namespace costate::ode {
namespace {

struct Method {
  const char* name;
  std::unique_ptr<Stepper> (*make)(const VectorField& field, const MethodTolerance& tolerance);
};

template <const Tableau& (*tableau)()>
std::unique_ptr<Stepper> make_explicit(const VectorField& field, const MethodTolerance&) {
  return std::make_unique<ExplicitRk>(tableau(), field);
}

template <const Splitting& (*splitting)()>
std::unique_ptr<Stepper> make_symplectic(const VectorField& field, const MethodTolerance&) {
  return std::make_unique<SymplecticStepper>(splitting(), field);
}

const Method kMethods[] = {
    {"euler", make_explicit<euler_tableau>},
    {"midpoint", make_explicit<midpoint_tableau>},
    {"heun", make_explicit<heun_tableau>},
    {"rk4", make_explicit<rk4_tableau>},
    {"bs3", make_explicit<bogacki_shampine_tableau>},
    {"dopri5", make_explicit<dormand_prince_tableau>},
    {"tsit5", make_explicit<tsitouras_tableau>},
    {"dop853", make_explicit<dop853_tableau>},
    {"symplectic_euler", make_symplectic<symplectic_euler_splitting>},
    {"verlet", make_symplectic<velocity_verlet_splitting>},
    {"yoshida4", make_symplectic<yoshida4_splitting>},
};

}  // namespace

std::unique_ptr<Stepper> make_stepper(const std::string& method, const VectorField& field,
                                      const MethodTolerance& tolerance) {
  for (const Method& m : kMethods) {
    if (method == m.name) return m.make(field, tolerance);
  }
  if (auto implicit = make_implicit_stepper(method, field, tolerance)) return implicit;
  std::string names;
  for (const std::string& name : method_names()) names += (names.empty() ? "" : ", ") + name;
  throw Error({"there is no method \"" + method + "\"", "", "choose one of: " + names});
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const Method& m : kMethods) names.emplace_back(m.name);
  for (const std::string& name : implicit_method_names()) names.push_back(name);
  return names;
}

}  // namespace costate::ode
