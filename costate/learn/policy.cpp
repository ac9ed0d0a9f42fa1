#include "costate/learn/policy.h"

namespace costate::learn {

void Normaliser::see(const std::vector<double>& rows) {
  const std::size_t size = mean.size(), n = rows.size() / size;
  if (n == 0) return;
  for (std::size_t i = 0; i < size; ++i) {
    double sum = 0, squares = 0;
    for (std::size_t w = 0; w < n; ++w) sum += rows[w * size + i];
    const double own = sum / double(n);
    for (std::size_t w = 0; w < n; ++w) squares += (rows[w * size + i] - own) * (rows[w * size + i] - own);
    const double apart = own - mean[i], total = count + double(n);
    mean[i] += apart * double(n) / total;
    square[i] += squares + apart * apart * count * double(n) / total;
  }
  count += double(n);
}

void Normaliser::apply(const double* rows, std::int64_t n, double* to) const {
  const std::size_t size = mean.size();
  for (std::size_t i = 0; i < size; ++i) {
    const double scale = 1 / deviation(i);
    for (std::int64_t w = 0; w < n; ++w)
      to[std::size_t(w) * size + i] = (rows[std::size_t(w) * size + i] - mean[i]) * scale;
  }
}

std::vector<double> Policy::act(const std::vector<double>& observations) const {
  const std::int64_t n = std::int64_t(observations.size()) / network.inputs(), m = controls();
  std::vector<double> normal(observations.size()), u(std::size_t(n * m));
  seen.apply(observations.data(), n, normal.data());
  NetworkPass<double> pass;
  network.forward({parameters.data(), std::size_t(network.weights())}, n, normal.data(), u.data(), pass);
  for (std::int64_t k = 0; k < n * m; ++k) u[k] = middle(k % m) + half(k % m) * std::tanh(u[k]);
  return u;
}

}  // namespace costate::learn
