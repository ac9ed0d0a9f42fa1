// The names of the guides, all from one header.
#include <costate/costate.h>

#include <type_traits>

namespace {

using costate::equations_system, costate::lambda_system, costate::LaneSystem, costate::grid::StencilSystem;
using costate::io::load_study, costate::io::Recording, costate::view::write_png, costate::view::write_replay;
using costate::loss::expression, costate::loss::final, costate::check::stencil;
using costate::ode::AdaptiveEnsemble, costate::ode::PeriodicOrbit, costate::ode::SteadyState;
using costate::ode::backsolve_adjoint, costate::ode::forward_gradient, costate::ode::hessian;
using costate::ode::interpolating_adjoint, costate::ode::sensitivities;
using costate::optim::CmaEsOptions, costate::optim::LbfgsOptions;
using costate::rigid::Observer, costate::rigid::StepJacobian;
using costate::study::check_gradient, costate::study::optimise;

static_assert(std::is_default_constructible_v<Recording>);

}  // namespace
