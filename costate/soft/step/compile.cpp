#include "costate/soft/step/compile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/core/text.h"
#include "costate/soft/contact/obstacle_term.h"
#include "costate/soft/elements/cell_term.h"
#include "costate/soft/elements/hinge_term.h"
#include "costate/soft/elements/pressure_term.h"
#include "costate/soft/elements/rod_term.h"
#include "costate/soft/mesh/surface.h"
#include "costate/soft/step/checks.h"

namespace costate::soft {
namespace {

enum class Kind { none, solid, membrane, rod };
Kind kind_of(const Part& part) {
  return part.cells == Cells::rods        ? Kind::rod
         : part.cells == Cells::triangles ? Kind::membrane
                                          : Kind::solid;
}
const std::vector<LawNumber>& numbers_of(Kind kind, const std::string& law) {
  return kind == Kind::solid      ? solid_law(law).numbers()
         : kind == Kind::membrane ? membrane_law(law).numbers()
                                  : rod_law(law).numbers();
}

class Compiler {
 public:
  explicit Compiler(const SoftModel& model) : m_(model) { c_.model = model; }

  Compiled run() {
    check_vertices();
    c_.n = m_.vertices();
    fields();
    for (std::size_t k = 0; k < m_.materials.size(); ++k) material(k);
    vertices_of_cells();
    pressures();
    holds();
    obstacle_parts();
    contact();
    limit_parameters();
    carrier();
    std::vector<const Groups*> groups;
    for (const auto& term : c_.terms) {
      groups.push_back(&term->groups());
      term->keep_at(c_.kept);
      c_.kept += term->kept();
    }
    c_.assembly = std::make_unique<Assembly>(c_.n, groups);
    c_.wind_assembly = std::make_unique<Assembly>(c_.n, std::vector<const Groups*>{&c_.windy.triangles});
    return std::move(c_);
  }

 private:
  void check_vertices() const {
    if (m_.rest.empty() || m_.rest.size() % 3 != 0)
      throw Error("rest has three numbers per vertex, and there are none or too few");
    for (std::size_t i = 0; i < m_.rest.size(); ++i)
      if (!std::isfinite(m_.rest[i]))
        throw Error("rest position of vertex " + std::to_string(i / 3) + " is " + number(m_.rest[i]));
    if (m_.parts.empty()) throw Error({"the model has no parts", {}, "add a part with cells"});
    if (!(m_.dt > 0) || !std::isfinite(m_.dt))
      throw Error({"dt = " + number(m_.dt), {}, "dt must be positive"});
    if (!(m_.tolerance > 0))
      throw Error({"tolerance = " + number(m_.tolerance), {}, "use a positive number, such as 1e-9"});
    for (const Part& part : m_.parts) {
      if (part.material < -1 || part.material >= int(m_.materials.size()))
        throw Error("part '" + part.name + "' has material " + std::to_string(part.material) +
                    ", but there are " + std::to_string(m_.materials.size()));
      check_cells(m_, part);
    }
  }

  void limit_parameters() {
    Signature& s = c_.signature;
    for (const SoftMaterial& m : m_.materials) {
      Kind kind = Kind::none;
      for (const Part& part : m_.parts)
        if (part.material >= 0 && &m_.materials[std::size_t(part.material)] == &m) kind = kind_of(part);
      for (const LawNumber& n : numbers_of(kind, m.law))
        s.limit("material/" + m.name + "/" + n.name, {.low = n.low, .high = n.high});
      // A part that lies in another one may have none.
      s.limit("material/" + m.name + "/density", m.density > 0 ? kPositive : kNotNegative);
    }
    for (const char* name : {"dt", "material/*/thickness", "contact/stiffness*", "contact/distance*",
                             "contact/slip_speed*", "obstacle/*/radius", "material/*/yield_curvature"})
      s.limit(name, kPositive);
    for (const char* name : {"drag", "wind_drag", "material/*/viscosity", "material/*/bending*",
                             "contact/friction*", "obstacle/*/friction"})
      s.limit(name, kNotNegative);
  }

  void fields() {
    Signature& s = c_.signature;
    s.state("x", 3LL * c_.n, "m").state("v", 3LL * c_.n, "m/s");
    if (m_.integrator == Integrator::bdf2) {
      s.state("x_old", 3LL * c_.n, "m").state("v_old", 3LL * c_.n, "m/s");
      c_.copies = 4;
    }
    c_.rest = add("rest", m_.rest, "m");
    c_.gravity = add("gravity", {m_.gravity.begin(), m_.gravity.end()}, "m/s^2");
    c_.drag = add("drag", {m_.drag}, "1/s");
    c_.wind = add("wind", {m_.wind.begin(), m_.wind.end()}, "m/s");
    c_.wind_drag = add("wind_drag", {m_.wind_drag}, "kg/(m^2 s)");
    c_.dt = add("dt", {m_.dt}, "s");
  }
  std::int64_t add(const std::string& name, std::vector<double> values, const std::string& unit) {
    const std::int64_t at = c_.signature.parameters();
    c_.signature.parameter(name, std::move(values), unit);
    return at;
  }

  // The fields of a material, and the terms of the parts that are made of it.
  void material(std::size_t k) {
    const SoftMaterial& material = m_.materials[k];
    std::int64_t cells = 0;
    Kind kind = Kind::none;
    for (const Part& part : m_.parts) {
      if (part.material != int(k)) continue;
      if (kind != Kind::none && kind != kind_of(part))
        throw Error({"material '" + material.name + "' is one of cells of several kinds",
                     {},
                     "solids, triangles and rods have materials of their own"});
      kind = kind_of(part);
      cells += std::int64_t(part.vertices.size()) / kCellVertices[int(part.cells)];
    }
    if (kind == Kind::none)
      throw Error(
          {"nothing is made of material '" + material.name + "'", {}, "name it in a part, or remove it"});
    const bool membrane = kind == Kind::membrane;
    const auto& numbers = numbers_of(kind, material.law);
    check_numbers(material, numbers);
    check_creases(m_, material, membrane);
    CellPlaces at{.rest = c_.rest, .stride = material.per_element ? 1 : 0, .warp = material.warp};
    const std::string path = "material/" + material.name + "/";
    for (const LawNumber& n : numbers) {
      const auto given = material.numbers.find(n.name);
      const double value = given == material.numbers.end() ? n.value : given->second;
      at.numbers.push_back(add(
          path + n.name, std::vector<double>(std::size_t(material.per_element ? cells : 1), value), n.unit));
    }
    drive(material, numbers, at);
    at.density = add(path + "density", {material.density},
                     kind == Kind::rod ? "kg/m"
                     : membrane        ? "kg/m^2"
                                       : "kg/m^3");
    at.viscosity = add(path + "viscosity", {material.viscosity}, kind == Kind::rod ? "s" : "Pa s");
    HingePlaces hinge{.rest = c_.rest};
    if (membrane) at.thickness = add(path + "thickness", {material.thickness}, "m");
    const bool bends = membrane && (material.bending > 0 || material.bending_viscosity > 0);
    if (bends) {
      hinge.bending = add(path + "bending", {material.bending}, "J");
      hinge.viscosity = add(path + "bending_viscosity", {material.bending_viscosity}, "J s");
    }
    if (material.yield_curvature > 0)
      hinge.yield_curvature = add(path + "yield_curvature", {material.yield_curvature}, "1/m");
    for (const Part& part : m_.parts) {
      if (part.material != int(k)) continue;
      if (kind == Kind::rod) {
        term(part, rod_segment_term(part, rod_law(material.law), at));
        term(part, rod_joint_term(part, rod_law(material.law), at));
      } else {
        if (membrane && membrane_law(material.law).directed()) check_warp(material, part);
        term(part, kind == Kind::solid ? solid_term(part, solid_law(material.law), at)
                                       : membrane_term(part, membrane_law(material.law), at));
      }
      for (std::int64_t& n : at.numbers)
        n += at.stride * (std::int64_t(part.vertices.size()) / kCellVertices[int(part.cells)]);
      if (!membrane) continue;
      c_.windy.triangles.vertex.insert(c_.windy.triangles.vertex.end(), part.vertices.begin(),
                                       part.vertices.end());
      if (!bends) continue;
      hinge.crease = c_.creases;
      std::unique_ptr<Term> bending = hinge_term(part, hinge);
      if (const auto count = bending->groups().count(); count > 0 && creases(m_, part)) {
        c_.signature.state("part/" + part.name + "/crease", count, "rad");
        c_.creases += count;
      }
      term(part, std::move(bending));
    }
  }
  void check_warp(const SoftMaterial& material, const Part& part) const {
    const Vec3<double> warp{material.warp[0], material.warp[1], material.warp[2]};
    for (std::size_t t = 0; t < part.vertices.size(); t += 3) {
      Vec3<double> X[3];
      for (std::size_t a = 0; a < 3; ++a) {
        const double* at = m_.rest.data() + 3 * part.vertices[t + a];
        X[a] = {at[0], at[1], at[2]};
      }
      const Vec3<double> normal = cross(X[1] - X[0], X[2] - X[0]);
      if (norm(cross(normal, warp)) > 1e-6 * norm(normal) * norm(warp)) continue;
      throw Error({"the warp of material '" + material.name + "' stands on cell " + std::to_string(t / 3) +
                       " of part '" + part.name + "'",
                   {},
                   "choose a direction along the cloth, such as warp = [1, 0, 0]"});
    }
  }
  void drive(const SoftMaterial& material, const std::vector<LawNumber>& numbers, CellPlaces& at) {
    if (material.driven.empty()) return;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      if (numbers[k].name != material.driven) continue;
      at.driven = int(k);
      at.control = c_.signature.controls();
      c_.signature.control("drive/" + material.name + "/" + material.driven, 1, numbers[k].unit);
      return;
    }
    throw Error({"material '" + material.name + "': law '" + material.law + "' has no number '" +
                     material.driven + "' that could be driven",
                 {},
                 "name one of its numbers"});
  }
  void pressures() {
    for (const Part& part : m_.parts) {
      if (part.pressure == 0 && !part.pressure_driven) continue;
      if (!std::isfinite(part.pressure))
        throw Error("part '" + part.name + "': pressure = " + number(part.pressure));
      const std::string name = "part/" + part.name + "/pressure";
      PressurePlaces at{.pressure = add(name, {part.pressure}, "Pa")};
      if (part.pressure_driven) {
        at.control = c_.signature.controls();
        c_.signature.control("drive/" + part.name + "/pressure", 1, "Pa");
      }
      term(part, pressure_term(part, at));
    }
  }
  void term(const Part& part, std::unique_ptr<Term> t) {
    if (t->groups().count() == 0) return;
    c_.names.push_back(part.name);
    c_.terms.push_back(std::move(t));
  }

  void vertices_of_cells() const {
    std::vector<char> used(std::size_t(c_.n), 0), heavy = used;
    for (const Part& part : m_.parts)
      for (const int v : part.vertices) {
        used[std::size_t(v)] = 1;
        if (part.material < 0 || m_.materials[std::size_t(part.material)].density > 0)
          heavy[std::size_t(v)] = 1;
      }
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i])
        throw Error({"vertex " + std::to_string(i) + " belongs to no cell",
                     {},
                     "it has no mass: remove it from the mesh"});
      if (!heavy[i])
        throw Error({"vertex " + std::to_string(i) + " has no mass: all of its cells have density 0",
                     {},
                     "a density of 0 is for parts that lie over another one, such as muscles"});
    }
  }

  void obstacle_parts() const {
    for (const Part& part : m_.parts) {
      if (part.material >= 0) continue;
      for (const int v : part.vertices)
        if (c_.free[std::size_t(v)])
          throw Error(
              {"part '" + part.name + "' has no material, and its vertex " + std::to_string(v) + " is free",
               {},
               "an obstacle goes where its vertices are held: hold all of them, or name a material"});
      if (!m_.contact.self)
        throw Error({"part '" + part.name + "' is an obstacle, but surfaces do not touch each other",
                     {},
                     "set self = true in contact"});
    }
  }

  void contact() {
    const SoftContact& k = m_.contact;
    c_.contact = k.self || !m_.obstacles.empty();
    if (!c_.contact) return;
    if (m_.integrator == Integrator::midpoint)
      throw Error({"contact with integrator = midpoint",
                   {},
                   "the end of a midpoint step may be inside what its middle is not: use euler or bdf2"});
    for (const auto& [name, value] : {std::pair{"distance", k.distance}, std::pair{"stiffness", k.stiffness},
                                      std::pair{"slip_speed", k.slip_speed}})
      if (!(value > 0) || !std::isfinite(value))
        throw Error({std::string("contact: ") + name + " = " + number(value), {}, "use a positive number"});
    const std::int64_t stiffness =
                           add("contact/stiffness", {k.stiffness}, k.area_weighted ? "Pa/m" : "J/m^2"),
                       reach = add("contact/distance", {k.distance}, "m"),
                       slip_speed = add("contact/slip_speed", {k.slip_speed}, "m/s");
    // Frame points of rods are marks, not matter: nothing touches them.
    std::vector<char> touches(std::size_t(c_.n), 1);
    std::vector<int> free, segments;
    for (const Part& part : m_.parts)
      for (std::size_t e = 0; part.cells == Cells::rods && e < part.vertices.size(); e += 3) {
        touches[std::size_t(part.vertices[e + 2])] = 0;
        segments.insert(segments.end(), {part.vertices[e], part.vertices[e + 1]});
      }
    for (int i = 0; i < c_.n; ++i)
      if (c_.free[std::size_t(i)] && touches[std::size_t(i)]) free.push_back(i);
    for (const Obstacle& o : m_.obstacles) {
      if (!(o.friction >= 0))
        throw Error({"obstacle '" + o.name + "': friction = " + number(o.friction), {}, "use 0 or more"});
      if (o.shape == Obstacle::Shape::ball && !(o.radius > 0))
        throw Error({"obstacle '" + o.name + "': radius = " + number(o.radius), {}, "use a positive number"});
      if (o.shape == Obstacle::Shape::plane && o.normal[0] == 0 && o.normal[1] == 0 && o.normal[2] == 0)
        throw Error({"obstacle '" + o.name + "': the normal has no direction", {}, "use normal = [0, 0, 1]"});
      const std::string path = "obstacle/" + o.name + "/";
      ObstaclePlaces at{.stiffness = stiffness, .reach = reach, .slip_speed = slip_speed, .dt = c_.dt};
      at.place = add(path + "place", {o.place.begin(), o.place.end()}, "m");
      if (o.shape == Obstacle::Shape::ball) at.radius = add(path + "radius", {o.radius}, "m");
      at.friction = add(path + "friction", {o.friction}, "");
      if (free.empty()) continue;
      c_.names.push_back(o.name);
      c_.terms.push_back(obstacle_term(o, free, at));
    }
    const std::vector<int> triangles = surfaces();
    if (k.area_weighted) c_.areas = std::make_unique<ContactAreas>(c_.n, triangles, segments);
    if (!k.self) return;
    if (!(k.friction >= 0)) throw Error({"contact: friction = " + number(k.friction), {}, "use 0 or more"});
    c_.self = std::make_unique<SelfContact>(
        c_.free, triangles, segments, m_.rest, k.distance,
        SelfContactPlaces{c_.rest, stiffness, reach, add("contact/friction", {k.friction}, ""), slip_speed,
                          c_.dt},
        c_.areas.get());
  }

  // Triangles of all surfaces, once: fibres lie in the cells of another part, and have the same.
  std::vector<int> surfaces() const {
    std::vector<int> triangles;
    std::set<std::array<int, 3>> seen;
    for (const Part& part : m_.parts) {
      const std::vector<int> own = surface_of(part);
      for (std::size_t t = 0; t < own.size(); t += 3) {
        std::array<int, 3> sorted = {own[t], own[t + 1], own[t + 2]};
        std::sort(sorted.begin(), sorted.end());
        if (seen.insert(sorted).second) triangles.insert(triangles.end(), &own[t], &own[t] + 3);
      }
    }
    return triangles;
  }

  void holds() {
    c_.free.assign(std::size_t(c_.n), 1);
    c_.follows = c_.free;
    for (const Hold& hold : m_.holds) {
      HeldGroup group{hold.vertices};
      const int link = link_of(hold);
      if (hold.driven) {
        group.velocity = int(c_.signature.controls());
        c_.signature.control("hold/" + hold.name + "/velocity", 3, "m/s");
      }
      if (hold.turns) {
        group.spin = int(c_.signature.controls());
        c_.signature.control("hold/" + hold.name + "/spin", 3, "rad/s");
      }
      for (const int v : hold.vertices) {
        if (v < 0 || v >= c_.n)
          throw Error("hold '" + hold.name + "' names vertex " + std::to_string(v) + ", but there are " +
                      std::to_string(c_.n));
        if (!c_.free[std::size_t(v)])
          throw Error(
              {"vertex " + std::to_string(v) + " is held twice, the second time by '" + hold.name + "'",
               {},
               "name it in one hold"});
        c_.free[std::size_t(v)] = 0;
        if (link >= 0) c_.riders.all.push_back({v, link}), c_.follows[std::size_t(v)] = 1;
        if (link < 0) c_.follows[std::size_t(v)] = 0;
      }
      if (!hold.vertices.empty() && link < 0) c_.held.groups.push_back(group);
    }
    if (m_.wind_driven) {
      c_.wind_control = c_.signature.controls();
      c_.signature.control("drive/wind", 3, "m/s");
    }
  }

  // The link that a hold rides on; -1: none.
  int link_of(const Hold& hold) const {
    if (hold.body.empty()) return -1;
    const std::string place = "hold '" + hold.name + "' rides on body '" + hold.body + "'";
    if (!m_.carrier) throw Error({place + ", but there is no model with bodies", {}, "add a carrier"});
    if (hold.driven || hold.turns)
      throw Error({place + " and is driven", {}, "drive the model's actuators instead"});
    const std::vector<std::string>& links = m_.carrier->links();
    const auto at = std::find(links.begin(), links.end(), hold.body);
    if (at != links.end()) return int(at - links.begin());
    const std::string nearest = nearest_name(hold.body, links);
    throw Error({place + ", which the model does not have",
                 {},
                 nearest.empty() ? "it has '" + links.back() + "'" : "did you mean '" + nearest + "'?"});
  }

  // Its fields come last; its state by other names, because vertices have a v too.
  void carrier() {
    if (!m_.carrier) return;
    if (m_.integrator == Integrator::midpoint || m_.integrator == Integrator::still)
      throw Error({std::string("a carrier with integrator = ") + kIntegratorNames[int(m_.integrator)],
                   {},
                   "a robot moves in steps to their ends: use euler or bdf2"});
    c_.riders.start_from(m_.carrier->links_at_start());
    Signature& s = c_.signature;
    const Signature& own = m_.carrier->signature();
    c_.carrier_u = s.controls(), c_.carrier_p = s.parameters();
    for (Field f : own.fields(Role::state)) {
      f.name = "model/" + f.name;
      s.add(Role::state, f);
    }
    s.add(Role::control, own.fields(Role::control));
    for (Field f : own.fields(Role::parameter)) {
      if (s.find_if(Role::parameter, f.name)) f.name = "model/" + f.name;  // a wind of its own, say
      s.add(Role::parameter, f);
    }
  }

  const SoftModel& m_;
  Compiled c_;
};

}  // namespace

Compiled compile(const SoftModel& model) { return Compiler(model).run(); }

}  // namespace costate::soft
