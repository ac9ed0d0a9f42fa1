// The path score:
//
//   d E[L] = E[sum_k dl_k/dp + sum_k (l_k - b_k) S_k],   S_k = sum_(j < k) d log p(x_(j+1) | x_j) / dp
//
// It differentiates the probability of a path instead of the path, so L may jump. A term l_k is paired with
// the score of the steps before it alone; later steps would add noise and no signal. The baselines b_k come
// from a pilot with other noise: mean, b = E[l], or optimal, b = E[l S^2] / E[S^2], per parameter.
#include "costate/core/text.h"
#include "costate/estimate/samples.h"
#include "costate/system/scored_system.h"

namespace costate::estimate {
namespace {

template <class Real>
const ScoredSystem<Real>& scored(const System<Real>& system, const Wanted& wanted) {
  const auto* s = dynamic_cast<const ScoredSystem<Real>*>(&system);
  if (!s)
    refuse("this physics has no score: its steps have no density",
           "use pathwise or differences, or give it noise");
  if (const std::string why = s->no_score(""); !why.empty()) refuse(why, "use pathwise or differences");
  for (const std::size_t f : wanted.fields) {
    const std::string& name = system.signature().fields(Role::parameter)[f].name;
    if (const std::string why = s->no_score(name); !why.empty())
      refuse("there is no path score with respect to " + name + ": " + why,
             "name the parameters of the force alone, or use pathwise");
  }
  return *s;
}

// Walks all samples; term(walk, number of the term, l of every lane, score of the wanted [number][lane]).
template <class Real, class Term>
void walk_terms(const Question<Real>& q, std::uint64_t seed, std::int64_t samples, const Term& term) {
  const ScoredSystem<Real>& score_of = scored(*q.system, q.wanted);
  RolloutOptions options = q.options;
  options.seed = seed;
  each_block(*q.system, options, q.at, samples, [&](BlockWalk<Real>& walk) {
    const int lanes = walk.lanes();
    AlignedBuffer<Real> score(q.system->parameter_size()), slope(q.system->parameter_size());
    AlignedBuffer<Real> unused(q.system->state_size());  // dL/dx plays no part
    std::fill_n(unused.data(), q.system->state_size(), Real(0));
    std::fill_n(score.data(), q.system->parameter_size(), Real(0));
    std::vector<double> loss(static_cast<std::size_t>(lanes));
    for (std::int64_t number = 0;; ++number) {
      const std::int64_t next = q.objective.next(walk.k(), options.steps);
      if (next == kNever) break;
      while (walk.k() < next) {
        score_of.add_score(walk.context(), walk.in(), score.data(), walk.work());
        walk.step();
      }
      std::fill(loss.begin(), loss.end(), 0.0);
      std::fill_n(slope.data(), q.system->parameter_size(), Real(0));
      q.objective.value(walk.at(), loss.data());
      q.objective.vjp(walk.at(), {unused.data(), nullptr, slope.data()});
      term(walk, number, loss, score.data(), slope.data());
      if (walk.k() == options.steps) break;
      score_of.add_score(walk.context(), walk.in(), score.data(), walk.work());
      walk.step();
    }
    walk.require_finite();
  });
}

// Terms of the objective between 0 and `steps`.
template <class Real>
std::int64_t count_terms(const Objective<Real>& objective, std::int64_t steps) {
  std::int64_t terms = 0;
  for (std::int64_t k = 0; k <= steps && (k = objective.next(k, steps)) != kNever; ++k) ++terms;
  return terms;
}

template <class Real>
std::vector<double> pilot(const Question<Real>& q, std::int64_t terms) {
  const std::size_t width = q.wanted.size();
  std::vector<double> baseline(std::size_t(terms) * width, 0.0);
  if (q.sampling.baseline == Baseline::none) return baseline;
  const bool own_starts = std::int64_t(q.at.x0.size()) != q.system->signature().states();
  const std::int64_t samples =
      own_starts ? q.sampling.samples : std::max<std::int64_t>(64, q.sampling.samples / 8);
  // [sample][term][l, and per parameter S]
  const std::size_t row = 1 + width;
  std::vector<double> seen(std::size_t(samples) * std::size_t(terms) * row);
  walk_terms(q, q.options.seed ^ 0x5bd1e995u, samples,
             [&](BlockWalk<Real>& walk, std::int64_t term, const std::vector<double>& loss, const Real* score,
                 const Real*) {
               for (int l = 0; l < walk.live(); ++l) {
                 double* to =
                     &seen[(std::size_t(walk.first() + l) * std::size_t(terms) + std::size_t(term)) * row];
                 to[0] = loss[std::size_t(l)];
                 for (std::size_t i = 0; i < width; ++i)
                   to[1 + i] = double(score[q.wanted.numbers[i] * walk.lanes() + l]);
               }
             });
  for (std::int64_t t = 0; t < terms; ++t) {
    for (std::size_t i = 0; i < width; ++i) {
      double above = 0, below = 0;
      for (std::int64_t s = 0; s < samples; ++s) {
        const double* at = &seen[(std::size_t(s) * std::size_t(terms) + std::size_t(t)) * row];
        const double weight = q.sampling.baseline == Baseline::mean ? 1 : at[1 + i] * at[1 + i];
        above += weight * at[0], below += weight;
      }
      baseline[std::size_t(t) * width + i] = below > 0 ? above / below : 0;
    }
  }
  return baseline;
}

}  // namespace

template <class Real>
Sampled girsanov(const Question<Real>& q) {
  (void)scored(*q.system, q.wanted);
  const std::size_t width = q.wanted.size();
  const std::int64_t samples = q.sampling.samples, terms = count_terms(q.objective, q.options.steps);
  if (!q.sampling.initial_score.empty() && q.sampling.initial_score.size() != std::size_t(samples) * width)
    refuse("initial_score has " + std::to_string(q.sampling.initial_score.size()) + " numbers",
           "give samples x numbers: " + std::to_string(std::size_t(samples) * width));
  const std::vector<double> baseline = pilot(q, terms);
  std::vector<double> values(std::size_t(samples), 0.0), rows(std::size_t(samples) * width, 0.0);
  walk_terms(q, q.options.seed, samples,
             [&](BlockWalk<Real>& walk, std::int64_t term, const std::vector<double>& loss, const Real* score,
                 const Real* slope) {
               for (int l = 0; l < walk.live(); ++l) {
                 const auto sample = std::size_t(walk.first() + l);
                 values[sample] += loss[std::size_t(l)];
                 for (std::size_t i = 0; i < width; ++i) {
                   const std::int64_t at = q.wanted.numbers[i] * walk.lanes() + l;
                   double s = double(score[at]);
                   if (!q.sampling.initial_score.empty()) s += q.sampling.initial_score[sample * width + i];
                   rows[sample * width + i] +=
                       double(slope[at]) +
                       (loss[std::size_t(l)] - baseline[std::size_t(term) * width + i]) * s;
                 }
               }
             });
  Sampled out{.method = Method::girsanov};
  fill(out, q.wanted, values, rows);
  out.label = "finite horizon; unbiased, also where the loss jumps; the variance grows with the horizon";
  return out;
}

// L = the time of the passage: the score stops with the sample.
template <class Real>
Sampled first_passage(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                      const Arguments<Real>& at, const FirstPassage& event, double dt,
                      const Sampling& sampling) {
  const Wanted wanted(system->signature(), sampling.parameters);
  const ScoredSystem<Real>& score_of = scored(*system, wanted);
  const Field& field = system->signature().find(Role::state, event.field);
  if (event.index < 0 || event.index >= field.size)
    refuse("there is no " + event.field + "[" + std::to_string(event.index) + "]");
  if (sampling.samples < 2) refuse("a first passage needs at least 2 samples");
  if (sampling.samples > kMostSamples)
    refuse(std::to_string(sampling.samples) + " samples do not fit into memory",
           "take at most " + std::to_string(kMostSamples) + ", several times with other seeds");
  if (!std::isfinite(event.level) || (event.before && !std::isfinite(*event.before)))
    refuse("a level of a first passage is not finite", "give the number that is reached");
  if (event.before && (event.upwards ? *event.before >= event.level : *event.before <= event.level))
    refuse("the levels of a committor lie on the wrong sides of each other",
           "`before` lies below the level that is reached upwards, above the one that is reached downwards");
  const std::size_t width = wanted.size(), samples = std::size_t(sampling.samples);
  std::vector<double> values(samples), scores(samples * width);
  std::vector<char> missed(samples, 0);
  each_block(*system, options, at, sampling.samples, [&](BlockWalk<Real>& walk) {
    const int lanes = walk.lanes(), live = walk.live();
    AlignedBuffer<Real> score(system->parameter_size());
    std::fill_n(score.data(), system->parameter_size(), Real(0));
    std::vector<char> done(std::size_t(lanes), 0);
    int left = live;
    const auto look = [&](bool last) {
      const Real* x = walk.in().x + (field.offset + event.index) * lanes;
      for (int l = 0; l < live; ++l) {
        const auto past = [&](double level, bool upwards) {
          return upwards ? double(x[l]) >= level : double(x[l]) <= level;
        };
        const bool there = past(event.level, event.upwards);
        const bool other = event.before && past(*event.before, !event.upwards);
        if (done[std::size_t(l)] || (!there && !other && !last)) continue;
        const auto sample = std::size_t(walk.first() + l);
        done[std::size_t(l)] = 1, missed[sample] = !there && !other, --left;
        values[sample] = event.before ? double(there) : dt * double(walk.k());
        for (std::size_t i = 0; i < width; ++i)
          scores[sample * width + i] = double(score.data()[wanted.numbers[i] * lanes + l]);
      }
    };
    look(false);
    while (left > 0 && walk.k() < options.steps) {
      score_of.add_score(walk.context(), walk.in(), score.data(), walk.work());
      walk.step();
      look(walk.k() == options.steps);
    }
    walk.require_finite();
  });
  const double mean = mean_of(values).value;
  for (std::size_t s = 0; s < samples; ++s)
    for (std::size_t i = 0; i < width; ++i)
      scores[s * width + i] *= (values[s] - mean) * double(samples) / double(samples - 1);
  Sampled out{.method = Method::girsanov};
  fill(out, wanted, values, scores);
  const auto late = std::count(missed.begin(), missed.end(), 1);
  out.label = late == 0 ? std::string(event.before ? "committor" : "mean first passage time") +
                              "; unbiased for the steps taken"
                        : "biased: " + number(100.0 * double(late) / double(samples), 3) +
                              " % of the samples had not arrived at the last step";
  if (late > 0) out.advice.push_back("take more steps: samples that had not arrived count as if they did");
  return out;
}

template Sampled girsanov(const Question<float>&);
template Sampled girsanov(const Question<double>&);
template Sampled first_passage(std::shared_ptr<const System<float>>, RolloutOptions, const Arguments<float>&,
                               const FirstPassage&, double, const Sampling&);
template Sampled first_passage(std::shared_ptr<const System<double>>, RolloutOptions,
                               const Arguments<double>&, const FirstPassage&, double, const Sampling&);

}  // namespace costate::estimate
