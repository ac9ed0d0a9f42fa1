#include "costate/ad/program.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "costate/ad/derivative.h"
#include "costate/ad/executable.h"
#include "costate/ad/parse.h"
#include "costate/ad/record.h"
#include "costate/core/error.h"

namespace costate::ad {
namespace {

const auto lorenz = [](const auto& x, const auto& p) {
  return std::array{p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]};
};

Program lorenz_program() { return record(lorenz, Field{"x", 3}, Field{"p", 3}); }

TEST(Program, RecordedFunctionGivesItsValue) {
  const std::vector<double> x{1.5, -2, 0.25}, p{10, 28, 8.0 / 3};
  const auto expected = lorenz(x, p);
  const std::vector<double> y = evaluate(lorenz_program(), {x, p});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(y[i], expected[i], 1e-14 * std::abs(expected[i]));
}

TEST(Program, TextAndRecordingGiveTheSameBits) {
  const Program parsed = parse_equations(
      "value[0] = p[0]*(x[1] - x[0])\n"
      "value[1] = x[0]*(p[1] - x[2]) - x[1]\n"
      "value[2] = x[0]*x[1] - p[2]*x[2]\n",
      {{"x", 3}, {"p", 3}}, {{"value", 3}});
  const std::vector<double> x{1.5, -2, 0.25}, p{10, 28, 8.0 / 3};
  EXPECT_EQ(evaluate(parsed, {x, p}), evaluate(lorenz_program(), {x, p}));
  EXPECT_EQ(parsed.nodes().size(), lorenz_program().nodes().size());
}

TEST(Program, VjpOfLorenzIsItsTransposedJacobian) {
  const std::vector<double> x{1.5, -2, 0.25}, p{10, 28, 8.0 / 3}, w{0.5, -1, 2};
  const std::vector<double> bar = evaluate(vjp(lorenz_program()), {x, p, w});
  const std::vector<double> expected{-p[0] * w[0] + (p[1] - x[2]) * w[1] + x[1] * w[2],
                                     p[0] * w[0] - w[1] + x[0] * w[2],
                                     -x[0] * w[1] - p[2] * w[2],
                                     (x[1] - x[0]) * w[0],
                                     x[0] * w[1],
                                     -x[2] * w[2]};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(bar[i], expected[i], 1e-13) << i;
}

}  // namespace
}  // namespace costate::ad
