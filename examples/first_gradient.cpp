// A ball thrown through the air: how does the miss depend on the throw, the drag and the wind?
#include <cstdio>

// [example]
#include <costate/costate.h>

int main() {
  using namespace costate;
  const auto ball = ode::projectile<double>(ode::Integrator::rk4, 0.01);
  Rollout<double> rollout(ball, {.steps = 150});
  auto throw_ = rollout.arguments();
  throw_.x0 = {0, 1, 8, 6};  // position, velocity
  const auto miss = loss::final<double>(ball->signature(), "position",
                                        {10, 0});  // half the square of the distance to a cup
  const auto g = rollout.value_and_gradient(throw_, *miss);
  std::printf("loss %.6f\n", g.value);
  std::printf("d loss / d velocity   %.6f  %.6f\n", g.x0[2], g.x0[3]);
  std::printf("d loss / d drag       %.6f\n", g.parameters["drag"][0]);
  std::printf("d loss / d wind       %.6f\n%s", g.parameters["wind"][0], g.report.to_text().c_str());
}
// [/example]
