// The stages of compile (compile.h), in the order in which it calls them; and the names that later stages
// look up.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "costate/core/error.h"
#include "costate/rigid/compile/compile.h"

namespace costate::rigid::stages {

// Elements of one kind by name.
class Names {
 public:
  explicit Names(std::string kind) : kind_(std::move(kind)) {}

  // A name may be empty; twice the same is a mistake.
  void add(const std::string& name, int index, const std::string& where);
  // Throws Error, with the nearest name, if there is none such. `user` is who asks: "actuator 'hip'".
  int find(const std::string& name, const std::string& user, const std::string& where) const;

 private:
  std::string kind_;
  std::unordered_map<std::string, int> index_;
};

struct Compilation {
  const Spec& spec;
  Model model = {};
  Names bodies{"body"}, joints{"joint"}, geoms{"geom"}, sites{"site"}, meshes{"mesh"},
      hfields{"height field"}, tendons{"tendon"}, actuators{"actuator"};
  std::vector<const BodySpec*> body_specs = {};  // by number
};

// "joint 'knee'", or "joint" if it has no name.
template <class Element>
std::string title(const char* kind, const Element& element) {
  return element.name.empty() ? std::string(kind) : std::string(kind) + " '" + element.name + "'";
}

[[noreturn]] inline void fail(const std::string& who, const std::string& what, const std::string& where,
                              const std::string& advice = "") {
  throw Error({who + ": " + what, where, advice});
}

// Whether an optional limit holds: as written, or else (autolimits) if there is a range. Checks the range of
// one that does.
bool is_limited(const Compilation& c, std::optional<bool> limited, const Range& range, const std::string& who,
                const char* attribute, const std::string& where);

Double3 to_array(const Vector& v);
Double4 to_array(const Rotation& q);
Vector to_vector(const Double3& a);
Rotation to_rotation(const Double4& a);

// Meshes with their frames (compile_mesh.cpp). A mesh's mass properties are those at density 1.
struct CompiledMesh {
  Vector pos;  // of the centred, aligned mesh in the frame that it was written in
  Rotation quat;
  double volume = 0;
  Sym3<double> inertia;  // of density 1, in the aligned frame
};
// The shape of another type that is fitted to a mesh: around its box, or with its mass and inertia.
struct FittedShape {
  Vector center;  // in the frame of the aligned mesh
  Double3 size;
};
FittedShape fit_shape(GeomType type, const CompiledMesh& compiled, const Mesh& mesh, bool around_box);
CompiledMesh compile_mesh(const MeshSpec& spec, bool collides, bool gives_mass, Mesh& mesh);
void compile_assets(Compilation& c, std::vector<CompiledMesh>& meshes);

// The tree: bodies, joints, geoms, sites (compile_tree.cpp).
void compile_tree(Compilation& c, const std::vector<CompiledMesh>& meshes);

// Size, position and orientation of a geom or site written by its two ends.
void resolve_fromto(GeomType type, const Double6& ends, const std::string& who, const std::string& where,
                    Double3& size, Vector& pos, Rotation& quat);

// Masses (compile_masses.cpp): from inertials and geoms, bounded, balanced, scaled.
void compile_masses(Compilation& c, const std::vector<CompiledMesh>& meshes);

// What refers to the tree (compile_references.cpp, compile_actuators.cpp).
void compile_contacts(Compilation& c);
void compile_tendons(Compilation& c);
void compile_equalities(Compilation& c);
void compile_actuators(Compilation& c);
void compile_sensors(Compilation& c);
void compile_keyframes(Compilation& c);

// After complete(), which measures inverse weights (compile_gains.cpp).
void compile_gains(Compilation& c);

}  // namespace costate::rigid::stages
