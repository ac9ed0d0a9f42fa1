#include "costate/fluid/pressure/pressure_solver.h"

namespace costate::fluid {
namespace {

// The longest axis that is stretched, or the last one.
int axis_of_elimination(const Shape& shape) {
  int found = -1;
  for (int a = 0; a < shape.dim; ++a)
    if (shape.stretched(a) && (found < 0 || shape.n[std::size_t(a)] > shape.n[std::size_t(found)])) found = a;
  return found < 0 ? shape.dim - 1 : found;
}

}  // namespace

template <class Real>
PressureSolver<Real>::PressureSolver(const Shape& shape, const std::array<Ends, 3>& ends)
    : shape_(shape), axis_(axis_of_elimination(shape)), other_(axis_ == 2 ? 1 : 2) {
  const auto along = std::size_t(axis_);
  row_ = (shape.n[0] + P::lanes - 1) / P::lanes * P::lanes;
  columns_ = row_ * shape.n[std::size_t(other_)];
  wraps_ = ends[along] == Ends::periodic;
  singular_ = true;
  for (int a = 0; a < shape.dim; ++a) {
    const Ends e = ends[std::size_t(a)];
    singular_ = singular_ && (e == Ends::periodic || e == Ends::even_even);
  }
  transform_ = BoxTransform<Real>(shape, shape.all_cells(), ends, axis_);
  for (Index k = 0; k < shape.n[along]; ++k) {
    coupling_.push_back(Real(1 / (shape.distance(axis_, k) * shape.h[along])));
    weight_.push_back(Real(shape.width(axis_, k) / (shape.h[along] * transform_.gain())));
  }
  factorise(ends[along]);
}

template <class Real>
Index PressureSolver<Real>::lines() const {
  return axis_ == 0 ? shape_.n[1] * shape_.n[2] : columns_;
}
template <class Real>
double PressureSolver<Real>::lambda(Index line) const {
  const Index row = axis_ == 0 ? shape_.n[1] : row_;
  const int first = axis_ == 0 ? 1 : 0;
  const auto of = [&](int a, Index mode) {
    return transform_.lambda(a)[std::size_t(mode)] / (shape_.h[std::size_t(a)] * shape_.h[std::size_t(a)]);
  };
  return of(first, line % row) + (shape_.dim == 3 ? of(other_, line / row) : 0.0);
}
template <class Real>
std::size_t PressureSolver<Real>::place(Index line, Index k) const {
  constexpr Index W = P::lanes;
  if (axis_ == 0) return std::size_t((line / W * shape_.n[0] + k) * W + line % W);
  return std::size_t(k * columns_ + line);
}

// Pivots of the elimination from below, in double whatever Real is.
template <class Real>
void PressureSolver<Real>::factorise(Ends ends) {
  const auto along = std::size_t(axis_);
  const Index n = shape_.n[along];
  const double h = shape_.h[along];
  const auto numbers = place((lines() + P::lanes - 1) / P::lanes * P::lanes - 1, n - 1) + 1;
  pivot_.assign(numbers, Real(0));
  if (wraps_) answer_.assign(numbers, Real(0));
  std::vector<double> c, w, inverse(std::size_t(n), 0.0), z(std::size_t(n) + 1, 0.0);
  for (Index k = 0; k <= n; ++k) c.push_back(1 / (shape_.distance(axis_, k) * h));
  for (Index k = 0; k < n; ++k) w.push_back(shape_.width(axis_, k) / h);
  for (Index line = 0; line < lines(); ++line) {
    if (axis_ != 0 && line % row_ >= shape_.n[0]) continue;
    const double of_mode = lambda(line);
    const bool flat = singular_ && line == 0;
    double before = 0;
    for (Index k = wraps_ ? 1 : 0; k < n; ++k) {
      const double low = c[std::size_t(k)], high = c[std::size_t(k + 1)];
      double diagonal = -low - high - of_mode * w[std::size_t(k)];
      if (k == 0) diagonal += ends == Ends::even_even || ends == Ends::even_odd ? low : -low;
      if (!wraps_ && k == n - 1) diagonal += ends == Ends::even_even || ends == Ends::odd_even ? high : -high;
      const double pivot = diagonal - low * low * before;
      // The last equation of a singular system follows from the others: p = 0 there, until it is levelled.
      before = flat && k == n - 1 && !wraps_ ? 0 : 1 / pivot;
      inverse[std::size_t(k)] = before;
      pivot_[place(line, k)] = Real(before);
    }
    if (!wraps_) continue;
    // z: the solution of cells 1 to n - 1 for p_0 = 1.
    for (Index k = 1; k < n; ++k) {
      const double r = (k == 1 ? -c[1] : 0.0) + (k == n - 1 ? -c[0] : 0.0);
      z[std::size_t(k)] =
          r - (k > 1 ? c[std::size_t(k)] * inverse[std::size_t(k - 1)] * z[std::size_t(k - 1)] : 0.0);
    }
    double above = 0;
    for (Index k = n - 1; k >= 1; --k) {
      above = z[std::size_t(k)] =
          (z[std::size_t(k)] - c[std::size_t(k + 1)] * above) * inverse[std::size_t(k)];
      answer_[place(line, k)] = Real(above);
    }
    const double own = -c[0] - c[1] - of_mode * w[0] + c[1] * z[1] + c[0] * z[std::size_t(n - 1)];
    answer_[place(line, 0)] = Real(flat ? 0.0 : 1 / own);
  }
}

template <class Real>
void PressureSolver<Real>::solve(Real* field, Real* scratch) const {
  transform_.forward(field, scratch);
  if (singular_) level(field + shape_.at(0, 0, 0));
  if (axis_ == 0)
    along_rows(field, scratch);
  else
    along_columns(field);
  if (singular_) level(field + shape_.at(0, 0, 0));
  transform_.inverse(field, scratch);
}

template <class Real>
void PressureSolver<Real>::along_columns(Real* field) const {
  const Index strips = (shape_.n[0] + kStrip - 1) / kStrip;
  parallel_for(strips * shape_.n[std::size_t(other_)], shape_.dim == 3 ? 4 : 1, [&](Index begin, Index end) {
    for (Index job = begin; job < end; ++job) {
      const Index i = job % strips * kStrip, j = job / strips, column = j * row_ + i;
      eliminate({field + shape_.at(i, other_ == 1 ? j : 0, other_ == 2 ? j : 0),
                 shape_.stride[std::size_t(axis_)], std::min(kStrip, shape_.n[0] - i), pivot_.data() + column,
                 wraps_ ? answer_.data() + column : nullptr, columns_});
    }
  });
}
template <class Real>
void PressureSolver<Real>::along_rows(Real* field, Real* scratch) const {
  constexpr Index W = P::lanes;
  each_block_of_rows(shape_, shape_.all_cells(), field, scratch, [&](Index block, P* x, P*) {
    const std::size_t first = place(block * W, 0);
    eliminate({reinterpret_cast<Real*>(x), W, W, pivot_.data() + first,
               wraps_ ? answer_.data() + first : nullptr, W});
    return x;
  });
}

// Takes the mean out of the flat mode.
template <class Real>
void PressureSolver<Real>::level(Real* line) const {
  const Index n = shape_.n[std::size_t(axis_)], next = shape_.stride[std::size_t(axis_)];
  double sum = 0, weights = 0;
  for (Index k = 0; k < n; ++k) {
    const double w = shape_.width(axis_, k);
    sum += w * double(line[k * next]), weights += w;
  }
  for (Index k = 0; k < n; ++k) line[k * next] = Real(double(line[k * next]) - sum / weights);
}

// Down: g_k = w_k r_k - c_k g_(k-1) / pivot_(k-1). Up: p_k = (g_k - c_(k+1) p_(k+1)) / pivot_k.
template <class Real>
void PressureSolver<Real>::eliminate(const Lines& lines) const {
  constexpr Index W = P::lanes;
  const Index n = shape_.n[std::size_t(axis_)], next = lines.next, width = lines.width;
  const Index begin = wraps_ ? 1 : 0;
  const auto at = [&](Index k, Index i) { return P::load_unaligned(lines.first + k * next + i); };
  const auto pivot = [&](Index k, Index i) { return P::load_unaligned(lines.pivots + k * lines.rows + i); };
  const auto put = [&](Index k, Index i, const P& x) {
    store_lanes(lines.first + k * next + i, x, width - i);
  };
  const auto c = [&](Index k) { return P(coupling_[std::size_t(k)]); };
  const auto w = [&](Index k) { return P(weight_[std::size_t(k)]); };
  for (Index k = 0; k <= begin; ++k)
    for (Index i = 0; i < width; i += W) put(k, i, w(k) * at(k, i));
  for (Index k = begin + 1; k < n; ++k)
    for (Index i = 0; i < width; i += W) put(k, i, w(k) * at(k, i) - c(k) * at(k - 1, i) * pivot(k - 1, i));
  for (Index i = 0; i < width; i += W) put(n - 1, i, at(n - 1, i) * pivot(n - 1, i));
  for (Index k = n - 2; k >= begin; --k)
    for (Index i = 0; i < width; i += W) put(k, i, (at(k, i) - c(k + 1) * at(k + 1, i)) * pivot(k, i));
  if (!wraps_) return;
  const auto answer = [&](Index k, Index i) { return P::load_unaligned(lines.answers + k * lines.rows + i); };
  for (Index i = 0; i < width; i += W)
    put(0, i, (at(0, i) - (c(1) * at(1, i) + c(0) * at(n - 1, i))) * answer(0, i));
  for (Index k = 1; k < n; ++k)
    for (Index i = 0; i < width; i += W) put(k, i, at(k, i) + at(0, i) * answer(k, i));
}

template class PressureSolver<float>;
template class PressureSolver<double>;

}  // namespace costate::fluid
