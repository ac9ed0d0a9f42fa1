// Three masses, three springs: which rest lengths give the triangle an area of 0.1 m^2? DiffTaichi's
// mass_spring_simple.
//
//   mass_spring_triangle docs/images/mass_spring_triangle.svg     also draws the picture
#include <costate/costate.h>
#include <costate/system/program/program_objective.h>

#include <cmath>
#include <cstdio>

#include "examples/figure.h"

using namespace costate;

int main(int argc, char** argv) {
  // [model]
  const auto triangle = soft::make_system<double>(
      {.masses = {1, 1, 1},
       .springs = {{.a = 0, .b = 1, .rest_length = 0.1, .stiffness = 10},
                   {.a = 1, .b = 2, .rest_length = 0.1, .stiffness = 10},
                   {.a = 2, .b = 0, .rest_length = 0.1 * std::sqrt(2.0), .stiffness = 10}},
       .drag = 20,
       .planes = {{.normal = {-1, 0}, .offset = -0.4, .friction = 0.01}},  // a wall: x <= 0.4
       .contact = soft::Contact::end_of_step,                              // as the original has it
       .dt = 1e-3});
  Rollout rollout(triangle, {.steps = 1023, .keep = 1023, .active = {"spring/rest_length"}});
  Arguments<double> at = rollout.arguments();
  const double corners[] = {0.3, 0.5, 0.3, 0.4, 0.4, 0.4};
  std::copy(corners, corners + 6, at.x0.begin());
  const auto loss = loss::expression<double>(
      triangle->signature(), "(0.5*abs((x[0] - x[4])*(x[3] - x[5]) - (x[1] - x[5])*(x[2] - x[4])) - 0.1)^2");
  // [/model]
  // [descend]
  std::vector<double> losses;
  const auto rest = at.parameters["spring/rest_length"];
  const auto before = rollout.simulate(at).final_state;
  for (int iteration = 0; iteration < 25; ++iteration) {
    const auto g = rollout.value_and_gradient(at, *loss);
    losses.push_back(g.value);
    const auto slope = g.parameters["spring/rest_length"];
    if (iteration % 5 == 0 || iteration == 24)
      std::printf("%2d  loss %.5e  gradient %+.5e %+.5e %+.5e\n", iteration, g.value, slope[0], slope[1],
                  slope[2]);
    if (iteration < 24) {
      for (std::size_t s = 0; s < 3; ++s) rest[s] -= 5 * slope[s];
    }
  }
  // [/descend]
  if (argc > 1) {
    const auto after = rollout.simulate(at).final_state;
    figure::Figure picture;
    figure::Panel& left = picture.panel("iteration", "loss").log_y();
    std::vector<figure::Point> points;
    for (std::size_t i = 0; i < losses.size(); ++i) points.push_back({double(i), losses[i]});
    left.line(points, figure::kBlue, "this run");
    left.dots({{0, 9.02640e-3},
               {5, 7.18689e-3},
               {10, 4.39672e-3},
               {15, 1.60105e-3},
               {20, 2.89200e-4},
               {24, 4.90658e-5}},
              figure::kOrange, "DiffTaichi, in double");
    figure::Panel& right = picture.panel("x [m]", "y [m]");
    const auto outline = [](const std::vector<double>& x) {
      return std::vector<figure::Point>{{x[0], x[1]}, {x[2], x[3]}, {x[4], x[5]}, {x[0], x[1]}};
    };
    right.line(outline(before), figure::kGrey, "at first");
    right.line(outline(after), figure::kBlue, "after 24 steps of descent");
    right.line({{0.4, -0.1}, {0.4, 0.9}}, figure::kOrange, "wall", 1, true);
    picture.write(argv[1]);
  }
  return losses.back() < 1e-4 ? 0 : 1;
}
