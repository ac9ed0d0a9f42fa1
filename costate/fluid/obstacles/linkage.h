// Linkage: what holds bodies together that the flow moves, in two dimensions; the joints of a rigid model are
// one (costate/coupled/swimmer.h). A step asks it, about its shapes:
//
//   begin    where each shape is during the step
//   stage    its motion V (velocity of its centre, spin) at the end of a stage, from what the fluid in its
//            mask does to it (free.h): the force A that it would feel at rest, and the stiffness K,
//            force = A - K V, per density of the fluid
//   end      the linkage's own state after the step, from the wrench that each shape felt in the whole step
//
// and the transposes of these in the other order. With s = share dt, a stage finds V such that A and K take
// part implicitly and together; where a change of V has the cotangent V_bar, `stage_vjp` returns mu, for
// which
//
//   A_bar = s mu     K_bar = -s mu V'
//
// All numbers are double, whatever those of the flow are. What one call finds and the next needs stays in the
// workspace. Tests: tests/coupled/swimmer_test.cpp.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/system/system.h"

namespace costate::fluid {

// Of a shape: x, y and an angle, or what changes with these.
template <class T>
using Planar = std::array<T, 3>;

template <class T>
struct LinkedForce {
  Planar<T> at_rest;                   // A
  std::array<Planar<T>, 3> stiffness;  // K
};

// Numbers of the linkage's own signature, and of the flow.
template <class T>
struct LinkageInputs {
  const T *x, *u, *p;
  const Planar<T>* frames;  // of each shape, in the frame of its body
  T dt;
};
struct LinkageBar {
  double *x, *u, *p;       // x is assigned, the others are added to; null: not wanted
  Planar<double>* frames;  // added to
  double dt;
};
// kept and share of a stage: FlowModel::weights.
struct LinkageStage {
  int number;
  double kept, share;
};

class Linkage {
 public:
  using Tangent = Dual<double>;
  virtual ~Linkage() = default;

  virtual std::size_t shapes() const = 0;
  // Its own states, controls and parameters, without dt. They follow those of the flow.
  virtual const Signature& signature() const = 0;
  virtual std::vector<double> initial_state() const = 0;
  // Where a shape with this frame is, at a state and parameters of its own signature (null: where it starts,
  // and the defaults). Error for a shape that can leave the plane.
  virtual Planar<double> pose(std::size_t shape, const Planar<double>& frame, const double* x,
                              const double* p) const = 0;
  virtual std::unique_ptr<Workspace> make_workspace() const = 0;

  virtual void begin(const LinkageInputs<double>& in, Planar<double>* poses, Workspace& work) const = 0;
  virtual void stage(const LinkageStage& at, const LinkedForce<double>* forces, Planar<double>* motions,
                     Workspace& work) const = 0;
  virtual void end(const Planar<double>* wrenches, double* y, Workspace& work) const = 0;

  virtual void begin(const LinkageInputs<Tangent>& in, Planar<Tangent>* poses, Workspace& work) const = 0;
  virtual void stage(const LinkageStage& at, const LinkedForce<Tangent>* forces, Planar<Tangent>* motions,
                     Workspace& work) const = 0;
  virtual void end(const Planar<Tangent>* wrenches, Tangent* y, Workspace& work) const = 0;

  // After begin and all stages with values. wrenches_bar, mu: assigned.
  virtual void end_vjp(const Planar<double>* wrenches, const double* y_bar, bool parameters,
                       Planar<double>* wrenches_bar, Workspace& work) const = 0;
  virtual void stage_vjp(const LinkageStage& at, const Planar<double>* motions_bar, Planar<double>* mu,
                         Workspace& work) const = 0;
  virtual void begin_vjp(const Planar<double>* poses_bar, LinkageBar& bar, Workspace& work) const = 0;
};

}  // namespace costate::fluid
