// From a model to what a step works with: names and places of all numbers, and the sites of every potential.
#pragma once

#include "costate/md/layout.h"
#include "costate/md/potential/term.h"

namespace costate::md {

struct Compiled {
  Signature signature;
  Layout layout;
  Word word;
  struct One {
    std::shared_ptr<const PotentialKind> kind;
    Sites sites;
  };
  std::vector<One> potentials;
};

// More atoms than that are one world that is parallel inside; fewer run as worlds in lanes.
inline constexpr int kMostInLanes = 128;
inline constexpr int kMostSpecies = 64;  // of one potential

// Throws Error where the model is no model.
Compiled compile(const Model& model);

template <class S>
std::vector<std::unique_ptr<Term<S>>> make_terms(const Compiled& compiled) {
  std::vector<std::unique_ptr<Term<S>>> terms;
  for (const Compiled::One& one : compiled.potentials) terms.push_back(one.kind->make<S>()(one.sites));
  return terms;
}

}  // namespace costate::md
