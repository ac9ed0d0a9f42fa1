#include "costate/study/losses/height_field.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"

namespace costate::study {
namespace {

// Quadratic B-spline on [-3/2, 3/2] and its slope.
double bump(double z) {
  const double a = std::abs(z);
  return a < 0.5 ? 0.75 - a * a : a < 1.5 ? 0.5 * (1.5 - a) * (1.5 - a) : 0;
}
double bump_slope(double z) {
  const double a = std::abs(z);
  return a < 0.5 ? -2 * z : a < 1.5 ? (z > 0 ? a - 1.5 : 1.5 - a) : 0;
}

template <class Real>
class HeightFieldObjective final : public PointsObjective<Real> {
 public:
  HeightFieldObjective(HeightField field, const Points& points, std::vector<std::int64_t> steps)
      : PointsObjective<Real>(points, steps),
        field_(std::move(field)),
        scale_(field_.weight / double(steps.size())) {
    if (points.volume.size() != points.count())
      throw Error("a height field needs points that have a volume: particles");
  }

 private:
  // Columns that a point at x reaches along axis number k of the ground, and their weights.
  struct Reach {
    int first = 0;
    std::array<double, 4> w{}, slope{};
  };
  Reach reach(double x, std::size_t k) const {
    Reach r;
    const double z = (x - field_.first[k]) / field_.width;
    r.first = int(std::floor(std::clamp(z, -1e6, 1e6))) - 1;
    for (std::size_t j = 0; j < 4; ++j) {
      r.w[j] = bump(z - (r.first + int(j)));
      r.slope[j] = bump_slope(z - (r.first + int(j))) / field_.width;
    }
    return r;
  }

  // body(i, column, weight, slope along the first axis, along the third)
  template <class Body>
  void each_column(const PointsView<Real>& points, const Body& body) const {
    const bool flat = points.points().dimension == 2;
    const double area = flat ? field_.width : field_.width * field_.width;
    const int rows = field_.columns[0], lines = flat ? 1 : field_.columns[1];
    for (std::size_t i = 0; i < points.count(); ++i) {
      const Point x = points[i];
      const Reach first = reach(x[0], 0);
      const Reach second = flat ? Reach{.first = 0, .w = {1, 0, 0, 0}, .slope = {}} : reach(x[2], 1);
      const double share = points.points().volume[i] / area;
      for (int a = 0; a < 4; ++a) {
        for (int b = 0; b < (flat ? 1 : 4); ++b) {
          const int row = first.first + a, line = second.first + b;
          if (row < 0 || row >= rows || line < 0 || line >= lines) continue;
          const std::size_t ka = std::size_t(a), kb = std::size_t(b);
          body(i, std::size_t(row) * std::size_t(lines) + std::size_t(line),
               share * first.w[ka] * second.w[kb], share * first.slope[ka] * second.w[kb],
               share * first.w[ka] * second.slope[kb]);
        }
      }
    }
  }

  double walk(const PointsView<Real>& points) const override {
    const std::size_t count = field_.heights.size();
    std::vector<double> height(count, 0.0), bar(count, 0.0);
    each_column(points, [&](std::size_t, std::size_t j, double w, double, double) { height[j] += w; });
    double sum = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const double miss = height[j] - field_.heights[j];
      sum += 0.5 * scale_ * miss * miss / double(count);
      bar[j] = scale_ * miss / double(count);
    }
    if (points.wants_derivative())
      each_column(points, [&](std::size_t i, std::size_t j, double, double sx, double sz) {
        points.add(i, {bar[j] * sx, 0, bar[j] * sz});
      });
    return sum;
  }

  HeightField field_;
  double scale_;
};

}  // namespace

template <class Real>
ObjectivePtr<Real> height_field(const HeightField& field, const Points& points,
                                std::vector<std::int64_t> steps) {
  return std::make_shared<HeightFieldObjective<Real>>(field, points, std::move(steps));
}

template ObjectivePtr<float> height_field<float>(const HeightField&, const Points&,
                                                 std::vector<std::int64_t>);
template ObjectivePtr<double> height_field<double>(const HeightField&, const Points&,
                                                   std::vector<std::int64_t>);

}  // namespace costate::study
