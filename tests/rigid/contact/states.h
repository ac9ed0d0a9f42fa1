// Models and states of tests/rigid/contact/reference, and random ones that touch.
#pragma once

#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"
#include "tests/rigid/reference_model.h"
#include "tests/system/contract.h"

namespace costate::rigid::test {

inline Reference contact_reference(const std::string& name) {
  for (auto& r : references_in("COSTATE_CONTACT_REFERENCE", COSTATE_CONTACT_REFERENCE)) {
    if (r.name == name) return r;
  }
  throw std::runtime_error("no reference " + name);
}

// Away from corners that models like to sit on: the larger of two equal coefficients of friction, and
// solref = (0.02, 1) at dt = 0.01, which is just at the bound 2 dt.
inline void untie(Model& model) {
  model.options.timestep *= 0.9;
  double factor = 1;
  for (Geom& g : model.geoms) {
    for (double& mu : g.friction) mu *= factor;
    factor += 0.013;
  }
}

// A state of the reference and its controls.
template <class Real>
Arguments<Real> arguments_of(const Reference& ref, const Rollout<Real>& rollout, std::size_t state) {
  Arguments<Real> at = rollout.arguments();
  const Json& s = ref.json.at("states").at(state);
  std::vector<double> x = vector_of(s.at("q"));
  for (const char* part : {"v", "act"}) {
    const auto values = vector_of(s.at(part));
    x.insert(x.end(), values.begin(), values.end());
  }
  at.x0.assign(x.begin(), x.end());
  const auto u = vector_of(s.at("ctrl"));
  for (std::size_t i = 0; !u.empty() && i < at.controls.size(); ++i)
    at.controls[i] = static_cast<Real>(u[i % u.size()]);
  return at;
}

// Cotangents of every input and parameter in the first `states` states of a reference.
inline void transpose_matches_dual(const std::string& name, Integrator integrator, std::size_t states,
                                   double gate) {
  Reference ref = contact_reference(name);
  ref.model.options.integrator = integrator;
  const auto system = make_system<double>(ref.model, {.onset = Onset::none});
  Rollout<double> rollout(system, {.steps = 1});
  for (std::size_t i = 0; i < states; ++i) {
    SCOPED_TRACE(name + ", state " + std::to_string(i));
    costate::test::expect_transpose_matches_dual<double>(*system, arguments_of(ref, rollout, i), gate);
  }
}

}  // namespace costate::rigid::test
