#include "costate/rigid/dynamics/parameter_map.h"

#include "costate/rigid/contact/contact_pairs.h"

namespace costate::rigid {
namespace {

class Writer {
 public:
  Writer(ParameterMap& map, Signature& signature) : map_(map), signature_(signature) {}

  void element(const char* kind, const std::string& name, std::size_t index) {
    prefix_ = std::string(kind) + "/" + name_of(name, index) + "/";
  }
  void whole_model() { prefix_.clear(); }

  template <std::size_t N>
  int add(const char* field, const std::array<double, N>& values, const char* unit = "") {
    return add(field, std::vector<double>(values.begin(), values.end()), unit);
  }
  int add(const char* field, double value, const char* unit = "") {
    return add(field, std::vector<double>{value}, unit);
  }
  int add(const char* field, std::vector<double> values, const char* unit = "") {
    const int at = static_cast<int>(signature_.parameters());
    const auto index = static_cast<int>(signature_.fields(Role::parameter).size());
    map_.field_of.insert(map_.field_of.end(), values.size(), index);
    signature_.parameter(prefix_ + field, std::move(values), unit);
    return at;
  }
  template <std::size_t N>
  int add_unit(const char* field, const std::array<double, N>& values) {
    const int at = add(field, values);
    map_.units.push_back({at, int(N), 0});
    return at;
  }
  SoftnessParameters add(const char* solref, const char* solimp, const Softness& softness) {
    return {add(solref, softness.solref), add(solimp, softness.solimp)};
  }

 private:
  ParameterMap& map_;
  Signature& signature_;
  std::string prefix_;
};

constexpr double kNoMass = 1e-15;  // kg

// --- which parts of a model act ---------------------------------------------------------------------------

bool is_scalar(const Joint& j) { return j.type == JointType::slide || j.type == JointType::hinge; }

struct Wanted {
  std::vector<bool> site, body_invweight, joint_invweight;
  std::vector<bool> geom, geom_contact, geom_friction, geom_mixed, pair;
};

// What the geoms that may touch bring into it.
void wanted_by_contact(const Model& m, Wanted& w) {
  for (auto* flags : {&w.geom, &w.geom_contact, &w.geom_friction, &w.geom_mixed})
    flags->resize(m.geoms.size());
  w.pair.resize(m.pairs.size());
  for (const GeomPair& pair : touching_pairs(m)) {
    for (const int side : {1, 2}) {
      const std::size_t g = side == 1 ? pair.first : pair.second;
      w.geom[g] = true;
      w.body_invweight[m.geoms[g].body] = true;
      if (pair.pair >= 0) continue;
      w.geom_contact[g] = true;
      if (pair.chosen != 0 && pair.chosen != side) continue;
      if (pair.condim > 1) w.geom_friction[g] = true;
      w.geom_mixed[g] = true;
    }
    if (pair.pair >= 0) w.pair[pair.pair] = true;
  }
}

Wanted wanted_by(const Model& m) {
  Wanted w;
  w.site.resize(m.sites.size());
  w.body_invweight.resize(m.bodies.size());
  w.joint_invweight.resize(m.joints.size());
  wanted_by_contact(m, w);
  for (const Wrap& wrap : m.wraps) {
    if (wrap.type == WrapType::site) w.site[wrap.object] = true;
    if (wrap.side_site >= 0) w.site[wrap.side_site] = true;
    if (wrap.type == WrapType::sphere || wrap.type == WrapType::cylinder) w.geom[wrap.object] = true;
  }
  for (const Actuator& a : m.actuators) {
    if (a.transmission != TransmissionType::site) continue;
    w.site[a.target] = true;
    if (a.reference_site >= 0) w.site[a.reference_site] = true;
  }
  for (std::size_t j = 0; j < m.joints.size(); ++j) {
    w.joint_invweight[j] = m.joints[j].limited || m.joints[j].frictionloss > 0;
  }
  for (const Equality& e : m.equalities) {
    const bool bodies = e.type == EqualityType::connect || e.type == EqualityType::weld;
    if (e.type == EqualityType::tendon) continue;
    auto& flags = bodies ? w.body_invweight : w.joint_invweight;
    flags[e.first] = true;
    if (e.second >= 0) flags[e.second] = true;
  }
  return w;
}

void add_bodies(const Model& m, const Wanted& wanted, Writer& w, ParameterMap& map) {
  bool gravcomp = false;
  for (const Body& b : m.bodies) gravcomp |= b.gravcomp != 0;
  map.bodies.resize(m.bodies.size());
  for (std::size_t i = 1; i < m.bodies.size(); ++i) {
    const Body& b = m.bodies[i];
    BodyParameters& at = map.bodies[i];
    w.element("body", b.name, i);
    at.mass = w.add("mass", b.mass, "kg");
    at.com = w.add("com", b.com, "m");
    at.inertia = w.add("inertia", b.inertia, "kg m^2");
    const bool placed = b.joints > 0 && m.joints[b.first_joint].type == JointType::free;
    if (!placed) {
      at.pos = w.add("pos", b.pos, "m");
      at.quat = w.add_unit("quat", b.quat);
    }
    if (gravcomp) at.gravcomp = w.add("gravcomp", b.gravcomp);
    if (wanted.body_invweight[i]) at.invweight = w.add("invweight", b.invweight);
    if (has_fluid(m) && b.mass > kNoMass) {
      at.fluid_box = w.add("fluid_box", fluid_box(b), "m");
      at.fluid_quat = w.add_unit("fluid_quat", b.inertia_quat);
    }
  }
}

void add_joints(const Model& m, const Wanted& wanted, Writer& w, ParameterMap& map) {
  map.joints.resize(m.joints.size());
  for (std::size_t i = 0; i < m.joints.size(); ++i) {
    const Joint& j = m.joints[i];
    JointParameters& at = map.joints[i];
    w.element("joint", j.name, i);
    if (j.type == JointType::hinge || j.type == JointType::ball) at.pos = w.add("pos", j.pos, "m");
    if (is_scalar(j)) {
      at.axis = w.add_unit("axis", j.axis);
      at.ref = w.add("ref", j.ref);
      at.springref = w.add("springref", j.springref);
      if (j.actuator_force_limited)
        at.actuator_force_range = w.add("actuator_force_range", j.actuator_force_range);
    }
    if (is_scalar(j) || j.stiffness != 0) at.stiffness = w.add("stiffness", j.stiffness);
    at.damping = w.add("damping", j.damping);
    at.armature = w.add("armature", j.armature);
    if (wanted.joint_invweight[i]) {
      std::vector<double> weights;
      for (int d = 0; d < dof_size(j.type); ++d) {
        weights.push_back(m.dofs[j.dof + d].invweight);
      }
      at.invweight = w.add("invweight", weights);
    }
    if (j.frictionloss > 0) {
      at.frictionloss = w.add("frictionloss", j.frictionloss);
      at.friction = w.add("friction_solref", "friction_solimp", j.friction);
    }
    if (j.limited) {
      at.range = w.add("range", j.range);
      at.margin = w.add("margin", j.margin);
      at.limit = w.add("solref", "solimp", j.limit);
    }
  }
}

void add_geoms(const Model& m, const Wanted& wanted, Writer& w, ParameterMap& map) {
  map.geoms.resize(m.geoms.size());
  for (std::size_t i = 0; i < m.geoms.size(); ++i) {
    if (!wanted.geom[i]) continue;
    const Geom& g = m.geoms[i];
    GeomParameters& at = map.geoms[i];
    w.element("geom", g.name, i);
    at.sizes = geometry::traits(g.type).sizes;
    if (at.sizes > 0)
      at.size = w.add("size", std::vector<double>(g.size.begin(), g.size.begin() + at.sizes), "m");
    at.pos = w.add("pos", g.pos, "m");
    at.quat = w.add_unit("quat", g.quat);
    if (wanted.geom_contact[i]) at.margin = w.add("margin", g.margin, "m");
    if (wanted.geom_friction[i]) at.friction = w.add("friction", g.friction);
    if (wanted.geom_mixed[i]) {
      at.contact = w.add("solref", "solimp", g.contact);
      at.solmix = w.add("solmix", g.solmix);
    }
  }
}

void add_pairs(const Model& m, const Wanted& wanted, Writer& w, ParameterMap& map) {
  map.pairs.resize(m.pairs.size());
  for (std::size_t i = 0; i < m.pairs.size(); ++i) {
    if (!wanted.pair[i]) continue;
    const ContactPair& c = m.pairs[i];
    PairParameters& at = map.pairs[i];
    w.element("pair", c.name, i);
    at.margin = w.add("margin", c.margin, "m");
    if (c.condim > 1) at.friction = w.add("friction", c.friction);
    at.contact = w.add("solref", "solimp", c.contact);
    if (m.options.cone == ConeType::elliptic && c.solreffriction != Double2{0, 0})
      at.solreffriction = w.add("solreffriction", c.solreffriction);
  }
}

void add_contact_law(const Model& m, const Wanted& wanted, const ContactLawOptions& law, Writer& w,
                     ParameterMap& map) {
  if (parts_of(law.contact).restitution) {
    for (std::size_t i = 0; i < m.geoms.size(); ++i) {
      if (!wanted.geom_mixed[i]) continue;
      w.element("geom", m.geoms[i].name, i);
      map.geoms[i].restitution = w.add("restitution", law.impact.restitution);
    }
    for (std::size_t i = 0; i < m.pairs.size(); ++i) {
      if (!wanted.pair[i]) continue;
      w.element("pair", m.pairs[i].name, i);
      map.pairs[i].restitution = w.add("restitution", law.impact.restitution);
    }
  }
  if (parts_of(law.contact).springs) {
    w.whole_model();
    map.penalty = {w.add("contact/stiffness", law.penalty.stiffness, "N/m"),
                   w.add("contact/damping", law.penalty.damping, "s/m"),
                   w.add("contact/slip_speed", law.penalty.slip_speed, "m/s")};
  }
}

void add_sites(const Model& m, const Wanted& wanted, Writer& w, ParameterMap& map) {
  map.sites.resize(m.sites.size());
  for (std::size_t i = 0; i < m.sites.size(); ++i) {
    if (!wanted.site[i]) continue;
    w.element("site", m.sites[i].name, i);
    map.sites[i].pos = w.add("pos", m.sites[i].pos, "m");
    map.sites[i].quat = w.add_unit("quat", m.sites[i].quat);
  }
}

void add_tendons(const Model& m, Writer& w, ParameterMap& map) {
  map.tendons.resize(m.tendons.size());
  for (std::size_t i = 0; i < m.tendons.size(); ++i) {
    const Tendon& t = m.tendons[i];
    TendonParameters& at = map.tendons[i];
    w.element("tendon", t.name, i);
    if (t.type == TendonType::fixed) {
      std::vector<double> coefficients;
      for (int k = 0; k < t.wraps; ++k) {
        coefficients.push_back(m.wraps[t.first_wrap + k].value);
      }
      at.coefficients = w.add("coefficients", coefficients);
    } else {
      std::vector<double> divisors;
      for (int k = t.first_wrap; k < t.first_wrap + t.wraps; ++k) {
        const Wrap& wrap = m.wraps[k];
        if (wrap.type == WrapType::pulley) divisors.push_back(wrap.value);
      }
      if (!divisors.empty()) at.divisors = w.add("divisors", divisors);
    }
    at.stiffness = w.add("stiffness", t.stiffness);
    at.damping = w.add("damping", t.damping);
    at.springlength = w.add("springlength", t.springlength);
    bool equality = false;
    for (const Equality& e : m.equalities) {
      equality |= e.type == EqualityType::tendon && (e.first == int(i) || e.second == int(i));
    }
    if (t.limited || t.frictionloss > 0 || equality) at.invweight = w.add("invweight", t.invweight);
    if (t.frictionloss > 0) {
      at.frictionloss = w.add("frictionloss", t.frictionloss);
      at.friction = w.add("friction_solref", "friction_solimp", t.friction);
    }
    if (t.limited) {
      at.range = w.add("range", t.range);
      at.margin = w.add("margin", t.margin);
      at.limit = w.add("solref", "solimp", t.limit);
    }
  }
}

void add_equalities(const Model& m, Writer& w, ParameterMap& map) {
  map.equalities.resize(m.equalities.size());
  for (std::size_t i = 0; i < m.equalities.size(); ++i) {
    const Equality& e = m.equalities[i];
    EqualityParameters& at = map.equalities[i];
    w.element("equality", e.name, i);
    if (e.type == EqualityType::connect || e.type == EqualityType::weld) {
      at.anchor = w.add("anchor", e.anchor, "m");
      at.other_anchor = w.add("other_anchor", e.other_anchor, "m");
    }
    if (e.type == EqualityType::weld) {
      at.quat = w.add_unit("relative_quat", e.relative_quat);
      at.torquescale = w.add("torquescale", e.torquescale);
    }
    if (e.type == EqualityType::joint || e.type == EqualityType::tendon) {
      at.polycoef = w.add("polycoef", e.polycoef);
    }
    at.softness = w.add("solref", "solimp", e.softness);
  }
}

std::vector<double> gain_of(const Actuator& a) {
  const MuscleCurve& c = a.gain_muscle;
  switch (a.gain) {
    case GainType::fixed:
      return {a.gainprm[0]};
    case GainType::affine:
      return {a.gainprm.begin(), a.gainprm.end()};
    case GainType::muscle:
      return {c.range[0], c.range[1], c.force, c.lmin, c.lmax, c.vmax, c.fvmax};
  }
  return {};
}

void add_actuators(const Model& m, Writer& w, ParameterMap& map) {
  map.actuators.resize(m.actuators.size());
  for (std::size_t i = 0; i < m.actuators.size(); ++i) {
    const Actuator& a = m.actuators[i];
    ActuatorParameters& at = map.actuators[i];
    w.element("actuator", a.name, i);
    at.gear_size = 1;
    if (a.transmission == TransmissionType::site) {
      at.gear_size = 6;
    } else if (a.transmission != TransmissionType::tendon) {
      at.gear_size = dof_size(m.joints[a.target].type);
    }
    at.gear = w.add("gear", std::vector<double>(a.gear.begin(), a.gear.begin() + at.gear_size));
    at.gain = w.add("gain", gain_of(a));
    if (a.bias == BiasType::affine) at.bias = w.add("bias", a.biasprm);
    if (a.bias == BiasType::muscle) {
      const MuscleCurve& c = a.bias_muscle;
      at.bias = w.add("bias", std::vector<double>{c.range[0], c.range[1], c.force, c.lmax, c.fpmax});
    }
    if (a.gain == GainType::muscle || a.bias == BiasType::muscle)
      at.length_range = w.add("length_range", a.length_range);
    if (a.dynamics == DynType::muscle) at.time_constant = w.add("time_constants", a.time_constants, "s");
    if (a.dynamics == DynType::filter || a.dynamics == DynType::filterexact) {
      at.time_constant = w.add("time_constant", a.time_constant, "s");
    }
    if (a.control_limited && m.options.clampctrl) at.control_range = w.add("control_range", a.control_range);
    if (a.force_limited) at.force_range = w.add("force_range", a.force_range);
    if (a.activation_limited && a.dynamics != DynType::none) {
      at.activation_range = w.add("activation_range", a.activation_range);
    }
  }
}

}  // namespace

std::string name_of(const std::string& name, std::size_t index) {
  return name.empty() ? "#" + std::to_string(index) : name;
}

ParameterMap add_parameters(const Model& model, Signature& signature, const ContactLawOptions& law) {
  ParameterMap map;
  Writer w(map, signature);
  const Wanted wanted = wanted_by(model);
  w.whole_model();
  map.gravity =
      w.add("gravity", model.options.gravity_on ? model.options.gravity : Double3{0, 0, 0}, "m/s^2");
  map.dt = w.add("dt", model.options.timestep, "s");
  if (has_fluid(model)) {
    map.density = w.add("density", model.options.density, "kg/m^3");
    map.viscosity = w.add("viscosity", model.options.viscosity, "Pa s");
    map.wind = w.add("wind", model.options.wind, "m/s");
  }
  add_bodies(model, wanted, w, map);
  add_joints(model, wanted, w, map);
  add_geoms(model, wanted, w, map);
  add_sites(model, wanted, w, map);
  add_tendons(model, w, map);
  add_equalities(model, w, map);
  add_actuators(model, w, map);
  add_pairs(model, wanted, w, map);
  add_contact_law(model, wanted, law, w, map);
  map.size = static_cast<int>(signature.parameters());
  map.prepared_size = map.size;
  for (auto& unit : map.units) unit.inverse_norm = map.prepared_size++;
  map.whole_dt = map.prepared_size++;
  const auto inverse_norm = [&](int at) {
    for (const auto& unit : map.units) {
      if (unit.at == at) return unit.inverse_norm;
    }
    return kAbsent;
  };
  for (auto& body : map.bodies) {
    body.inverse_quat_norm = inverse_norm(body.quat);
    body.inverse_fluid_norm = inverse_norm(body.fluid_quat);
  }
  for (auto& joint : map.joints) joint.inverse_axis_norm = inverse_norm(joint.axis);
  for (auto& geom : map.geoms) geom.inverse_quat_norm = inverse_norm(geom.quat);
  for (auto& site : map.sites) site.inverse_quat_norm = inverse_norm(site.quat);
  for (auto& equality : map.equalities) equality.inverse_quat_norm = inverse_norm(equality.quat);
  return map;
}

}  // namespace costate::rigid
