#include "costate/learn/episodes.h"

#include <algorithm>

#include "costate/core/philox.h"
#include "costate/learn/streams.h"
#include "costate/learn/variation.h"
#include "costate/system/rollout.h"

namespace costate::learn {

std::vector<double> start_of(const Task& task, std::uint64_t seed, std::int64_t world, std::int64_t episode) {
  std::vector<double> x = task.start;
  const std::uint64_t key = stream(seed, kStarts);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = [&](std::size_t index) { return std::uint32_t(index); };
    if (!task.uniform.empty())
      x[i] +=
          task.uniform[i] * (2 * uniform(key, std::uint32_t(world), std::uint64_t(episode), at(2 * i)) - 1);
    if (!task.normal.empty())
      x[i] += task.normal[i] * normal(key, std::uint32_t(world), std::uint64_t(episode), at(2 * i + 1));
  }
  return x;
}

Scores play(const Task& task, const Starts& starts, const Act& act) {
  TaskFunctions functions(task);
  const std::int64_t n = task.plant->signature().states(), worlds = starts.worlds;
  Rollout<double> rollout(task.plant, {.steps = task.hold,
                                       .worlds = worlds,
                                       .hold = task.hold,
                                       .active = {},
                                       .on_divergence = OnDivergence::mask_world});
  Arguments<double> at = rollout.arguments();
  at.x0.clear();
  Variation variation(task, worlds);
  for (std::int64_t w = 0; w < worlds; ++w) {
    const std::int64_t like = w % starts.different;
    variation.draw(stream(starts.seed, kStarts) + kVariation, like, starts.episode, w);
    const std::vector<double> x = start_of(task, starts.seed, like, starts.episode);
    at.x0.insert(at.x0.end(), x.begin(), x.end());
  }
  at.parameters = variation.parameters();
  Scores scores{std::vector<double>(std::size_t(worlds), 0.0), std::vector<double>(std::size_t(worlds), 0.0)};
  std::vector<double> o(std::size_t(worlds * functions.observations())), r(scores.returns), alive(r),
      running(r.size(), 1.0);
  for (std::int64_t k = 0; k < task.decisions; ++k) {
    functions.observe(worlds, at.x0.data(), o.data());
    at.controls = act(o, running);
    const Trajectory<double> to = rollout.simulate(at);
    std::vector<double> y = to.final_state;
    for (const std::int64_t w : to.diverged) std::copy_n(at.x0.begin() + w * n, n, y.begin() + w * n);
    functions.alive(worlds, y.data(), alive.data());
    for (const std::int64_t w : to.diverged) alive[w] = 0;
    functions.reward(worlds, at.x0.data(), at.controls.data(), y.data(), alive.data(), r.data());
    double any = 0;
    for (std::int64_t w = 0; w < worlds; ++w) {
      scores.returns[w] += running[w] * r[w];
      scores.lengths[w] += running[w];
      running[w] *= alive[w];
      any += running[w];
    }
    if (any == 0) break;
    at.x0 = y;
  }
  return scores;
}

Scores evaluate(const Task& task, const Policy& policy, std::int64_t worlds, std::uint64_t seed) {
  std::vector<double> h(std::size_t(worlds * policy.remembered()));
  return play(task, {.worlds = worlds, .different = worlds, .seed = seed},
              [&](const std::vector<double>& o, const std::vector<double>&) { return policy.act(o, h); });
}

}  // namespace costate::learn
