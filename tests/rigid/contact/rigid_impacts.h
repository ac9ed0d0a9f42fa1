// What both models of rigid impacts, `event` and `hard`, are held to.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "tests/system/contract.h"

namespace costate::rigid::test {

// A ball of radius 0.1 over a plane, moved by the given joints; it touches at z = 0.1, or q = 0 for a slide.
inline Model ball(const std::string& joints, const std::string& option,
                  const std::string& geom = "condim='1'") {
  return compile(io::parse_mjcf(
      "<mujoco><option " + option + "/><default><geom " + geom +
      "/></default><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
      "<body name='ball' pos='0 0 0.1'>" +
      joints + "<geom name='ball' type='sphere' size='0.1' mass='1'/></body></worldbody></mujoco>"));
}
inline const char* const kUpAndDown = "<joint name='z' type='slide' axis='0 0 1'/>";

// An elastic wall returns the start mirrored, and v twice, at every time step and phase.
inline void expect_mirror(const SystemOptions& elastic, const std::string& integrator, double gate) {
  const Model model = ball(kUpAndDown, "gravity='0 0 0' integrator='" + integrator + "'");
  const auto system = make_system<double>(model, elastic);
  for (const double dt : {0.1, 0.004, 0.002, 0.001}) {
    constexpr int kWorlds = 50;
    Rollout<double> rollout(system, {.steps = std::int64_t(std::lround(2 / dt)), .worlds = kWorlds});
    Arguments<double> at = rollout.arguments();
    at.parameters.set("dt", dt);
    at.x0.clear();
    for (int i = 0; i < kWorlds; ++i) at.x0.insert(at.x0.end(), {0.5 + 0.01 * i / kWorlds, -1.0});
    const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "q"));
    for (std::size_t i = 0; i < kWorlds; ++i) {
      EXPECT_NEAR(g.values[i], 2 - at.x0[2 * i], gate);
      EXPECT_NEAR(g.x0[2 * i], -1, gate) << integrator << " " << dt;
      EXPECT_NEAR(g.x0[2 * i + 1], -2, 10 * gate);
    }
  }
}

// A ball that meets its twin at rest stops, and the twin goes on.
inline void expect_handed_on(const SystemOptions& elastic, double gap, double gate) {
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option gravity='0 0 0' timestep='0.01'/><default><geom condim='1'/></default><worldbody>"
      "<body name='a'><joint type='slide' axis='1 0 0'/><geom type='sphere' size='0.1' mass='1'/></body>"
      "<body name='b'><joint type='slide' axis='1 0 0'/><geom type='sphere' size='0.1' mass='1'/></body>"
      "</worldbody></mujoco>"));
  const auto system = make_system<double>(model, elastic);
  Rollout<double> rollout(system, {.steps = 100});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0, gap, 1, 0};
  const auto objective = loss::cotangents<double>(system->signature(), {100}, {{0, 1, 0, 0}});
  const auto g = rollout.value_and_gradient(at, *objective);
  EXPECT_NEAR(rollout.simulate(at).final_state[1], 0 + 0.2 + 1, gate);
  const double expected[4] = {1, 0, 1, 0};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(g.x0[i], expected[i], gate) << i;
}

// A ball that fell from 0.3: ever smaller bounces end in a contact at rest, which has forgotten where the
// ball came from. Gates: of the height, of the speed, of the gradient. Returns the gradient.
inline auto expect_rest(const SystemOptions& options, const std::string& option,
                        const std::array<double, 3>& gates) {
  const auto system = make_system<double>(ball(kUpAndDown, "timestep='0.002' " + option), options);
  Rollout<double> rollout(system, {.steps = 2000});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0.3, 0};
  const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "q"));
  const auto x = rollout.simulate(at).final_state;
  EXPECT_NEAR(x[0], 0, gates[0]);
  EXPECT_NEAR(x[1], 0, gates[1]);
  EXPECT_NEAR(g.x0[0], 0, gates[2]);
  return g;
}

// A ball thrown at the floor without spin, no gravity. Slipping it loses mu (1 + e) |v_n| of its sliding
// speed, sticking two sevenths of it.
struct Thrown {
  std::vector<double> v;
  double by_mu, by_e, by_sliding_speed;  // of the final vx
};
inline Thrown thrown(const SystemOptions& options, const std::string& option, double mu, double e,
                     double vx) {
  const Model model = ball("<freejoint/>", "gravity='0 0 0' timestep='0.01' " + option, "condim='3'");
  const auto system = make_system<double>(model, options);
  Rollout<double> rollout(system, {.steps = 30});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0, 0, 0.2314, 1, 0, 0, 0, vx, 0, -1, 0, 0, 0};
  at.parameters.set("geom/floor/restitution", e);
  at.parameters.set("geom/floor/friction", std::vector<double>{mu, 0.005, 0.0001});
  at.parameters.set("geom/ball/friction", std::vector<double>{mu / 2, 0.005, 0.0001});
  std::vector<double> bar(13, 0.0);
  bar[7] = 1;
  const auto g = rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {30}, {bar}));
  const auto x = rollout.simulate(at).final_state;
  return {{x.begin() + 7, x.end()},
          g.parameters["geom/floor/friction"][0],
          g.parameters["geom/floor/restitution"][0],
          g.x0[7]};
}

// The first body is thrown at the second.
inline Arguments<double> sideways_with_spin(const Rollout<double>& rollout, const Model& model) {
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state(model);
  at.x0[std::size_t(model.nq)] = 1.1;      // towards the other
  at.x0[std::size_t(model.nq) + 4] = 3.0;  // spin
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.05 * double(i % 3);
  return at;
}

// A ball thrown sideways with spin, and a capsule that it hits.
inline void expect_contract_of_several_bodies(SystemOptions options, const std::string& integrator) {
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option integrator='" + integrator +
      "' timestep='0.004'/><default><geom friction='0.4'/></default>"
      "<worldbody><geom name='floor' type='plane' size='1 1 1'/>"
      "<body name='a' pos='0 0 0.12'><freejoint/><geom name='a' type='sphere' size='0.1' mass='1'/></body>"
      "<body name='b' pos='0.25 0.01 0.19'><freejoint/><geom name='b' type='capsule' size='0.08 0.05' "
      "mass='0.7'/></body></worldbody></mujoco>"));
  options.applied_forces = true;
  options.impact.restitution = 0.6;
  const auto system = make_system<double>(model, options);
  Rollout<double> rollout(system, {.steps = 40, .hold = 40});
  Arguments<double> at = sideways_with_spin(rollout, model);
  at.parameters.set("geom/floor/restitution", 0.5);
  at.parameters.set("geom/b/restitution", 0.7);
  at.parameters.set("geom/floor/friction", std::vector<double>{0.3, 0.005, 0.0001});
  at.parameters.set("geom/b/friction", std::vector<double>{0.35, 0.005, 0.0001});
  const auto objective = loss::final<double>(system->signature(), "q", {});
  costate::test::expect_contract(system, {.states = costate::test::starting_at(at),
                                          .objective = objective,
                                          .steps = 40,
                                          .hold = 40,
                                          .long_steps = 0,
                                          .run_gate = 1e-14,
                                          .stencil_gate = 1e-7,
                                          .stencil_step = 1e-6,
                                          .taylor_step = 1e-5,
                                          .second_order_step = 1e-6});
}

// A world has the same bits alone and among neighbours that meet the floor at other times.
inline void expect_same_bits_among_neighbours(const SystemOptions& options, const std::string& integrator) {
  const Model model = ball("<freejoint/>", "integrator='" + integrator + "' timestep='0.005'", "condim='3'");
  const auto system = make_system<double>(model, options);
  constexpr std::size_t kWorlds = 21;
  Rollout<double> many(system, {.steps = 200, .worlds = kWorlds}), one(system, {.steps = 200});
  Arguments<double> all = many.arguments();
  all.x0.clear();
  for (std::size_t w = 0; w < kWorlds; ++w) {
    const double k = double(w);
    all.x0.insert(all.x0.end(), {0, 0, 0.12 + 0.017 * k, 1, 0, 0, 0, 0.3 * k, 0.1, -0.5, 0, 2, 0.1 * k});
  }
  const auto objective = loss::final<double>(system->signature(), "q", {});
  const auto g = many.value_and_gradient(all, *objective);
  for (const std::size_t w : {0u, 3u, 8u, 20u}) {
    Arguments<double> a = one.arguments();
    a.x0.assign(all.x0.begin() + std::ptrdiff_t(13 * w), all.x0.begin() + std::ptrdiff_t(13 * (w + 1)));
    const auto h = one.value_and_gradient(a, *objective);
    EXPECT_EQ(h.value, g.values[w]) << w;
    for (std::size_t i = 0; i < 13; ++i) EXPECT_EQ(h.x0[i], g.x0[13 * w + i]) << w << " " << i;
  }
}

}  // namespace costate::rigid::test
