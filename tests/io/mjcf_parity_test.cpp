// Compiled models against the PyPI package `mujoco`: our scenes and test models from parity/models.json (made
// by parity/make_models_json.py), Gymnasium's where .cache/gymnasium_models.json exists.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "costate/io/model/load_model.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"

namespace costate::rigid {
namespace {

using Json = nlohmann::json;

constexpr double kTolerance = 1e-11;

void expect_near(const Json& theirs, double ours, const std::string& what, double scale = 1) {
  const double value = theirs.get<double>();
  EXPECT_NEAR(ours, value, kTolerance * std::max(scale, std::abs(value))) << what;
}

// Inverse weights pass through a factorisation of the mass matrix, which is not always well conditioned.
void expect_weight(const Json& theirs, double ours, const std::string& what) {
  const double value = theirs.get<double>();
  EXPECT_NEAR(ours, value, 1e-9 * std::abs(value) + 1e-14) << what;
}

template <class Numbers>
void expect_all_near(const Json& theirs, const Numbers& ours, const std::string& what, double scale = 1) {
  ASSERT_EQ(theirs.size(), ours.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i)
    expect_near(theirs[i], ours[i], what + "[" + std::to_string(i) + "]", scale);
}

void expect_same_rotation(const Json& theirs, const Double4& ours, const std::string& what) {
  double product = 0;
  for (std::size_t i = 0; i < 4; ++i) product += theirs[i].get<double>() * ours[i];
  EXPECT_NEAR(std::abs(product), 1, kTolerance) << what;
}

template <class Element>
std::string label(const std::string& model, const char* kind, const Element& element, std::size_t i) {
  return model + " " + kind + " " + std::to_string(i) + " '" + element.name + "'";
}

// Elements of a kind, one by one, names included.
template <class Elements, class Compare>
void for_each_pair(const Json& theirs, const Elements& ours, const std::string& model, const char* kind,
                   const Compare& compare) {
  ASSERT_EQ(theirs.size(), ours.size()) << model << ' ' << kind;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string what = label(model, kind, ours[i], i);
    EXPECT_EQ(theirs[i].at("name").get<std::string>(), ours[i].name) << what;
    compare(theirs[i], ours[i], what);
  }
}

void expect_softness(const Json& j, const Softness& s, const std::string& what) {
  expect_all_near(j.at("solref"), s.solref, what + " solref");
  expect_all_near(j.at("solimp"), s.solimp, what + " solimp");
}

void compare_tree(const Json& j, const Model& m, const std::string& name) {
  double total = 0;
  for (const Body& b : m.bodies) total += b.mass;
  for_each_pair(j.at("bodies"), m.bodies, name, "body",
                [&](const Json& t, const Body& b, const std::string& what) {
                  EXPECT_EQ(t.at("parent").get<int>(), b.parent) << what;
                  EXPECT_EQ(t.at("root").get<int>(), b.root) << what;
                  EXPECT_EQ(t.at("weld").get<int>(), b.weld) << what;
                  expect_all_near(t.at("pos"), b.pos, what + " pos");
                  expect_same_rotation(t.at("quat"), b.quat, what + " quat");
                  expect_near(t.at("mass"), b.mass, what + " mass", total);
                  if (b.mass > 0) expect_all_near(t.at("com"), b.com, what + " com");
                  expect_all_near(t.at("inertia"), b.inertia, what + " inertia",
                                  b.inertia[0] + b.inertia[1] + b.inertia[2]);
                  expect_near(t.at("gravcomp"), b.gravcomp, what + " gravcomp");
                  expect_weight(t.at("invweight")[0], b.invweight[0], what + " invweight");
                  expect_weight(t.at("invweight")[1], b.invweight[1], what + " invweight (rotation)");
                });
  for_each_pair(j.at("joints"), m.joints, name, "joint",
                [&](const Json& t, const Joint& q, const std::string& what) {
                  EXPECT_EQ(t.at("type").get<int>(), int(q.type)) << what;
                  EXPECT_EQ(t.at("body").get<int>(), q.body) << what;
                  EXPECT_EQ(t.at("qpos").get<int>(), q.qpos) << what;
                  EXPECT_EQ(t.at("dof").get<int>(), q.dof) << what;
                  if (q.type != JointType::free) expect_all_near(t.at("pos"), q.pos, what + " pos");
                  if (q.type == JointType::hinge || q.type == JointType::slide)
                    expect_all_near(t.at("axis"), q.axis, what + " axis");
                  EXPECT_EQ(t.at("limited").get<bool>(), q.limited) << what;
                  if (q.limited) expect_all_near(t.at("range"), q.range, what + " range");
                  expect_near(t.at("margin"), q.margin, what + " margin");
                  expect_near(t.at("stiffness"), q.stiffness, what + " stiffness");
                  expect_near(t.at("damping"), q.damping, what + " damping");
                  expect_near(t.at("armature"), q.armature, what + " armature");
                  expect_near(t.at("frictionloss"), q.frictionloss, what + " frictionloss");
                  expect_softness(t, q.limit, what);
                  EXPECT_EQ(t.at("force_limited").get<bool>(), q.actuator_force_limited) << what;
                  expect_all_near(t.at("force_range"), q.actuator_force_range, what + " force range");
                });
  ASSERT_EQ(j.at("dofs").size(), m.dofs.size());
  for (std::size_t i = 0; i < m.dofs.size(); ++i) {
    EXPECT_EQ(j.at("dofs")[i].at("parent").get<int>(), m.dofs[i].parent);
    expect_weight(j.at("dofs")[i].at("invweight"), m.dofs[i].invweight,
                  name + " dof " + std::to_string(i) + " invweight");
  }
  for_each_pair(j.at("geoms"), m.geoms, name, "geom",
                [&](const Json& t, const Geom& g, const std::string& what) {
                  EXPECT_EQ(t.at("type").get<int>(), int(g.type)) << what;
                  EXPECT_EQ(t.at("body").get<int>(), g.body) << what;
                  const std::size_t sizes = g.type == GeomType::sphere                                    ? 1
                                            : g.type == GeomType::capsule || g.type == GeomType::cylinder ? 2
                                            : g.type == GeomType::mesh || g.type == GeomType::heightfield ? 0
                                                                                                          : 3;
                  for (std::size_t i = 0; i < sizes; ++i)
                    expect_near(t.at("size")[i], g.size[i], what + " size");
                  expect_all_near(t.at("pos"), g.pos, what + " pos");
                  if (g.type != GeomType::mesh) expect_same_rotation(t.at("quat"), g.quat, what + " quat");
                  expect_all_near(t.at("friction"), g.friction, what + " friction");
                  expect_softness(t, g.contact, what);
                  expect_near(t.at("margin"), g.margin, what + " margin");
                  expect_near(t.at("gap"), g.gap, what + " gap");
                  expect_near(t.at("solmix"), g.solmix, what + " solmix");
                  EXPECT_EQ(t.at("ints").get<std::vector<int>>(),
                            (std::vector<int>{g.contype, g.conaffinity, g.condim, g.priority, g.group}))
                      << what;
                });
  for_each_pair(j.at("sites"), m.sites, name, "site",
                [&](const Json& t, const Site& s, const std::string& what) {
                  EXPECT_EQ(t.at("body").get<int>(), s.body) << what;
                  expect_all_near(t.at("pos"), s.pos, what + " pos");
                  expect_same_rotation(t.at("quat"), s.quat, what + " quat");
                });
}

void compare_tendons(const Json& j, const Model& m, const std::string& name) {
  for_each_pair(j.at("tendons"), m.tendons, name, "tendon",
                [&](const Json& t, const Tendon& q, const std::string& what) {
                  EXPECT_EQ(t.at("wraps").get<int>(), q.wraps) << what;
                  EXPECT_EQ(t.at("limited").get<bool>(), q.limited) << what;
                  expect_all_near(t.at("range"), q.range, what + " range");
                  expect_near(t.at("stiffness"), q.stiffness, what + " stiffness");
                  expect_near(t.at("damping"), q.damping, what + " damping");
                  expect_near(t.at("frictionloss"), q.frictionloss, what + " frictionloss");
                });
}

void compare_equalities(const Json& j, const Model& m, const std::string& name) {
  for_each_pair(
      j.at("equalities"), m.equalities, name, "equality",
      [&](const Json& t, const Equality& e, const std::string& what) {
        EXPECT_EQ(t.at("type").get<int>(), int(e.type)) << what;
        EXPECT_EQ(t.at("active").get<bool>(), e.active) << what;
        expect_softness(t, e.softness, what);
        const Json& data = t.at("data");
        if (e.type == EqualityType::joint || e.type == EqualityType::tendon) {
          for (std::size_t i = 0; i < 5; ++i) expect_near(data[i], e.polycoef[i], what + " polycoef");
        }
        if (!t.at("sites").get<bool>()) {
          EXPECT_EQ(t.at("objects").get<std::vector<int>>(), (std::vector<int>{e.first, e.second})) << what;
          if (e.type == EqualityType::connect || e.type == EqualityType::weld) {
            for (std::size_t i = 0; i < 3; ++i) {
              expect_near(data[i], e.anchor[i], what + " anchor");
              expect_near(data[3 + i], e.other_anchor[i], what + " other anchor");
            }
          }
          if (e.type == EqualityType::weld) {
            expect_same_rotation(Json(std::vector<double>(data.begin() + 6, data.begin() + 10)),
                                 e.relative_quat, what + " quat");
            expect_near(data[10], e.torquescale, what + " torquescale");
          }
        }
      });
}

void compare_actuators(const Json& j, const Model& m, const std::string& name) {
  for_each_pair(j.at("actuators"), m.actuators, name, "actuator",
                [&](const Json& t, const Actuator& a, const std::string& what) {
                  const int transmission[] = {0, 1, 3, 4};  // MuJoCo's numbers
                  const int dynamics[] = {0, 1, 2, 3};
                  EXPECT_EQ(t.at("transmission").get<int>(), transmission[int(a.transmission)]) << what;
                  EXPECT_EQ(t.at("target").get<int>(), a.target) << what;
                  expect_all_near(t.at("gear"), a.gear, what + " gear");
                  EXPECT_EQ(t.at("dynamics").get<int>(), dynamics[int(a.dynamics)]) << what;
                  if (a.dynamics == DynType::filter || a.dynamics == DynType::filterexact)
                    expect_near(t.at("time_constant"), a.time_constant, what + " time constant");
                  EXPECT_EQ(t.at("gain").get<int>(), int(a.gain)) << what;
                  EXPECT_EQ(t.at("bias").get<int>(), int(a.bias)) << what;
                  expect_all_near(t.at("gainprm"), a.gainprm, what + " gainprm");
                  expect_all_near(t.at("biasprm"), a.biasprm, what + " biasprm");
                  EXPECT_EQ(t.at("ctrl_limited").get<bool>(), a.control_limited) << what;
                  EXPECT_EQ(t.at("force_limited").get<bool>(), a.force_limited) << what;
                  EXPECT_EQ(t.at("act_limited").get<bool>(), a.activation_limited) << what;
                  expect_all_near(t.at("ctrl_range"), a.control_range, what + " ctrlrange");
                  expect_all_near(t.at("force_range"), a.force_range, what + " forcerange");
                  expect_all_near(t.at("act_range"), a.activation_range, what + " actrange");
                });
}

void compare_readings(const Json& j, const Model& m, const std::string& name) {
  for_each_pair(j.at("sensors"), m.sensors, name, "sensor",
                [&](const Json& t, const Sensor& s, const std::string& what) {
                  EXPECT_EQ(t.at("address").get<int>(), s.address) << what;
                  EXPECT_EQ(t.at("size").get<int>(), s.size) << what;
                  EXPECT_EQ(t.at("object").get<int>(), s.object) << what;
                });
  for_each_pair(j.at("keyframes"), m.keyframes, name, "key",
                [&](const Json& t, const Keyframe& k, const std::string& what) {
                  expect_all_near(t.at("qpos"), k.qpos, what + " qpos");
                  expect_all_near(t.at("qvel"), k.qvel, what + " qvel");
                  expect_all_near(t.at("ctrl"), k.ctrl, what + " ctrl");
                });
}

void compare_pairs(const Json& j, const Model& m, const std::string& name) {
  ASSERT_EQ(j.at("pairs").size(), m.pairs.size()) << name;
  for (std::size_t i = 0; i < m.pairs.size(); ++i) {
    const ContactPair& p = m.pairs[i];
    const auto same = [&](const Json& other) {  // MuJoCo sorts pairs
      return other.at("geoms") == Json({p.first, p.second}) || other.at("geoms") == Json({p.second, p.first});
    };
    const auto found = std::find_if(j.at("pairs").begin(), j.at("pairs").end(), same);
    ASSERT_NE(found, j.at("pairs").end()) << name;
    const Json& t = *found;
    const std::string what = name + " pair " + std::to_string(i);
    EXPECT_EQ(t.at("condim").get<int>(), p.condim) << what;
    expect_all_near(t.at("friction"), p.friction, what + " friction");
    expect_softness(t, p.contact, what);
    expect_near(t.at("margin"), p.margin, what + " margin");
    expect_near(t.at("gap"), p.gap, what + " gap");
  }
  EXPECT_EQ(j.at("excludes").get<std::size_t>(), m.excludes.size()) << name;
}

void compare_heightfields(const Json& j, const Model& m, const std::string& name) {
  ASSERT_EQ(j.at("hfields").size(), m.heightfields.size()) << name;
  for (std::size_t h = 0; h < m.heightfields.size(); ++h) {
    const std::vector<double>& data = m.heightfields[h].data;
    ASSERT_EQ(j.at("hfields")[h].size(), data.size()) << name;
    for (std::size_t i = 0; i < data.size(); ++i)
      EXPECT_NEAR(j.at("hfields")[h][i].get<double>(), data[i], 1e-6) << name;  // single precision there
  }
}

void compare(const Json& j, const std::string& root) {
  const std::string file = j.at("file").get<std::string>();
  SCOPED_TRACE(file);
  const Model m = load(file.front() == '/' ? file : root + "/" + file);
  const auto count = [](const auto& elements) { return int(elements.size()); };
  EXPECT_EQ(j.at("sizes").get<std::vector<int>>(),
            (std::vector<int>{m.nq, m.nv, m.na, m.nu(), count(m.bodies), count(m.joints), count(m.geoms),
                              count(m.sites), count(m.tendons), count(m.equalities), count(m.sensors),
                              count(m.keyframes)}));
  expect_near(j.at("timestep"), m.options.timestep, "timestep");
  expect_all_near(j.at("gravity"), m.options.gravity, "gravity");
  EXPECT_EQ(j.at("integrator").get<int>(), int(m.options.integrator));
  expect_weight(j.at("mean_inertia"), m.mean_inertia, "mean inertia");
  expect_all_near(j.at("qpos0"), m.qpos0, "qpos0");
  expect_all_near(j.at("qpos_spring"), m.qpos_spring, "qpos_spring");
  compare_tree(j, m, file);
  compare_tendons(j, m, file);
  compare_equalities(j, m, file);
  compare_actuators(j, m, file);
  compare_readings(j, m, file);
  compare_pairs(j, m, file);
  compare_heightfields(j, m, file);
}

Json read_json(const std::string& path) {
  std::ifstream in(path);
  return in ? Json::parse(in) : Json();
}

TEST(MjcfParity, ScenesAndTestModelsCompileAsInMujoco) {
  const Json models = read_json(std::string(COSTATE_IO_TESTS) + "/parity/models.json");
  ASSERT_GE(models.size(), 11u);
  for (const Json& model : models) compare(model, COSTATE_SOURCE);
}

// From the file to the motion: loader, compiler, dynamics and constraints together, each scene with its own
// integrator.
TEST(MjcfParity, ScenesMoveAsInMujoco) {
  const Json models = read_json(std::string(COSTATE_IO_TESTS) + "/parity/models.json");
  int moved = 0;
  for (const Json& j : models) {
    if (!j.contains("motion")) continue;
    const Json& motion = j.at("motion");
    const std::string file = j.at("file").get<std::string>();
    SCOPED_TRACE(file);
    Model m = load(std::string(COSTATE_SOURCE) + "/" + file);
    m.options.contact = false;
    m.options.iterations = 100;
    m.options.tolerance = 1e-14;
    const auto steps = motion.at("steps").get<std::int64_t>();
    Rollout<double> rollout(make_system<double>(m), {.steps = steps, .hold = steps});
    auto at = rollout.arguments();
    at.x0 = motion.at("q").get<std::vector<double>>();
    for (const Json& v : motion.at("v")) at.x0.push_back(v.get<double>());
    at.controls = motion.at("ctrl").get<std::vector<double>>();
    const auto end = rollout.simulate(at).final_state;
    std::vector<double> expected = motion.at("q_end").get<std::vector<double>>();
    for (const Json& v : motion.at("v_end")) expected.push_back(v.get<double>());
    ASSERT_EQ(end.size(), expected.size());
    double scale = 0, error = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      scale = std::max(scale, std::abs(expected[i]));
      error = std::max(error, std::abs(end[i] - expected[i]));
    }
    EXPECT_LT(error, 1e-8 * scale);
    ++moved;
  }
  EXPECT_EQ(moved, 17);
}

TEST(MjcfParity, GymnasiumModelsCompileAsInMujoco) {
  const Json models = read_json(std::string(COSTATE_SOURCE) + "/.cache/gymnasium_models.json");
  if (models.is_null()) GTEST_SKIP() << "made by tests/io/parity/make_models_json.py --gymnasium";
  for (const Json& model : models) compare(model, COSTATE_SOURCE);
}

}  // namespace
}  // namespace costate::rigid
