#include "costate/rigid/derived_parameters.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/rigid/rigid_system.h"
#include "tests/expect_error.h"
#include "tests/rigid/models.h"
#include "tests/rigid/reference_model.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;

Model zoo_of_references() {
  for (const auto& reference : test::references()) {
    if (reference.name == "zoo") return reference.model;
  }
  throw std::runtime_error("no zoo");
}

TEST(DerivedParameters, AreWhatTheCompilerMeasures) {
  Model model = zoo_of_references();
  const auto system = make_system<double>(model);
  const Parameters<double> p(system->signature());
  Parameters<double> heavier = p;
  heavier.set("body/arm/mass", 2.0).set("body/cart/com", {0.1, 0.2, 0.3});
  heavier = with_inverse_weights(model, heavier);
  model.bodies[2].mass = 2.0;
  model.bodies[4].com = {0.1, 0.2, 0.3};
  complete(model);
  const Parameters<double> compiled(make_system<double>(model)->signature());
  for (const char* name : {"joint/wrist/invweight", "body/cart/invweight", "tendon/cord/invweight"}) {
    for (std::size_t i = 0; i < compiled[name].size(); ++i)
      EXPECT_NEAR(heavier[name][i], compiled[name][i], 1e-13);
  }
}

TEST(DerivedParameters, AreTheSameForEveryContactModel) {
  Model model = zoo_of_references();
  Geom ball, floor;
  ball.name = "ball";
  ball.body = 1;
  ball.size = {0.1, 0, 0};
  floor.name = "floor";
  floor.type = GeomType::plane;
  model.geoms = {floor, ball};
  complete(model);
  const Parameters<double> soft(make_system<double>(model)->signature());
  for (const auto contact : {ContactModel::event, ContactModel::penalty}) {
    const Parameters<double> own(make_system<double>(model, {.contact = contact})->signature());
    const Parameters<double> derived = with_inverse_weights(model, own),
                             expected = with_inverse_weights(model, soft);
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(derived["body/cart/invweight"][i], expected["body/cart/invweight"][i]);
  }
  expect_error([&] { return with_inverse_weights(test::zoo(Integrator::euler), soft); },
               "these are not the parameters of this model");
}

// A mass' gradient is that of a model compiled again.
TEST(DerivedParameters, ChainedGradientMatchesTheStencilOfRecompiledModels) {
  const Model model = zoo_of_references();
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 4, .hold = 4});
  const auto at = test::random_arguments(model, rollout, 2, 0.3);
  const auto objective = loss::final<double>(system->signature(), "v", {});
  auto gradient = rollout.value_and_gradient(at, *objective).parameters;
  const auto held = gradient;
  chain_inverse_weights(model, at.parameters, gradient);
  for (const auto& [name, i] :
       std::vector<std::pair<std::string, std::size_t>>{{"body/arm/mass", 0},
                                                        {"body/pole/mass", 0},
                                                        {"body/hand/com", 1},
                                                        {"body/hand/pos", 2},
                                                        {"joint/pitch/axis", 0},
                                                        {"joint/wrist/armature", 0},
                                                        {"tendon/cord/coefficients", 1}}) {
    const auto value = [&](double h) {
      auto moved = at;
      moved.parameters[name][i] += h;
      moved.parameters = with_inverse_weights(model, moved.parameters);
      return rollout.value(moved, *objective);
    };
    const double h = 5e-4;
    const double difference =
        (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + value(3 * h) - value(-3 * h)) /
        (60 * h);
    EXPECT_NEAR(gradient[name][i], difference, 1e-9 * std::max(1.0, std::abs(difference))) << name;
    EXPECT_GT(std::abs(gradient[name][i] - held[name][i]), 1e-6 * std::abs(difference)) << name;
  }
}

}  // namespace
}  // namespace costate::rigid
