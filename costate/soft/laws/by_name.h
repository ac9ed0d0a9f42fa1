// The law of a name, or an Error that lists the names.
#pragma once

#include <string>
#include <vector>

#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate::soft {

template <class L>
const L& law_by_name(const std::vector<const L*>& laws, const std::string& name, const char* of) {
  std::vector<std::string> names;
  for (const L* law : laws) {
    if (law->name() == name) return *law;
    names.push_back(law->name());
  }
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  const std::string near = nearest_name(name, names);
  throw Error({std::string("there is no law '") + name + "' of " + of,
               {},
               (near.empty() ? "" : "did you mean '" + near + "'? ") + ("use one of: " + all)});
}

}  // namespace costate::soft
