// Everything that the guides use: #include <costate/costate.h> and link costate::costate. The layers' own
// headers compile faster. What is not here is what a physics is made of inside (kernels, stages,
// constraints), the CUDA kernels (costate/cuda) and CVODES (costate/ode/sundials, where SUNDIALS was
// found).
#pragma once

// core, differentiation
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/core/philox.h"
// systems, rollouts, losses, checks; physics of your own
#include "costate/estimate/gradient.h"
#include "costate/system/checks.h"
#include "costate/system/estimators.h"
#include "costate/system/lane_system.h"
#include "costate/system/program/lambda_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"
#include "costate/system/rollout.h"
// differential equations
#include "costate/ode/adjoints/continuous_adjoint.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/adjoints/hessian.h"
#include "costate/ode/fields/lambda_field.h"
#include "costate/ode/fields/program_field.h"
#include "costate/ode/lanes/adaptive_ensemble.h"
#include "costate/ode/lanes/fixed_scheme.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/ode/orbits/periodic_orbit.h"
#include "costate/ode/orbits/steady_state.h"
#include "costate/ode/solve.h"
// the other physics
#include "costate/coupled/articulated.h"
#include "costate/fluid/flow.h"
#include "costate/grid/heat.h"
#include "costate/grid/stencil_system.h"
#include "costate/grid/wave.h"
#include "costate/md/io/structure.h"
#include "costate/md/model.h"
#include "costate/md/observable/thermodynamics.h"
#include "costate/mpm/system.h"
#include "costate/rigid/observer.h"
#include "costate/rigid/rigid_system.h"
#include "costate/rigid/step_jacobian.h"
#include "costate/soft/mass_spring.h"
// planning, regulators, filters
#include "costate/control/ddp.h"
#include "costate/control/estimation.h"
#include "costate/control/identify.h"
#include "costate/control/lq.h"
#include "costate/control/lqr.h"
#include "costate/control/mpc.h"
#include "costate/control/sampling.h"
// optimisers, networks
#include "costate/learn/closed_loop.h"
#include "costate/optim/adam.h"
#include "costate/optim/cma_es.h"
#include "costate/optim/gradient_descent.h"
#include "costate/optim/lbfgs.h"
#include "costate/optim/levenberg_marquardt.h"
// files, studies, pictures
#include "costate/io/model/load_model.h"
#include "costate/io/recording.h"
#include "costate/io/scene/load_study.h"
#include "costate/study/check.h"
#include "costate/study/optimise.h"
#include "costate/view/film.h"
#include "costate/view/replay.h"
