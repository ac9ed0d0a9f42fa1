#include "costate/ode/fields/layered_field.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/ad/builder.h"
#include "costate/core/error.h"
#include "costate/ode/fields/program_field.h"
#include "tests/expect_error.h"

namespace costate::ode {
namespace {

using ad::Builder;
using ad::Id;
using ad::Op;
using costate::test::expect_error;

constexpr int kHidden = 13, kStates = 3;  // no multiples of a register
constexpr int kFirst = kHidden * kStates, kParameters = 2 * kFirst + kHidden + 1;

// x' = A' sin(B tanh(C x + b)) - c t x: C by rows, B by columns, A the transpose of C.
ad::LayeredProgram network() {
  Builder f;
  const Id t = f.input_field("t"), x = f.input_field("x", kStates), p = f.input_field("p", kParameters);
  const Id bias = p + 2 * kFirst, c = bias + kHidden;
  const Id d0 = f.input_field(ad::product_field(0), kHidden);
  std::vector<Id> hidden, waves, rate;
  for (int i = 0; i < kHidden; ++i) hidden.push_back(f.unary(Op::tanh, f.binary(Op::add, d0 + i, bias + i)));
  const Id d1 = f.input_field(ad::product_field(1), kStates);
  for (int i = 0; i < kStates; ++i) waves.push_back(f.unary(Op::sin, d1 + i));
  const Id d2 = f.input_field(ad::product_field(2), kHidden);
  for (int i = 0; i < kStates; ++i) {
    const Id pull = f.binary(Op::mul, c, f.binary(Op::mul, t, x + i));
    rate.push_back(f.binary(Op::sub, f.binary(Op::add, d2 + i, d2 + kHidden - 1 - i), pull));
  }
  f.output_field("value", rate);
  f.output_field(ad::vector_field(0), std::vector<Id>{x, x + 1, x + 2});
  f.output_field(ad::vector_field(1), hidden);
  f.output_field(ad::vector_field(2), waves);
  return {f.finish(),
          {{"p", kHidden, kStates, 0, kStates, 1},
           {"p", kStates, kHidden, kFirst, 1, kStates},
           {"p", kHidden, kStates, 0, kStates, 1}}};
}

std::vector<double> numbers(int size, double phase) {
  std::vector<double> v;
  for (int i = 0; i < size; ++i) v.push_back(0.6 * std::sin(1.7 * i + phase));
  return v;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-13) << i;
}

TEST(LayeredField, IsTheProgramWrittenOutAndSoAreItsDerivatives) {
  const LayeredField layered(network());
  const ProgramField plain(ad::expand(network()));
  ASSERT_EQ(layered.states(), kStates);
  ASSERT_EQ(layered.parameters(), kParameters);
  const auto x = numbers(kStates, 0.3), p = numbers(kParameters, 1), x_dot = numbers(kStates, 2),
             p_dot = numbers(kParameters, 3), bar = numbers(kStates, 4);
  const auto all = [&](const VectorField& field) {
    std::vector<double> scratch(field.scratch_size()), result(kStates), more(kStates);
    field.value(0.4, x.data(), p.data(), result.data(), scratch.data());
    field.jvp(0.4, x.data(), p.data(), 0.7, x_dot.data(), p_dot.data(), more.data(), scratch.data());
    result.insert(result.end(), more.begin(), more.end());
    field.jvp(0.4, x.data(), p.data(), 0.7, nullptr, nullptr, more.data(), scratch.data());
    result.insert(result.end(), more.begin(), more.end());
    // Cotangents are added to what is there.
    std::vector<double> t_bar{0.5}, x_bar = numbers(kStates, 5), p_bar = numbers(kParameters, 6);
    field.vjp(0.4, x.data(), p.data(), bar.data(), t_bar.data(), x_bar.data(), p_bar.data(), scratch.data());
    field.vjp(0.4, x.data(), p.data(), bar.data(), t_bar.data(), x_bar.data(), nullptr, scratch.data());
    for (const auto* part : {&t_bar, &x_bar, &p_bar}) result.insert(result.end(), part->begin(), part->end());
    std::vector<double> jacobian(kStates * kStates);
    field.jacobian(0.4, x.data(), p.data(), jacobian.data(), scratch.data());
    result.insert(result.end(), jacobian.begin(), jacobian.end());
    return result;
  };
  expect_near(all(layered), all(plain));
}

TEST(LayeredField, WeightsMustBeParameters) {
  ad::LayeredProgram program = network();
  program.products[1].weights = "x";
  expect_error([&] { return LayeredField{program}; },
               "the weights of a layered field are numbers of p, not of 'x'");
}

}  // namespace
}  // namespace costate::ode
