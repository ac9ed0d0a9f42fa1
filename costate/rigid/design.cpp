#include "costate/rigid/design.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/rigid/step/step.h"

namespace costate::rigid {
namespace {

constexpr double kStencil = 1e-3;  // of a number's size
constexpr std::array<double, 3> kWeights = {45.0 / 60, -9.0 / 60, 1.0 / 60};

bool is_rotation(const Field& field) { return field.size == 4 && field.name.ends_with("quat"); }

// <p_bar, there - here> for one field. A quaternion is taken with the sign that is nearer.
double change_along(const Field& field, std::span<const double> there, std::span<const double> here,
                    std::span<const double> bar) {
  const bool flip =
      is_rotation(field) && std::inner_product(there.begin(), there.end(), here.begin(), 0.0) < 0;
  double sum = 0;
  for (std::size_t i = 0; i < here.size(); ++i) sum += bar[i] * ((flip ? -there[i] : there[i]) - here[i]);
  return sum;
}

}  // namespace

Design::Design(Spec spec, std::vector<double> start, Edit edit, SystemOptions options)
    : spec_(std::move(spec)), start_(std::move(start)), edit_(std::move(edit)), options_(std::move(options)) {
  make_stepper(model(start_), options_, signature_);
}

Model Design::model(std::span<const double> z) const {
  if (z.size() != start_.size())
    throw Error("a design of " + std::to_string(z.size()) + " numbers instead of " +
                std::to_string(start_.size()));
  for (std::size_t i = 0; i < z.size(); ++i)
    if (!std::isfinite(z[i])) throw Error("number " + std::to_string(i) + " of a design is not finite");
  Spec spec = spec_;
  edit_(z, spec);
  return compile(spec);
}

Parameters<double> Design::parameters(std::span<const double> z) const {
  Signature signature;
  make_stepper(model(z), options_, signature);
  if (!same_fields(signature_, signature, Role::parameter))
    throw Error({"a design has other parameters than the first",
                 {},
                 "edit numbers, and leave joints, limits, geoms and actuators as many as they are"});
  return Parameters<double>(signature);
}

std::size_t Design::designs(std::span<const double> z) const {
  if (z.empty() || z.size() % start_.size() != 0)
    throw Error("designs of " + std::to_string(start_.size()) + " numbers each, but there are " +
                std::to_string(z.size()) + " numbers");
  return z.size() / start_.size();
}

void Design::write(std::span<const double> z, Parameters<double>& to) const {
  const std::size_t n = start_.size(), worlds = designs(z);
  const auto& fields = signature_.fields(Role::parameter);
  std::vector<std::vector<double>> all(fields.size());
  for (std::size_t w = 0; w < worlds; ++w) {
    const Parameters<double> p = parameters(z.subspan(w * n, n));
    for (std::size_t f = 0; f < fields.size(); ++f)
      all[f].insert(all[f].end(), p.values(f).begin(), p.values(f).end());
  }
  for (std::size_t f = 0; f < fields.size(); ++f) to.set(fields[f].name, std::move(all[f]));
}

std::vector<double> Design::gradient(std::span<const double> z, const Parameters<double>& p_bar) const {
  const std::size_t n = start_.size(), worlds = designs(z);
  const auto& fields = signature_.fields(Role::parameter);
  for (const Field& field : fields)
    if (p_bar[field.name].size() < worlds * std::size_t(field.size))
      throw Error("a gradient of " + std::to_string(p_bar[field.name].size()) + " numbers of '" + field.name +
                  "' for " + std::to_string(worlds) + " designs");
  std::vector<double> z_bar(z.size());
  parallel_for(std::int64_t(z.size()), 1, [&](std::int64_t number, std::int64_t) {
    const auto i = std::size_t(number) % n, w = std::size_t(number) / n;
    const auto design = z.subspan(w * n, n);
    const double h = kStencil * (start_[i] != 0 ? std::abs(start_[i]) : 1);
    const Parameters<double> here = parameters(design);
    std::vector<double> moved(design.begin(), design.end());
    for (std::size_t point = 0; point < 6; ++point) {
      const double side = point % 2 == 0 ? 1 : -1;
      moved[i] = design[i] + side * double(point / 2 + 1) * h;
      const Parameters<double> there = parameters(moved);
      double sum = 0;
      for (std::size_t f = 0; f < fields.size(); ++f) {
        const auto size = std::size_t(fields[f].size);
        sum += change_along(fields[f], there.values(f), here.values(f),
                            p_bar[fields[f].name].subspan(w * size, size));
      }
      z_bar[std::size_t(number)] += side * kWeights[point / 2] / h * sum;
    }
  });
  return z_bar;
}

}  // namespace costate::rigid
