// PointsObjective: what losses about points share. Smooth wherever the physics is, so that a point that is
// not yet where it should be says in which direction that lies. A kind supplies walk(): its value for one
// state and, on the same way, its derivative.
// Tests: tests/study/losses_test.cpp.
#pragma once

#include <array>

#include "costate/study/quantities.h"
#include "costate/system/losses/at_steps.h"

namespace costate::study {

using Point = std::array<double, 3>;  // in two dimensions z = 0

// The points of one state, and where their cotangents are added; one lane of a block.
template <class Real>
class PointsView {
 public:
  PointsView(const Points& points, const Real* x, Real* x_bar, int lanes, int lane)
      : points_(points), x_(x), x_bar_(x_bar), lanes_(lanes), lane_(lane) {}

  const Points& points() const { return points_; }
  std::size_t count() const { return points_.count(); }
  bool wants_derivative() const { return x_bar_ != nullptr; }
  Point operator[](std::size_t i) const {
    Point x = {0, 0, 0};
    for (std::size_t a = 0; a < dimension(); ++a) x[a] = double(x_[place(i, a)]);
    return x;
  }
  void add(std::size_t i, const Point& bar) const {
    if (!x_bar_) return;
    for (std::size_t a = 0; a < dimension(); ++a) x_bar_[place(i, a)] += Real(bar[a]);
  }

 private:
  std::size_t dimension() const { return points_.dimension; }
  std::size_t place(std::size_t i, std::size_t a) const {
    return std::size_t(points_.elements[i * dimension() + a] * lanes_ + lane_);
  }
  const Points& points_;
  const Real* x_;
  Real* x_bar_;
  int lanes_, lane_;
};

template <class Real>
class PointsObjective : public loss::AtSteps<Real> {
 public:
  using typename Objective<Real>::At;
  // Error where there are no points.
  PointsObjective(Points points, std::vector<std::int64_t> steps);

  void check(std::int64_t steps, std::int64_t) const override { this->check_steps(steps); }
  void value(const At& at, double* loss) const override;
  void vjp(const At& at, const Cotangents<Real>& bar) const override;

 protected:
  // The term, weighted and divided by the number of its times; adds its derivative to the view.
  virtual double walk(const PointsView<Real>& points) const = 0;

 private:
  Points points_;
};

extern template class PointsObjective<float>;
extern template class PointsObjective<double>;

}  // namespace costate::study
