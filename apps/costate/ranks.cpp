#include "ranks.h"

#include <cstdlib>

#include "costate/cluster/world/ranks.h"
#include "costate/core/error.h"
#include "costate/study/rollout_study.h"

namespace costate::app {

Ranks& ranks_of_mpi() {
  static Ranks ranks;
  return ranks;
}

std::string device_of(const study::Study& study) {
  if (const auto* s = dynamic_cast<const study::RolloutStudy<float>*>(&study)) return s->setup().device;
  if (const auto* s = dynamic_cast<const study::RolloutStudy<double>*>(&study)) return s->setup().device;
  return "cpu";
}

void follow_if_split(const study::Study& study) {
  const std::string device = device_of(study);
  if (device != "cpu") cluster::register_ranks();
  const Ranks& ranks = ranks_of_mpi();
  if (device != "mpi" || !ranks.rank) return;
  if (ranks.rank() == 0) return ranks.lead();
  if (const auto* s = dynamic_cast<const study::RolloutStudy<float>*>(&study))
    ranks.follow_in_float(*s->setup().system.make<float>());
  else if (const auto* d = dynamic_cast<const study::RolloutStudy<double>*>(&study))
    ranks.follow_in_double(*d->setup().system.make<double>());
  std::exit(0);
}

bool leaves_words_to_the_first(const Error& error, const std::string& pool, const std::string& device) {
  const Ranks& ranks = ranks_of_mpi();
  if ((device != "mpi" && pool != "mpi") || !ranks.rank || ranks.rank() == 0) return false;
  (device == "mpi" ? ranks.fail : ranks.refuse)(error);
  return true;
}

}  // namespace costate::app
