#include "costate/control/ddp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/control/problems.h"

namespace costate::control {
namespace {

TEST(Explore, All) {
  const auto show = [](const char* name, const Plan& p, double best) {
    std::printf("%-28s its %4d  J %.12f  J-J* %.3e  g %.2e  v %.2e  %s\n", name, p.iterations, p.value,
                p.value - best, p.gradient_norm, p.violation, p.reason.c_str());
  };
  for (const Method m : {Method::ilqr, Method::ddp}) {
    const DdpOptions o{.method = m, .iterations = 1000};
    show("pendulum", plan(test::pendulum(), {0.1}, o), .013781266906);
    show("cart-pole", plan(test::cart_pole(), {0.01}, o), 1.418409144159);
    show("acrobot", plan(test::acrobot(), {0.0}, o), 49.082905306596);
    show("park", plan(test::parallel_park(), {0.1, 0.1}, o), .050657709336);
    const auto bounded = [&](Problem p, double b) {
      const auto c = std::size_t(p.system->signature().controls());
      p.lower.assign(c, -b), p.upper.assign(c, b);
      return p;
    };
    show("pendulum b", plan(bounded(test::pendulum(), 3), {0.1}, o), .018404603426);
    show("cart-pole b", plan(bounded(test::cart_pole(), 3), {0.01}, o), 1.494334410150);
    show("acrobot b", plan(bounded(test::acrobot(), 15), {0.0}, o), 49.837779541204);
    const auto goal = [&](Problem p, std::vector<double> target) {
      p.constraints = reach(p.system->signature(), StateSpace(), target);
      return p;
    };
    using test::kPi;
    show("pendulum b+g", plan(goal(bounded(test::pendulum(), 3), {kPi, 0}), {0.1}, o), .018404626131);
    show("cart-pole b+g", plan(goal(bounded(test::cart_pole(), 3), {0, kPi, 0, 0}), {0.01}, o), 1.495873912590);
    show("acrobot b+g", plan(goal(bounded(test::acrobot(), 15), {kPi / 2, 0, 0, 0}), {0.0}, o), 50.046611285047);
    std::vector<double> u;
    for (int k = 0; k < 500; ++k) u.push_back(.1 * std::sin(.1 * k)), u.push_back(.1 * std::cos(.07 * k));
    show("car", plan(test::parking_car(), u, o), 1.905167755525);
    show("car const", plan(test::parking_car(), {.1, .1}, o), 1.974030846079);
  }
}

}  // namespace
}  // namespace costate::control
