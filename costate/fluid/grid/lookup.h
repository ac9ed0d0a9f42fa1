// A number between those of a field, linear along each axis, and its transpose.
//
//   f(y) = sum over the corners k around y of weight_k(y) f_k
//
// The field is component c of the speeds, on its faces, or one of numbers in cells (component -1). Along an
// axis that wraps y may lie beyond the box, and sees what lies there after as many turns. Beyond any other
// side a speed is that on the side, which lies half a cell before its last number, or where components of
// that axis are; numbers in cells go on from the middle of the last cell. In a corner of two sides the
// number beyond both goes on as a plane does. Slopes jump between cells; a point there counts as above:
// derivatives are one-sided. Tests: tests/fluid/tracer_test.cpp.
#pragma once

#include <cmath>

#include "costate/fluid/grid/field.h"

namespace costate::fluid {

// Of single numbers: S is a number, with its tangent or without.
template <class S, int Dim>
class Lookup {
  using Real = value_t<S>;
  static constexpr Real kNoise = Real(sizeof(Real) == 8 ? 1e-9 : 1e-5);

 public:
  Lookup(const Shape& shape, int component, const std::array<S, Dim>& y) : shape_(shape) {
    for (std::size_t a = 0; a < Dim; ++a) find(a, int(a) == component, component < 0, y[a]);
  }

  S value(const Plane<Real>& f) const {
    S sum(0);
    each_number([&](Index at, int k, const S& sign) { sum = sum + sign * weight(k) * load<S>(f, at); });
    return sum;
  }
  // Adds to the field's cotangent, and to that of the place.
  void value_vjp(const Plane<Real>& f, const S& bar, const Plane<Real>& f_bar,
                 std::array<S, Dim>& y_bar) const {
    std::array<S, Dim> slope;
    slope.fill(S(0));
    each_number([&](Index at, int k, const S& sign) {
      store<S>(f_bar, at, load<S>(f_bar, at) + sign * weight(k) * bar);
      for (int a = 0; a < Dim; ++a) {
        const S part = sign * weight(k, a) * load<S>(f, at);
        slope[std::size_t(a)] = k >> a & 1 ? slope[std::size_t(a)] + part : slope[std::size_t(a)] - part;
      }
    });
    for (std::size_t a = 0; a < Dim; ++a)
      if (moves_[a]) y_bar[a] = y_bar[a] + S(Real(1 / gap_[a])) * slope[a] * bar;
  }

 private:
  static Real plain(const S& x) {
    if constexpr (kIsDual<S>)
      return x.v;
    else
      return x;
  }
  // Along axis a: `across` it lie the component's own faces, numbers in `cells` have none beyond a side.
  void find(std::size_t a, bool across, bool cells, const S& y) {
    if (shape_.lines) return find_stretched(a, across, cells, y);
    gap_[a] = shape_.h[a];
    const S x = S(Real(1 / shape_.h[a])) * y;  // in cells
    const Real n = Real(shape_.n[a]), half = Real(across ? 0 : 0.5);
    const Real least = cells ? half : Real(0), most = cells ? n - half : n;
    const bool wraps = shape_.periodic[a];
    moves_[a] = wraps || (plain(x) >= least && plain(x) <= most);
    const S at = (moves_[a] || !std::isfinite(plain(x)) ? x : S(plain(x) < least ? least : most)) - S(half);
    if (!std::isfinite(plain(at))) {
      t_[a] = at;  // which is not a number either
      return;
    }
    const Real floor = std::floor(plain(at) + kNoise);
    if (wraps) {
      const Real rest = floor - n * std::floor(floor / n);
      const Index low = rest >= 0 && rest < n ? Index(rest) : 0;  // 0: too far for the digits of a number
      t_[a] = at - S(floor);
      number_[a] = {low, low + 1 == shape_.n[a] ? 0 : low + 1};
      return;
    }
    const Index low = std::min(Index(floor), shape_.n[a] - (cells ? 2 : 1));
    t_[a] = at - S(Real(low));
    number_[a] = {low, low + 1};
    if (!across && !cells) inside_[a] = {low < 0 ? 1 : 0, low + 1 == shape_.n[a] ? -1 : 0};
  }
  void find_stretched(std::size_t a, bool across, bool cells, const S& y) {
    const std::vector<double>& faces = (*shape_.lines)[a];
    const Index n = shape_.n[a];
    const double length = faces.back(), noise = double(kNoise) * shape_.h[a];
    const double least = cells ? shape_.cell_place(int(a), 0) : 0,
                 most = cells ? shape_.cell_place(int(a), n - 1) : length;
    const bool wraps = shape_.periodic[a];
    const double given = double(plain(y));
    moves_[a] = wraps || (given >= least && given <= most);
    if (!std::isfinite(given)) {
      t_[a] = y;
      return;
    }
    const double turns = wraps ? length * std::floor((given + noise) / length) : 0;
    const S x = moves_[a] ? y - S(Real(turns)) : S(Real(given < least ? least : most));
    const double place = double(plain(x)) + noise;
    const Index cell =
        std::clamp<Index>(std::upper_bound(faces.begin(), faces.end(), place) - faces.begin() - 1, 0, n - 1);
    Index low = across || place >= shape_.cell_place(int(a), cell) ? cell : cell - 1;
    if (cells && !wraps) low = std::clamp<Index>(low, 0, n - 2);
    const double from = across     ? faces[std::size_t(low)]
                        : low >= 0 ? shape_.cell_place(int(a), low)
                                   : -shape_.width(int(a), -1) / 2;
    gap_[a] = across ? shape_.width(int(a), low) : shape_.distance(int(a), low + 1);
    t_[a] = S(Real(1 / gap_[a])) * (x - S(Real(from)));
    number_[a] = {low, low + 1};
    if (wraps)
      number_[a] = {(low + n) % n, (low + 1) % n};
    else if (!across && !cells)
      inside_[a] = {low < 0 ? 1 : 0, low + 1 == n ? -1 : 0};
  }
  // f(index, corner, sign) for the numbers of every corner: itself, or where it lies beyond two sides the
  // three that it is made of.
  template <class F>
  void each_number(const F& f) const {
    for (int k = 0; k < 1 << Dim; ++k) {
      Index at = shape_.origin, step[2] = {0, 0};
      std::size_t beyond = 0;
      for (std::size_t a = 0; a < Dim; ++a) {
        const auto end = std::size_t(k >> a & 1);
        at += number_[a][end] * shape_.stride[a];
        if (inside_[a][end] != 0) step[beyond++] = inside_[a][end] * shape_.stride[a];
      }
      if (beyond < 2) {
        f(at, k, S(1));
        continue;
      }
      f(at + step[0], k, S(1)), f(at + step[1], k, S(1)), f(at + step[0] + step[1], k, S(-1));
    }
  }
  // The weight of corner k, without the factor of axis `without`.
  S weight(int k, int without = -1) const {
    S w(1);
    for (int a = 0; a < Dim; ++a)
      if (a != without) w = w * (k >> a & 1 ? t_[std::size_t(a)] : S(1) - t_[std::size_t(a)]);
    return w;
  }

  const Shape& shape_;
  // Of each axis: the lower and the upper number, the step from one beyond a side to the one inside (or 0),
  // how far the place is from the lower one, in units of the gap between both, and whether that changes
  // when it moves.
  std::array<std::array<Index, 2>, Dim> number_ = {}, inside_ = {};
  std::array<S, Dim> t_ = {};
  std::array<double, Dim> gap_ = {};
  std::array<bool, Dim> moves_ = {};
};

}  // namespace costate::fluid
