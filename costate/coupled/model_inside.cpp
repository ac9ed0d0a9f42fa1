#include "costate/coupled/model_inside.h"

#include "costate/core/error.h"

namespace costate::coupled {

ModelInside::ModelInside(const rigid::Model& model, rigid::SystemOptions options,
                         const std::vector<double>& start) {
  options.applied_forces = true;
  stepper = rigid::make_stepper(model, options, rigid_signature);
  system = rigid::make_system<double>(model, stepper, rigid_signature);
  all.parameters.assign(rigid_signature.fields(Role::parameter).size(), true);
  initial = start.empty() ? rigid::initial_state(model) : start;
  if (std::int64_t(initial.size()) != rigid_signature.states())
    throw Error("the model has " + std::to_string(rigid_signature.states()) + " states, and its start " +
                std::to_string(initial.size()) + " numbers");
  signature.add(Role::state, rigid_signature.fields(Role::state));
  for (const Field& f : rigid_signature.fields(Role::control))
    if (f.name != "qfrc") signature.add(Role::control, f);
  for (const Field& f : rigid_signature.fields(Role::parameter)) {
    const bool shared = f.name == "gravity" || f.name == "dt";
    for (std::int64_t i = 0; i < f.size; ++i) own.push_back(shared ? -1 : int(signature.parameters() + i));
    if (!shared) signature.add(Role::parameter, f);
  }
  for (std::size_t b = 0; b < model.bodies.size(); ++b)
    bodies.push_back(rigid::name_of(model.bodies[b].name, b));
}

void observe_frame_motion(rigid::Observed frame, std::vector<rigid::Observed>& list) {
  using Kind = rigid::Observed::Kind;
  frame.size = 3;
  for (const Kind kind :
       {Kind::position, Kind::axis, Kind::axis, Kind::axis, Kind::velocity, Kind::angular_velocity}) {
    frame.kind = kind;
    frame.at = 3 * int(list.size());
    frame.column = kind == Kind::axis ? int(list.size() % 6) - 1 : 0;
    list.push_back(frame);
  }
}

}  // namespace costate::coupled
