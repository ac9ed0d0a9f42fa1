#include "costate/system/check/trust.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/core/text.h"
#include "costate/system/ranges.h"

namespace costate::check {
namespace {

constexpr int kHalvings = 40;
constexpr double kVisible = 30;  // times the noise that may be a prediction's error: less is not judged
constexpr std::uint32_t kStream = 0x7256;  // apart from the noise that a physics may draw with the same seed

void check_options(const TrustOptions& o) {
  const auto expect = [](bool good, const char* what) {
    if (!good) throw Error(what);
  };
  expect(o.tolerance > 0 && o.tolerance < 1, "tolerance lies between 0 and 1");
  expect(o.longest > 0 && std::isfinite(o.longest), "longest must be greater than 0");
  expect(o.directions >= 0, "there cannot be fewer than 0 random directions");
}

// Numbers that are moved together. Group 0 is the initial state, 1 the controls; then parameters.
template <class Real, class A, class F>
void each_number(A& arguments, const std::vector<bool>& active, int group, const F& f) {
  const auto all = [&](auto values) {
    for (auto& value : values) f(value);
  };
  if (group == 0) return all(std::span(arguments.x0));
  if (group == 1) return all(std::span(arguments.controls));
  for (std::size_t field = 0; field < active.size(); ++field)
    if (active[field]) all(arguments.parameters.values(field));
}

// One group of a rollout's inputs, its gradient and its scales, one number after the other.
template <class Real>
class Group {
 public:
  Group(const Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
        const Gradient<Real>& gradient, int group, int batch)
      : at_(at), objective_(objective), value_(gradient.value), group_(group), batch_(batch) {
    active_ = rollout.system().signature().match(Role::parameter, rollout.options().active);
    for (std::size_t f = 0; group == 2 && f < active_.size(); ++f)
      active_[f] = active_[f] && !at.parameters.per_world(f);
    each_number<Real>(at_, active_, group,
                      [&](Real x) { scale_.push_back(std::max(1.0, std::abs(double(x)))); });
    each_number<Real>(gradient, active_, group, [&](Real g) { slope_.push_back(double(g)); });
    for (std::size_t i = 0; i < scale_.size(); ++i) {
      slope_[i] *= scale_[i];
      norm_ += slope_[i] * slope_[i];
    }
    norm_ = std::sqrt(norm_);
    if (group == 2) find_ends(rollout.system().signature());
  }
  double norm() const { return norm_; }

  std::vector<double> downhill() const {
    std::vector<double> d(slope_);
    for (double& x : d) x = -x;
    return inside(std::move(d), 0);
  }
  std::vector<double> random(std::uint64_t seed) const {
    std::vector<double> d(slope_.size());
    for (std::size_t i = 0; i < d.size(); ++i)
      d[i] = normal<double>(seed, std::uint32_t(group_), std::uint64_t(i), kStream);
    return inside(std::move(d), -1);
  }

  double radius(Rollout<Real>& many, const std::vector<double>& d, const TrustOptions& options) const {
    double slope = 0;
    for (std::size_t i = 0; i < d.size(); ++i) slope += slope_[i] * d[i];
    const double noise = 100 * double(std::numeric_limits<Real>::epsilon()) * std::abs(value_);
    return trust_radius(
        value_, slope, norm_ / std::sqrt(double(d.size())), noise, batch_,
        [&](std::span<const double> lengths) { return losses(many, d, lengths); }, options);
  }

 private:
  // Numbers that are the least of their range, such as a friction of zero.
  void find_ends(const Signature& signature) {
    for (std::size_t f = 0; f < active_.size(); ++f) {
      if (!active_[f]) continue;
      const auto values = at_.parameters.values(f);
      const std::size_t first = at_end_.size();
      at_end_.resize(first + values.size());
      for (const ParameterRange& range : signature.fields(Role::parameter)[f].ranges)
        for (std::size_t i = 0; i < values.size(); ++i)
          if (!range.open && double(values[i]) == range.low) at_end_[first + i] = true;
    }
  }
  // The direction at length one. Numbers that would leave their range at once go `factor` times as far.
  std::vector<double> inside(std::vector<double> d, double factor) const {
    const auto square_of = [](const std::vector<double>& v) {
      double square = 0;
      for (const double x : v) square += x * x;
      return square;
    };
    std::vector<double> kept = d;
    for (std::size_t i = 0; i < at_end_.size(); ++i)
      if (at_end_[i] && d[i] < 0) kept[i] *= factor;
    if (square_of(kept) > 0) d = std::move(kept);
    const double length = std::sqrt(square_of(d));
    for (double& x : d) x /= length;
    return d;
  }
  // Each length is a world. A length that leaves the range of a parameter stays where it was, and is NaN.
  std::vector<double> losses(Rollout<Real>& many, const std::vector<double>& d,
                             std::span<const double> lengths) const {
    std::vector<Real> x0, controls;
    std::vector<std::vector<Real>> fields(active_.size());
    std::vector<bool> outside;
    for (std::size_t w = 0; w < std::size_t(batch_); ++w) {
      Arguments<Real> one = at_;
      std::size_t i = 0;
      each_number<Real>(one, active_, group_, [&](Real& x) {
        if (w < lengths.size()) x = Real(double(x) + lengths[w] * scale_[i] * d[i]);
        ++i;
      });
      outside.push_back(!fault(many.system().signature(), one.parameters).empty());
      if (outside.back()) one = at_;
      x0.insert(x0.end(), one.x0.begin(), one.x0.end());
      controls.insert(controls.end(), one.controls.begin(), one.controls.end());
      for (std::size_t f = 0; group_ == 2 && f < fields.size(); ++f) {
        const auto values = one.parameters.values(f);
        if (active_[f]) fields[f].insert(fields[f].end(), values.begin(), values.end());
      }
    }
    Arguments<Real> all{std::move(x0), std::move(controls), at_.parameters};
    for (std::size_t f = 0; f < fields.size(); ++f)
      if (!fields[f].empty())
        all.parameters.set(many.system().signature().fields(Role::parameter)[f].name, std::move(fields[f]));
    std::vector<double> values;
    try {
      values = many.values(all, objective_);
    } catch (const Error&) {
      // One step that cannot be taken, with a cell inside out, ends the run of all worlds.
      if (lengths.size() == 1) return {std::numeric_limits<double>::quiet_NaN()};
      for (std::size_t w = 0; w < lengths.size(); ++w)
        values.push_back(losses(many, d, lengths.subspan(w, 1)).front());
      return values;
    }
    for (std::size_t w = 0; w < outside.size(); ++w)
      if (outside[w]) values[w] = std::numeric_limits<double>::quiet_NaN();
    values.resize(lengths.size());
    return values;
  }

  Arguments<Real> at_;
  const Objective<Real>& objective_;
  double value_, norm_ = 0;
  int group_, batch_;
  std::vector<bool> active_;  // parameters that are moved
  std::vector<double> scale_, slope_;
  std::vector<bool> at_end_ = {};
};

// Whether all worlds of a rollout have the same loss where their inputs are the same. Noise is drawn anew for
// every world: with it, none of them but the first says what the world that is asked about would do.
template <class Real>
bool worlds_agree(Rollout<Real>& many, const Arguments<Real>& at, const Objective<Real>& objective) {
  const std::vector<double> values = many.values(at, objective);
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
}

}  // namespace

double trust_radius(double loss, double slope, double usual, double noise, int batch, const Losses& losses,
                    const TrustOptions& options) {
  check_options(options);
  const double steep = std::max(std::abs(slope), usual);
  std::vector<double> lengths;
  for (int k = 0; k < kHalvings; ++k) lengths.push_back(std::ldexp(options.longest, -k));
  double radius = 0;
  bool shorter = false;  // the length before was good: one that is good by chance does not count
  for (int first = 0; first < kHalvings; first += batch) {
    const auto some =
        std::span(lengths).subspan(std::size_t(first), std::size_t(std::min(batch, kHalvings - first)));
    const std::vector<double> values = losses(some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const double h = some[i], allowed = options.tolerance * h * steep;
      if (allowed < kVisible * noise) return shorter ? radius : 0;
      const bool good = std::islessequal(std::abs(values[i] - loss - h * slope), allowed);  // NaN is not
      if (good && shorter) return radius;
      if (good) radius = h;
      shorter = good;
    }
  }
  return shorter ? radius : 0;
}

std::string Trust::to_text() const {
  const auto size = [this](double radius) {
    return (radius >= longest ? "at least " : "") + number(radius, 2);
  };
  return inputs + ": trust radius " + size(along_gradient) + " along the gradient" +
         (std::isnan(random) ? "" : ", " + size(random) + " along random directions");
}

template <class Real>
std::vector<Trust> trust(std::shared_ptr<const System<Real>> system, RolloutOptions of,
                         const Arguments<Real>& at, const Objective<Real>& objective,
                         const TrustOptions& options) {
  check_options(options);
  if (of.worlds != 1)
    throw Error({"how far a gradient can be trusted is measured of one world", "check::trust",
                 "set worlds = 1; the lengths that are tried run side by side"});
  of.spot_check = of.time_step_check = false;
  of.device = "cpu";  // the lengths that are tried are worlds beside each other, which not every device has
  Rollout<Real> one(system, of);
  const Gradient<Real> gradient = one.value_and_gradient(at, objective);
  of.on_divergence = OnDivergence::mask_world;
  of.worlds = std::max(4, system->lanes());
  auto many = std::make_unique<Rollout<Real>>(system, of);
  if (!worlds_agree(*many, at, objective)) {
    of.worlds = 1;
    many = std::make_unique<Rollout<Real>>(system, of);
  }
  std::vector<Trust> result;
  const char* const names[] = {"initial state", "controls", "parameters"};
  for (int group = 0; group < 3; ++group) {
    const Group<Real> inputs(one, at, objective, gradient, group, int(of.worlds));
    if (!(inputs.norm() > 0)) continue;
    Trust t{names[group], inputs.radius(*many, inputs.downhill(), options), options.longest, options.longest};
    for (int k = 0; k < options.directions; ++k)
      t.random =
          std::min(t.random, inputs.radius(*many, inputs.random(options.seed + std::uint64_t(k)), options));
    if (options.directions == 0) t.random = std::numeric_limits<double>::quiet_NaN();
    result.push_back(std::move(t));
  }
  return result;
}

template std::vector<Trust> trust(std::shared_ptr<const System<float>>, RolloutOptions,
                                  const Arguments<float>&, const Objective<float>&, const TrustOptions&);
template std::vector<Trust> trust(std::shared_ptr<const System<double>>, RolloutOptions,
                                  const Arguments<double>&, const Objective<double>&, const TrustOptions&);

}  // namespace costate::check
