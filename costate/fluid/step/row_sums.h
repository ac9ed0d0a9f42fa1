// Sums over a box that do not depend on the number of threads: row by row, then over the rows in their order.
#pragma once

#include <array>
#include <vector>

#include "costate/fluid/grid/field.h"

namespace costate::fluid {

template <class S>
Single<S> single(double value, [[maybe_unused]] double tangent) {
  using Real = value_t<S>;
  if constexpr (kIsDual<S>)
    return Single<S>(Real(value), Real(tangent));
  else
    return Real(value);
}

// f(at, count) -> std::array<S, K> for every pack. `rows` holds 2 K numbers per row.
template <class S, std::size_t K, class F>
std::array<Single<S>, K> sum_packs(const Shape& shape, const Box& box, std::vector<double>& rows,
                                   const F& f) {
  each_row(shape, box, [&](Index row, Index begin) {
    std::array<double, 2 * K> sum{};
    for (Index i = 0; i < box.width(); i += lanes_of<S>) {
      const Index count = box.width() - i;
      const std::array<S, K> x = f(begin + i, count);
      const int lanes = int(std::min<Index>(count, lanes_of<S>));
      for (std::size_t k = 0; k < K; ++k) {
        if constexpr (kIsDual<S>) {
          for (int l = 0; l < lanes; ++l)
            sum[2 * k] += double(x[k].v[l]), sum[2 * k + 1] += double(x[k].d[0][l]);
        } else {
          for (int l = 0; l < lanes; ++l) sum[2 * k] += double(x[k][l]);
        }
      }
    }
    std::copy(sum.begin(), sum.end(), rows.begin() + row * Index(2 * K));
  });
  std::array<double, 2 * K> total{};
  for (Index row = 0; row < box.rows(); ++row)
    for (std::size_t k = 0; k < 2 * K; ++k) total[k] += rows[std::size_t(row) * 2 * K + k];
  std::array<Single<S>, K> result;
  for (std::size_t k = 0; k < K; ++k) result[k] = single<S>(total[2 * k], total[2 * k + 1]);
  return result;
}

}  // namespace costate::fluid
