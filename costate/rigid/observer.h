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
//     .../velocity, /angular_velocity    of that point and its body, world axes
//     .../acceleration                   of that point; /proper_acceleration: as an accelerometer feels it
//     .../angular_acceleration
//     .../xaxis, /yaxis, /zaxis          of its frame, world axes; .../quaternion (w x y z)
//   site/NAME/gyro, /velocimeter, /accelerometer, /magnetometer      in the axes of the site
//   site/NAME/force, /torque             what the site's body is held with by its parent, axes of the site
//   site/NAME/touch                      sum of the normal forces of contacts in the site's volume (1)
//   body/NAME/contact, geom/NAME/contact sum of the contact forces on it, world axes
//     .../contact_torque                 their sum of torques about its own origin, world axes
//   body/NAME/com, .../com/velocity      its centre of mass
//   subtree/NAME, subtree/NAME/velocity  centre of mass of a body and all it carries (world: all)
//   subtree/NAME/angular_momentum        about that centre
//   energy/kinetic, energy/gravity, energy/spring    of the whole model (one number each)
//   joint/NAME, joint/NAME/velocity      positions (1, 4 or 7) and velocities (1, 3 or 6) of a joint
//   tendon/NAME, tendon/NAME/velocity    length and its rate
//   actuator/NAME, .../length, .../velocity    force, and what its transmission sees
//   sensor/NAME                          a sensor of the file, as MuJoCo's sensordata has it; not
//                                        rangefinder, clock, jointactuatorfrc, joint limits, those with a
//                                        reference frame
//
// Forces and accelerations depend on the controls too, and on how the system treats contact: `options`. They
// belong to the steps of a rollout, not to the state at its end, which has no control.
//
// Second derivatives are exact where the loss that is written on the quantities has them: the transpose is
// carried on duals. So planners and fits may be of second order with respect to everything that is observed.
// Tests: tests/rigid/dynamics/observer_test.cpp, observe_forces_test.cpp. The kernels: observe/.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "costate/rigid/model.h"
#include "costate/rigid/rigid_system.h"
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
  Observer(const Model& model, const Signature& system, const std::vector<Quantity>& quantities,
           const SystemOptions& options = {});
  ~Observer();

  const Signature& signature() const;

  template <class Real>
  ObjectivePtr<Real> objective(ObjectivePtr<Real> of) const;

  // Of one world: the quantities one after the other; poses of all bodies in the world (position, quaternion
  // w x y z). x is a state, p all parameters of the model (empty: as the model has them), u the controls,
  // where forces or accelerations are observed.
  std::vector<double> values(const std::vector<double>& x, const std::vector<double>& p = {},
                             const std::vector<double>& u = {}) const;
  // The transpose of values(): cotangents of x, u (empty where no control matters) and p, given one of every
  // number.
  struct Pulled {
    std::vector<double> x, u, p;
  };
  Pulled pull_back(const std::vector<double>& x, const std::vector<double>& bars,
                   const std::vector<double>& p = {}, const std::vector<double>& u = {}) const;
  std::vector<std::array<double, 7>> body_poses(const std::vector<double>& x,
                                                const std::vector<double>& p = {}) const;

 private:
  struct Plan;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace costate::rigid
