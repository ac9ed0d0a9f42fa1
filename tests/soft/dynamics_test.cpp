// Soft bodies against theory, in motion and in parts: patch tests, what a free body keeps, the frequency of a
// bar and its convergence, and a rope on a drum.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "costate/core/philox.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/rollout.h"

namespace costate::soft {
namespace {

constexpr double kPi = std::numbers::pi;

// The inner vertices of a block are moved about at rest, and its surface is deformed evenly: so is all of it.
TEST(SoftDynamics, CellsOfEveryKindPassThePatchTest) {
  for (const Cells kind : {Cells::tetrahedra, Cells::quadratic_tetrahedra, Cells::hexahedra})
    for (const char* law : {"neo_hookean", "stvk", "fixed_corotated"}) {
      SoftModel m{.materials = {{.name = "m", .law = law, .numbers = {{"E", 1e4}, {"nu", .3}}}},
                  .gravity = {0, 0, 0},
                  .integrator = Integrator::still,
                  .tolerance = 1e-13};
      add_part(m, "block", kind, block_mesh(kind, {1, 1, 1}, {3, 3, 3}), 0);
      Hold surface{.name = "surface"};
      std::vector<double> x = m.rest, right;
      for (int i = 0; i < m.vertices(); ++i) {
        double* X = m.rest.data() + 3 * i;
        bool outside = false, corner = true;  // of a cell: quadratic ones keep their straight edges
        for (int d = 0; d < 3; ++d) {
          outside = outside || X[d] < 1e-9 || X[d] > 1 - 1e-9;
          corner = corner && std::abs(3 * X[d] - std::round(3 * X[d])) < 1e-9;
        }
        if (outside) surface.vertices.push_back(i);
        if (!outside && corner && kind != Cells::quadratic_tetrahedra)
          for (int d = 0; d < 3; ++d) X[d] += .06 * (2 * uniform(7, 1, std::uint64_t(3 * i + d)) - 1);
        const double y[3] = {1.1 * X[0] + .2 * X[1] - .05 * X[2], -.1 * X[0] + .9 * X[1] + .15 * X[2],
                             .05 * X[0] - .1 * X[1] + 1.2 * X[2]};
        for (int d = 0; d < 3; ++d) {
          right.push_back(y[d]);
          x[std::size_t(3 * i + d)] = outside ? y[d] : .97 * y[d] + .02;
        }
      }
      m.holds = {surface};
      Rollout<double> rollout(soft_bodies<double>(m), {.steps = 1});
      Arguments<double> at = rollout.arguments();
      at.x0 = soft_state(m, x);
      const auto end = rollout.forward(at).final_state;
      for (std::size_t i = 0; i < right.size(); ++i)
        EXPECT_NEAR(end[i], right[i], 1e-12) << law << ' ' << kCellNames[int(kind)] << ' ' << i;
    }
}

// Implicit midpoint keeps momentum and spin of a free body to rounding, and its energy to second order.
TEST(SoftDynamics, AFreeBodyKeepsMomentumSpinAndEnergy) {
  double drift[2];
  for (const int k : {0, 1}) {
    SoftModel m{.materials = {{.name = "m", .law = "stvk", .numbers = {{"E", 1e4}, {"nu", .3}}}},
                .gravity = {0, 0, 0},
                .dt = k == 0 ? 2e-3 : 1e-3,
                .integrator = Integrator::midpoint,
                .tolerance = 1e-14};
    add_part(m, "block", Cells::tetrahedra, block_mesh(Cells::tetrahedra, {.2, .1, .1}, {2, 1, 1}), 0);
    const std::size_t n3 = m.rest.size();
    std::vector<double> v(n3), mass(n3 / 3, 0.0);
    for (std::size_t i = 0; i < n3; i += 3) {  // a turn about z, and a stretch
      v[i] = -3 * m.rest[i + 1] + .5 * m.rest[i], v[i + 1] = 3 * m.rest[i], v[i + 2] = .4 * m.rest[i];
    }
    const std::vector<int>& cells = m.parts[0].vertices;
    for (const int i : cells) mass[std::size_t(i)] += 1000 * 2e-3 / double(cells.size());  // equal cells
    const auto system = soft_bodies<double>(m);
    Rollout<double> rollout(system, {.steps = k == 0 ? 50 : 100});
    Arguments<double> at = rollout.arguments();
    at.x0 = soft_state(m, {}, v);
    const auto end = rollout.forward(at).final_state;
    const auto moments = [&](const std::vector<double>& s) {
      std::array<double, 6> sum = {};
      for (std::size_t i = 0; i < n3 / 3; ++i)
        for (std::size_t d = 0; d < 3; ++d) {
          const std::size_t a = (d + 1) % 3, b = (d + 2) % 3;
          sum[d] += mass[i] * s[n3 + 3 * i + d];
          sum[3 + d] += mass[i] * (s[3 * i + a] * s[n3 + 3 * i + b] - s[3 * i + b] * s[n3 + 3 * i + a]);
        }
      return sum;
    };
    const auto before = moments(at.x0), after = moments(end);
    for (std::size_t d = 0; d < 6; ++d) EXPECT_NEAR(after[d], before[d], 1e-12) << d;
    const auto work = system->make_workspace();
    std::vector<double> p;
    for (std::size_t f = 0; f < system->signature().fields(Role::parameter).size(); ++f)
      for (std::int64_t i = 0; i < system->signature().fields(Role::parameter)[f].size; ++i) {
        const auto given = at.parameters.values(f);
        p.push_back(given[given.size() == 1 ? 0 : std::size_t(i)]);
      }
    double first = 0, last = 0;
    system->energy({at.x0.data(), nullptr, p.data()}, &first, *work);
    system->energy({end.data(), nullptr, p.data()}, &last, *work);
    drift[k] = std::abs(last / first - 1);
  }
  EXPECT_LT(drift[1], 2e-3);
  EXPECT_LT(drift[1], .5 * drift[0]);
}

// The first axial mode of a bar that is held at one end: w = pi/2 sqrt(E/density)/L (nu = 0).
double bar_frequency(int cells) {
  SoftModel m{.materials = {{.name = "m", .law = "stvk", .numbers = {{"E", 1e6}, {"nu", 0}}}},
              .gravity = {0, 0, 0},
              .dt = 2e-4,
              .integrator = Integrator::midpoint,
              .tolerance = 1e-12};
  add_part(m, "bar", Cells::hexahedra, block_mesh(Cells::hexahedra, {1, .1, .1}, {cells, 1, 1}), 0);
  Hold wall{.name = "wall"};
  std::vector<double> x = m.rest;
  for (std::size_t i = 0; i < x.size(); i += 3) {
    if (m.rest[i] == 0) wall.vertices.push_back(int(i / 3));
    x[i] += 1e-5 * std::sin(kPi / 2 * m.rest[i]);
  }
  m.holds = {wall};
  Rollout<double> rollout(soft_bodies<double>(m), {.steps = 500, .keep = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m, x);
  const auto run = rollout.simulate(at);
  const std::size_t tip = std::size_t(3 * cells);
  std::vector<double> zeros;
  for (std::size_t k = 0; k + 1 < run.kept.size(); ++k) {
    const double a = run.states[k * at.x0.size() + tip] - 1, b = run.states[(k + 1) * at.x0.size() + tip] - 1;
    if ((a > 0) != (b > 0)) zeros.push_back(m.dt * (double(k) + a / (a - b)));
  }
  return kPi / (zeros[1] - zeros[0]);
}
TEST(SoftDynamics, ABarRingsAtItsFrequencyAndConvergesAsTheSquareOfACell) {
  const double exact = kPi / 2 * std::sqrt(1e6 / 1000);
  const double coarse = bar_frequency(4) / exact - 1, fine = bar_frequency(8) / exact - 1;
  EXPECT_NEAR(coarse, -kPi * kPi / (96 * 16), 2e-4);  // lumped masses: sin(q)/q, q = pi/(4 cells)
  EXPECT_NEAR(coarse / fine, 4, .3);
}

// A rope lies half around a drum and is pulled at one end: T2/T1 = exp(friction pi).
TEST(SoftDynamics, ARopeOnADrumHoldsAsTheCapstanEquationSays) {
  const double radius = .05, r = radius + .0035, friction = .3, straight = .05;
  const int arc = 30, span = 5;
  std::vector<double> points;
  for (int i = 0; i < span; ++i) points.insert(points.end(), {-r, 0, -straight * (1 - double(i) / span)});
  for (int i = 0; i <= arc; ++i)
    points.insert(points.end(), {-r * std::cos(kPi * i / arc), 0, r * std::sin(kPi * i / arc)});
  for (int i = 1; i <= span; ++i) points.insert(points.end(), {r, 0, -straight * i / span});
  SoftModel m{.materials = {{.name = "rope",
                             .law = "rod_stiffness",
                             .numbers = {{"stretch", 50},
                                         {"bend_1", 1e-8},
                                         {"bend_2", 1e-8},
                                         {"twist", 1e-8},
                                         {"gyration", 1e-8}},
                             .density = .01}},
              .gravity = {0, 0, 0},
              .drag = 50,
              .obstacles = {{.name = "drum",
                             .shape = Obstacle::Shape::ball,
                             .place = {0, 0, 0},
                             .radius = radius,
                             .friction = friction}},
              .contact = {.distance = .005, .stiffness = 2000, .slip_speed = 1e-4},
              .dt = 5e-3,
              .tolerance = 1e-10};
  const int count = int(points.size() / 3);
  add_part(m, "rope", Cells::rods, rod_mesh(points, {1, 0, 0}, .002), 0);
  m.holds = {{"fast", {0}}, {"pulled", {count - 1}, true}};
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 60, .active = {"obstacle/drum/friction"}});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m);
  for (std::size_t k = 0; k < 60; ++k) at.controls[3 * k + 2] = -.04;
  // Tension of a straight span: its stretch.
  const auto x = [](int i, int d) { return "x[" + std::to_string(3 * i + d) + "]"; };
  const auto stretch = [&](int a, int b) {
    std::string sum;
    for (int d = 0; d < 3; ++d) sum += (d ? " + (" : "(") + x(a, d) + " - " + x(b, d) + ")^2";
    return "(sqrt(" + sum + ")/" + std::to_string(straight / span * 2) + " - 1)";
  };
  const auto loss =
      loss::expression<double>(system->signature(), stretch(count - 4, count - 2) + "/" + stretch(1, 3));
  const auto g = rollout.value_and_gradient(at, *loss);
  const double ratio = std::exp(friction * kPi);
  EXPECT_NEAR(g.value, ratio, .03 * ratio);
  EXPECT_NEAR(g.parameters["obstacle/drum/friction"][0], kPi * ratio, .05 * kPi * ratio);
}

}  // namespace
}  // namespace costate::soft
