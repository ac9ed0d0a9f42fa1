// A rigid model inside another physics, with which it has gravity and the length of a step in common.
//
// Its states, its controls and every parameter but these two go by their own names in `signature`; a step of
// the model takes `raw`: all of its parameters, and controls with a force for each dof behind them.
// Used by articulated.h (among material points) and carrier.h (soft bodies). Tests: tests/coupled/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/rigid/observe/observed.h"
#include "costate/rigid/rigid_system.h"
#include "costate/rigid/step/step.h"

namespace costate::coupled {

struct ModelInside {
  // Error for a start of another size, and for what the dynamics do not simulate. Empty: the reference
  // configuration.
  ModelInside(const rigid::Model& model, rigid::SystemOptions options, const std::vector<double>& start);

  Signature signature, rigid_signature;
  rigid::Stepper stepper;
  std::shared_ptr<const System<double>> system;
  Activity all;
  std::vector<int> own;  // number of a parameter of the model in `signature`; -1: gravity or dt
  std::vector<double> initial;
  std::vector<std::string> bodies;

  template <class T>
  void parameters(const T* p, const Vec3<T>& gravity, const T& dt, T* raw) const {
    const rigid::ParameterMap& map = stepper.tree.p;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (own[i] >= 0) raw[i] = p[own[i]];
    for (int a = 0; a < 3; ++a) raw[map.gravity + a] = gravity[a];
    raw[map.dt] = dt;
  }
  rigid::Wanted wanted(bool parameters) const {
    if (!parameters) return {nullptr, nullptr, false};
    return {&all, &stepper.tree.p.field_of, true};
  }
};

// What ShapeMotion sees of a frame: its place, its axes, its velocity, its angular velocity. `frame` says
// which body, and where in it.
void observe_frame_motion(rigid::Observed frame, std::vector<rigid::Observed>& list);

}  // namespace costate::coupled
