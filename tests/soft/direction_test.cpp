// Steps of large bodies, which are solved with conjugate gradients on a factor of the first matrix of the
// step: the tolerance is kept; the bits are the same however often and with however many threads; the
// gradient is right.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/parallel.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/soft/step/implicit_step.h"
#include "costate/system/check/checks.h"
#include "costate/system/objective.h"
#include "costate/system/rollout.h"

namespace costate::soft {
namespace {

// So many vertices along a side that the way of large bodies is taken, or one of small ones.
SoftModel cloth(int side, double tolerance) {
  SoftModel m{.materials = {{.name = "m",
                             .law = "stvk",
                             .numbers = {{"E", 1e4}, {"nu", .3}},
                             .density = .2,
                             .viscosity = .1,
                             .bending = 1e-4}},
              .wind = {1, 2, 4},
              .wind_drag = .05,
              .dt = .01,
              .tolerance = tolerance};
  add_part(m, "cloth", Cells::triangles, cloth_mesh({1, 1}, {side - 1, side - 1}), 0);
  m.holds = {{"corners", {0, side - 1}, true}};
  return m;
}
Arguments<double> start(const SoftModel& m, const Rollout<double>& rollout) {
  Arguments<double> at = rollout.arguments();
  std::vector<double> x = m.rest;
  for (std::size_t i = 2; i < x.size(); i += 3) x[i] += 1e-2 * std::sin(double(i));
  at.x0 = soft_state(m, x);
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = .2 * std::sin(double(i));
  return at;
}
constexpr int kSide = 21;
static_assert(kSide * kSide >= kManyVertices);

std::vector<double> end_of(double tolerance) {
  const SoftModel m = cloth(kSide, tolerance);
  Rollout<double> rollout(soft_bodies<double>(m), {.steps = 5});
  return rollout.forward(start(m, rollout)).final_state;
}

TEST(SoftDirection, TheToleranceIsKept) {
  const std::vector<double> exact = end_of(1e-12);
  for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
    const std::vector<double> x = end_of(tolerance);
    double error = 0;
    for (std::size_t i = 0; i < x.size() / 2; ++i) error = std::max(error, std::abs(x[i] - exact[i]));
    EXPECT_LT(error, 10 * tolerance) << tolerance;
  }
}

TEST(SoftDirection, ThreadsAndRepetitionDoNotShow) {
  const std::vector<double> once = end_of(1e-6);
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    EXPECT_EQ(end_of(1e-6), once) << threads;
  }
  set_thread_count(0);
}

TEST(SoftDirection, TheGradientIsRight) {
  const SoftModel m = cloth(kSide, 1e-12);
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 3, .active = {"rest", "gravity", "wind", "material/m/E"}});
  const auto at = start(m, rollout);
  const auto objective =
      loss::final<double>(system->signature(), "x", std::vector<double>(m.rest.size(), .1));
  for (const check::Result& r : {check::dot_product(rollout, at),
                                 check::stencil(rollout, at, *objective, {.step = 1e-5, .gate = 1e-7})})
    EXPECT_TRUE(r.passed()) << r.name << ' ' << r.error << " above " << r.gate;
}

}  // namespace
}  // namespace costate::soft
