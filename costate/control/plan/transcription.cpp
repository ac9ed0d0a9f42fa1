#include "costate/control/plan/transcription.h"

#include <algorithm>
#include <cmath>

#include "costate/control/dense.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/core/text.h"

namespace costate::control {
namespace {

constexpr double kFree = 2e19;  // what Ipopt takes for infinity

void expect(std::size_t has, std::int64_t wanted, const char* what) {
  if (has == 0 || std::int64_t(has) == wanted) return;
  throw Error(std::string(what) + " has " + std::to_string(has) + " numbers instead of " +
              std::to_string(wanted));
}

}  // namespace

Transcription::Transcription(const Problem& problem, const CollocationOptions& options)
    : problem_(problem),
      options_(options),
      plant_(problem.system, problem.parameters, problem.space, problem.seed),
      n_(plant_.states()),
      m_(plant_.controls()) {
  if (plant_.tangents() != n_)
    throw Error({"a transcription has the states as unknowns, and some of these are quaternions",
                 {},
                 "use plan(), which counts in rotations"});
  if (!problem.objective || problem.steps < 1)
    throw Error("a transcription needs an objective and at least one step");
  if (std::int64_t(problem.x0.size()) != n_)
    throw Error("x0 has " + std::to_string(problem.x0.size()) + " numbers instead of " + std::to_string(n_));
  if (options.scheme != Scheme::steps && !(options.h > 0))
    throw Error(
        {"the time between knots is " + number(options.h), {}, "set h to the duration over the steps"});
  for (const auto& [given, what] :
       {std::pair(&options.x_lower, "x_lower"), {&options.x_upper, "x_upper"}, {&options.x_last, "x_last"}})
    expect(given->size(), n_, what);
  expect(problem.lower.size(), m_, "lower"), expect(problem.upper.size(), m_, "upper");
  expect(options.states.size(), (problem.steps + 1) * n_, "states");
  lay_out();
  add_limits();
  find_exact();
}

void Transcription::lay_out() {
  const bool field = options_.scheme != Scheme::steps, mid = options_.scheme == Scheme::hermite_simpson;
  const double h = field ? options_.h : 1;
  const auto add = [&](std::int64_t k, double weight, bool control, bool middle) {
    (middle ? mids_ : knots_).push_back(int(points_.size()));
    points_.push_back({unknowns_, k, weight, control, middle});
    unknowns_ += width(points_.back());
  };
  for (std::int64_t k = 0; k <= problem_.steps; ++k) {
    const bool end = k == 0 || k == problem_.steps;
    const double weight = !field ? 1 : h / (mid ? 3 : 1) * (end ? 0.5 : 1);
    add(k, weight, field || k < problem_.steps, false);
    if (mid && k < problem_.steps) add(k, 2 * h / 3, true, true);
  }
  field ? add_field_rows(h) : add_step_rows();
  rows_of_.resize(points_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (const Part& part : rows_[r])
      if (part.beta != 0) rows_of_[std::size_t(part.point)].emplace_back(int(r), part.beta);
}

void Transcription::add_step_rows() {
  for (std::size_t k = 0; k + 1 < knots_.size(); ++k)
    rows_.push_back({{knots_[k], 0, -1}, {knots_[k + 1], 1, 0}});
}

// f = step - x: each beta f is beta step - beta x.
void Transcription::add_field_rows(double h) {
  const auto part = [](int point, double of_x, double of_f) { return Part{point, of_x - of_f, of_f}; };
  for (std::size_t k = 0; k + 1 < knots_.size(); ++k) {
    const int a = knots_[k], b = knots_[k + 1];
    if (mids_.empty()) {
      rows_.push_back({part(a, -1, -h / 2), part(b, 1, -h / 2)});
      continue;
    }
    const int c = mids_[k];
    rows_.push_back({part(a, -0.5, -h / 8), part(c, 1, 0), part(b, -0.5, h / 8)});
    rows_.push_back({part(a, -1, -h / 6), part(c, 0, -4 * h / 6), part(b, 1, -h / 6)});
  }
}

void Transcription::add_limits() {
  for (const int point : knots_) {
    const std::int64_t k = points_[std::size_t(point)].k;
    for (std::size_t j = 0; j < problem_.constraints.size(); ++j)
      if (problem_.constraints[j].of->next(k, problem_.steps) == k) limits_.push_back({int(j), point});
  }
}

template <class F>
void Transcription::each_point(const F& f) const {
  parallel_for(std::int64_t(points_.size()), 4, [&](std::int64_t begin, std::int64_t end) {
    auto block = plant_.take();
    for (std::int64_t i = begin; i < end; ++i) f(int(i), *block);
    plant_.give_back(std::move(block));
  });
}

// Of a field the last knot has a rate of cost as well, that of the step before it, and the term of the end.
template <class F>
void Transcription::each_cost(int point, const F& f) const {
  const Point& p = points_[std::size_t(point)];
  const std::int64_t N = problem_.steps, k = std::min(p.k, N - 1);
  if (p.has_control && problem_.objective->next(k, N) == k) f(k, p.weight, true);
  if (p.k == N && problem_.objective->next(N, N) == N) f(N, 1.0, false);
}

// Second derivatives where the plan begins: an objective without them throws.
void Transcription::find_exact() {
  exact_ = plant_.system().capabilities().second_order;
  if (!exact_) return;
  const std::vector<double> z = start(std::vector<double>(std::size_t(m_), 0.1)),
                            lambda(std::size_t(equations()), 1.0);
  std::vector<double> entries(hessian_places().row.size());
  try {
    hessian(z.data(), 1, lambda.data(), entries.data());
  } catch (const Error&) {
    exact_ = false;
  }
}

std::vector<double> Transcription::start(const std::vector<double>& controls) const {
  const auto N = std::size_t(problem_.steps), n = std::size_t(n_), m = std::size_t(m_);
  if (controls.size() != m && controls.size() != N * m)
    throw Error("the controls to start from have " + std::to_string(controls.size()) +
                " numbers instead of " + std::to_string(m) + " or " + std::to_string(N * m));
  std::vector<double> z(static_cast<std::size_t>(unknowns_));
  for (const Point& p : points_) {
    const double along = (double(p.k) + (p.mid ? 0.5 : 0)) / double(N);
    for (std::size_t i = 0; i < n; ++i) {
      const auto given = [&](std::size_t k) { return options_.states[std::min(k, N) * n + i]; };
      const double last =
          options_.x_last.empty() || std::isnan(options_.x_last[i]) ? problem_.x0[i] : options_.x_last[i];
      const auto k = std::size_t(p.k);
      z[std::size_t(p.at) + i] = options_.states.empty() ? problem_.x0[i] + along * (last - problem_.x0[i])
                                 : p.mid                 ? 0.5 * (given(k) + given(k + 1))
                                                         : given(k);
    }
    for (std::size_t j = 0; p.has_control && j < m; ++j)
      z[std::size_t(p.at) + n + j] =
          controls.size() == m ? controls[j] : controls[std::min(std::size_t(p.k), N - 1) * m + j];
  }
  return z;
}

void Transcription::bounds(std::vector<double>& lower, std::vector<double>& upper) const {
  lower.assign(std::size_t(unknowns_), -kFree), upper.assign(std::size_t(unknowns_), kFree);
  for (const Point& p : points_) {
    for (int i = 0; i < n_; ++i) {
      const auto at = std::size_t(p.at + i), from = std::size_t(i);
      if (!options_.x_lower.empty()) lower[at] = options_.x_lower[from];
      if (!options_.x_upper.empty()) upper[at] = options_.x_upper[from];
      if (p.k == 0 && !p.mid) lower[at] = upper[at] = problem_.x0[from];
      if (p.k == problem_.steps && !options_.x_last.empty() && !std::isnan(options_.x_last[from]))
        lower[at] = upper[at] = options_.x_last[from];
    }
    for (int j = 0; p.has_control && j < m_; ++j) {
      if (!problem_.lower.empty()) lower[std::size_t(p.at + n_ + j)] = problem_.lower[std::size_t(j)];
      if (!problem_.upper.empty()) upper[std::size_t(p.at + n_ + j)] = problem_.upper[std::size_t(j)];
    }
  }
}

void Transcription::equation_bounds(std::vector<double>& lower, std::vector<double>& upper) const {
  lower.assign(std::size_t(equations()), 0.0), upper = lower;
  for (std::size_t j = 0; j < limits_.size(); ++j)
    if (!problem_.constraints[std::size_t(limits_[j].constraint)].equality)
      lower[rows_.size() * std::size_t(n_) + j] = -kFree;
}

double Transcription::value(const double* z) const {
  std::vector<double> of_point(points_.size(), 0.0);
  each_point([&](int i, Plant::Block& block) {
    const Point& p = points_[std::size_t(i)];
    each_cost(i, [&](std::int64_t k, double weight, bool with_control) {
      of_point[std::size_t(i)] += weight * plant_.value(*problem_.objective, k, problem_.steps, z + p.at,
                                                        with_control ? control(p, z) : nullptr, block);
    });
  });
  double sum = 0;
  for (const double part : of_point) sum += part;
  return sum;
}

void Transcription::gradient(const double* z, double* g) const {
  std::fill_n(g, unknowns_, 0.0);
  each_point([&](int i, Plant::Block& block) {
    const Point& p = points_[std::size_t(i)];
    each_cost(i, [&](std::int64_t k, double weight, bool with_control) {
      plant_.add_gradient(*problem_.objective, k, problem_.steps, z + p.at,
                          with_control ? control(p, z) : nullptr, weight,
                          {g + p.at, g + p.at + n_, nullptr, nullptr, nullptr}, block);
    });
  });
}

void Transcription::equations(const double* z, double* c) const {
  std::vector<double> y(points_.size() * std::size_t(n_));
  each_point([&](int i, Plant::Block& block) {
    const Point& p = points_[std::size_t(i)];
    if (!rows_of_[std::size_t(i)].empty())
      plant_.step(p.k, z + p.at, control(p, z), &y[std::size_t(i * n_)], block);
  });
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (int i = 0; i < n_; ++i) {
      double sum = 0;
      for (const Part& part : rows_[r])
        sum += part.alpha * z[points_[std::size_t(part.point)].at + i] +
               part.beta * y[std::size_t(part.point * n_ + i)];
      c[r * std::size_t(n_) + std::size_t(i)] = sum;
    }
  }
  auto block = plant_.take();
  for (std::size_t j = 0; j < limits_.size(); ++j) {
    const Point& p = points_[std::size_t(limits_[j].point)];
    c[rows_.size() * std::size_t(n_) + j] =
        plant_.value(*problem_.constraints[std::size_t(limits_[j].constraint)].of, p.k, problem_.steps,
                     z + p.at, is_last(limits_[j].point) ? nullptr : control(p, z), *block);
  }
  plant_.give_back(std::move(block));
}

// Of each row and part a block, dense where step enters, otherwise diagonal; then of each limit a row.
Transcription::Places Transcription::jacobian_places() const {
  Places to;
  const auto add = [&](int row, int column) { to.row.push_back(row), to.column.push_back(column); };
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (const Part& part : rows_[r]) {
      const Point& p = points_[std::size_t(part.point)];
      for (int i = 0; i < n_; ++i) {
        if (part.beta == 0) add(int(r) * n_ + i, p.at + i);
        for (int j = 0; part.beta != 0 && j < width(p); ++j) add(int(r) * n_ + i, p.at + j);
      }
    }
  for (std::size_t j = 0; j < limits_.size(); ++j) {
    const Point& p = points_[std::size_t(limits_[j].point)];
    for (int i = 0; i < width(p); ++i) add(int(rows_.size()) * n_ + int(j), p.at + i);
  }
  return to;
}

void Transcription::jacobian(const double* z, double* entries) const {
  const auto nn = std::size_t(n_ * n_), nm = std::size_t(n_ * m_);
  std::vector<double> A(points_.size() * nn), B(points_.size() * nm);
  each_point([&](int i, Plant::Block& block) {
    const Point& p = points_[std::size_t(i)];
    if (!rows_of_[std::size_t(i)].empty())
      plant_.linearise(p.k, z + p.at, control(p, z), &A[std::size_t(i) * nn], &B[std::size_t(i) * nm], block);
  });
  for (const Row& row : rows_)
    for (const Part& part : row) {
      const auto at = std::size_t(part.point);
      for (int i = 0; i < n_; ++i) {
        if (part.beta == 0) *entries++ = part.alpha;
        for (int j = 0; part.beta != 0 && j < width(points_[at]); ++j) {
          const double d =
              j < n_ ? A[at * nn + std::size_t(i * n_ + j)] : B[at * nm + std::size_t(i * m_ + j - n_)];
          *entries++ = part.beta * d + (i == j ? part.alpha : 0);
        }
      }
    }
  auto block = plant_.take();
  for (const Limit& limit : limits_) {
    const Point& p = points_[std::size_t(limit.point)];
    std::fill_n(entries, width(p), 0.0);
    plant_.add_gradient(*problem_.constraints[std::size_t(limit.constraint)].of, p.k, problem_.steps,
                        z + p.at, is_last(limit.point) ? nullptr : control(p, z), 1,
                        {entries, entries + n_, nullptr, nullptr, nullptr}, *block);
    entries += width(p);
  }
  plant_.give_back(std::move(block));
}

Transcription::Places Transcription::hessian_places() const {
  Places to;
  for (const Point& p : points_)
    for (int i = 0; i < width(p); ++i)
      for (int j = 0; j <= i; ++j) to.row.push_back(p.at + i), to.column.push_back(p.at + j);
  return to;
}

void Transcription::hessian(const double* z, double sigma, const double* lambda, double* entries) const {
  std::vector<std::size_t> first(points_.size() + 1, 0);
  for (std::size_t i = 0; i < points_.size(); ++i)
    first[i + 1] = first[i] + std::size_t(width(points_[i]) * (width(points_[i]) + 1) / 2);
  each_point([&](int i, Plant::Block& block) {
    const Point& p = points_[std::size_t(i)];
    const double *const x = z + p.at, *const u = control(p, z);
    Matrix Q = Matrix::Zero(n_, n_), S = Matrix::Zero(m_, n_), R = Matrix::Zero(m_, m_);
    Vector q = Vector::Zero(n_), r = Vector::Zero(m_);
    const Plant::Quadratic to{q.data(), r.data(), Q.data(), S.data(), R.data()};
    each_cost(i, [&](std::int64_t k, double weight, bool with_control) {
      plant_.add_hessian(*problem_.objective, k, problem_.steps, x, with_control ? u : nullptr,
                         sigma * weight, to, block);
    });
    for (std::size_t j = 0; j < limits_.size(); ++j)
      if (limits_[j].point == i)
        plant_.add_hessian(*problem_.constraints[std::size_t(limits_[j].constraint)].of, p.k, problem_.steps,
                           x, is_last(i) ? nullptr : u, lambda[rows_.size() * std::size_t(n_) + j], to,
                           block);
    Vector mu = Vector::Zero(n_);
    for (const auto& [row, beta] : rows_of_[std::size_t(i)]) mu += beta * VectorIn(lambda + row * n_, n_);
    if (!rows_of_[std::size_t(i)].empty())
      plant_.add_curvature(p.k, x, u, x, mu.data(), Q.data(), S.data(), R.data(), block);
    double* at = entries + first[std::size_t(i)];
    for (int a = 0; a < width(p); ++a)
      for (int b = 0; b <= a; ++b)
        *at++ = a < n_   ? 0.5 * (Q(a, b) + Q(b, a))
                : b < n_ ? S(a - n_, b)
                         : 0.5 * (R(a - n_, b - n_) + R(b - n_, a - n_));
  });
}

Collocated Transcription::read(const double* z) const {
  Collocated to;
  for (const Point& p : points_) {
    auto &x = p.mid ? to.x_mid : to.x, &u = p.mid ? to.u_mid : to.u;
    x.insert(x.end(), z + p.at, z + p.at + n_);
    if (p.has_control) u.insert(u.end(), z + p.at + n_, z + p.at + n_ + m_);
  }
  to.value = value(z);
  std::vector<double> c(static_cast<std::size_t>(equations()));
  equations(z, c.data());
  for (std::size_t j = 0; j < c.size(); ++j) {
    const bool limit = j >= rows_.size() * std::size_t(n_);
    const bool one_sided =
        limit &&
        !problem_.constraints[std::size_t(limits_[j - rows_.size() * std::size_t(n_)].constraint)].equality;
    to.violation = std::max(to.violation, one_sided ? c[j] : std::abs(c[j]));
  }
  return to;
}

}  // namespace costate::control
