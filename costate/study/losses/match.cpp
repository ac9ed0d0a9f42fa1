#include "costate/study/losses/match.h"

#include "costate/core/error.h"

namespace costate::study {
namespace {

template <class Real>
class Match final : public PointsObjective<Real> {
 public:
  Match(const Points& points, std::vector<double> targets, double weight, std::vector<std::int64_t> steps)
      : PointsObjective<Real>(points, steps),
        targets_(std::move(targets)),
        scale_(weight / double(steps.size())) {
    if (targets_.size() != points.elements.size())
      throw Error("a loss has targets for " +
                  std::to_string(targets_.size() / std::size_t(points.dimension)) + " points, not for " +
                  std::to_string(points.count()));
  }

 private:
  double walk(const PointsView<Real>& points) const override {
    const std::size_t dimension = points.points().dimension;
    const double each = scale_ / double(points.count());
    double sum = 0;
    for (std::size_t i = 0; i < points.count(); ++i) {
      const Point x = points[i];
      Point bar{};
      for (std::size_t a = 0; a < dimension; ++a) {
        const double miss = x[a] - targets_[i * dimension + a];
        sum += 0.5 * each * miss * miss;
        bar[a] = each * miss;
      }
      points.add(i, bar);
    }
    return sum;
  }
  std::vector<double> targets_;
  double scale_;
};

}  // namespace

template <class Real>
ObjectivePtr<Real> match(const Points& points, const std::vector<double>& targets, double weight,
                         std::vector<std::int64_t> steps) {
  return std::make_shared<Match<Real>>(points, targets, weight, std::move(steps));
}

template ObjectivePtr<float> match<float>(const Points&, const std::vector<double>&, double,
                                          std::vector<std::int64_t>);
template ObjectivePtr<double> match<double>(const Points&, const std::vector<double>&, double,
                                            std::vector<std::int64_t>);

}  // namespace costate::study
