// M x' = f by IDAS: residual M x' - f, forward sensitivities M s' - f_x s - f_p e_j.
#include <idas/idas.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "costate/ode/sundials/sundials_objects.h"

namespace costate::ode::sundials {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Ida {
  void* memory;
  explicit Ida(const Context& c) : memory(IDACreate(c.context)) {}
  ~Ida() { IDAFree(&memory); }
  Ida(const Ida&) = delete;
  Ida& operator=(const Ida&) = delete;
};

Problem& problem(void* user) { return *static_cast<Problem*>(user); }

// r = M v - r
void subtract_from_product(const Problem& q, const double* v, double* r) {
  const int n = q.field.states();
  const std::vector<double>& m = q.field.mass();
  for (int i = 0; i < n; ++i) {
    double sum = -r[i];
    for (int j = 0; j < n; ++j) sum += m[i * n + j] * v[j];
    r[i] = sum;
  }
}

int residual(realtype t, N_Vector x, N_Vector dx, N_Vector r, void* user) {
  Problem& q = problem(user);
  q.field.value(t, data(x), q.p.data(), data(r), q.scratch.data());
  subtract_from_product(q, data(dx), data(r));
  return 0;
}

int jacobian(realtype t, realtype c, N_Vector x, N_Vector, N_Vector, SUNMatrix m, void* user, N_Vector,
             N_Vector, N_Vector) {
  Problem& q = problem(user);
  const int n = q.field.states();
  q.field.jacobian(t, data(x), q.p.data(), q.jacobian.data(), q.scratch.data());
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) SM_ELEMENT_D(m, i, j) = c * q.field.mass()[i * n + j] - q.jacobian[i * n + j];
  }
  return 0;
}

int sensitivity_residual(int count, realtype t, N_Vector x, N_Vector, N_Vector, N_Vector* s, N_Vector* ds,
                         N_Vector* r, void* user, N_Vector, N_Vector, N_Vector) {
  Problem& q = problem(user);
  for (int j = 0; j < count; ++j) {
    q.p_work[j] = 1;
    q.field.jvp(t, data(x), q.p.data(), 0.0, data(s[j]), q.p_work.data(), data(r[j]), q.scratch.data());
    q.p_work[j] = 0;
    subtract_from_product(q, data(ds[j]), data(r[j]));
  }
  return 0;
}

// The rate of least size with M rate = right.
void initial_rate(const VectorField& field, const double* right, double* out) {
  const int n = field.states();
  const Eigen::Map<const Matrix> m(field.mass().data(), n, n);
  Eigen::Map<Eigen::VectorXd>(out, n) =
      m.completeOrthogonalDecomposition().solve(Eigen::Map<const Eigen::VectorXd>(right, n));
}

}  // namespace

Forward solve_dae(const VectorField& field, double t0, double t1, const std::vector<double>& x0,
                  const std::vector<double>& p, const Options& options, bool sensitivities) {
  const int n = field.states(), np = sensitivities ? field.parameters() : 0;
  const Context context;
  Problem q(field, p);
  const Vector x = make_vector(x0, context), dx = make_vector(n, context);
  const Vector tolerance = make_vector(all_tolerances(options, n), context);
  field.value(t0, x0.data(), p.data(), q.work.data(), q.scratch.data());
  initial_rate(field, q.work.data(), data(dx.get()));

  const Ida ida(context);
  const DenseSolver dense(x.get(), n, context);
  check(IDASetErrHandlerFn(ida.memory, keep_message, &q), "IDASetErrHandlerFn");
  check(IDAInit(ida.memory, residual, t0, x.get(), dx.get()), "IDAInit");
  check(IDASVtolerances(ida.memory, options.rtol, tolerance.get()), "IDASVtolerances");
  check(IDASetUserData(ida.memory, &q), "IDASetUserData");
  check(IDASetMaxNumSteps(ida.memory, options.max_steps), "IDASetMaxNumSteps");
  check(IDASetLinearSolver(ida.memory, dense.solver, dense.matrix), "IDASetLinearSolver");
  check(IDASetJacFn(ida.memory, jacobian), "IDASetJacFn");

  const VectorArray s(std::max(np, 1), x.get()), ds(std::max(np, 1), x.get());
  std::vector<double> scales = parameter_scales(p);
  if (np > 0) {
    for (int j = 0; j < np; ++j) {
      q.p_work[j] = 1;
      field.jvp(t0, x0.data(), p.data(), 0.0, nullptr, q.p_work.data(), q.work.data(), q.scratch.data());
      q.p_work[j] = 0;
      initial_rate(field, q.work.data(), data(ds.v[j]));
    }
    check(IDASensInit(ida.memory, np, IDA_STAGGERED, sensitivity_residual, s.v, ds.v), "IDASensInit");
    check(IDASetSensParams(ida.memory, nullptr, scales.data(), nullptr), "IDASetSensParams");
    check(IDASensEEtolerances(ida.memory), "IDASensEEtolerances");
    check(IDASetSensErrCon(ida.memory, SUNTRUE), "IDASetSensErrCon");
  }
  check(IDASetStopTime(ida.memory, t1), "IDASetStopTime");
  double t = t0;
  check(IDASolve(ida.memory, t1, &t, x.get(), dx.get(), IDA_NORMAL), "IDASolve", q.message);
  Forward result;
  result.x.assign(data(x.get()), data(x.get()) + n);
  check(IDAGetNumSteps(ida.memory, &result.steps), "IDAGetNumSteps");
  if (np > 0) {
    check(IDAGetSens(ida.memory, &t, s.v), "IDAGetSens");
    result.sensitivities.resize(std::size_t(n) * np);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < np; ++j) result.sensitivities[i * np + j] = data(s.v[j])[i];
    }
  }
  return result;
}

}  // namespace costate::ode::sundials
