// Mechanism: what moves bodies that the material pushes. Free bodies are one (free_bodies.h), an articulated
// model is another (costate/coupled). A step asks it three things, with the sums J, L, K, Kw, Kvw of
// body_motion.h for each of its shapes:
//
//   begin      pose of each shape, and the velocity that it would have after the step if nothing touched it
//   predict    the velocities that the nodes shall see, from what a first look at them found
//   move       the state after the step, from what the nodes give
//
// and the transposes of these, in the other order. Poses, velocities and sums are about each shape's own
// origin, in world axes. All numbers are double, whatever those of the particles are. What one call finds and
// the next needs stays in the workspace; what its transposes notice goes to the diagnostics there. Tests:
// tests/coupled/.
#pragma once

#include <memory>
#include <vector>

#include "costate/mpm/bodies/body_motion.h"
#include "costate/mpm/bodies/collider.h"
#include "costate/mpm/model.h"
#include "costate/system/system.h"

namespace costate::mpm {

// Numbers of the mechanism's own signature, and what it shares with the material.
template <class T>
struct MechanismInputs {
  StepContext at;
  const T *x, *u, *p;
  Vec3<T> gravity;
  T dt;
};
struct MechanismBar {
  double *x, *u, *p;  // x is assigned, u and p are added to; null: not wanted
  Vec3<double> gravity;
  double dt;
};

class Mechanism {
 public:
  using Tangent = Dual<double>;
  virtual ~Mechanism() = default;

  // One for each shape that touches the material; only shape, contact, band and name count.
  virtual const std::vector<Collider>& shapes() const = 0;
  // Its own states, controls and parameters, without gravity and dt. They follow those of the material.
  virtual const Signature& signature() const = 0;
  virtual std::vector<double> initial_state() const = 0;
  // What does not go together with these dimensions, in words; empty: nothing.
  virtual std::string objection(int dimension) const = 0;
  virtual std::unique_ptr<Workspace> make_workspace() const = 0;

  virtual void begin(const MechanismInputs<double>& in, int dimension, Pose<double>* poses,
                     Workspace& work) const = 0;
  virtual void predict(const BodySums<double>* sums, Pose<double>* poses, Workspace& work) const = 0;
  virtual void move(const BodySums<double>* sums, double* y, Workspace& work) const = 0;

  virtual void begin(const MechanismInputs<Tangent>& in, int dimension, Pose<Tangent>* poses,
                     Workspace& work) const = 0;
  virtual void predict(const BodySums<Tangent>* sums, Pose<Tangent>* poses, Workspace& work) const = 0;
  virtual void move(const BodySums<Tangent>* sums, Tangent* y, Workspace& work) const = 0;

  // After begin and predict with values. sums: what move would be given; pose_bars: cotangents of the poses
  // of the second look, then of the first. sums_bar is assigned.
  virtual void move_vjp(const BodySums<double>* sums, const double* y_bar, bool parameters,
                        BodySums<double>* sums_bar, Workspace& work) const = 0;
  virtual void predict_vjp(const Pose<double>* pose_bars, BodySums<double>* sums_bar,
                           Workspace& work) const = 0;
  virtual void begin_vjp(const Pose<double>* pose_bars, MechanismBar& bar, Workspace& work) const = 0;
};

}  // namespace costate::mpm
