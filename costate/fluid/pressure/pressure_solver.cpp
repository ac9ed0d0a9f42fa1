#include "costate/fluid/pressure/pressure_solver.h"

namespace costate::fluid {

template <class Real>
PressureSolver<Real>::PressureSolver(const Shape& shape, const std::array<Ends, 3>& ends)
    : shape_(shape), last_(shape.dim - 1) {
  row_ = (shape.n[0] + P::lanes - 1) / P::lanes * P::lanes;
  columns_ = row_ * (last_ == 2 ? shape.n[1] : 1);
  wraps_ = ends[std::size_t(last_)] == Ends::periodic;
  singular_ = true;
  for (int a = 0; a < shape.dim; ++a) {
    const Ends e = ends[std::size_t(a)];
    singular_ = singular_ && (e == Ends::periodic || e == Ends::even_even);
  }
  transform_ = BoxTransform<Real>(shape, shape.all_cells(), ends, last_);
  const double h = shape.h[std::size_t(last_)];
  coupling_ = Real(1 / (h * h));
  scale_ = Real(1 / transform_.gain());
  factorise(ends[std::size_t(last_)], 1 / (h * h));
}

// Pivots of the elimination from below, in double whatever Real is.
template <class Real>
void PressureSolver<Real>::factorise(Ends ends, double c) {
  const Index n = shape_.n[std::size_t(last_)];
  pivot_.assign(std::size_t(n * columns_), Real(0));
  if (wraps_) answer_.assign(std::size_t(n * columns_), Real(0));
  std::vector<double> inverse(std::size_t(n), 0.0), z(std::size_t(n) + 1, 0.0);
  for (Index column = 0; column < columns_; ++column) {
    const Index i = column % row_, j = column / row_;
    if (i >= shape_.n[0]) continue;
    double lambda = transform_.lambda(0)[std::size_t(i)] / (shape_.h[0] * shape_.h[0]);
    if (last_ == 2) lambda += transform_.lambda(1)[std::size_t(j)] / (shape_.h[1] * shape_.h[1]);
    const bool flat = singular_ && column == 0;
    const Index begin = wraps_ ? 1 : 0;
    double before = 0;
    for (Index k = begin; k < n; ++k) {
      double diagonal = -2 * c - lambda;
      if (k == 0) diagonal += ends == Ends::even_even || ends == Ends::even_odd ? c : -c;
      if (!wraps_ && k == n - 1) diagonal += ends == Ends::even_even || ends == Ends::odd_even ? c : -c;
      const double pivot = diagonal - c * c * before;
      // The last equation of a singular system follows from the others: p = 0 there, until it is levelled.
      before = flat && k == n - 1 && !wraps_ ? 0 : 1 / pivot;
      inverse[std::size_t(k)] = before;
      pivot_[std::size_t(k * columns_ + column)] = Real(before);
    }
    if (!wraps_) continue;
    // z: the solution of cells 1 to n - 1 for p_0 = 1.
    for (Index k = 1; k < n; ++k) {
      const double r = (k == 1 ? -c : 0.0) + (k == n - 1 ? -c : 0.0);
      z[std::size_t(k)] = r - (k > 1 ? c * inverse[std::size_t(k - 1)] * z[std::size_t(k - 1)] : 0.0);
    }
    double above = 0;
    for (Index k = n - 1; k >= 1; --k) {
      above = z[std::size_t(k)] = (z[std::size_t(k)] - c * above) * inverse[std::size_t(k)];
      answer_[std::size_t(k * columns_ + column)] = Real(above);
    }
    const double own = -2 * c - lambda + c * (z[1] + z[std::size_t(n - 1)]);
    answer_[std::size_t(column)] = Real(flat ? 0.0 : 1 / own);
  }
}

template <class Real>
void PressureSolver<Real>::solve(Real* field, Real* scratch) const {
  transform_.forward(field, scale_, scratch);
  along_last(field);
  transform_.inverse(field, scratch);
}

template <class Real>
void PressureSolver<Real>::along_last(Real* field) const {
  const Index strips = (shape_.n[0] + kStrip - 1) / kStrip, others = last_ == 2 ? shape_.n[1] : 1;
  if (singular_) level(field + shape_.at(0, 0, 0));
  parallel_for(strips * others, last_ == 2 ? 4 : 1, [&](Index begin, Index end) {
    for (Index job = begin; job < end; ++job) {
      const Index i = job % strips * kStrip, j = job / strips;
      eliminate(field + shape_.at(i, j, 0), std::min(kStrip, shape_.n[0] - i), pivot_.data() + j * row_ + i,
                wraps_ ? answer_.data() + j * row_ + i : nullptr);
    }
  });
  if (singular_) level(field + shape_.at(0, 0, 0));
}

// Takes the mean out of the flat mode.
template <class Real>
void PressureSolver<Real>::level(Real* column) const {
  const Index n = shape_.n[std::size_t(last_)], next = shape_.stride[std::size_t(last_)];
  double sum = 0;
  for (Index k = 0; k < n; ++k) sum += double(column[k * next]);
  for (Index k = 0; k < n; ++k) column[k * next] = Real(double(column[k * next]) - sum / double(n));
}

// Down: g_k = r_k - c g_(k-1) / pivot_(k-1). Up: p_k = (g_k - c p_(k+1)) / pivot_k.
template <class Real>
void PressureSolver<Real>::eliminate(Real* column, Index width, const Real* pivots,
                                     const Real* answers) const {
  constexpr Index W = P::lanes;
  const Index n = shape_.n[std::size_t(last_)], next = shape_.stride[std::size_t(last_)];
  const Index begin = wraps_ ? 1 : 0;
  const P c(coupling_);
  const auto at = [&](Index k, Index i) { return P::load_unaligned(column + k * next + i); };
  const auto pivot = [&](Index k, Index i) { return P::load_unaligned(pivots + k * columns_ + i); };
  for (Index k = begin + 1; k < n; ++k)
    for (Index i = 0; i < width; i += W)
      store_lanes(column + k * next + i, at(k, i) - c * at(k - 1, i) * pivot(k - 1, i), width - i);
  for (Index i = 0; i < width; i += W)
    store_lanes(column + (n - 1) * next + i, at(n - 1, i) * pivot(n - 1, i), width - i);
  for (Index k = n - 2; k >= begin; --k)
    for (Index i = 0; i < width; i += W)
      store_lanes(column + k * next + i, (at(k, i) - c * at(k + 1, i)) * pivot(k, i), width - i);
  if (!wraps_) return;
  const auto answer = [&](Index k, Index i) { return P::load_unaligned(answers + k * columns_ + i); };
  for (Index i = 0; i < width; i += W)
    store_lanes(column + i, (at(0, i) - c * (at(1, i) + at(n - 1, i))) * answer(0, i), width - i);
  for (Index k = 1; k < n; ++k)
    for (Index i = 0; i < width; i += W)
      store_lanes(column + k * next + i, at(k, i) + at(0, i) * answer(k, i), width - i);
}

template class PressureSolver<float>;
template class PressureSolver<double>;

}  // namespace costate::fluid
