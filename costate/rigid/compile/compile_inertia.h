// Mass, centre of mass and inertia of the solids that bodies are made of.
//
//   sphere     r         V = 4/3 pi r^3             I = 2/5 m r^2
//   capsule    r, h      V = 2 pi r^2 h + sphere     cylinder of length 2h and two half spheres at its ends
//   cylinder   r, h      V = 2 pi r^2 h             I_z = m r^2/2,  I_x = m (3 r^2 + 4 h^2)/12
//   ellipsoid  a b c     V = 4/3 pi a b c           I_x = m (b^2 + c^2)/5
//   box        a b c     V = 8 a b c                I_x = m (b^2 + c^2)/3
//   triangles            sums over the tetrahedra (c, p, q, r) from a point c to each triangle, V = det/6:
//                        int x x' dV = V/20 (2 pp' + 2 qq' + 2 rr' + pq' + qp' + ...), with p, q, r from c
//
// Several solids are one by the parallel-axis theorem. A plane and a height field have no mass.
// Tests: tests/rigid/compile/compile_inertia_test.cpp, compile_mesh_test.cpp.
#pragma once

#include <array>
#include <vector>

#include "costate/core/mat3.h"
#include "costate/rigid/spec_elements.h"

namespace costate::rigid {

struct MassProperties {
  double mass = 0;
  Vec3<double> center{0, 0, 0};
  Sym3<double> inertia{0, 0, 0, 0, 0, 0};  // about the centre
};

double volume_of(GeomType type, const std::array<double, 3>& size);

// A primitive of this mass, centred at the origin, axes along x, y, z.
MassProperties primitive_of(GeomType type, const std::array<double, 3>& size, double mass);

// A solid of density 1 bounded by triangles that look outward. `count_inward` is how MuJoCo's "legacy" meshes
// treat tetrahedra that lie outside the solid: added instead of taken away.
MassProperties solid_of(const std::vector<Vec3<double>>& vertices,
                        const std::vector<std::array<int, 3>>& faces, bool count_inward);

// The triangles themselves, of surface density 1: int x x' dA = A/12
// (pp' + qq' + rr' + (p + q + r)(p + q + r)').
MassProperties shell_of(const std::vector<Vec3<double>>& vertices,
                        const std::vector<std::array<int, 3>>& faces);

// The same solid in another frame; at another density.
MassProperties moved(const MassProperties& solid, const Vec3<double>& pos, const Quat<double>& quat);
MassProperties scaled(const MassProperties& solid, double factor);

MassProperties combined(const std::vector<MassProperties>& parts);

// Principal moments, and the axes as columns.
struct PrincipalInertia {
  std::array<double, 3> moments;
  Mat3<double> axes;
};
PrincipalInertia principal_inertia(const Sym3<double>& inertia);
// The same axes as a rotation.
Quat<double> principal_quat(const Sym3<double>& inertia);

}  // namespace costate::rigid
