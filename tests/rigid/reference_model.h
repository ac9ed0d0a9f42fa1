// Reads what tools/rigid_reference.py writes: models as MuJoCo compiled them, and what they do.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "costate/io/model/load_model.h"
#include "costate/rigid/model.h"

namespace costate::rigid::test {

using Json = nlohmann::json;

template <std::size_t N>
std::array<double, N> array_of(const Json& j) {
  std::array<double, N> r{};
  for (std::size_t i = 0; i < N; ++i) r[i] = j.at(i).get<double>();
  return r;
}
inline std::vector<double> vector_of(const Json& j) { return j.get<std::vector<double>>(); }

inline Softness softness_of(const Json& j) {
  return {array_of<2>(j.at("solref")), array_of<5>(j.at("solimp"))};
}

template <class Enum>
Enum choice(const Json& j, std::initializer_list<const char*> names) {
  int i = 0;
  for (const char* name : names) {
    if (j.get<std::string>() == name) return static_cast<Enum>(i);
    ++i;
  }
  throw std::runtime_error("unknown choice " + j.dump());
}

// What contact adds.
inline void touchable_of(const Json& j, Model& m) {
  m.options.cone = choice<ConeType>(j.at("cone"), {"pyramidal", "elliptic"});
  for (const Json& g : j.at("geoms")) {
    Geom geom;
    geom.name = g.at("name");
    geom.type = choice<GeomType>(
        g.at("type"), {"plane", "heightfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"});
    geom.body = g.at("body");
    geom.size = array_of<3>(g.at("size"));
    geom.pos = array_of<3>(g.at("pos"));
    geom.quat = array_of<4>(g.at("quat"));
    geom.friction = array_of<3>(g.at("friction"));
    geom.condim = g.at("condim");
    geom.contype = g.at("contype");
    geom.conaffinity = g.at("conaffinity");
    geom.priority = g.at("priority");
    geom.solmix = g.at("solmix");
    geom.contact = softness_of(g.at("contact"));
    geom.margin = g.at("margin");
    geom.gap = g.at("gap");
    m.geoms.push_back(geom);
  }
  for (const Json& p : j.at("pairs")) {
    ContactPair pair;
    pair.name = p.at("name");
    pair.first = p.at("first");
    pair.second = p.at("second");
    pair.condim = p.at("condim");
    pair.friction = array_of<5>(p.at("friction"));
    pair.contact = softness_of(p.at("contact"));
    pair.solreffriction = array_of<2>(p.at("solreffriction"));
    pair.margin = p.at("margin");
    pair.gap = p.at("gap");
    m.pairs.push_back(pair);
  }
  for (const Json& e : j.at("excludes")) m.excludes.push_back({"", e.at("first"), e.at("second")});
}

inline void bodies_of(const Json& j, Model& m) {
  for (const Json& b : j.at("bodies")) {
    Body body;
    body.name = b.at("name");
    body.parent = b.at("parent");
    body.pos = array_of<3>(b.at("pos"));
    body.quat = array_of<4>(b.at("quat"));
    body.mass = b.at("mass");
    body.com = array_of<3>(b.at("com"));
    body.inertia = array_of<6>(b.at("inertia"));
    if (b.contains("inertia_quat")) body.inertia_quat = array_of<4>(b.at("inertia_quat"));
    body.gravcomp = b.at("gravcomp");
    m.bodies.push_back(body);
  }
}

inline void joints_of(const Json& j, Model& m) {
  for (const Json& i : j.at("joints")) {
    Joint joint;
    joint.name = i.at("name");
    joint.type = choice<JointType>(i.at("type"), {"free", "ball", "slide", "hinge"});
    joint.body = i.at("body");
    joint.pos = array_of<3>(i.at("pos"));
    joint.axis = array_of<3>(i.at("axis"));
    joint.ref = i.at("ref");
    joint.springref = i.at("springref");
    joint.limited = i.at("limited");
    joint.range = array_of<2>(i.at("range"));
    joint.margin = i.at("margin");
    joint.limit = softness_of(i.at("limit"));
    joint.stiffness = i.at("stiffness");
    joint.damping = i.at("damping");
    joint.armature = i.at("armature");
    joint.frictionloss = i.at("frictionloss");
    joint.friction = softness_of(i.at("friction"));
    joint.actuator_force_limited = i.at("actuator_force_limited");
    joint.actuator_force_range = array_of<2>(i.at("actuator_force_range"));
    m.joints.push_back(joint);
  }
}

inline void sites_of(const Json& j, Model& m) {
  for (const Json& s : j.at("sites")) {
    Site site;
    site.name = s.at("name");
    site.body = s.at("body");
    site.pos = array_of<3>(s.at("pos"));
    site.quat = array_of<4>(s.at("quat"));
    m.sites.push_back(site);
  }
}

inline void tendons_of(const Json& j, Model& m) {
  for (const Json& w : j.at("wraps")) {
    Wrap wrap;
    wrap.object = w.at("object");
    wrap.value = w.at("value");
    m.wraps.push_back(wrap);
  }
  for (const Json& t : j.at("tendons")) {
    Tendon tendon;
    tendon.name = t.at("name");
    tendon.first_wrap = t.at("first_wrap");
    tendon.wraps = t.at("wraps");
    tendon.limited = t.at("limited");
    tendon.range = array_of<2>(t.at("range"));
    tendon.margin = t.at("margin");
    tendon.limit = softness_of(t.at("limit"));
    tendon.friction = softness_of(t.at("friction"));
    tendon.stiffness = t.at("stiffness");
    tendon.damping = t.at("damping");
    tendon.frictionloss = t.at("frictionloss");
    tendon.springlength = array_of<2>(t.at("springlength"));
    m.tendons.push_back(tendon);
  }
}

inline void equalities_of(const Json& j, Model& m) {
  for (const Json& e : j.at("equalities")) {
    Equality equality;
    equality.name = e.at("name");
    equality.type = choice<EqualityType>(e.at("type"), {"connect", "weld", "joint", "tendon"});
    equality.first = e.at("first");
    equality.second = e.at("second");
    equality.active = e.at("active");
    equality.softness = softness_of(e.at("softness"));
    if (e.contains("anchor")) {
      equality.anchor = array_of<3>(e.at("anchor"));
      equality.other_anchor = array_of<3>(e.at("other_anchor"));
    }
    if (e.contains("relative_quat")) {
      equality.relative_quat = array_of<4>(e.at("relative_quat"));
      equality.torquescale = e.at("torquescale");
    }
    if (e.contains("polycoef")) equality.polycoef = array_of<5>(e.at("polycoef"));
    m.equalities.push_back(equality);
  }
}

inline void actuators_of(const Json& j, Model& m) {
  for (const Json& a : j.at("actuators")) {
    Actuator actuator;
    actuator.name = a.at("name");
    actuator.transmission =
        choice<TransmissionType>(a.at("transmission"), {"joint", "joint_in_parent", "tendon", "site"});
    actuator.target = a.at("target");
    actuator.gear = array_of<6>(a.at("gear"));
    actuator.dynamics = choice<DynType>(a.at("dynamics"), {"none", "integrator", "filter", "filterexact"});
    actuator.time_constant = a.at("time_constant");
    actuator.gain = choice<GainType>(a.at("gain"), {"fixed", "affine"});
    actuator.gainprm = array_of<3>(a.at("gainprm"));
    actuator.bias = choice<BiasType>(a.at("bias"), {"none", "affine"});
    actuator.biasprm = array_of<3>(a.at("biasprm"));
    actuator.control_limited = a.at("control_limited");
    actuator.force_limited = a.at("force_limited");
    actuator.activation_limited = a.at("activation_limited");
    actuator.control_range = array_of<2>(a.at("control_range"));
    actuator.force_range = array_of<2>(a.at("force_range"));
    actuator.activation_range = array_of<2>(a.at("activation_range"));
    actuator.act_early = a.at("act_early");
    m.actuators.push_back(actuator);
  }
}

inline Model model_of(const Json& j) {
  Model m;
  m.options.timestep = j.at("timestep");
  m.options.gravity = array_of<3>(j.at("gravity"));
  m.options.wind = array_of<3>(j.at("wind"));
  m.options.density = j.at("density");
  m.options.viscosity = j.at("viscosity");
  m.options.impratio = j.at("impratio");
  m.options.contact = j.contains("geoms");
  bodies_of(j, m);
  joints_of(j, m);
  sites_of(j, m);
  tendons_of(j, m);
  equalities_of(j, m);
  actuators_of(j, m);
  if (j.contains("geoms")) touchable_of(j, m);
  m.qpos0 = vector_of(j.at("qpos0"));
  m.qpos_spring = vector_of(j.at("qpos_spring"));
  complete(m);
  return m;
}

// The model that an XML file beside the numbers describes, where there is one; meshes are only there.
inline Model model_beside(const std::filesystem::path& numbers, const Json& json) {
  std::filesystem::path xml = numbers;
  xml.replace_extension(".xml");
  return json.contains("geoms") && std::filesystem::exists(xml) ? load(xml.string()) : model_of(json);
}

struct Reference {
  std::string name;
  Json json;
  Model model;
};

// The files of a folder, or those of the folder that the environment names instead.
inline std::vector<Reference> references_in(const char* variable, const char* committed) {
  const char* folder = std::getenv(variable);
  std::vector<Reference> r;
  for (const auto& entry : std::filesystem::directory_iterator(folder ? folder : committed)) {
    if (entry.path().extension() != ".json") continue;
    Json json = Json::parse(std::ifstream(entry.path()));
    Model model = model_beside(entry.path(), json.at("model"));
    r.push_back({entry.path().stem().string(), std::move(json), std::move(model)});
  }
  return r;
}
#ifdef COSTATE_RIGID_REFERENCE
inline std::vector<Reference> references() {
  return references_in("COSTATE_RIGID_REFERENCE", COSTATE_RIGID_REFERENCE);
}
#endif

}  // namespace costate::rigid::test
