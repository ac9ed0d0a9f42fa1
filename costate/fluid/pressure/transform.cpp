#include "costate/fluid/pressure/transform.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace costate::fluid {
namespace {

using std::numbers::pi;

template <class Real>
void push_root(std::vector<Real>& to, double angle) {
  to.push_back(Real(std::cos(angle)));
  to.push_back(Real(std::sin(angle)));
}
template <class Real, class P>
COSTATE_INLINE void turn(const Real* w, P& re, P& im) {  // (re + i im) w
  const P turned = re * P(w[0]) - im * P(w[1]);
  im = re * P(w[1]) + im * P(w[0]);
  re = turned;
}
template <class Real, class P>
COSTATE_INLINE void turn_back(const Real* w, P& re, P& im) {  // (re + i im) conj(w)
  const P turned = re * P(w[0]) + im * P(w[1]);
  im = im * P(w[0]) - re * P(w[1]);
  re = turned;
}

}  // namespace

template <class Real>
Transform<Real>::Transform(Ends ends, std::int64_t n) : ends_(ends), n_(n) {
  const double m = double(n);
  for (std::int64_t k = 0; k < n; ++k) {
    // A real FFT leaves mode 0, mode n / 2, then real and imaginary parts in turn; a matrix of an odd n has
    // none of n / 2.
    const double wave = n % 2 == 0 && k == 1 ? m / 2 : double(n % 2 == 0 ? k / 2 : (k + 1) / 2);
    const double angle = ends == Ends::periodic    ? pi * wave / m
                         : ends == Ends::even_even ? pi * double(k) / (2 * m)
                         : ends == Ends::odd_odd   ? pi * double(n - k) / (2 * m)
                         : ends == Ends::wall_wall ? pi * double(k + 1) / (2 * m + 2)
                         : walled()                ? pi * double(2 * k + 1) / (4 * m + 2)
                                                   : pi * double(2 * k + 1) / (4 * m);
    lambda_.push_back(4 * std::sin(angle) * std::sin(angle));
  }
  if (walled() || n % 2 != 0 || Fft<Real>::factors(n / 2).empty() ||
      Fft<Real>::factors(n / 2).back() > Fft<Real>::kLargestFactor) {
    fill_modes();
    return;
  }
  fft_ = Fft<Real>(n / 2);
  if (ends == Ends::even_odd || ends == Ends::odd_even) {
    for (std::int64_t k = 0; k < n / 2; ++k) push_root(quarter_, -pi * (double(k) + 0.25) / m);
    for (std::int64_t k = 0; k < n / 2; ++k) push_root(quarter_, -pi * double(k) / m);
    gain_ = m / 2;
    return;
  }
  for (std::int64_t k = 0; k <= n / 4; ++k) push_root(half_, -2 * pi * double(k) / m);
  for (std::int64_t k = 0; k <= n / 2; ++k) push_root(quarter_, -pi * double(k) / (2 * m));
  gain_ = 2 * m;
}

template <class Real>
Transform<Real>::Transform(const StretchedModes& modes)
    : n_(std::int64_t(modes.lambda.size())), lambda_(modes.lambda) {
  for (const double x : modes.rows) matrix_.push_back(Real(x));
  for (const double root : modes.roots) root_.push_back(Real(root)), per_root_.push_back(Real(1 / root));
}

template <class Real>
double Transform<Real>::mode(std::int64_t k, std::int64_t i) const {
  const double m = double(n_), x = 2 * double(i) + 1;
  const double flat = std::sqrt(1 / m), wave = std::sqrt(2 / m);
  switch (ends_) {
    case Ends::periodic: {
      if (k == 0) return flat;
      if (n_ % 2 == 0 && k == 1) return i % 2 == 0 ? flat : -flat;
      const std::int64_t number = n_ % 2 == 0 ? k / 2 : (k + 1) / 2;
      const double angle = 2 * pi * double(number * i % n_) / m;
      return wave * (k % 2 == n_ % 2 ? std::cos(angle) : std::sin(angle));
    }
    case Ends::even_even:
      return k == 0 ? flat : wave * std::cos(pi * double(k) * x / (2 * m));
    case Ends::odd_odd:
      return (k == 0 ? flat : wave) * std::sin(pi * double(n_ - k) * x / (2 * m));
    case Ends::even_odd:
      return wave * std::cos(pi * double(2 * k + 1) * x / (4 * m));
    case Ends::odd_even:
      return wave * std::sin(pi * double(2 * k + 1) * x / (4 * m));
    case Ends::wall_wall:
      return std::sqrt(2 / (m + 1)) * std::sin(pi * double((k + 1) * (i + 1) % (2 * n_ + 2)) / (m + 1));
    case Ends::wall_even:
    case Ends::even_wall: {
      const std::int64_t from_wall = ends_ == Ends::wall_even ? i + 1 : n_ - i;
      return 2 / std::sqrt(2 * m + 1) *
             std::sin(pi * double((2 * k + 1) * from_wall % (4 * n_ + 2)) / (2 * m + 1));
    }
  }
  return 0;
}

template <class Real>
void Transform<Real>::fill_modes() {
  for (std::int64_t k = 0; k < n_; ++k)
    for (std::int64_t i = 0; i < n_; ++i) matrix_.push_back(Real(mode(k, i)));
}

// Four results at a time, so that no sum waits for the one before.
template <class Real>
auto Transform<Real>::multiply(bool transposed, P* x, P* y) const -> P* {
  constexpr std::int64_t kTogether = 4;
  const std::int64_t next = transposed ? n_ : 1, other = transposed ? 1 : n_;
  for (std::int64_t i = 0; !transposed && !root_.empty() && i < n_; ++i) x[i] *= P(root_[std::size_t(i)]);
  for (std::int64_t k = 0; k < n_; k += kTogether) {
    const Real* m[kTogether];
    P sum[kTogether];
    for (std::int64_t q = 0; q < kTogether; ++q) {
      m[q] = matrix_.data() + std::min(k + q, n_ - 1) * other;
      sum[q] = P(m[q][0]) * x[0];
    }
    for (std::int64_t i = 1; i < n_; ++i)
      for (std::int64_t q = 0; q < kTogether; ++q) sum[q] += P(m[q][i * next]) * x[i];
    for (std::int64_t q = 0; q < std::min(kTogether, n_ - k); ++q) y[k + q] = sum[q];
  }
  for (std::int64_t i = 0; transposed && !root_.empty() && i < n_; ++i) y[i] *= P(per_root_[std::size_t(i)]);
  return y;
}

template <class Real>
void Transform<Real>::reverse(P* x) const {
  for (std::int64_t i = 0; i < n_ / 2; ++i) std::swap(x[i], x[n_ - 1 - i]);
}

template <class Real>
auto Transform<Real>::forward(P* x, P* y) const -> P* {
  if (dense()) return multiply(false, x, y);
  switch (ends_) {
    case Ends::periodic:
      return real_forward(x, y);
    case Ends::even_even:
      return cosine_forward(x, y, false);
    case Ends::odd_odd:
      return cosine_forward(x, y, true);
    case Ends::even_odd:
      return fourth(x, y, false);
    case Ends::odd_even:
      reverse(x);
      return fourth(x, y, false);
    default:
      return multiply(false, x, y);
  }
}

template <class Real>
auto Transform<Real>::inverse(P* x, P* y) const -> P* {
  if (dense()) return multiply(true, x, y);
  switch (ends_) {
    case Ends::periodic:
      return real_inverse(x, y);
    case Ends::even_even:
      return cosine_inverse(x, y, false);
    case Ends::odd_odd:
      return cosine_inverse(x, y, true);
    case Ends::even_odd:
      return fourth(x, y, false);
    case Ends::odd_even:
      return fourth(x, y, true);
    default:
      return multiply(true, x, y);
  }
}

// Twice X_k = sum_i x_i e^(-2 pi i k i / n): the FFT of z_i = x_2i + i x_(2i+1), taken apart. X_0 and X_(n/2)
// are real and share the first place.
template <class Real>
auto Transform<Real>::real_forward(P* x, P* y) const -> P* {
  const std::int64_t m = n_ / 2;
  P* z = fft_.template run<0>(x, y);
  const P first = z[0], second = z[1];
  z[0] = P(2) * (first + second), z[1] = P(2) * (first - second);
  for (std::int64_t k = 1; k <= m / 2; ++k) {
    const std::int64_t l = m - k;
    const P a = z[2 * k], b = z[2 * k + 1], c = z[2 * l], d = z[2 * l + 1];
    P re = b + d, im = c - a;
    turn(&half_[std::size_t(2 * k)], re, im);
    z[2 * k] = (a + c) + re, z[2 * k + 1] = (b - d) + im;
    z[2 * l] = (a + c) - re, z[2 * l + 1] = im - (b - d);
  }
  return z;
}

template <class Real>
auto Transform<Real>::real_inverse(P* x, P* y) const -> P* {
  const std::int64_t m = n_ / 2;
  const P first = x[0], second = x[1];
  x[0] = first + second, x[1] = first - second;
  for (std::int64_t k = 1; k <= m / 2; ++k) {
    const std::int64_t l = m - k;
    const P a = x[2 * k], b = x[2 * k + 1], c = x[2 * l], d = x[2 * l + 1];
    P re = a - c, im = b + d;
    turn_back(&half_[std::size_t(2 * k)], re, im);
    x[2 * k] = (a + c) - im, x[2 * k + 1] = (b - d) + re;
    x[2 * l] = (a + c) + im, x[2 * l + 1] = re - (b - d);
  }
  return fft_.template run<1>(x, y);
}

// With v = (x_0, x_2, ..., x_3, x_1): C_k = Re(e^(-pi i k / 2n) V_k) and C_(n-k) = -Im of the same.
template <class Real>
auto Transform<Real>::cosine_forward(P* x, P* y, bool odd) const -> P* {
  const std::int64_t m = n_ / 2;
  for (std::int64_t i = 0; i < m; ++i) {
    y[i] = x[2 * i];
    y[n_ - 1 - i] = odd ? -x[2 * i + 1] : x[2 * i + 1];
  }
  P* v = real_forward(y, x);
  P* c = v == x ? y : x;
  c[0] = v[0];
  c[m] = P(quarter_[std::size_t(2 * m)]) * v[1];
  for (std::int64_t k = 1; k < m; ++k) {
    P re = v[2 * k], im = v[2 * k + 1];
    turn(&quarter_[std::size_t(2 * k)], re, im);
    c[k] = re, c[n_ - k] = -im;
  }
  return c;
}

template <class Real>
auto Transform<Real>::cosine_inverse(P* x, P* y, bool odd) const -> P* {
  const std::int64_t m = n_ / 2;
  y[0] = x[0];
  y[1] = P(2 * quarter_[std::size_t(2 * m)]) * x[m];
  for (std::int64_t k = 1; k < m; ++k) {
    P re = x[k], im = -x[n_ - k];
    turn_back(&quarter_[std::size_t(2 * k)], re, im);
    y[2 * k] = re, y[2 * k + 1] = im;
  }
  P* v = real_inverse(y, x);
  P* out = v == x ? y : x;
  for (std::int64_t i = 0; i < m; ++i) {
    out[2 * i] = v[i];
    out[2 * i + 1] = odd ? -v[n_ - 1 - i] : v[n_ - 1 - i];
  }
  return out;
}

// DCT-IV: t_j = (x_2j + i x_(n-1-2j)) e^(-pi i (j + 1/4) / n), X_2k - i X_(n-1-2k) = e^(-pi i k / n) T_k.
template <class Real>
auto Transform<Real>::fourth(P* x, P* y, bool reversed) const -> P* {
  const std::int64_t m = n_ / 2;
  for (std::int64_t j = 0; j < m; ++j) {
    P re = x[2 * j], im = x[n_ - 1 - 2 * j];
    turn(&quarter_[std::size_t(2 * j)], re, im);
    y[2 * j] = re, y[2 * j + 1] = im;
  }
  P* t = fft_.template run<0>(y, x);
  P* out = t == x ? y : x;
  for (std::int64_t k = 0; k < m; ++k) {
    P re = t[2 * k], im = t[2 * k + 1];
    turn(&quarter_[std::size_t(2 * (m + k))], re, im);
    out[2 * k] = re, out[n_ - 1 - 2 * k] = -im;
  }
  if (reversed) reverse(out);
  return out;
}

template class Transform<float>;
template class Transform<double>;

}  // namespace costate::fluid
