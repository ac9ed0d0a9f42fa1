// Soft bodies against theory: a block on a slope (the exact solution of the scheme), the heavy elastica, and
// Hertz's contact.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/soft/contact/barrier.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/rollout.h"

namespace costate::soft {
namespace {

// A triangle lies on a plane that is inclined by 30 degrees, where barriers carry its weight: it slides as a
// point does, with smoothed Coulomb friction. Digits: the quadratic equation of an implicit Euler step, with
// its derivative, in 50 digits.
struct Slid {
  double way, speed, way_by_friction;
};
Slid slide(double friction) {
  const double tilt = std::acos(-1.0) / 6, g = 9.81, side = .1;
  SoftModel m{.rest = {0, 0, 0, side, 0, 0, side / 2, side * std::sqrt(.75), 0},
              .parts = {{"block", Cells::triangles, {0, 1, 2}, 0}},
              .materials = {{.name = "m", .law = "stvk", .density = 10}},
              .gravity = {g * std::sin(tilt), 0, -g * std::cos(tilt)},  // x along the slope
              .obstacles = {{.name = "slope", .friction = friction}},
              .contact = {.distance = .01, .stiffness = 1e3, .slip_speed = .01},
              .dt = .01,
              .tolerance = 1e-14};
  const double weight = 10 * side * side * std::sqrt(.75) / 2 / 3 * g * std::cos(tilt);
  double low = 1e-6, high = .01;  // where the barrier carries a third of the weight
  for (int k = 0; k < 200; ++k) {
    const double d = .5 * (low + high);
    (-1e3 * barrier(d, .01).slope > weight ? low : high) = d;
  }
  std::vector<double> x = m.rest;
  for (std::size_t i = 2; i < 9; i += 3) x[i] = .5 * (low + high);
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 100});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m, x);
  const auto way = loss::expression<double>(system->signature(), "x[0]");
  const auto run = rollout.value_and_gradient(at, *way);
  const auto end = rollout.forward(at).final_state;
  return {run.value, end[9], run.parameters["obstacle/slope/friction"][0]};
}

TEST(SoftPhysics, ABlockSlidesDownASlopeAsTheSchemeSays) {
  const Slid slides = slide(.3);
  EXPECT_NEAR(slides.way, 1.189925054514511, 1e-9);
  EXPECT_NEAR(slides.speed, 2.356287236662397, 1e-9);
  EXPECT_NEAR(slides.way_by_friction, -4.290333151618298, 1e-8);
  // Friction that holds it lets it creep, at slip_speed (1 - sqrt(1 - tan(tilt)/friction)).
  const Slid sticks = slide(.7);
  EXPECT_NEAR(sticks.way, 0.005803445374717099, 1e-10);
  EXPECT_NEAR(sticks.speed, 0.005814144040250818, 1e-10);
  EXPECT_NEAR(sticks.way_by_friction, -0.01400488742305556, 1e-9);
}

// A strip that is clamped horizontally bends under its weight: drop and reach depend on one number,
// G = weight per length L^3/EI (Romero et al., ACM TOG 40, 2021). EI of a mesh of triangles is what a small
// weight shows: a drop of G/8. Its first turn is at the clamp, so the free length begins half a cell before.
struct Bent {
  double reach, drop, drop_by_bending;  // the last one times bending
};
Bent bend(double weight_over_bending, int cells) {
  const double density = .2, g = 9.81, h = 1 / (cells + .5), bending = density * g / weight_over_bending;
  SoftModel m{.materials = {{.name = "m",
                             .law = "stvk",
                             .numbers = {{"E", 2e5 * density * g}, {"nu", 0}},
                             .density = density,
                             .bending = bending}},
              .integrator = Integrator::still,
              .tolerance = 1e-10,
              .max_iterations = 1000};
  add_part(m, "strip", Cells::triangles, cloth_mesh({(cells + 1) * h, 2 * h}, {cells + 1, 1}), 0, {-h, 0, 0});
  m.holds = {{"clamp", {0, 1, cells + 2, cells + 3}}};
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m);
  // The middle of the tip.
  const int tip = 3 * (cells + 1), other = 3 * (2 * cells + 3);
  const auto drop = loss::expression<double>(
      system->signature(), "-(x[" + std::to_string(tip + 2) + "] + x[" + std::to_string(other + 2) + "])/2");
  const auto run = rollout.value_and_gradient(at, *drop);
  const auto end = rollout.forward(at).final_state;
  return {.5 * (end[std::size_t(tip)] + end[std::size_t(other)]) + h / 2, run.value,
          run.parameters["material/m/bending"][0] * bending};
}

TEST(SoftPhysics, AHeavyStripBendsAsTheElasticaDoes) {
  // G, reach, drop, d drop/dG: shooting, to 11 digits.
  const double digits[][4] = {{1, 0.99124639534664, 0.12347140198335, 0.1204802388693},
                              {5, 0.84665717995426, 0.49590504462239, 0.06400198480019},
                              {10, 0.65635376123860, 0.70019971551431, 0.02482951224291}};
  for (const int cells : {15, 30}) {
    constexpr double kSmall = 1e-2;
    const double unit =
        kSmall * kSmall / (8 * bend(kSmall, cells).drop);  // weight over bending of G = kSmall
    for (const auto& [load, reach, drop, slope] : digits) {
      const Bent at = bend(load * unit / kSmall, cells);
      const double gate = .18 / cells;  // first order: the cell at the clamp bends as a whole
      EXPECT_NEAR(at.reach, reach, gate) << load << ' ' << cells;
      EXPECT_NEAR(at.drop, drop, gate) << load << ' ' << cells;
      EXPECT_NEAR(-at.drop_by_bending / load, slope, 5 * gate * slope) << load << ' ' << cells;
    }
  }
}

// A rigid ball is pressed into a block: F = 4/3 E/(1 - nu^2) sqrt(R) depth^(3/2) (Hertz). The barrier begins
// at a hundredth of the depth. Cells are small under the ball and grow with the distance from it.
struct Pressed {
  double force, force_by_E;  // N, N/Pa
  int touching;              // vertices
};
Pressed press(double depth, int cells) {
  const double E = 1e6, nu = .3, R = .1, half = .2, kappa = 1e9, reach = 2e-5;
  SoftModel m{.materials = {{.name = "m", .law = "neo_hookean", .numbers = {{"E", E}, {"nu", nu}}}},
              .gravity = {0, 0, 0},
              .obstacles =
                  {{.name = "ball", .shape = Obstacle::Shape::ball, .place = {0, 0, R + reach}, .radius = R}},
              .contact = {.distance = reach, .stiffness = kappa},
              .integrator = Integrator::still,
              .tolerance = 1e-9,
              .max_iterations = 500};
  SoftMesh block = block_mesh(Cells::hexahedra, {2, 2, 1}, {2 * cells, 2 * cells, cells});
  const auto graded = [&](double s) { return half * s * (.06 + .94 * s * s * s); };  // s from 0 to 1
  Hold ground{.name = "ground", .driven = true};
  for (std::size_t i = 0; i < block.vertices.size(); i += 3) {
    double* X = block.vertices.data() + i;
    for (int d = 0; d < 2; ++d) X[d] = std::copysign(graded(std::abs(X[d] - 1)), X[d] - 1);
    X[2] = -graded(1 - X[2]);
    if (X[2] < -half + 1e-9 || std::abs(X[0]) > half - 1e-9 || std::abs(X[1]) > half - 1e-9)
      ground.vertices.push_back(int(i / 3));
  }
  add_part(m, "block", Cells::hexahedra, block, 0);
  m.holds = {ground};
  const auto system = soft_bodies<double>(m);
  // The block is lifted against the ball, in parts.
  constexpr int kParts = 3;
  Rollout<double> rollout(system, {.steps = kParts, .active = {"material/m/E"}});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m);
  for (std::size_t k = 0; k < kParts; ++k) at.controls[3 * k + 2] = depth / kParts / m.dt;
  const auto x = rollout.simulate(at).final_state;
  const double z = R + reach;
  std::vector<std::size_t> close;
  for (std::size_t i = 0; i < m.rest.size(); i += 3)
    if (std::hypot(x[i], x[i + 1], x[i + 2] - z) < R + reach) close.push_back(i);
  // Upwards, of the forces of all barriers on the ball: -slope of stiffness b(d).
  const auto force = loss::lambda<double>(system->signature(), [&](auto s, auto, auto) {
    auto sum = 0 * s[0];
    for (const std::size_t i : close) {
      const auto up = z - s[i + 2], r = sqrt(s[i] * s[i] + s[i + 1] * s[i + 1] + up * up), d = r - R,
                 q = d - reach;
      sum = sum + kappa * (2 * q * log(d / reach) + q * q / d) * up / r;
    }
    return sum;
  });
  const auto g = rollout.value_and_gradient(at, *force);
  return {g.value, g.parameters["material/m/E"][0], int(close.size())};
}

TEST(SoftPhysics, ABallIsPressedIntoABlockAsHertzSays) {
  constexpr double kDepth = 3e-3;
  const double exact = 4. / 3 * 1e6 / (1 - .09) * std::sqrt(.1) * std::pow(kDepth, 1.5);
  const auto measured = [&](int cells) {
    const Pressed at = press(kDepth, cells);
    EXPECT_GT(at.touching, 20);
    EXPECT_NEAR(1e6 * at.force_by_E / at.force, 1, 1e-3);  // barriers are much stiffer than the block
    return at.force / exact;
  };
  // Cells that are too large are too stiff, by the square of their size. The block is not a half-space: it is
  // held at twelve radii of the contact, which makes it a few percent stiffer.
  const double coarse = measured(4), fine = measured(6);
  EXPECT_LT(fine, coarse);
  EXPECT_NEAR((36 * fine - 16 * coarse) / 20, 1, .09);
}

}  // namespace
}  // namespace costate::soft
