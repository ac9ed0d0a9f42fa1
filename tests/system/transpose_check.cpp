// The Jacobian of one step, row by row by its transpose and column by column by its tangent, lanes() of
// either at once. Small systems are compared in every entry. Large ones in the rows and columns that belong
// to some random columns: the rows where those are largest, and the columns where these rows are largest.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "costate/core/philox.h"
#include "tests/system/contract.h"
#include "tests/system/entry_points.h"

namespace costate::test {
namespace {

constexpr std::int64_t kAllRows = 256, kAllColumns = 2500;  // up to so many: every entry
constexpr int kSampled = 16;

template <class Real>
class Jacobian {
 public:
  Jacobian(const System<Real>& system, const Arguments<Real>& at)
      : system_(system),
        lanes_(system.lanes()),
        n_(system.signature().states()),
        nu_(system.signature().controls()),
        np_(system.signature().parameters()),
        work_(system.make_workspace()),
        x_(n_ * lanes_),
        u_(nu_ * lanes_),
        p_(np_ * lanes_),
        y_(n_ * lanes_),
        active_{std::vector<bool>(system.signature().fields(Role::parameter).size(), true), true},
        tape_size_(system.tape(active_, {}).size),
        tape_(tape_size_ * lanes_),
        width_(draws_noise(system, at) ? 1 : lanes_) {
    const auto spread = [&](std::span<const Real> from, AlignedBuffer<Real>& to, std::int64_t offset,
                            std::int64_t size) {
      for (std::int64_t i = 0; i < size; ++i)
        std::fill_n(to.data() + (offset + i) * lanes_, lanes_, from[std::size_t(i)]);
    };
    spread(at.x0, x_, 0, n_);
    spread(at.controls, u_, 0, nu_);
    const auto& fields = system.signature().fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f)
      spread(at.parameters.values(f), p_, fields[f].offset, fields[f].size);
    system.step({}, in(), y_.data(), tape_size_ > 0 ? tape_.data() : nullptr, *work_);
  }

  std::int64_t rows() const { return n_; }
  std::int64_t columns() const { return n_ + nu_ + np_; }
  std::string row_name(std::int64_t i) const { return system_.signature().describe(Role::state, i); }
  std::string column_name(std::int64_t j) const {
    const auto& s = system_.signature();
    if (j < n_) return s.describe(Role::state, j);
    return j < n_ + nu_ ? s.describe(Role::control, j - n_) : s.describe(Role::parameter, j - n_ - nu_);
  }

  using Lines = std::map<std::int64_t, std::vector<Real>>;
  Lines by_transpose(const std::set<std::int64_t>& wanted) {
    AlignedBuffer<Real> y_bar(n_ * lanes_), x_bar(n_ * lanes_), u_bar(nu_ * lanes_), p_bar(np_ * lanes_);
    Lines lines;
    in_groups(wanted, [&](const std::vector<std::int64_t>& group) {
      std::fill_n(y_bar.data(), n_ * lanes_, Real(0));
      std::fill_n(u_bar.data(), nu_ * lanes_, Real(0));
      std::fill_n(p_bar.data(), np_ * lanes_, Real(0));
      for (std::size_t l = 0; l < group.size(); ++l) y_bar.data()[group[l] * lanes_ + std::int64_t(l)] = 1;
      system_.step_vjp({}, in(), tape_size_ > 0 ? tape_.data() : nullptr, y_bar.data(),
                       {x_bar.data(), nu_ > 0 ? u_bar.data() : nullptr, p_bar.data()}, active_, *work_);
      for (std::size_t l = 0; l < group.size(); ++l) {
        std::vector<Real>& line = lines[group[l]];
        for (const auto& [numbers, size] :
             {std::pair{x_bar.data(), n_}, {u_bar.data(), nu_}, {p_bar.data(), np_}})
          for (std::int64_t i = 0; i < size; ++i) line.push_back(numbers[i * lanes_ + std::int64_t(l)]);
      }
    });
    return lines;
  }
  Lines by_tangents(const std::set<std::int64_t>& wanted) {
    AlignedBuffer<Real> dot(columns() * lanes_), y_dot(n_ * lanes_);
    Lines lines;
    in_groups(wanted, [&](const std::vector<std::int64_t>& group) {
      std::fill_n(dot.data(), columns() * lanes_, Real(0));
      for (std::size_t l = 0; l < group.size(); ++l) dot.data()[group[l] * lanes_ + std::int64_t(l)] = 1;
      system_.step_jvp(
          {}, in(),
          {dot.data(), nu_ > 0 ? dot.data() + n_ * lanes_ : nullptr, dot.data() + (n_ + nu_) * lanes_},
          y_.data(), y_dot.data(), *work_);
      for (std::size_t l = 0; l < group.size(); ++l) {
        std::vector<Real>& line = lines[group[l]];
        for (std::int64_t i = 0; i < n_; ++i) line.push_back(y_dot.data()[i * lanes_ + std::int64_t(l)]);
      }
    });
    return lines;
  }

 private:
  Inputs<Real> in() const { return {x_.data(), nu_ > 0 ? u_.data() : nullptr, p_.data()}; }
  template <class F>
  void in_groups(const std::set<std::int64_t>& wanted, const F& f) const {
    std::vector<std::int64_t> group;
    for (const std::int64_t line : wanted) {
      group.push_back(line);
      if (std::int64_t(group.size()) == width_) f(group), group.clear();
    }
    if (!group.empty()) f(group);
  }

  const System<Real>& system_;
  const int lanes_;
  const std::int64_t n_, nu_, np_;
  std::unique_ptr<Workspace> work_;
  AlignedBuffer<Real> x_, u_, p_, y_;
  const Activity active_;
  const std::int64_t tape_size_;
  AlignedBuffer<Real> tape_;
  const std::int64_t width_;  // directions at once: lanes with different noise are different maps
};

void add_all(std::set<std::int64_t>& to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to.insert(i);
}
// The two largest numbers of line[begin, end).
template <class Real>
void add_largest(std::set<std::int64_t>& to, const std::vector<Real>& line, std::int64_t begin,
                 std::int64_t end) {
  std::vector<std::int64_t> index;
  for (std::int64_t i = begin; i < end; ++i) index.push_back(i);
  const auto two = std::min<std::ptrdiff_t>(2, std::ssize(index));
  std::partial_sort(index.begin(), index.begin() + two, index.end(), [&](std::int64_t a, std::int64_t b) {
    return std::abs(line[std::size_t(a)]) > std::abs(line[std::size_t(b)]);
  });
  to.insert(index.begin(), index.begin() + two);
}

}  // namespace

template <class Real>
bool draws_noise(const System<Real>& system, const Arguments<Real>& at) {
  const Signature& signature = system.signature();
  const std::int64_t lanes = system.lanes(), n = signature.states(), nu = signature.controls();
  AlignedBuffer<Real> x(n * lanes), u(nu * lanes), p(signature.parameters() * lanes),
      y[2] = {AlignedBuffer<Real>(n * lanes), AlignedBuffer<Real>(n * lanes)};
  const auto spread = [&](std::span<const Real> from, Real* to, std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i) std::fill_n(to + i * lanes, lanes, from[std::size_t(i)]);
  };
  spread(at.x0, x.data(), n);
  spread(at.controls, u.data(), nu);
  const auto& fields = signature.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f)
    spread(at.parameters.values(f), p.data() + fields[f].offset * lanes, fields[f].size);
  const auto work = system.make_workspace();
  for (const std::int64_t world : {0, 1})
    system.step({.world = world}, {x.data(), nu > 0 ? u.data() : nullptr, p.data()}, y[world].data(), nullptr,
                *work);
  return !std::equal(y[0].data(), y[0].data() + n * lanes, y[1].data());
}
template bool draws_noise(const System<float>&, const Arguments<float>&);
template bool draws_noise(const System<double>&, const Arguments<double>&);

template <class Real>
void expect_transpose_matches_dual(const System<Real>& system, const Arguments<Real>& at, double gate) {
  Jacobian<Real> jacobian(system, at);
  const Signature& signature = system.signature();
  const std::int64_t n = jacobian.rows(), inputs = jacobian.columns();
  std::set<std::int64_t> rows, columns;
  typename Jacobian<Real>::Lines by_rows;
  if (n <= kAllRows && inputs <= kAllColumns) {
    add_all(rows, n);
    add_all(columns, inputs);
    by_rows = jacobian.by_transpose(rows);
  } else {
    for (int i = 0; i < kSampled; ++i)
      columns.insert(std::int64_t(uniform(5, 0, std::uint64_t(i)) * double(inputs)));
    for (const Role role : {Role::control, Role::parameter}) {  // one of each field
      const std::int64_t begin = role == Role::control ? n : n + signature.controls();
      for (const Field& field : signature.fields(role))
        columns.insert(begin + field.offset +
                       std::int64_t(uniform(6, 0, std::uint64_t(field.offset)) * double(field.size)));
    }
    for (const auto& [j, line] : jacobian.by_tangents(columns)) add_largest(rows, line, 0, n);
    by_rows = jacobian.by_transpose(rows);
    for (const auto& [i, line] : by_rows) {
      add_largest(columns, line, 0, n);
      add_largest(columns, line, n, n + signature.controls());
      add_largest(columns, line, n + signature.controls(), inputs);
    }
  }
  const auto by_columns = jacobian.by_tangents(columns);
  double scale = 0;
  for (const auto& [j, line] : by_columns)
    for (const Real value : line) scale = std::max(scale, std::abs(double(value)));
  for (const auto& [i, row] : by_rows) {
    for (const auto& [j, column] : by_columns) {
      const double transposed = row[std::size_t(j)], tangent = column[std::size_t(i)];
      EXPECT_NEAR(transposed, tangent, gate * std::max({std::abs(tangent), 1.0, 1e-3 * scale}))
          << "step_vjp against step_jvp: d " << jacobian.row_name(i) << " / d " << jacobian.column_name(j);
    }
  }
}

template void expect_transpose_matches_dual(const System<float>&, const Arguments<float>&, double);
template void expect_transpose_matches_dual(const System<double>&, const Arguments<double>&, double);

}  // namespace costate::test
