// How an Executable reads its inputs and writes its outputs, interpreted and as machine code.
#include <gtest/gtest.h>

#include "costate/ad/derivative.h"
#include "costate/ad/executable.h"
#include "costate/ad/parse.h"
#include "costate/core/error.h"
#include "tests/ad/random_program.h"
#include "tests/allocation_guard.h"
#include "tests/expect_error.h"

namespace costate::ad {
namespace {

using costate::test::expect_error;

const Program& pendulum() {
  static const Program program = parse_equations("rate[0] = x[1]; rate[1] = -g/l*sin(x[0]) + 0.1*min(u, 2)",
                                                 {{"x", 2}, {"u"}, {"g"}, {"l"}}, {{"rate", 2}});
  return program;
}

std::vector<double> ramp(std::ptrdiff_t n, double from) {
  std::vector<double> values;
  for (std::ptrdiff_t i = 0; i < n; ++i) values.push_back(from + 0.01 * static_cast<double>(i));
  return values;
}

class ExecutableBy : public testing::TestWithParam<Engine> {};

std::string name_of(const testing::TestParamInfo<Engine>& engine) {
  const char* const names[] = {"Default", "Interpreter", "MachineCode"};
  return names[static_cast<std::size_t>(engine.param)];
}
INSTANTIATE_TEST_SUITE_P(Program, ExecutableBy,
                         testing::Values(Engine::automatic, Engine::interpreter, Engine::machine_code),
                         name_of);

TEST_P(ExecutableBy, BroadcastInputIsTheSameAsACopyPerWorld) {
  const Executable step(pendulum(), GetParam());
  std::vector<std::byte> scratch(step.scratch_bytes<double>());
  for (const std::ptrdiff_t worlds : {1, 3, 8, 100, 1000}) {
    const auto n = static_cast<std::size_t>(worlds);
    const std::vector<double> x = ramp(2 * worlds, -1), u = ramp(worlds, 1.5);
    const std::vector<double> g(n, 9.81), l(n, 0.7);
    const double parameters[] = {9.81, 0.7};
    std::vector<double> copied(2 * n), shared(2 * n);
    const OutputBlock<double> to_copied[] = {{copied.data(), worlds}},
                              to_shared[] = {{shared.data(), worlds}};
    const InputBlock<double> per_world[] = {
        {x.data(), worlds}, {u.data(), worlds}, {g.data(), worlds}, {l.data(), worlds}};
    const InputBlock<double> broadcast[] = {
        {x.data(), worlds}, {u.data(), worlds}, {parameters, 1, true}, {parameters + 1, 1, true}};
    step.run<double>(per_world, to_copied, worlds, scratch);
    step.run<double>(broadcast, to_shared, worlds, scratch);
    EXPECT_EQ(copied, shared) << worlds << " worlds";
  }
}

TEST_P(ExecutableBy, WorldsPastTheEndAreLeftAlone) {
  const Executable step(pendulum(), GetParam());
  std::vector<std::byte> scratch(step.scratch_bytes<double>());
  const std::ptrdiff_t stride = 64;
  const std::vector<double> x = ramp(2 * stride, 0), u = ramp(stride, 0);
  const double parameters[] = {9.81, 0.7};
  for (std::ptrdiff_t worlds = 0; worlds <= 40; ++worlds) {
    std::vector<double> rate(2 * stride, -7);
    const InputBlock<double> in[] = {
        {x.data(), stride}, {u.data(), stride}, {parameters, 1, true}, {parameters + 1, 1, true}};
    const OutputBlock<double> out[] = {{rate.data(), stride}};
    step.run<double>(in, out, worlds, scratch);
    for (std::ptrdiff_t w = 0; w < stride; ++w) {
      EXPECT_EQ(rate[static_cast<std::size_t>(w)] == -7, w >= worlds) << w << " of " << worlds;
    }
  }
}

TEST_P(ExecutableBy, OutputsCanBeAddedToWhatIsThere) {
  const Executable square(parse_expression("x*x", {{"x"}}), GetParam());
  std::vector<std::byte> scratch(square.scratch_bytes<double>());
  for (const std::ptrdiff_t worlds : {1, 21}) {
    const std::vector<double> x = ramp(worlds, 1);
    std::vector<double> y(x.size(), 100);
    const InputBlock<double> in[] = {{x.data(), worlds}};
    const OutputBlock<double> out[] = {{y.data(), worlds, true}};
    square.run<double>(in, out, worlds, scratch);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], 100 + x[i] * x[i]);
  }
}

TEST_P(ExecutableBy, MayWriteOverItsOwnInput) {
  const Executable swap(parse_equations("y[0] = x[1]; y[1] = x[0]", {{"x", 2}}, {{"y", 2}}), GetParam());
  std::vector<std::byte> scratch(swap.scratch_bytes<double>());
  for (const std::ptrdiff_t worlds : {1, 13, 500}) {
    const std::vector<double> before = ramp(2 * worlds, 1);
    std::vector<double> x = before;
    const InputBlock<double> in[] = {{x.data(), worlds}};
    const OutputBlock<double> out[] = {{x.data(), worlds}};
    swap.run<double>(in, out, worlds, scratch);
    const auto n = static_cast<std::size_t>(worlds);
    for (std::size_t w = 0; w < n; ++w) {
      EXPECT_EQ(x[w], before[n + w]);
      EXPECT_EQ(x[n + w], before[w]);
    }
  }
}

TEST_P(ExecutableBy, RunAllocatesNothing) {
  const Executable gradient(vjp(pendulum()), GetParam());
  std::vector<std::byte> scratch(gradient.scratch_bytes<float>());
  const std::ptrdiff_t worlds = 200;
  const std::vector<float> in_values(8 * 200, 0.5f);
  std::vector<float> out_values(8 * 200);
  const InputBlock<float> block{in_values.data(), worlds};
  const InputBlock<float> in[] = {block, block, block, block, block};
  const OutputBlock<float> to{out_values.data(), worlds};
  const OutputBlock<float> out[] = {to, to, to, to};
  const test::AllocationGuard guard;
  gradient.run<float>(in, out, worlds, scratch);
  gradient.run<float>(in, out, 1, scratch);
  EXPECT_EQ(guard.count(), 0);
}

TEST_P(ExecutableBy, ManyLiveValuesRunInShorterStripsWithTheSameBits) {
  // 200 products are all needed at the end: too many registers for a long strip.
  std::string text = "s = 0\n", sum = "y = s";
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    text += "t" + n + " = sin(x*" + n + ")\n";
    sum += " + t" + n + "/(1 + t" + std::to_string(199 - i) + "^2)";
  }
  const Executable wide(parse_equations(text + sum, {{"x"}}, {{"y"}}), GetParam());
  EXPECT_GT(wide.register_count(), 100u);
  std::vector<std::byte> scratch(wide.scratch_bytes<double>());
  const std::ptrdiff_t worlds = 300;
  const std::vector<double> x = ramp(worlds, -1);
  std::vector<double> together(x.size()), alone(x.size());
  const InputBlock<double> in[] = {{x.data(), worlds}};
  const OutputBlock<double> out[] = {{together.data(), worlds}};
  wide.run<double>(in, out, worlds, scratch);
  for (std::size_t w = 0; w < x.size(); ++w) {
    const InputBlock<double> one_in[] = {{&x[w], 1}};
    const OutputBlock<double> one_out[] = {{&alone[w], 1}};
    wide.run<double>(one_in, one_out, 1, scratch);
  }
  EXPECT_EQ(together, alone);
}

TEST_P(ExecutableBy, RandomProgramsGiveEveryWorldItsOwnBits) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Executable run(vjp(test::RandomProgram(seed).make(3, 2, 60)), GetParam());
    std::vector<std::byte> scratch(run.scratch_bytes<double>());
    const std::ptrdiff_t worlds = 150;
    const auto n = static_cast<std::size_t>(worlds);
    const std::vector<double> x = ramp(3 * worlds, -2), w = ramp(2 * worlds, -1);
    std::vector<double> together(3 * n);
    const InputBlock<double> in[] = {{x.data(), worlds}, {w.data(), worlds}};
    const OutputBlock<double> out[] = {{together.data(), worlds}};
    run.run<double>(in, out, worlds, scratch);
    for (std::size_t i = 0; i < n; ++i) {
      double alone[3];
      const InputBlock<double> one_in[] = {{&x[i], worlds}, {&w[i], worlds}};
      const OutputBlock<double> one_out[] = {{alone, 1}};
      run.run<double>(one_in, one_out, 1, scratch);
      for (std::size_t k = 0; k < 3; ++k)
        ASSERT_EQ(alone[k], together[k * n + i]) << "seed " << seed << " world " << i;
    }
  }
}

TEST(Executable, WrongBlocksOrScratchAreErrors) {
  const Executable step(pendulum());
  std::vector<std::byte> scratch(step.scratch_bytes<double>());
  double value[2] = {};
  const InputBlock<double> in[] = {{value}, {value}, {value}, {value}};
  const OutputBlock<double> out[] = {{value}};
  expect_error([&] { return step.run<double>(std::span(in).first(3), out, 1, scratch); },
               "run() was given 3 and 1 blocks");
  expect_error([&] { return step.run<double>(in, out, 1, std::span(scratch).first(8)); },
               "bytes of scratch and was given 8");
  expect_error([&] { return evaluate(pendulum(), {{1}, {1}, {1}, {1}}); }, "elements and was given 1");
}

}  // namespace
}  // namespace costate::ad
