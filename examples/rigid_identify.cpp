// Identify a double pendulum from a noisy recording of its two angles: masses, rod lengths and damping, by
// L-BFGS on the gradient through the simulation.
//
//   1. Load the model and let the true pendulum swing. 2. Record with noise. 3. Start from wrong parameters.
//      4. Fit.
#include <cmath>
#include <cstdio>
#include <random>

#include "costate/io/model/load_model.h"
#include "costate/optim/lbfgs.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"

using namespace costate;

int main() {
  // [model]
  // 1. The pendulum hangs from "body/upper"; the second rod starts where the first ends.
  rigid::Model model = rigid::load(COSTATE_SCENES "/double_pendulum.xml");
  model.options.contact = false;
  const auto system = rigid::make_system<double>(model);
  const std::vector<std::string> unknown = {"body/upper/mass", "body/lower/mass", "body/lower/pos",
                                            "joint/shoulder/damping", "joint/elbow/damping"};
  Rollout<double> rollout(system, {.steps = 400, .worlds = 6, .keep = 4, .active = unknown});
  Arguments<double> truth = rollout.arguments();
  // [/model]
  truth.x0.clear();
  for (int w = 0; w < 6; ++w) {  // six starts
    for (double x : {0.5 + 0.2 * w, -0.4 + 0.15 * w, 0.3 - 0.1 * w, 0.2 * w}) truth.x0.push_back(x);
  }
  truth.parameters.set("body/upper/mass", 1.1).set("body/lower/mass", 0.35);
  truth.parameters.set("body/lower/pos", {0, 0, -0.7});
  truth.parameters.set("joint/shoulder/damping", 0.04).set("joint/elbow/damping", 0.02);

  // 2. The angles at 100 Hz with an error of 2 mrad.
  const auto recording = rollout.simulate(truth);
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 2e-3);
  std::vector<std::int64_t> steps(recording.kept.begin() + 1, recording.kept.end());
  std::vector<double> angles;
  for (std::size_t w = 0; w < 6; ++w) {
    for (std::size_t k = 1; k < recording.kept.size(); ++k) {
      for (std::size_t i = 0; i < 2; ++i)
        angles.push_back(recording.states[(k * 6 + w) * 4 + i] + noise(random));
    }
  }
  const auto error =
      loss::track<double>(system->signature(), "q", steps, angles, 1.0 / double(angles.size()));

  // 3. x holds logarithms of what must stay positive. The mass of the first rod only acts through its
  //    inertia: its centre is known.
  Arguments<double> guess = truth;
  const auto set = [&](const double* x) {
    guess.parameters.set("body/upper/mass", std::exp(x[0])).set("body/lower/mass", std::exp(x[1]));
    guess.parameters.set("body/lower/pos", {0, 0, -std::exp(x[2])});
    guess.parameters.set("joint/shoulder/damping", std::exp(x[3])).set("joint/elbow/damping", std::exp(x[4]));
  };
  const std::vector<double> start = {std::log(0.8), std::log(0.5), std::log(0.6), std::log(0.01),
                                     std::log(0.01)};

  // [gradient]
  // 4. One backward pass gives the gradient of all of them.
  const auto objective = [&](const double* x, double* gradient) {
    set(x);
    const auto g = rollout.value_and_gradient(guess, *error);
    gradient[0] = g.parameters["body/upper/mass"][0] * std::exp(x[0]);
    gradient[1] = g.parameters["body/lower/mass"][0] * std::exp(x[1]);
    gradient[2] = -g.parameters["body/lower/pos"][2] * std::exp(x[2]);
    gradient[3] = g.parameters["joint/shoulder/damping"][0] * std::exp(x[3]);
    gradient[4] = g.parameters["joint/elbow/damping"][0] * std::exp(x[4]);
    return g.value;
  };
  // [/gradient]
  const auto result = optim::minimize(
      objective, start, {.first_step = 0.1, .stopping = {.max_iterations = 200, .gradient_tolerance = 1e-9}});
  set(result.x.data());

  bool good = true;
  const auto compare = [&](const char* name, std::size_t i, const char* unit) {
    const double found = std::abs(guess.parameters[name][i]), expected = std::abs(truth.parameters[name][i]);
    std::printf("%-24s found %.3f, true %.3f %s\n", name, found, expected, unit);
    good &= std::abs(found / expected - 1) < 0.03;
  };
  compare("body/upper/mass", 0, "kg");
  compare("body/lower/mass", 0, "kg");
  compare("body/lower/pos", 2, "m");
  compare("joint/shoulder/damping", 0, "N m s");
  compare("joint/elbow/damping", 0, "N m s");
  std::printf("remaining error %.1f mrad\n", 1e3 * std::sqrt(2 * result.value));
  return good ? 0 : 1;
}
