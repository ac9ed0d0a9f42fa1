// A material and its surroundings for tests of contact between cloths. Nothing is zero: the checks move every
// number in proportion to itself.
#pragma once

#include "costate/soft/soft_model.h"

namespace costate::soft {

inline SoftModel light_cloth(double friction) {
  return {.materials = {{.name = "m",
                         .law = "stvk",
                         .numbers = {{"E", 2e4}, {"nu", .3}},
                         .density = .2,
                         .viscosity = .5,
                         .bending = 1e-5,
                         .bending_viscosity = 1e-7}},
          .drag = .1,
          .wind = {.1, .2, .1},
          .wind_drag = .01,
          .contact = {.self = true, .distance = .01, .stiffness = 400, .friction = friction},
          .dt = .01,
          .tolerance = 1e-13};
}

}  // namespace costate::soft
