// The impulses of all contact points of a world at once: complementarity and Coulomb's cone.
//
// u = b + A lambda is how the two sides of the points move after the impulses, normals less what they have to reach at least. For each point, normal first,
//
//   open    lambda = 0,                                        u_0 >= 0
//   stick   u = 0,                                             sum_k (lambda_k / mu_k)^2 <= lambda_0^2
//   slip    u_0 = 0, u_k = -rho lambda_k / mu_k^2, rho > 0,      with equality: most energy is lost                         [1]
//
// which is impact_law.h's law, with a normal that may also stay open. With lambda = E l, E = diag(1, mu_1, mu_2, ...), and w = E u + R l all three are
// one equation with some r > 0 [2]:
//
//   F_0 = l_0 - (s)_+,     F_t = l_t - proj(y),      s = l_0 - r w_0,   y = l_t - r w_t,   proj on the disc of radius (s)_+
//
// R is a ridge: 1e-8 of the bodies' inverse weight (1e-13 for a point alone), which the laws are off by. Several points under one body share its weight in infinitely many ways; where they slip in
// different directions its motion depends on how. With the ridge they share it as evenly as can be, and that has derivatives.
//
// Solution. Sweeps over the points, each solved exactly given the others (Gauss-Seidel [3]), until Newton's method on F, whose pieces are smooth, takes over:
// it ends with the piece, the mode of every point, and F at rounding. A large R at first brings the sweeps there sooner.
//
// Transpose. With G = dF/dl on the piece, G' z = E lambda_bar, w_bar = -(dF/dw)' z and Y = E w_bar
//
//   b_bar = Y,      A_bar = Y lambda',      mu_bar_k = w_bar_k u_k + l_k (A Y + lambda_bar)_k
//
// One linear system; nothing of the iteration is kept. Duals have their tangents from the same G (one more step of Newton's method with duals in F).
//
// [1] Moreau: Unilateral contact and dry friction in finite freedom dynamics, 1988.
// [2] Alart, Curnier: A mixed formulation for frictional contact problems prone to Newton like solution methods, CMAME 92 (1991).
// [3] Jean: The non-smooth contact dynamics method, CMAME 177 (1999).
// Tests: tests/contact/hard_law_test.cpp.
#pragma once

#include <vector>

#include "costate/ad/dual.h"
#include "costate/rigid/contact_law.h"

namespace costate::rigid {

enum class HardMode { open = 0, stick = 1, slip = 2 };

// T: double, or Dual<double>.
template <class T>
struct HardProblem {
  struct Point {
    int row, rows;
    HardMode mode = HardMode::open;
    double step = 1;    // r
    double weight = 1;  // the size of A; a constant, so that who carries more does not depend on what moves
  };
  int size = 0;  // rows of all points
  std::vector<Point> points;
  std::vector<T> A, b, mu;  // size x size, symmetric; mu of normals is 1
  std::vector<T> l;

  void reserve(int rows);
  void clear();
  void add_point(int rows, double weight = 1);
  void make_room();  // for A, b, mu and l of all points; zero
  T& a(int i, int j) { return A[static_cast<std::size_t>(i * size + j)]; }

  // E A E + R, E b, and w: filled by scale() and velocities().
  std::vector<T> C, c, w;
  double ridge = 1e-8;
  void scale();
  void velocities();
};

// A dense matrix as L U with its rows exchanged.
class DenseFactor {
 public:
  bool factor(const std::vector<double>& matrix, int size);  // false: singular
  void solve(double* x) const;
  void solve_transposed(double* x) const;
  void reserve(int size);

 private:
  int n_ = 0;
  std::vector<double> LU_;
  std::vector<int> row_;
  mutable std::vector<double> scratch_;
};

template <class T>
struct HardBar {
  std::vector<T> Y, mu, z;
  void reserve(int rows) {
    for (auto* values : {&Y, &mu, &z}) values->reserve(static_cast<std::size_t>(rows));
  }
};

class HardSolver {
 public:
  void reserve(int rows, bool dual);  // up to so many rows nothing is allocated

  // Fills l and the modes. Returns |F| relative to the impulses.
  double solve(HardProblem<double>& p);
  double solve(HardProblem<Dual<double>>& p);

  // At the solution, given modes and l; `lambda_bar` of all rows.
  template <class T>
  void vjp(HardProblem<T>& p, const std::vector<T>& lambda_bar, HardBar<T>& out);

 private:
  void sweep(HardProblem<double>& p);
  double natural_map(HardProblem<double>& p);                        // modes and F from l; |F|
  double approach(HardProblem<double>& p, int rounds, double goal);  // sweeps and Newton's method; |F|
  bool polish(HardProblem<double>& p, double goal);
  bool factor_piece(const HardProblem<double>& p);
  void keep_value(const HardProblem<Dual<double>>& p);

  HardProblem<double> value_;
  DenseFactor factor_;
  std::vector<double> F_, G_, start_, best_, before_, swept_;
  std::vector<Dual<double>> F_dual_, G_dual_;
};

}  // namespace costate::rigid
