// Policy: from what is seen to controls, with noise, the same for all worlds.
//
//   n = (o - mean)/deviation           running statistics of what was seen
//   h = gru(n, h)                      where it has a memory, which is zero when an episode begins
//   z = network(n, h) + exp(s) e       e standard normal, s one number per control; e = 0: without noise
//   u = middle + half tanh z           between the bounds of the controls
//
// Parameters: the network's weights, then s, then the weights of the memory. The transpose is shac.cpp's: it
// knows which noise was drawn.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "costate/learn/dense_network.h"
#include "costate/learn/gru.h"

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

// What the network and the memory leave of a decision for their transposes.
struct PolicyPass {
  NetworkPass<double> network;
  GruPass<double> memory;
  std::vector<double> in;  // of the network: n, then h
};

struct Policy {
  DenseNetwork<double> network;
  std::vector<double> parameters;
  Normaliser seen;
  std::vector<double> lower, upper;
  std::optional<Gru<double>> memory = {};

  std::int64_t controls() const { return network.outputs(); }
  double log_noise(std::int64_t i) const { return parameters[std::size_t(network.weights() + i)]; }
  double middle(std::int64_t i) const { return 0.5 * (lower[i] + upper[i]); }
  double half(std::int64_t i) const { return 0.5 * (upper[i] - lower[i]); }
  std::int64_t observations() const { return std::int64_t(seen.mean.size()); }
  std::int64_t remembered() const { return memory ? memory->size() : 0; }
  std::span<const double> weights() const { return {parameters.data(), std::size_t(network.weights())}; }
  std::span<const double> memory_weights() const {
    return std::span(parameters).subspan(std::size_t(network.weights() + controls()));
  }
  // z without noise of normalised observations; h (rows x remembered) moves on.
  void forward(std::int64_t rows, const double* n, std::vector<double>& h, double* z, PolicyPass& pass) const;
  // After forward() with the same parameters. h_bar: of the memory after the decision, then of that before.
  // Adds to the gradient; n_bar is written.
  void backward(const double* z_bar, std::vector<double>& h_bar, double* n_bar, double* gradient,
                PolicyPass& pass) const;

  // Without noise: rows of observations to rows of controls. Without a memory, or with one that moves on.
  std::vector<double> act(const std::vector<double>& observations, std::vector<double>& h) const;
};

}  // namespace costate::learn
