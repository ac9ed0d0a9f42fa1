#include "costate/md/observable/pair_distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/md/compile.h"
#include "costate/md/observable/finite.h"
#include "costate/system/losses/at_steps.h"

namespace costate::md {
namespace {

constexpr double kReach = 6;  // widths, beyond which the normal density is left out: e^-18

double area(double r, int dimensions) {
  return dimensions == 3 ? 4 * std::numbers::pi * r * r : dimensions == 2 ? 2 * std::numbers::pi * r : 2;
}

// A distribution of one model, ready for any state.
class Pattern {
 public:
  Pattern(const Model& model, PairDistribution what)
      : what_(std::move(what)), atoms_(model.atoms()), dimensions_(model.dimensions) {
    check(model);
    for (std::vector<int>* of : {&what_.from, &what_.to}) {
      if (!of->empty()) continue;
      of->resize(std::size_t(atoms_));
      std::iota(of->begin(), of->end(), 0);
    }
    for (const int i : what_.from)
      for (const int j : what_.to) pairs_ += i != j;
  }
  std::size_t size() const { return what_.radii.size() + what_.waves.size(); }

  std::vector<double> values(const double* x, const double* box) const {
    std::vector<double> g(size(), 0.0);
    each_pair(x, box, [&](double r, const double*, const double*, int, int) {
      each_radius(r, [&](std::size_t b, double density, double) { g[b] += density; });
    });
    for (std::size_t b = 0; b < what_.radii.size(); ++b) g[b] *= scale(b, box);
    for (std::size_t w = 0; w < what_.waves.size(); ++w) {
      const auto [c, s] = amplitude(what_.waves[w], x, box);
      g[what_.radii.size() + w] = (c * c + s * s) / atoms_;
    }
    return g;
  }

  void pull_back(const double* x, const double* box, const std::vector<double>& bar, double* x_bar,
                 double* box_bar) const {
    radial_vjp(x, box, bar, x_bar, box_bar);
    for (std::size_t w = 0; w < what_.waves.size(); ++w)
      wave_vjp(what_.waves[w], bar[what_.radii.size() + w], x, box, x_bar, box_bar);
  }

 private:
  void check(const Model& model) const {
    if (model.box.empty())
      throw Error({"a pair distribution needs a box", "md::pair_distribution", "give the model a box"});
    for (const double edge : model.box)
      if (!(edge > 0) || !std::isfinite(edge))
        throw Error(
            {"an edge of the box is " + number(edge), "md::pair_distribution", "give positive lengths"});
    if (size() == 0)
      throw Error({"a pair distribution of no radii and no waves", "md::pair_distribution", "give radii"});
    if (!(what_.width > 0))
      throw Error({"the width must be positive", "md::pair_distribution", "a twentieth of an atom is usual"});
    const double farthest = 0.5 * *std::min_element(model.box.begin(), model.box.end());
    for (std::size_t b = 0; b < what_.radii.size(); ++b) {
      if (!(what_.radii[b] > (b ? what_.radii[b - 1] : 0)))
        throw Error({"the radii must be positive and increase", "md::pair_distribution", "sort them"});
      if (!(what_.radii[b] <= farthest))
        throw Error({"a radius lies beyond half of the box, where nearest images are not all",
                     "md::pair_distribution", "keep radii within half of the shortest edge"});
    }
    for (const auto* list : {&what_.from, &what_.to})
      for (const int i : *list)
        if (i < 0 || i >= atoms_)
          throw Error({"there is no atom " + std::to_string(i), "md::pair_distribution",
                       "atoms are counted from 0 to " + std::to_string(atoms_ - 1)});
    for (const auto& n : what_.waves)
      for (int k = dimensions_; k < 3; ++k)
        if (n[std::size_t(k)] != 0)
          throw Error({"a wave has more numbers than the model dimensions", "md::pair_distribution",
                       "leave the others 0"});
  }

  // f(r, displacement, number of box edges that separate the image, i, j) for every ordered pair.
  template <class F>
  void each_pair(const double* x, const double* box, const F& f) const {
    if (what_.radii.empty()) return;
    const double reach = what_.radii.back() + kReach * what_.width;
    for (const int i : what_.from) {
      for (const int j : what_.to) {
        if (i == j) continue;
        double d[3], shift[3], squares = 0;
        for (int k = 0; k < dimensions_; ++k) {
          const double apart = x[i * dimensions_ + k] - x[j * dimensions_ + k];
          shift[k] = std::round(apart / box[k]);
          d[k] = apart - shift[k] * box[k];
          squares += d[k] * d[k];
        }
        if (squares < reach * reach) f(std::sqrt(squares), d, shift, i, j);
      }
    }
  }
  // f(index, normal density at r, its slope in r) for every radius that r reaches.
  template <class F>
  void each_radius(double r, const F& f) const {
    const double w = what_.width, normal = 1 / (w * std::sqrt(2 * std::numbers::pi));
    const auto first = std::lower_bound(what_.radii.begin(), what_.radii.end(), r - kReach * w);
    for (auto it = first; it != what_.radii.end() && *it < r + kReach * w; ++it) {
      const double z = (r - *it) / w, density = normal * std::exp(-0.5 * z * z);
      f(std::size_t(it - what_.radii.begin()), density, -z / w * density);
    }
  }
  double scale(std::size_t b, const double* box) const {
    double volume = 1;
    for (int k = 0; k < dimensions_; ++k) volume *= box[k];
    return pairs_ > 0 ? volume / (double(pairs_) * area(what_.radii[b], dimensions_)) : 0;
  }

  void radial_vjp(const double* x, const double* box, const std::vector<double>& bar, double* x_bar,
                  double* box_bar) const {
    double sum = 0;  // bar . g: what the volume in front multiplies
    std::vector<double> weight(what_.radii.size());
    for (std::size_t b = 0; b < weight.size(); ++b) weight[b] = bar[b] * scale(b, box);
    each_pair(x, box, [&](double r, const double* d, const double* shift, int i, int j) {
      double r_bar = 0;
      each_radius(r, [&](std::size_t b, double density, double slope) {
        sum += weight[b] * density;
        r_bar += weight[b] * slope;
      });
      for (int k = 0; k < dimensions_ && r > 0; ++k) {
        const double d_bar = r_bar * d[k] / r;
        x_bar[i * dimensions_ + k] += d_bar;
        x_bar[j * dimensions_ + k] -= d_bar;
        box_bar[k] -= shift[k] * d_bar;
      }
    });
    for (int k = 0; k < dimensions_; ++k) box_bar[k] += sum / box[k];
  }

  double phase(const std::array<int, 3>& n, const double* x, const double* box) const {
    double sum = 0;
    for (int k = 0; k < dimensions_; ++k) sum += n[std::size_t(k)] * x[k] / box[k];
    return 2 * std::numbers::pi * sum;
  }
  std::pair<double, double> amplitude(const std::array<int, 3>& n, const double* x, const double* box) const {
    double c = 0, s = 0;
    for (int i = 0; i < atoms_; ++i) {
      const double a = phase(n, x + i * dimensions_, box);
      c += std::cos(a), s += std::sin(a);
    }
    return {c, s};
  }
  void wave_vjp(const std::array<int, 3>& n, double bar, const double* x, const double* box, double* x_bar,
                double* box_bar) const {
    const auto [c, s] = amplitude(n, x, box);
    for (int i = 0; i < atoms_; ++i) {
      const double* at = x + i * dimensions_;
      const double a = phase(n, at, box);
      const double phase_bar = 2 * bar / atoms_ * (s * std::cos(a) - c * std::sin(a));
      for (int k = 0; k < dimensions_; ++k) {
        const double rate = 2 * std::numbers::pi * n[std::size_t(k)] / box[k] * phase_bar;
        x_bar[i * dimensions_ + k] += rate;
        box_bar[k] -= rate * at[k] / box[k];
      }
    }
  }

  PairDistribution what_;
  int atoms_, dimensions_;
  std::int64_t pairs_ = 0;  // ordered
};

// World by world in double: the exponentials are few next to the forces of a step.
template <class Real>
class DistributionLoss final : public loss::AtSteps<Real> {
  using At = typename Objective<Real>::At;

 public:
  DistributionLoss(const Model& model, const ObserveDistribution& what)
      : loss::AtSteps<Real>(what.steps.empty() ? std::vector<std::int64_t>{loss::kLast} : what.steps),
        pattern_(model, what.of),
        weights_(what.weights),
        target_(what.target),
        layout_(compile(model).layout) {
    if (layout_.strain >= 0)
      throw Error({"a loss of a distribution needs a fixed box", "md::observe",
                   "the box of a barostat is a state: use an integrator without P and D"});
    if (weights_.empty()) weights_.assign(pattern_.size(), 1.0);
    for (const auto* list : {&weights_, &target_})
      if (!list->empty() && list->size() != pattern_.size())
        throw Error({std::to_string(list->size()) + (list == &weights_ ? " weights" : " targets") + " for " +
                         std::to_string(pattern_.size()) + " radii and waves",
                     "md::observe", "give one for each"});
    require_finite(weights_, "weight"), require_finite(target_, "target");
  }

  void check(std::int64_t steps, std::int64_t) const override { this->check_steps(steps); }

  void value(const At& at, double* loss) const override {
    for (int l = 0; l < at.lanes; ++l) {
      const World w = world(at, l);
      const std::vector<double> g = pattern_.values(w.x.data(), w.box.data());
      for (std::size_t b = 0; b < g.size(); ++b) {
        const double off = target_.empty() ? 0 : g[b] - target_[b];
        loss[l] += weights_[b] * (target_.empty() ? g[b] : 0.5 * off * off);
      }
    }
  }

  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    for (int l = 0; l < at.lanes; ++l) {
      const World w = world(at, l);
      std::vector<double> g_bar = weights_, x_bar(w.x.size(), 0.0), box_bar(w.box.size(), 0.0);
      if (!target_.empty()) {
        const std::vector<double> g = pattern_.values(w.x.data(), w.box.data());
        for (std::size_t b = 0; b < g.size(); ++b) g_bar[b] *= g[b] - target_[b];
      }
      pattern_.pull_back(w.x.data(), w.box.data(), g_bar, x_bar.data(), box_bar.data());
      add(x_bar, layout_.x, at.lanes, l, bar.x);
      add(box_bar, layout_.box, at.lanes, l, bar.p);
    }
  }

 private:
  struct World {
    std::vector<double> x, box;
  };
  World world(const At& at, int lane) const {
    World w{std::vector<double>(std::size_t(layout_.dof)),
            std::vector<double>(std::size_t(layout_.dimensions))};
    for (std::size_t i = 0; i < w.x.size(); ++i)
      w.x[i] = double(at.in.x[(std::size_t(layout_.x) + i) * std::size_t(at.lanes) + std::size_t(lane)]);
    for (std::size_t k = 0; k < w.box.size(); ++k)
      w.box[k] = double(at.in.p[(std::size_t(layout_.box) + k) * std::size_t(at.lanes) + std::size_t(lane)]);
    return w;
  }
  static void add(const std::vector<double>& from, int offset, int lanes, int lane, Real* to) {
    for (std::size_t i = 0; to && i < from.size(); ++i)
      to[(std::size_t(offset) + i) * std::size_t(lanes) + std::size_t(lane)] += Real(from[i]);
  }

  Pattern pattern_;
  std::vector<double> weights_, target_;
  Layout layout_;
};

void expect_sizes(const Model& model, const std::vector<double>& x, const std::vector<double>& box) {
  const std::size_t d = std::size_t(model.dimensions);
  if (x.size() == std::size_t(model.atoms()) * d && box.size() == d) return;
  throw Error({std::to_string(x.size()) + " positions and " + std::to_string(box.size()) + " edges for " +
                   std::to_string(model.atoms()) + " atoms in " + std::to_string(d) + " dimensions",
               "md::pair_distribution",
               "give one number per atom and dimension, and one edge per dimension"});
}

}  // namespace

std::vector<double> pair_distribution(const Model& model, const PairDistribution& what,
                                      const std::vector<double>& x, const std::vector<double>& box) {
  expect_sizes(model, x, box);
  return Pattern(model, what).values(x.data(), box.data());
}

void pair_distribution_vjp(const Model& model, const PairDistribution& what, const std::vector<double>& x,
                           const std::vector<double>& box, const std::vector<double>& bar, double* x_bar,
                           double* box_bar) {
  expect_sizes(model, x, box);
  const Pattern pattern(model, what);
  if (bar.size() != pattern.size()) throw Error("one cotangent for each radius and wave");
  pattern.pull_back(x.data(), box.data(), bar, x_bar, box_bar);
}

template <class Real>
ObjectivePtr<Real> observe(const Model& model, const ObserveDistribution& what) {
  return std::make_shared<DistributionLoss<Real>>(model, what);
}
template ObjectivePtr<float> observe(const Model&, const ObserveDistribution&);
template ObjectivePtr<double> observe(const Model&, const ObserveDistribution&);

}  // namespace costate::md
