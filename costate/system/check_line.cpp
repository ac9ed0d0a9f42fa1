#include "costate/system/check_line.h"

#include <cmath>
#include <limits>

#include "costate/core/error.h"
#include "costate/core/philox.h"

namespace costate::check {

Point::Point(Subject& subject, std::vector<double> at) : z(std::move(at)), gradient(z.size()) {
  value = subject.value_and_gradient(z, gradient.data(), pattern);
}

Line::Line(Subject& subject, const Point& from, const MovedTogether& field, std::uint64_t seed)
    : subject_(subject), from_(from), name_(field.name), direction_(from.z.size()) {
  for (const std::size_t i : field.members) {
    // A variable alone is moved by its scale, so that a slope is its derivative.
    const double n = double(field.members.size());
    direction_[i] = n == 1 ? 1 : normal(seed, std::uint32_t(i), 0) / std::sqrt(n);
    slope_ += from.gradient[i] * direction_[i];
    norm_ += from.gradient[i] * from.gradient[i];
  }
  norm_ = std::sqrt(norm_ / double(field.members.size()));
}

std::vector<double> Line::moved(double h) const {
  std::vector<double> to = from_.z;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += h * direction_[i];
  return to;
}

double Line::value(double h) const {
  try {
    return subject_.value(moved(h));
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::numerics) throw;
    return std::numeric_limits<double>::quiet_NaN();
  }
}

double Line::difference(double h) const {
  return (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + (value(3 * h) - value(-3 * h))) /
         (60 * h);
}

double Line::side(double h) const {
  return (-11 * from_.value + 18 * value(h) - 9 * value(2 * h) + 2 * value(3 * h)) / (6 * h);
}

bool Line::same_pattern(double h) const {
  if (from_.pattern.empty() && !subject_.has_modes()) return true;
  try {
    return Point(subject_, moved(h)).pattern == from_.pattern;
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::numerics) throw;
    return false;
  }
}

double Line::comparable(double h, int shortenings) const {
  for (int k = 0; k < shortenings; ++k, h /= 4) {
    bool same = true;
    for (const int i : {3, -3, 1, -1, 2, -2}) same = same && same_pattern(i * h);
    if (same) return h;
  }
  return 0;
}

}  // namespace costate::check
