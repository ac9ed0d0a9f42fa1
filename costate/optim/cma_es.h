// CMA-ES [1]: minimisation without gradients. A cloud of points is drawn, ranked by value, and its mean,
// width and shape follow the better half.
//
//   draw        x_k = m + sigma y_k,   y_k ~ N(0, C),   k = 1 ... lambda
//   mean        m += sigma <y>,   <y> = sum of w_i y_i over the better half, best first
//   width       p_s = (1 - c_s) p_s + sqrt(c_s (2 - c_s) mu_eff) C^-1/2 <y>,
//               sigma *= exp(c_s/d_s (|p_s| / E|N(0, I)| - 1))
//   shape       p_c = (1 - c_c) p_c + h sqrt(c_c (2 - c_c) mu_eff) <y>
//               C  = (1 + c_1 (1 - h) c_c (2 - c_c) - c_1 - c_mu sum w) C + c_1 p_c p_c'
//                  + c_mu sum w_i y_i y_i'
//
// Weights, of which those of the worse half are negative, and all constants are those of [1, table 1];
// nothing is to be tuned but `sigma` (about a third of how far the minimum may lie, in units of `scale`) and,
// for rugged functions, a larger population. The covariance is full: the cost of a generation beyond its
// evaluations grows as n^3, a millisecond at n = 60.
//
// Bounds: the function is evaluated at the nearest point inside; in the ranking a point outside is worse by
// its squared distance in units of the cloud, times the spread of the values [1, B.5]. Values that are not
// finite rank last.
//
// Stopping::gradient_tolerance has no meaning here, and gradient_norm is 0. value_tolerance: relative range
// of the best values of the last 10 + 30 n / lambda generations. The run also ends (Stop::value) when the
// cloud has shrunk to 1e-12 of its first width.
//
// The baseline against which gradients are worth their cost: docs/contact_tasks.md.
// [1] Hansen: The CMA evolution strategy: a tutorial, arXiv:1604.00772 (2016).
// Tests: tests/optim/cma_es_test.cpp.
#pragma once

#include <cstdint>

#include "costate/optim/minimize.h"

namespace costate::optim {

// Values of `count` points, one after the other: a whole generation, so that a simulator may run them side by
// side.
using ValuesOfPoints = std::function<void(const double* points, int count, double* values)>;

struct CmaEsOptions {
  double sigma = 0.3;              // first width of the cloud, in units of `scale`
  std::vector<double> scale = {};  // of each variable; empty: 1
  int population = 0;              // points of a generation; 0: 4 + 3 log n
  long max_evaluations = std::numeric_limits<long>::max();
  std::uint64_t seed = 1;
  Stopping stopping = {};  // an iteration is a generation
  Bounds bounds = {};
  Callback callback = {};
};

// x is the mean, value that of the best point of the last generation.
struct CmaEsState : DescentState {
  double sigma = 0;
  std::vector<double> sigma_path, covariance_path, covariance;  // covariance: row-major
  std::vector<double> recent;                                   // best values of the last generations
};

Result minimize(const ValuesOfPoints& values, const std::vector<double>& x0, const CmaEsOptions& options,
                CmaEsState* state = nullptr);
// One point at a time.
Result minimize(const std::function<double(const double* x)>& value, const std::vector<double>& x0,
                const CmaEsOptions& options, CmaEsState* state = nullptr);

}  // namespace costate::optim
