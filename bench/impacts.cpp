// Gradients through impacts, beside the physics and beside whole steps: the figures of docs/contact.md.
//
//   costate_bench_impacts bounce           a ball on an elastic floor, 200 phases of the impact, MuJoCo's
//                                          defaults: least and most dz/dz0 with each integrator and dt; the
//                                          physics says -1
//   costate_bench_impacts toss [seconds]   a shape with spin through its impacts with a floor: errors of the
//                                          gradient of position, velocity and spin at dt = 2 ms, beside
//                                          extrapolated differences of steps of 10 us, and the errors of
//                                          differences at 2 ms
//   costate_bench_impacts labels           random tosses of shapes: how many of the gradients at dt = 2 ms
//                                          that are right, and wrong, beside differences of steps of 50 us,
//                                          are called exact
//   costate_bench_impacts cost [model]     time of onset = split over the time of none, forward and with
//                                          gradient
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "costate/io/model/load_model.h"
#include "tests/rigid/contact/toss.h"

using namespace costate;
using namespace costate::rigid::test;

namespace {

rigid::Model parsed(const std::string& integrator, const std::string& assets, const std::string& world) {
  return rigid::compile(io::parse_mjcf("<mujoco><option integrator='" + integrator + "'/>" + assets +
                                       "<worldbody>" + world + "</worldbody></mujoco>"));
}

// --- bounce ------------------------------------------------------------------------------------------------

template <class Real>
void bounce(const std::string& integrator, double dt) {
  constexpr int kPhases = 200;
  rigid::Model model =
      parsed(integrator, "<default><geom solref='-10000 0'/></default>",
             "<geom type='plane' size='1 1 1'/><body pos='0 0 0.1'><joint type='slide' axis='0 0 1'/>"
             "<geom type='sphere' size='0.1' mass='1'/></body>");
  model.options.gravity = {0, 0, 0};
  const auto system = rigid::make_system<Real>(model);
  Rollout<Real> rollout(system, {.steps = std::lround(2 / dt), .worlds = kPhases, .active = {}});
  Arguments<Real> at = rollout.arguments();
  at.parameters.set("dt", Real(dt));
  at.x0.clear();
  for (int i = 0; i < kPhases; ++i) at.x0.insert(at.x0.end(), {Real(0.5 + 0.01 * i / kPhases), Real(-1)});
  const auto g = rollout.value_and_gradient(at, *loss::final_value<Real>(system->signature(), "q"));
  double least = 1e300, most = -1e300;
  for (int i = 0; i < kPhases; ++i) {
    least = std::min(least, double(g.x0[2 * i]));
    most = std::max(most, double(g.x0[2 * i]));
  }
  std::printf("%-13s %-7s dt %.4f   %8.4f .. %8.4f   %s\n", integrator.c_str(),
              sizeof(Real) == 8 ? "double" : "float", dt, least, most, g.report.label.c_str());
}

// --- toss --------------------------------------------------------------------------------------------------

std::string text_of(const TossErrors& e) {
  char text[60];
  std::snprintf(text, sizeof text, "%7.4f %7.4f %7.4f", e.of[0], e.of[1], e.of[2]);
  return text;
}

void toss(const Thrown& body, const Thrown& floor, double seconds, double dt) {
  constexpr double kFine = 1e-5, kChange = 2e-4;
  const Toss fine(body, floor, "RK4", seconds);
  const Slopes truth = fine.differences(kFine, kChange);
  // How well differences know it: over a decade of changes.
  const TossErrors doubt = errors_of(fine.differences(kFine, 0.1 * kChange), truth);
  for (const char* integrator : {"RK4", "implicitfast", "Euler"}) {
    const Toss t(body, floor, integrator, seconds);
    GradientReport report;
    const Slopes got = t.gradients(dt, report);
    // Differences at the same dt tell a wrong derivative from a coarse step.
    std::printf("%-9s on %-11s %-12s %.2f s  gradient %s  differences %s  (known to %s)  %s\n", body.name,
                floor.name, integrator, seconds, text_of(errors_of(got, truth)).c_str(),
                text_of(errors_of(t.differences(dt, kChange), truth)).c_str(), text_of(doubt).c_str(),
                report.label.c_str());
    for (const std::string& line : report.advice)
      if (line.find("not cut") != std::string::npos) std::printf("          %.60s\n", line.c_str());
    std::fflush(stdout);
  }
}

// --- labels ------------------------------------------------------------------------------------------------

// Counts of labels: of gradients right within 3 %, up to 10 % off, and worse.
struct LabelCounts {
  int exact[3] = {}, other[3] = {};
};

void random_tosses(const Thrown& body, const Thrown& floor, double seconds, int count, LabelCounts& counts) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int k = 0; k < count; ++k) {
    Toss toss(body, floor, "Euler", seconds), fine(body, floor, "RK4", seconds);
    std::vector<double>& x = toss.x0;
    for (int i = 3; i < 7; ++i) x[std::size_t(i)] = normal(random);
    const double norm = std::sqrt(x[3] * x[3] + x[4] * x[4] + x[5] * x[5] + x[6] * x[6]);
    for (int i = 3; i < 7; ++i) x[std::size_t(i)] /= norm;
    for (int i = 7; i < 13; ++i) x[std::size_t(i)] = (i < 10 ? 0.5 : 2) * normal(random);
    x[9] = -1 - 0.3 * std::abs(normal(random));
    fine.x0 = x;
    GradientReport report;
    const Slopes got = toss.gradients(0.002, report);
    const double error = errors_of(got, fine.differences(5e-5, 1e-4)).most();
    const int grade = error <= 0.03 ? 0 : error <= 0.1 ? 1 : 2;
    ++(report.label == "exact" ? counts.exact : counts.other)[grade];
    if (grade == 2 && report.label == "exact")
      std::printf("%s on %s, toss %d: %.2f off, called exact\n", body.name, floor.name, k, error);
    std::fflush(stdout);
  }
}

void labels() {
  enum { box, capsule, ellipsoid, cylinder, die, sphere };
  enum { plane, box_floor, sphere_floor = 3 };
  LabelCounts counts;
  for (const int body : {box, die, capsule, cylinder, ellipsoid})
    random_tosses(kTossed[body], kFloors[plane], 0.2, 25, counts);
  random_tosses(kTossed[box], kFloors[box_floor], 0.2, 20, counts);
  random_tosses(kTossed[capsule], kFloors[box_floor], 0.25, 20, counts);
  for (const int body : {capsule, cylinder, sphere, ellipsoid})
    random_tosses(kTossed[body], kFloors[sphere_floor], 0.25, 12, counts);
  const char* const grades[] = {"right within 3 %", "3 % to 10 % off", "more than 10 % off"};
  for (int k = 0; k < 3; ++k)
    std::printf("%-18s  %3d called exact, %3d not\n", grades[k], counts.exact[k], counts.other[k]);
}

// --- cost --------------------------------------------------------------------------------------------------

double seconds_of(const auto& f) {
  double best = 1e300;
  for (int k = 0; k < 3; ++k) {
    const std::clock_t begin = std::clock();
    f();
    best = std::min(best, double(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

// 64 worlds of 100 steps under random controls, from where 300 steps have left the model.
void cost(const std::string& name, rigid::Integrator integrator, bool above) {
  constexpr std::int64_t kWorlds = 64, kSteps = 100;
  rigid::Model model = rigid::load(std::string(COSTATE_SCENES) + "/" + name + ".xml");
  model.options.integrator = integrator;
  double times[2][2];
  std::vector<double> start;
  for (const bool split : {false, true}) {
    const auto system =
        rigid::make_system<double>(model, {.onset = split ? rigid::Onset::split : rigid::Onset::none});
    if (!split) {
      start = rigid::initial_state(model);
      if (above) start[2] += 10;
      Rollout<double> fall(system, {.steps = above ? 1 : 300});
      auto at = fall.arguments();
      at.x0 = start;
      start = fall.simulate(at).final_state;
    }
    Rollout<double> rollout(system, {.steps = kSteps, .worlds = kWorlds, .active = {}});
    auto at = rollout.arguments();
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    at.x0.clear();
    for (std::int64_t w = 0; w < kWorlds; ++w) at.x0.insert(at.x0.end(), start.begin(), start.end());
    at.controls.resize(at.controls.size() * std::size_t(kWorlds));
    for (double& u : at.controls) u = uniform(random);
    const auto objective = loss::final<double>(system->signature(), "q", {});
    times[split][0] = seconds_of([&] { rollout.value(at, *objective); });
    times[split][1] = seconds_of([&] { rollout.value_and_gradient(at, *objective); });
  }
  std::printf("%-14s %-8s %-12s forward %.2f (%.3f s none), with gradient %.2f (%.3f s none)\n", name.c_str(),
              integrator == rigid::Integrator::rk4 ? "RK4" : "Euler", above ? "in the air" : "on the floor",
              times[1][0] / times[0][0], times[0][0], times[1][1] / times[0][1], times[0][1]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "bounce") {
    for (const char* integrator : {"Euler", "implicitfast", "RK4"})
      for (const double dt : {0.004, 0.002, 0.001}) {
        bounce<double>(integrator, dt);
        bounce<float>(integrator, dt);
      }
  } else if (what == "toss") {
    const double seconds = argc > 2 ? std::atof(argv[2]) : 0.2;
    const std::string only = argc > 3 ? argv[3] : "", on = argc > 4 ? argv[4] : "";
    const double dt = argc > 5 ? std::atof(argv[5]) : 0.002;
    for (const Thrown& floor : kFloors)
      for (const Thrown& body : kTossed)
        if ((only.empty() || only == body.name) && (on.empty() || on == floor.name))
          toss(body, floor, seconds, dt);
  } else if (what == "labels") {
    labels();
  } else if (what == "cost") {
    for (const auto integrator : {rigid::Integrator::rk4, rigid::Integrator::euler}) {
      for (const char* name : {"hopper", "half_cheetah", "ant", "humanoid"})
        if (argc < 3 || std::string(argv[2]) == name) cost(name, integrator, false);
      for (const char* name : {"ant", "humanoid"})
        if (argc < 3 || std::string(argv[2]) == name) cost(name, integrator, true);
    }
  } else {
    std::fprintf(
        stderr,
        "costate_bench_impacts bounce | toss [seconds [shape [floor [dt]]]] | labels | cost [model]\n");
    return 2;
  }
}
