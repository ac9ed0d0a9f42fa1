#include "costate/rigid/compile/compile_inertia.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "costate/rigid/spec_orientation.h"

namespace costate::rigid {
namespace {

constexpr double kPi = std::numbers::pi;

// Inertia about the origin of a point mass at r.
Sym3<double> point_inertia(const Vec3<double>& r) {
  const double square = squared_norm(r);
  return Sym3<double>::diagonal(square, square, square) - outer(r);
}

double tetrahedron(const Vec3<double>& p, const Vec3<double>& q, const Vec3<double>& r, bool count_inward) {
  const double volume = dot(p, cross(q, r)) / 6;
  return count_inward ? std::abs(volume) : volume;
}

}  // namespace

double volume_of(GeomType type, const std::array<double, 3>& s) {
  switch (type) {
    case GeomType::sphere:
      return 4 * kPi / 3 * s[0] * s[0] * s[0];
    case GeomType::capsule:
      return kPi * s[0] * s[0] * (2 * s[1] + 4.0 / 3 * s[0]);
    case GeomType::cylinder:
      return 2 * kPi * s[0] * s[0] * s[1];
    case GeomType::ellipsoid:
      return 4 * kPi / 3 * s[0] * s[1] * s[2];
    case GeomType::box:
      return 8 * s[0] * s[1] * s[2];
    default:
      break;
  }
  return 0;
}

MassProperties primitive_of(GeomType type, const std::array<double, 3>& s, double m) {
  MassProperties p;
  const auto diagonal = [&](double x, double y, double z) {
    p.mass = m;
    p.inertia = Sym3<double>::diagonal(x, y, z);
  };
  const auto quadric = [&](double factor, double a, double b, double c) {
    diagonal(m * factor * (b * b + c * c), m * factor * (a * a + c * c), m * factor * (a * a + b * b));
  };
  switch (type) {
    case GeomType::sphere:
      quadric(0.2, s[0], s[0], s[0]);
      break;
    case GeomType::ellipsoid:
      quadric(0.2, s[0], s[1], s[2]);
      break;
    case GeomType::box:
      quadric(1.0 / 3, s[0], s[1], s[2]);
      break;
    case GeomType::cylinder: {
      const double across = m * (3 * s[0] * s[0] + 4 * s[1] * s[1]) / 12;
      diagonal(across, across, m * s[0] * s[0] / 2);
      break;
    }
    case GeomType::capsule: {
      const double r = s[0], length = 2 * s[1];
      const double balls = m * 4 * r / (4 * r + 3 * length), rod = m - balls;
      const double across = rod * (3 * r * r + length * length) / 12 +
                            balls * (0.4 * r * r + length * length / 4 + 3 * length * r / 8);
      diagonal(across, across, rod * r * r / 2 + 0.4 * balls * r * r);
      break;
    }
    default:
      break;
  }
  return p;
}

MassProperties solid_of(const std::vector<Vec3<double>>& vertices,
                        const std::vector<std::array<int, 3>>& faces, bool count_inward) {
  const auto corner = [&](const std::array<int, 3>& face, int k) { return vertices[face[k]]; };
  // Tetrahedra from the middle of the surface, so that for a convex solid none is inside out and few digits
  // cancel.
  Vec3<double> middle{0, 0, 0};
  double area = 0;
  for (const auto& f : faces) {
    const Vec3<double> a = corner(f, 0), b = corner(f, 1), c = corner(f, 2);
    const double twice = norm(cross(b - a, c - a));
    area += twice;
    middle += twice / 3 * (a + b + c);
  }
  if (area > 0) middle = middle / area;

  MassProperties p;
  double volume = 0;
  for (const auto& f : faces) {
    const Vec3<double> a = corner(f, 0) - middle, b = corner(f, 1) - middle, c = corner(f, 2) - middle;
    const double v = tetrahedron(a, b, c, count_inward);
    volume += v;
    p.center += v / 4 * (a + b + c);
  }
  if (!(std::abs(volume) > 0)) return {};
  p.center = middle + p.center / volume;

  // Tetrahedra from the centre, for the volume too: that of an open surface depends on where they start, and
  // MuJoCo's start there.
  Sym3<double> second{0, 0, 0, 0, 0, 0};  // int x x' dV about the centre
  for (const auto& f : faces) {
    const Vec3<double> a = corner(f, 0) - p.center, b = corner(f, 1) - p.center, c = corner(f, 2) - p.center;
    const double v = tetrahedron(a, b, c, count_inward);
    p.mass += v;
    second += v / 20 * (outer(a) + outer(b) + outer(c) + outer(a + b + c));
  }
  const double t = trace(second);
  p.inertia = Sym3<double>::diagonal(t, t, t) - second;
  return p;
}

MassProperties shell_of(const std::vector<Vec3<double>>& vertices,
                        const std::vector<std::array<int, 3>>& faces) {
  MassProperties p;
  const auto each = [&](auto&& visit) {
    for (const auto& f : faces) {
      const Vec3<double> a = vertices[f[0]], b = vertices[f[1]], c = vertices[f[2]];
      visit(norm(cross(b - a, c - a)) / 2, a, b, c);
    }
  };
  using Corner = const Vec3<double>&;
  each([&](double area, Corner a, Corner b, Corner c) {
    p.mass += area;
    p.center += area / 3 * (a + b + c);
  });
  if (!(p.mass > 0)) return {};
  p.center = p.center / p.mass;
  Sym3<double> second{0, 0, 0, 0, 0, 0};
  each([&](double area, Corner a, Corner b, Corner c) {
    const Vec3<double> u = a - p.center, v = b - p.center, w = c - p.center;
    second += area / 12 * (outer(u) + outer(v) + outer(w) + outer(u + v + w));
  });
  const double t = trace(second);
  p.inertia = Sym3<double>::diagonal(t, t, t) - second;
  return p;
}

MassProperties moved(const MassProperties& solid, const Vec3<double>& pos, const Quat<double>& quat) {
  return {solid.mass, pos + rotate(quat, solid.center), congruence(to_matrix(quat), solid.inertia)};
}

MassProperties scaled(const MassProperties& solid, double factor) {
  return {factor * solid.mass, solid.center, factor * solid.inertia};
}

MassProperties combined(const std::vector<MassProperties>& parts) {
  MassProperties sum;
  for (const MassProperties& p : parts) {
    sum.mass += p.mass;
    sum.center += p.mass * p.center;
  }
  if (!(sum.mass > 0)) return {};
  sum.center = sum.center / sum.mass;
  for (const MassProperties& p : parts)
    sum.inertia += p.inertia + p.mass * point_inertia(p.center - sum.center);
  return sum;
}

PrincipalInertia principal_inertia(const Sym3<double>& inertia) {
  Eigen::Matrix3d m;
  const Mat3<double> full = inertia.full();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) m(i, j) = full(i, j);
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(m);
  PrincipalInertia p;
  for (int j = 0; j < 3; ++j) {
    p.moments[j] = solver.eigenvalues()[j];
    for (int i = 0; i < 3; ++i) p.axes(i, j) = solver.eigenvectors()(i, j);
  }
  return p;
}

Quat<double> principal_quat(const Sym3<double>& inertia) {
  Mat3<double> axes = principal_inertia(inertia).axes;
  const Vec3<double> third = cross(axes.column(0), axes.column(1));  // right-handed
  for (int i = 0; i < 3; ++i) axes(i, 2) = third[i];
  return from_matrix(axes);
}

Double3 fluid_box(const Body& body) {
  const Double6& I = body.inertia;
  const Double4& q = body.inertia_quat;
  const Sym3<double> own = congruence(transpose(to_matrix(normalized(Quat<double>{q[0], q[1], q[2], q[3]}))),
                                      Sym3<double>{I[0], I[1], I[2], I[3], I[4], I[5]});
  const double m[3] = {own.xx, own.yy, own.zz};
  const auto side = [&](int k) {
    return std::sqrt(std::max(1e-15, m[(k + 1) % 3] + m[(k + 2) % 3] - m[k]) / body.mass * 6);
  };
  return {side(0), side(1), side(2)};
}

}  // namespace costate::rigid
