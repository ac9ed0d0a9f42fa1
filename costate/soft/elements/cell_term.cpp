#include "costate/soft/elements/cell_term.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/soft/elements/shape.h"
#include "costate/soft/elements/small_matrix.h"

namespace costate::soft {
namespace {

constexpr int kMostVertices = 10, kMostNumbers = 5;

template <int C>
class CellTerm final : public Term {
 public:
  using Matrix = Small<3, C>;
  using Square = Small<C, C>;

  CellTerm(const Part& part, const Law<C>& law, const CellPlaces& places)
      : shape_(shape_of(part.cells)), law_(law), at_(places), numbers_(int(law.numbers().size())) {
    groups_ = {shape_.vertices, part.vertices};
  }

  void energy(const At& at, double* values) const override {
    parallel_for(groups_.count(), kGroupGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        values[e] = 0;
        for (int q = 0; q < shape_.points(); ++q)
          values[e] += point_energy(e, point_of(e, q, at.p, at.u), at);
      }
    });
  }

  void residual(const At& at, double* slots) const override {
    each(at, slots, [&](std::int64_t e, const Point& point, double* r) {
      Matrix P = stress(e, point, at);
      P *= point.volume;
      for (int a = 0; a < shape_.vertices; ++a) add_product(P, point.g[a], r + 3 * a);
    });
  }

  void matrix(const At& at, double* blocks) const override {
    const int nodes = shape_.vertices, pairs = nodes * (nodes + 1) / 2;
    parallel_for(groups_.count(), kGroupGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        double* k = blocks + 9 * pairs * e;
        std::fill(k, k + 9 * pairs, 0.0);
        for (int q = 0; q < shape_.points(); ++q) {
          const Point point = point_of(e, q, at.p, at.u);
          double A[9 * C * C];
          law_.stress_slope(gradient(e, point, at.z).e, point.c, A);
          if (at.convex) make_positive<3 * C>(A);
          if (point.eta != 0) add_viscosity(gradient(e, point, at.x), point.eta * at.rate, A);
          add_blocks(point, A, k);
        }
      }
    });
  }

  void residual_jvp(const At& at, const AtDot& dot, double* slots) const override {
    each(at, slots, [&](std::int64_t e, const Point& point, double* r) {
      const PointDot d = point_dot(e, point, dot.p, dot.u);
      const Matrix F = gradient(e, point, at.z), Fn = gradient(e, point, at.x), B = difference(e, point, at);
      const Matrix F_dot = -1.0 * (F * d.turn);
      Matrix Fn_dot = -1.0 * (Fn * d.turn), B_dot = -1.0 * (B * d.turn);
      if (dot.x) Fn_dot += gradient(e, point, dot.x);
      if (dot.w) B_dot += -1.0 * gradient(e, point, dot.w);
      const Matrix PV = stress(e, point, at);
      Matrix P_dot = slope_times(F, point.c, F_dot);
      law_.numbers_jvp(F.e, point.c, d.c, P_dot.e);
      const double s = point.eta * at.rate, s_dot = d.eta * at.rate + point.eta * dot.rate;
      P_dot += s_dot * (Fn * symmetric(Fn, B)) + s * (Fn_dot * symmetric(Fn, B)) +
               s * (Fn * (symmetric(Fn_dot, B) + symmetric(Fn, B_dot)));
      const Matrix sum = d.volume * PV + point.volume * P_dot - point.volume * (PV * transpose(d.turn));
      for (int a = 0; a < shape_.vertices; ++a) add_product(sum, point.g[a], r + 3 * a);
    });
  }

  void residual_vjp(const At& at, const double* mu, AtBar& bar) const override {
    const int nodes = shape_.vertices;
    double shared[kShared] = {};
    sum_groups(groups_.count(), bar.sums, shared, [&](std::int64_t e, double(&sums)[kShared]) {
      const auto slots = [&](double* all) { return all ? all + 3 * nodes * e : nullptr; };
      const CellBar to{slots(bar.x), slots(bar.w), slots(bar.rest)};
      for (double* begin : {to.x, to.w, to.rest})
        if (begin) std::fill(begin, begin + 3 * nodes, 0.0);
      double mass_bar = 0;  // of the whole mass of the cell
      for (int a = 0; a < nodes; ++a) mass_bar += shape_.share[std::size_t(a)] * bar.mass[vertex(e, a)];
      for (int q = 0; q < shape_.points(); ++q)
        point_vjp(e, point_of(e, q, at.p, at.u), at, mu, mass_bar, to, bar.p, sums);
    });
    for (int k = 0; k < numbers_; ++k) bar.p[at_.numbers[std::size_t(k)]] += shared[k];
    if (at_.driven >= 0) bar.u[at_.control] += shared[kControl];
    bar.p[at_.viscosity] += shared[kViscosity];
    bar.p[at_.density] += shared[kDensity];
    if (C == 2) bar.p[at_.thickness] += shared[kThickness];
    bar.rate += shared[kRate];
  }

  bool mass(const double* p, double* slots) const override {
    parallel_for(groups_.count(), kGroupGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        double volume = 0;
        for (int q = 0; q < shape_.points(); ++q) volume += point_of(e, q, p, nullptr).bare;
        for (int a = 0; a < shape_.vertices; ++a)
          slots[e * shape_.vertices + a] = shape_.share[std::size_t(a)] * p[at_.density] * volume;
      }
    });
    return true;
  }
  bool mass_jvp(const double* p, const double* p_dot, double* slots) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      double m_dot = 0;
      for (int q = 0; q < shape_.points(); ++q) {
        const Point point = point_of(e, q, p, nullptr);
        m_dot += point.bare *
                 (p_dot[at_.density] + p[at_.density] * trace(point_dot(e, point, p_dot, nullptr).turn));
      }
      for (int a = 0; a < shape_.vertices; ++a)
        slots[e * shape_.vertices + a] = shape_.share[std::size_t(a)] * m_dot;
    }
    return true;
  }

  std::int64_t undefined(const At& at) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e)
      for (int q = 0; q < shape_.points(); ++q)
        if (const Point point = point_of(e, q, at.p, at.u);
            !law_.defined(gradient(e, point, at.z).e, point.c))
          return e;
    return -1;
  }
  std::string complaint(std::int64_t e) const override {
    return "cell " + std::to_string(e) + " " + law_.complaint();
  }

 private:
  // A point of the quadrature in its rest shape.
  struct Point {
    double g[kMostVertices][C];
    Square inverse;     // J^-1
    Small<3, C> frame;  // Q, of membranes
    WarpFrame warp;     // of membranes whose law has directions
    double bare, volume, thickness, eta;
    double c[kMostNumbers];
    int q;
  };
  struct PointDot {
    Square turn;  // dJ J^-1: gradients change by -Y turn
    double volume, eta;
    double c[kMostNumbers];
  };

  int vertex(std::int64_t e, int a) const { return groups_.vertex[std::size_t(e * shape_.vertices + a)]; }

  // sum_a y_a dN_a
  Matrix raw(std::int64_t e, int q, const double* y) const {
    Matrix m;
    const double* slope = shape_.slopes(q);
    for (int a = 0; a < shape_.vertices; ++a) {
      const double* at = y + 3 * vertex(e, a);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < C; ++j) m(i, j) += at[i] * slope[C * a + j];
    }
    return m;
  }
  Point point_of(std::int64_t e, int q, const double* p, const double* u) const {
    Point r;
    r.q = q;
    const Matrix E = raw(e, q, p + at_.rest);
    Square J = in_frame(E, r.frame);
    if constexpr (C == 2)
      if (law_.directed()) r.warp = along_warp(at_.warp, J, r.frame);
    const double det = determinant(J);
    r.inverse = inverse(J);
    r.bare = shape_.weight[std::size_t(q)] * det;
    r.thickness = C == 2 ? p[at_.thickness] : 1;
    r.volume = r.thickness * r.bare;
    r.eta = p[at_.viscosity];
    for (int k = 0; k < numbers_; ++k) r.c[k] = p[at_.numbers[std::size_t(k)] + e * at_.stride];
    if (u && at_.driven >= 0) r.c[at_.driven] += u[at_.control];
    const double* slope = shape_.slopes(q);
    for (int a = 0; a < shape_.vertices; ++a)
      for (int j = 0; j < C; ++j) {
        r.g[a][j] = 0;
        for (int i = 0; i < C; ++i) r.g[a][j] += slope[C * a + i] * r.inverse(i, j);
      }
    return r;
  }
  PointDot point_dot(std::int64_t e, const Point& point, const double* p_dot, const double* u_dot) const {
    PointDot d{};
    if (u_dot && at_.driven >= 0) d.c[at_.driven] = u_dot[at_.control];
    if (!p_dot) return d;
    const Square J_dot = from_frame(point.frame, raw(e, point.q, p_dot + at_.rest));
    d.turn = J_dot * point.inverse;
    if constexpr (C == 2)
      if (law_.directed()) add_spin(point, raw(e, point.q, p_dot + at_.rest), d.turn);
    d.volume = point.volume * trace(d.turn);
    if (C == 2) d.volume += point.bare * p_dot[at_.thickness];
    d.eta = p_dot[at_.viscosity];
    for (int k = 0; k < numbers_; ++k) d.c[k] += p_dot[at_.numbers[std::size_t(k)] + e * at_.stride];
    return d;
  }

  // The frame turns in its plane where the rest shape leaves it: turn += spin [0 1; -1 0].
  static void add_spin(const Point& point, const Small<3, 2>& E_dot, Small<2, 2>& turn) {
    double spin = 0;
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 3; ++i)
        spin += point.warp.lean * point.warp.normal[i] * E_dot(i, j) * point.inverse(j, 1);
    turn(0, 1) += spin, turn(1, 0) -= spin;
  }
  static void add_spin_vjp(const Point& point, const Small<2, 2>& turn_bar, Small<3, 2>& E_bar) {
    const double spin_bar = turn_bar(0, 1) - turn_bar(1, 0);
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 3; ++i)
        E_bar(i, j) += spin_bar * point.warp.lean * point.warp.normal[i] * point.inverse(j, 1);
  }

  Matrix gradient(std::int64_t e, const Point& point, const double* y) const {
    Matrix m;
    for (int a = 0; a < shape_.vertices; ++a) add_outer(y + 3 * vertex(e, a), point.g[a], m);
    return m;
  }
  Matrix difference(std::int64_t e, const Point& point, const At& at) const {
    Matrix m;
    for (int a = 0; a < shape_.vertices; ++a) {
      const int v = 3 * vertex(e, a);
      const double d[3] = {at.z[v] - at.w[v], at.z[v + 1] - at.w[v + 1], at.z[v + 2] - at.w[v + 2]};
      add_outer(d, point.g[a], m);
    }
    return m;
  }
  double point_energy(std::int64_t e, const Point& point, const At& at) const {
    const Matrix F = gradient(e, point, at.z);
    if (!law_.defined(F.e, point.c)) return std::numeric_limits<double>::infinity();
    double w = law_.energy(F.e, point.c);
    if (point.eta != 0) {
      const Square rate = symmetric(gradient(e, point, at.x), difference(e, point, at));
      w += 0.5 * point.eta * at.rate * contract(rate, rate);
    }
    return point.volume * w;
  }
  // P + V
  Matrix stress(std::int64_t e, const Point& point, const At& at) const {
    Matrix P;
    law_.stress(gradient(e, point, at.z).e, point.c, P.e);
    if (point.eta != 0) {
      const Matrix Fn = gradient(e, point, at.x);
      P += (point.eta * at.rate) * (Fn * symmetric(Fn, difference(e, point, at)));
    }
    return P;
  }
  Matrix slope_times(const Matrix& F, const double* c, const Matrix& G) const {
    double A[9 * C * C];
    law_.stress_slope(F.e, c, A);
    Matrix r;
    for (int i = 0; i < 3 * C; ++i)
      for (int j = 0; j < 3 * C; ++j) r.e[i] += A[3 * C * i + j] * G.e[j];
    return r;
  }
  static void add_viscosity(const Matrix& Fn, double s, double* A) {
    for (int j = 0; j < 3 * C; ++j) {
      Matrix unit;
      unit.e[j] = 1;
      const Matrix column = s * (Fn * symmetric(Fn, unit));
      for (int i = 0; i < 3 * C; ++i) A[3 * C * i + j] += column.e[i];
    }
  }
  // k_ab += vol g_a' A g_b
  void add_blocks(const Point& point, const double* A, double* k) const {
    for (int b = 0; b < shape_.vertices; ++b) {
      double right[3 * C][3];  // A g_b
      for (int i = 0; i < 3 * C; ++i)
        for (int m = 0; m < 3; ++m) {
          double sum = 0;
          for (int l = 0; l < C; ++l) sum += A[3 * C * i + C * m + l] * point.g[b][l];
          right[i][m] = point.volume * sum;
        }
      for (int a = 0; a <= b; ++a) {
        double* block = k + 9 * (a * shape_.vertices - a * (a - 1) / 2 + b - a);
        for (int i = 0; i < 3; ++i)
          for (int m = 0; m < 3; ++m) {
            double sum = 0;
            for (int j = 0; j < C; ++j) sum += point.g[a][j] * right[C * i + j][m];
            block[3 * i + m] += sum;
          }
      }
    }
  }

  // Cotangents of one cell: its slots (rest null: not wanted), and its share of what all cells have in
  // common.
  struct CellBar {
    double *x, *w, *rest;
  };
  enum { kControl = kMostNumbers, kViscosity, kDensity, kThickness, kRate, kShared };

  void point_vjp(std::int64_t e, const Point& point, const At& at, const double* mu, double mass_bar,
                 const CellBar& to, double* p_bar, double (&shared)[kShared]) const {
    const Matrix F = gradient(e, point, at.z), Fn = gradient(e, point, at.x), B = difference(e, point, at),
                 G = gradient(e, point, mu);
    const double s = point.eta * at.rate;
    const Square SB = symmetric(Fn, B), SG = symmetric(Fn, G);
    Matrix PV = stress(e, point, at);
    const double work = contract(PV, G), viscous = contract(SB, SG);

    // Numbers.
    double c_bar[kMostNumbers] = {};
    law_.numbers_vjp(F.e, point.c, G.e, c_bar);
    for (int k = 0; k < numbers_; ++k)
      (at_.stride ? p_bar[at_.numbers[std::size_t(k)] + e * at_.stride] : shared[k]) +=
          point.volume * c_bar[k];
    if (at_.driven >= 0) shared[kControl] += point.volume * c_bar[at_.driven];
    shared[kViscosity] += point.volume * at.rate * viscous;
    shared[kDensity] += point.bare * mass_bar;
    shared[kThickness] += point.bare * work;
    shared[kRate] += point.volume * point.eta * viscous;

    // Gradients and the rest shape.
    const Matrix B_bar = (point.volume * s) * (Fn * SG);
    const Matrix Fn_bar = (point.volume * s) * (B * SG + G * SB);
    for (int a = 0; s != 0 && a < shape_.vertices; ++a) {
      add_product(Fn_bar, point.g[a], to.x + 3 * a);
      add_product(-1.0 * B_bar, point.g[a], to.w + 3 * a);
    }
    if (!to.rest) return;
    const Matrix F_bar = point.volume * slope_times(F, point.c, G);
    PV *= point.volume;
    Square J_bar = -1.0 * (transposed_product(F, F_bar) + transposed_product(B, B_bar) +
                           transposed_product(Fn, Fn_bar) + transposed_product(G, PV));
    const double mass = at.p[at_.density] * point.bare;
    for (int i = 0; i < C; ++i) J_bar(i, i) += point.volume * work + mass * mass_bar;
    Matrix E_bar = in_space(point.frame, J_bar * transpose(point.inverse));
    if constexpr (C == 2)
      if (law_.directed()) add_spin_vjp(point, J_bar, E_bar);
    const double* slope = shape_.slopes(point.q);
    for (int a = 0; a < shape_.vertices; ++a) add_product(E_bar, slope + C * a, to.rest + 3 * a);
  }

  template <class F>
  void each(const At& at, double* slots, const F& visit) const {
    const int nodes = shape_.vertices;
    parallel_for(groups_.count(), kGroupGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        double* r = slots + 3 * nodes * e;
        std::fill(r, r + 3 * nodes, 0.0);
        for (int q = 0; q < shape_.points(); ++q) visit(e, point_of(e, q, at.p, at.u), r);
      }
    });
  }

  const Shape& shape_;
  const Law<C>& law_;
  CellPlaces at_;
  int numbers_;
};

}  // namespace

std::unique_ptr<Term> solid_term(const Part& part, const SolidLaw& law, const CellPlaces& places) {
  return std::make_unique<CellTerm<3>>(part, law, places);
}
std::unique_ptr<Term> membrane_term(const Part& part, const MembraneLaw& law, const CellPlaces& places) {
  return std::make_unique<CellTerm<2>>(part, law, places);
}

}  // namespace costate::soft
