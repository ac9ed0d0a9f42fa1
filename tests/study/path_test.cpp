#include "costate/study/motion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "costate/core/philox.h"

namespace costate::study {
namespace {

constexpr double kDuration = 1.7;

Path random_path(int points, unsigned seed) {
  Path path;
  for (int i = 0; i < points; ++i) path.points.push_back(normal(seed, std::uint32_t(i), 0));
  return path;
}

const Motion kMotion{.collider = "jug", .axis = {0.6, 0, 0.8}, .pivot = {0.1, 0.3, -0.2}};
std::vector<Path> random_paths(unsigned seed) {
  std::vector<Path> paths;
  for (unsigned k = 0; k < 3; ++k) paths.push_back(random_path(5 + int(k), seed + k + 1));
  paths.push_back(random_path(7, seed));
  return paths;
}

// Six-point difference of f at 0.
double difference(const std::function<double(double)>& f, double h = 1e-3) {
  return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h);
}

TEST(Spline, WeightsSumToOneAndTheEndsAreTheFirstAndLastPoint) {
  for (int points : {4, 5, 6, 9}) {
    for (double t : {0.0, 0.3, 0.85, 1.1, kDuration}) {
      const PathWeights s = random_path(points, 3).weights(t, kDuration);
      EXPECT_NEAR(s.w[0] + s.w[1] + s.w[2] + s.w[3], 1, 1e-14);
      for (double w : s.w) EXPECT_GE(w, 0);
    }
    const Path path = random_path(points, 3);
    EXPECT_NEAR(path.at(0, kDuration), path.points.front(), 1e-14);
    EXPECT_NEAR(path.at(kDuration, kDuration), path.points.back(), 1e-14);
  }
}

TEST(Spline, DerivativesAreThoseOfTheValues) {
  const Path path = random_path(6, 1);
  for (double t : {0.2, 0.71, 1.3}) {
    for (int d = 0; d < 3; ++d) {
      const double expected = difference([&](double h) { return path.at(t + h, kDuration, d); });
      EXPECT_NEAR(path.at(t, kDuration, d + 1), expected, 1e-9 * (1 + std::abs(expected)));
    }
  }
}

TEST(Spline, OfPointsOnALineIsThatLine) {
  // Greville abscissae: where the points of a straight line stand.
  Path path;
  for (double u : {0.0, 1.0 / 3, 1.0, 2.0, 8.0 / 3, 3.0}) path.points.push_back(2 + u);
  for (double t : {0.0, 0.4, 1.0, 1.6}) EXPECT_NEAR(path.at(t, kDuration), 2 + 3 * t / kDuration, 1e-14);
  EXPECT_NEAR(jerk(path), 0, 1e-20);
}

TEST(Jerk, OfACubicIsTheSquareOfItsThirdDerivative) {
  Path path;
  path.points = {0, 0, 0, 1};  // (t/T)^3
  EXPECT_NEAR(jerk(path), 36, 1e-12);
}

TEST(Motion, VelocitiesAreTheDerivativesOfThePose) {
  const std::vector<Path> paths = random_paths(5);
  const auto at = [&](double t) { return motion_at(kMotion, paths, kDuration, t); };
  for (double t : {0.15, 0.8, 1.45}) {
    const BodyState s = at(t);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(s.velocity[k], difference([&](double h) { return at(t + h).position[k]; }), 1e-8);
      EXPECT_NEAR(s.angular_velocity[k], difference([&](double h) { return at(t + h).rotation[k]; }), 1e-8);
    }
  }
}

TEST(Motion, TransposeMatchesDifferences) {
  const std::vector<Path> paths = random_paths(5);
  const double t = 0.9;
  BodyState bar;
  unsigned draw = 0;
  for (auto* field : {&bar.position, &bar.rotation, &bar.velocity, &bar.angular_velocity})
    for (double& v : *field) v = normal(11, draw++, 0);
  std::vector<Path> paths_bar = paths;
  for (Path& path : paths_bar) path.points.assign(path.points.size(), 0.0);
  motion_at_vjp(kMotion, paths, kDuration, t, bar, paths_bar);
  const auto value = [&](const std::vector<Path>& at) {
    const BodyState s = motion_at(kMotion, at, kDuration, t);
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k)
      sum += bar.position[k] * s.position[k] + bar.rotation[k] * s.rotation[k] +
             bar.velocity[k] * s.velocity[k] + bar.angular_velocity[k] * s.angular_velocity[k];
    return sum;
  };
  for (std::size_t part = 0; part < 4; ++part) {
    for (std::size_t i = 0; i < paths[part].points.size(); ++i) {
      const double expected = difference([&](double h) {
        std::vector<Path> moved = paths;
        moved[part].points[i] += h;
        return value(moved);
      });
      EXPECT_NEAR(paths_bar[part].points[i], expected, 1e-8 * (1 + std::abs(expected)));
    }
  }
}

TEST(Path, IsHeldJoinedOrSplined) {
  Path path{.shape = Path::Shape::hold, .points = {1, 2, 4, 8}};
  const auto at = [&](std::int64_t k) { return path.in_step(k, 12); };
  for (const std::int64_t k : {0, 1, 2}) EXPECT_EQ(at(k), 1);
  for (const std::int64_t k : {9, 10, 11}) EXPECT_EQ(at(k), 8);
  path.shape = Path::Shape::linear;
  EXPECT_EQ(at(0), 1);
  EXPECT_NEAR(at(2), 1.5, 1e-14);
  EXPECT_NEAR(at(10), 6, 1e-14);
  path.shape = Path::Shape::spline;
  EXPECT_NEAR(at(0), 1, 1e-14);
  EXPECT_NEAR(at(6), (1 + 3 * 2 + 3 * 4 + 8) / 8.0, 1e-14);  // Bernstein's polynomials at one half
  path.shape = Path::Shape::steps;
  EXPECT_EQ(at(2), 4);
}

// Every shape is linear in its points: the weights are the derivative.
TEST(Path, TheTransposeOfEveryShapeIsItsWeights) {
  for (const Path::Shape shape : {Path::Shape::hold, Path::Shape::linear, Path::Shape::spline}) {
    Path path = random_path(6, 4);
    path.shape = shape;
    for (const std::int64_t k : {0, 3, 7, 11}) {
      std::vector<double> bar(6, 0.0);
      add_transpose(path.weights_in_step(k, 12), 1.7, bar);
      for (std::size_t i = 0; i < 6; ++i) {
        const double expected = difference([&](double h) {
          Path moved = path;
          moved.points[i] += h;
          return 1.7 * moved.in_step(k, 12);
        });
        EXPECT_NEAR(bar[i], expected, 1e-10);
      }
    }
  }
}

TEST(Regularisers, GradientsMatchDifferences) {
  const Path path = random_path(6, 2);
  std::vector<double> jerk_bar(6), excess_bar(6);
  jerk_vjp(path, 1, jerk_bar);
  excess_vjp(path, 0.1, 1, excess_bar);
  EXPECT_GT(excess(path, 0.1), 0);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto moved = [&](double h) {
      Path p = path;
      p.points[i] += h;
      return p;
    };
    const double expected = difference([&](double h) { return jerk(moved(h)); });
    EXPECT_NEAR(jerk_bar[i], expected, 1e-7 * (1 + std::abs(expected)));
    EXPECT_NEAR(excess_bar[i], difference([&](double h) { return excess(moved(h), 0.1); }, 1e-5), 1e-6);
  }
}

}  // namespace
}  // namespace costate::study
