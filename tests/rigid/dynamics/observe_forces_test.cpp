// Sensors, contact and actuator forces, energies: the numbers of MuJoCo from random states
// (tools/rigid_sensor_reference.py), and gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "costate/io/model/load_model.h"
#include "costate/rigid/observe/look.h"
#include "costate/rigid/observer.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/check/checks.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"
#include "tests/rigid/models.h"
#include "tests/rigid/reference_rollout.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;
using test::Json;
using test::vector_of;

struct Case {
  Model model;
  Json json;
};
// walker: feet on a floor, and a crate; cord: a spatial tendon over two bodies, nothing touches.
std::vector<Case> cases(const std::string& name) {
  const std::string path = std::string(COSTATE_RIGID_SENSORS "/") + name;
  std::ifstream file(path + ".json");
  std::vector<Case> all;
  for (const Json& json : Json::parse(file)) {
    all.push_back({load(path + ".xml"), json});
    all.back().model.options.cone =
        json.at("elliptic").get<bool>() ? ConeType::elliptic : ConeType::pyramidal;
  }
  return all;
}

// Every sensor, and what files have no sensor for.
std::vector<Quantity> everything(const Model& m) {
  std::vector<Quantity> list;
  for (const Sensor& s : m.sensors) list.push_back({s.name, "sensor/" + s.name});
  const std::vector<std::string> energies = {"energy/kinetic", "energy/gravity", "energy/spring"};
  for (const std::string& path : energies) list.push_back({path.substr(7), path});
  if (m.name != "walker") return list;
  for (const char* path :
       {"body/foot/contact", "body/torso/contact", "body/crate/contact", "geom/toe/contact",
        "geom/floor/contact", "body/world/contact", "body/foot/contact_torque", "geom/toe/contact_torque",
        "body/crate/contact_torque", "site/imu/acceleration", "body/foot/com/acceleration",
        "body/shin/angular_acceleration"})
    list.push_back({"extra" + std::to_string(list.size()), path});
  return list;
}

void expect_mujocos(const Case& c) {
  const Json& s = c.json;
  const auto signature = make_system<double>(c.model)->signature();
  const auto x = vector_of(s.at("x")), u = vector_of(s.at("u"));
  const auto look = [&](const std::string& path) {
    return Observer(c.model, signature, {{"z", path}}).values(x, {}, u);
  };
  const auto compare = [&](const std::string& path, const std::vector<double>& theirs) {
    const auto ours = look(path);
    ASSERT_EQ(ours.size(), theirs.size()) << path;
    double scale = 1;
    for (const double v : theirs) scale = std::max(scale, std::abs(v));
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_NEAR(ours[i], theirs[i], 1e-10 * scale) << path << "[" << i << "] contacts " << s.at("contacts");
  };
  for (const auto& [name, theirs] : s.at("sensors").items()) compare("sensor/" + name, vector_of(theirs));
  for (const auto& [name, theirs] : s.at("contact").items())
    compare("body/" + name + "/contact", vector_of(theirs));
  const auto energy = vector_of(s.at("energy"));
  EXPECT_NEAR(look("energy/gravity")[0] + look("energy/spring")[0], energy[0], 1e-11);
  EXPECT_NEAR(look("energy/kinetic")[0], energy[1], 1e-11);
}

TEST(ObserveForces, SensorsContactsAndEnergiesAreMuJoCos) {
  int contacts = 0;
  for (const char* name : {"walker", "cord"}) {
    for (const Case& c : cases(name)) {
      expect_mujocos(c);
      contacts += c.json.at("contacts").get<int>();
    }
  }
  EXPECT_GT(contacts, 30);
}

// Six-point stencil of <bars, values> along one input.
template <class Value>
double difference(const Value& value, double h) {
  return (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + (value(3 * h) - value(-3 * h))) /
         (60 * h);
}

struct Inputs {
  std::vector<double> x, u, p;
};

// <bars, quantities> with respect to every state, control and parameter. How many parameters matter.
int expect_derivatives(const Case& c, std::mt19937& random) {
  std::normal_distribution<double> normal;
  const Signature signature = make_system<double>(c.model)->signature();
  const Observer all(c.model, signature, everything(c.model));
  Inputs at{vector_of(c.json.at("x")), vector_of(c.json.at("u")), {}};
  std::vector<std::string> names;
  for (const Field& f : signature.fields(Role::parameter)) {
    for (std::int64_t i = 0; i < f.size; ++i) {
      at.p.push_back(f.defaults[f.defaults.size() == 1 ? 0 : static_cast<std::size_t>(i)]);
      names.push_back(f.name + "[" + std::to_string(i) + "]");
    }
  }
  const std::vector<double> here = all.values(at.x, at.p, at.u);
  std::vector<double> bars(here.size());
  // Forces are up to a thousand times what the rest is.
  for (std::size_t i = 0; i < bars.size(); ++i) bars[i] = normal(random) / (1 + std::abs(here[i]));
  const Observer::Pulled g = all.pull_back(at.x, bars, at.p, at.u);
  const auto compare = [&](double ours, std::vector<double> Inputs::*field, std::size_t k, double unit,
                           const std::string& what) {
    const auto value = [&](double h) {
      Inputs moved = at;
      (moved.*field)[k] += h * unit;
      const std::vector<double> z = all.values(moved.x, moved.p, moved.u);
      double sum = 0;
      for (std::size_t i = 0; i < z.size(); ++i) sum += bars[i] * z[i];
      return sum;
    };
    double least_error = 1e300;
    for (const double h : {3e-5, 1e-5, 3e-6})
      least_error = std::min(least_error, std::abs(difference(value, h) - ours));
    EXPECT_LT(least_error, 2e-7 * (std::abs(ours) + 1)) << what << ": " << ours;
  };
  for (std::size_t i = 0; i < at.x.size(); ++i) compare(g.x[i], &Inputs::x, i, 1, "x" + std::to_string(i));
  for (std::size_t i = 0; i < at.u.size(); ++i) compare(g.u[i], &Inputs::u, i, 1, "u" + std::to_string(i));
  int matter = 0;
  for (std::size_t k = 0; k < at.p.size(); ++k) {
    const double unit = std::max(std::abs(at.p[k]), 1e-2);
    compare(g.p[k] * unit, &Inputs::p, k, unit, names[k]);
    matter += std::abs(g.p[k]) > 1e-9;
  }
  return matter;
}

TEST(ObserveForces, EveryQuantityHasItsDerivative) {
  std::mt19937 random(5);
  const std::vector<Case> walker = cases("walker"), cord = cases("cord");
  for (const std::size_t at : {0u, 3u, 8u, 11u}) EXPECT_GT(expect_derivatives(walker[at], random), 100);
  for (const std::size_t at : {0u, 9u}) EXPECT_GT(expect_derivatives(cord[at], random), 30);
}

// Through contacts and the accelerations that they leave: how gradients by state, control and parameter
// change with state and control.
void expect_second_derivatives(const Case& c) {
  const auto system = make_system<double>(c.model);
  std::vector<Quantity> list = everything(c.model);
  for (std::size_t i = 0; i < list.size(); ++i) list[i].name = "z" + std::to_string(i);
  const Observer all(c.model, system->signature(), list);
  const std::vector<double> x = vector_of(c.json.at("x")), u = vector_of(c.json.at("u")),
                            here = all.values(x, {}, u);
  std::string text = "0";
  std::size_t i = 0;
  for (const Field& f : all.signature().fields(Role::state))
    for (std::int64_t k = 0; k < f.size && f.offset >= system->signature().states(); ++k, ++i) {
      // Forces are up to a thousand times what the rest is.
      const double scale = 1 / (1 + std::abs(here[i]));
      text += " + sin(" + std::to_string(scale) + "*" +
              (f.size > 1 ? f.name + "[" + std::to_string(k) + "]" : f.name) + " + " +
              std::to_string(0.37 * double(i)) + ")";
    }
  const auto objective = all.objective(loss::expression<double>(all.signature(), text, loss::at_steps({0})));
  Rollout<double> rollout(system, {.steps = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = x, at.controls = u;
  Arguments<double> d = check::random_direction(rollout, at, 1);
  const Arguments<double> e = check::random_direction(rollout, at, 2);
  d.parameters =
      at.parameters.zeros();  // those that are zero, and must not be negative, cannot move both ways
  const auto slope = [&](double h) {
    return check::inner(rollout.value_and_gradient(check::moved(at, d, h), *objective), e);
  };
  const double exact = check::inner(rollout.hessian_vector(at, d, *objective).product, e);
  double least_error = 1e300;
  for (const double h : {3e-6, 1e-6, 3e-7, 1e-7})
    least_error = std::min(least_error, std::abs(difference(slope, h) - exact));
  EXPECT_LT(least_error, 1e-5 * (1 + std::abs(exact))) << c.json.at("contacts") << " contacts, " << exact;
}

TEST(ObserveForces, EveryQuantityHasItsSecondDerivative) {
  const std::vector<Case> walker = cases("walker"), cord = cases("cord");
  for (const std::size_t at : {0u, 3u, 8u, 11u}) expect_second_derivatives(walker[at]);
  for (const std::size_t at : {0u, 9u}) expect_second_derivatives(cord[at]);
}

// A packet of worlds, forward on duals and back: <J v, w> = <v, J' w>, to rounding.
TEST(ObserveForces, ForwardModeIsTheTransposeOfReverseMode) {
  using P = NativePack<double>;
  using D = Dual<P>;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const auto noise = [&] {
    alignas(P) double lanes[lanes_of<P>];
    for (double& v : lanes) v = normal(random);
    return costate::load<P>(lanes);
  };
  for (const char* name : {"walker", "cord"}) {
    for (const Case& c : cases(name)) {
      const ObserverPlan plan =
          make_observer_plan(c.model, make_system<double>(c.model)->signature(), everything(c.model), {});
      Look<P> back(plan);
      Look<D> forward(plan);
      const auto x = vector_of(c.json.at("x")), u = vector_of(c.json.at("u"));
      const auto put = [&](const std::vector<double>& from, std::vector<P>& to, std::vector<D>& dual) {
        for (std::size_t i = 0; i < from.size(); ++i) {
          to[i] = P(from[i]) * (P(1) + P(1e-3) * noise());  // small inertias stay positive
          dual[i] = D(to[i], noise());
        }
      };
      put(x, back.x, forward.x);
      put(u, back.u, forward.u);
      put(plan.defaults, back.p, forward.p);
      const auto p_dot = forward.p;
      prepare_units(plan.tree.p, back.p.data());
      prepare_units(plan.tree.p, forward.p.data());
      back.observe();
      forward.observe();
      P ours(0), theirs(0), scale(0);
      const auto n = std::size_t(plan.states);
      std::fill(back.z_bar.begin(), back.z_bar.end(), P(0));
      for (std::size_t i = n; i < back.z.size(); ++i) {
        back.z_bar[i] = noise() / (P(1) + abs(back.z[i]));
        theirs += back.z_bar[i] * forward.z[i].d[0];
        scale += abs(back.z_bar[i] * forward.z[i].d[0]);
      }
      back.observe_vjp(true);
      for (std::size_t i = 0; i < x.size(); ++i) ours += back.x_bar[i] * forward.x[i].d[0];
      for (std::size_t i = 0; i < u.size(); ++i) ours += back.u_bar[i] * forward.u[i].d[0];
      for (std::size_t i = 0; i < plan.defaults.size(); ++i) ours += back.p_bar[i] * p_dot[i].d[0];
      for (int i = 0; i < lanes_of<P>; ++i)
        EXPECT_LT(std::abs(lane(ours, i) - lane(theirs, i)), 1e-11 * lane(scale, i))
            << name << " lane " << i << " of " << lane(ours, i);
    }
  }
}

// Losses over a rollout, with controls of every step.
TEST(ObserveForces, LossesOnThemPassTheChecks) {
  const Case c = cases("cord")[2];
  const auto system = make_system<double>(c.model);
  const Observer observer(c.model, system->signature(),
                          {{"pull", "actuator/winch"}, {"acc", "sensor/acc"}, {"l", "tendon/rope"}});
  const auto objective = observer.objective(loss::expression<double>(
      observer.signature(), "sin(pull) + 0.1*acc[0]*acc[1] + cos(acc[2]) + l*l", loss::at_steps({0, 3, 7})));
  Rollout<double> rollout(system, {.steps = 8});
  Arguments<double> at = rollout.arguments();
  at.x0 = vector_of(c.json.at("x"));
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.3 * double(i % 5) - 0.5;
  const check::Result result = check::stencil(rollout, at, *objective, {.directions = 12, .step = 3e-4});
  EXPECT_LT(result.error, 1e-9) << result.to_text();
  const auto end = observer.objective(loss::final<double>(observer.signature(), "pull", {}));
  expect_error([&] { return rollout.value(at, *end); },
               "at the end of the rollout, where there is no control", "ask at earlier steps");
}

TEST(ObserveForces, WhatHasNoForceIsAnError) {
  const Model walker = cases("walker")[0].model, cord = cases("cord")[0].model;
  const auto signature = [](const Model& m, const SystemOptions& o = {}) {
    return make_system<double>(m, o)->signature();
  };
  const SystemOptions hard{.contact = ContactModel::hard}, springs{.contact = ContactModel::penalty};
  expect_error(
      [&] {
        return Observer(walker, signature(walker, hard), {{"f", "body/foot/contact"}}, hard);
      },
      "bodies exchange impulses", "use contact 'convex'");
  expect_error(
      [&] {
        return Observer(walker, signature(walker, springs), {{"f", "site/imu/force"}}, springs);
      },
      "forces of contact 'penalty' cannot be observed", "use contact 'convex'");
  expect_error(
      [&] {
        return Observer(cord, signature(cord), {{"f", "site/end/force"}});
      },
      "tendon 'rope' pulls", "observe accelerations");
  expect_error(
      [&] {
        return Observer(cord, signature(cord), {{"f", "site/hook/torque"}});
      },
      "nothing holds the world", "choose a site of a body");
  expect_error(
      [&] {
        return Observer(cord, signature(cord), {{"f", "site/end/contact"}});
      },
      "a site touches nothing", "site/NAME/touch");
  expect_error(
      [&] {
        return Observer(cord, signature(cord), {{"f", "body/arm/gyro"}});
      },
      "a body has no 'gyro'", "site/NAME/gyro");
  const Observer force(cord, signature(cord), {{"f", "actuator/winch"}});
  expect_error([&] { return force.values(cases("cord")[0].json.at("x").get<std::vector<double>>()); },
               "forces depend on the controls", "give u");
  Signature loop;
  const Signature plain = signature(cord);
  for (const Field& f : plain.fields(Role::state)) loop.state(f.name, f.size, f.unit);
  for (const Field& f : plain.fields(Role::parameter)) loop.parameter(f.name, f.defaults, f.unit);
  expect_error(
      [&] {
        return Observer(cord, loop, {{"f", "actuator/winch"}});
      },
      "are not the model's", "observe the model itself");
}

}  // namespace
}  // namespace costate::rigid
