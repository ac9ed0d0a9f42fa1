// State estimation: extended and unscented Kalman filters, their smoothers, and the gradient of the
// likelihood.
//
//   x_{k+1} = step(x_k, u_k, p) (+) w,  w ~ N(0, W);    y_k = h(x_k, p) + e,  e ~ N(0, V);    x_0 ~ N(x0, P0)
//
//   predict   m- , P- + W      moments of step(x) for x ~ N(m, P)                                moments.h
//   update    z, S, C          moments of h(x), + V, and C = cov(x, h);   G = C S^-1
//             m = m- (+) G (y - z),   P = P- - G S G'
//             log p(y) += -1/2 (r'S^-1 r + log det S + rows log 2 pi),   r = y - z
//   smooth    backwards: m_k (+) D (m_{k+1} - m-_{k+1}),  D = cov(x_k, x_{k+1}) (P-)^-1           [1]
//
// Filter::extended linearises step and h; Filter::unscented carries 2n points through them [2]. On linear
// systems both are the Kalman filter.
//
// Gradient of log p(y) with respect to the system's parameters, W, V, x0 and P0: the transpose of these
// lines, last step first. That of the extended filter needs second derivatives of the step, that of the
// unscented one only transposes. Of plain numbers: not on quaternions.
//
// [1] Sarkka: Bayesian Filtering and Smoothing (2013), sections 5 and 9.
// [2] Julier, Uhlmann: Unscented filtering and nonlinear estimation (2004), with equal weights (cubature
//     points).
// Tests: tests/control/estimation_test.cpp.
#pragma once

#include "costate/control/plant.h"

namespace costate::control {

enum class Filter { extended, unscented };

struct Estimation {
  std::shared_ptr<const System<double>> system;
  Parameters<double> parameters;  // of one world
  // Each number of a measurement, as a term of the final state: loss::expression(signature, "angle").
  std::vector<ObjectivePtr<double>> measured;
  std::vector<double> process_noise;      // W, tangents x tangents, per step
  std::vector<double> measurement_noise;  // V, measured x measured
  std::vector<double> x0, P0;             // before the first measurement
  std::vector<double> controls = {};      // steps x controls, or one row for all steps; empty: zero
  StateSpace space = StateSpace();
  Filter filter = Filter::extended;
};

// Row k: after the measurement of step k.
struct Estimate {
  std::vector<double> x, P;        // (steps + 1) x states, (steps + 1) x tangents^2
  std::vector<double> innovation;  // y - z, (steps + 1) x measured
  std::vector<double> surprise;    // r'S^-1 r per row: about the number measured where the model is right
  double log_likelihood = 0;
};

// y: (steps + 1) x measured, the first at the start. A row whose numbers are all NaN was not measured. Error
// for a row of which some are, for sizes that do not fit, and where a covariance is not positive definite.
Estimate filter(const Estimation& problem, const std::vector<double>& y);
// From all measurements, also those that come later. innovation and surprise are those of the filter.
Estimate smooth(const Estimation& problem, const std::vector<double>& y);

struct LikelihoodGradient {
  double value = 0;
  Parameters<double> parameters;
  std::vector<double> process_noise, measurement_noise, x0, P0;
};
LikelihoodGradient likelihood_gradient(const Estimation& problem, const std::vector<double>& y);

}  // namespace costate::control
