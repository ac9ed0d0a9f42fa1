// Machine code gives the interpreter's bits: every operation, special values, random programs, every shape of
// call.
#include "costate/ad/machine/machine_code.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <thread>

#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "costate/ad/allocate.h"
#include "costate/ad/derivative.h"
#include "costate/ad/machine/code_memory.h"
#include "costate/ad/parse.h"
#include "tests/ad/random_program.h"
#include "tests/allocation_guard.h"
#include "tests/float_traps.h"

namespace costate::ad {
namespace {

// A NaN is a NaN: its payload is nobody's.
template <class T>
bool same_bits(T a, T b) {
  if (std::isnan(a) && std::isnan(b)) return true;
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

// How a program is called: the layout of its blocks.
struct Call {
  std::ptrdiff_t worlds = 1;
  std::ptrdiff_t gap = 0;      // between the rows of a block
  std::ptrdiff_t offset = 0;   // of the first number, in numbers
  unsigned shared_fields = 0;  // bits
  unsigned added_fields = 0;
};

template <class T>
std::vector<std::vector<T>> run(const Program& program, Engine engine, const std::vector<T>& numbers,
                                const Call& call) {
  const Executable executable(program, engine);
  const std::ptrdiff_t stride = call.worlds + call.gap;
  std::vector<std::vector<T>> inputs, outputs;
  std::vector<InputBlock<T>> in;
  std::vector<OutputBlock<T>> out;
  std::size_t next = 0;
  for (const Field& field : program.input_fields()) {
    auto& block = inputs.emplace_back(static_cast<std::size_t>(field.size * stride + call.offset));
    for (T& x : block) x = numbers[next++ * 7 % numbers.size()];
    const bool shared = (call.shared_fields >> in.size() & 1) != 0;
    in.push_back({block.data() + call.offset, stride, shared});
  }
  for (const Field& field : program.output_fields()) {
    auto& block = outputs.emplace_back(static_cast<std::size_t>(field.size * stride + call.offset), T(0.75));
    out.push_back({block.data() + call.offset, stride, (call.added_fields >> out.size() & 1) != 0});
  }
  std::vector<std::byte> scratch(executable.scratch_bytes<T>());
  executable.run<T>(in, out, call.worlds, scratch);
  if (engine == Engine::machine_code && machine_code_possible(kSimdBytes)) {
    EXPECT_EQ(executable.machine_code().codes, 1u) << executable.description();
  }
  return outputs;
}

template <class T>
void expect_same(const Program& program, const std::vector<T>& numbers, const Call& call) {
  const auto expected = run<T>(program, Engine::interpreter, numbers, call);
  const auto actual = run<T>(program, Engine::machine_code, numbers, call);
  for (std::size_t f = 0; f < expected.size(); ++f) {
    for (std::size_t i = 0; i < expected[f].size(); ++i) {
      ASSERT_TRUE(same_bits(actual[f][i], expected[f][i]))
          << "output " << f << " number " << i << ": " << actual[f][i] << " is not " << expected[f][i] << ", "
          << call.worlds << " worlds, shared " << call.shared_fields << " added " << call.added_fields;
    }
  }
}

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T> special_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers = {0, T(-0.0), 1, -1, T(0.5), T(-2.5), T(kInf), T(-kInf), T(kNan), T(-kNan), 3, -2};
  numbers.insert(numbers.end(), {Limits::max(), Limits::lowest(), Limits::min(), -Limits::min()});
  numbers.insert(numbers.end(), {Limits::denorm_min(), -Limits::denorm_min(), T(1e7) + T(0.5), T(-1e-3)});
  return numbers;
}

// y = op(x0, x1, x2), every operand a field of its own.
Program program_of(Op op, int exponent) {
  Builder builder;
  Id x[3] = {kNone, kNone, kNone};
  for (int k = 0; k < info(op).arity; ++k) x[k] = builder.input_field(std::string(1, char('a' + k)), 1);
  builder.output_field("y", std::vector<Id>{builder.make({op, x[0], x[1], x[2], double(exponent)})});
  return builder.finish();
}

class MachineCodeOfEveryOp : public testing::TestWithParam<OpInfo> {};

// Worlds run through all triples of special numbers.
template <class T>
void expect_same_for_special_numbers(Op op, int exponent) {
  const Program program = program_of(op, exponent);
  const std::vector<T> numbers = special_numbers<T>();
  const std::size_t n = numbers.size();
  std::vector<std::vector<T>> fields(3);
  for (std::size_t i = 0; i < n * n * n; ++i) {
    fields[0].push_back(numbers[i % n]);
    fields[1].push_back(numbers[i / n % n]);
    fields[2].push_back(numbers[i / n / n]);
  }
  const auto results = [&](Engine engine, std::size_t worlds) {
    const Executable executable(program, engine);
    std::vector<InputBlock<T>> in;
    for (std::size_t k = 0; k < program.input_fields().size(); ++k) in.push_back({fields[k].data()});
    std::vector<T> y(worlds);
    const OutputBlock<T> out[] = {{y.data()}};
    std::vector<std::byte> scratch(executable.scratch_bytes<T>());
    executable.run<T>(in, out, static_cast<std::ptrdiff_t>(worlds), scratch);
    return y;
  };
  const std::size_t worlds = n * n * n;
  const std::vector<T> expected = results(Engine::interpreter, worlds),
                       actual = results(Engine::machine_code, worlds);
  for (std::size_t i = 0; i < worlds; ++i) {
    ASSERT_TRUE(same_bits(actual[i], expected[i]))
        << fields[0][i] << " " << fields[1][i] << " " << fields[2][i] << " gives " << actual[i] << ", not "
        << expected[i];
  }
  const Executable one(program, Engine::machine_code);
  std::vector<std::byte> scratch(one.scratch_bytes<T>());
  for (std::size_t i = 0; i < worlds; i += info(op).arity == 3 ? 1 : 3) {
    std::vector<InputBlock<T>> in;
    for (std::size_t k = 0; k < program.input_fields().size(); ++k) in.push_back({fields[k].data() + i});
    T y = -7;
    const OutputBlock<T> out[] = {{&y}};
    one.run<T>(in, out, 1, scratch);
    ASSERT_TRUE(same_bits(y, expected[i])) << "alone: " << fields[0][i] << " " << fields[1][i] << " "
                                           << fields[2][i] << " gives " << y << ", not " << expected[i];
  }
}

TEST_P(MachineCodeOfEveryOp, GivesTheInterpretersBitsForSpecialNumbers) {
  const test::AllowFloatExceptions allow;
  const Op op = GetParam().op;
  if (info(op).arity == 0) return;
  const std::vector<int> exponents =
      op == Op::powi ? std::vector<int>{-7, -5, 5, 6, 7, 12, 31, 1000} : std::vector<int>{0};
  for (const int exponent : exponents) {
    expect_same_for_special_numbers<double>(op, exponent);
    expect_same_for_special_numbers<float>(op, exponent);
  }
}

INSTANTIATE_TEST_SUITE_P(Program, MachineCodeOfEveryOp, testing::ValuesIn(kOps),
                         [](const auto& op) { return std::string(op.param.name); });

template <class T>
std::vector<T> moderate_numbers(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-2, 2);
  std::vector<T> numbers;
  for (int i = 0; i < 1009; ++i) numbers.push_back(T(uniform(random)));
  return numbers;
}

template <class T>
void expect_same_for_all_shapes(const Program& program, unsigned seed) {
  const std::vector<T> numbers = moderate_numbers<T>(seed);
  for (const std::ptrdiff_t worlds : {1, 2, 5, 8, 16, 17, 64, 100, 128, 256, 300, 515}) {
    const unsigned shared = seed * 2654435761u >> 28, added = seed * 40503u >> 3;
    expect_same<T>(program, numbers, {.worlds = worlds, .shared_fields = 0});
    expect_same<T>(program, numbers,
                   {.worlds = worlds, .gap = 3, .offset = 1, .shared_fields = shared, .added_fields = added});
  }
}

TEST(MachineCode, RandomProgramsAndTheirDerivativesKeepTheirBits) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const Program program = test::RandomProgram(seed).make(4, 3, 40);
    for (const Program& p : {program, vjp(program), jvp(program), jvp(vjp(program))}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      expect_same_for_all_shapes<double>(p, seed);
      expect_same_for_all_shapes<float>(p, seed + 100);
    }
  }
}

// Thousands of operations, most of them arithmetic, many alive at once: registers run out, blocks are cut.
Program large_program(unsigned seed, int operations, int distance) {
  std::mt19937 random(seed);
  Builder builder;
  const Id x = builder.input_field("x", 5), p = builder.input_field("p", 3);
  std::vector<Id> values;
  for (int i = 0; i < 5; ++i) values.push_back(x + i);
  for (int i = 0; i < 3; ++i) values.push_back(p + i);
  for (int i = 0; i < 40; ++i) values.push_back(builder.constant(0.125 + 0.1 * i));
  const auto any = [&] {
    const std::size_t n = values.size(), back = std::min<std::size_t>(n, static_cast<std::size_t>(distance));
    return values[n - 1 - random() % back];
  };
  const auto tame = [&](Id a) {  // in [-2, 2]
    return builder.binary(Op::max, builder.constant(-2), builder.binary(Op::min, a, builder.constant(2)));
  };
  for (int i = 0; i < operations; ++i) {
    const Id a = any(), b = any(), c = any();
    switch (random() % 16) {
      case 0:
        values.push_back(builder.binary(Op::add, a, tame(b)));
        break;
      case 1:
        values.push_back(builder.binary(Op::sub, tame(a), b));
        break;
      case 2:
        values.push_back(builder.binary(Op::mul, tame(a), tame(b)));
        break;
      case 3:
        values.push_back(builder.binary(
            Op::div, a, builder.binary(Op::add, builder.constant(1.5), builder.binary(Op::mul, b, b))));
        break;
      case 4:
        values.push_back(builder.ternary(Op::select, builder.binary(Op::lt, a, b), b, c));
        break;
      case 5:
        values.push_back(builder.unary(Op::sign, a));
        break;
      case 6:
        values.push_back(builder.binary(Op::gated_mul, builder.unary(Op::floor, tame(a)), tame(b)));
        break;
      case 7:
        values.push_back(builder.unary(Op::sqrt, builder.unary(Op::abs, a)));
        break;
      case 8:
        values.push_back(builder.powi(tame(a), static_cast<int>(random() % 9) + 1));
        break;
      case 9:
        values.push_back(builder.ternary(
            Op::select,
            builder.binary(Op::logical_or, builder.binary(Op::le, a, c), builder.unary(Op::logical_not, b)),
            a, c));
        break;
      case 10:
        values.push_back(random() % 8 == 0 ? builder.unary(Op::sin, a) : builder.unary(Op::neg, a));
        break;
      case 11:
        values.push_back(builder.ternary(Op::fma, tame(a), tame(a), tame(a)));
        break;
      case 12:
        values.push_back(builder.ternary(Op::fnma, tame(a), b, c));
        break;
      default:
        values.push_back(builder.ternary(random() % 2 == 0 ? Op::fma : Op::fms, tame(a), tame(b), tame(c)));
    }
  }
  std::vector<Id> y, z;
  for (int i = 0; i < 60; ++i) y.push_back(tame(any()));
  for (int i = 0; i < 3; ++i) z.push_back(tame(any()));
  z.push_back(x + 2);
  z.push_back(p + 1);
  z.push_back(builder.constant(42));
  z.push_back(z[0]);
  builder.output_field("y", y);
  builder.output_field("z", z);
  return builder.finish();
}

TEST(MachineCode, LargeProgramsKeepTheirBits) {
  for (const int distance : {12, 60, 400, 3000}) {
    SCOPED_TRACE(testing::Message() << "distance " << distance);
    const Program program = large_program(static_cast<unsigned>(distance), 3000, distance);
    for (const std::ptrdiff_t worlds : {1, 3, 128, 141}) {
      for (const unsigned shared : {0u, 1u, 2u, 3u}) {
        const Call call{.worlds = worlds, .gap = 1, .shared_fields = shared, .added_fields = 2};
        expect_same<double>(program, moderate_numbers<double>(3), call);
        expect_same<float>(program, moderate_numbers<float>(4), call);
      }
    }
  }
}

TEST(MachineCode, OutputsMayOverwriteInputs) {
  const Program program =
      parse_equations("y[0] = 2*x[1] + x[2]; y[1] = x[0]; y[2] = sin(x[0])*x[1]", {{"x", 3}}, {{"y", 3}});
  for (const std::ptrdiff_t worlds : {1, 5, 128, 200, 1024}) {
    std::vector<double> expected;
    for (const Engine engine : {Engine::interpreter, Engine::machine_code}) {
      const Executable executable(program, engine);
      std::vector<double> x = moderate_numbers<double>(9);
      x.resize(static_cast<std::size_t>(3 * worlds), 0.5);
      const InputBlock<double> in[] = {{x.data(), worlds}};
      const OutputBlock<double> out[] = {{x.data(), worlds}};
      std::vector<std::byte> scratch(executable.scratch_bytes<double>());
      executable.run<double>(in, out, worlds, scratch);
      if (engine == Engine::interpreter) expected = x;
      EXPECT_EQ(x, expected) << worlds << " worlds";
    }
  }
}

TEST(MachineCode, OutputsThatOverlapAreWrittenInOrder) {
  const Program program = parse_equations("y = a*a; z = a + 1", {{"a"}}, {{"y"}, {"z"}});
  const Executable executable(program, Engine::machine_code);
  std::vector<std::byte> scratch(executable.scratch_bytes<double>());
  const std::vector<double> a(100, 3);
  std::vector<double> both(100, 0.5);
  const InputBlock<double> in[] = {{a.data()}};
  const OutputBlock<double> out[] = {{both.data(), 100, true}, {both.data(), 100, true}};
  executable.run<double>(in, out, 100, scratch);
  EXPECT_EQ(both, std::vector<double>(100, 13.5));
}

TEST(MachineCode, IsWrittenOnceAProgramHasRunOften) {
  if (!machine_code_possible(kSimdBytes)) GTEST_SKIP() << "no machine code here";
  const Executable executable(parse_expression("x*x + 1", {{"x"}}));
  std::vector<std::byte> scratch(executable.scratch_bytes<double>());
  const std::vector<double> x(64, 2);
  std::vector<double> y(64);
  const InputBlock<double> in[] = {{x.data()}};
  const OutputBlock<double> out[] = {{y.data()}};
  const auto runs = [&](int n, std::ptrdiff_t worlds) {
    for (int i = 0; i < n; ++i) executable.run<double>(in, out, worlds, scratch);
    return executable.machine_code().codes;
  };
  EXPECT_EQ(runs(3, 64), 0u);
  EXPECT_EQ(runs(1000, 64), 1u);
  EXPECT_EQ(runs(1000, 1), 2u);
  const Executable copy = executable;
  EXPECT_EQ(copy.machine_code().codes, 2u);
  EXPECT_NE(executable.description().find("machine code for 2 shapes of call"), std::string::npos);
}

TEST(MachineCode, CopiesOutliveTheOriginal) {
  auto original = std::make_unique<Executable>(parse_expression("3*x + 1", {{"x"}}), Engine::machine_code);
  std::vector<std::byte> scratch(original->scratch_bytes<double>());
  const std::vector<double> x(40, 2);
  std::vector<double> y(40);
  const InputBlock<double> in[] = {{x.data()}};
  const OutputBlock<double> out[] = {{y.data()}};
  original->run<double>(in, out, 40, scratch);
  Executable copy = *original, moved = std::move(*original);
  original.reset();
  for (const Executable* e : {&copy, &moved}) {
    std::fill(y.begin(), y.end(), 0);
    e->run<double>(in, out, 40, scratch);
    EXPECT_EQ(y, std::vector<double>(40, 7));
  }
}

TEST(MachineCode, TheFirstRunLeavesTheHeapAlone) {
  const Executable executable(vjp(large_program(1, 500, 50)), Engine::machine_code);
  std::vector<std::byte> scratch(executable.scratch_bytes<double>());
  const std::vector<double> numbers(100 * 100, 0.5);
  std::vector<double> results(100 * 100), more(100 * 100);
  const InputBlock<double> block{numbers.data(), 100};
  const InputBlock<double> in[] = {block, block, block, block};
  const OutputBlock<double> out[] = {{results.data(), 100}, {more.data(), 100}};
  const test::AllocationGuard guard;
  executable.run<double>(in, out, 100, scratch);
  executable.run<double>(in, out, 1, scratch);
  EXPECT_EQ(guard.count(), 0);
}

TEST(MachineCode, ThreadsMayRunOneExecutableAtOnce) {
  const Program program = test::RandomProgram(5).make(3, 3, 80);
  const Executable executable(program), reference(program, Engine::interpreter);
  const std::vector<double> x = moderate_numbers<double>(1);
  std::vector<double> expected(3 * 200);
  const auto run_into = [&](const Executable& e, std::vector<double>& y) {
    std::vector<std::byte> scratch(e.scratch_bytes<double>());
    const InputBlock<double> in[] = {{x.data(), 200}};
    const OutputBlock<double> out[] = {{y.data(), 200}};
    e.run<double>(in, out, 200, scratch);
  };
  run_into(reference, expected);
  std::atomic<int> different = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<double> y(expected.size());
      for (int i = 0; i < 200; ++i) {
        run_into(executable, y);
        different += y != expected;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(different, 0);
}

TEST(MachineCode, HasTheSameBytesEveryTime) {
  if (!machine_code_possible(kSimdBytes)) GTEST_SKIP() << "no machine code here";
  const StraightCode code = allocate(large_program(2, 800, 80));
  CallShape shape;
  shape.shared.set(1);
  for (const bool one_world : {false, true}) {
    shape.one_world = one_world;
    const auto a = MachineCode::make<double>(code, shape, 16), b = MachineCode::make<double>(code, shape, 16);
    ASSERT_TRUE(a && b);
    EXPECT_TRUE(std::equal(a->code().begin(), a->code().end(), b->code().begin(), b->code().end()));
  }
}

#if defined(__linux__)
// A process may forbid itself new executable pages (prctl PR_SET_MDWE, Linux 6.3): a child does, and is
// interpreted.
TEST(MachineCode, IsDoneWithoutWhereTheSystemRefusesIt) {
  constexpr int kNotOnThisSystem = 77, kWrong = 1;
  const Executable executable(parse_expression("x*x + 1", {{"x"}}), Engine::machine_code);
  const pid_t child = fork();
  if (child == 0) {
    if (prctl(65 /* PR_SET_MDWE */, 1, 0, 0, 0) != 0) _exit(kNotOnThisSystem);
    std::vector<std::byte> scratch(executable.scratch_bytes<double>());
    const std::vector<double> x(64, 2);
    std::vector<double> y(64);
    const InputBlock<double> in[] = {{x.data()}};
    const OutputBlock<double> out[] = {{y.data()}};
    for (const std::ptrdiff_t worlds : {1, 64, 64}) executable.run<double>(in, out, worlds, scratch);
    const bool interpreted =
        executable.description() ==
        "1 instructions, 1 registers, interpreted: machine code: the system refuses executable memory";
    _exit(interpreted && y == std::vector<double>(64, 5) ? 0 : kWrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotOnThisSystem || !machine_code_possible(kSimdBytes))
    GTEST_SKIP() << "no machine code here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

TEST(MachineCode, CanBeSwitchedOff) {
  const Program program = parse_expression("x + 1", {{"x"}});
  ASSERT_EQ(setenv("COSTATE_NO_MACHINE_CODE", "1", 1), 0);
  const Executable by_environment(program, Engine::machine_code);
  unsetenv("COSTATE_NO_MACHINE_CODE");
  const Executable by_option(program, Engine::interpreter);
  for (const Executable* e : {&by_environment, &by_option}) {
    EXPECT_EQ(e->machine_code().refused, "switched off");
    EXPECT_EQ(e->description(), "1 instructions, 1 registers, interpreted: machine code: switched off");
  }
}

}  // namespace
}  // namespace costate::ad
