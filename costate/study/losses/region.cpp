#include "costate/study/losses/region.h"

#include <algorithm>
#include <cmath>

namespace costate::study {
namespace {

double softplus(double z) {
  return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(std::max(z, -700.0)));
}
double logistic(double z) { return 1 / (1 + std::exp(-std::clamp(z, -700.0, 700.0))); }

double length(double a, double b, double c) { return std::sqrt(a * a + b * b + c * c); }

// Distance to a product of intervals |q_k| <= 0 in the coordinates q: outside the length of the positive
// parts, inside the largest q.
template <std::size_t N>
double box_distance(const std::array<double, N>& q, std::array<double, N>* slope) {
  std::array<double, N> out{};
  double square = 0;
  std::size_t largest = 0;
  for (std::size_t k = 0; k < N; ++k) {
    out[k] = std::max(q[k], 0.0);
    square += out[k] * out[k];
    if (q[k] > q[largest]) largest = k;
  }
  const double d = square > 0 ? std::sqrt(square) : q[largest];
  if (slope) {
    for (std::size_t k = 0; k < N; ++k) (*slope)[k] = square > 0 ? out[k] / d : (k == largest ? 1.0 : 0.0);
  }
  return d;
}

template <class Real>
class InRegion final : public PointsObjective<Real> {
 public:
  InRegion(const RegionLoss& loss, const Points& points, std::vector<std::int64_t> steps)
      : PointsObjective<Real>(points, steps), loss_(loss), scale_(loss.weight / double(steps.size())) {}

 private:
  double walk(const PointsView<Real>& points) const override {
    const double w = loss_.width, each = scale_ / double(points.count());
    double sum = 0;
    for (std::size_t i = 0; i < points.count(); ++i) {
      const Point x = points[i];
      Point slope{};
      const double d = distance_to(loss_.region, x, &slope);
      const double far = w * softplus(d / w), far_d = logistic(d / w);
      const double below = loss_.height ? logistic((*loss_.height - x[loss_.up]) / w) : 1;
      sum += each * below * far;
      for (double& s : slope) s *= each * below * far_d;
      if (loss_.height) slope[loss_.up] -= each * far * below * (1 - below) / w;
      points.add(i, slope);
    }
    return sum;
  }
  RegionLoss loss_;
  double scale_;
};

template <class Real>
class Inside final : public PointsObjective<Real> {
 public:
  Inside(const Region& region, const Points& points, std::int64_t step)
      : PointsObjective<Real>(points, {step}), region_(region) {}

 private:
  double walk(const PointsView<Real>& points) const override {
    std::size_t inside = 0;
    for (std::size_t i = 0; i < points.count(); ++i) inside += distance_to(region_, points[i], nullptr) <= 0;
    return double(inside) / double(points.count());
  }
  Region region_;
};

}  // namespace

double distance_to(const Region& region, const Point& x, Point* gradient) {
  const Point r = {x[0] - region.centre[0], x[1] - region.centre[1], x[2] - region.centre[2]};
  const auto sign = [](double v) { return v < 0 ? -1.0 : 1.0; };
  if (region.kind == Region::Kind::sphere) {
    const double size = length(r[0], r[1], r[2]);
    if (gradient) *gradient = size > 0 ? Point{r[0] / size, r[1] / size, r[2] / size} : Point{0, 0, 0};
    return size - region.size[0];
  }
  if (region.kind == Region::Kind::cylinder) {
    const double radius = length(r[0], 0, r[2]);
    std::array<double, 2> slope{};
    const double d = box_distance<2>({radius - region.size[0], std::abs(r[1]) - region.size[1]}, &slope);
    if (gradient) {
      const double out = radius > 0 ? slope[0] / radius : 0;
      *gradient = {out * r[0], slope[1] * sign(r[1]), out * r[2]};
    }
    return d;
  }
  Point slope{};
  const double d = box_distance<3>(
      {std::abs(r[0]) - region.size[0], std::abs(r[1]) - region.size[1], std::abs(r[2]) - region.size[2]},
      &slope);
  if (gradient) *gradient = {slope[0] * sign(r[0]), slope[1] * sign(r[1]), slope[2] * sign(r[2])};
  return d;
}

template <class Real>
ObjectivePtr<Real> in_region(const RegionLoss& loss, const Points& points, std::vector<std::int64_t> steps) {
  return std::make_shared<InRegion<Real>>(loss, points, std::move(steps));
}
template <class Real>
ObjectivePtr<Real> inside(const Region& region, const Points& points, std::int64_t step) {
  return std::make_shared<Inside<Real>>(region, points, step);
}

template ObjectivePtr<float> in_region<float>(const RegionLoss&, const Points&, std::vector<std::int64_t>);
template ObjectivePtr<double> in_region<double>(const RegionLoss&, const Points&, std::vector<std::int64_t>);
template ObjectivePtr<float> inside<float>(const Region&, const Points&, std::int64_t);
template ObjectivePtr<double> inside<double>(const Region&, const Points&, std::int64_t);

}  // namespace costate::study
