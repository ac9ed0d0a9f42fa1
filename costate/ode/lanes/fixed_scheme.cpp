#include "costate/ode/lanes/fixed_scheme.h"

#include "costate/core/error.h"
#include "costate/ode/methods/tableaus.h"

namespace costate::ode {
namespace {

const Tableau* const* tableaus() {
  static const Tableau* const all[] = {
      &euler_tableau(),     &midpoint_tableau(),         &heun_tableau(),
      &rk4_tableau(),       &bogacki_shampine_tableau(), &dormand_prince_tableau(),
      &tsitouras_tableau(), &dop853_tableau(),           nullptr};
  return all;
}

}  // namespace

Scheme fixed_scheme(const std::string& method, double dt) {
  if (method == "euler") return euler(dt);
  if (method == "rk4") return rk4(dt);
  for (const Tableau* const* t = tableaus(); *t != nullptr; ++t) {
    const Tableau& tableau = **t;
    if (method != tableau.name) continue;
    // Without the stages that only the error estimate and the interpolant need.
    runge_kutta::Rows rows = tableau;
    rows.c.resize(tableau.stages);
    rows.a.resize(tableau.stages);
    return RungeKuttaStep{dt, method, std::move(rows)};
  }
  std::string names;
  for (const std::string& name : fixed_scheme_names()) names += (names.empty() ? "" : ", ") + name;
  throw Error({"there are no fixed steps of the method \"" + method + "\"", "", "choose one of: " + names});
}

std::vector<std::string> fixed_scheme_names() {
  std::vector<std::string> names;
  for (const Tableau* const* t = tableaus(); *t != nullptr; ++t) names.emplace_back((*t)->name);
  return names;
}

}  // namespace costate::ode
