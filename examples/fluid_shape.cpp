// The body of least drag: a cylinder in a channel at Re 20 (the geometry of the benchmark 2D-1 of Schaefer
// and Turek) becomes an ellipse of the same area, by the derivative of its drag with respect to its two
// semi-axes; and then whatever a closed spline around twelve points can become. No mesh is made, and none is
// made again.
//
//   fluid_shape
//   fluid_shape shape.svg      also draws the three bodies
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "costate/fluid/flow.h"
#include "costate/fluid/flow_places.h"
#include "costate/fluid/obstacles/outline.h"
#include "costate/optim/lbfgs.h"
#include "costate/system/rollout.h"
#include "examples/figure.h"

using namespace costate;

namespace {

constexpr int kPoints = 12, kPer = 6;  // control points, and corners of the outline per point
constexpr double kMiddle = 0.2, kRadius = 0.05;

// [outline]
// A spline around the control points, moved so that the centre of its area is where the circle's is, and
// scaled to the area of the circle; and the transpose.
struct Body {
  std::vector<double> curve, corners;  // as the points say; where it is
  double area = 0, scale = 0, moment[2] = {0, 0}, centre[2] = {0, 0};
  explicit Body(const double* x) {
    curve = fluid::spline_corners(std::vector<double>(x, x + 2 * kPoints), kPer);
    each_side([&](std::size_t i, std::size_t j, double cross) {
      area += cross / 2;
      for (std::size_t k = 0; k < 2; ++k) moment[k] += (curve[i + k] + curve[j + k]) * cross / 6;
    });
    for (std::size_t k = 0; k < 2; ++k) centre[k] = moment[k] / area;
    scale = std::sqrt(std::numbers::pi * kRadius * kRadius / area);
    for (std::size_t i = 0; i < curve.size(); ++i)
      corners.push_back(kMiddle + scale * (curve[i] - centre[i % 2]));
  }
  // f(corner, the next one, their cross product)
  template <class F>
  void each_side(const F& f) const {
    for (std::size_t i = 0; i < curve.size(); i += 2) {
      const std::size_t j = (i + 2) % curve.size();
      f(i, j, curve[i] * curve[j + 1] - curve[i + 1] * curve[j]);
    }
  }
  void pull_back(const std::vector<double>& corners_bar, double* gradient) const {
    std::vector<double> bar(curve.size());
    double scale_bar = 0, centre_bar[2] = {0, 0};
    for (std::size_t i = 0; i < curve.size(); ++i) {
      bar[i] = scale * corners_bar[i];
      scale_bar += (curve[i] - centre[i % 2]) * corners_bar[i];
      centre_bar[i % 2] -= scale * corners_bar[i];
    }
    double area_bar = -scale / (2 * area) * scale_bar;
    for (std::size_t k = 0; k < 2; ++k) area_bar -= centre_bar[k] * centre[k] / area;
    each_side([&](std::size_t i, std::size_t j, double cross) {
      double cross_bar = area_bar / 2;
      for (std::size_t k = 0; k < 2; ++k) {
        const double moment_bar = centre_bar[k] / area;
        cross_bar += (curve[i + k] + curve[j + k]) / 6 * moment_bar;
        bar[i + k] += cross / 6 * moment_bar, bar[j + k] += cross / 6 * moment_bar;
      }
      bar[i] += curve[j + 1] * cross_bar, bar[j + 1] += curve[i] * cross_bar;
      bar[i + 1] -= curve[j] * cross_bar, bar[j] -= curve[i + 1] * cross_bar;
    });
    const auto control_bar = fluid::spline_corners_vjp(2 * kPoints, kPer, bar);
    std::ranges::copy(control_bar, gradient);
  }
};
// [/outline]

std::vector<figure::Point> outline(const std::vector<double>& corners) {
  std::vector<figure::Point> points;
  for (std::size_t i = 0; i <= corners.size(); i += 2)
    points.push_back({corners[i % corners.size()] - kMiddle, corners[(i + 1) % corners.size()] - kMiddle});
  return points;
}
std::vector<double> ellipse(double a, double b, int count, double middle) {
  std::vector<double> corners;
  for (int i = 0; i < count; ++i) {
    const double t = 2 * std::numbers::pi * i / count;
    corners.push_back(middle + a * std::cos(t)), corners.push_back(middle + b * std::sin(t));
  }
  return corners;
}

// A channel of 1.1 m x 0.41 m with 12 cells across the cylinder, and a body with two semi-axes.
constexpr std::int64_t kColumns = 132, kRows = 49;
constexpr double kHeight = 0.41;

std::vector<double> inflow() {
  std::vector<double> speeds;
  for (std::int64_t j = 0; j < kRows; ++j) {
    const double y = (double(j) + 0.5) * kHeight / kRows;
    speeds.push_back(4 * 0.3 * y * (kHeight - y) / (kHeight * kHeight));
  }
  return speeds;
}
fluid::FlowOptions channel_with_body() {
  fluid::FlowOptions options{
      .cells = {kColumns, kRows}, .width = {1.1 / kColumns, kHeight / kRows, 1}, .dt = 0.01};
  options.viscosity = 1e-3;
  options.sides[0] = {fluid::Side::Kind::velocity, {inflow(), 0.0, 0.0}};
  options.sides[1] = {fluid::Side::Kind::outflow};
  options.sides[2] = options.sides[3] = fluid::wall();
  options.obstacles = {{.shape = fluid::Obstacle::Shape::ellipsoid,
                        .center = {kMiddle, kMiddle, 0},
                        .size = {kRadius, kRadius}}};
  return options;
}

void draw(const char* file, const std::vector<double>& best_ellipse, const std::vector<double>& best) {
  figure::Figure figure;
  figure::Panel& panel = figure.panel("x [m]", "y [m]").y_range(-0.06, 0.06);
  panel.line(outline(ellipse(kRadius, kRadius, 72, kMiddle)), figure::kGrey, "circle, drag 5.7");
  panel.line(outline(best_ellipse), figure::kBlue, "ellipse, 4.0");
  panel.line(outline(best), figure::kOrange, "any outline");
  figure.write(file);
}

}  // namespace

int main(int argc, char** argv) {
  // [channel]
  // 1. A channel, with a cylinder in it for now.
  fluid::FlowOptions options = channel_with_body();
  const auto channel = fluid::flow<double>(options);

  // 2. The drag coefficient after three seconds: 2 F / (U^2 D) with U = 0.2 and D = 0.1.
  Rollout<double> rollout(channel, {.steps = 300, .active = {"body/size"}});
  const auto drag = loss::final_value<double>(channel->signature(), "body/force", 0, 2 / (0.2 * 0.2 * 0.1));
  Arguments<double> at = rollout.arguments();
  const std::vector<double> speeds = inflow();
  for (std::int64_t j = 0; j < kRows; ++j)
    for (std::int64_t i = 0; i <= kColumns; ++i)
      at.x0[std::size_t(j * (kColumns + 1) + i)] = speeds[std::size_t(j)];
  // [/channel]

  // [descend]
  // 3. Semi-axes r s and r / s have the area of the circle: descend in s.
  int gradients = 0;
  const auto objective = [&](const double* s, double* gradient) {
    at.parameters.set("body/size", {kRadius * s[0], kRadius / s[0]});
    const auto g = rollout.value_and_gradient(at, *drag);
    const auto by_axes = g.parameters["body/size"];
    gradient[0] = kRadius * by_axes[0] - kRadius / (s[0] * s[0]) * by_axes[1];
    if (++gradients == 1) std::printf("circle    drag %.2f\n", g.value);
    return g.value;
  };
  const auto found = optim::minimize(
      objective, std::vector<double>{1.0},
      optim::LbfgsOptions{.first_step = 0.2, .stopping = {.max_iterations = 12}, .bounds = {{0.8}, {2.5}}});
  // [/descend]
  const double ratio = found.x[0] * found.x[0];
  std::printf("ellipse   drag %.2f, %.1f times as long as thick\n", found.value, ratio);
  std::printf("%s 15 gradients\n", gradients <= 15 ? "within" : "not within");

  // [free]
  // 4. From the ellipse on, any outline: a level set has a depth per cell, which the outline gives.
  const auto places = fluid::cell_places(options);
  std::vector<double> control = ellipse(kRadius * found.x[0], kRadius / found.x[0], kPoints, 0);
  options.obstacles[0].shape = fluid::Obstacle::Shape::level;
  options.obstacles[0].size = fluid::outline_depths(places, Body(control.data()).corners);
  const auto river = fluid::flow<double>(options);
  Rollout<double> freely(river, {.steps = 300, .active = {"body/level"}});
  const auto resistance =
      loss::final_value<double>(river->signature(), "body/force", 0, 2 / (0.2 * 0.2 * 0.1));
  Arguments<double> from = freely.arguments();
  std::copy_n(at.x0.begin(), from.x0.size(), from.x0.begin());
  const auto any_shape = [&](const double* x, double* gradient) {
    const Body body(x);
    from.parameters.set("body/level", fluid::outline_depths(places, body.corners));
    const auto g = freely.value_and_gradient(from, *resistance);
    const auto by_depth = g.parameters["body/level"];
    body.pull_back(fluid::outline_depths_vjp(places, body.corners,
                                             std::vector<double>(by_depth.begin(), by_depth.end())),
                   gradient);
    return g.value;
  };
  // Points stay within 12 mm of the ellipse, so that the outline does not cross itself.
  std::vector<double> lowest = control, highest = control;
  for (double& x : lowest) x -= 0.012;
  for (double& x : highest) x += 0.012;
  const auto shaped = optim::minimize(
      any_shape, control,
      optim::LbfgsOptions{
          .first_step = 0.002, .stopping = {.max_iterations = 12}, .bounds = {lowest, highest}});
  // [/free]
  std::printf("free      drag %.2f, %s than the ellipse\n", shaped.value,
              shaped.value < found.value ? "less" : "not less");
  if (argc > 1)
    draw(argv[1], ellipse(kRadius * found.x[0], kRadius / found.x[0], 72, kMiddle),
         Body(shaped.x.data()).corners);
  return gradients <= 15 && ratio > 3 && ratio < 5 && shaped.value < found.value ? 0 : 1;
}
