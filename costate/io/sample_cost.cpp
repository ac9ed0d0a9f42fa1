#include "costate/io/sample_cost.h"

#include "costate/core/error.h"

namespace costate::io {

ProgramSampleCost::ProgramSampleCost(const ad::Program& cost, std::vector<double> times,
                                     std::vector<double> data)
    : cost_(cost), times_(std::move(times)), data_(std::move(data)) {
  if (!data_.empty() && data_.size() != times_.size()) throw Error("samples need one datum per time");
}

std::vector<double> ProgramSampleCost::with_data(std::size_t k, const double* p) const {
  std::vector<double> all(p, p + parameters());
  if (!data_.empty()) all.push_back(data_[k]);
  return all;
}

double ProgramSampleCost::value(std::size_t k, const double* x, const double* p) const {
  std::vector<double> scratch(cost_.scratch_size());
  double value = 0;
  cost_.value(times_[k], x, with_data(k, p).data(), &value, scratch.data());
  return value;
}

void ProgramSampleCost::gradient(std::size_t k, const double* x, const double* p, double* x_bar,
                                 double* p_bar) const {
  std::vector<double> scratch(cost_.scratch_size()), all_bar(std::size_t(cost_.parameters()));
  double t_bar = 0;
  const double one = 1;
  cost_.vjp(times_[k], x, with_data(k, p).data(), &one, &t_bar, x_bar, all_bar.data(), scratch.data());
  for (int i = 0; i < parameters(); ++i) p_bar[i] += all_bar[std::size_t(i)];
}

void ProgramSampleCost::gradient_jvp(std::size_t k, const double* x, const double* p, const double* x_dot,
                                     const double* p_dot, double* x_bar_dot, double* p_bar_dot) const {
  std::vector<double> scratch(cost_.scratch_size()), all_dot(std::size_t(cost_.parameters())),
      all_bar_dot(std::size_t(cost_.parameters()));
  for (int i = 0; p_dot && i < parameters(); ++i) all_dot[std::size_t(i)] = p_dot[i];
  double t_bar_dot = 0;
  const double one = 1;
  cost_.vjp_jvp(times_[k], x, with_data(k, p).data(), &one, 0.0, x_dot, all_dot.data(), nullptr, &t_bar_dot,
                x_bar_dot, all_bar_dot.data(), scratch.data());
  for (int i = 0; i < parameters(); ++i) p_bar_dot[i] += all_bar_dot[std::size_t(i)];
}

}  // namespace costate::io
