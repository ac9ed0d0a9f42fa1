// Identify a pendulum from a noisy recording: length and damping with error bars, from a guess that is far
// off, and what the recording cannot tell.
#include <costate/costate.h>

#include <cmath>
#include <cstdio>

#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"

using namespace costate;

int main() {
  // 1. A recording: the angle every 0.05 s with an error of 0.02 rad.
  Signature fields;
  fields.state("angle").state("rate");
  fields.parameter("gravity", 9.81).parameter("length", 1.3).parameter("damping", 0.25);
  const auto system = equations_system<double>(
      fields, "angle_dot = rate; rate_dot = -gravity/length*sin(angle) - damping*rate", rk4(0.05));
  Rollout<double> rollout(system, {.steps = 200, .keep = 1});
  Arguments<double> truth = rollout.arguments();
  truth.x0 = {1.0, 0.0};
  const auto states = rollout.simulate(truth).states;
  control::Measurements recording{.y = {}, .controls = {}, .x0 = {1.0, 0.0}, .x0_free = true};
  for (std::uint32_t k = 0; k <= 200; ++k)
    recording.y.push_back(states[2 * k] + 0.02 * normal<double>(1, 0, k, 0));

  // [identify]
  // 2. What is measured, how noisy, and what is not known.
  control::Identification problem;
  problem.system = system;
  problem.parameters = Parameters<double>(system->signature()).set("length", 3.0).set("damping", 0.0);
  problem.measured = {loss::expression<double>(system->signature(), "angle")};
  problem.sigma = {0.02};
  problem.recordings = {recording};
  problem.unknowns = {{.name = "length", .lower = 0.1, .upper = 10},
                      {.name = "damping", .lower = 0, .upper = 5}};

  // 3. Short pieces first, which find the neighbourhood from far away; then the recording as a whole.
  problem.segment = 10, problem.gap_sigma = 0.1;
  problem.parameters = control::identify(problem).parameters;
  problem.segment = 0;
  const control::Identified found = control::identify(problem);
  // [/identify]
  for (std::size_t i = 0; i < found.names.size(); ++i)
    std::printf("%-8s %.3f +- %.3f\n", found.names[i].c_str(), found.values[i], found.deviations[i]);
  std::printf("residuals: %.2f standard deviations\n", found.residual_rms);

  // [experiment]
  // 4. What would a second recording of 5 s add, if the pendulum is let go from these angles?
  problem.parameters = found.parameters;
  std::vector<control::Measurements> candidates;
  for (const double angle : {0.2, 1.0, 2.5})
    candidates.push_back({.y = std::vector<double>(101, 0.0), .controls = {}, .x0 = {angle, 0.0}});
  const std::size_t best = control::choose_experiments(problem, candidates, 1).front();
  control::Identification both = problem;
  both.recordings.push_back(candidates[best]);
  const control::Foretold then = control::foretell(both);
  // [/experiment]
  std::printf("next: let it go from %.1f rad; then length +- %.4f instead of %.4f\n", candidates[best].x0[0],
              then.deviations[0], found.deviations[0]);

  // 5. With gravity unknown too, the recording says only what gravity/length is.
  problem.unknowns.push_back({.name = "gravity"});
  for (const std::string& sentence : control::identify(problem).unseen) std::printf("%s\n", sentence.c_str());
  return std::fabs(found.values[0] - 1.3) < 3 * found.deviations[0] ? 0 : 1;
}
