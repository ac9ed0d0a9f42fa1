// Barriers that count by the area that they stand for: the areas, contact that does not depend on the mesh,
// and the contract. tests/python/test_ipctk.py compares them with the IPC Toolkit.
#include "costate/soft/contact/contact_areas.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/philox.h"
#include "costate/soft/contact/barrier.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "tests/soft/light_cloth.h"
#include "tests/system/contract.h"

namespace costate::soft {
namespace {

// Two triangles, and a rod that begins at one of their corners.
const std::vector<int> kTriangles = {0, 1, 2, 1, 3, 2}, kSegments = {3, 4, 4, 5};
const std::vector<double> kRest = {0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 1, .5, 3, 1, .5, 3, 3, 1};

TEST(ContactAreas, AreThirdsOfTrianglesAndLengthsOfRods) {
  const ContactAreas areas(6, kTriangles, kSegments);
  std::vector<double> a(std::size_t(areas.count()));
  areas.of(kRest.data(), a.data());
  const double first = 1, second = 0.5 * std::sqrt(0.25 + 1 + 4), last = std::sqrt(4.25);
  EXPECT_NEAR(a[0], first / 3, 1e-15);
  EXPECT_NEAR(a[1], (first + second) / 3, 1e-15);
  EXPECT_NEAR(a[3], second / 3, 1e-15);  // on a triangle: the rod does not count
  EXPECT_NEAR(a[4], (1 + last) / 2, 1e-15);
  EXPECT_NEAR(a[5], last / 2, 1e-15);
  EXPECT_NEAR(a[std::size_t(areas.edge(2, 1))], (first + second) / 3, 1e-15);
  EXPECT_NEAR(a[std::size_t(areas.edge(1, 0))], first / 3, 1e-15);
  EXPECT_NEAR(a[std::size_t(areas.edge(4, 5))], last, 1e-15);
  EXPECT_EQ(areas.count(), 6 + 7);
}

TEST(ContactAreas, TangentIsTheStencilsAndTheTransposeItsOwn) {
  const ContactAreas areas(6, kTriangles, kSegments);
  const auto n = std::size_t(areas.count());
  std::vector<double> way(18), bar(n), a(n), a_dot(n), stencil(n), rest_bar(18);
  for (std::size_t i = 0; i < way.size(); ++i) way[i] = 2 * uniform(1, 2, i) - 1;
  for (std::size_t i = 0; i < n; ++i) bar[i] = 2 * uniform(1, 3, i) - 1;
  areas.of_jvp(kRest.data(), way.data(), a_dot.data());
  constexpr double h = 1e-3;
  for (int k = 1; k <= 3; ++k)
    for (const int side : {-1, 1}) {
      std::vector<double> moved = kRest;
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += side * k * h * way[i];
      areas.of(moved.data(), a.data());
      for (std::size_t i = 0; i < n; ++i)
        stencil[i] += side * (k == 1 ? 45 : k == 2 ? -9 : 1) / (60 * h) * a[i];
    }
  areas.of_vjp(kRest.data(), bar.data(), rest_bar.data());
  double forward = 0, backward = 0;
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(a_dot[i], stencil[i], 1e-11);
    forward += bar[i] * a_dot[i];
  }
  for (std::size_t i = 0; i < way.size(); ++i) backward += rest_bar[i] * way[i];
  EXPECT_NEAR(forward, backward, 1e-14);
}

// What a sheet of side .2 m does in a millisecond, from rest at `gap` over a plane or over another sheet that
// is held: the mean acceleration upwards.
double acceleration(int cells, double gap, bool sheet, bool area_weighted, double distance = .01) {
  SoftModel m = light_cloth(0);
  m.dt = 1e-4;
  m.drag = m.wind_drag = 0;
  m.gravity = {0, 0, 0};
  m.contact.area_weighted = area_weighted;
  m.contact.distance = distance;
  m.contact.self = sheet;
  add_part(m, "sheet", Cells::triangles, cloth_mesh({.2, .2}, {cells, cells}), 0, {0, 0, .1});
  const std::size_t n3 = m.rest.size();
  if (sheet) {  // its vertices lie nowhere below those of the other
    const int first =
        add_part(m, "table", Cells::triangles, cloth_mesh({.28, .28}, {cells, cells}), -1, {-.037, -.043, 0});
    m.holds = {{"table"}};
    for (int i = first; i < m.vertices(); ++i) m.holds[0].vertices.push_back(i);
  } else {
    m.obstacles = {{.name = "table"}};
  }
  Rollout<double> rollout(soft_bodies<double>(m), {.steps = 1});
  Arguments<double> at = rollout.arguments();
  std::vector<double> x = m.rest;
  for (std::size_t i = 2; i < n3; i += 3) x[i] = gap;
  at.x0 = soft_state(m, x);
  const auto end = rollout.forward(at).final_state;
  // By mass: thirds of triangles.
  std::vector<double> mass(n3 / 3, 0.0);
  for (const int v : m.parts[0].vertices) mass[std::size_t(v)] += 1;
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < mass.size(); ++i)
    sum += mass[i] * end[m.rest.size() + 3 * i + 2] / m.dt, all += mass[i];
  return sum / all;
}

TEST(ContactAreas, ASheetOnAPlaneFeelsThePressureOfItsBarrierWhateverTheMesh) {
  const double gap = .004, pressure = -400 * barrier(gap, .01).slope;
  for (const int cells : {2, 4, 8})
    EXPECT_NEAR(acceleration(cells, gap, false, true), pressure / .2, 2e-3 * pressure / .2) << cells;
  // One barrier per vertex: a finer mesh is pushed harder.
  EXPECT_GT(acceleration(8, gap, false, false), 5 * acceleration(2, gap, false, false));
}

TEST(ContactAreas, ASheetOnASheetFeelsTheSameWhateverTheMesh) {
  const auto pushed = [](int cells, bool weighted) {
    return acceleration(cells, 8e-4, true, weighted, .002);
  };
  // Pairs beside each other see some of the same area: what is left grows with distance over cell.
  EXPECT_NEAR(pushed(8, true) / pushed(4, true), 1, 0.15);
  EXPECT_GT(pushed(8, false) / pushed(4, false), 2);
}

// Cloth that touches itself, a ball and a rod, all of them rubbing.
TEST(ContactAreas, WeightedContactMeetsTheContract) {
  SoftModel m = light_cloth(.4);
  m.contact.area_weighted = true;
  m.contact.stiffness = 4e4;
  add_part(m, "lower", Cells::triangles, cloth_mesh({.3, .3}, {1, 1}), 0);
  const int upper =
      add_part(m, "upper", Cells::triangles, cloth_mesh({.16, .16}, {1, 1}), 0, {.07, .06, .03});
  for (int i = upper; i < m.vertices(); ++i) {
    double &x = m.rest[std::size_t(3 * i)], &y = m.rest[std::size_t(3 * i + 1)];
    const double u = x - .15, v = y - .14;
    x = .15 + .9 * u - .435 * v, y = .14 + .435 * u + .9 * v;
  }
  m.materials.push_back(
      {.name = "thread", .law = "rod", .numbers = {{"E", 1e5}}, .density = .01, .viscosity = .01});
  const std::vector<double> points = {.1, .2, .05, .24, .22, .05};
  const int rod = add_part(m, "thread", Cells::rods, rod_mesh(points, {0, 0, 1}, .02), 1);
  m.holds = {{"corners", {0, 1, 2, 3}}};
  m.obstacles = {{.name = "ball",
                  .shape = Obstacle::Shape::ball,
                  .place = {.16, .17, -.2},
                  .radius = .194,
                  .friction = .3}};
  const auto states = [m, upper, rod](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    std::vector<double> x = m.rest, v(x.size(), 0.0);
    for (int i = upper; i < m.vertices(); ++i) {
      x[std::size_t(3 * i + 2)] -= i < rod ? .0225 : .0345;
      v[std::size_t(3 * i + 2)] = -.2;
    }
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += .1 * (2 * uniform(seed, 3, i) - 1);
    a.x0 = soft_state(m, x, v);
    return a;
  };
  costate::test::expect_contract(soft_bodies<double>(m), {.states = states,
                                                          .steps = 3,
                                                          .long_steps = 8,
                                                          .seeds = 1,
                                                          .transpose_gate = 1e-11,
                                                          .stencil_step = 1e-5});
}

}  // namespace
}  // namespace costate::soft
