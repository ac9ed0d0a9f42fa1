// Which geoms are tested against each other.
#include "costate/rigid/contact/contact_pairs.h"

#include <gtest/gtest.h>

#include <set>

#include "costate/core/error.h"
#include "costate/rigid/rigid_system.h"

namespace costate::rigid {
namespace {

// A floor, and a chain of balls a - b - c - d: b is welded to a, c and d have hinges. Geom i belongs to body
// i.
Model chain() {
  Model m;
  const char* names[] = {"world", "a", "b", "c", "d"};
  for (int i = 0; i < 5; ++i) {
    Body b;
    b.name = names[i];
    b.parent = i - 1;
    b.pos = {0.1, 0, 0};
    b.mass = i > 0 ? 1 : 0;
    b.inertia = {0.01, 0.01, 0.01, 0, 0, 0};
    m.bodies.push_back(b);
    Geom g;
    g.name = i == 0 ? "floor" : names[i];
    g.body = i;
    g.size = {0.2, 0, 0};
    if (i == 0) g.type = GeomType::plane;
    m.geoms.push_back(g);
    if (i == 0 || i == 2) continue;
    Joint j;
    j.body = i;
    j.type = i == 1 ? JointType::free : JointType::hinge;
    m.joints.push_back(j);
  }
  complete(m);
  return m;
}

std::set<std::string> pairs_of(const Model& m) {
  std::set<std::string> r;
  for (const GeomPair& p : touching_pairs(m)) {
    r.insert(m.geoms[static_cast<std::size_t>(p.first)].name + "-" +
             m.geoms[static_cast<std::size_t>(p.second)].name);
  }
  return r;
}

using Names = std::set<std::string>;

TEST(ContactPairs, ParentsAndWeldedBodiesAreKeptApartButNotFromTheWorld) {
  EXPECT_EQ(pairs_of(chain()),
            (Names{"floor-a", "floor-b", "floor-c", "floor-d", "a-d", "b-d"}));  // a-c: b moves with a
}

TEST(ContactPairs, WithoutTheFilterParentsTouch) {
  Model m = chain();
  m.options.filterparent = false;
  EXPECT_EQ(pairs_of(m),
            (Names{"floor-a", "floor-b", "floor-c", "floor-d", "a-c", "b-c", "a-d", "b-d", "c-d"}));
}

TEST(ContactPairs, AreExcludedByBodies) {
  Model m = chain();
  m.excludes.push_back({"", 4, 1});
  EXPECT_EQ(pairs_of(m), (Names{"floor-a", "floor-b", "floor-c", "floor-d", "b-d"}));
}

TEST(ContactPairs, NeedATypeThatTheOtherHasAffinityFor) {
  Model m = chain();
  for (Geom& g : m.geoms) g.conaffinity = 0;
  m.geoms[0].conaffinity = 1;
  EXPECT_EQ(pairs_of(m), (Names{"floor-a", "floor-b", "floor-c", "floor-d"}));
}

TEST(ContactPairs, ANamedPairTouchesWhateverTheFiltersSay) {
  Model m = chain();
  m.excludes.push_back({"", 3, 4});
  ContactPair p;
  p.first = 4;
  p.second = 3;
  p.condim = 1;
  m.pairs.push_back(p);
  const auto all = touching_pairs(m);
  EXPECT_EQ(all[0].pair, 0);
  EXPECT_EQ(all[0].condim, 1);
  EXPECT_EQ(all.size(), 7u);
}

TEST(ContactPairs, ANamedPairReplacesTheMixture) {
  Model m = chain();
  ContactPair p;
  p.first = 4;
  p.second = 0;
  m.pairs.push_back(p);
  const auto all = touching_pairs(m);
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0].first, 0);  // in the order of types
  EXPECT_EQ(all[0].second, 4);
}

TEST(ContactPairs, TheHigherPriorityDecides) {
  Model m = chain();
  m.geoms[1].condim = 6;
  m.geoms[0].condim = 4;
  EXPECT_EQ(touching_pairs(m)[0].condim, 6);
  m.geoms[0].priority = 1;
  EXPECT_EQ(touching_pairs(m)[0].condim, 4);
  EXPECT_EQ(touching_pairs(m)[0].chosen, 1);
}

TEST(ContactPairs, ParametersAreListedWhereTheyAct) {
  Model m = chain();
  m.geoms[1].contype = m.geoms[1].conaffinity = 0;
  m.geoms[2].condim = m.geoms[3].condim = m.geoms[4].condim = m.geoms[0].condim = 1;
  const auto has = [&](const std::string& name) {
    const auto system = make_system<double>(m);
    for (const Field& f : system->signature().fields(Role::parameter)) {
      if (f.name == name) return true;
    }
    return false;
  };
  EXPECT_TRUE(has("geom/b/size"));
  EXPECT_TRUE(has("geom/floor/pos"));
  EXPECT_TRUE(has("body/b/invweight"));
  EXPECT_FALSE(has("geom/floor/size"));  // a plane has no end
  EXPECT_FALSE(has("geom/a/size"));      // touches nothing
  EXPECT_FALSE(has("geom/b/friction"));  // condim 1 everywhere
  m.geoms[0].condim = 3;
  EXPECT_TRUE(has("geom/b/friction"));
  m.options.contact = false;
  EXPECT_FALSE(has("geom/b/size"));
}

}  // namespace
}  // namespace costate::rigid
