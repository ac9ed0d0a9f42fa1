// The derivative of a function of one number at zero, by the six-point stencil.
#pragma once

namespace costate::control::test {

template <class F>
double stencil(const F& f, double h = 1e-3) {
  return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h);
}

}  // namespace costate::control::test
