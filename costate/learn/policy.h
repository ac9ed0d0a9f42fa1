// Policy: from what is seen to controls, with noise, the same for all worlds.
//
//   n = (o - mean)/deviation           running statistics of what was seen
//   z = network(n) + exp(s) e          e standard normal, s one number per control; e = 0: without noise
//   u = middle + half tanh z           between the bounds of the controls
//
// Parameters: the network's weights, then s. The transpose is shac.cpp's: it knows which noise was drawn.
#pragma once

#include <cmath>
#include <vector>

#include "costate/learn/dense_network.h"

namespace costate::learn {

// Mean and variance of all that was seen, one number at a time (Chan, Golub, LeVeque: batches merged).
struct Normaliser {
  std::vector<double> mean, square;  // square: sum of squared distances from the mean
  double count = 0;

  explicit Normaliser(std::int64_t size = 0) : mean(size, 0.0), square(size, 0.0) {}
  double deviation(std::size_t i) const { return count > 1 ? std::sqrt(square[i] / count) + 1e-4 : 1; }
  void see(const std::vector<double>& rows);
  void apply(const double* rows, std::int64_t count, double* to) const;
};

struct Policy {
  DenseNetwork<double> network;
  std::vector<double> parameters;  // weights, then the logarithms of the noise
  Normaliser seen;
  std::vector<double> lower, upper;

  std::int64_t controls() const { return network.outputs(); }
  double log_noise(std::int64_t i) const { return parameters[std::size_t(network.weights() + i)]; }
  double middle(std::int64_t i) const { return 0.5 * (lower[i] + upper[i]); }
  double half(std::int64_t i) const { return 0.5 * (upper[i] - lower[i]); }
  // Without noise: rows of observations to rows of controls.
  std::vector<double> act(const std::vector<double>& observations) const;
};

}  // namespace costate::learn
