// SUNDIALS objects that free themselves, and error codes turned into Errors. Included by the backend's
// sources alone.
#pragma once

#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "costate/core/error.h"
#include "costate/ode/sundials/sundials_backend.h"

namespace costate::ode::sundials {

// Negative codes are failures; `message` is what the library said about it.
inline void check(int code, const char* call, const std::string& message = {}) {
  if (code >= 0) return;
  throw Error({std::string("SUNDIALS: ") + call + " failed with code " + std::to_string(code) +
                   (message.empty() ? "" : ": " + message),
               "", "loosen the tolerances or raise max_steps"},
              Error::Kind::numerics);
}

struct Context {
  SUNContext context = nullptr;
  Context() { check(SUNContext_Create(nullptr, &context), "SUNContext_Create"); }
  ~Context() { SUNContext_Free(&context); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

struct VectorDelete {
  void operator()(N_Vector v) const { N_VDestroy(v); }
};
using Vector = std::unique_ptr<std::remove_pointer_t<N_Vector>, VectorDelete>;

inline Vector make_vector(int n, const Context& c) {
  Vector v(N_VNew_Serial(n, c.context));
  N_VConst(0.0, v.get());
  return v;
}
inline Vector make_vector(const std::vector<double>& values, const Context& c) {
  Vector v = make_vector(int(values.size()), c);
  std::copy(values.begin(), values.end(), N_VGetArrayPointer(v.get()));
  return v;
}
inline double* data(N_Vector v) { return N_VGetArrayPointer(v); }

struct VectorArray {
  N_Vector* v;
  int count;
  VectorArray(int n, N_Vector like) : v(N_VCloneVectorArray(n, like)), count(n) {
    for (int i = 0; i < n; ++i) N_VConst(0.0, v[i]);
  }
  ~VectorArray() { N_VDestroyVectorArray(v, count); }
  VectorArray(const VectorArray&) = delete;
  VectorArray& operator=(const VectorArray&) = delete;
};

// A dense matrix with its linear solver.
struct DenseSolver {
  SUNMatrix matrix;
  SUNLinearSolver solver;
  DenseSolver(N_Vector like, int n, const Context& c)
      : matrix(SUNDenseMatrix(n, n, c.context)), solver(SUNLinSol_Dense(like, matrix, c.context)) {}
  ~DenseSolver() {
    SUNLinSolFree(solver);
    SUNMatDestroy(matrix);
  }
  DenseSolver(const DenseSolver&) = delete;
  DenseSolver& operator=(const DenseSolver&) = delete;
};

// What the C callbacks see.
struct Problem {
  const VectorField& field;
  const std::vector<double>& p;
  const Loss* loss = nullptr;
  std::vector<double> scratch, jacobian, work, p_work;
  std::string message;  // of the last failure

  Problem(const VectorField& f, const std::vector<double>& parameters, const Loss* l = nullptr)
      : field(f),
        p(parameters),
        loss(l),
        scratch(f.scratch_size()),
        jacobian(std::size_t(f.states()) * f.states()),
        work(f.states()),
        p_work(f.parameters()) {}
};

// Keeps what SUNDIALS would print.
inline void keep_message(int, const char*, const char*, char* message, void* user) {
  static_cast<Problem*>(user)->message = message;
}

inline std::vector<double> all_tolerances(const Options& options, int n) {
  if (options.atol.size() == 1) return std::vector<double>(n, options.atol[0]);
  if (int(options.atol.size()) != n)
    throw Error("atol needs one value, or one per state (" + std::to_string(n) + ")");
  return options.atol;
}
// Scales of the parameters, by which SUNDIALS judges sensitivities.
inline std::vector<double> parameter_scales(const std::vector<double>& p) {
  std::vector<double> scale(p);
  for (double& s : scale) s = s == 0 ? 1.0 : std::abs(s);
  return scale;
}

// sundials_dae.cpp.
Forward solve_dae(const VectorField& field, double t0, double t1, const std::vector<double>& x0,
                  const std::vector<double>& p, const Options& options, bool sensitivities);

}  // namespace costate::ode::sundials
