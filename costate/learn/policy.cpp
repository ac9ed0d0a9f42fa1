#include "costate/learn/policy.h"

#include <algorithm>

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

namespace {

// Rows of one beside rows of the other.
void join(std::int64_t rows, const double* a, std::int64_t a_size, const double* b, std::int64_t b_size,
          std::vector<double>& to) {
  to.resize(std::size_t(rows * (a_size + b_size)));
  for (std::int64_t k = 0; k < rows; ++k) {
    double* const row = to.data() + k * (a_size + b_size);
    std::copy_n(a + k * a_size, a_size, row);
    std::copy_n(b + k * b_size, b_size, row + a_size);
  }
}

}  // namespace

void Policy::forward(std::int64_t rows, const double* n, std::vector<double>& h, double* z,
                     PolicyPass& pass) const {
  if (!memory) return network.forward(weights(), rows, n, z, pass.network);
  std::vector<double> after(h.size());
  memory->forward(memory_weights(), rows, n, h.data(), after.data(), pass.memory);
  h = std::move(after);
  join(rows, n, observations(), h.data(), remembered(), pass.in);
  network.forward(weights(), rows, pass.in.data(), z, pass.network);
}

void Policy::backward(const double* z_bar, std::vector<double>& h_bar, double* n_bar, double* gradient,
                      PolicyPass& pass) const {
  if (!memory) return network.backward(weights(), z_bar, n_bar, gradient, pass.network);
  const std::int64_t rows = pass.network.count, n = observations(), m = remembered();
  std::vector<double> in_bar(pass.in.size()), before(h_bar.size()), of_memory(std::size_t(rows * n));
  network.backward(weights(), z_bar, in_bar.data(), gradient, pass.network);
  for (std::int64_t k = 0; k < rows; ++k)
    for (std::int64_t i = 0; i < m; ++i)
      h_bar[std::size_t(k * m + i)] += in_bar[std::size_t(k * (n + m) + n + i)];
  memory->backward(memory_weights(), h_bar.data(), of_memory.data(), before.data(),
                   gradient + network.weights() + controls(), pass.memory);
  h_bar = std::move(before);
  for (std::int64_t k = 0; k < rows; ++k)
    for (std::int64_t i = 0; i < n; ++i)
      n_bar[k * n + i] = in_bar[std::size_t(k * (n + m) + i)] + of_memory[std::size_t(k * n + i)];
}

std::vector<double> Policy::act(const std::vector<double>& observed, std::vector<double>& h) const {
  const std::int64_t n = std::int64_t(observed.size()) / observations(), m = controls();
  std::vector<double> normal(observed.size()), u(std::size_t(n * m));
  seen.apply(observed.data(), n, normal.data());
  PolicyPass pass;
  forward(n, normal.data(), h, u.data(), pass);
  for (std::int64_t k = 0; k < n * m; ++k) u[k] = middle(k % m) + half(k % m) * std::tanh(u[k]);
  return u;
}

}  // namespace costate::learn
