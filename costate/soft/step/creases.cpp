// What hinges remember of a step (elements/crease.h): a function of its end and of its start.
//
//   crease' = f(z, crease; X, p)        after z is found: it is no unknown of the step, whose energy has been
//                                       minimised over it
//
// The transpose comes first of all, and hands the cotangent of z on as one of x'. z = x' for every integrator
// that may have creases. Tests: tests/soft/crease_test.cpp.
#include <algorithm>

#include "costate/soft/step/implicit_step.h"

namespace costate::soft {

void ImplicitStep::crease(const Numbers& m, const StepScratch& s, double* y) const {
  At at = m.at;
  at.z = s.z.data();
  for (const auto& term : c_.terms) term->remember(at, y + c_.crease_x());
}

// y_dot has the tangent of z already.
void ImplicitStep::crease_jvp(const In& dot, const Numbers& m, const StepScratch& s, double* y_dot) const {
  At at = m.at;
  at.z = s.z.data();
  const AtDot at_dot{dot.x, s.w_bar.data(), dot.p, dot.u, 0, dot.x ? dot.x + c_.crease_x() : nullptr};
  for (const auto& term : c_.terms) term->remember_jvp(at, at_dot, y_dot, y_dot + c_.crease_x());
}

// To bar, and to s.crease_bar: a cotangent of z.
void ImplicitStep::crease_vjp(const Numbers& m, const double* out_bar, const Bar& bar, StepScratch& s) const {
  std::fill(bar.x, bar.x + c_.carrier_x(), 0.0);
  if (c_.creases == 0) return;
  At at = m.at;
  at.z = s.z.data();
  std::fill(s.slots.begin(), s.slots.end(), 0.0);
  std::fill(s.slots_rest.begin(), s.slots_rest.end(), 0.0);
  // Where nothing yields a crease is what it was.
  std::int64_t slot = 0;
  for (const auto& term : c_.terms) {
    AtBar to{s.slots.data() + slot,
             nullptr,
             bar.rest ? s.slots_rest.data() + slot : nullptr,
             bar.p,
             bar.u,
             0,
             nullptr,
             s.sums.data(),
             bar.x + c_.crease_x()};
    term->remember_vjp(at, out_bar + c_.crease_x(), to);
    slot += 3 * term->groups().slots();
  }
  std::fill(s.crease_bar.begin(), s.crease_bar.end(), 0.0);
  c_.assembly->add(s.slots.data(), 3, s.crease_bar.data());
  if (bar.rest) c_.assembly->add(s.slots_rest.data(), 3, bar.p + c_.rest);
}

}  // namespace costate::soft
