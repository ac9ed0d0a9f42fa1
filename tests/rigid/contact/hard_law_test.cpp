// Complementarity with Coulomb's cone: the laws hold at the solution, and its derivatives are those of
// differences.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "costate/rigid/contact/hard_law.h"

namespace costate::rigid {
namespace {

using Index = std::size_t;
using D = Dual<double>;

// A = J M^-1 J' of some points on bodies with `dofs` freedoms; fewer than rows: the impulses are not unique.
HardProblem<double> random_problem(std::mt19937& random, int points, int condim, int dofs) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  HardProblem<double> p;
  for (int k = 0; k < points; ++k) p.add_point(condim);
  p.make_room();
  std::vector<double> J(Index(p.size * dofs)), inverse_mass(static_cast<Index>(dofs));
  for (double& x : J) x = uniform(random);
  for (double& x : inverse_mass) x = 0.2 + std::abs(uniform(random));
  for (int i = 0; i < p.size; ++i) {
    for (int j = 0; j < p.size; ++j) {
      for (int k = 0; k < dofs; ++k)
        p.a(i, j) += J[Index(i * dofs + k)] * inverse_mass[Index(k)] * J[Index(j * dofs + k)];
    }
  }
  // b within what dofs can do.
  std::vector<double> v(static_cast<Index>(dofs));
  for (double& x : v) x = uniform(random);
  for (int i = 0; i < p.size; ++i) {
    for (int k = 0; k < dofs; ++k) p.b[Index(i)] += J[Index(i * dofs + k)] * v[Index(k)];
    p.mu[Index(i)] = i % condim == 0 ? 1 : 0.3 + 0.1 * (i % condim);
  }
  return p;
}

// How far the laws are from holding, relative to the impulses.
double violation(const HardProblem<double>& p) {
  double most = 0, scale = 0;
  for (const auto& at : p.points) {
    double u[kMostRows] = {0}, square = 0, rho = 0;
    const double normal = p.A[Index(at.row) * Index(p.size + 1)];
    for (int k = 0; k < at.rows; ++k) {
      const auto i = Index(at.row + k);
      u[k] = p.b[i];
      for (int j = 0; j < p.size; ++j)
        u[k] += p.A[i * Index(p.size) + Index(j)] * p.mu[Index(j)] * p.l[Index(j)];
      u[k] *= p.mu[i] / normal;  // as an impulse
      if (k > 0) square += p.l[i] * p.l[i];
      scale = std::max(scale, std::abs(p.b[i] / normal));
    }
    const double l0 = p.l[Index(at.row)];
    if (at.mode == HardMode::open) {
      most = std::max({most, -u[0], std::abs(l0), std::sqrt(square)});
      continue;
    }
    most = std::max({most, std::abs(u[0]), -l0, std::sqrt(square) - l0});
    for (int k = 1; k < at.rows; ++k) rho -= u[k] * p.l[Index(at.row + k)];
    const double share = rho / (square > 0 ? square : 1);
    for (int k = 1; k < at.rows; ++k) {
      const double l = p.l[Index(at.row + k)];
      most = std::max(most, at.mode == HardMode::stick ? std::abs(u[k]) : std::abs(u[k] + share * l));
    }
    if (at.mode == HardMode::slip)
      most = std::max({most, -share * std::sqrt(square), std::abs(std::sqrt(square) - l0)});
  }
  return most / scale;
}

TEST(HardLaw, HoldsAtTheSolutionOfRandomProblems) {
  std::mt19937 random(5);
  HardSolver solver;
  int modes[3] = {0, 0, 0}, missed = 0, cases = 0;
  for (const int condim : {1, 3, 4, 6}) {
    for (const int points : {1, 2, 3, 5, 8}) {
      for (int i = 0; i < 40; ++i) {
        HardProblem<double> p = random_problem(random, points, condim, 2 * points * condim + 2);
        const double error = solver.solve(p);
        ++cases;
        if (error > 1e-12) {
          ++missed;
          continue;
        }
        EXPECT_LT(violation(p), 1e-11) << points << " points, condim " << condim;
        for (const auto& at : p.points) ++modes[int(at.mode)];
      }
    }
  }
  EXPECT_EQ(missed, 0) << "of " << cases;
  for (const int count : modes) EXPECT_GT(count, 50);
}

// Bodies that stand on more points than they need, with normals and tangents that depend on each other as
// strongly as random numbers do.
TEST(HardLaw, HoldsWherePointsOutnumberDofs) {
  struct Case {
    int points, condim, dofs;
  };
  HardSolver solver;
  for (const Case& c : {Case{4, 3, 6}, Case{8, 3, 6}, Case{8, 3, 12}, Case{4, 4, 8}, Case{4, 6, 12},
                        Case{12, 1, 6}, Case{4, 6, 6}, Case{2, 3, 3}, Case{1, 3, 2}}) {
    SCOPED_TRACE(std::to_string(c.points) + " points, condim " + std::to_string(c.condim) + ", dofs " +
                 std::to_string(c.dofs));
    std::mt19937 random(6);
    int missed = 0;
    for (int i = 0; i < 400; ++i) {
      HardProblem<double> p = random_problem(random, c.points, c.condim, c.dofs);
      if (solver.solve(p) > 1e-10 || p.ridge > 0) {
        ++missed;
        continue;
      }
      EXPECT_LT(violation(p), 1e-10);
    }
    EXPECT_LE(missed, 2) << "of 400";
  }
}

// A plate on four corners, pressed beside its middle.
HardProblem<double> plate(double x, double y) {
  const double corner[4][3] = {{1, 1, 1}, {1, -1, 1}, {1, -1, -1}, {1, 1, -1}};
  HardProblem<double> p;
  for (int i = 0; i < 4; ++i) p.add_point(1);
  p.make_room();
  for (int i = 0; i < 4; ++i) {
    p.mu[Index(i)] = 1;
    for (int k = 0; k < 3; ++k) {
      p.b[Index(i)] -= corner[i][k] * (k == 0 ? 1 : k == 1 ? x : y);
      for (int j = 0; j < 4; ++j) p.a(i, j) += corner[i][k] * corner[j][k];
    }
  }
  return p;
}

TEST(HardLaw, FourCornersShareALoadAsEvenlyAsItsPlaceAllows) {
  HardSolver solver;
  for (const double x : {0.0, 0.1, 0.3}) {
    HardProblem<double> p = plate(x, -0.2);
    EXPECT_LT(solver.solve(p), 1e-12);
    const double expected[4] = {(1 + x - 0.2) / 4, (1 - x - 0.2) / 4, (1 - x + 0.2) / 4, (1 + x + 0.2) / 4};
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(p.l[Index(i)], expected[i], 1e-12);
  }
}

// Between two walls that both want it to move away at speed 1: it stays, and is said not to obey.
TEST(HardLaw, TargetsThatContradictEachOtherAreSaidTo) {
  HardProblem<double> p;
  for (int i = 0; i < 2; ++i) p.add_point(1);
  p.make_room();
  p.mu = {1, 1};
  p.A = {1, -1, -1, 1};
  p.b = {-1, -1};
  HardSolver solver;
  EXPECT_LT(solver.solve(p), 1e-10);
  EXPECT_EQ(p.ridge, kHardPull);
  EXPECT_NEAR(p.l[0] - p.l[1], 0, 1e-9);
  EXPECT_NEAR(p.l[0] * kHardPull, 1, 1e-9);
}

// lambda by every number of the problem: dual numbers against differences, the transpose against dual
// numbers.
TEST(HardLaw, DerivativesMatchDifferences) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  HardSolver solver;
  for (const int condim : {1, 3, 6}) {
    for (int i = 0; i < 20; ++i) {
      HardProblem<double> p = random_problem(random, 3, condim, 6 * condim + 2), far = p;
      HardProblem<D> dual;
      for (int k = 0; k < 3; ++k) dual.add_point(condim);
      dual.make_room();
      const Index n = Index(p.size);
      std::vector<double> A_dot(n * n), b_dot(n), mu_dot(n), weight(n);
      for (Index r = 0; r < n; ++r) {
        for (Index s = 0; s <= r; ++s) A_dot[r * n + s] = A_dot[s * n + r] = 0.1 * normal(random);
        b_dot[r] = normal(random);
        mu_dot[r] = r % Index(condim) == 0 ? 0 : 0.1 * normal(random);
        weight[r] = normal(random);
      }
      for (Index r = 0; r < n * n; ++r) dual.A[r] = D(p.A[r], A_dot[r]);
      for (Index r = 0; r < n; ++r) {
        dual.b[r] = D(p.b[r], b_dot[r]);
        dual.mu[r] = D(p.mu[r], mu_dot[r]);
      }
      ASSERT_LT(solver.solve(p), 1e-12);
      for (Index k = 0; k < p.points.size(); ++k) dual.points[k].mode = p.points[k].mode;
      for (Index r = 0; r < n; ++r) dual.l[r] = D(p.l[r]);
      dual.ridge = p.ridge;
      solver.tangent(dual);
      const auto along = [&](double t, std::vector<HardMode>& modes) {
        for (Index r = 0; r < n * n; ++r) far.A[r] = p.A[r] + t * A_dot[r];
        for (Index r = 0; r < n; ++r) {
          far.b[r] = p.b[r] + t * b_dot[r];
          far.mu[r] = p.mu[r] + t * mu_dot[r];
        }
        EXPECT_LT(solver.solve(far), 1e-12);
        double sum = 0;
        for (Index r = 0; r < n; ++r) sum += weight[r] * far.mu[r] * far.l[r];
        for (const auto& at : far.points) modes.push_back(at.mode);
        return sum;
      };
      const double h = 1e-5;
      std::vector<HardMode> seen[4];
      const double slope =
          (8 * (along(h, seen[0]) - along(-h, seen[1])) - (along(2 * h, seen[2]) - along(-2 * h, seen[3]))) /
          (12 * h);
      if (seen[2] != seen[3] || seen[0] != seen[2]) continue;
      double tangent = 0, by_transpose = 0;
      for (Index r = 0; r < n; ++r) tangent += weight[r] * (dual.mu[r] * dual.l[r]).d[0];
      EXPECT_NEAR(tangent, slope, 1e-8 * (1 + std::abs(slope))) << condim << " " << i;
      HardBar<double> bar;
      solver.vjp(p, weight, bar);
      for (Index r = 0; r < n; ++r) {
        by_transpose += bar.Y[r] * b_dot[r] + bar.mu[r] * mu_dot[r];
        for (Index s = 0; s < n; ++s) by_transpose += bar.Y[r] * p.mu[s] * p.l[s] * A_dot[r * n + s];
      }
      EXPECT_NEAR(by_transpose, tangent, 1e-10 * (1 + std::abs(tangent))) << condim << " " << i;
    }
  }
}

// A plate that spins on six points: each slips in a direction of its own, so that its motion depends on how
// the points share its weight. The places of the points, and with them the share, change along a parameter t.
struct Plate {
  static constexpr int kPoints = 6, kDofs = 6;
  const double place[kPoints][2] = {{1, 0.2},     {0.4, 0.9},   {-0.5, 0.8},
                                    {-1.1, -0.1}, {-0.3, -0.9}, {0.7, -0.8}};
  const double moves[kPoints][2] = {{0.3, 0.1},  {-0.2, 0.4}, {0.5, 0.2},
                                    {0.1, -0.3}, {-0.4, 0.2}, {0.2, 0.6}};
  const double inverse_mass[kDofs] = {1, 1, 1, 3, 2.5, 1.7}, v[kDofs] = {0.3, -0.2, -1, 0.2, -0.1, 2};

  // Row 3 i + k of J along dof d: point i moves with v + w x place; the normal first.
  template <class T>
  T entry(int i, int k, int d, const T& t) const {
    const T x = T(place[i][0]) + t * T(moves[i][0]), y = T(place[i][1]) + t * T(moves[i][1]);
    const T rows[3][kDofs] = {{T(0), T(0), T(1), y, -x, T(0)},
                              {T(1), T(0), T(0), T(0), T(0), -y},
                              {T(0), T(1), T(0), T(0), T(0), x}};
    return rows[k][d];
  }
  template <class T>
  HardProblem<T> problem(const T& t) const {
    HardProblem<T> p;
    for (int i = 0; i < kPoints; ++i) p.add_point(3);
    p.make_room();
    for (int r = 0; r < p.size; ++r) {
      p.mu[Index(r)] = r % 3 == 0 ? T(1) : T(0.4) + T(0.1) * t;
      for (int d = 0; d < kDofs; ++d) {
        const T J = entry(r / 3, r % 3, d, t);
        p.b[Index(r)] += J * T(v[d]);
        for (int s = 0; s < p.size; ++s) p.a(r, s) += J * T(inverse_mass[d]) * entry(s / 3, s % 3, d, t);
      }
    }
    return p;
  }
  // How fast the plate moves along dof d after the impulses.
  template <class T>
  T moved(const HardProblem<T>& p, int d, const T& t) const {
    T sum(v[d]);
    for (int r = 0; r < p.size; ++r)
      sum += T(inverse_mass[d]) * entry(r / 3, r % 3, d, t) * p.mu[Index(r)] * p.l[Index(r)];
    return sum;
  }
};

TEST(HardLaw, TheShareHasItsDerivativeWherePointsSlipInDifferentDirections) {
  const Plate plate;
  HardSolver solver;
  const auto at = [&](double t) {
    HardProblem<double> p = plate.problem(t);
    EXPECT_LT(solver.solve(p), 1e-12);
    for (const auto& point : p.points) EXPECT_EQ(point.mode, HardMode::slip);
    return p;
  };
  HardProblem<double> p = at(0);
  HardProblem<D> dual = plate.problem(D(0, 1));
  for (Index k = 0; k < p.points.size(); ++k) dual.points[k].mode = p.points[k].mode;
  for (Index r = 0; r < p.l.size(); ++r) dual.l[r] = D(p.l[r]);
  solver.tangent(dual);
  for (int d = 0; d < Plate::kDofs; ++d) {
    const double h = 1e-4;
    const double slope = (8 * (plate.moved(at(h), d, h) - plate.moved(at(-h), d, -h)) -
                          (plate.moved(at(2 * h), d, 2 * h) - plate.moved(at(-2 * h), d, -2 * h))) /
                         (12 * h);
    const double tangent = plate.moved(dual, d, D(0, 1)).d[0];
    EXPECT_NEAR(tangent, slope, 1e-9) << "dof " << d;
    // The transpose: w = v + M^-1 J' lambda.
    std::vector<double> lambda_bar(Index(p.size), 0.0);
    double by_transpose = 0;
    for (int r = 0; r < p.size; ++r) {
      const D J = plate.entry(r / 3, r % 3, d, D(0, 1));
      lambda_bar[Index(r)] = plate.inverse_mass[d] * J.v;
      by_transpose += plate.inverse_mass[d] * J.d[0] * p.mu[Index(r)] * p.l[Index(r)];
    }
    HardBar<double> bar;
    solver.vjp(p, lambda_bar, bar);
    for (int r = 0; r < p.size; ++r) {
      by_transpose += bar.Y[Index(r)] * dual.b[Index(r)].d[0] + bar.mu[Index(r)] * dual.mu[Index(r)].d[0];
      for (int s = 0; s < p.size; ++s) {
        double A_bar = bar.Y[Index(r)] * p.mu[Index(s)] * p.l[Index(s)];
        if (bar.shares) A_bar += bar.share_bar[Index(r)] * bar.share[Index(s)];
        by_transpose += A_bar * dual.A[Index(r * p.size + s)].d[0];
      }
    }
    EXPECT_NEAR(by_transpose, tangent, 1e-12) << "dof " << d;
  }
}

}  // namespace
}  // namespace costate::rigid
