#include "costate/optim/by_name.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"

namespace costate::optim {
namespace {

// (x - 3)^2
double square(const double* x, double* gradient) {
  gradient[0] = 2 * (x[0] - 3);
  return (x[0] - 3) * (x[0] - 3);
}

TEST(ByName, EveryMethodFindsTheMinimumAndRemembers) {
  const ValuesOfPoints values = [](const double* points, int count, double* to) {
    for (int i = 0; i < count; ++i) to[i] = (points[i] - 3) * (points[i] - 3);
  };
  for (const std::string& method : method_names()) {
    SCOPED_TRACE(method);
    AnyState state = fresh_state(method);
    const double rate = method == "adam" ? 0.1 : 0.3;
    const Settings settings{.method = method, .rate = rate, .stopping = {.max_iterations = 500}};
    const Result whole = minimize(square, values, {0.0}, settings, state);
    EXPECT_NEAR(whole.x[0], 3, 1e-5);
    EXPECT_EQ(common(state).best_x, whole.x);
    // Stopped and continued: the same bits.
    AnyState part = fresh_state(method);
    Settings few = settings;
    few.stopping.max_iterations = 2;
    minimize(square, values, {0.0}, few, part);
    EXPECT_EQ(minimize(square, values, {0.0}, settings, part).x, whole.x);
  }
}

TEST(ByName, AnUnknownMethodIsToldWhatThereIs) {
  try {
    fresh_state("newton");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("use 'lbfgs', 'adam', 'gradient_descent' or 'cma_es'"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace costate::optim
