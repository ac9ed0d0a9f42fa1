// Rods: strains against published digits and duals, closed forms of bending, twist and their instabilities,
// the contract, contact, and errors.
#include "costate/soft/elements/rod.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "costate/ad/dual.h"
#include "costate/ad/dual_functions.h"
#include "costate/core/philox.h"
#include "costate/soft/contact/pair.h"
#include "costate/soft/elements/rod_term.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate::soft {
namespace {

using costate::test::expect_error;
using V = Vec3<double>;
constexpr double kPi = std::numbers::pi;

// --- strains -----------------------------------------------------------------------------------------------

template <class K>
void expect_pull_is_the_gradient(unsigned seed) {
  constexpr int kSize = 3 * K::kVectors;
  using D = Dual<double, kSize>;
  Vec3<D> q[K::kVectors];
  Vec3<double> at[K::kVectors], q_bar[K::kVectors];
  for (int i = 0; i < kSize; ++i) {
    at[i / 3][i % 3] = 2 * uniform(seed, 1, std::uint64_t(i)) - 1;
    q[i / 3][i % 3] = D::variable(at[i / 3][i % 3], i);
  }
  D s[K::kStrains];
  K::strains(q, s);
  for (int k = 0; k < K::kStrains; ++k) {
    double bar[K::kStrains] = {};
    bar[k] = 1;
    K::pull(at, bar, q_bar);
    double size = 0;
    for (int i = 0; i < kSize; ++i) size = std::max(size, std::abs(s[k].d[i]));
    for (int i = 0; i < kSize; ++i)
      EXPECT_NEAR(q_bar[i / 3][i % 3], s[k].d[i], 1e-12 * size) << k << ' ' << i;
  }
}

TEST(Rod, PullIsTheGradientOfEachStrain) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    expect_pull_is_the_gradient<RodSegment>(seed);
    expect_pull_is_the_gradient<RodJoint>(seed);
  }
}

// E = B |kb|^2/(2 l): a rod that is not twisted and bends as easily to all sides. Digits: mpmath.
TEST(Rod, BendingHasThePublishedDigits) {
  const std::vector<double> points = {0, 0, 0, 1, .1, .05, 1.8, .7, .4};
  const SoftMesh now = rod_mesh(points, {0, 0, 1}, .5),
                 rest = rod_mesh({0, 0, 0, 1, 0, 0, 2.1, 0, 0}, {0, 0, 1}, .5);
  std::vector<double> p =
      rest.vertices;  // then stretch, bend_1, bend_2, twist, gyration, natural shares, density, viscosity
  const std::int64_t first = std::int64_t(p.size());
  p.insert(p.end(), {1, .5, .5, 3, 1e-6, 0, 1, 1, 0});
  CellPlaces places{.rest = 0, .density = first + 7, .viscosity = first + 8};
  for (int k = 0; k < 7; ++k) places.numbers.push_back(first + k);
  const Part part{"rod", Cells::rods, now.cells, 0};
  const auto term = rod_joint_term(part, rod_law("rod_stiffness"), places);
  ASSERT_EQ(term->groups().vertex, (std::vector<int>{0, 1, 2, 3, 4}));
  std::vector<double> kept(std::size_t(term->kept()));
  term->keep(p.data(), kept.data());
  const std::vector<double>& x = now.vertices;
  const At at{x.data(), x.data(), x.data(), p.data(), nullptr, 1, kept.data()};
  double W = 0, slots[15];
  term->energy(at, &W);
  term->residual(at, slots);
  EXPECT_NEAR(W, 0.09240776765268914, 1e-16);
  const double digits[9] = {-0.03583721926238448, 0.2759465883203605,  0.1648512086069686,
                            0.2372120615764068,   -0.4743283443930923, -0.2850535520571936,
                            -0.2013748423140223,  0.1983817560727319,  0.120202343450225};
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(slots[i], digits[i], 1e-14) << i;
  for (int i = 9; i < 15; ++i) EXPECT_NEAR(slots[i], 0, 1e-15) << i;
}

// --- closed forms ------------------------------------------------------------------------------------------

std::vector<double> line(int segments, double length, V along) {
  std::vector<double> points;
  for (int i = 0; i <= segments; ++i)
    for (int d = 0; d < 3; ++d) points.push_back(length * i / segments * along[d]);
  return points;
}
SoftMaterial stiff(double bend, double twist, double density) {
  return {.name = "m",
          .law = "rod_stiffness",
          .numbers = {{"stretch", 1e5 * bend}, {"bend_1", bend}, {"bend_2", bend}, {"twist", twist}},
          .density = density};
}
// A rod of length 1 whose first segment is half held: the clamp is in the middle of the first segment, as
// joints turn at vertices, half a segment from the middles of their segments.
SoftModel cantilever(int segments, V along, V towards, const SoftMaterial& material) {
  SoftModel m{.materials = {material}, .gravity = {0, 0, 0}, .tolerance = 1e-11, .max_iterations = 1000};
  const double h = 1 / (segments - .5);
  add_part(m, "rod", Cells::rods,
           rod_mesh(line(segments, segments * h, along), {towards.x, towards.y, towards.z}, h / 2), 0,
           {-.5 * h * along.x, -.5 * h * along.y, -.5 * h * along.z});
  m.holds = {{"clamp", {0, 1, segments + 1}}};
  return m;
}

// Drop and reach of a rod that is clamped horizontally depend on G = weight per length L^3/EI alone (Romero
// et al., ACM TOG 40, 2021). Digits: shooting, good to 1e-11.
TEST(Rod, AHeavyRodIsTheHeavyElastica) {
  const double digits[][4] = {{1, 0.99124639534664, 0.12347140198335, 0.1204802388693},
                              {5, 0.84665717995426, 0.49590504462239, 0.06400198480019},
                              {10, 0.65635376123860, 0.70019971551431, 0.02482951224291},
                              {20, 0.44523205223960, 0.82988144343931, 0.006542592097371}};
  for (const auto& [load, reach, drop, slope] : digits) {
    double error[2];
    for (const int k : {0, 1}) {
      const int segments = k == 0 ? 20 : 40;
      SoftModel m = cantilever(segments, {1, 0, 0}, {0, 0, 1}, stiff(1, 1, 1));
      m.materials[0].numbers["gyration"] = 1e-9;
      m.gravity = {0, 0, -load};
      m.integrator = Integrator::still;
      const auto system = soft_bodies<double>(m);
      Rollout<double> rollout(system, {.steps = 1, .active = {"gravity"}});
      Arguments<double> at = rollout.arguments();
      at.x0 = soft_state(m);
      const std::string tip = std::to_string(3 * segments + 2);
      const auto loss = loss::expression<double>(system->signature(), "-x[" + tip + "]");
      const auto g = rollout.value_and_gradient(at, *loss);
      const auto end = rollout.forward(at).final_state;
      error[k] = std::max(std::abs(end[std::size_t(3 * segments)] - reach), std::abs(g.value - drop));
      EXPECT_NEAR(-g.parameters["gravity"][2], slope, 3e-3 * slope * (k == 0 ? 4 : 1)) << load;
    }
    EXPECT_LT(error[1], 1.2e-3) << load;
    EXPECT_NEAR(error[0] / error[1], 4, .6) << load;  // second order
  }
}

// Whether a state is one of rest, and a minimum of the energy: its step has a derivative.
bool stable(const SoftModel& m, const std::vector<double>& x) {
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 1, .active = {"gravity"}});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m, x);
  const auto loss = loss::expression<double>(system->signature(), "x[0]");
  try {
    (void)rollout.value_and_gradient(at, *loss);
  } catch (const Error&) {
    return false;
  }
  return true;
}
template <class F>
double threshold(double low, double high, const F& is_stable) {
  for (int k = 0; k < 30; ++k) (is_stable(.5 * (low + high)) ? low : high) = .5 * (low + high);
  return .5 * (low + high);
}

// Michell's instability: a ring with a total twist leaves its plane at 2 pi sqrt(3) B/C. The ring is a rod
// that is straight at rest; its last segment lies on its first one, turned by the twist, and both are held.
// It still turns freely about that segment, as its frames turn back: a little inertia stands against that.
double ring_threshold(int segments, double ratio) {
  const double h = 2 * std::sin(kPi / segments);  // a ring of radius 1
  SoftModel m{.materials = {stiff(1, ratio, 1)}, .gravity = {0, 0, 0}, .dt = 1e3, .tolerance = 1e-9};
  add_part(m, "ring", Cells::rods,
           rod_mesh(line(segments + 1, (segments + 1) * h, {1, 0, 0}), {0, 0, 1}, h / 2), 0);
  const int frame = segments + 2;  // the first frame point
  m.holds = {{"weld", {0, 1, frame, segments, segments + 1, frame + segments}}};
  const double formula = 2 * kPi * std::sqrt(3.0) / ratio;
  return threshold(.8 * formula, 1.2 * formula, [&](double twist) {
    std::vector<double> x;
    const auto corner = [&](int i) {
      return V{std::cos(2 * kPi * i / segments), std::sin(2 * kPi * i / segments), 0};
    };
    for (int i = 0; i <= segments + 1; ++i) {
      const V p = corner(i);
      x.insert(x.end(), {p.x, p.y, p.z});
    }
    for (int i = 0; i <= segments; ++i) {
      const V middle = .5 * (corner(i) + corner(i + 1)), t = (1 / h) * (corner(i + 1) - corner(i)),
              up{0, 0, 1};
      const double angle = twist * i / segments;
      const V g = middle + (h / 2) * (std::cos(angle) * up + std::sin(angle) * cross(t, up));
      x.insert(x.end(), {g.x, g.y, g.z});
    }
    return stable(m, x);
  });
}
TEST(Rod, ATwistedRingLeavesItsPlaneAtMichellsTwist) {
  // 60 segments: the zero of the Hessian's lowest eigenvalue, computed elsewhere.
  for (const auto& [ratio, digits] : {std::pair{.5, 21.954}, {1., 10.977}, {2., 5.4886}}) {
    const double twist = ring_threshold(60, ratio), formula = 2 * kPi * std::sqrt(3.0) / ratio;
    EXPECT_NEAR(twist, digits, 1e-4 * digits) << ratio;
    EXPECT_NEAR(twist / formula, 1, .01);
  }
  // Second order in the length of a segment.
  const double formula = 2 * kPi * std::sqrt(3.0);
  EXPECT_NEAR((ring_threshold(20, 1) - formula) / (ring_threshold(40, 1) - formula), 4, .3);
}

// Greenhill's column: it bends under its own weight above q L^3/EI = 9/4 j^2 = 7.8373...
TEST(Rod, AColumnBucklesUnderItsOwnWeightAtGreenhillsHeight) {
  double error[2];
  for (const int k : {0, 1}) {
    const int segments = k == 0 ? 8 : 16;
    SoftModel m = cantilever(segments, {0, 0, 1}, {1, 0, 0}, stiff(1, 1, 1));
    m.materials[0].numbers["gyration"] = 1e-9;
    m.integrator = Integrator::still;
    m.tolerance = 1e-6;
    m.materials[0].numbers["stretch"] = 1e7;
    const double found = threshold(5, 10, [&](double load) {
      m.gravity = {0, 0, -load};
      return stable(m, m.rest);
    });
    error[k] = found / 7.8373474389434839 - 1;
  }
  EXPECT_LT(std::abs(error[1]), 3e-3);
  EXPECT_NEAR(error[0] / error[1], 4, .5);
}

// The frequency of an oscillation, rad/s, from all the times that a coordinate passes zero.
double frequency(const SoftModel& m, const std::vector<double>& x, std::size_t coordinate,
                 std::int64_t steps) {
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = steps, .keep = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m, x);
  const auto run = rollout.simulate(at);
  std::vector<double> zeros;
  const auto value = [&](std::int64_t k) {
    return run.states[std::size_t(k) * at.x0.size() + coordinate] - m.rest[coordinate];
  };
  for (std::int64_t k = 0; k + 1 < std::int64_t(run.kept.size()); ++k)
    if ((value(k) > 0) != (value(k + 1) > 0))
      zeros.push_back(m.dt * (double(k) + value(k) / (value(k) - value(k + 1))));
  return kPi * double(zeros.size() - 1) / (zeros.back() - zeros.front());
}

// The first bending mode of a cantilever, w = 1.8751^2 sqrt(EI/(density L^4)), and its first twisting mode,
// w = pi/2 sqrt(GJ/(density gyration L^2)).
TEST(Rod, RodsSwingAndTwistWithTheirFrequencies) {
  const int segments = 24;
  SoftModel m = cantilever(segments, {1, 0, 0}, {0, 0, 1}, stiff(1, 2, 1));
  m.materials[0].numbers["gyration"] = 1e-6;
  m.integrator = Integrator::midpoint;
  m.dt = 1e-2;
  const double bending = 1.8751040687119612 * 1.8751040687119612, twisting = kPi / 2 * std::sqrt(2 / 1e-6);
  std::vector<double> x = m.rest;
  const auto mode = [](double s) {
    const double b = 1.8751040687119612, r = (std::cos(b) + std::cosh(b)) / (std::sin(b) + std::sinh(b));
    return std::cosh(b * s) - std::cos(b * s) - r * (std::sinh(b * s) - std::sin(b * s));
  };
  for (std::size_t i = 0; i < x.size(); i += 3) x[i + 1] += 1e-4 * mode(std::max(0.0, m.rest[i]));
  EXPECT_NEAR(frequency(m, x, std::size_t(3 * segments + 1), 1000), bending, .003 * bending);

  x = m.rest;
  for (int i = 0; i < segments; ++i) {
    const auto g = std::size_t(3 * (segments + 1 + i));
    const double angle = 1e-3 * std::sin(kPi / 2 * m.rest[g]), beside = m.rest[g + 2];
    x[g + 1] = beside * std::sin(angle), x[g + 2] = beside * std::cos(angle);
  }
  m.dt = 2e-5;
  EXPECT_NEAR(frequency(m, x, std::size_t(3 * (2 * segments) + 1), 600), twisting, .003 * twisting);
}

// Momentum and spin of a free rod are kept, energy too (midpoint).
TEST(Rod, AFreeRodKeepsItsMomentumAndSpin) {
  SoftModel m{.materials = {{.name = "m", .law = "rod", .numbers = {{"a", .02}, {"b", .01}}, .density = .3}},
              .gravity = {0, 0, 0},
              .dt = 5e-3,
              .integrator = Integrator::midpoint,
              .tolerance = 1e-13};
  add_part(m, "rod", Cells::rods, rod_mesh({0, 0, 0, .1, 0, 0, .2, .03, 0, .3, .05, .02}, {0, 0, 1}, .05), 0);
  std::vector<double> v(m.rest.size());
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = .3 * (2 * uniform(4, 2, i) - 1);
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 40});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m, {}, v);
  const auto end = rollout.forward(at).final_state;
  // Masses, from the terms themselves.
  const double gyration = .25 * (4e-4 + 1e-4), share = gyration / (.05 * .05);
  std::vector<double> mass(7, 0.0);
  for (int i = 0; i < 3; ++i) {
    double length = 0;
    for (int d = 0; d < 3; ++d) {
      const double e = m.rest[std::size_t(3 * i + 3 + d)] - m.rest[std::size_t(3 * i + d)];
      length += e * e;
    }
    const double all = .3 * std::sqrt(length);
    mass[std::size_t(i)] += .5 * all * (1 - share), mass[std::size_t(i + 1)] += .5 * all * (1 - share);
    mass[std::size_t(4 + i)] += all * share;
  }
  const auto moments = [&](const std::vector<double>& s, V& momentum, V& spin) {
    momentum = spin = V::zero();
    for (std::size_t i = 0; i < 7; ++i) {
      const V x{s[3 * i], s[3 * i + 1], s[3 * i + 2]}, u{s[21 + 3 * i], s[22 + 3 * i], s[23 + 3 * i]};
      momentum += mass[i] * u, spin += mass[i] * cross(x, u);
    }
  };
  V p0, l0, p1, l1;
  moments(at.x0, p0, l0), moments(end, p1, l1);
  for (int d = 0; d < 3; ++d) {
    EXPECT_NEAR(p1[d], p0[d], 1e-12);
    EXPECT_NEAR(l1[d], l0[d], 1e-11);
  }
}

// --- contract ----------------------------------------------------------------------------------------------

SoftModel curly(const char* law, bool per_element) {
  SoftModel m{.materials = {{.name = "m",
                             .law = law,
                             .per_element = per_element,
                             .driven = "natural_bend",
                             .density = .3,
                             .viscosity = .02}},
              .drag = .2,
              .dt = .01,
              .tolerance = 1e-13};
  m.materials[0].numbers =
      law == std::string("rod")
          ? std::map<std::string, double>{{"E", 3e5},
                                          {"a", .006},
                                          {"b", .003},
                                          {"natural_bend", .6},
                                          {"natural_twist", .7}}
          : std::map<std::string, double>{{"stretch", 30}, {"bend_1", 2e-4},   {"bend_2", 1e-4},
                                          {"twist", 1e-4}, {"gyration", 2e-5}, {"natural_bend", .8}};
  add_part(m, "rod", Cells::rods,
           rod_mesh({0, 0, 0, .1, .02, .01, .18, .09, .03, .22, .18, -.02, .3, .22, .03}, {0, .2, 1}, .05),
           0);
  for (std::size_t i = 15; i < m.rest.size(); ++i) m.rest[i] += .01 * std::sin(double(i));  // some twist
  m.holds = {{"clamp", {0, 1, 5}, true}};
  return m;
}
auto shaken(const SoftModel& m, double size) {
  return [m, size](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    std::vector<double> x = m.rest, v(m.rest.size());
    for (std::size_t i = 0; i < v.size(); ++i) {
      x[i] += size * (2 * uniform(seed, 3, i) - 1);
      v[i] = 30 * size * (2 * uniform(seed, 4, i) - 1);
    }
    a.x0.assign(a.x0.size(), 0);
    const auto state = soft_state(m, x, v);
    for (std::size_t i = 0; i < state.size(); ++i) a.x0[i] = decltype(a.x0[0] + 0)(state[i]);
    for (std::size_t i = 0; i < a.controls.size(); ++i)
      a.controls[i] = decltype(a.controls[0] + 0)(.2 * (2 * uniform(seed, 5, i) - 1));
    return a;
  };
}

TEST(Rod, MeetsTheContract) {
  for (const bool per_element : {false, true})
    for (const char* law : {"rod", "rod_stiffness"}) {
      SCOPED_TRACE(law);
      const SoftModel m = curly(law, per_element);
      costate::test::expect_contract(soft_bodies<double>(m),
                                     {.states = shaken(m, 3e-3), .steps = 5, .long_steps = 40});
    }
}

// A rod falls across another one that is held, onto a cloth and a floor.
SoftModel crossing(double friction) {
  SoftModel m{.materials =
                  {{.name = "rod",
                    .law = "rod",
                    .numbers = {{"E", 1e6}, {"a", .003}, {"b", .003}},
                    .density = .05,
                    .viscosity = 1e-3},
                   {.name = "cloth", .law = "stvk", .numbers = {{"E", 1e4}}, .density = .1, .bending = 1e-5}},
              .obstacles = {{.name = "floor", .place = {0, 0, -.07}, .friction = friction}},
              .contact = {.self = true, .distance = .01, .stiffness = 500, .friction = friction},
              .dt = .01,
              .tolerance = 1e-13};
  add_part(m, "falling", Cells::rods, rod_mesh(line(4, .2, {1, 0, 0}), {0, 0, 1}, .02), 0,
           {-.113, .007, .015});
  const int held =
      add_part(m, "held", Cells::rods, rod_mesh(line(3, .15, {0, 1, 0}), {0, 0, 1}, .02), 0, {.013, -.06, 0});
  add_part(m, "cloth", Cells::triangles, cloth_mesh({.1, .1}, {2, 2}), 1, {-.12, -.047, 0});
  m.holds = {{"held", {held, held + 1, held + 2, held + 3, held + 4, held + 5, held + 6}}};
  return m;
}
TEST(Rod, MeetsTheContractInContact) {
  SoftModel m = crossing(.3);
  m.parts.pop_back(), m.materials.pop_back(), m.obstacles.clear();  // only the two rods
  m.rest.resize(3 * 16);
  m.materials[0].numbers["E"] = 1e5, m.contact.slip_speed = .1;
  const auto states = [m](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    std::vector<double> x = m.rest, v(m.rest.size());
    for (std::size_t i = 0; i < 27; i += 3) x[i + 2] -= .009, v[i + 2] = -.1, v[i] = .05;
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += .02 * (2 * uniform(seed, 3, i) - 1);
    a.x0 = soft_state(m, x, v);
    return a;
  };
  costate::test::expect_contract(
      soft_bodies<double>(m),
      {.states = states, .steps = 3, .long_steps = 8, .seeds = 1, .stencil_step = 1e-5});
}

TEST(Rod, NeverPassesThroughAnother) {
  SoftModel m = crossing(.1);
  m.tolerance = 1e-8;
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 60, .keep = 1});
  Arguments<double> at = rollout.arguments();
  std::vector<double> v(m.rest.size(), 0.0);
  for (std::size_t i = 0; i < 27; i += 3) v[i + 2] = -3;  // 3 cm in the first step, from 1.5 cm above
  at.x0 = soft_state(m, {}, v);
  const auto run = rollout.simulate(at);
  const std::size_t size = at.x0.size();
  for (std::size_t k = 0; k < run.kept.size(); ++k) {
    const double* x = run.states.data() + k * size;
    for (int i = 0; i < 5; ++i) EXPECT_GT(x[3 * i + 2], -.07);
    for (int i = 0; i < 4; ++i)
      for (int j = 9; j < 12; ++j) {
        const auto point = [&](int a) { return V{x[3 * a], x[3 * a + 1], x[3 * a + 2]}; };
        const V p[4] = {point(i), point(i + 1), point(j), point(j + 1)};
        const auto s = pair_state(true, closest_edges(p), p, 0.0);
        EXPECT_GT(s.d, 0);
        // Where they cross seen from above, the falling one is above.
        const double dx = p[1].x - p[0].x, dy = p[3].y - p[2].y;
        const double t = (p[2].x - p[0].x) / dx, u = (p[0].y + t * (p[1].y - p[0].y) - p[2].y) / dy;
        if (t >= 0 && t <= 1 && u >= 0 && u <= 1) {
          EXPECT_GT(p[0].z + t * (p[1].z - p[0].z), -1e-3) << k;
        }
      }
  }
}

// --- errors ------------------------------------------------------------------------------------------------

TEST(Rod, BadRodsAreErrorsThatSayWhatToDo) {
  const auto with = [](std::vector<int> cells, double beside = .05) {
    SoftModel m{.materials = {{.name = "m", .law = "rod", .density = .1}}};
    const SoftMesh mesh = rod_mesh(line(3, .3, {1, 0, 0}), {0, 0, 1}, beside);
    add_part(m, "rod", Cells::rods, {mesh.vertices, cells.empty() ? mesh.cells : cells}, 0);
    return soft_bodies<double>(m);
  };
  EXPECT_NO_THROW(with({}));
  expect_error(
      [&] {
        return with({0, 1, 4, 2, 1, 5, 2, 3, 6});
      },
      "vertex 1 of rod 'rod' ends two segments", "swap the ends");
  expect_error(
      [&] {
        return with({0, 1, 4, 1, 2, 5, 1, 3, 6});
      },
      "belongs to three segments", "a part of its own");
  expect_error(
      [&] {
        return with({0, 1, 2, 1, 2, 5, 2, 3, 6});
      },
      "has its frame point on its axis", "rod_mesh");
  expect_error([&] { return with({0, 0, 4, 1, 2, 5, 2, 3, 6}); }, "has no length at rest", "rod_mesh");
  expect_error(
      [&] {
        SoftModel m{
            .materials = {{.name = "m", .law = "rod", .numbers = {{"a", .1}, {"b", .1}}, .density = .1}}};
        add_part(m, "rod", Cells::rods, rod_mesh(line(3, .3, {1, 0, 0}), {0, 0, 1}, .05), 0);
        const auto system = soft_bodies<double>(m);
        Rollout<double> rollout(system, {.steps = 1});
        Arguments<double> at = rollout.arguments();
        at.x0 = soft_state(m);
        return rollout.forward(at);
      },
      "closer to its axis than its radius of gyration", "move frame points further away");
  expect_error(
      [] {
        return rod_mesh({0, 0, 0}, {0, 0, 1}, .1);
      },
      "a rod of 3 coordinates", "two points or more");
  expect_error(
      [] {
        return rod_mesh({0, 0, 0, 1, 0, 0}, {2, 0, 0}, .1);
      },
      "no direction", "not along the rod");
}

}  // namespace
}  // namespace costate::soft
