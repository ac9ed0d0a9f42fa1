#include "costate/estimate/free_energy.h"

#include <array>

#include "costate/core/text.h"
#include "costate/estimate/samples.h"
#include "costate/system/scored_system.h"

namespace costate::estimate {
namespace {

// Points and weights on (0, 1), by Newton's method on Legendre's polynomial.
std::vector<std::pair<double, double>> gauss_legendre(int n) {
  std::vector<std::pair<double, double>> rule;
  for (int i = 0; i < n; ++i) {
    double x = std::cos(3.14159265358979324 * (i + 0.75) / (n + 0.5)), slope = 1;
    for (int iteration = 0; iteration < 50; ++iteration) {
      double now = 1, before = 0;
      for (int k = 0; k < n; ++k) {
        const double next = ((2 * k + 1) * x * now - k * before) / (k + 1);
        before = now, now = next;
      }
      slope = n * (x * now - before) / (x * x - 1);
      const double step = now / slope;
      x -= step;
      if (std::abs(step) < 1e-15) break;
    }
    rule.emplace_back(0.5 * (1 - x), 1 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

// Of every sample of one point: the energies at both ends, dU/ds, and dU/dp at the point and at the second
// end.
struct Drawn {
  std::vector<double> from = {}, to = {}, along = {}, slope = {}, slope_to = {};
  std::size_t per_world = 1;
  std::size_t size() const { return from.size(); }
};

template <class Real>
class Ends {
 public:
  Ends(std::shared_ptr<const System<Real>> system, const RolloutOptions& options, const Arguments<Real>& at,
       const FreeEnergy& question)
      : system_(std::move(system)), options_(options), question_(question), from_(at), to_(at) {
    density_ = dynamic_cast<const BoltzmannSystem<Real>*>(system_.get());
    if (!density_) refuse("this physics has no equilibrium density: it has no free energy");
    if (const std::string why = density_->no_density(""); !why.empty()) refuse(why);
    if (question.samples < 2) refuse("a free energy needs at least two samples");
    if (question.every < 0) refuse("every is negative", "give a number of steps, or 0");
    if (question.from.empty() && question.to.empty())
      refuse("the two ends are the same", "name the parameters that differ: from, to");
    set(question.from, from_);
    set(question.to, to_);
    if (!question.parameters.empty()) {
      const Wanted wanted(system_->signature(), question.parameters);
      for (const std::size_t f : wanted.fields)
        if (const std::string why =
                density_->no_density(system_->signature().fields(Role::parameter)[f].name);
            !why.empty())
          refuse("no free energy with respect to " + system_->signature().fields(Role::parameter)[f].name +
                     ": " + why,
                 "leave it out");
      numbers = wanted.numbers, names = wanted.names;
    }
    kT_at = system_->signature().find(Role::parameter, "kT").offset;
    kT = double(from_.parameters["kT"][0]);
    if (kT != double(to_.parameters["kT"][0])) refuse("the two ends have different kT");
  }

  // Samples of the density at p(s).
  Drawn draw(double s) const {
    Arguments<Real> at = from_;
    const auto& fields = system_->signature().fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const auto a = from_.parameters.values(f), b = to_.parameters.values(f);
      std::vector<Real> between(a.begin(), a.end());
      for (std::size_t i = 0; i < between.size(); ++i) between[i] = Real((1 - s) * a[i] + s * b[i]);
      at.parameters.set(fields[f].name, between);
    }
    const std::int64_t half = options_.steps / 2, every = question_.every, lanes = system_->lanes();
    Drawn out{.per_world = every > 0 ? std::size_t((options_.steps - half) / every) : 1};
    if (out.per_world == 0) refuse("there is no sample in the second half of the steps", "reduce every");
    const std::size_t n = std::size_t(question_.samples) * out.per_world;
    for (auto* list : {&out.from, &out.to, &out.along}) list->resize(n);
    for (auto* rows : {&out.slope, &out.slope_to}) rows->resize(n * numbers.size());
    const AlignedBuffer<Real> p0 = block(from_), p1 = block(to_);
    each_block(*system_, options_, at, question_.samples, [&](BlockWalk<Real>& walk) {
      AlignedBuffer<Real> slope(system_->parameter_size());
      std::vector<Real> u(static_cast<std::size_t>(lanes));
      const auto energies = [&](const Real* p) {
        std::fill_n(slope.data(), system_->parameter_size(), Real(0));
        density_->boltzmann({walk.in().x, nullptr, p}, u.data(), slope.data(), walk.work());
      };
      const auto take = [&](std::size_t which) {
        const auto row = [&](int l) { return std::size_t(walk.first() + l) * out.per_world + which; };
        const auto keep = [&](int l, std::vector<double>& to) {
          for (std::size_t i = 0; i < numbers.size(); ++i)
            to[row(l) * numbers.size() + i] = numbers[i] == kT_at
                                                  ? -double(u[std::size_t(l)]) / kT
                                                  : double(slope.data()[numbers[i] * lanes + l]);
        };
        energies(p0.data());
        for (int l = 0; l < walk.live(); ++l) out.from[row(l)] = double(u[std::size_t(l)]);
        energies(p1.data());
        for (int l = 0; l < walk.live(); ++l)
          out.to[row(l)] = double(u[std::size_t(l)]), keep(l, out.slope_to);
        energies(walk.in().p);
        for (int l = 0; l < walk.live(); ++l) {
          double along = 0;
          for (std::int64_t i = 0; i < system_->signature().parameters(); ++i) {
            const std::int64_t at_number = i * lanes + l;
            along += double(slope.data()[at_number]) *
                     (double(p1.data()[at_number]) - double(p0.data()[at_number]));
          }
          out.along[row(l)] = along;
          keep(l, out.slope);
        }
      };
      std::size_t taken = 0;
      while (walk.k() < options_.steps) {
        walk.step();
        if (every > 0 && walk.k() > half && (walk.k() - half) % every == 0 && taken < out.per_world)
          take(taken++);
      }
      if (every == 0) take(0);
      walk.require_finite();
    });
    return out;
  }

  std::vector<std::int64_t> numbers;
  std::vector<std::string> names;
  std::int64_t kT_at = 0;
  double kT = 1;

 private:
  static void set(const FreeEnergy::Numbers& numbers, Arguments<Real>& at) {
    for (const auto& [name, values] : numbers)
      at.parameters.set(name, std::vector<Real>(values.begin(), values.end()));
  }
  AlignedBuffer<Real> block(const Arguments<Real>& at) const {
    const std::int64_t lanes = system_->lanes();
    AlignedBuffer<Real> p(system_->parameter_size());
    const auto& fields = system_->signature().fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (std::int64_t i = 0; i < fields[f].size; ++i)
        std::fill_n(p.data() + (fields[f].offset + i) * lanes, lanes,
                    at.parameters.values(f)[std::size_t(i)]);
    return p;
  }

  std::shared_ptr<const System<Real>> system_;
  RolloutOptions options_;
  const FreeEnergy& question_;
  Arguments<Real> from_, to_;
  const BoltzmannSystem<Real>* density_ = nullptr;
};

// dF/dp of one end, as weighted means of rows of dU/dp (weights with the sum 1; empty: even ones).
void slopes(const Drawn& drawn, const std::vector<double>& rows, const std::vector<double>& weights,
            std::size_t width, std::vector<double>& mean, std::vector<double>& error) {
  const auto n = double(drawn.size());
  std::vector<double> z(drawn.size());
  mean.assign(width, 0.0), error.assign(width, 0.0);
  for (std::size_t i = 0; i < width; ++i) {
    const auto weight = [&](std::size_t s) { return weights.empty() ? 1 / n : weights[s]; };
    for (std::size_t s = 0; s < z.size(); ++s) mean[i] += weight(s) * rows[s * width + i];
    for (std::size_t s = 0; s < z.size(); ++s) z[s] = n * weight(s) * (rows[s * width + i] - mean[i]);
    error[i] = error_of(z, drawn.per_world).error;
  }
}

double fermi(double t) { return 1 / (1 + std::exp(t)); }

// c with sum_0 fermi(x - c) = sum_1 fermi(c - x), x = (U_1 - U_0) / kT: the difference over kT.
double bennett(const std::vector<double>& x0, const std::vector<double>& x1) {
  const auto excess = [&](double c) {  // increases with c
    double sum = 0;
    for (const double x : x0) sum += fermi(x - c) / double(x0.size());
    for (const double x : x1) sum -= fermi(c - x) / double(x1.size());
    return sum;
  };
  double low = *std::min_element(x0.begin(), x0.end()), high = *std::max_element(x0.begin(), x0.end());
  for (const double x : x1) low = std::min(low, x), high = std::max(high, x);
  low -= 1, high += 1;
  for (int i = 0; i < 200 && high - low > 1e-14 * (1 + std::abs(low)); ++i) {
    const double middle = 0.5 * (low + high);
    (excess(middle) < 0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

std::vector<double> reduced(const Drawn& drawn, double kT) {
  std::vector<double> x(drawn.size());
  for (std::size_t s = 0; s < x.size(); ++s) x[s] = (drawn.to[s] - drawn.from[s]) / kT;
  return x;
}

// Standard error of the mean of f over the mean itself.
double relative_error(const std::vector<double>& f, std::size_t per_world) {
  const double mean = mean_of(f).value;
  std::vector<double> z(f.size());
  for (std::size_t s = 0; s < f.size(); ++s) z[s] = f[s] / mean;
  return error_of(z, per_world).error;
}

void perturb(const Drawn& zero, double kT, FreeEnergyDifference& out, std::vector<double>& weights) {
  const std::vector<double> x = reduced(zero, kT);
  const double least = *std::min_element(x.begin(), x.end());
  weights.resize(x.size());
  double total = 0, squares = 0;
  for (std::size_t s = 0; s < x.size(); ++s) total += weights[s] = std::exp(least - x[s]);
  out.value = kT * (least - std::log(total / double(x.size())));
  out.error = kT * relative_error(weights, zero.per_world);
  for (double& w : weights) w /= total, squares += w * w;
  out.overlap = 1 / (squares * double(x.size()));
}

void accept(const Drawn& zero, const Drawn& one, double kT, FreeEnergyDifference& out) {
  const std::vector<double> x0 = reduced(zero, kT), x1 = reduced(one, kT);
  const double c = bennett(x0, x1);
  std::vector<double> f0, f1;
  double squares = 0, sum = 0;
  for (const double x : x0) f0.push_back(fermi(x - c));
  for (const double x : x1) f1.push_back(fermi(c - x));
  for (const double f : f0) sum += f, squares += f * f;
  out.value = kT * c;
  out.error = kT * std::hypot(relative_error(f0, zero.per_world), relative_error(f1, one.per_world));
  out.overlap = squares > 0 ? sum * sum / (squares * double(f0.size())) : 0;
}

}  // namespace

FreeEnergyMethod free_energy_method(const std::string& name) {
  const std::array<const char*, 3> kNames = {"integration", "perturbation", "acceptance"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return FreeEnergyMethod(i);
  refuse("'" + name + "' is not a way to a free energy", "there are: integration, perturbation, acceptance");
}

template <class Real>
FreeEnergyDifference free_energy(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                                 const Arguments<Real>& at, const FreeEnergy& question) {
  const Ends<Real> ends(std::move(system), options, at, question);
  const bool both = question.method != FreeEnergyMethod::perturbation;
  const std::size_t width = ends.numbers.size();
  FreeEnergyDifference out{.names = ends.names};
  const Drawn zero = ends.draw(0);
  Drawn one;
  if (both && (width > 0 || question.method == FreeEnergyMethod::acceptance)) one = ends.draw(1);
  std::vector<double> weights, error0, error1;
  switch (question.method) {
    case FreeEnergyMethod::perturbation:
      perturb(zero, ends.kT, out, weights);
      break;
    case FreeEnergyMethod::acceptance:
      accept(zero, one, ends.kT, out);
      break;
    case FreeEnergyMethod::integration: {
      if (question.points < 1 || question.points > 8)
        refuse("integration takes 1 to 8 points (it is asked for " + std::to_string(question.points) + ")");
      double variance = 0;
      for (const auto& [s, weight] : gauss_legendre(question.points)) {
        const Drawn drawn = ends.draw(s);
        const double mean = mean_of(drawn.along).value, error = error_of(drawn.along, drawn.per_world).error;
        out.value += weight * mean;
        variance += weight * weight * error * error;
      }
      out.error = std::sqrt(variance);
    }
  }
  slopes(zero, zero.slope, {}, width, out.at_from, error0);
  if (both)
    slopes(one, one.slope, {}, width, out.at_to, error1);
  else
    slopes(zero, zero.slope_to, weights, width, out.at_to, error1);
  for (std::size_t i = 0; i < width; ++i) {
    out.gradient.push_back(out.at_to[i] - out.at_from[i]);
    if (ends.numbers[i] == ends.kT_at) out.gradient.back() += out.value / ends.kT;
    out.standard_error.push_back(std::hypot(error0[i], error1[i]));
  }
  return out;
}

template FreeEnergyDifference free_energy(std::shared_ptr<const System<float>>, RolloutOptions,
                                          const Arguments<float>&, const FreeEnergy&);
template FreeEnergyDifference free_energy(std::shared_ptr<const System<double>>, RolloutOptions,
                                          const Arguments<double>&, const FreeEnergy&);

}  // namespace costate::estimate
