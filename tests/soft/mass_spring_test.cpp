#include "costate/soft/mass_spring.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/philox.h"
#include "tests/system/contract.h"

namespace costate::soft {
namespace {

// A tetrahedron (2-D: a triangle and a fourth mass above) on a floor, between its feet a muscle, behind it a wall that it does not reach.
MassSpringModel tetrapod(int dimensions, double friction, Contact contact = Contact::split) {
  const bool space = dimensions == 3;
  const std::vector<double> up = space ? std::vector<double>{0, 0, 1} : std::vector<double>{0, 1};
  const std::vector<double> right = space ? std::vector<double>{1, 0, 0} : std::vector<double>{1, 0};
  MassSpringModel m{
      .dimensions = dimensions,
      .masses = {1, 1.2, 0.9, 0.5},
      .gravity = up,
      .drag = 0.3,
      .planes = {{.normal = up, .friction = friction}, {.normal = right, .offset = -5, .friction = 0.2}},
      .contact = contact,
      .dt = 5e-3};
  for (double& g : m.gravity) g *= -10;
  int s = 0;
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b, ++s)
      m.springs.push_back({.a = a,
                           .b = b,
                           .rest_length = 1 + 0.03 * s,
                           .stiffness = 20.0 + s,
                           .damping = 0.2,
                           .muscle = s % 3 - 1,
                           .strength = s % 3 == 0 ? 0 : 0.15 + 0.01 * s});
  }
  return m;
}

// Three feet just below the floor, where the first step lifts them to it whatever moves them a little; they slide sideways.
template <class Real>
Arguments<Real> standing(const Rollout<Real>& rollout, int dimensions, double sideways) {
  const double plane[] = {0, -0.02, 1, -0.02, 2, -0.02, 1.1, 0.9};
  const double space[] = {0, 0, -0.02, 1, 0, -0.02, 0.5, 0.87, -0.02, 0.5, 0.3, 0.8};
  Arguments<Real> a = rollout.arguments();
  const int n = 4 * dimensions;
  for (int i = 0; i < n; ++i) a.x0[std::size_t(i)] = static_cast<Real>(dimensions == 2 ? plane[i] : space[i]);
  for (int i = 0; i < 4; ++i) {
    a.x0[std::size_t(n + i * dimensions)] = static_cast<Real>(sideways);
    if (dimensions == 3) a.x0[std::size_t(n + i * dimensions + 1)] = static_cast<Real>(0.5 * sideways);
  }
  for (std::size_t k = 0; k < a.controls.size(); ++k)
    a.controls[k] = static_cast<Real>(0.6 * std::sin(1.3 * double(k)));
  return a;
}

template <class Real>
void contract(int dimensions, double friction, double sideways, Contact contact) {
  const auto system = make_system<Real>(tetrapod(dimensions, friction, contact));
  Rollout<Real> rollout(system, {.steps = 60, .hold = 7});
  test::expect_contract<Real>(system, standing(rollout, dimensions, sideways),
                              *loss::sum<Real>({loss::final<Real>(system->signature(), "x", {}),
                                                loss::final<Real>(system->signature(), "v", {}),
                                                loss::effort<Real>(system->signature())}),
                              {.steps = 60, .hold = 7, .stencil_step = 3e-4});
}

TEST(MassSpring, SlidingMeetsTheContractInThePlane) { contract<double>(2, 0.1, 3, Contact::split); }
TEST(MassSpring, SlidingMeetsTheContractInSpace) { contract<double>(3, 0.1, 3, Contact::split); }
TEST(MassSpring, StickingMeetsTheContractInThePlane) { contract<double>(2, 20, 0, Contact::split); }
TEST(MassSpring, StickingMeetsTheContractInSpace) { contract<double>(3, 20, 0, Contact::split); }
TEST(MassSpring, CorrectedVelocitiesMeetTheContract) { contract<double>(3, 0.1, 3, Contact::end_of_step); }
TEST(MassSpring, MeetsTheContractInFloat) {
  contract<float>(2, 0.1, 3, Contact::split);
  contract<float>(3, 20, 0, Contact::split);
}

// Random states near the corner of floor and wall: masses that fly, slide and stick, on either plane and on both.
TEST(MassSpring, TransposeMatchesDualInEveryModeOfContact) {
  for (int dimensions : {2, 3}) {
    for (Contact contact : {Contact::split, Contact::end_of_step}) {
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        MassSpringModel m = tetrapod(dimensions, 0.5, contact);
        m.planes[1].offset = 0;
        const auto system = make_system<double>(m);
        Rollout<double> rollout(system, {.steps = 1});
        Arguments<double> a = rollout.arguments();
        const std::size_t half = a.x0.size() / 2;
        for (std::size_t i = 0; i < a.x0.size(); ++i) a.x0[i] = (i < half ? 0.02 : 1) * normal(seed, 0, i);
        for (double& u : a.controls) u = 0.3;
        test::expect_transpose_matches_dual<double>(*system, a, 1e-12);
      }
    }
  }
}

TEST(MassSpring, MassesAtOnePointHaveFiniteDerivatives) {
  MassSpringModel m{.masses = {1, 1}, .springs = {{.rest_length = 0.1, .stiffness = 10, .damping = 0.1}}};
  for (double softening : {1e-4, 0.0}) {
    m.softening = softening;
    const auto system = make_system<double>(m);
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> a = rollout.arguments();
    test::expect_transpose_matches_dual<double>(*system, a, 1e-12);
    if (softening > 0) {  // f = stiffness (softening - rest)/softening d
      const double f = 10 * (1e-4 - 0.1) / 1e-4;
      EXPECT_NEAR(rollout.jacobian(a)[0], 1 - 1e-6 * f, 1e-12 * std::abs(f));
    }
  }
}

// The relative coordinate of two masses obeys q_{k+1} - 2 q_k + q_{k-1} = -(dt w)^2 q_k: a rotation by theta a step, cos theta = 1 - (dt w)^2/2.
TEST(MassSpring, TwoMassesSwingWithTheFrequencyOfTheScheme) {
  const double dt = 0.01, stiffness = 7;
  const int steps = 500;
  const auto system = make_system<double>(
      {.masses = {1, 3}, .springs = {{.rest_length = 1, .stiffness = stiffness}}, .softening = 0, .dt = dt});
  Rollout<double> rollout(system, {.steps = steps});
  Arguments<double> a = rollout.arguments();
  a.x0 = {0, 0, 1.25, 0, 0.1, 0.2, 0.1, 0.2};
  const auto stretch = [&](double k) {
    const double z = dt * dt * k * (1 + 1.0 / 3), theta = std::acos(1 - z / 2);
    return 0.25 * (std::cos(steps * theta) - z / 2 / std::sin(theta) * std::sin(steps * theta));
  };
  const auto end = rollout.simulate(a).final_state;
  EXPECT_NEAR(std::hypot(end[2] - end[0], end[3] - end[1]) - 1, stretch(stiffness), 1e-12);
  EXPECT_NEAR(end[4] + 3 * end[6], 4 * 0.1, 1e-14);  // momentum
  EXPECT_NEAR(end[5] + 3 * end[7], 4 * 0.2, 1e-14);
  const double h = 1e-3;
  const double slope = (45 * (stretch(stiffness + h) - stretch(stiffness - h)) -
                        9 * (stretch(stiffness + 2 * h) - stretch(stiffness - 2 * h)) +
                        (stretch(stiffness + 3 * h) - stretch(stiffness - 3 * h))) /
                       (60 * h);
  const auto right = loss::final_value<double>(system->signature(), "x", 2);
  const auto left = loss::final_value<double>(system->signature(), "x", 0, -1);
  EXPECT_NEAR(
      rollout.value_and_gradient(a, *loss::sum<double>({right, left})).parameters["spring/stiffness"][0],
      slope, 1e-10);
}

TEST(MassSpring, DragIsExact) {
  const auto system = make_system<double>({.masses = {2}, .drag = 1.5, .dt = 0.02});
  Rollout<double> rollout(system, {.steps = 100});
  Arguments<double> a = rollout.arguments();
  a.x0 = {0, 0, 3, -1};
  const auto g = rollout.value_and_gradient(a, *loss::final_value<double>(system->signature(), "v", 0));
  EXPECT_NEAR(g.value, 3 * std::exp(-3), 1e-14);
  EXPECT_NEAR(g.parameters["drag"][0], -2 * 3 * std::exp(-3), 1e-13);
  EXPECT_NEAR(g.parameters["dt"][0], -100 * 1.5 * 3 * std::exp(-3), 1e-11);
}

const MassSpringModel kBlock = {.masses = {1},
                                .gravity = {0, -10},
                                .planes = {{.normal = {0, 1}, .offset = 0.5, .friction = 0.2}},
                                .dt = 0.01};

// Speed falls by mu g dt a step: from 1 m/s to rest after 50 steps, then nothing moves.
TEST(MassSpring, ABlockSlidesAndStops) {
  const auto system = make_system<double>(kBlock);
  Rollout<double> rollout(system, {.steps = 40});
  Arguments<double> a = rollout.arguments();
  a.x0 = {0, 0.5, 1.01, 0};
  const auto g = rollout.value_and_gradient(a, *loss::final_value<double>(system->signature(), "v", 0));
  EXPECT_NEAR(g.value, 1.01 - 40 * 0.02, 1e-13);
  EXPECT_NEAR(g.parameters["plane/friction"][0], -40 * 10 * 0.01, 1e-12);
  EXPECT_NEAR(g.x0[2], 1, 1e-13);
  Rollout<double> longer(system, {.steps = 1000});
  const auto end = longer.simulate(a).final_state;
  EXPECT_EQ(end[2], 0);
  EXPECT_EQ(end[3], 0);
  EXPECT_NEAR(end[1], 0.5, 1e-15);  // it did not sink
  const auto height = longer.value_and_gradient(a, *loss::final_value<double>(system->signature(), "x", 1));
  EXPECT_NEAR(height.parameters["plane/offset"][0], 1, 1e-13);
}

// A block thrown sideways sticks where it lands: dx/dy0 = vx / (speed of impact), which a step that is not split cannot see.
TEST(MassSpring, TheGradientSeesTheTimeOfImpact) {
  for (Contact contact : {Contact::split, Contact::end_of_step}) {
    MassSpringModel m = kBlock;
    m.contact = contact;
    m.planes[0].friction = 100;
    const auto system = make_system<double>(m);
    Rollout<double> rollout(system, {.steps = 60});
    Arguments<double> a = rollout.arguments();
    a.x0 = {0, 0.79, 2, 0};
    // v_k = -k g dt, and 0.276 m are fallen after 23 steps: the plane 0.29 m below is met in step 24.
    const auto g = rollout.value_and_gradient(a, *loss::final_value<double>(system->signature(), "x", 0));
    EXPECT_NEAR(g.x0[1], contact == Contact::split ? 2 / 2.4 : 0, 1e-12);
    if (contact == Contact::split) {
      EXPECT_NEAR(g.value, 2 * (0.23 + 0.014 / 2.4), 1e-12);
    }
  }
}

TEST(MassSpring, AWorldAmongManyIsTheSameAsAlone) {
  const auto system = make_system<double>(tetrapod(2, 0.4));
  const std::size_t worlds = 11, n = 16;
  Rollout<double> many(system, {.steps = 200, .worlds = std::int64_t(worlds)}), one(system, {.steps = 200});
  Arguments<double> alone = standing(one, 2, 0), all = alone;
  all.x0.clear();
  for (std::size_t w = 0; w < worlds; ++w) {
    for (std::size_t i = 0; i < n; ++i) all.x0.push_back(alone.x0[i] + 0.3 * double(w) * (i % 2));
  }
  const auto ends = many.simulate(all).final_state;
  for (std::size_t w = 0; w < worlds; ++w) {
    alone.x0.assign(all.x0.begin() + std::ptrdiff_t(w * n), all.x0.begin() + std::ptrdiff_t((w + 1) * n));
    const auto end = one.simulate(alone).final_state;
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(end[i], ends[w * n + i]) << "world " << w;
  }
}

TEST(MassSpring, RefusesWhatIsNoModel) {
  const auto refused = [](auto change) {
    MassSpringModel m = tetrapod(2, 0.1);
    change(m);
    EXPECT_THROW(make_system<double>(m), Error);
  };
  refused([](MassSpringModel& m) { m.dimensions = 1; });
  refused([](MassSpringModel& m) { m.masses.clear(); });
  refused([](MassSpringModel& m) { m.masses[0] = 0; });
  refused([](MassSpringModel& m) { m.springs[0].b = 4; });
  refused([](MassSpringModel& m) { m.springs[0].b = m.springs[0].a; });
  refused([](MassSpringModel& m) { m.springs[0].muscle = -2; });
  refused([](MassSpringModel& m) { m.springs[0].strength = 0.1; });
  refused([](MassSpringModel& m) { m.gravity = {1, 2, 3}; });
  refused([](MassSpringModel& m) { m.planes[0].normal = {0, 0}; });
  refused([](MassSpringModel& m) { m.planes[0].friction = -1; });
  refused([](MassSpringModel& m) { m.softening = -1; });
  refused([](MassSpringModel& m) { m.dt = 0; });
}

TEST(MassSpring, AsksNoGradientOfAConstant) {
  const auto active = [](Contact contact, const char* name) {
    Rollout<double> rollout(make_system<double>(tetrapod(2, 0.1, contact)), {.active = {name}});
  };
  EXPECT_NO_THROW(active(Contact::split, "plane/offset"));
  EXPECT_THROW(active(Contact::end_of_step, "plane/offset"),
               Error);  // it would be zero: only the decision depends on it
  EXPECT_THROW(active(Contact::split, "softening"), Error);
}

}  // namespace
}  // namespace costate::soft
