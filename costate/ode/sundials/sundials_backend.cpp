#include "costate/ode/sundials/sundials_backend.h"

#include <cvodes/cvodes.h>

#include <algorithm>
#include <cmath>

#include "costate/ode/sundials/sundials_objects.h"

namespace costate::ode::sundials {
namespace {

struct Cvode {
  void* memory;
  explicit Cvode(const Context& c) : memory(CVodeCreate(CV_BDF, c.context)) {}
  ~Cvode() { CVodeFree(&memory); }
  Cvode(const Cvode&) = delete;
  Cvode& operator=(const Cvode&) = delete;
};

Problem& problem(void* user) { return *static_cast<Problem*>(user); }

int rate(realtype t, N_Vector x, N_Vector dx, void* user) {
  Problem& q = problem(user);
  q.field.value(t, data(x), q.p.data(), data(dx), q.scratch.data());
  return 0;
}

int jacobian(realtype t, N_Vector x, N_Vector, SUNMatrix m, void* user, N_Vector, N_Vector, N_Vector) {
  Problem& q = problem(user);
  const int n = q.field.states();
  q.field.jacobian(t, data(x), q.p.data(), q.jacobian.data(), q.scratch.data());
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) SM_ELEMENT_D(m, i, j) = q.jacobian[i * n + j];
  }
  return 0;
}

int sensitivity_rate(int, realtype t, N_Vector x, N_Vector, int j, N_Vector s, N_Vector ds, void* user,
                     N_Vector, N_Vector) {
  Problem& q = problem(user);
  q.p_work[j] = 1;
  q.field.jvp(t, data(x), q.p.data(), 0.0, data(s), q.p_work.data(), data(ds), q.scratch.data());
  q.p_work[j] = 0;
  return 0;
}

int running_rate(realtype t, N_Vector x, N_Vector dq, void* user) {
  Problem& q = problem(user);
  data(dq)[0] = q.loss->running(t, data(x), q.p.data());
  return 0;
}

// lambda' = -f_x' lambda - l_x
int adjoint_rate(realtype t, N_Vector x, N_Vector lambda, N_Vector dlambda, void* user) {
  Problem& q = problem(user);
  double t_bar = 0;
  N_VConst(0.0, dlambda);
  q.field.vjp(t, data(x), q.p.data(), data(lambda), &t_bar, data(dlambda), nullptr, q.scratch.data());
  if (q.loss->running_gradient)
    q.loss->running_gradient(t, data(x), q.p.data(), data(dlambda), q.p_work.data());
  N_VScale(-1.0, dlambda, dlambda);
  return 0;
}

int adjoint_jacobian(realtype t, N_Vector x, N_Vector, N_Vector, SUNMatrix m, void* user, N_Vector, N_Vector,
                     N_Vector) {
  Problem& q = problem(user);
  const int n = q.field.states();
  q.field.jacobian(t, data(x), q.p.data(), q.jacobian.data(), q.scratch.data());
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) SM_ELEMENT_D(m, i, j) = -q.jacobian[j * n + i];
  }
  return 0;
}

// Integrated backwards in time, hence the sign.
int adjoint_quadrature(realtype t, N_Vector x, N_Vector lambda, N_Vector dq, void* user) {
  Problem& q = problem(user);
  double t_bar = 0;
  N_VConst(0.0, dq);
  std::fill(q.work.begin(), q.work.end(), 0.0);
  q.field.vjp(t, data(x), q.p.data(), data(lambda), &t_bar, q.work.data(), data(dq), q.scratch.data());
  if (q.loss->running_gradient) q.loss->running_gradient(t, data(x), q.p.data(), q.work.data(), data(dq));
  N_VScale(-1.0, dq, dq);
  return 0;
}

void start(const Cvode& cvode, Problem& q, double t0, N_Vector x, N_Vector tolerance,
           const DenseSolver& dense, const Options& options) {
  check(CVodeSetErrHandlerFn(cvode.memory, keep_message, &q), "CVodeSetErrHandlerFn");
  check(CVodeInit(cvode.memory, rate, t0, x), "CVodeInit");
  check(CVodeSVtolerances(cvode.memory, options.rtol, tolerance), "CVodeSVtolerances");
  check(CVodeSetUserData(cvode.memory, &q), "CVodeSetUserData");
  check(CVodeSetMaxNumSteps(cvode.memory, options.max_steps), "CVodeSetMaxNumSteps");
  check(CVodeSetLinearSolver(cvode.memory, dense.solver, dense.matrix), "CVodeSetLinearSolver");
  check(CVodeSetJacFn(cvode.memory, jacobian), "CVodeSetJacFn");
}

Forward solve_ode(const VectorField& field, double t0, double t1, const std::vector<double>& x0,
                  const std::vector<double>& p, const Options& options, bool sensitivities) {
  const int n = field.states(), np = sensitivities ? field.parameters() : 0;
  const Context context;
  Problem q(field, p);
  const Vector x = make_vector(x0, context), tolerance = make_vector(all_tolerances(options, n), context);
  const DenseSolver dense(x.get(), n, context);
  const Cvode cvode(context);
  start(cvode, q, t0, x.get(), tolerance.get(), dense, options);
  const VectorArray s(std::max(np, 1), x.get());
  std::vector<double> scales = parameter_scales(p);
  if (np > 0) {
    check(CVodeSensInit1(cvode.memory, np, CV_STAGGERED, sensitivity_rate, s.v), "CVodeSensInit1");
    check(CVodeSetSensParams(cvode.memory, nullptr, scales.data(), nullptr), "CVodeSetSensParams");
    check(CVodeSensEEtolerances(cvode.memory), "CVodeSensEEtolerances");
    check(CVodeSetSensErrCon(cvode.memory, SUNTRUE), "CVodeSetSensErrCon");
  }
  check(CVodeSetStopTime(cvode.memory, t1), "CVodeSetStopTime");
  double t = t0;
  check(CVode(cvode.memory, t1, x.get(), &t, CV_NORMAL), "CVode", q.message);
  Forward result;
  result.x.assign(data(x.get()), data(x.get()) + n);
  check(CVodeGetNumSteps(cvode.memory, &result.steps), "CVodeGetNumSteps");
  if (np > 0) {
    check(CVodeGetSens(cvode.memory, &t, s.v), "CVodeGetSens");
    result.sensitivities.resize(std::size_t(n) * np);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < np; ++j) result.sensitivities[i * np + j] = data(s.v[j])[i];
    }
  }
  return result;
}

Forward solve_any(const VectorField& field, double t0, double t1, const std::vector<double>& x0,
                  const std::vector<double>& p, const Options& options, bool sensitivities) {
  return field.mass().empty() ? solve_ode(field, t0, t1, x0, p, options, sensitivities)
                              : solve_dae(field, t0, t1, x0, p, options, sensitivities);
}

}  // namespace

bool available() { return true; }

Forward solve(const VectorField& field, double t0, double t1, const std::vector<double>& x0,
              const std::vector<double>& p, const Options& options) {
  return solve_any(field, t0, t1, x0, p, options, false);
}

Forward solve_with_sensitivities(const VectorField& field, double t0, double t1,
                                 const std::vector<double>& x0, const std::vector<double>& p,
                                 const Options& options) {
  return solve_any(field, t0, t1, x0, p, options, true);
}

AdjointGradient gradient(const VectorField& field, double t0, double t1, const std::vector<double>& x0,
                         const std::vector<double>& p, const Loss& loss, const Options& options) {
  if (!field.mass().empty()) {
    throw Error({"the SUNDIALS adjoint is for fields without a mass matrix", "",
                 "use solve_with_sensitivities, or method = \"radau5\""});
  }
  const int n = field.states(), np = field.parameters();
  const Context context;
  Problem q(field, p, &loss);
  AdjointGradient result;

  // Forward, with checkpoints.
  const Vector x = make_vector(x0, context), tolerance = make_vector(all_tolerances(options, n), context);
  const Vector integral = make_vector(1, context);
  const DenseSolver dense(x.get(), n, context);
  const Cvode cvode(context);
  start(cvode, q, t0, x.get(), tolerance.get(), dense, options);
  if (loss.running) {
    check(CVodeQuadInit(cvode.memory, running_rate, integral.get()), "CVodeQuadInit");
    check(CVodeSetQuadErrCon(cvode.memory, SUNTRUE), "CVodeSetQuadErrCon");
    check(CVodeQuadSStolerances(cvode.memory, options.rtol, options.integral_atol), "CVodeQuadSStolerances");
  }
  check(CVodeAdjInit(cvode.memory, options.checkpoint_steps, CV_POLYNOMIAL), "CVodeAdjInit");
  double t = t0;
  int checkpoints = 0;
  check(CVodeF(cvode.memory, t1, x.get(), &t, CV_NORMAL, &checkpoints), "CVodeF", q.message);
  check(CVodeGetNumSteps(cvode.memory, &result.steps), "CVodeGetNumSteps");
  if (loss.running) {
    check(CVodeGetQuad(cvode.memory, &t, integral.get()), "CVodeGetQuad");
    result.value += data(integral.get())[0];
  }

  // Backward.
  const Vector lambda = make_vector(n, context), quadrature = make_vector(std::max(np, 1), context);
  if (loss.final) result.value += loss.final(data(x.get()), data(lambda.get()));
  const DenseSolver dense_b(lambda.get(), n, context);
  int which = 0;
  check(CVodeCreateB(cvode.memory, CV_BDF, &which), "CVodeCreateB");
  check(CVodeSetErrHandlerFn(CVodeGetAdjCVodeBmem(cvode.memory, which), keep_message, &q),
        "CVodeSetErrHandlerFn");
  check(CVodeInitB(cvode.memory, which, adjoint_rate, t1, lambda.get()), "CVodeInitB");
  check(CVodeSStolerancesB(cvode.memory, which, options.adjoint_rtol, options.adjoint_atol),
        "CVodeSStolerancesB");
  check(CVodeSetUserDataB(cvode.memory, which, &q), "CVodeSetUserDataB");
  check(CVodeSetMaxNumStepsB(cvode.memory, which, options.max_steps), "CVodeSetMaxNumStepsB");
  check(CVodeSetLinearSolverB(cvode.memory, which, dense_b.solver, dense_b.matrix), "CVodeSetLinearSolverB");
  check(CVodeSetJacFnB(cvode.memory, which, adjoint_jacobian), "CVodeSetJacFnB");
  if (np > 0) {
    check(CVodeQuadInitB(cvode.memory, which, adjoint_quadrature, quadrature.get()), "CVodeQuadInitB");
    check(CVodeSetQuadErrConB(cvode.memory, which, SUNTRUE), "CVodeSetQuadErrConB");
    check(CVodeQuadSStolerancesB(cvode.memory, which, options.adjoint_rtol, options.integral_atol),
          "CVodeQuadSStolerancesB");
  }
  check(CVodeB(cvode.memory, t0, CV_NORMAL), "CVodeB", q.message);
  check(CVodeGetB(cvode.memory, which, &t, lambda.get()), "CVodeGetB");
  check(CVodeGetNumSteps(CVodeGetAdjCVodeBmem(cvode.memory, which), &result.backward_steps),
        "CVodeGetNumSteps");
  result.x0.assign(data(lambda.get()), data(lambda.get()) + n);
  result.p.assign(np, 0.0);
  if (np > 0) {
    check(CVodeGetQuadB(cvode.memory, which, &t, quadrature.get()), "CVodeGetQuadB");
    std::copy(data(quadrature.get()), data(quadrature.get()) + np, result.p.begin());
  }
  return result;
}

}  // namespace costate::ode::sundials
