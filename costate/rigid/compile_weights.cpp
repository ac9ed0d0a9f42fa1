// What the mass matrix at qpos0 says about a model: inverse weights, the solver's scale, tendon lengths, and gains that are
// given as damping ratios or time constants.
//
//   M             = sum over bodies of m Jv' Jv + Jw' I Jw, plus armatures of joints and tendons
//   dof           (M^-1)_ii; the three translations and the three rotations of a free or ball joint share their mean
//   body          mean of the diagonal of J M^-1 J', J of the centre of mass: translation, rotation
//   tendon        J M^-1 J', J = d length / d q
//   sliders       a body that only slides, along its own principal axes, on something fixed: 1/m, whatever the armature
//   servo         kv = 2 ratio sqrt(kp / w), w = gear^2 (inverse weight of its joint or tendon)
//   springdamper  (t, r) of a joint: stiffness I / (t r)^2, damping 2 I / t, I = 1 / (mean inverse weight)
//
// In the reference configuration no joint is displaced, so the frames of bodies are those that the model lists.
// Reference: MuJoCo documentation, "Computation" (constraint space inertia) and "XML reference" (springdamper, dampratio).
#include <Eigen/Cholesky>
#include <cmath>

#include "costate/rigid/compile_stages.h"

namespace costate::rigid::stages {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kTiny = 1e-15;

Vector3d eigen(const Vector& v) { return {v.x, v.y, v.z}; }

class Reference {
 public:
  explicit Reference(const Model& m)
      : m_(m), poses_(poses_at_reference(m)), mass_(MatrixXd::Zero(m.nv, m.nv)) {
    for (std::size_t i = 1; i < m.bodies.size(); ++i) {
      const Body& b = m.bodies[i];
      if (b.weld == 0 || !(b.mass > 0)) continue;
      const MatrixXd j = jacobian(int(i), center(int(i)));
      const Double6& I = b.inertia;
      const Sym3<double> turned =
          congruence(to_matrix(poses_[i].quat), Sym3<double>{I[0], I[1], I[2], I[3], I[4], I[5]});
      const Mat3<double> full = turned.full();
      Eigen::Matrix3d inertia;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) inertia(r, c) = full(r, c);
      mass_ += b.mass * j.topRows(3).transpose() * j.topRows(3) +
               j.bottomRows(3).transpose() * inertia * j.bottomRows(3);
    }
    for (const Joint& q : m.joints) {
      for (int d = 0; d < dof_size(q.type); ++d) mass_(q.dof + d, q.dof + d) += q.armature;
    }
  }

  Vector center(int body) const {
    const Pose& p = poses_[std::size_t(body)];
    return p.pos + rotate(p.quat, to_vector(m_.bodies[std::size_t(body)].com));
  }
  Vector site(int index) const {
    const Site& s = m_.sites[std::size_t(index)];
    const Pose& p = poses_[std::size_t(s.body)];
    return p.pos + rotate(p.quat, to_vector(s.pos));
  }

  // Velocity of a point fixed to a body (rows 0..2) and angular velocity (3..5), world axes, by dof.
  MatrixXd jacobian(int body, const Vector& point) const {
    MatrixXd j = MatrixXd::Zero(6, m_.nv);
    for (int b = body; b > 0; b = m_.bodies[std::size_t(b)].parent) {
      const Body& at = m_.bodies[std::size_t(b)];
      const Pose& p = poses_[std::size_t(b)];
      for (int k = at.first_joint; k >= 0 && k < at.first_joint + at.joints; ++k) {
        const Joint& q = m_.joints[std::size_t(k)];
        const auto turning = [&](int dof, const Vector& axis, const Vector& anchor) {
          j.block<3, 1>(0, dof) = eigen(cross(axis, point - anchor));
          j.block<3, 1>(3, dof) = eigen(axis);
        };
        const Vector anchor = p.pos + rotate(p.quat, to_vector(q.pos));
        const Mat3<double> axes = to_matrix(p.quat);
        switch (q.type) {
          case JointType::free:
            for (int d = 0; d < 3; ++d) j(d, q.dof + d) = 1;
            for (int d = 0; d < 3; ++d) turning(q.dof + 3 + d, axes.column(d), p.pos);
            break;
          case JointType::ball:
            for (int d = 0; d < 3; ++d) turning(q.dof + d, axes.column(d), anchor);
            break;
          case JointType::slide:
            j.block<3, 1>(0, q.dof) = eigen(rotate(p.quat, to_vector(q.axis)));
            break;
          case JointType::hinge:
            turning(q.dof, rotate(p.quat, to_vector(q.axis)), anchor);
            break;
        }
      }
    }
    return j;
  }

  // Length of a tendon and its derivative by dof. Fixed tendons take joint values from `qpos`.
  double tendon(const Tendon& t, const std::vector<double>& qpos, VectorXd& gradient) const {
    gradient = VectorXd::Zero(m_.nv);
    double length = 0, divisor = 1;
    for (int w = t.first_wrap; w < t.first_wrap + t.wraps; ++w) {
      const Wrap& wrap = m_.wraps[std::size_t(w)];
      if (wrap.type == WrapType::joint) {
        const Joint& q = m_.joints[std::size_t(wrap.object)];
        length += wrap.value * qpos[std::size_t(q.qpos)];
        gradient[q.dof] += wrap.value;
      } else if (wrap.type == WrapType::pulley) {
        divisor = wrap.value;
      } else if (w + 1 < t.first_wrap + t.wraps && m_.wraps[std::size_t(w) + 1].type == WrapType::site) {
        const int next = m_.wraps[std::size_t(w) + 1].object;
        const Vector from = site(wrap.object), to = site(next);
        const double distance = norm(to - from);
        const Vector3d direction = eigen(normalized(to - from));
        length += distance / divisor;
        const MatrixXd moved = jacobian(m_.sites[std::size_t(next)].body, to).topRows(3) -
                               jacobian(m_.sites[std::size_t(wrap.object)].body, from).topRows(3);
        gradient += moved.transpose() * direction / divisor;
      }
    }
    return length;
  }

  MatrixXd& mass() { return mass_; }

 private:
  const Model& m_;
  std::vector<Pose> poses_;
  MatrixXd mass_;
};

void weigh_dofs(Model& m, const MatrixXd& inverse) {
  for (const Joint& q : m.joints) {
    const int n = dof_size(q.type), group = n == 1 ? 1 : 3;
    for (int d = 0; d < n; d += group) {
      const double mean = inverse.diagonal().segment(q.dof + d, group).mean();
      for (int k = 0; k < group; ++k) m.dofs[std::size_t(q.dof + d + k)].invweight = mean;
    }
  }
}

// Whether body i hangs on nothing that moves, carries nothing, and only slides along its principal axes: then MuJoCo's
// shortcut applies, which leaves armature out.
bool is_slider(const Compilation& c, std::size_t i) {
  const Model& m = c.model;
  const Body& b = m.bodies[i];
  if (b.joints == 0 || m.bodies[std::size_t(b.parent)].weld != 0) return false;
  for (int k = b.first_joint; k < b.first_joint + b.joints; ++k) {
    const Joint& q = m.joints[std::size_t(k)];
    const double along = std::max({std::abs(q.axis[0]), std::abs(q.axis[1]), std::abs(q.axis[2])});
    if (q.type != JointType::slide || along < 1 - kTiny) return false;
  }
  for (const Body& other : m.bodies) {
    if (other.parent == int(i)) return false;
  }
  const Double6& I = b.inertia;
  const BodySpec& s = *c.body_specs[i];
  const bool own_order =
      s.inertial || s.geoms.size() == 1;  // else principal moments are sorted, which turns the axes
  return b.com == Double3{0, 0, 0} && I[3] == 0 && I[4] == 0 && I[5] == 0 &&
         (own_order || (I[0] >= I[1] && I[1] >= I[2]));
}

// Stiffness and damping of a joint from a time constant and a damping ratio.
void set_springs(Compilation& c) {
  Model& m = c.model;
  std::size_t index = 0;
  for (const BodySpec* body : c.body_specs) {
    for (const JointSpec& s : body->joints) {
      Joint& q = m.joints[index++];
      if (!(s.springdamper[0] > 0 && s.springdamper[1] > 0)) continue;
      double weight = 0;
      for (int d = 0; d < dof_size(q.type); ++d)
        weight += m.dofs[std::size_t(q.dof + d)].invweight / dof_size(q.type);
      const double inertia = 1 / std::max(weight, kTiny), t = s.springdamper[0], ratio = s.springdamper[1];
      q.stiffness = inertia / (t * t * ratio * ratio);
      q.damping = 2 * inertia / t;
    }
  }
}

void set_servos(Compilation& c) {
  for (std::size_t i = 0; i < c.spec.actuators.size(); ++i) {
    const ActuatorSpec& s = c.spec.actuators[i];
    if (!(s.damping_ratio > 0)) continue;
    Actuator& a = c.model.actuators[i];
    double weight = 0;
    if (a.transmission == TransmissionType::joint || a.transmission == TransmissionType::joint_in_parent) {
      const Joint& q = c.model.joints[std::size_t(a.target)];
      if (dof_size(q.type) == 1) weight = c.model.dofs[std::size_t(q.dof)].invweight;
    } else if (a.transmission == TransmissionType::tendon) {
      weight = c.model.tendons[std::size_t(a.target)].invweight;
    }
    weight *= a.gear[0] * a.gear[0];
    if (!(weight > kTiny))
      fail(title("actuator", s), "dampratio needs a slide or hinge joint, or a tendon, with a gear", s.where,
           "write kv instead");
    a.biasprm[2] = -2 * s.damping_ratio * std::sqrt(a.gainprm[0] / weight);
  }
}

}  // namespace

void compile_weights(Compilation& c) {
  Model& m = c.model;
  Reference reference(m);
  VectorXd gradient;
  for (std::size_t t = 0; t < m.tendons.size(); ++t) {
    Tendon& tendon = m.tendons[t];
    const double at_rest = reference.tendon(tendon, m.qpos_spring, gradient);
    tendon.length = reference.tendon(tendon, m.qpos0, gradient);
    if (tendon.springlength[0] < 0 && tendon.springlength[1] < 0) {
      // Sites do not say where they are when springs rest; then the tendon is at rest as the model stands.
      const double rest = tendon.type == TendonType::fixed ? at_rest : tendon.length;
      tendon.springlength = {rest, rest};
    }
    reference.mass() += tendon.armature * gradient * gradient.transpose();
  }
  if (m.nv == 0) return;
  const Eigen::LLT<MatrixXd> factor(reference.mass());
  if (factor.info() != Eigen::Success)
    throw Error({"the mass matrix is not positive definite in the reference configuration", c.spec.file,
                 "give every moving body mass, or the joints armature"});
  const MatrixXd inverse = factor.solve(MatrixXd::Identity(m.nv, m.nv));
  m.mean_inertia = reference.mass().diagonal().mean();
  weigh_dofs(m, inverse);
  for (std::size_t i = 1; i < m.bodies.size(); ++i) {
    if (m.bodies[i].weld == 0) continue;
    const MatrixXd j = reference.jacobian(int(i), reference.center(int(i)));
    const MatrixXd a = j * inverse * j.transpose();
    m.bodies[i].invweight = {a.diagonal().head(3).mean(), a.diagonal().tail(3).mean()};
    if (is_slider(c, i)) {
      m.bodies[i].invweight = {1 / m.bodies[i].mass, 0};
      for (int d = 0; d < m.bodies[i].dofs; ++d)
        m.dofs[std::size_t(m.bodies[i].first_dof + d)].invweight = 1 / m.bodies[i].mass;
    }
  }
  for (Tendon& tendon : m.tendons) {
    reference.tendon(tendon, m.qpos0, gradient);
    tendon.invweight = gradient.dot(inverse * gradient);
  }
  set_springs(c);
  set_servos(c);
}

}  // namespace costate::rigid::stages
