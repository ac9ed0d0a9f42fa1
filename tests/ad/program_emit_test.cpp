// Emitted source is compiled with the compiler of this build and compared with the interpreter.
#include <dlfcn.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "costate/ad/builder.h"
#include "costate/ad/derivative.h"
#include "costate/ad/executable.h"
#include "costate/ad/parse.h"
#include "costate/ad/program.h"
#include "costate/core/error.h"
#include "tests/ad/random_program.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"

namespace costate::ad {
namespace {

using costate::test::expect_error;
using Values = std::vector<double>;
using Entry = void (*)(const double* const* inputs, double* const* outputs);

// All programs in one shared library, each behind an entry that takes arrays of field pointers.
class Library {
 public:
  explicit Library(const std::vector<Program>& programs) {
    const std::string stem = testing::TempDir() + "costate_emitted_" + std::to_string(::getpid());
    std::ofstream source(stem + ".cpp");
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const std::string name = "program_" + std::to_string(i);
      std::string text = emit_cpp(programs[i], name);
      text.erase(text.find("#pragma once\n"), 13);  // a main file here
      source << text << "extern \"C\" void entry_" << i
             << "(const double* const* in, double* const* out) {\n  " << name << "<double>(";
      const std::size_t inputs = programs[i].input_fields().size();
      for (std::size_t f = 0; f < inputs; ++f) source << (f == 0 ? "" : ", ") << "in[" << f << "]";
      for (std::size_t f = 0; f < programs[i].output_fields().size(); ++f) source << ", out[" << f << "]";
      source << ");\n}\n";
    }
    source.close();
    const std::string command = std::string(COSTATE_TEST_CXX) +
                                " -std=c++17 -O1 " COSTATE_TEST_ARCH
                                " -ffp-contract=off -Wall -Wextra -Werror -shared -fPIC -o " +
                                stem + ".so " + stem + ".cpp";
    if (std::system(command.c_str()) != 0) throw Error("did not compile: " + command);
    handle_ = dlopen((stem + ".so").c_str(), RTLD_NOW);
    if (handle_ == nullptr) throw Error(dlerror());
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  Values run(std::size_t i, const Program& program, const std::vector<Values>& inputs) const {
    const auto entry = reinterpret_cast<Entry>(dlsym(handle_, ("entry_" + std::to_string(i)).c_str()));
    std::vector<const double*> in;
    for (const Values& block : inputs) in.push_back(block.data());
    Values result(static_cast<std::size_t>(program.output_count()), std::nan(""));
    std::vector<double*> out;
    for (std::size_t f = 0; f < program.output_fields().size(); ++f) {
      out.push_back(result.data() + program.output_offset(static_cast<int>(f)));
    }
    entry(in.data(), out.data());
    return result;
  }

 private:
  void* handle_ = nullptr;
};

Program one_op(const OpInfo& op) {
  Builder builder;
  const Id x = builder.input_field("x", 3);
  Id y = x;
  if (op.op == Op::powi)
    y = builder.powi(x, -6);
  else if (op.op == Op::constant)
    y = builder.constant(0.1);
  else if (op.op != Op::input)
    y = builder.make({op.op, x, op.arity > 1 ? x + 1 : kNone, op.arity > 2 ? x + 2 : kNone, 0});
  builder.output_field("y", std::vector<Id>{y});
  return builder.finish();
}

TEST(EmitCpp, CompilesAndGivesTheInterpretersNumbers) {
  std::vector<Program> programs;
  for (const OpInfo& op : kOps) programs.push_back(one_op(op));
  const std::size_t arithmetic = programs.size();
  const Program lorenz =
      parse_equations("dx[0] = s*(x[1] - x[0]); dx[1] = x[0]*(r - x[2]) - x[1]; dx[2] = x[0]*x[1] - b*x[2]",
                      {{"x", 3}, {"s"}, {"r"}, {"b"}}, {{"dx", 3}});
  programs.push_back(vjp(lorenz, {{}, true}));
  const std::size_t random = programs.size();
  for (unsigned seed = 0; seed < 10; ++seed)
    programs.push_back(vjp(test::RandomProgram(seed).make(4, 2, 30)));
  const Library library(programs);

  // One operation: the two math libraries differ by a few units in the last place at most.
  for (std::size_t i = 0; i < arithmetic; ++i) {
    for (const Values& x : {Values{0.5, 0.25, -1}, Values{0.25, 0.75, 2}, Values{0.75, 0.75, 0.5}}) {
      const double expected = evaluate(programs[i], {x})[0];
      EXPECT_NEAR(library.run(i, programs[i], {x})[0], expected, 4 * 2.3e-16 * std::abs(expected))
          << kOps[i].name;
    }
  }
  for (const Op op : {Op::min, Op::max}) {  // a NaN on either side stays, as in the interpreter
    const auto k = static_cast<std::size_t>(op);
    for (const Values& x : {Values{std::nan(""), 1, 0}, Values{1, std::nan(""), 0}}) {
      const test::AllowFloatExceptions allow;
      EXPECT_TRUE(std::isnan(library.run(k, programs[k], {x})[0])) << kOps[k].name;
    }
  }
  // Arithmetic alone: the same bits.
  const std::vector<Values> state{{1.1, -2.3, 0.7}, {10}, {28}, {8.0 / 3}, {0.3, -0.2, 0.9}};
  EXPECT_EQ(library.run(arithmetic, programs[arithmetic], state), evaluate(programs[arithmetic], state));
  // Whole programs.
  for (std::size_t i = random; i < programs.size(); ++i) {
    const std::vector<Values> in{{0.3, -0.8, 1.2, 0.1}, {1, -0.5}};
    const Values expected = evaluate(programs[i], in), actual = library.run(i, programs[i], in);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_NEAR(actual[k], expected[k], 1e-13 * std::max(1.0, std::abs(expected[k])))
          << "program " << i - random;
    }
  }
}

TEST(EmitCpp, NamesThatAreNoIdentifiersBecomeSome) {
  Builder builder;
  const Id x = builder.input_field("geom/foot/friction");
  builder.input_field("geom_foot_friction");
  builder.output_field("y", std::vector<Id>{x});
  const std::string text = emit_cpp(builder.finish(), "step");
  EXPECT_NE(text.find("const S* in_geom_foot_friction, "), std::string::npos) << text;
  EXPECT_NE(text.find("const S* in_geom_foot_friction_, "), std::string::npos) << text;
  expect_error([&] { return emit_cpp(builder.finish(), "2step"); }, "'2step' is not a C++ function name");
}

}  // namespace
}  // namespace costate::ad
