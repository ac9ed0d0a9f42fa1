// Contact: a tetrahedron on a plane with published digits (complex step), cloth on a ball, cloth on cloth,
// and that nothing ever passes through anything.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/mat3.h"
#include "costate/core/philox.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/tangents.h"
#include "tests/expect_error.h"
#include "tests/soft/crossed.h"
#include "tests/soft/light_cloth.h"
#include "tests/system/contract.h"

namespace costate::soft {
namespace {

using costate::test::expect_error;

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double gate, const char* what) {
  double size = 0;
  for (const double x : b) size = std::max(size, std::abs(x));
  for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(a[i], b[i], gate * size) << what << ' ' << i;
}

SoftModel dropped_tetrahedron() {
  return {.rest = {0, 0, 0, 1, .1, 0, .1, .9, .05, .2, .15, 1.1},
          .parts = {{"tet", Cells::tetrahedra, {0, 1, 2, 3}, 0}},
          .materials = {{.name = "m", .numbers = {{"E", 1e4}, {"nu", .3}}}},
          .obstacles = {{.name = "floor", .friction = .3}},
          .contact = {.distance = .05, .stiffness = 2e4, .slip_speed = .01},
          .dt = .01,
          .tolerance = 1e-15};
}
std::vector<double> dropped_state(const SoftModel& m) {
  std::vector<double> x = m.rest, v;
  for (std::size_t i = 2; i < x.size(); i += 3) x[i] += .02;
  for (int i = 0; i < m.vertices(); ++i) v.insert(v.end(), {.5, .2, -.3});
  return soft_state(m, x, v);
}

TEST(SoftContactTest, ATetrahedronOnAPlaneHasThePublishedDigits) {
  const SoftModel model = dropped_tetrahedron();
  const auto system = soft_bodies<double>(model);
  Rollout<double> rollout(system, {.steps = 20});
  Arguments<double> at = rollout.arguments();
  at.x0 = dropped_state(model);
  const auto loss = loss::expression<double>(system->signature(),
                                             "(((x[0]+x[3]+x[6]+x[9])/4 - 0.5)^2 + ((x[1]+x[4]+x[7]+x[10])/4 "
                                             "- 0.4)^2 + ((x[2]+x[5]+x[8]+x[11])/4 - 0.3)^2)/2");
  const auto g = rollout.value_and_gradient(at, *loss);
  EXPECT_NEAR(g.value, 0.014442283862523237, 1e-13);
  const std::pair<const char*, double> numbers[] = {
      {"material/m/E", -8.799600762184299e-08},          {"material/m/nu", -0.004908833601535499},
      {"material/m/density", -7.182371394604501e-07},    {"dt", -0.06510988917939797},
      {"contact/stiffness", 7.990986078394398e-08},      {"contact/distance", 0.09744383181809298},
      {"obstacle/floor/friction", 0.016916068267108616}, {"contact/slip_speed", 0.0005424484243959572}};
  for (const auto& [name, value] : numbers)
    EXPECT_NEAR(g.parameters[name][0], value, 1e-9 * std::abs(value)) << name;
  EXPECT_NEAR(g.parameters["gravity"][2], -0.0004002035743095687, 1e-12);
  const auto rest = g.parameters["rest"];
  expect_near({rest.begin(), rest.end()},
              {0.02542029831776352, 0.017863043134364362, 0.022049662326771545, -0.020210265751003313,
               0.0006180472183755725, -0.004039632203025732, 0.001466122605068623, -0.013752313458595247,
               -0.0037117366901659754, -0.006676155171828835, -0.004728776894144685, -0.01429829343357986},
              1e-9, "rest");
  expect_near(g.x0,
              {-0.057678663524693134, -0.04024086250704085, -0.10475245528761404, -0.014576627413892703,
               -0.024093591677660113, -0.08932878797768934, -0.03487799943244425, -0.011281034905446708,
               -0.01625479339632027, -0.026695028943865, -0.017835812889647043, 0.0022243765448102973},
              1e-9, "x0");
  expect_near({g.x0.begin() + 12, g.x0.end()},
              {-0.003705617021368891, -0.0017236559339673394, -0.0010278238085645347, -0.004612003717431082,
               -0.0020462716595335273, -0.0014886323795470695, -0.0044803744514752405, -0.0020666617140756246,
               -0.001560741510204365, -0.006141648627282398, -0.004254432399394542, -0.0010662505258854937},
              1e-9, "v0");
}

// --- nothing passes through anything -----------------------------------------------------------------------

// Two cloths: the lower one is held at its corners, the upper one, turned, falls on it and slides.
SoftModel two_cloths(double friction) {
  SoftModel m = light_cloth(friction);
  add_part(m, "lower", Cells::triangles, cloth_mesh({.3, .3}, {3, 3}), 0);
  const int upper =
      add_part(m, "upper", Cells::triangles, cloth_mesh({.16, .16}, {2, 2}), 0, {.07, .06, .03});
  for (int i = upper; i < m.vertices(); ++i) {  // a turn, so that edges cross
    double &x = m.rest[std::size_t(3 * i)], &y = m.rest[std::size_t(3 * i + 1)];
    const double u = x - .15, v = y - .14;
    x = .15 + .9 * u - .435 * v, y = .14 + .435 * u + .9 * v;
  }
  m.holds = {{"corners", {0, 3, 12, 15}}};
  return m;
}

TEST(SoftContactTest, ClothsNeverPassThroughEachOther) {
  const SoftModel m = two_cloths(.3);
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 40, .keep = 1});
  Arguments<double> at = rollout.arguments();
  std::vector<double> v(m.rest.size(), 0.0);
  for (int i = 16; i < m.vertices(); ++i) v[std::size_t(3 * i)] = .3, v[std::size_t(3 * i + 2)] = -2;
  at.x0 = soft_state(m, {}, v);
  const auto run = rollout.forward(at);
  std::vector<int> triangles;
  for (const Part& part : m.parts)
    triangles.insert(triangles.end(), part.vertices.begin(), part.vertices.end());
  const std::size_t size = at.x0.size();
  double lowest = 1;
  for (std::size_t k = 0; k < run.kept.size(); ++k) {
    EXPECT_FALSE(test::crossed(triangles, run.states.data() + k * size)) << k;
    lowest = std::min(lowest, run.states[k * size + 3 * 20 + 2]);
  }
  EXPECT_LT(lowest, 0);  // it did fall, and took the lower one along
}

TEST(SoftContactTest, ClothOnClothMeetsTheContract) {
  const SoftModel m = two_cloths(.4);
  const auto states = [m](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    std::vector<double> x = m.rest, v(x.size(), 0.0);
    for (int i = 16; i < m.vertices(); ++i)
      x[std::size_t(3 * i + 2)] -= .0225, v[std::size_t(3 * i + 2)] = -.2;
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += .1 * (2 * uniform(seed, 3, i) - 1);
    a.x0 = soft_state(m, x, v);
    return a;
  };
  // Some derivatives are of size 1 beside others of size 2000, whose rounding they have.
  costate::test::expect_contract(soft_bodies<double>(m), {.states = states,
                                                          .steps = 3,
                                                          .long_steps = 8,
                                                          .seeds = 1,
                                                          .transpose_gate = 1e-11,
                                                          .stencil_step = 1e-5});
}

// Without friction only its own coefficient sees it: as with very little of it.
TEST(SoftContactTest, DerivativesWithoutFrictionAreThoseWithVeryLittle) {
  const auto slide = [](double friction) {
    const SoftModel m = two_cloths(friction);
    const auto system = soft_bodies<double>(m);
    Rollout<double> rollout(system, {.steps = 3});
    Arguments<double> at = rollout.arguments();
    std::vector<double> x = m.rest, v(x.size(), 0.0);
    for (int i = 16; i < m.vertices(); ++i)
      x[std::size_t(3 * i + 2)] -= .0225, v[std::size_t(3 * i)] = .1, v[std::size_t(3 * i + 2)] = -.2;
    at.x0 = soft_state(m, x, v);
    const auto g = rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "x", {}));
    Arguments<double> along{at.x0, {}, at.parameters.zeros()};
    along.parameters["contact/friction"][0] = 1;
    const auto dot =
        tangents<double>(*system, {.steps = 3, .keep = 3}, at, {along, {{}, {}, along.parameters}});
    std::vector<double> all = dot.rates;
    for (const char* name : {"contact/friction", "contact/stiffness", "material/m/E"})
      all.push_back(g.parameters[name][0]);
    all.insert(all.end(), g.x0.begin(), g.x0.end());
    return all;
  };
  const std::vector<double> none = slide(0), little = slide(1e-13);
  ASSERT_NE(none[none.size() - two_cloths(0).rest.size() * 2 - 3], 0);  // the pairs do slide
  for (std::size_t i = 0; i < none.size(); ++i)
    EXPECT_NEAR(none[i], little[i], 1e-6 * (1e-3 + std::abs(little[i]))) << i;
}

TEST(SoftContactTest, ClothOnABallMeetsTheContract) {
  SoftModel m = two_cloths(0);
  m.contact.self = false;
  m.holds.clear();
  m.obstacles = {{.name = "ball",
                  .shape = Obstacle::Shape::ball,
                  .place = {.15, .15, -.2},
                  .radius = .195,
                  .friction = .5}};
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 5});
  Arguments<double> at = rollout.arguments();
  std::vector<double> v;
  for (std::size_t i = 0; i < m.rest.size(); ++i)
    v.push_back(.1 * std::sin(double(i)) - (i % 3 == 2 ? .1 : 0));
  at.x0 = soft_state(m, {}, v);
  costate::test::expect_contract(
      system, {.states = costate::test::starting_at(at), .steps = 5, .long_steps = 20, .stencil_step = 1e-5});
}

TEST(SoftContactTest, BadContactsAreErrorsThatSayWhatToDo) {
  expect_error(
      [] {
        SoftModel m = two_cloths(0);
        m.contact.distance = .2;
        return soft_bodies<double>(m);
      },
      "apart at rest, closer than the contact distance 0.2", "use a contact distance below");
  expect_error(
      [] {
        SoftModel m = two_cloths(0);
        m.integrator = Integrator::midpoint;
        return soft_bodies<double>(m);
      },
      "contact with integrator = midpoint", "euler or bdf2");
  expect_error(
      [] {
        const SoftModel m = dropped_tetrahedron();
        const auto system = soft_bodies<double>(m);
        Rollout<double> rollout(system, {.steps = 2});
        Arguments<double> at = rollout.arguments();
        at.x0 = dropped_state(m);
        at.x0[5] = -1;
        return rollout.forward(at);
      },
      "'floor': vertex 1 is inside this obstacle", "start from a shape");
}

}  // namespace
}  // namespace costate::soft
