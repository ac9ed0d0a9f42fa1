// What the planners of costate.control are called with.
#pragma once

#include "costate/control/problem.h"
#include "loss_like.h"
#include "one_world.h"

namespace costate::python {

inline std::vector<double> numbers(nb::handle object, const char* what) {
  return object.is_none() ? std::vector<double>{} : to_vector<double>(object, what);
}
inline Array rows(const std::vector<double>& values, std::size_t row) {
  return to_numpy(std::vector<double>(values), {row == 0 ? 0 : values.size() / row, row});
}

template <class Kind>
Kind choose(const char* what, const std::string& word,
            std::initializer_list<std::pair<const char*, Kind>> kinds) {
  std::string all;
  for (const auto& [name, kind] : kinds) {
    if (word == name) return kind;
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  throw Error({std::string(what) + " = '" + word + "'", {}, "use one of: " + all});
}

// `controls` becomes what the search begins with. (control.cpp)
control::Problem problem_of(const AnySystem& system, const LossLike& loss, std::int64_t steps,
                            const FieldsLike& x0, const FieldsLike& u, const Values& p,
                            const ArrayLike& lower, const ArrayLike& upper, const ArrayLike& goal,
                            const nb::list& zero, const nb::list& below, std::vector<double>& controls);

}  // namespace costate::python
