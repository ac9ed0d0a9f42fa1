// The kind of a law of pairs: over listed pairs or all pairs of small worlds (local_term.h), and over
// neighbour lists where one world has many atoms (list_term.h).
#pragma once

#include "costate/md/potential/list_term.h"

namespace costate::md {

template <class Law, class S>
std::unique_ptr<Term<S>> make_pair_term(const Sites& sites) {
  if (sites.every_pair) return std::make_unique<ListTerm<Law, S>>(sites);
  return std::make_unique<LocalTerm<Law, S>>(sites);
}

// The kind of a law of pairs, with lists where one world has many atoms. The law says how far it reaches:
//   double reach(number) const;    number(k): its k-th number, of the first atom
template <class Law>
PotentialKind pair_kind(std::string name, std::string formula, std::vector<ParameterKind> parameters,
                        std::vector<OptionKind> options = {}) {
  options.push_back({"skin", 0.3});
  PotentialKind kind =
      local_kind<Law>(std::move(name), std::move(formula), std::move(parameters), std::move(options));
  kind.lists = true;
  kind.one_float = make_pair_term<Law, float>;
  kind.one_float_dual = make_pair_term<Law, Dual<float>>;
  kind.one_double = make_pair_term<Law, double>;
  kind.one_double_dual = make_pair_term<Law, Dual<double>>;
  return kind;
}

}  // namespace costate::md
