// One implicit step of soft bodies, and its derivatives by the implicit function theorem.
//
//   0 = r(z) = m (a (z - y) + drag rate (z - w) - g) - f_wind(x) + sum of terms            (scheme.h, term.h)
//   H = dr/dz, symmetric: r is the gradient of an energy at fixed (x, w)
//
// Newton: H d = -r (direction.cpp), then the longest of d, d/2, d/4, ... that lowers the energy. H is tried
// as it is; where it is not positive definite, the negative parts of cells and pairs are left out, and if
// that is not enough multiples of the identity are added. Stops at |r| <= tolerance times the forces that r
// is the sum of, or where z no longer changes.
//
// Tangent: H z_dot = -(dr with z held). Transpose: mu = -H^-1 z_bar, then every input receives its derivative
// of mu . r. Both use H at the solution, not shifted, factored once, and refine what they solve for with
// residuals in extended precision.
// Held vertices are inputs: z there is known, and the rows of H between free and held ones carry their part.
// Vertices that ride on a carrier are found together with the forces on it: carried_step.cpp.
// [1] Nocedal, Wright: Numerical Optimization, 2nd ed., sections 3.4 and 11.1.
// Tests: tests/soft/soft_test.cpp (closed forms, published digits), tests/contract/list.cpp.
#pragma once

#include <algorithm>

#include "costate/soft/step/compile.h"
#include "costate/soft/step/scheme.h"

namespace costate::soft {

// From so many vertices on a step makes one factorisation, not one per iteration.
inline constexpr int kManyVertices = 400;

struct CarriedScratch;  // carried_scratch.h

struct StepScratch {
  explicit StepScratch(const Compiled& c);
  ~StepScratch();
  // What a transpose starts from: z, and the forces on the carrier.
  template <class Real>
  void save(Real* tape) const;
  template <class Real>
  void restore(const Real* tape);
  void forget();  // what was derived from the last solution

  std::vector<double> z, y, w, r, d, trial, mass, mass_bar, wind, zero;  // of vertices
  std::vector<double> slots, slots_w, slots_rest, sums, values, block_slots, blocks, kept;
  std::vector<double> areas, areas_bar;  // of contact, and their tangents; empty: not weighted
  std::vector<double> massed;            // the parameters that mass, kept and areas are those of
  std::vector<double> held_x, held_v;    // of held vertices: where the step takes them; of all: zero
  std::vector<double> mu, refine, solve_work, x_bar, w_bar, rest_bar, y_bar, coupling;
  std::vector<double> crease_bar;                   // of vertices: the cotangent of z that creases have
  solve::BlockCholesky cholesky, contact_cholesky;  // of the mesh, and of the mesh with what touches
  std::vector<long double> exact;
  SelfContact::Scratch contact;
  std::vector<Assembly::Pair> analysed;  // the pairs whose order of elimination contact_cholesky has
  bool factored = false;                 // the matrix and its factor are those of the solution
  bool single = false;                   // the factor at the solution is in single precision
  const solve::BlockCholesky* preconditioner = nullptr;  // whose factor is in single precision
  bool prepared = false;    // y, w, mass, wind and lags are those of the inputs that z is the solution of
  bool indefinite = false;  // conjugate gradients ended at a negative curvature
  int rounds = 0;           // of the last conjugate gradients
  int single_age = -1;      // iterations since the single-precision factor was made; -1: there is none
  std::vector<Assembly::Pair> pairs;          // of the mesh, then those that only contact has
  double norm = 0, forces = 0;                // of r at z, and of what it is the sum of
  double residual = 0, adjoint_residual = 0;  // relative
  int iterations = 0;
  std::unique_ptr<CarriedScratch> carried;  // null: there is no carrier
};

class ImplicitStep {
 public:
  explicit ImplicitStep(const Compiled& compiled) : c_(compiled) {}

  struct In {
    std::int64_t k;
    const double *x, *u, *p;
  };
  struct Bar {
    double *x, *u, *p;
    bool rest = true;  // whether the rest shape is asked for
  };
  // s.z of the step, by Newton's iteration. Error where it does not converge.
  void solve(const In& in, StepScratch& s) const;
  // The state after the step, from s.z.
  void finish(const In& in, const StepScratch& s, double* y) const;
  // Tangent of finish(solve()); null pointers are zero.
  void jvp(const In& in, const In& dot, StepScratch& s, double* y_dot) const;
  // Overwrites bar.x, adds to bar.u and bar.p.
  void vjp(const In& in, const double* y_bar, const Bar& bar, StepScratch& s) const;

  // Kinetic, elastic and of weight.
  double energy(const In& in, StepScratch& s) const;

 private:
  struct Numbers {
    Scheme scheme;
    double dt, a, rate, drag;
    Vec3<double> gravity, wind;
    double wind_drag;
    const double *x, *v, *x_old, *v_old;
    At at;
  };
  struct Rates {  // tangents or cotangents of dt, a and rate
    double dt = 0, a = 0, rate = 0;
  };
  Numbers numbers(const In& in, const StepScratch& s) const;
  Numbers prepare(const In& in, StepScratch& s) const;
  void masses(const double* p, StepScratch& s) const;
  // Where held vertices are at z; s.held_x and s.held_v at the end of the step.
  void set_held(const In& in, const Numbers& num, double* z, StepScratch& s) const;
  double potential(const Numbers& num, const double* z, StepScratch& s) const;
  // Returns the norm of the forces that s.r is the sum of.
  double residual(const Numbers& num, const double* z, StepScratch& s) const;
  void matrix(const Numbers& num, const double* z, bool convex, StepScratch& s) const;
  // How much of s.d can be taken from z without passing through something.
  double longest(const Numbers& num, const double* z, const double* step, StepScratch& s) const;
  void push(const In& in, const Numbers& num, StepScratch& s) const;
  // Newton's iteration from s.z; whether it came to the tolerance.
  bool iterate(const Numbers& num, double tolerance, int most, StepScratch& s) const;
  bool direction(const Numbers& num, double tolerance, StepScratch& s) const;
  bool exact_direction(const Numbers& num, StepScratch& s, bool convex = false) const;
  bool approximate_direction(double accuracy, StepScratch& s) const;
  bool conjugate_gradients(double accuracy, StepScratch& s) const;
  bool touching(const StepScratch& s) const;
  solve::BlockCholesky& cholesky_of(StepScratch& s) const;
  bool factor(StepScratch& s, double shift) const;
  bool factor_single(StepScratch& s) const;
  void solve_with_factor(double* b, StepScratch& s) const;
  void multiply(const double* x, double* y, const StepScratch& s) const;
  void start(const In& in, const Numbers& num, StepScratch& s) const;
  double start_lower(const Numbers& num, double step, StepScratch& s) const;
  void stay_where_lower(const In& in, const Numbers& num, StepScratch& s) const;
  bool search(const Numbers& num, double& potential_now, StepScratch& s) const;
  // s.norm and s.forces, of everything that is to vanish at z.
  void measure(const Numbers& num, const double* z, StepScratch& s) const;
  // creases.cpp
  void crease(const Numbers& num, const StepScratch& s, double* y) const;
  void crease_jvp(const In& dot, const Numbers& num, const StepScratch& s, double* y_dot) const;
  void crease_vjp(const Numbers& num, const double* out_bar, const Bar& bar, StepScratch& s) const;
  // Of a carrier: carried_step.cpp. rest: the model's rest positions.
  void begin_carried(const In& in, const Numbers& num, StepScratch& s) const;
  void start_carried(const Numbers& num, StepScratch& s) const;
  void carry(const std::vector<double>& forces, double* z, const double* rest, StepScratch& s) const;
  bool carried_trial(const Numbers& num, double step, StepScratch& s) const;
  void carry_along(double step, const double* rest, StepScratch& s) const;
  void accept_carried(StepScratch& s) const;
  void balance(const Numbers& num, StepScratch& s) const;
  double carried_work(StepScratch& s) const;
  double carried_slope(const StepScratch& s) const;
  void riders_of(const double* v, const double* rest, StepScratch& s) const;
  void stiffness(const double* rest, bool curved, StepScratch& s) const;
  bool factor_forces(StepScratch& s) const;
  bool carried_direction(const Numbers& num, StepScratch& s) const;
  bool carried_newton(const Numbers& num, bool curved, StepScratch& s) const;
  // carried_derivatives.cpp
  void linearise_carried(const In& in, const Numbers& num, StepScratch& s) const;
  void follow_riders(StepScratch& s) const;
  void carried_jvp(const In& in, const In& dot, const Numbers& num, StepScratch& s) const;
  void carried_vjp(const In& in, const Numbers& num, const double* out_bar, const Bar& bar, Rates& rates_bar,
                   StepScratch& s) const;
  void factor_at_solution(const Numbers& num, StepScratch& s) const;
  // Stages of the tangent and of the transpose.
  void predict_jvp(const In& in, const In& dot, const Numbers& num, const Rates& rates, StepScratch& s) const;
  void residual_jvp(const In& dot, const Numbers& num, const Rates& rates, StepScratch& s) const;
  void solve_jvp(const In& in, const In& dot, const Numbers& num, const Rates& rates, StepScratch& s) const;
  void finish_jvp(const In& dot, const Numbers& num, const Rates& rates, const StepScratch& s,
                  double* y_dot) const;
  void finish_vjp(const Numbers& num, const double* out_bar, const Bar& bar, Rates& rates_bar,
                  StepScratch& s) const;
  void solve_vjp(const In& in, const Numbers& num, const double* out_bar, const Bar& bar, Rates& rates_bar,
                 StepScratch& s) const;
  void inertia_vjp(const Numbers& num, const Bar& bar, Rates& rates_bar, StepScratch& s) const;
  void forces_vjp(const Numbers& num, const Bar& bar, Rates& rates_bar, StepScratch& s) const;
  void predict_vjp(const Numbers& num, const Bar& bar, const Rates& rates_bar, const StepScratch& s) const;
  void factor_exactly(StepScratch& s) const;
  void exact_residual(const double* x, StepScratch& s) const;
  void solve_refined(double* b, StepScratch& s) const;
  [[noreturn]] void fail(const Numbers& num, const StepScratch& s) const;
  std::string undefined_cell(const At& at) const;
  double norm_free(const std::vector<double>& r) const;

  const Compiled& c_;
};

}  // namespace costate::soft
