// costate.rigid: models of rigid bodies.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "any_system.h"
#include "arrays.h"
#include "costate/io/xml_model.h"
#include "costate/rigid/rigid_system.h"
#include "module.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;

std::shared_ptr<AnySystem> load(const std::string& path, const std::optional<std::string>& keyframe,
                                bool applied_forces, const std::optional<bool>& contact) {
  return without_gil([&] {
    const auto model = std::make_shared<rigid::Model>(rigid::load(path));
    if (contact) model->options.contact = *contact;
    const rigid::SystemOptions options{.applied_forces = applied_forces};
    const auto initial = keyframe ? rigid::initial_state(*model, *keyframe) : rigid::initial_state(*model);
    const std::size_t slash = path.find_last_of('/');
    // The same system serves any number of worlds.
    struct Both {
      SystemPtr<double> in_double;
      SystemPtr<float> in_single;
    };
    const auto both = std::make_shared<Both>();
    return std::make_shared<AnySystem>(
        slash == std::string::npos ? path : path.substr(slash + 1),
        [=](std::int64_t) {
          if (!both->in_double) both->in_double = rigid::make_system<double>(*model, options);
          return both->in_double;
        },
        [=](std::int64_t) {
          if (!both->in_single) both->in_single = rigid::make_system<float>(*model, options);
          return both->in_single;
        },
        initial);
  });
}

}  // namespace

void bind_models(nb::module_& m) {
  auto r = m.def_submodule("rigid", "Rigid bodies with joints and contact.");
  r.def(
      "load", &load, "path"_a, nb::kw_only(), "keyframe"_a = nb::none(), "applied_forces"_a = false,
      "contact"_a = nb::none(),
      "A System from an MJCF or URDF file.\n\n"
      "state      'q' (positions, as MuJoCo's qpos), 'v', 'act'\n"
      "control    'ctrl', one per actuator; with applied_forces also 'qfrc', one force per degree of "
      "freedom\n"
      "parameter  'gravity', 'dt', 'body/<name>/mass', 'joint/<name>/damping', 'geom/<name>/friction', ...\n"
      "keyframe   where it starts; None: the reference configuration, at rest\n"
      "contact    False lets geoms pass through each other; None: as the file says");
}

}  // namespace costate::python
