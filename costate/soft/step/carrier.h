// Carrier: links that carry vertices of soft bodies and feel what these feel. An articulated model is one
// (coupled/carrier.h).
//
// A step of it takes generalised forces, one per dof, and returns its state after the step with the poses of
// its links there. Of these poses it also knows
//
//   carry      J v, the velocities of links for velocities v of the dofs; J at the latest poses
//   gather     J'w, the generalised forces of wrenches w on links, moments about each link's place
//   nudge      the poses with the derivative of moving one dof
//   way        the displacement of the dofs from one state to another
//   response   A = dq+/dforces, dofs x dofs
//
// and the transpose of all that. What one call finds and the next needs stays in the workspace.
// Tests: tests/coupled/carrier_test.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/core/mat3.h"
#include "costate/system/system.h"

namespace costate::soft {

// Numbers of the carrier's own signature, and what it has in common with the soft bodies.
template <class T>
struct CarrierInputs {
  StepContext at;
  const T *x, *u, *p;
  Vec3<T> gravity;
  T dt;
};

template <class T>
struct Link {
  Vec3<T> place;
  Mat3<T> turn;
};
// A velocity of a link, or a wrench on it.
template <class T>
struct LinkVector {
  Vec3<T> linear, angular;
};

class Carrier {
 public:
  using Tangent = Dual<double>;
  // Of a scalar that depends on the state after the step, on the poses there, and on gather(wrenches) through
  // `forces`: the generalised forces' own cotangent.
  struct OutBar {
    const double* y;
    const Link<double>* links;
    const LinkVector<double>* wrenches;
    const double* forces;
  };
  // x is assigned, u and p are added to; u and p may be null.
  struct InBar {
    double *x, *u, *p;
    Vec3<double> gravity = Vec3<double>::zero();
    double dt = 0;
  };

  virtual ~Carrier() = default;

  // Its own states, controls and parameters, without gravity and dt.
  virtual const Signature& signature() const = 0;
  virtual std::vector<double> initial_state() const = 0;
  virtual const std::vector<std::string>& links() const = 0;
  // Poses at the initial state: where vertices that ride on links are attached.
  virtual std::vector<Link<double>> links_at_start() const = 0;
  virtual int dofs() const = 0;
  virtual std::unique_ptr<Workspace> make_workspace() const = 0;

  virtual void begin(const CarrierInputs<double>& in, Workspace& work) const = 0;
  virtual void begin(const CarrierInputs<Tangent>& in, Workspace& work) const = 0;
  virtual void move(const double* forces, double* y, Link<double>* links, Workspace& work) const = 0;
  virtual void move(const Tangent* forces, Tangent* y, Link<Tangent>* links, Workspace& work) const = 0;
  virtual void gather(const LinkVector<double>* wrenches, double* forces, Workspace& work) const = 0;
  virtual void gather(const LinkVector<Tangent>* wrenches, Tangent* forces, Workspace& work) const = 0;
  virtual void carry(const double* v, LinkVector<double>* links, Workspace& work) const = 0;
  // gather() with tangents is at these poses, until the next move() with tangents.
  virtual void nudge(int dof, Link<Tangent>* links, Workspace& work) const = 0;
  virtual void way(const double* from, const double* to, double* e) const = 0;
  virtual void response(double* A, Workspace& work) const = 0;

  // Of the latest begin() and move() with values. forces_bar is assigned; in: null, if only that is wanted.
  virtual void vjp(const OutBar& out, double* forces_bar, InBar* in, Workspace& work) const = 0;
};

}  // namespace costate::soft
