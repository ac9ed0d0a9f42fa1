// A physics in C++ for Python: the bead of bead.h. docs/recipes.md builds and uses it.
// [plugin]
#include <costate/system/plugin.h>

#include "bead.h"

costate::Plugin make() {
  return {.name = "bead",
          .in_double = std::make_shared<costate::LaneSystem<Bead, double>>(bead_fields()),
          .in_single = std::make_shared<costate::LaneSystem<Bead, float>>(bead_fields()),
          .initial = {1.0, 0.0}};
}
COSTATE_PLUGIN(make)
// [/plugin]
