// Mass, centre of mass and inertia of every body: from `inertial` or from geoms, then bounded, balanced and
// scaled.
//
// Bounds and the triangle inequality A + B >= C concern principal moments, so an inertia is taken to its
// principal axes and back when (and only when) one of them changes it.
#include <algorithm>
#include <cmath>

#include "costate/rigid/compile/compile_inertia.h"
#include "costate/rigid/compile/compile_stages.h"

namespace costate::rigid::stages {
namespace {

constexpr double kTiny = 1e-15;  // kg, kg m^2: less is no mass at all

using From = CompilerSpec::InertiaFromGeom;

MassProperties of_geom(const GeomSpec& s, const Geom& g, const std::vector<CompiledMesh>& meshes) {
  const std::string who = title("geom", s);
  const double density = s.density;
  if (s.mass && !(*s.mass >= 0)) fail(who, "its mass must not be negative", s.where);
  if (!(density >= 0)) fail(who, "its density must not be negative", s.where);
  MassProperties solid;
  if (g.type == GeomType::mesh) {
    const CompiledMesh& mesh = meshes[g.mesh];
    const double wanted = s.mass ? *s.mass : density * mesh.volume;
    if (wanted > 0) solid = scaled({mesh.volume, {0, 0, 0}, mesh.inertia}, wanted / mesh.volume);
  } else {
    solid = primitive_of(g.type, g.size, s.mass ? *s.mass : density * volume_of(g.type, g.size));
  }
  return moved(solid, to_vector(g.pos), to_rotation(g.quat));
}

MassProperties of_body(const Compilation& c, const BodySpec& s, int first_geom,
                       const std::vector<CompiledMesh>& meshes) {
  const CompilerSpec& rules = c.spec.compiler;
  if (s.inertial && rules.inertia_from_geom != From::always) {
    const InertialSpec& i = *s.inertial;
    return moved({i.mass, {0, 0, 0}, i.inertia}, i.pos, normalized(i.quat));
  }
  if (rules.inertia_from_geom == From::never) return {};
  std::vector<MassProperties> parts;
  for (std::size_t g = 0; g < s.geoms.size(); ++g) {
    const int group = s.geoms[g].group;
    if (group < rules.inertia_group_range[0] || group > rules.inertia_group_range[1]) continue;
    parts.push_back(of_geom(s.geoms[g], c.model.geoms[first_geom + g], meshes));
  }
  if (rules.inertia_from_geom == From::always && parts.empty() && s.inertial) {
    const InertialSpec& i = *s.inertial;  // nothing to infer from: what is written stands
    return moved({i.mass, {0, 0, 0}, i.inertia}, i.pos, normalized(i.quat));
  }
  return combined(parts);
}

// The frame in which the author described the body, where its inertia is diagonal in that: a square box seen
// along its side is another than along its diagonal. Else principal axes, whichever the solver gives.
Rotation principal_frame(const BodySpec& s, const std::vector<Geom>& geoms, int first_geom,
                         const Sym3<double>& inertia) {
  const double tiny = 1e-9 * trace(inertia);
  const auto diagonal_in = [&](const Rotation& frame) {
    const Sym3<double> I = congruence(transpose(to_matrix(frame)), inertia);
    return std::abs(I.xy) <= tiny && std::abs(I.xz) <= tiny && std::abs(I.yz) <= tiny;
  };
  if (s.inertial && diagonal_in(normalized(s.inertial->quat))) return normalized(s.inertial->quat);
  if (s.geoms.size() == 1) {
    const Rotation frame = to_rotation(geoms[first_geom].quat);
    if (diagonal_in(frame)) return frame;
  }
  return principal_quat(inertia);
}

// The inertia with bounds and balance applied.
Sym3<double> admissible(const Sym3<double>& inertia, const CompilerSpec& rules, const std::string& who,
                        const std::string& where) {
  const PrincipalInertia principal = principal_inertia(inertia);
  std::array<double, 3> m = principal.moments;
  bool changed = false;
  for (double& moment : m) {
    if (moment < rules.bound_inertia) moment = rules.bound_inertia, changed = true;
  }
  if (m[0] < -kTiny) fail(who, "its inertia has a negative principal moment", where);
  if (m[0] + m[1] < m[2] - std::max(kTiny, 1e-12 * m[2])) {
    if (!rules.balance_inertia)
      fail(who,
           "no body can have this inertia: the two smaller principal moments add up to less than the largest",
           where, "correct the inertia, or set balanceinertia=\"true\" in the compiler options");
    m[0] = m[1] = m[2] = (m[0] + m[1] + m[2]) / 3;
    changed = true;
  }
  return changed ? congruence(principal.axes, Sym3<double>::diagonal(m[0], m[1], m[2])) : inertia;
}

// A body that moves needs mass and inertia, its own or of bodies fixed to it.
void check_moving(const Compilation& c) {
  const auto& bodies = c.model.bodies;
  std::vector<bool> heavy(bodies.size(), false);
  for (std::size_t i = bodies.size(); i-- > 1;) {
    const Body& b = bodies[i];
    const Double6& I = b.inertia;
    if (b.mass > kTiny && I[0] > kTiny && I[1] > kTiny && I[2] > kTiny) heavy[i] = true;
    if (heavy[i] && b.joints == 0) heavy[b.parent] = true;
    if (b.joints > 0 && !heavy[i])
      fail(title("body", *c.body_specs[i]), "it moves, but has no mass or no inertia", c.body_specs[i]->where,
           "give it a geom with a volume or an inertial element, or set boundmass and boundinertia");
  }
}

}  // namespace

void compile_masses(Compilation& c, const std::vector<CompiledMesh>& meshes) {
  const CompilerSpec& rules = c.spec.compiler;
  int first_geom = 0;
  double total = 0;
  for (std::size_t i = 0; i < c.model.bodies.size(); ++i) {
    const BodySpec& s = *c.body_specs[i];
    Body& b = c.model.bodies[i];
    if (i > 0) {
      const std::string who = title("body", s);
      const std::string& where = s.inertial && !s.inertial->where.empty() ? s.inertial->where : s.where;
      MassProperties p = of_body(c, s, first_geom, meshes);
      if (!(p.mass >= 0) || !std::isfinite(p.mass))
        fail(who, "its mass must be a number that is not negative", where);
      p.mass = std::max(p.mass, rules.bound_mass);
      const double t = trace(p.inertia);
      if (!std::isfinite(t)) fail(who, "its inertia is not finite", where);
      p.inertia = admissible(p.inertia, rules, who, where);
      b.mass = p.mass;
      b.com = to_array(p.center);
      b.inertia = {p.inertia.xx, p.inertia.yy, p.inertia.zz, p.inertia.xy, p.inertia.xz, p.inertia.yz};
      b.inertia_quat = to_array(principal_frame(s, c.model.geoms, first_geom, p.inertia));
      total += p.mass;
    }
    first_geom += int(s.geoms.size());
  }
  if (rules.set_total_mass > 0) {
    if (!(total > 0)) fail("compiler", "settotalmass cannot scale a model without mass", c.spec.file);
    for (Body& b : c.model.bodies) {
      b.mass *= rules.set_total_mass / total;
      for (double& moment : b.inertia) moment *= rules.set_total_mass / total;
    }
  }
  check_moving(c);
}

}  // namespace costate::rigid::stages
