// One of each shape in a heap: every pair of shapes passes its gradient on through contact.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "costate/io/model/load_model.h"
#include "costate/rigid/rigid_system.h"
#include "tests/rigid/one_world.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

Model shapes() { return load(COSTATE_CONTACT_MODELS "/shapes.xml"); }

// Bodies thrown together within a third of a metre, turned at random.
std::vector<double> heap(const Model& m, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x(static_cast<std::size_t>(m.nq + m.nv));
  for (double& value : x) value = uniform(random);
  for (const Joint& j : m.joints) {
    double* q = x.data() + j.qpos;
    q[0] *= 0.16;
    q[1] *= 0.16;
    q[2] = 0.15 + 0.12 * q[2];
    double square = 0;
    for (int k = 3; k < 7; ++k) square += q[k] * q[k];
    for (int k = 3; k < 7; ++k) q[k] /= std::sqrt(square);
  }
  return x;
}

// Which pairs of shapes push in a state.
void add_touching(const Model& m, const std::vector<double>& x, test::OneWorld& w,
                  std::set<std::string>& pairs) {
  w.accelerate({x.data(), x.data() + m.nq, nullptr, nullptr, nullptr});
  for (const int i : w.c.contact.touching) {
    const GeomPair& g = w.constraints.pairs[static_cast<std::size_t>(i)].geoms;
    pairs.insert(m.geoms[static_cast<std::size_t>(g.first)].name + "-" +
                 m.geoms[static_cast<std::size_t>(g.second)].name);
  }
}

constexpr unsigned kSeeds = 6;

TEST(Shapes, TheHeapsTouchInEveryPairOfShapes) {
  const Model m = shapes();
  test::OneWorld w(m);
  std::set<std::string> pairs;
  for (unsigned seed = 0; seed < kSeeds; ++seed) add_touching(m, heap(m, seed), w, pairs);
  EXPECT_EQ(pairs.size(), w.constraints.pairs.size());  // 6 with the floor, 15 among themselves
  EXPECT_EQ(pairs.size(), 21u);
}

// Bodies that overlap this much push in every one of the 48 parts of a step: one heap is enough to see them.
TEST(Shapes, CotangentsOfAHeapMatchDual) {
  const Model m = shapes();
  const auto match = [&](Onset onset, unsigned seeds) {
    const auto system = make_system<double>(m, {.onset = onset});
    Rollout<double> rollout(system, {.steps = 1});
    for (unsigned seed = 0; seed < seeds; ++seed) {
      SCOPED_TRACE(seed);
      auto at = rollout.arguments();
      at.x0 = heap(m, seed);
      costate::test::expect_transpose_matches_dual<double>(*system, at, 1e-9);
    }
  };
  match(Onset::none, kSeeds);
  match(Onset::split, 1);
}

// Each number of each geom alone: six-point differences of one step, of the states in which no point comes or
// goes.
TEST(Shapes, EveryGeomParameterOfAHeapMatchesDifferences) {
  const Model m = shapes();
  const auto system = make_system<double>(m, {.onset = Onset::none});
  Rollout<double> rollout(system, {.steps = 1});
  std::vector<double> weights(static_cast<std::size_t>(system->signature().states()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(1.0 + double(i));
  const auto objective = loss::cotangents<double>(system->signature(), {1}, {weights});
  const auto& fields = system->signature().fields(Role::parameter);
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    auto at = rollout.arguments();
    at.x0 = heap(m, seed);
    const auto gradient = rollout.value_and_gradient(at, *objective);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (fields[f].name.rfind("geom/", 0) != 0) continue;
      for (std::size_t i = 0; i < at.parameters.values(f).size(); ++i) {
        const double here = at.parameters.values(f)[i], h = 1e-5 * std::max(0.1, std::abs(here));
        const auto value = [&](int k) {
          auto moved = at;
          moved.parameters.values(f)[i] = here + k * h;
          return rollout.value(moved, *objective);
        };
        const double difference =
            (45 * (value(1) - value(-1)) - 9 * (value(2) - value(-2)) + (value(3) - value(-3))) / (60 * h);
        const double exact = gradient.parameters.values(f)[i];
        const double rounding = 1e-14 * std::max(1.0, std::abs(gradient.value)) / h;  // the differences' own
        EXPECT_NEAR(exact, difference, 1e-8 * std::max(1.0, std::abs(exact)) + 2 * rounding)
            << "heap " << seed << ": " << fields[f].name << "[" << i << "]";
      }
    }
  }
}

void expect_finite_gradients(Onset onset, unsigned worlds) {
  const Model m = shapes();
  const auto system = make_system<double>(m, {.onset = onset});
  Rollout<double> rollout(system, {.steps = 3, .worlds = worlds});
  auto at = rollout.arguments();
  at.x0.clear();
  for (unsigned w = 0; w < worlds; ++w) {
    const auto x = heap(m, w);
    at.x0.insert(at.x0.end(), x.begin(), x.end());
  }
  const auto finite = [](const auto& values) {
    return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
  };
  ASSERT_TRUE(finite(rollout.simulate(at).final_state));
  const auto g = rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {}));
  EXPECT_TRUE(finite(g.x0));
  for (std::size_t f = 0; f < system->signature().fields(Role::parameter).size(); ++f)
    EXPECT_TRUE(finite(g.parameters.values(f))) << system->signature().fields(Role::parameter)[f].name;
}

TEST(Shapes, AThousandHeapsHaveFiniteGradients) {
  expect_finite_gradients(Onset::none, 1000);
  expect_finite_gradients(Onset::split, 24);
}

}  // namespace
}  // namespace costate::rigid
