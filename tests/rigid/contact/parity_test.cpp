// Contact as in MuJoCo: the same points, forces and motions from random states, up to deep penetration
// (tools/rigid_reference.py --contact).
#include <gtest/gtest.h>

#include "tests/rigid/reference_rollout.h"

namespace costate::rigid {
namespace {

using test::Json;
using test::OneWorld;
using test::relative_error;
using test::vector_of;

const std::vector<test::Reference>& all() {
  static const auto r = test::references_in("COSTATE_CONTACT_REFERENCE", COSTATE_CONTACT_REFERENCE);
  return r;
}

// Geoms and distance, and where.
struct Touch {
  int first, second;
  double dist;
  std::vector<double> place;  // point and normal
};

std::vector<Touch> touches_of(const OneWorld& w) {
  std::vector<Touch> r;
  for (const TouchingPair& pair : w.constraints.pairs) {
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const int group = pair.group + slot;
      if (std::find(w.c.active.begin(), w.c.active.end(), group) == w.c.active.end()) continue;
      const auto& p = w.c.contact.points[static_cast<std::size_t>(pair.point + slot)];
      r.push_back({pair.geoms.first,
                   pair.geoms.second,
                   p.dist,
                   {p.point.x, p.point.y, p.point.z, p.normal.x, p.normal.y, p.normal.z}});
    }
  }
  return r;
}

TEST(ContactParity, ReferencesArePresent) { EXPECT_GE(all().size(), 4u); }

TEST(ContactParity, PointsForcesAndAccelerationsAreMuJoCos) {
  for (const auto& ref : all()) {
    OneWorld w(ref.model);
    int state = 0;
    std::size_t points = 0;
    for (const Json& s : ref.json.at("states")) {
      SCOPED_TRACE(ref.name + ", state " + std::to_string(state++));
      const auto q = vector_of(s.at("q")), v = vector_of(s.at("v")), act = vector_of(s.at("act")),
                 u = vector_of(s.at("ctrl"));
      w.accelerate({q.data(), v.data(), act.data(), u.data(), nullptr});
      const std::vector<Touch> touches = touches_of(w);
      const Json& expected = s.at("contacts");
      ASSERT_EQ(touches.size(), expected.size());
      points += touches.size();
      for (const Json& e : expected) {
        auto place = vector_of(e.at("pos"));
        const auto normal = vector_of(e.at("normal"));
        place.insert(place.end(), normal.begin(), normal.end());
        double nearest = 1e300;
        for (const Touch& t : touches) {
          if (t.first != e.at("first").get<int>() || t.second != e.at("second").get<int>()) continue;
          nearest = std::min(nearest, std::max(relative_error(t.place, place),
                                               100 * std::abs(t.dist - e.at("dist").get<double>())));
        }
        EXPECT_LT(nearest, 1e-7) << e;
      }
      EXPECT_LT(relative_error(w.constraint_forces(), vector_of(s.at("constraint"))), 1e-6);
      EXPECT_LT(relative_error(w.d.qacc, vector_of(s.at("qacc"))), 1e-6);
    }
    EXPECT_GT(points, 0u) << ref.name;
  }
}

void expect_rollout(const test::Reference& ref, Integrator integrator, const std::string& key,
                    std::int64_t steps, double gate) {
  Model model = ref.model;
  model.options.integrator = integrator;
  test::expect_rollout(ref.name, model, {.onset = Onset::none}, ref.json, key, steps, gate);
}

TEST(ContactParity, AStepIsMuJoCosForEachIntegrator) {
  for (const auto& ref : all()) {
    for (const auto& [name, integrator] : test::kIntegrators)
      expect_rollout(ref, integrator, std::string("step_") + name, 1, 1e-6);
  }
}

TEST(ContactParity, RolloutsAreMuJoCosForEachIntegrator) {
  for (const auto& ref : all()) {
    for (const auto& [name, integrator] : test::kIntegrators)
      expect_rollout(ref, integrator, std::string("rollout_") + name, ref.json.at("steps"), 1e-5);
  }
}

}  // namespace
}  // namespace costate::rigid
