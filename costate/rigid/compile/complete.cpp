// What a model's numbers imply: addresses, ranges, and the checks that the kernels rely on.
#include <cmath>
#include <string>

#include "costate/core/error.h"
#include "costate/rigid/compile/compile_inertia.h"
#include "costate/rigid/compile/complete.h"

namespace costate::rigid {
namespace {

std::string quoted(const char* kind, const std::string& name, std::size_t index) {
  return std::string(kind) + " " + (name.empty() ? "#" + std::to_string(index) : "\"" + name + "\"");
}

void expect_index(int index, std::size_t size, const std::string& who, const char* what) {
  if (index >= 0 && static_cast<std::size_t>(index) < size) return;
  throw Error(who + " refers to " + what + " number " + std::to_string(index) + ", but there are " +
              std::to_string(size));
}

void complete_bodies(Model& m) {
  if (m.bodies.empty()) throw Error("a model needs at least the world as body 0");
  for (std::size_t i = 0; i < m.bodies.size(); ++i) {
    Body& b = m.bodies[i];
    const std::string who = quoted("body", b.name, i);
    b.first_joint = b.first_dof = b.first_geom = -1;
    b.joints = b.dofs = b.geoms = 0;
    if (i == 0) {
      b.parent = -1;
      b.root = b.weld = 0;
      continue;
    }
    if (b.parent < 0 || static_cast<std::size_t>(b.parent) >= i) {
      throw Error(who + " must come after its parent; its parent is number " + std::to_string(b.parent));
    }
    if (!(b.mass >= 0)) throw Error(who + " has a negative mass");
    if (b.inertia_quat == Double4{0, 0, 0, 0}) {
      const Double6& I = b.inertia;
      const Quat<double> axes = principal_quat({I[0], I[1], I[2], I[3], I[4], I[5]});
      b.inertia_quat = {axes.w, axes.x, axes.y, axes.z};
    }
    b.root = b.parent == 0 ? static_cast<int>(i) : m.bodies[b.parent].root;
  }
}

void complete_joints(Model& m) {
  m.nq = m.nv = 0;
  m.dofs.clear();
  int last_body = 0;
  for (std::size_t j = 0; j < m.joints.size(); ++j) {
    Joint& joint = m.joints[j];
    const std::string who = quoted("joint", joint.name, j);
    expect_index(joint.body, m.bodies.size(), who, "body");
    if (joint.body == 0) throw Error(who + " belongs to the world, which cannot move");
    if (joint.body < last_body)
      throw Error(who + " is out of order: joints follow the order of their bodies");
    last_body = joint.body;
    Body& body = m.bodies[joint.body];
    if (joint.type == JointType::free && (body.parent != 0 || body.joints > 0)) {
      throw Error(who + ": a free joint must be the first and only joint of a child of the world");
    }
    if (body.joints > 0 && m.joints[j - 1].type == JointType::free) {
      throw Error(who + " follows a free joint in the same body");
    }
    if (joint.type == JointType::slide || joint.type == JointType::hinge) {
      const auto& a = joint.axis;
      if (!(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] > 0)) throw Error(who + " has an axis of length zero");
    }
    if (body.joints++ == 0) {
      body.first_joint = static_cast<int>(j);
      body.first_dof = m.nv;
    }
    joint.qpos = m.nq;
    joint.dof = m.nv;
    m.nq += qpos_size(joint.type);
    m.nv += dof_size(joint.type);
    body.dofs += dof_size(joint.type);
  }
  // Dofs form a tree of their own: through a joint, a body, and then up.
  std::vector<int> last_dof(m.bodies.size(), -1);
  for (std::size_t i = 1; i < m.bodies.size(); ++i) {
    Body& body = m.bodies[i];
    int last = last_dof[body.parent];
    for (int j = body.first_joint; j >= 0 && j < body.first_joint + body.joints; ++j) {
      const Joint& joint = m.joints[j];
      for (int d = 0; d < dof_size(joint.type); ++d) {
        m.dofs.push_back({static_cast<int>(i), j, last, 0});
        last = joint.dof + d;
      }
    }
    last_dof[i] = last;
    body.weld = body.joints > 0 ? static_cast<int>(i) : m.bodies[body.parent].weld;
  }
}

void complete_configuration(Model& m) {
  const auto fill = [&](std::vector<double>& q, double Joint::*scalar) {
    if (!q.empty() && q.size() != static_cast<std::size_t>(m.nq)) {
      throw Error("the reference configuration has " + std::to_string(q.size()) + " numbers instead of " +
                  std::to_string(m.nq));
    }
    if (!q.empty()) return;
    q.assign(m.nq, 0);
    for (const Joint& joint : m.joints) {
      double* at = q.data() + joint.qpos;
      const Body& body = m.bodies[joint.body];
      switch (joint.type) {
        case JointType::free:
          for (int k = 0; k < 3; ++k) at[k] = body.pos[k];
          for (int k = 0; k < 4; ++k) at[3 + k] = body.quat[k];
          break;
        case JointType::ball:
          at[0] = 1;
          break;
        case JointType::slide:
        case JointType::hinge:
          at[0] = joint.*scalar;
          break;
      }
    }
  };
  fill(m.qpos0, &Joint::ref);
  fill(m.qpos_spring, &Joint::springref);
}

void complete_geoms(Model& m) {
  int last_body = 0;
  for (std::size_t g = 0; g < m.geoms.size(); ++g) {
    const Geom& geom = m.geoms[g];
    const std::string who = quoted("geom", geom.name, g);
    expect_index(geom.body, m.bodies.size(), who, "body");
    if (geom.body < last_body) throw Error(who + " is out of order: geoms follow the order of their bodies");
    last_body = geom.body;
    Body& body = m.bodies[geom.body];
    if (body.geoms++ == 0) body.first_geom = static_cast<int>(g);
    if (geom.type == GeomType::mesh) expect_index(geom.mesh, m.meshes.size(), who, "mesh");
    if (geom.type == GeomType::heightfield)
      expect_index(geom.heightfield, m.heightfields.size(), who, "height field");
  }
  for (std::size_t s = 0; s < m.sites.size(); ++s) {
    expect_index(m.sites[s].body, m.bodies.size(), quoted("site", m.sites[s].name, s), "body");
  }
}

void check_tendons(const Model& m) {
  for (std::size_t t = 0; t < m.tendons.size(); ++t) {
    const Tendon& tendon = m.tendons[t];
    const std::string who = quoted("tendon", tendon.name, t);
    if (tendon.first_wrap < 0 || tendon.wraps < 1 ||
        static_cast<std::size_t>(tendon.first_wrap + tendon.wraps) > m.wraps.size()) {
      throw Error(who + " has no path");
    }
    for (int w = tendon.first_wrap; w < tendon.first_wrap + tendon.wraps; ++w) {
      const Wrap& wrap = m.wraps[w];
      if ((wrap.type == WrapType::joint) != (tendon.type == TendonType::fixed))
        throw Error(who + ": a fixed tendon goes over joints, a spatial one over sites, geoms and pulleys");
      const auto site_at = [&](int at) {
        return at >= tendon.first_wrap && at < tendon.first_wrap + tendon.wraps &&
               m.wraps[at].type == WrapType::site;
      };
      switch (wrap.type) {
        case WrapType::joint: {
          expect_index(wrap.object, m.joints.size(), who, "joint");
          const JointType type = m.joints[wrap.object].type;
          if (type != JointType::slide && type != JointType::hinge) {
            throw Error(who + " may only pull on slide and hinge joints");
          }
          break;
        }
        case WrapType::site:
          expect_index(wrap.object, m.sites.size(), who, "site");
          break;
        case WrapType::sphere:
        case WrapType::cylinder:
          expect_index(wrap.object, m.geoms.size(), who, "geom");
          if (wrap.side_site >= 0) expect_index(wrap.side_site, m.sites.size(), who, "site");
          if (!site_at(w - 1) || !site_at(w + 1))
            throw Error(who + " goes around a geom that is not between two sites");
          if (m.geoms[wrap.object].type !=
              (wrap.type == WrapType::sphere ? GeomType::sphere : GeomType::cylinder))
            throw Error(who + " goes around a geom of another shape than its wrap says");
          break;
        case WrapType::pulley:
          if (!(wrap.value > 0)) throw Error(who + " has a pulley whose divisor is not positive");
          break;
      }
    }
  }
}

void complete_actuators(Model& m) {
  m.na = 0;
  for (std::size_t a = 0; a < m.actuators.size(); ++a) {
    Actuator& actuator = m.actuators[a];
    const std::string who = quoted("actuator", actuator.name, a);
    switch (actuator.transmission) {
      case TransmissionType::joint:
      case TransmissionType::joint_in_parent:
        expect_index(actuator.target, m.joints.size(), who, "joint");
        break;
      case TransmissionType::tendon:
        expect_index(actuator.target, m.tendons.size(), who, "tendon");
        break;
      case TransmissionType::site:
        expect_index(actuator.target, m.sites.size(), who, "site");
        break;
    }
    actuator.activation = actuator.dynamics == DynType::none ? -1 : m.na++;
  }
}

void check_equalities(const Model& m) {
  for (std::size_t e = 0; e < m.equalities.size(); ++e) {
    const Equality& q = m.equalities[e];
    const std::string who = quoted("equality", q.name, e);
    const bool bodies = q.type == EqualityType::connect || q.type == EqualityType::weld;
    const std::size_t size = bodies                          ? m.bodies.size()
                             : q.type == EqualityType::joint ? m.joints.size()
                                                             : m.tendons.size();
    const char* what = bodies ? "body" : q.type == EqualityType::joint ? "joint" : "tendon";
    expect_index(q.first, size, who, what);
    if (bodies || q.second >= 0) expect_index(q.second, size, who, what);
  }
}

}  // namespace

void complete(Model& m) {
  complete_bodies(m);
  complete_joints(m);
  complete_configuration(m);
  complete_geoms(m);
  check_tendons(m);
  complete_actuators(m);
  check_equalities(m);
  measure_at_reference(m);
}

}  // namespace costate::rigid
