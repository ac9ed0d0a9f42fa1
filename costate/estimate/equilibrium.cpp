// Equilibrium averages: <O> over the density e^(-U / kT), from states after the last step (and, with `every`,
// from states on the way).
//
//   reinforce      d<O>/dp = <dO/dp> + cov(O, s),   s = -(dU/dp) / kT   (U / kT^2 with respect to kT)
//   reweighting    the same at p from samples drawn at p0, with weights w = e^(-(U_p / kT - U_p0 / kT0))
//                  [Thaler, Zavadlav: Learning neural network potentials by DiffTRe, Nat. Commun. 2021]
//
// An average over a window of a path that is not at equilibrium depends on the path: these formulas do not
// have its derivative, and refuse. The number of effective samples is 1 / sum w^2.
#include "costate/core/text.h"
#include "costate/estimate/samples.h"
#include "costate/system/scored_system.h"

namespace costate::estimate {
namespace {

// Of every sample: the observable, its own derivatives, the score, the logarithm of its weight.
struct Samples {
  std::size_t width, per_world;
  std::vector<double> observable, slope, score, log_weight;
};

template <class Real>
const BoltzmannSystem<Real>& boltzmann(const Question<Real>& q) {
  const auto* b = dynamic_cast<const BoltzmannSystem<Real>*>(q.system.get());
  if (!b) refuse("this physics has no equilibrium density", "use pathwise, girsanov or differences");
  if (const std::string why = b->no_density(""); !why.empty()) refuse(why, "use pathwise or differences");
  for (const std::size_t f : q.wanted.fields) {
    const std::string& name = q.system->signature().fields(Role::parameter)[f].name;
    if (const std::string why = b->no_density(name); !why.empty())
      refuse("the equilibrium has no score with respect to " + name + ": " + why, "leave it out");
  }
  if (q.objective.next(0, q.options.steps) != q.options.steps)
    refuse("the loss has terms before the last step: it depends on the path, not on the equilibrium alone",
           "use girsanov, or a loss of the final state");
  return *b;
}

template <class Real>
Samples draw(const Question<Real>& q, const Arguments<Real>& from) {
  const BoltzmannSystem<Real>& density = boltzmann(q);
  const Signature& signature = q.system->signature();
  const std::size_t width = q.wanted.size();
  const std::int64_t half = q.options.steps / 2, every = q.sampling.every;
  const std::size_t per_world = every > 0 ? std::size_t((q.options.steps - half) / every) : 1;
  if (per_world == 0) refuse("there is no sample in the second half of the steps", "reduce every");
  const std::size_t n = std::size_t(q.sampling.samples) * per_world;
  Samples out{width,
              per_world,
              std::vector<double>(n),
              std::vector<double>(n * width),
              std::vector<double>(n * width),
              std::vector<double>(n)};
  const std::int64_t kT = signature.find(Role::parameter, "kT").offset, lanes = q.system->lanes();
  AlignedBuffer<Real> target(q.system->parameter_size());
  const auto& fields = signature.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f)
    for (std::int64_t i = 0; i < fields[f].size; ++i)
      std::fill_n(target.data() + (fields[f].offset + i) * lanes, lanes,
                  q.at.parameters.values(f)[std::size_t(i)]);
  each_block(*q.system, q.options, from, q.sampling.samples, [&](BlockWalk<Real>& walk) {
    AlignedBuffer<Real> slope(q.system->parameter_size()), own(q.system->parameter_size());
    std::vector<Real> energy(static_cast<std::size_t>(lanes)), energy0(static_cast<std::size_t>(lanes));
    std::vector<double> loss(static_cast<std::size_t>(lanes));
    AlignedBuffer<Real> unused(q.system->state_size());  // dO/dx plays no part
    std::fill_n(unused.data(), q.system->state_size(), Real(0));
    const auto take = [&](std::size_t which) {
      typename Objective<Real>::At at = walk.at();
      at.k = at.steps, at.in.u = nullptr;  // a state in equilibrium stands for the last one
      const Inputs<Real> in{at.in.x, nullptr, target.data()};
      std::fill_n(slope.data(), q.system->parameter_size(), Real(0));
      density.boltzmann({in.x, nullptr, walk.in().p}, energy0.data(), slope.data(), walk.work());
      std::fill_n(slope.data(), q.system->parameter_size(), Real(0));
      density.boltzmann(in, energy.data(), slope.data(), walk.work());
      std::fill(loss.begin(), loss.end(), 0.0);
      std::fill_n(own.data(), q.system->parameter_size(), Real(0));
      at.in.p = target.data();
      q.objective.value(at, loss.data());
      q.objective.vjp(at, {unused.data(), nullptr, own.data()});
      for (int l = 0; l < walk.live(); ++l) {
        const std::size_t s = std::size_t(walk.first() + l) * per_world + which;
        const double t = double(target.data()[kT * lanes + l]), t0 = double(walk.in().p[kT * lanes + l]);
        out.observable[s] = loss[std::size_t(l)];
        out.log_weight[s] = double(energy0[std::size_t(l)]) / t0 - double(energy[std::size_t(l)]) / t;
        for (std::size_t i = 0; i < width; ++i) {
          const std::int64_t at_number = q.wanted.numbers[i] * lanes + l;
          out.slope[s * width + i] = double(own.data()[at_number]);
          out.score[s * width + i] = q.wanted.numbers[i] == kT ? double(energy[std::size_t(l)]) / (t * t)
                                                               : -double(slope.data()[at_number]) / t;
        }
      }
    };
    std::size_t taken = 0;
    while (walk.k() < q.options.steps) {
      walk.step();
      if (every > 0 && walk.k() > half && (walk.k() - half) % every == 0 && taken < per_world) take(taken++);
    }
    if (every == 0) take(0);
    walk.require_finite();
  });
  return out;
}

}  // namespace

template <class Real>
Sampled equilibrium(const Question<Real>& q) {
  const bool reweighted = q.sampling.method == Method::reweighting;
  Arguments<Real> from = q.at;
  if (reweighted) {
    if (q.sampling.reference.empty())
      refuse("reweighting needs a reference", "give the parameters that the samples are drawn at");
    for (const auto& [name, values] : q.sampling.reference)
      from.parameters.set(name, std::vector<Real>(values.begin(), values.end()));
  }
  const Samples s = draw(q, from);
  const std::size_t n = s.observable.size(), width = s.width;
  const double top = *std::max_element(s.log_weight.begin(), s.log_weight.end());
  std::vector<double> w(n);
  double total = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) total += w[i] = std::exp(s.log_weight[i] - top);
  for (double& one : w) one /= total, squares += one * one;

  Sampled out{.method = q.sampling.method};
  out.effective_samples = 1 / squares;
  if (reweighted && out.effective_samples < q.sampling.least_effective_share * double(n))
    throw Error({"only " + number(out.effective_samples, 3) + " of " + std::to_string(n) +
                     " samples count: the reference is too far from the parameters",
                 "estimate::gradient", "draw samples nearer to them, or lower least_effective_share"},
                Error::Kind::numerics);
  for (std::size_t i = 0; i < n; ++i) out.value += w[i] * s.observable[i];
  std::vector<double> z(n);
  for (std::size_t i = 0; i < n; ++i) z[i] = double(n) * w[i] * (s.observable[i] - out.value);
  const Blocked error = error_of(z, s.per_world);
  out.value_error = error.error, out.correlation_time = error.correlation_time;
  for (std::size_t j = 0; j < width; ++j) {
    double mean_score = 0, g = 0;
    for (std::size_t i = 0; i < n; ++i) mean_score += w[i] * s.score[i * width + j];
    const auto term = [&](std::size_t i) {
      return s.slope[i * width + j] + (s.observable[i] - out.value) * (s.score[i * width + j] - mean_score);
    };
    for (std::size_t i = 0; i < n; ++i) g += w[i] * term(i);
    for (std::size_t i = 0; i < n; ++i) z[i] = double(n) * w[i] * (term(i) - g);
    out.gradient.push_back(g);
    out.standard_error.push_back(error_of(z, s.per_world).error);
  }
  out.names = q.wanted.names;
  out.samples = std::int64_t(n);
  out.label = reweighted ? "equilibrium at the parameters, from samples at the reference; bias O(1/samples)"
                         : "equilibrium; biased by what is left of the start, and by dt";
  return out;
}

template Sampled equilibrium(const Question<float>&);
template Sampled equilibrium(const Question<double>&);

}  // namespace costate::estimate
