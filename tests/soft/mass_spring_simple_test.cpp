// The published run of DiffTaichi's mass_spring_simple, recomputed in double: three masses, rest lengths that
// make a triangle of area 0.1.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/optim/gradient_descent.h"
#include "costate/soft/mass_spring.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/rollout.h"

namespace costate::soft {
namespace {

const MassSpringModel kTriangle = {
    .masses = {1, 1, 1},
    .springs = {{.a = 0, .b = 1, .rest_length = 0.1, .stiffness = 10},
                {.a = 1, .b = 2, .rest_length = 0.1, .stiffness = 10},
                {.a = 2, .b = 0, .rest_length = 0.1 * std::sqrt(2.0), .stiffness = 10}},
    .drag = 20,
    .planes = {{.normal = {-1, 0}, .offset = -0.4, .friction = 0.01}},
    .contact = Contact::end_of_step,
    .dt = 1e-3};

struct Task {
  std::shared_ptr<System<double>> system = make_system<double>(kTriangle);
  Rollout<double> rollout{system, {.steps = 1023, .active = {"spring/rest_length"}}};
  // Twice the area is the cross product of two sides.
  ObjectivePtr<double> loss = loss::expression<double>(
      system->signature(), "(0.5*abs((x[0] - x[4])*(x[3] - x[5]) - (x[1] - x[5])*(x[2] - x[4])) - 0.1)^2");
  Arguments<double> at = rollout.arguments();
  Task() {
    const double x[] = {0.3, 0.5, 0.3, 0.4, 0.4, 0.4};
    std::copy(x, x + 6, at.x0.begin());
  }
};

TEST(MassSpringSimple, GradientHasThePublishedDigits) {
  Task task;
  const auto g = task.rollout.value_and_gradient(task.at, *task.loss);
  EXPECT_NEAR(g.value, 9.02640e-3, 5e-9);
  EXPECT_NEAR(g.parameters["spring/rest_length"][0], -5.65966e-3, 5e-9);
  EXPECT_NEAR(g.parameters["spring/rest_length"][1], -5.65966e-3, 5e-9);
  EXPECT_NEAR(g.parameters["spring/rest_length"][2], -2.69581e-3, 5e-9);
}

TEST(MassSpringSimple, ForwardModeAgreesAlongEachRestLength) {
  Task task;
  const auto g = task.rollout.value_and_gradient(task.at, *task.loss);
  for (std::size_t s = 0; s < 3; ++s) {
    Arguments<double> direction{std::vector<double>(12, 0.0), {}, task.at.parameters.zeros()};
    direction.parameters["spring/rest_length"][s] = 1;
    EXPECT_NEAR(task.rollout.jvp(task.at, direction, task.loss.get()).value_dot,
                g.parameters["spring/rest_length"][s], 1e-15);
  }
}

TEST(MassSpringSimple, GradientDescentFollowsThePublishedLosses) {
  Task task;
  std::vector<double> losses;
  const auto start = task.at.parameters["spring/rest_length"];
  const auto loss_of = [&](const double* rest, double* gradient) {
    task.at.parameters.set("spring/rest_length", std::vector<double>(rest, rest + 3));
    const auto g = task.rollout.value_and_gradient(task.at, *task.loss);
    std::copy(g.parameters["spring/rest_length"].begin(), g.parameters["spring/rest_length"].end(), gradient);
    losses.push_back(g.value);
    return g.value;
  };
  optim::minimize(loss_of, std::vector<double>(start.begin(), start.end()),
                  optim::GradientDescentOptions{.rate = 5, .stopping = {.max_iterations = 24}});
  ASSERT_EQ(losses.size(), 25u);
  const std::pair<std::size_t, double> published[] = {{0, 9.02640e-3},  {5, 7.18689e-3},  {10, 4.39672e-3},
                                                      {15, 1.60105e-3}, {20, 2.89200e-4}, {24, 4.90658e-5}};
  for (const auto& [iteration, loss] : published) {
    const double digit = std::pow(10.0, std::floor(std::log10(loss)) - 5);  // of six that are printed
    EXPECT_NEAR(losses[iteration], loss, 0.5 * digit) << "iteration " << iteration;
  }
}

}  // namespace
}  // namespace costate::soft
