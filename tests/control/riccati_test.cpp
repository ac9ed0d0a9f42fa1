#include "costate/control/quadratic/riccati.h"

#include <gtest/gtest.h>

#include "costate/core/philox.h"

namespace costate::control {
namespace {

Matrix noise(int rows, int columns, std::uint32_t seed) {
  Matrix m(rows, columns);
  for (int i = 0; i < rows * columns; ++i) m.data()[i] = normal<double>(seed, 0, 0, std::uint32_t(i));
  return m;
}

// Every size, so that every remainder of blocks and packs is met; with and without a price on the controls.
TEST(Riccati, AStepIsItsFormulas) {
  for (int n = 1; n <= 19; n += 2) {
    for (int m = 1; m <= 9; m += 2) {
      for (const double mu : {0.0, 0.3}) {
        const Matrix A = noise(n, n, 1), B = noise(n, m, 2), S = noise(m, n, 3), c = noise(n, 1, 4),
                     q = noise(n, 1, 5), r = noise(m, 1, 6), p = noise(n, 1, 7), root = noise(n, n, 8);
        const Matrix P = root * root.transpose() + Matrix::Identity(n, n), Q = symmetric(noise(n, n, 9)),
                     R = 20 * Matrix::Identity(m, m);
        const Matrix Qxx = Q + A.transpose() * P * A, Qux = S + B.transpose() * P * A,
                     Quu = R + B.transpose() * P * B, after = p + P * c;
        const Matrix inverse = Matrix(Quu + mu * Matrix::Identity(m, m)).llt().solve(Matrix::Identity(m, m));
        const Matrix K = -inverse * Qux, k = -inverse * (r + B.transpose() * after);
        const Matrix P_before = Qxx + K.transpose() * Quu * K + K.transpose() * Qux + Qux.transpose() * K;
        const Matrix p_before = q + A.transpose() * after +
                                K.transpose() * (Quu * k + r + B.transpose() * after) + Qux.transpose() * k;
        RiccatiStage stage(n, m);
        StageGains gains;
        Matrix P_found(n, n), p_found(n, 1);
        stage.expand({A.data(), B.data(), c.data(), Q.data(), S.data(), R.data(), q.data(), r.data()},
                     P.data(), p.data());
        ASSERT_TRUE(stage.gains(nullptr, mu, gains));
        stage.close(gains, P_found.data(), p_found.data());
        const double scale = 1 + P_before.norm();
        EXPECT_LT((gains.K - K).norm(), 1e-12 * scale) << n << " " << m;
        EXPECT_LT((gains.k - k.col(0)).norm(), 1e-12 * scale) << n << " " << m;
        EXPECT_LT((P_found - P_before).norm(), 1e-12 * scale) << n << " " << m << " " << mu;
        EXPECT_LT((p_found - p_before).norm(), 1e-11 * scale) << n << " " << m << " " << mu;
      }
    }
  }
}

// Vectors alone, with the factors of the step, are the vectors of the step; held controls do not move.
TEST(Riccati, AVectorPassIsThatOfTheStep) {
  const int n = 5, m = 3;
  const Matrix A = noise(n, n, 1), B = noise(n, m, 2), Q = Matrix::Identity(n, n), R = Matrix::Identity(m, m),
               P = 2 * Matrix::Identity(n, n), c = noise(n, 1, 4), q = noise(n, 1, 5), r = noise(m, 1, 6),
               p = noise(n, 1, 7);
  const StageData data{A.data(), B.data(), c.data(), Q.data(), nullptr, R.data(), q.data(), r.data()};
  const char held[3] = {0, 1, 0};
  RiccatiStage stage(n, m);
  StageGains gains;
  Vector P_before(n * n), whole(n), alone(n), k(m);
  stage.expand(data, P.data(), p.data());
  ASSERT_TRUE(stage.gains(held, 0, gains));
  stage.close(gains, P_before.data(), whole.data());
  stage.vectors(data, P.data(), p.data(), gains, k.data(), alone.data());
  EXPECT_LT((whole - alone).norm(), 1e-12);
  EXPECT_LT((k - gains.k).norm(), 1e-13);
  EXPECT_EQ(gains.k[1], 0);
  EXPECT_EQ(gains.K.row(1).norm(), 0);
}

TEST(Riccati, WhatIsNotConvexIsSaid) {
  RiccatiStage stage(1, 1);
  StageGains gains;
  const double one = 1, price = -2, zero = 0;
  stage.expand({&one, &one, nullptr, &one, nullptr, &price, nullptr, nullptr}, &one, &zero);
  EXPECT_FALSE(stage.gains(nullptr, 0, gains));
  EXPECT_TRUE(stage.gains(nullptr, 3, gains));
}

// In a box the gains solve the quadratic programme: no feasible move lowers its value.
TEST(Riccati, ControlsInABoxAreTheBestOnes) {
  const int n = 4, m = 3;
  const Matrix A = noise(n, n, 1), B = noise(n, m, 2), Q = Matrix::Identity(n, n), R = Matrix::Identity(m, m),
               P = 2 * Matrix::Identity(n, n), p = noise(n, 1, 7);
  const std::vector<double> lower(3, -0.2), upper(3, 0.2);
  RiccatiStage stage(n, m);
  StageGains gains;
  char held[3];
  stage.expand({A.data(), B.data(), nullptr, Q.data(), nullptr, R.data(), nullptr, nullptr}, P.data(),
               p.data());
  ASSERT_TRUE(stage.bounded_gains(lower.data(), upper.data(), 0, gains, held));
  const Vector slope = stage.Quu() * gains.k + stage.Qu();
  int count = 0;
  for (int i = 0; i < m; ++i) {
    if (held[i] == 0) {
      EXPECT_NEAR(slope[i], 0, 1e-12);
    }
    if (held[i] < 0) {
      EXPECT_TRUE(gains.k[i] == -0.2 && slope[i] > 0);
    }
    if (held[i] > 0) {
      EXPECT_TRUE(gains.k[i] == 0.2 && slope[i] < 0);
    }
    if (held[i] != 0) {
      EXPECT_EQ(gains.K.row(i).norm(), 0);
    }
    count += held[i] != 0;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace costate::control
