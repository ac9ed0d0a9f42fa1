// The nonlinear program of collocation.h, without a solver: unknowns, equations, and their exact derivatives
// as sparse blocks.
//
//   unknowns     x_i, u_i of point 0, then of point 1, ...
//   equations    n per Row, then one per constraint and point at which it has a term
//
// Tests: tests/control/collocation_test.cpp (derivatives against differences).
#pragma once

#include "costate/control/plan/collocation.h"

namespace costate::control {

class Transcription {
 public:
  Transcription(const Problem& problem, const CollocationOptions& options);

  int unknowns() const { return unknowns_; }
  int equations() const { return int(rows_.size()) * n_ + int(limits_.size()); }
  bool exact_hessian() const { return exact_; }
  std::vector<double> start(const std::vector<double>& controls) const;
  void bounds(std::vector<double>& lower, std::vector<double>& upper) const;
  void equation_bounds(std::vector<double>& lower, std::vector<double>& upper) const;

  double value(const double* z) const;
  void gradient(const double* z, double* g) const;
  void equations(const double* z, double* c) const;
  // Entries in a fixed order; the places once. Of the Hessian of sigma J + <lambda, c>: the lower triangle.
  struct Places {
    std::vector<int> row, column;
  };
  Places jacobian_places() const;
  void jacobian(const double* z, double* entries) const;
  Places hessian_places() const;
  void hessian(const double* z, double sigma, const double* lambda, double* entries) const;

  Collocated read(const double* z) const;

 private:
  struct Point {
    int at;          // of its state among the unknowns; the control follows
    std::int64_t k;  // the step whose terms are taken
    double weight;   // of its running cost
    bool has_control, mid;
  };
  struct Part {
    int point;
    double alpha, beta;
  };
  using Row = std::vector<Part>;
  struct Limit {
    int constraint, point;
  };

  void lay_out();
  void add_step_rows();
  void add_field_rows(double h);
  void add_limits();
  void find_exact();
  int width(const Point& p) const { return n_ + (p.has_control ? m_ : 0); }
  bool is_last(int point) const { return points_[std::size_t(point)].k == problem_.steps; }
  const double* control(const Point& p, const double* z) const {
    return p.has_control ? z + p.at + n_ : nullptr;
  }
  // f(point, block) for all points, on all threads.
  template <class F>
  void each_point(const F& f) const;
  // The costs of a point with their weights: f(objective's step, weight, with control).
  template <class F>
  void each_cost(int point, const F& f) const;

  const Problem& problem_;
  const CollocationOptions& options_;
  Plant plant_;
  int n_, m_, unknowns_ = 0;
  std::vector<Point> points_;
  std::vector<int> knots_, mids_;  // points
  std::vector<Row> rows_;
  std::vector<Limit> limits_;
  std::vector<std::vector<std::pair<int, double>>>
      rows_of_;  // of each point: rows that step enters, and beta
  bool exact_ = true;
};

}  // namespace costate::control
