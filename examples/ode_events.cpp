// Events: where they happen, what they do to the state, and derivatives through them. Quoted by docs/ode.md.
#include <costate/costate.h>

#include <cmath>
#include <cstdio>

using namespace costate;

// [ball]
const auto falling = ode::make_field<2, 2>([](auto, auto x, auto p) { return std::array{x[1], -p[0]}; });
const ode::Event impact{
    .name = "impact",
    .guard = ode::make_function<2, 2>([](auto, auto x, auto) { return x[0]; }),
    .direction = -1,  // only where the guard falls
    .jump = ode::make_function<2, 2>([](auto, auto x, auto p) {
      return std::array{x[0], -p[1] * x[1]};
    }),
};
// [/ball]

void bounce() {
  // [bounce]
  const double g = 9.81, e = 0.8, h = 1;
  const ode::Solution s =
      ode::solve(falling, {0, 1}, {h, 0}, {g, e}, {.rtol = 1e-10, .atol = {1e-12}, .events = {impact}});
  const auto height = ode::make_function<2, 2>([](auto, auto x, auto) { return x[0]; });
  const ode::Gradient by = ode::gradient(s, {.final = height});
  std::printf("impact at %.9f, height at 1 s %.9f\n", s.events[0].t, s.final_state()[0]);
  std::printf("by the drop height %.9f, by restitution %.9f\n", by.x0[0], by.parameters["p"][1]);
  // Closed form: t1 = sqrt(2h/g), y(T) = e g t1 (T - t1) - g (T - t1)^2 / 2
  const double t1 = std::sqrt(2 * h / g), dt1 = t1 / (2 * h);
  std::printf("closed form        %.9f                %.9f\n", (e * g * (1 - 2 * t1) + g * (1 - t1)) * dt1,
              g * t1 * (1 - t1));
  // [/bounce]
}

void terminal() {
  // [terminal]
  ode::Event landing = impact;
  landing.jump = nullptr;
  landing.terminal = true;
  const ode::Solution s = ode::solve(falling, {0, 100}, {1, 0}, {9.81, 0.8}, {.events = {landing}});
  const ode::Gradient by = ode::gradient(s, ode::OutputCotangents{.end_time = 1});  // of the time of landing
  std::printf("%s; by gravity %.6f\n", s.message.c_str(), by.parameters["p"][0]);
  // [/terminal]
}

void zeno() {
  // [zeno]
  const ode::Solution s =
      ode::solve(falling, {0, 10}, {1, 0}, {9.81, 0.5}, {.events = {impact}, .stop_at_zeno = true});
  std::printf("%s at t = %.6f (closed form %.6f)\n",
              s.status == ode::Status::zeno ? "events accumulate" : "no", s.end_time(),
              std::sqrt(2 / 9.81) * (1 + 0.5) / (1 - 0.5));
  // [/zeno]
}

int main() {
  bounce();
  terminal();
  zeno();
}
