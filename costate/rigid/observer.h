// Observer: losses on where points of a model are and how they move.
//
//   const rigid::Observer hand(model, system->signature(),
//                              {{"tip", "site/tip"}, {"speed", "site/tip/velocity"}});
//   const auto loss = hand.objective(
//       loss::sum<double>({loss::final<double>(hand.signature(), "tip", {0.4, 0, 0.3}),
//                          loss::final<double>(hand.signature(), "speed", {})}));
//
// Every objective of costate/system (final, track, expression, ...) can be written on hand.signature(): the
// states of the system, then the quantities. The objective that comes back is one of the system's own states,
// with its gradient by state, control and parameters.
//
//   site/NAME, body/NAME, geom/NAME      position in the world (3 numbers)
//     .../velocity                       of that point, world axes
//     .../angular_velocity               of the body, world axes
//     .../xaxis, /yaxis, /zaxis          of its frame, world axes
//   body/NAME/com, .../com/velocity      its centre of mass
//   subtree/NAME, subtree/NAME/velocity  centre of mass of a body and all it carries (world: all)
//   energy/kinetic, energy/gravity       of the whole model: of motion, and of weights (one number each)
//   sensor/NAME                          a sensor of the file, if it is a jointpos, jointvel, framepos,
//                                        framexaxis, yaxis, zaxis, framelinvel, frameangvel,
//                                        subtreecom, subtreelinvel, ballquat or ballangvel
//   joint/NAME, joint/NAME/velocity      positions (1, 4 or 7) and velocities (1, 3 or 6) of a joint
//
// Second derivatives of such a loss do not exist here: asked for them it throws.
// Tests: tests/rigid/dynamics/observer_test.cpp. The kernels: observe.h.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "costate/rigid/model.h"
#include "costate/system/objective.h"

namespace costate::rigid {

struct Quantity {
  std::string name;  // in signature() and formulas
  std::string path;  // "site/tip"
};

class Observer {
 public:
  // `system`: signature of the model's system, or of one that has its states and begins with its parameters
  // (learn::closed_loop). Throws Error for a path that does not exist, with the nearest that does.
  Observer(const Model& model, const Signature& system, const std::vector<Quantity>& quantities);
  ~Observer();

  const Signature& signature() const;

  template <class Real>
  ObjectivePtr<Real> objective(ObjectivePtr<Real> of) const;

  // Of one world: the quantities one after the other; poses of all bodies in the world (position, quaternion
  // w x y z). x is a state, p all parameters of the model (empty: as the model has them).
  std::vector<double> values(const std::vector<double>& x, const std::vector<double>& p = {}) const;
  std::vector<std::array<double, 7>> body_poses(const std::vector<double>& x,
                                                const std::vector<double>& p = {}) const;

 private:
  struct Plan;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace costate::rigid
