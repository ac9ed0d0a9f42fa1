// One iteration k = 1, 2, ... of Adam (adam.h has the equations): what it remembers, and the point it leads
// to. For loops whose gradients are those of ever new samples, so that there is no one function to minimise.
// Tests: tests/optim/adam_test.cpp, through minimize().
#pragma once

#include <span>

#include "costate/optim/adam.h"

namespace costate::optim {

void adam_moments(const AdamOptions& options, std::span<const double> gradient, std::span<double> m,
                  std::span<double> v);
// `to` may be `from`.
void adam_step(const AdamOptions& options, double k, double rate, std::span<const double> m,
               std::span<const double> v, std::span<const double> from, std::span<double> to);

}  // namespace costate::optim
