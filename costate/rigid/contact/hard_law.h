// The impulses of all contact points of a world at once: complementarity and Coulomb's cone.
//
// u = b + A lambda is how the two sides of the points move after the impulses, normals less what they have to
// reach at least. For each point, normal first,
//
//   open    lambda = 0,                                        u_0 >= 0
//   stick   u = 0,                                             sum_k (lambda_k / mu_k)^2 <= lambda_0^2
//   slip    u_0 = 0, u_k = -rho lambda_k / mu_k^2, rho > 0,      with equality: most energy is lost       [1]
//
// which is impact_law.h's law, with a normal that may also stay open. With lambda = E l, E = diag(1, mu_1,
// mu_2, ...), and w = E u all three are one equation with some r > 0 [2]:
//
//   F_0 = l_0 - (s)_+,     F_t = l_t - proj(y),      s = l_0 - r w_0,   y = l_t - r w_t,
//       proj on the disc of radius (s)_+
//
// Several points under one body share its weight in infinitely many ways; where they slip in different
// directions its motion depends on how. A pull towards a centre c makes the answer unique: w + pull R (l - c)
// in place of w, R the bodies' inverse weight. The centre starts at 0 and then follows l (proximal points
// [4]), until the laws hold to rounding: of all answers the one that shares as evenly as can be.
//
// Solution. With a pull: sweeps over the points, each solved exactly given the others (Gauss-Seidel [3]),
// until Newton's method on F, whose pieces are smooth, takes over: it ends with the piece, the mode of every
// point. Where this fails it is tried from a wide pull on, which makes the points independent, to narrower
// ones; and then from points pressed together, since friction has several answers, and some paths end before
// they reach one. Where b lies within what bodies can do there always is one. Targets may contradict each
// other. A little, where the corners of a box that settles would have to stick at different heights: pulled
// points then stick as well as they can (least squares), which is smooth; what is left no longer changes.
// Much, where a body is between walls that are too near: the impulses grow without bound, and the first
// answer, with a pull to 0, stays: a ridge, rho R l in w.
//
// Transpose. With G = dF/dl on the piece, G' z = E lambda_bar, w_bar = -(dF/dw)' z and Y = E w_bar
//
//   b_bar = Y,      A_bar = Y lambda',      mu_bar_k = w_bar_k u_k + l_k (A Y + lambda_bar)_k
//
// One linear system; nothing of the iteration is kept. G has no inverse where impulses are not unique; it is
// solved with a pull, and what is left again, until that no longer changes. What then still is left no z can
// reach; taken off the right side, the rest has a z that does not grow with the number of passes. Duals have
// their tangents from the same G, solved in the same way, which is the transpose of the other: with T = 1 -
// (G + pull)^-1 G, P = T^infinity and f what the inputs' tangents make of -F,
//
//   l_dot = sum_k (T^k - P) (G + pull)^-1 f
//
// Sharing. The left null vectors of G, N' G = 0, lie on rows without a slip, where N' J = 0. Every pass of
// the solution keeps N' R l = 0, whatever slips meanwhile: the answer is the one with R l = E J a on these
// rows, for some a. Where slipping points make the motion depend on the share, its derivative is that of this
// condition. With G m = (dF/dw) R l and a = M^-1 J' E m
//
//   N' R l_dot = N' ((E J)_dot a - R_dot l),   l_dot += P (G + pull)^-1 pull (dF/dw) (C_dot m - R_dot l)
//
// and with q = pull (G + pull)^-T (what is left) the transpose adds r q (E m)' to A_bar, scaled by E, whose
// other half vanishes: J_bar += (E r q) a'. In R, the bodies' inverse weights count as constants.
//
// Where others carry all of the load a point lies on its plane with an impulse of 0, and rounding alone would
// say whether it is open or slips in some direction. It is open: of all shares the most even one has no
// impulse there, and neither have those near it.
//
// [1] Moreau: Unilateral contact and dry friction in finite freedom dynamics, 1988.
// [2] Alart, Curnier: A mixed formulation for frictional contact problems prone to Newton like solution
//     methods, CMAME 92 (1991).
// [3] Jean: The non-smooth contact dynamics method, CMAME 177 (1999).
// [4] Rockafellar: Monotone operators and the proximal point algorithm, SIAM J. Control Optim. 14 (1976).
// The solution is in hard_solver.cpp, the pieces of F in hard_piece.h, what rounding decides in hard_tie.cpp.
// Tests: tests/rigid/contact/hard_law_test.cpp.
#pragma once

#include <vector>

#include "costate/ad/dual.h"
#include "costate/rigid/contact/contact_law.h"
#include "costate/solve/dense_lu.h"

namespace costate::rigid {

inline constexpr double kHardPull = 1e-3;  // of the bodies' inverse weight
inline constexpr double kHardSlack =
    1e-6;  // of the impulses: what may be left where the laws contradict each other

enum class HardMode { open = 0, stick = 1, slip = 2 };

// T: double, or Dual<double>.
template <class T>
struct HardProblem {
  struct Point {
    int row, rows;
    HardMode mode = HardMode::open;
    double step = 1;     // r
    double weight = 1;   // the size of A; a constant, so that who carries more does not depend on what moves
    double nothing = 0;  // an impulse up to this one is rounding: the point is open
    bool tied = false;   // its mode is within rounding of another one, with another slope: note_ties()
  };
  int size = 0;  // rows of all points
  std::vector<Point> points;
  std::vector<T> A, b, mu;  // size x size, symmetric; mu of normals is 1
  std::vector<T> l;

  void reserve(int rows);
  void clear();
  void add_point(int rows, double weight = 1);
  void make_room();  // for A, b, mu and l of all points; zero
  T& a(int i, int j) { return A[i * size + j]; }

  // E A E, E b, R, and w: filled by scale() and velocities().
  std::vector<T> C, c, w;
  std::vector<double> R;
  double ridge = 0;         // rho: 0, or kHardPull where no impulses obey the laws
  double rounding = 1e-16;  // of A and b
  void scale();
  void velocities();
};

template <class T>
struct HardBar {
  std::vector<T> Y, mu, z;
  // Where the motion depends on the share: A_bar = Y lambda' + share_bar share'. Tangents of duals are left
  // out here.
  bool shares = false;
  std::vector<double> share_bar, share;
  void reserve(int rows) {
    for (auto* values : {&Y, &mu, &z}) values->reserve(rows);
    for (auto* values : {&share_bar, &share}) values->reserve(rows);
  }
};

class HardSolver {
 public:
  void reserve(int rows, bool dual);  // up to so many rows nothing is allocated

  // Fills l, the modes and the ridge. Returns |F| relative to the impulses; at rounding, at kHardSlack at
  // most, or the ridge is set.
  double solve(HardProblem<double>& p);

  // At the solution: which points are tied (hard_tie.cpp).
  void note_ties(HardProblem<double>& p);

  // At the solution, given modes, values of l and the ridge: tangents of l.
  void tangent(HardProblem<Dual<double>>& p);

  // At the solution, given modes, l and the ridge; `lambda_bar` of all rows.
  template <class T>
  void vjp(HardProblem<T>& p, const std::vector<T>& lambda_bar, HardBar<T>& out);

 private:
  void sweep(HardProblem<double>& p);
  double natural_map(HardProblem<double>& p);                        // modes and F from l; |F|
  double approach(HardProblem<double>& p, int rounds, double goal);  // sweeps and Newton's method; |F|
  bool polish(HardProblem<double>& p, double goal);
  bool descend(HardProblem<double>& p, double goal);
  double tighten(HardProblem<double>& p, double goal, double slack, double runs_away);
  bool factor_piece(const HardProblem<double>& p, double pull);
  template <class Left, class Solve>
  void refine(const HardProblem<double>& p, double terms, const Left& left, const Solve& solve, int stride,
              double* x);
  template <class Left, class Solve>
  double refine_once(const HardProblem<double>& p, double terms, const Left& left, const Solve& solve,
                     int stride, double* x);
  void note_rounding(HardProblem<double>& p);
  enum class Tie : unsigned char { none, parts, slides };
  bool factor_held(const HardProblem<double>& p);
  bool held_by_others(const HardProblem<double>& p, int row);
  void even_share(const HardProblem<double>& p);  // m, into even_
  template <class T>
  void share_vjp(const HardProblem<double>& p, HardBar<T>& out);
  void keep_value(const HardProblem<Dual<double>>& p);

  HardProblem<double> value_;
  solve::DenseLu<double> factor_;
  double pull_ = 0;
  bool settled_ = false;
  std::vector<double> centre_;
  std::vector<int> rows_;
  std::vector<Tie> ties_;
  std::vector<double> F_, G_, exact_, start_, best_, before_, swept_, kept_, pulled_, left_, last_, unmet_,
      even_, load_;
  std::vector<Dual<double>> F_dual_, G_dual_;
};

}  // namespace costate::rigid
