#include "costate/study/losses/term.h"

namespace costate::study {

double price_of(const PathPrice& price, const std::vector<Path>& paths) {
  double value = 0;
  for (const std::size_t p : price.paths)
    value += price.kind == PathPrice::Kind::jerk ? jerk(paths[p]) : excess(paths[p], price.limit);
  return price.weight * value;
}

void price_of_vjp(const PathPrice& price, const std::vector<Path>& paths, std::vector<Path>& paths_bar) {
  for (const std::size_t p : price.paths) {
    if (price.kind == PathPrice::Kind::jerk)
      jerk_vjp(paths[p], price.weight, paths_bar[p].points);
    else
      excess_vjp(paths[p], price.limit, price.weight, paths_bar[p].points);
  }
}

}  // namespace costate::study
