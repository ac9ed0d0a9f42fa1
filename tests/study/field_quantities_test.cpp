#include "costate/study/field_quantities.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/study/losses/squares.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"

namespace costate::study {
namespace {

Signature two_masses() {
  Signature s;
  s.state("x", 4).state("v", 4).parameter("dt", 0.1);
  return s;
}
FieldQuantities masses() {
  return {
      two_masses(),
      {{.name = "masses", .dimension = 2, .rows = {0, 1}}, {.name = "mass/b", .dimension = 2, .rows = {1}}}};
}
const std::vector<double> kState = {1, 2, 3, 6, 0.1, 0.2, 0.3, 0.4};

double value(const Objective<double>& loss) {
  const double dt = 0.1;
  double v = 0;
  loss.value({.k = 5, .steps = 5, .in = {kState.data(), nullptr, &dt}}, &v);
  return v;
}

TEST(FieldQuantities, MeansAndRowsAreWhatFormulasSee) {
  FieldQuantities q = masses();
  EXPECT_EQ(q.numbers("masses/mean", "c").size, 2);
  EXPECT_EQ(q.numbers("mass/b", "b").size, 2);
  EXPECT_EQ(q.numbers("v/3", "w").size, 1);
  const auto loss = q.objective(
      loss::expression<double>(q.signature(), "c[0] + 10*c[1] + 100*b[1] + 1000*w", loss::at_end()));
  EXPECT_DOUBLE_EQ(value(*loss), 2 + 40 + 600 + 400);
  // The transpose spreads the cotangent of a mean over its rows.
  std::vector<double> bar(8, 0.0);
  const double dt = 0.1;
  loss->vjp({.k = 5, .steps = 5, .in = {kState.data(), nullptr, &dt}}, {bar.data(), nullptr, nullptr});
  const std::vector<double> expected = {0.5, 5, 0.5, 105, 0, 0, 0, 1000};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(bar[i], expected[i]) << i;
}

// A number that is not linear: q = dt x_1 x_5, in a formula beside a mean.
TEST(FieldQuantities, MeasuredNumbersHandOnTheirDerivatives) {
  const Signature system = two_masses();
  const auto product = any_objective([system](auto real, const std::vector<std::int64_t>&) {
    return loss::expression<decltype(real)>(system, "dt*x[1]*v[1]", loss::at_end());
  });
  FieldQuantities q(system, {{.name = "masses", .dimension = 2, .rows = {0, 1}}}, {{"power", product}});
  EXPECT_EQ(q.numbers("masses/mean", "c").size, 2);
  EXPECT_EQ(q.numbers("power", "w").size, 1);
  const auto loss = q.objective(loss::expression<double>(q.signature(), "c[0] + w^2", loss::at_end()));
  const double w = 0.1 * 2 * 0.2, dt = 0.1;
  EXPECT_DOUBLE_EQ(value(*loss), 2 + w * w);
  std::vector<double> bar(8, 0.0);
  double dt_bar = 0;
  loss->vjp({.k = 5, .steps = 5, .in = {kState.data(), nullptr, &dt}}, {bar.data(), nullptr, &dt_bar});
  const std::vector<double> expected = {0.5, 2 * w * 0.02, 0.5, 0, 0, 2 * w * 0.2, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(bar[i], expected[i]) << i;
  EXPECT_DOUBLE_EQ(dt_bar, 2 * w * 0.4);
  costate::test::expect_error([&] { q.points("power"); }, "'power' is not a set of points",
                              "write for instance masses");
}

TEST(FieldQuantities, PointsLieWhereTheStateHasThem) {
  FieldQuantities q = masses();
  const Quantity all = q.points("masses");
  EXPECT_FALSE(all.observed);
  EXPECT_EQ(all.points.elements, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(q.all_points(), "masses");
  EXPECT_TRUE(q.points("masses/mean").observed);
}

TEST(FieldQuantities, MistakesSayWhatThereIs) {
  FieldQuantities q = masses();
  const auto says = [&](const std::string& path) {
    try {
      q.numbers(path, "");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(says("mases").find("did you mean 'masses'?"), std::string::npos) << says("mases");
  EXPECT_NE(says("masses/7").find("2 rows, numbered from 0"), std::string::npos) << says("masses/7");
  q.numbers("masses/mean", "c");
  try {
    q.numbers("mass/b", "c");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("stands for masses/mean already"), std::string::npos);
  }
}

}  // namespace
}  // namespace costate::study
