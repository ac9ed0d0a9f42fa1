#include "costate/learn/variation.h"

#include <cmath>

#include "costate/core/error.h"
#include "costate/core/philox.h"

namespace costate::learn {

Variation::Variation(const Task& task, std::int64_t worlds) : parameters_(task.plant->signature()) {
  const Signature& plant = task.plant->signature();
  for (const Varied& varied : task.vary) {
    if (!std::isfinite(varied.by) || varied.by < 0 || varied.by >= 1)
      throw Error({"'" + varied.names + "' varies by " + std::to_string(varied.by) + " of itself", "",
                   "give a part between 0 and 1, 1 excluded: 0.2 is 20 % up and down"});
    const std::vector<bool> matching = plant.match(Role::parameter, {varied.names});
    for (std::size_t field = 0; field < matching.size(); ++field) {
      if (!matching[field]) continue;
      for (const Varying& before : varying_)
        if (before.field == field)
          throw Error({"'" + plant.fields(Role::parameter)[field].name + "' varies twice", "",
                       "name it once, or narrow the pattern '" + varied.names + "'"});
      const auto own = parameters_.values(field);
      varying_.push_back({field, varied.by, {own.begin(), own.end()}});
    }
  }
  for (const Varying& v : varying_) {
    std::vector<double> all;
    for (std::int64_t w = 0; w < worlds; ++w) all.insert(all.end(), v.own.begin(), v.own.end());
    parameters_.set(v.field, std::move(all));
  }
}

void Variation::draw(std::uint64_t seed, std::int64_t world, std::int64_t episode, std::int64_t to) {
  for (std::size_t k = 0; k < varying_.size(); ++k) {
    const Varying& v = varying_[k];
    const double r = uniform(seed, std::uint32_t(world), std::uint64_t(episode), std::uint32_t(k)),
                 factor = 1 + v.by * (2 * r - 1);
    const std::span<double> all = parameters_.values(v.field);
    for (std::size_t i = 0; i < v.own.size(); ++i)
      all[std::size_t(to) * v.own.size() + i] = factor * v.own[i];
  }
}

}  // namespace costate::learn
