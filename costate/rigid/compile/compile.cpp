#include "costate/rigid/compile/compile.h"

#include <cmath>

#include "costate/core/names.h"
#include "costate/rigid/compile/compile_stages.h"

namespace costate::rigid {
namespace stages {

void Names::add(const std::string& name, int index, const std::string& where) {
  if (name.empty()) return;
  if (!index_.emplace(name, index).second)
    throw Error(
        {"there are two elements of kind " + kind_ + " named '" + name + "'", where, "names must differ"});
}

int Names::find(const std::string& name, const std::string& user, const std::string& where) const {
  const auto found = index_.find(name);
  if (found != index_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [key, index] : index_) known.push_back(key);
  const std::string near = nearest_name(name, known);
  fail(user, "there is no " + kind_ + " '" + name + "'", where,
       near.empty() ? std::string() : "did you mean '" + near + "'?");
}

bool is_limited(const Compilation& c, std::optional<bool> limited, const Range& range, const std::string& who,
                const char* attribute, const std::string& where) {
  const bool given = range[0] != 0 || range[1] != 0;
  if (!limited && !c.spec.compiler.autolimits && given)
    fail(who, std::string("has a ") + attribute + ", but does not say whether it is limited", where,
         "write limited=\"true\", or set autolimits in the compiler options");
  const bool holds = limited ? *limited : given;
  if (holds && !(range[0] < range[1]))
    fail(who, std::string("its ") + attribute + " is empty: the first number must be less than the second",
         where);
  return holds;
}

Double3 to_array(const Vector& v) { return {v.x, v.y, v.z}; }
Double4 to_array(const Rotation& q) { return {q.w, q.x, q.y, q.z}; }
Vector to_vector(const Double3& a) { return {a[0], a[1], a[2]}; }
Rotation to_rotation(const Double4& a) { return {a[0], a[1], a[2], a[3]}; }

namespace {

void check_options(const Spec& spec) {
  const Options& o = spec.options;
  if (!(o.timestep > 0)) fail("option", "the time step must be positive", spec.file);
  if (!(o.impratio > 0)) fail("option", "impratio must be positive", spec.file);
  if (o.density < 0 || o.viscosity < 0)
    fail("option", "density and viscosity must not be negative", spec.file);
}

}  // namespace
}  // namespace stages

Model compile(const Spec& spec) {
  using namespace stages;
  check_options(spec);
  Compilation c{.spec = spec};
  c.model.name = spec.name;
  c.model.options = spec.options;
  std::vector<CompiledMesh> meshes;
  compile_assets(c, meshes);
  compile_tree(c, meshes);
  compile_masses(c, meshes);
  compile_contacts(c);
  compile_tendons(c);
  compile_equalities(c);
  compile_actuators(c);
  compile_sensors(c);
  complete(c.model);
  compile_gains(c);
  compile_keyframes(c);
  return std::move(c.model);
}

}  // namespace costate::rigid
