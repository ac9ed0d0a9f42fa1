#include "costate/soft/mass_spring.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/philox.h"
#include "tests/expect_error.h"
#include "tests/soft/models.h"
#include "tests/system/contract.h"

namespace costate::soft {
namespace {

using costate::test::expect_error;
using test::standing;
using test::tetrapod;

template <class Real>
void contract(int dimensions, double friction, double sideways, Contact contact) {
  const auto system = make_system<Real>(tetrapod(dimensions, friction, contact));
  costate::test::expect_contract(
      system,
      {.states = [&](const auto& rollout, unsigned) { return standing(rollout, dimensions, sideways); },
       .stencil_step = 3e-4});
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

// Random states near the corner of floor and wall: masses that fly, slide and stick, on either plane and on
// both.
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
        costate::test::expect_transpose_matches_dual<double>(*system, a, 1e-12);
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
    costate::test::expect_transpose_matches_dual<double>(*system, a, 1e-12);
    if (softening > 0) {  // f = stiffness (softening - rest)/softening d
      const double f = 10 * (1e-4 - 0.1) / 1e-4;
      EXPECT_NEAR(rollout.jacobian(a)[0], 1 - 1e-6 * f, 1e-12 * std::abs(f));
    }
  }
}

// The relative coordinate of two masses obeys q_{k+1} - 2 q_k + q_{k-1} = -(dt w)^2 q_k: a rotation by theta
// a step, cos theta = 1 - (dt w)^2/2.
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

// A block thrown sideways sticks where it lands: dx/dy0 = vx / (speed of impact), which a step that is not
// split cannot see.
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
  const auto refused = [](const char* what, auto change) {
    MassSpringModel m = tetrapod(2, 0.1);
    change(m);
    expect_error([&] { return make_system<double>(m); }, what);
  };
  refused("live in 2 or 3 dimensions", [](MassSpringModel& m) { m.dimensions = 1; });
  refused("needs a mass", [](MassSpringModel& m) { m.masses.clear(); });
  refused("mass 0 is not positive", [](MassSpringModel& m) { m.masses[0] = 0; });
  refused("ends at a mass that does not exist", [](MassSpringModel& m) { m.springs[0].b = 4; });
  refused("joins a mass to itself", [](MassSpringModel& m) { m.springs[0].b = m.springs[0].a; });
  refused("a muscle is 0, 1, ... or -1 for none", [](MassSpringModel& m) { m.springs[0].muscle = -2; });
  refused("has a strength and no muscle to use it", [](MassSpringModel& m) { m.springs[0].strength = 0.1; });
  refused("gravity needs one number per dimension", [](MassSpringModel& m) { m.gravity = {1, 2, 3}; });
  refused("the normal of plane 0 is not a direction", [](MassSpringModel& m) {
    m.planes[0].normal = {0, 0};
  });
  refused("the friction of plane 0 is negative", [](MassSpringModel& m) { m.planes[0].friction = -1; });
  refused("softening is negative", [](MassSpringModel& m) { m.softening = -1; });
  refused("dt is not positive", [](MassSpringModel& m) { m.dt = 0; });
}

TEST(MassSpring, AsksNoGradientOfAConstant) {
  const auto active = [](Contact contact, const char* name) {
    Rollout<double> rollout(make_system<double>(tetrapod(2, 0.1, contact)), {.active = {name}});
  };
  EXPECT_NO_THROW(active(Contact::split, "plane/offset"));
  expect_error([&] { return active(Contact::end_of_step, "plane/offset"); },
               "no parameter matches 'plane/offset'");
  expect_error([&] { return active(Contact::split, "softening"); }, "no parameter matches 'softening'");
}

}  // namespace
}  // namespace costate::soft
