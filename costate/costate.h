// Everything: #include <costate/costate.h> and link costate::costate. The layers' own headers compile faster.
#pragma once

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/grid/wave.h"
#include "costate/mpm/system.h"
#include "costate/ode/discrete_adjoint.h"
#include "costate/ode/fixed_step_systems.h"
#include "costate/ode/lambda_field.h"
#include "costate/ode/solve.h"
#include "costate/optim/adam.h"
#include "costate/optim/gradient_descent.h"
#include "costate/optim/lbfgs.h"
#include "costate/optim/levenberg_marquardt.h"
#include "costate/system/checks.h"
#include "costate/system/rollout.h"
