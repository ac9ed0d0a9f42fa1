#include "costate/study/trust.h"

#include <gtest/gtest.h>

#include "costate/io/scene/load_study.h"

namespace costate::study {
namespace {

check::Trust trust_of(const std::string& start) {
  const auto study = io::parse_study(R"([start]
x = )" + start + R"(
[equations]
x = "-x"
[run]
t1 = 1
[[loss]]
formula = "(x - 1)^2"
[optimize]
variables = [{name = "start.x", scale = 2}]
)",
                                     "decay.toml");
  const std::vector<double> z = study->start();
  std::vector<double> gradient(z.size());
  const double loss = study->value_and_gradient(z, gradient.data());
  return trust(*study, z, loss, gradient);
}

// L = (e^-1 x - 1)^2: |dx| |L''|/2 <= .1 |L'| up to dx = .2 |x - e|, in units of a scale of 2.
TEST(StudyTrust, IsMeasuredInUnitsOfTheScales) {
  const check::Trust near = trust_of("3"), far = trust_of("12");
  EXPECT_EQ(near.along_gradient, 1.0 / 64);  // of .2 * .28 / 2 = .028
  EXPECT_EQ(far.along_gradient, 0.5);        // of .2 * 9.28 / 2 = .93
  EXPECT_LE(far.random, far.along_gradient);
  EXPECT_EQ(near.inputs, "variables");
}

}  // namespace
}  // namespace costate::study
