#include "costate/io/scene_loss.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"

namespace costate::io {
namespace {

using Point = std::array<double, 3>;

double softplus(double z) {
  return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(std::max(z, -700.0)));
}
double logistic(double z) { return 1 / (1 + std::exp(-std::clamp(z, -700.0, 700.0))); }

double length(double a, double b, double c) { return std::sqrt(a * a + b * b + c * c); }

// Distance to a product of intervals |q_k| <= 0 in the coordinates q: outside the length of the positive parts, inside the largest q.
template <std::size_t N>
double box_distance(const std::array<double, N>& q, std::array<double, N>* slope) {
  std::array<double, N> out{};
  double square = 0;
  std::size_t largest = 0;
  for (std::size_t k = 0; k < N; ++k) {
    out[k] = std::max(q[k], 0.0);
    square += out[k] * out[k];
    if (q[k] > q[largest]) largest = k;
  }
  const double d = square > 0 ? std::sqrt(square) : q[largest];
  if (slope) {
    for (std::size_t k = 0; k < N; ++k) (*slope)[k] = square > 0 ? out[k] / d : (k == largest ? 1.0 : 0.0);
  }
  return d;
}

// Quadratic B-spline on [-3/2, 3/2] and its slope.
double bump(double z) {
  const double a = std::abs(z);
  return a < 0.5 ? 0.75 - a * a : a < 1.5 ? 0.5 * (1.5 - a) * (1.5 - a) : 0;
}
double bump_slope(double z) {
  const double a = std::abs(z);
  return a < 0.5 ? -2 * z : a < 1.5 ? (z > 0 ? a - 1.5 : 1.5 - a) : 0;
}

template <class Real>
Point point(const ParticleTable& particles, const Real* state, std::int64_t i) {
  Point x = {0, 0, 0};
  for (int a = 0; a < particles.dimension; ++a)
    x[std::size_t(a)] = double(state[particles.offset + i * particles.dimension + a]);
  return x;
}

// Value of a term, and where x_bar is not null bar times its derivative, added to it. The two share one walk over the particles.
template <class Real>
class TermWalk {
 public:
  TermWalk(const ParticleTable& particles, const LossTerm& term, const std::vector<std::int64_t>& chosen,
           const Real* state, Real* x_bar)
      : particles_(particles),
        term_(term),
        chosen_(chosen),
        state_(state),
        x_bar_(x_bar),
        scale_(term.weight / double(term.steps.size())) {}

  double run() const {
    switch (term_.kind) {
      case LossTerm::Kind::in_region:
        return in_region(false);
      case LossTerm::Kind::spilled:
        return in_region(true);
      case LossTerm::Kind::centre_of_mass:
        return centre_of_mass();
      case LossTerm::Kind::match_particles:
        return match_particles();
      case LossTerm::Kind::height_field:
        return height_field();
    }
    return 0;
  }

 private:
  void add(std::int64_t i, const Point& bar) const {
    if (!x_bar_) return;
    for (int a = 0; a < particles_.dimension; ++a)
      x_bar_[particles_.offset + i * particles_.dimension + a] += Real(bar[std::size_t(a)]);
  }

  double in_region(bool only_below) const {
    const double w = term_.width, each = scale_ / double(chosen_.size());
    double sum = 0;
    for (const std::int64_t i : chosen_) {
      const Point x = point(particles_, state_, i);
      Point slope{};
      const double d = distance_to(term_.region, x, &slope);
      const double far = w * softplus(d / w), far_d = logistic(d / w);
      const double below = only_below ? logistic((term_.height - x[1]) / w) : 1;
      sum += each * below * far;
      for (double& s : slope) s *= each * below * far_d;
      if (only_below) slope[1] -= each * far * below * (1 - below) / w;
      add(i, slope);
    }
    return sum;
  }

  double centre_of_mass() const {
    Point mean{};
    for (const std::int64_t i : chosen_) {
      const Point x = point(particles_, state_, i);
      for (std::size_t a = 0; a < 3; ++a) mean[a] += x[a] / double(chosen_.size());
    }
    double sum = 0;
    Point bar{};
    for (std::size_t a = 0; a < std::size_t(particles_.dimension); ++a) {
      if (!term_.axes[a]) continue;
      const double miss = mean[a] - term_.target[a];
      sum += 0.5 * scale_ * miss * miss;
      bar[a] = scale_ * miss / double(chosen_.size());
    }
    for (const std::int64_t i : chosen_) add(i, bar);
    return sum;
  }

  double match_particles() const {
    const double each = scale_ / double(chosen_.size());
    double sum = 0;
    for (std::size_t j = 0; j < chosen_.size(); ++j) {
      const Point x = point(particles_, state_, chosen_[j]);
      Point bar{};
      for (std::size_t a = 0; a < std::size_t(particles_.dimension); ++a) {
        const double miss = x[a] - term_.targets[j * std::size_t(particles_.dimension) + a];
        sum += 0.5 * each * miss * miss;
        bar[a] = each * miss;
      }
      add(chosen_[j], bar);
    }
    return sum;
  }

  // Columns that a particle at x reaches along axis number k of the ground, and their weights.
  struct Reach {
    int first = 0;
    std::array<double, 4> w{}, slope{};
  };
  Reach reach(double x, std::size_t k) const {
    Reach r;
    const double z = (x - term_.first_column[k]) / term_.column_width;
    r.first = int(std::floor(std::clamp(z, -1e6, 1e6))) - 1;
    for (std::size_t j = 0; j < 4; ++j) {
      r.w[j] = bump(z - (r.first + int(j)));
      r.slope[j] = bump_slope(z - (r.first + int(j))) / term_.column_width;
    }
    return r;
  }

  double height_field() const {
    const bool flat = particles_.dimension == 2;
    const double area = flat ? term_.column_width : term_.column_width * term_.column_width;
    const int rows = term_.columns[0], lines = flat ? 1 : term_.columns[1];
    std::vector<double> bar(std::size_t(rows) * std::size_t(lines), 0.0);
    // body(i, column, weight, slope along the first axis, along the third)
    const auto each_column = [&](const auto& body) {
      for (const std::int64_t i : chosen_) {
        const Point x = point(particles_, state_, i);
        const Reach first = reach(x[0], 0);
        const Reach second = flat ? Reach{.first = 0, .w = {1, 0, 0, 0}, .slope = {}} : reach(x[2], 1);
        const double share = particles_.volume[std::size_t(i)] / area;
        for (int a = 0; a < 4; ++a) {
          for (int b = 0; b < (flat ? 1 : 4); ++b) {
            const int row = first.first + a, line = second.first + b;
            if (row < 0 || row >= rows || line < 0 || line >= lines) continue;
            const std::size_t ka = std::size_t(a), kb = std::size_t(b);
            body(i, std::size_t(row) * std::size_t(lines) + std::size_t(line),
                 share * first.w[ka] * second.w[kb], share * first.slope[ka] * second.w[kb],
                 share * first.w[ka] * second.slope[kb]);
          }
        }
      }
    };
    std::vector<double> height(bar.size(), 0.0);
    each_column([&](std::int64_t, std::size_t j, double w, double, double) { height[j] += w; });
    double sum = 0;
    for (std::size_t j = 0; j < height.size(); ++j) {
      const double miss = height[j] - term_.targets[j];
      sum += 0.5 * scale_ * miss * miss / double(height.size());
      bar[j] = scale_ * miss / double(height.size());
    }
    if (x_bar_)
      each_column([&](std::int64_t i, std::size_t j, double, double sx, double sz) {
        add(i, {bar[j] * sx, 0, bar[j] * sz});
      });
    return sum;
  }

  const ParticleTable& particles_;
  const LossTerm& term_;
  const std::vector<std::int64_t>& chosen_;
  const Real* state_;
  Real* x_bar_;
  double scale_;
};

std::vector<std::int64_t> choose(const ParticleTable& particles, const LossTerm& term) {
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < particles.material.size(); ++i)
    if (term.material < 0 || particles.material[i] == term.material) chosen.push_back(std::int64_t(i));
  return chosen;
}

}  // namespace

double distance_to(const Region& region, const Point& x, Point* gradient) {
  const Point r = {x[0] - region.centre[0], x[1] - region.centre[1], x[2] - region.centre[2]};
  const auto sign = [](double v) { return v < 0 ? -1.0 : 1.0; };
  if (region.kind == Region::Kind::sphere) {
    const double size = length(r[0], r[1], r[2]);
    if (gradient) *gradient = size > 0 ? Point{r[0] / size, r[1] / size, r[2] / size} : Point{0, 0, 0};
    return size - region.size[0];
  }
  if (region.kind == Region::Kind::cylinder) {
    const double radius = length(r[0], 0, r[2]);
    std::array<double, 2> slope{};
    const double d = box_distance<2>({radius - region.size[0], std::abs(r[1]) - region.size[1]}, &slope);
    if (gradient) {
      const double out = radius > 0 ? slope[0] / radius : 0;
      *gradient = {out * r[0], slope[1] * sign(r[1]), out * r[2]};
    }
    return d;
  }
  Point slope{};
  const double d = box_distance<3>(
      {std::abs(r[0]) - region.size[0], std::abs(r[1]) - region.size[1], std::abs(r[2]) - region.size[2]},
      &slope);
  if (gradient) *gradient = {slope[0] * sign(r[0]), slope[1] * sign(r[1]), slope[2] * sign(r[2])};
  return d;
}

template <class Real>
SceneLoss<Real>::SceneLoss(ParticleTable particles, std::vector<LossTerm> terms)
    : particles_(std::move(particles)), terms_(std::move(terms)) {
  for (const LossTerm& term : terms_) {
    chosen_.push_back(choose(particles_, term));
    if (chosen_.back().empty())
      throw Error("the loss " + term.name + " looks at a material without particles");
    if (term.kind == LossTerm::Kind::match_particles &&
        term.targets.size() != chosen_.back().size() * std::size_t(particles_.dimension))
      throw Error("the loss " + term.name + " has targets for " +
                  std::to_string(term.targets.size() / std::size_t(particles_.dimension)) +
                  " particles, not for " + std::to_string(chosen_.back().size()));
    steps_.insert(steps_.end(), term.steps.begin(), term.steps.end());
  }
  std::sort(steps_.begin(), steps_.end());
  steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());
}

template <class Real>
void SceneLoss<Real>::check(std::int64_t steps, std::int64_t worlds) const {
  if (worlds != 1) throw Error("a scene has one world, not " + std::to_string(worlds));
  if (!steps_.empty() && (steps_.front() < 0 || steps_.back() > steps))
    throw Error("a loss asks for step " + std::to_string(steps_.back()) + " of " + std::to_string(steps));
}

template <class Real>
std::int64_t SceneLoss<Real>::next(std::int64_t k, std::int64_t) const {
  const auto at = std::lower_bound(steps_.begin(), steps_.end(), k);
  return at == steps_.end() ? kNever : *at;
}

template <class Real>
std::int64_t SceneLoss<Real>::previous(std::int64_t k, std::int64_t) const {
  const auto at = std::upper_bound(steps_.begin(), steps_.end(), k);
  return at == steps_.begin() ? -1 : *(at - 1);
}

template <class Real>
void SceneLoss<Real>::value(const typename Objective<Real>::At& at, double* loss) const {
  for (std::size_t j = 0; j < terms_.size(); ++j) {
    if (std::binary_search(terms_[j].steps.begin(), terms_[j].steps.end(), at.k))
      loss[0] += TermWalk<Real>(particles_, terms_[j], chosen_[j], at.in.x, nullptr).run();
  }
}

template <class Real>
void SceneLoss<Real>::vjp(const typename Objective<Real>::At& at, const Cotangents<Real>& bar) const {
  if (!bar.x) return;
  for (std::size_t j = 0; j < terms_.size(); ++j) {
    if (std::binary_search(terms_[j].steps.begin(), terms_[j].steps.end(), at.k))
      TermWalk<Real>(particles_, terms_[j], chosen_[j], at.in.x, bar.x).run();
  }
}

template <class Real>
double SceneLoss<Real>::term_value(const LossTerm& term, const Real* state) const {
  const std::vector<std::int64_t> chosen = choose(particles_, term);
  return TermWalk<Real>(particles_, term, chosen, state, nullptr).run();
}

template <class Real>
double region_fraction(const ParticleTable& particles, const LossTerm& term, const Real* state) {
  const std::vector<std::int64_t> chosen = choose(particles, term);
  std::int64_t inside = 0;
  for (const std::int64_t i : chosen)
    inside += distance_to(term.region, point(particles, state, i), nullptr) <= 0;
  return chosen.empty() ? 0 : double(inside) / double(chosen.size());
}

template class SceneLoss<float>;
template class SceneLoss<double>;
template double region_fraction<float>(const ParticleTable&, const LossTerm&, const float*);
template double region_fraction<double>(const ParticleTable&, const LossTerm&, const double*);

}  // namespace costate::io
