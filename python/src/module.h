// What each file adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace costate::python {

namespace nb = nanobind;

void bind_errors(nb::module_& m);
void bind_signature(nb::module_& m);
void bind_reports(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_systems(nb::module_& m);
void bind_rollout(nb::module_& m);
void bind_models(nb::module_& m);
void bind_plugins(nb::module_& m);
void bind_continua(nb::module_& m);
void bind_molecules(nb::module_& m);
void bind_fluid(nb::module_& m);
void bind_soft(nb::module_& m);
void bind_control(nb::module_& m);
// Of costate.control.
void bind_linear_quadratic(nb::module_& m);
void bind_collocation(nb::module_& m);
void bind_identification(nb::module_& m);
void bind_twin(nb::module_& m);
void bind_estimation(nb::module_& m);
void bind_recording(nb::module_& m);
void bind_ode(nb::module_& m);
void bind_optimisers(nb::module_& m);
void bind_recordings(nb::module_& m);
void bind_studies(nb::module_& m);
void bind_jax(nb::module_& m);  // where XLA's headers were found

}  // namespace costate::python
