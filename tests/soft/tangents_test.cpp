#include "costate/system/tangents.h"

#include <gtest/gtest.h>

#include "costate/soft/mass_spring.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

void fill(std::vector<double>& to, double& number, double size) {
  for (double& x : to) number = 3.7 * number * (1 - number), x = size * (number - 0.5);
}

// Each direction is the tangent of a rollout, at the end and on the way.
void expect_tangents(const std::shared_ptr<System<double>>& system, std::vector<double> x0, int directions,
                     const std::vector<std::string>& names) {
  const RolloutOptions options{.steps = 12, .hold = 5};
  Rollout<double> rollout(system, options);
  Arguments<double> at = rollout.arguments();
  at.x0 = std::move(x0);
  double number = 0.3;
  fill(at.controls, number, 0.1);
  std::vector<Arguments<double>> along;
  for (int d = 0; d < directions; ++d) {
    Arguments<double> dot = at;
    dot.parameters = at.parameters.zeros();
    fill(dot.x0, number, 1e-2), fill(dot.controls, number, 1e-2);
    for (const std::string& name : names)
      for (double& p : dot.parameters[name]) p = 0.1 * (d + 1) * std::abs(at.parameters[name][0]);
    along.push_back(dot);
  }
  const auto got = tangents<double>(*system, {.steps = 12, .hold = 5, .keep = 4}, at, along);
  ASSERT_EQ(got.kept, (std::vector<std::int64_t>{4, 8, 12}));
  const auto n = std::size_t(system->signature().states());
  for (std::size_t j = 0; j < got.kept.size(); ++j) {
    Rollout<double> part(system, {.steps = got.kept[j], .hold = 5});
    Arguments<double> here = at;
    here.controls.resize(std::size_t(part.knots() * system->signature().controls()));
    for (std::size_t d = 0; d < along.size(); ++d) {
      Arguments<double> dot = along[d];
      dot.controls.resize(here.controls.size());
      const auto expected = part.jvp(here, dot);
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(got.states[n * j + i], expected.final_state[i]);
        EXPECT_NEAR(got.rates[n * (along.size() * j + d) + i], expected.final_state_dot[i],
                    1e-13 * (1 + std::abs(expected.final_state_dot[i])));
      }
    }
  }
}

// Two masses on a muscle.
std::shared_ptr<System<double>> pair() {
  soft::MassSpringModel m{.masses = {1, 2},
                          .springs = {{.a = 0, .b = 1, .rest_length = 0.5, .stiffness = 20}}};
  m.springs[0].muscle = 0, m.springs[0].strength = 0.3;
  return soft::make_system<double>(m);
}

TEST(Tangents, AreThoseOfRolloutsInLanes) {
  const auto system = pair();
  ASSERT_GT(system->lanes(), 1);
  expect_tangents(system, {0, 0.3, 0.6, 0.2, 0.1, 0, 0, -0.2}, 11, {"spring/stiffness"});
}

TEST(Tangents, OfSoftBodiesShareEachSolution) {
  soft::SoftModel m{.materials = {{.name = "m", .law = "stvk", .density = 0.2, .bending = 1e-4}},
                    .wind_drag = 0.1,
                    .wind_driven = true,
                    .tolerance = 1e-12};
  soft::add_part(m, "cloth", soft::Cells::triangles, soft::cloth_mesh({0.3, 0.3}, {3, 3}), 0);
  m.holds = {{"corners", {0, 3}, true}};
  expect_tangents(soft::soft_bodies<double>(m), soft::soft_state(m), 3, {"material/m/E", "gravity"});
}

TEST(Tangents, OtherShapesAreErrors) {
  const auto system = pair();
  Arguments<double> at = Rollout<double>(system, {.steps = 2}).arguments();
  test::expect_error([&] { return tangents<double>(*system, {.steps = 3}, at, {}).kept; },
                     "8 states and 3 numbers of control, not 8 and 2", "");
  test::expect_error([&] { return tangents<double>(*system, {.steps = 0}, at, {}).kept; }, "1 or more", "");
}

}  // namespace
}  // namespace costate
