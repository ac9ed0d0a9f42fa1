// Layout: where the numbers of a model lie in state, controls and parameters, and the constants of its
// particles.
#pragma once

#include "costate/mpm/bodies/collider_inputs.h"
#include "costate/mpm/model.h"
#include "costate/system/signature.h"

namespace costate::mpm {

struct Layout {
  explicit Layout(const Model& model);

  struct Place {          // of a number of a material
    std::int64_t offset;  // in the parameters
    bool per_particle;
  };
  struct MaterialNumbers {
    std::vector<Place> numbers;  // as Law::numbers
    bool contracts;              // reads the control "actuation"
  };
  struct Moved {  // bodies, and where the numbers of their mechanism and its shapes begin
    std::shared_ptr<const Mechanism> by;
    std::int64_t x, u, p;
    std::size_t shape;
  };

  // Added to a node's mass: the model's own, or next to nothing beside the lightest particle.
  double mass_floor(const Model& model, bool in_double) const;

  Signature signature;
  std::int64_t particles;
  std::int64_t x, v, C, F, plastic;         // in the state; plastic = -1: none
  std::int64_t gravity, dt, wall_friction;  // in the parameters; wall_friction = -1: none
  std::int64_t actuation;                   // in the controls; -1: none
  std::vector<MaterialNumbers> materials;
  std::vector<ColliderNumbers> colliders;
  std::vector<Moved> moved;
  std::vector<std::int32_t> material;           // of each particle
  std::vector<std::int32_t> index_in_material;  // of each particle
  std::vector<std::int32_t> actuator;
  std::vector<double> volume;

 private:
  // Each adds a field and returns where it begins.
  std::int64_t state(const std::string& name, std::int64_t size, const char* unit);
  std::int64_t control(const std::string& name, int size, const char* unit);
  std::int64_t parameter(const std::string& name, std::vector<double> values, const char* unit);

  // The order of the fields is the order of these stages.
  void place_particles(const Model& model);
  void place_gravity_and_dt(const Model& model);
  void place_materials(const Model& model);
  void place_wall_friction(const Model& model);
  void place_colliders(const Model& model);
  void place_mechanism(std::shared_ptr<const Mechanism> mechanism);
};

}  // namespace costate::mpm
