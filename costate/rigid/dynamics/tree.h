// Tree: the integers of a model as the kernels walk them, and where their numbers lie among the parameters.
//
// The mass matrix of a tree is zero between dofs of different branches, and so are its factors L in M = L' D
// L [1]. Row i holds the diagonal, then the entries with its ancestors from the nearest to the farthest; the
// row of an ancestor j of i is therefore laid out like the tail of row i that starts at j.
//
// [1] Featherstone: Efficient factorization of the joint-space inertia matrix for branched kinematic trees,
// IJRR 24 (2005).
#pragma once

#include <memory>
#include <vector>

#include "costate/geometry/convex.h"
#include "costate/geometry/heightfield.h"
#include "costate/rigid/dynamics/parameter_map.h"

namespace costate::rigid {

struct TreeBody {
  int parent = 0, root = 0;
  int joint_begin = 0, joint_end = 0;
  int dof_begin = 0, dof_end = 0;
  int last_dof = -1;    // the nearest dof that moves this body; -1: none does
  bool placed = false;  // by a free joint
  BodyParameters p;
};

struct TreeJoint {
  JointType type = JointType::hinge;
  int body = 0, q = 0, dof = 0;
  bool last = false;  // in its body
  bool has_spring = false;
  JointParameters p;
};

struct TreeDof {
  int body = 0, joint = 0, parent = -1;
  int row = 0, depth = 0;  // of the mass matrix: address of the diagonal, number of entries
};

struct TreeActuator {
  enum class Kind { scalar_joint, ball, free, tendon, site } kind = Kind::scalar_joint;
  int target = 0;      // joint, tendon or site
  int q = 0, dof = 0;  // of a joint
  int activation = -1;
  DynType dynamics = DynType::none;
  bool affine_gain = false, affine_bias = false, act_early = false;
  bool muscle_gain = false, muscle_bias = false;
  ActuatorParameters p;
};

// A body that a span of a tendon pulls on.
struct SpanBody {
  int body = 0;
  int pos = kAbsent;      // parameter: the point, in the body's frame
  std::vector<int> dofs;  // positions in the tendon's `dof` of those that move it, and not all of the span
};
// From a site to the next, around a geom or not.
struct TreeSpan {
  SpanBody from, to, around;
  int geom = -1, side = -1;  // geom; site that says on which side
  bool cylinder = false;
  int divisor = kAbsent;  // parameter, behind a pulley
};

struct TreeTendon {
  bool spatial = false;
  std::vector<int> q, dof;      // of the joints it pulls; spatial: dofs in ascending order, no q
  std::vector<TreeSpan> spans;  // spatial
  int jacobian = 0;  // where its Jacobian begins among those of all tendons: a number for each of `dof`
  struct Pair {
    int first, second, entry;  // positions in `dof`; where their product lies in the mass matrix
  };
  std::vector<Pair> pairs;  // those on one branch: others have no place there
  TendonParameters p;
};

struct TreeSite {
  int body = 0;
  SiteParameters p;
};

struct TreeGeom {
  int body = 0;
  GeomType type = GeomType::sphere;
  std::shared_ptr<const geometry::ConvexMesh> mesh;     // of a mesh that may touch something
  std::shared_ptr<const geometry::HeightGrid> heights;  // of a heightfield that may
  GeomParameters p;
};

struct Tree {
  int nq = 0, nv = 0, na = 0, nu = 0;
  int entries = 0;  // of the mass matrix
  std::vector<TreeBody> bodies;
  std::vector<TreeJoint> joints;
  std::vector<TreeDof> dofs;
  std::vector<TreeActuator> actuators;
  std::vector<TreeGeom> geoms;
  std::vector<TreeSite> sites;
  std::vector<TreeTendon> tendons;
  int tendon_entries = 0;  // of all Jacobians
  bool spatial_tendons = false;
  std::vector<double> qpos_spring;
  std::vector<int>
      spinning;  // free joints whose gyroscopic force the integrator treats implicitly (gyroscopic.h)
  std::vector<int> sliders;  // bodies that only slide along their own axes (inverse_weights.h)
  bool springs = true, dampers = true;
  bool body_actuators = false;      // some actuator acts on a site
  bool gravcomp = false;            // some body's weight is held up
  bool fluid = false;               // bodies move in a fluid
  bool joint_force_limits = false;  // some joint limits what its actuators do
  ParameterMap p;
};

// Whether some active parameter is a frame or an inertia.
bool wants_frames(const Tree& tree, const std::vector<bool>& active_fields);

Tree make_tree(const Model& model, ParameterMap map);

}  // namespace costate::rigid
