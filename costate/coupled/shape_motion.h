// Where the shapes on a rigid model are, how they move with it, and what that says about its response: values
// and tangents on T, transposes on double.
//
//   place      poses of the shapes, and their Jacobians J_s (V; W about the shape's origin, 6 x nv)
//   gather     sum J_s' j_s                      impulses of the dofs
//   respond    (M + sum J_s' K_s J_s)^-1 f       M by composite rigid bodies
//
// The Jacobian is never differentiated as such: <a, J_s(q) b> is the power of a wrench a on a body that moves
// with b, and its derivative by q and the frames is the transpose of the kinematics of velocities
// (rigid/observe/observe.h), taken at the velocity b. So is that of <a, M(q) b>, the power of inertia
// (rigid/rnea_adjoint.h).
#pragma once

#include "costate/mpm/bodies/mechanism.h"
#include "costate/rigid/dynamics/crba.h"
#include "costate/rigid/observe/observe.h"
#include "costate/solve/dense_ldl.h"

namespace costate::coupled {

// A velocity or an impulse of a shape.
template <class T>
struct Six {
  Vec3<T> linear, angular;
};

// K (V, W)
template <class T>
Six<T> stiff(const mpm::BodySums<T>& s, const Six<T>& v) {
  const auto symmetric = [](const T(&k)[6], const Vec3<T>& a) {
    return Vec3<T>{k[0] * a.x + k[5] * a.y + k[4] * a.z, k[5] * a.x + k[1] * a.y + k[3] * a.z,
                   k[4] * a.x + k[3] * a.y + k[2] * a.z};
  };
  Six<T> r{symmetric(s.K, v.linear), symmetric(s.Kw, v.angular)};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      r.linear[i] += s.Kvw[3 * i + j] * v.angular[j];
      r.angular[j] += s.Kvw[3 * i + j] * v.linear[i];
    }
  }
  return r;
}
// Adds the cotangents of K in <a, K b>, times -1.
inline void stiff_vjp(const Six<double>& a, const Six<double>& b, mpm::BodySums<double>& bar) {
  const auto symmetric = [](const Vec3<double>& p, const Vec3<double>& q, double(&k)[6]) {
    k[0] -= p.x * q.x, k[1] -= p.y * q.y, k[2] -= p.z * q.z;
    k[3] -= p.y * q.z + p.z * q.y, k[4] -= p.x * q.z + p.z * q.x, k[5] -= p.x * q.y + p.y * q.x;
  };
  symmetric(a.linear, b.linear, bar.K), symmetric(a.angular, b.angular, bar.Kw);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) bar.Kvw[3 * i + j] -= a.linear[i] * b.angular[j] + b.linear[i] * a.angular[j];
}

// What is observed of each shape, in this order.
inline constexpr int kPosition = 0, kAxes = 3, kVelocity = 12, kAngular = 15, kSeen = 18;
// Numbers of a shape behind the prepared parameters of the model: position, quaternion, 1.
inline constexpr int kFrame = 8;

template <class T>
struct ShapeMotion {
  ShapeMotion(const rigid::Tree& t, const std::vector<rigid::Observed>& l)
      : tree(t),
        list(l),
        shapes(l.size() / 6),
        dofs(t.nv),
        d(t),
        p(static_cast<std::size_t>(t.p.prepared_size) + kFrame * shapes),
        x(t.nq + t.nv),
        z(kSeen * shapes),
        J(shapes * dofs),
        A(dofs * dofs) {}

  const rigid::Tree& tree;
  const std::vector<rigid::Observed>& list;
  std::size_t shapes, dofs;
  rigid::Data<T> d;
  std::vector<T> p, x, z;  // x: q, then a velocity
  std::vector<Six<T>> J;   // shapes x dofs
  std::vector<T> A;        // factored by respond

  T* velocity() { return x.data() + tree.nq; }
  int body(std::size_t s) const { return list[6 * s].body; }

  // Poses but V, W and mu; p and q are there. In two dimensions only motions in the plane count.
  void place(int dimension, mpm::Pose<T>* poses) {
    std::fill(velocity(), velocity() + tree.nv, T(0));
    rigid::observe_frames(tree, list, p.data(), x.data(), z.data(), d);
    for (std::size_t s = 0; s < shapes; ++s) {
      const T* seen = z.data() + kSeen * s;
      for (int i = 0; i < 3; ++i) {
        poses[s].c[i] = seen[kPosition + i];
        for (int j = 0; j < 3; ++j) poses[s].R.e[i][j] = seen[kAxes + 3 * j + i];
      }
      if (dimension == 2) poses[s].c.z = T(0);
      Six<T>* row = J.data() + s * dofs;
      std::fill(row, row + dofs, Six<T>{Vec3<T>::zero(), Vec3<T>::zero()});
      const Vec3<T> arm = rigid::arm_of(list[6 * s], p.data(), d);
      for (int k = tree.bodies[body(s)].last_dof; k >= 0; k = tree.dofs[k].parent) {
        const rigid::Motion<T>& axis = d.axis[k];
        Six<T>& to = row[k];
        to = {axis.v + cross(axis.w, arm), axis.w};
        if (dimension == 2) to.linear.z = to.angular.x = to.angular.y = T(0);
      }
    }
  }
  // J_s v
  Six<T> carried(std::size_t s, const T* v) const {
    Six<T> r{Vec3<T>::zero(), Vec3<T>::zero()};
    for (std::size_t k = 0; k < dofs; ++k) {
      r.linear += v[k] * J[s * dofs + k].linear;
      r.angular += v[k] * J[s * dofs + k].angular;
    }
    return r;
  }
  void carry(const T* v, mpm::Pose<T>* poses) const {
    for (std::size_t s = 0; s < shapes; ++s) {
      const Six<T> now = carried(s, v);
      poses[s].V = now.linear, poses[s].W = now.angular;
    }
  }
  void gather(const mpm::BodySums<T>* sums, T* f) const {
    for (std::size_t k = 0; k < dofs; ++k) {
      f[k] = T(0);
      for (std::size_t s = 0; s < shapes; ++s)
        f[k] += dot(J[s * dofs + k].linear, sums[s].J) + dot(J[s * dofs + k].angular, sums[s].L);
    }
  }
  // The lower half of M.
  void inertia(T* M) {
    rigid::body_inertias(tree, p.data(), d);
    rigid::crba(tree, p.data(), d);
    std::fill(M, M + dofs * dofs, T(0));
    for (std::size_t k = 0; k < dofs; ++k) {
      const rigid::TreeDof& dof = tree.dofs[k];
      std::size_t column = k;
      for (int t = 0; t < dof.depth; ++t) {
        M[k * dofs + column] = d.M[dof.row + t];
        column = static_cast<std::size_t>(tree.dofs[column].parent);
      }
    }
  }
  // f in, the change of velocity out.
  void respond(const mpm::BodySums<T>* sums, T* f) {
    inertia(A.data());
    for (std::size_t s = 0; s < shapes; ++s) {
      for (std::size_t j = 0; j < dofs; ++j) {
        const Six<T> pull = stiff(sums[s], J[s * dofs + j]);
        for (std::size_t i = j; i < dofs; ++i)
          A[i * dofs + j] +=
              dot(J[s * dofs + i].linear, pull.linear) + dot(J[s * dofs + i].angular, pull.angular);
      }
    }
    solve::ldl_factorise(dofs, A.data());
    solve::ldl_solve(dofs, A.data(), f);
  }
};

// Whether a shape, placed in three dimensions, keeps to a plane z = constant however its joints move.
inline bool stays_in_plane(const ShapeMotion<double>& m, const mpm::Pose<double>* poses, std::size_t s) {
  bool flat = std::abs(poses[s].R.e[2][2]) > 1 - 1e-9;
  for (std::size_t k = 0; k < m.dofs; ++k) {
    const Six<double>& J = m.J[s * m.dofs + k];
    flat &= std::abs(J.angular.x) + std::abs(J.angular.y) + std::abs(J.linear.z) < 1e-9;
  }
  return flat;
}

// Cotangents that the transposes below add to: q in its tangent space, all of ShapeMotion::p (null: not
// wanted).
struct ShapeMotionBar {
  double *q, *p;
};

// Of what is seen at the velocity v: z_bar as observed. Adds to v_bar.
inline void seen_vjp(ShapeMotion<double>& m, const rigid::Wanted& wanted, const double* v,
                     const double* z_bar, const ShapeMotionBar& bar, double* v_bar) {
  std::copy(v, v + m.dofs, m.velocity());
  rigid::observe_frames(m.tree, m.list, m.p.data(), m.x.data(), m.z.data(), m.d);
  rigid::observe_frames_vjp(m.tree, m.list, wanted, m.p.data(), m.x.data(), z_bar, bar.q, v_bar, bar.p, m.d);
}
// Of -<a, M b>. unused: nv numbers that are written to.
inline void inertia_vjp(ShapeMotion<double>& m, const rigid::Wanted& wanted, const double* a, const double* b,
                        const ShapeMotionBar& bar, double* unused) {
  std::vector<double>& lambda = m.d.minus_lambda;
  for (std::size_t k = 0; k < m.dofs; ++k) lambda[k] = -a[k];
  const double* zeros = m.d.zeros.data();
  rigid::body_inertias(m.tree, m.p.data(), m.d);
  rigid::rnea_forward(m.tree, Vec3<double>::zero(), zeros, b, m.d);
  rigid::virtual_velocities(m.tree, lambda.data(), m.d);
  rigid::rnea_vjp(m.tree, m.p.data(), m.x.data(), zeros, b, lambda.data(), false, wanted,
                  {bar.q, unused, nullptr, bar.p, nullptr}, m.d);
  if (!bar.p) return;
  for (std::size_t k = 0; k < m.dofs; ++k) {
    const std::size_t joint = m.tree.dofs[k].joint;
    bar.p[m.tree.joints[joint].p.armature] -= a[k] * b[k];
  }
}

}  // namespace costate::coupled
