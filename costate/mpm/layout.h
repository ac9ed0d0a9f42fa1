// Layout: where the numbers of a model lie in state, controls and parameters, and the constants of its particles.
#pragma once

#include "costate/mpm/model.h"
#include "costate/system/signature.h"

namespace costate::mpm {

struct Layout {
  explicit Layout(const Model& model);

  struct Number {         // of a material
    std::int64_t offset;  // in the parameters
    bool per_particle;
  };
  struct MaterialNumbers {
    std::vector<Number> numbers;  // as parameters_of(kind)
  };
  struct ColliderNumbers {  // offsets; in the controls where it moves, else in the parameters
    std::int64_t position, rotation, velocity, angular_velocity;
    std::int64_t friction;  // in the parameters
  };

  struct BodyPlaces {
    std::int64_t position, orientation, velocity, angular_velocity;  // in the state
    std::int64_t mass, inertia, friction;                            // in the parameters
  };

  Signature signature;
  std::int64_t particles;
  std::int64_t x, v, C, F, plastic;         // in the state; plastic = -1: none
  std::int64_t gravity, dt, wall_friction;  // in the parameters; wall_friction = -1: none
  std::int64_t actuation;                   // in the controls; -1: none
  std::vector<MaterialNumbers> materials;
  std::vector<ColliderNumbers> colliders;
  std::vector<BodyPlaces> bodies;
  std::int64_t mechanism_x, mechanism_u, mechanism_p;  // where the mechanism's numbers begin
  std::vector<std::int32_t> material;                  // of each particle
  std::vector<std::int32_t> index_in_material;         // of each particle
  std::vector<std::int32_t> actuator;
  std::vector<double> volume;
};

}  // namespace costate::mpm
