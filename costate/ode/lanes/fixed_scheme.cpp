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

std::vector<RungeKuttaStep::Term> terms(const Tableau::Row& row) {
  std::vector<RungeKuttaStep::Term> result;
  for (const Tableau::Term& term : row) result.push_back({term.stage, term.value});
  return result;
}

}  // namespace

Scheme fixed_scheme(const std::string& method, double dt) {
  if (method == "euler") return euler(dt);
  if (method == "rk4") return rk4(dt);
  for (const Tableau* const* t = tableaus(); *t != nullptr; ++t) {
    const Tableau& tableau = **t;
    if (method != tableau.name) continue;
    RungeKuttaStep step{dt, method};
    for (int s = 0; s < tableau.stages; ++s) {
      step.c.push_back(tableau.c[static_cast<std::size_t>(s)]);
      step.a.push_back(terms(tableau.a[static_cast<std::size_t>(s)]));
    }
    step.b = terms(tableau.b);
    return step;
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
