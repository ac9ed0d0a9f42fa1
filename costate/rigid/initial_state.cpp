// Where a model starts: its reference configuration at rest, or one of its keyframes.
#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/rigid/rigid_system.h"

namespace costate::rigid {

std::vector<double> initial_state(const Model& model) {
  std::vector<double> x = model.qpos0;
  const std::size_t rest = std::size_t(model.nv) + std::size_t(model.na);
  x.insert(x.end(), rest, 0.0);
  return x;
}

std::vector<double> initial_state(const Model& model, const std::string& keyframe) {
  std::vector<std::string> names;
  for (const Keyframe& k : model.keyframes) {
    if (k.name != keyframe) {
      names.push_back(k.name);
      continue;
    }
    std::vector<double> x = k.qpos;
    x.insert(x.end(), k.qvel.begin(), k.qvel.end());
    x.insert(x.end(), k.act.begin(), k.act.end());
    return x;
  }
  const std::string nearest = nearest_name(keyframe, names);
  throw Error({"the model has no keyframe '" + keyframe + "'", "rigid::initial_state",
               names.empty()     ? "it has none at all"
               : nearest.empty() ? "it has '" + names.front() + "'"
                                 : "did you mean '" + nearest + "'?"});
}

}  // namespace costate::rigid
