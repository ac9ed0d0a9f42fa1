#include "costate/ad/layered.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/ad/builder.h"
#include "costate/ad/dense_lanes.h"
#include "costate/ad/executable.h"
#include "costate/core/aligned_buffer.h"
#include "costate/core/pack.h"

namespace costate::ad {
namespace {

// y = A' tanh(A x), with A of 3 x 2 stored column by column from number 1 of the field "w".
LayeredProgram two_layers() {
  Builder b;
  const Id x = b.input_field("x", 2);
  b.input_field("w", 7);
  const Id d0 = b.input_field(product_field(0), 3);
  std::vector<Id> hidden;
  for (int i = 0; i < 3; ++i) hidden.push_back(b.unary(Op::tanh, d0 + i));
  const Id d1 = b.input_field(product_field(1), 2);
  b.output_field("value", std::vector<Id>{d1, d1 + 1});
  b.output_field(vector_field(0), std::vector<Id>{x, x + 1});
  b.output_field(vector_field(1), hidden);
  return {b.finish(), {{"w", 3, 2, 1, 1, 3}, {"w", 2, 3, 1, 3, 1}}};
}

TEST(LayeredProgram, ExpandedItIsTheFunction) {
  const std::vector<double> x{0.3, -0.7}, w{9, 0.1, 0.2, 0.3, -0.4, 0.5, 0.6};
  const Program plain = expand(two_layers());
  EXPECT_EQ(plain.input_fields(), (std::vector<Field>{{"x", 2}, {"w", 7}}));
  EXPECT_EQ(plain.output_fields(), (std::vector<Field>{{"value", 2}}));
  double h[3], y[2] = {0, 0};
  for (int i = 0; i < 3; ++i) h[i] = std::tanh(w[std::size_t(1 + i)] * x[0] + w[std::size_t(4 + i)] * x[1]);
  for (int j = 0; j < 2; ++j) {
    for (int i = 0; i < 3; ++i) y[j] += w[std::size_t(1 + i + 3 * j)] * h[i];
  }
  const std::vector<double> got = evaluate(plain, {x, w});
  for (int j = 0; j < 2; ++j) EXPECT_NEAR(got[std::size_t(j)], y[j], 1e-15);
}

TEST(LayeredProgram, APartReadsOnlyWhatItNeeds) {
  const Program program = two_layers().program;
  const Program hidden = part(program, {program.output_field(vector_field(1))});
  EXPECT_EQ(hidden.input_fields(), (std::vector<Field>{{product_field(0), 3}}));
  EXPECT_DOUBLE_EQ(evaluate(hidden, {{0.5, 0, 0}})[0], std::tanh(0.5));
}

TEST(LayeredProgram, WhatIsAssumedIsNotComputedAgain) {
  Builder b;
  const Id x = b.input_field("x");
  const Id y = b.unary(Op::tanh, x);
  b.output_field("y", std::vector<Id>{y});
  b.output_field("slope", std::vector<Id>{b.binary(Op::sub, b.constant(1), b.binary(Op::mul, y, y))});
  const Program slope = part(assume(b.finish(), 0), {0});
  EXPECT_EQ(slope.input_fields(), (std::vector<Field>{{"y", 1}}));
  EXPECT_DOUBLE_EQ(evaluate(slope, {{0.5}})[0], 0.75);
}

// Every size of tile and its remainders; one world, one and three packs of worlds; shared weights and a
// matrix per world.
template <class T>
class DenseLanes : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(DenseLanes, Numbers);

template <class T>
AlignedBuffer<T> numbers(std::int64_t count, double phase) {
  AlignedBuffer<T> buffer(count);
  for (std::int64_t i = 0; i < count; ++i) buffer.data()[i] = T(std::sin(1.7 * double(i) + phase));
  return buffer;
}

TYPED_TEST(DenseLanes, ProductsAreThoseOfPlainLoopsBitForBit) {
  using T = TypeParam;
  for (const int lanes : {1, kNativeLanes<T>, 3 * kNativeLanes<T>}) {
    for (const auto& [rows, columns] : {std::pair{1, 1}, {8, 5}, {11, 4}, {23, 16}}) {
      const std::int64_t count = std::int64_t(rows) * columns;
      const auto x = numbers<T>(std::int64_t(columns) * lanes, 0.1), w = numbers<T>(count * lanes, 0.2);
      std::vector<T> by_row, by_column(std::size_t(count), T(0));
      for (std::int64_t i = 0; i < count; ++i) {
        by_row.push_back(w.data()[i * lanes]);
        by_column[std::size_t(i % columns * rows + i / columns)] = by_row.back();
      }
      for (const bool shared : {true, false}) {
        const LaneWeights<T> weights{by_row.data(), by_column.data(), shared ? nullptr : w.data(), columns,
                                     1};
        AlignedBuffer<T> y(std::int64_t(rows) * lanes);
        multiply<T>(weights, rows, columns, lanes, x.data(), y.data());
        for (int i = 0; i < rows; ++i) {
          for (int l = 0; l < lanes; ++l) {
            T expected = 0;
            for (int j = 0; j < columns; ++j)
              expected = std::fma(w.data()[(i * columns + j) * lanes + (shared ? 0 : l)],
                                  x.data()[j * lanes + l], expected);
            ASSERT_EQ(y.data()[i * lanes + l], expected) << rows << 'x' << columns << " lanes " << lanes;
          }
        }
      }
    }
  }
}

TYPED_TEST(DenseLanes, OuterProductsAddUpInOrder) {
  using T = TypeParam;
  for (const int lanes : {1, 2 * kNativeLanes<T>}) {
    for (const auto& [rows, columns] : {std::pair{1, 1}, {8, 5}, {11, 4}}) {
      const std::int64_t y_stride = std::int64_t(rows) * lanes, x_stride = std::int64_t(columns) * lanes;
      constexpr int kCount = 3;
      const auto y = numbers<T>(kCount * y_stride, 0.3), x = numbers<T>(kCount * x_stride, 0.4);
      auto w_bar = numbers<T>(std::int64_t(rows) * columns * lanes, 0.5);
      const auto before = numbers<T>(std::int64_t(rows) * columns * lanes, 0.5);
      // Stored column by column.
      add_outer<T>({y.data(), y_stride, x.data(), x_stride, kCount}, rows, columns, lanes, 1, rows,
                   w_bar.data());
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          for (int l = 0; l < lanes; ++l) {
            const std::int64_t at = (std::int64_t(j) * rows + i) * lanes + l;
            T expected = before.data()[at];
            for (int s = 0; s < kCount; ++s)
              expected = std::fma(y.data()[s * y_stride + i * lanes + l],
                                  x.data()[s * x_stride + j * lanes + l], expected);
            ASSERT_EQ(w_bar.data()[at], expected);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace costate::ad
