// A body with spin that comes down on a floor: where and how fast it is at the end, with respect to how it is
// thrown, its mass, friction and size. Friction, damping and solimp are MuJoCo's defaults.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"

namespace costate::rigid::test {

// What is thrown, and the floor: geoms, and the assets they need.
struct Thrown {
  const char *name, *geom, *asset = "";
};
inline const Thrown kTossed[] = {
    {"box", "type='box' size='0.1 0.08 0.06'"},
    {"capsule", "type='capsule' size='0.06 0.08'"},
    {"ellipsoid", "type='ellipsoid' size='0.1 0.08 0.06'"},
    {"cylinder", "type='cylinder' size='0.08 0.07'"},
    {"die", "type='mesh' mesh='die'",
     "<asset><mesh name='die' vertex='-.08 -.08 -.08 .08 -.08 -.08 -.08 .08 -.08 .08 .08 -.08 "
     "-.08 -.08 .08 .08 -.08 .08 -.08 .08 .08 .08 .08 .08'/></asset>"},
    {"sphere", "type='sphere' size='0.08'"},
};
inline const Thrown kFloors[] = {
    {"plane", "type='plane' size='2 2 1'"},
    {"box", "type='box' size='2 2 0.5' pos='0 0 -0.5'"},
    {"heightfield", "type='hfield' hfield='flat'",
     "<asset><hfield name='flat' nrow='3' ncol='3' size='2 2 0.1 0.5' elevation='0 0 0 0 0 0 0 0 "
     "0'/></asset>"},
    {"sphere", "type='sphere' size='2' pos='0 0 -2'"},
    {"capsule", "type='capsule' size='1 1' pos='0 0 -1' euler='0 90 0'"},
    {"ellipsoid", "type='ellipsoid' size='2 2 0.5' pos='0 0 -0.5'"},
    {"cylinder", "type='cylinder' size='2 0.5' pos='0 0 -0.5'"},
    {"mesh", "type='mesh' mesh='slab'",
     "<asset><mesh name='slab' vertex='-2 -2 -1 2 -2 -1 -2 2 -1 2 2 -1 -2 -2 0 2 -2 0 -2 2 0 2 2 0'/>"
     "</asset>"},
};

// d(output)/d(input), of each input: six velocities, mass, friction, and a size where there is one.
using Slopes = std::vector<std::vector<double>>;
inline constexpr int kOutputs[] = {0, 1, 2, 7, 8, 9, 10, 11, 12};  // position, velocity, spin

struct Toss {
  std::shared_ptr<System<double>> system;
  double seconds;
  int inputs;
  std::vector<double> x0{0, 0, 0.2, 0.9, 0.3, 0.2, 0.1, 0.5, 0.1, -1, 2, -1, 3};

  Toss(const Thrown& body, const Thrown& floor, const std::string& integrator, double seconds_)
      : system(make_system<double>(compile(io::parse_mjcf(
            "<mujoco><option integrator='" + integrator + "'/>" + body.asset + floor.asset +
            "<worldbody><geom name='floor' friction='0.5' " + floor.geom +
            "/><body name='it' pos='0 0 0.2'><freejoint/><geom name='it' mass='1' friction='0.6' " +
            body.geom + "/></body></worldbody></mujoco>")))),
        seconds(seconds_),
        inputs(std::string(body.name) == "die" ? 8 : 9) {}

  Rollout<double> rollout(double dt, std::int64_t worlds) const {
    return Rollout<double>(system, {.steps = std::lround(seconds / dt), .worlds = worlds});
  }
  Arguments<double> arguments(const Rollout<double>& rollout, double dt) const {
    Arguments<double> at = rollout.arguments();
    at.parameters.set("dt", dt);
    at.x0 = x0;
    return at;
  }
  static const char* parameter(int input) {
    return input == 6 ? "body/it/mass" : input == 7 ? "geom/it/friction" : "geom/it/size";
  }

  // The report is that of the last output.
  Slopes gradients(double dt, GradientReport& report) const {
    Rollout<double> one = rollout(dt, 1);
    const Arguments<double> at = arguments(one, dt);
    Slopes out = Slopes(std::size_t(inputs), std::vector<double>(x0.size()));
    for (const int k : kOutputs) {
      std::vector<double> weights(x0.size());
      weights[std::size_t(k)] = 1;
      const auto g = one.value_and_gradient(
          at, *loss::cotangents<double>(system->signature(), {one.options().steps}, {weights}));
      for (int i = 0; i < inputs; ++i)
        out[std::size_t(i)][std::size_t(k)] =
            i < 6 ? g.x0[7 + std::size_t(i)] : g.parameters[parameter(i)][0];
      report = g.report;
    }
    return out;
  }

  // Five-point differences, each world its own input and change.
  Slopes differences(double dt, double change) const {
    constexpr int kTimes[] = {1, -1, 2, -2};
    const auto h_of = [&](int i) { return i == 8 ? 0.1 * change : change; };
    const std::size_t worlds = 4 * std::size_t(inputs), n = x0.size();
    Rollout<double> many = rollout(dt, std::int64_t(worlds));
    Arguments<double> at = arguments(many, dt);
    const auto in_each = [&](const auto& one) {
      std::vector<double> all;
      for (std::size_t w = 0; w < worlds; ++w) all.insert(all.end(), one.begin(), one.end());
      return all;
    };
    at.x0 = in_each(x0);
    for (int i = 0; i < inputs; ++i) {
      std::vector<double> values = i < 6 ? std::vector<double>() : in_each(at.parameters[parameter(i)]);
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t w = 4 * std::size_t(i) + k;
        (i < 6 ? at.x0[w * n + 7 + std::size_t(i)] : values[w * (values.size() / worlds)]) +=
            kTimes[k] * h_of(i);
      }
      if (i >= 6) at.parameters.set(parameter(i), values);
    }
    const auto end = many.simulate(at).final_state;
    Slopes out = Slopes(std::size_t(inputs), std::vector<double>(n));
    for (std::size_t i = 0; i < out.size(); ++i)
      for (std::size_t k = 0; k < n; ++k) {
        const auto value = [&](std::size_t j) { return end[(4 * i + j) * n + k]; };
        out[i][k] = (8 * (value(0) - value(1)) - (value(2) - value(3))) / (12 * h_of(int(i)));
      }
    return out;
  }
};

// The largest errors of positions, velocities and spins: each relative to the derivative itself, or to a
// tenth of the largest of the same output with respect to a velocity.
struct TossErrors {
  double of[3] = {};
  double most() const { return std::max({of[0], of[1], of[2]}); }
};
inline TossErrors errors_of(const Slopes& got, const Slopes& truth) {
  TossErrors worst;
  for (int at = 0; at < 9; ++at) {
    const auto k = std::size_t(kOutputs[at]);
    double largest = 0;
    for (std::size_t i = 0; i < 6; ++i) largest = std::max(largest, std::abs(truth[i][k]));
    for (std::size_t i = 0; i < truth.size(); ++i)
      worst.of[at / 3] = std::max(worst.of[at / 3], std::abs(got[i][k] - truth[i][k]) /
                                                        std::max(std::abs(truth[i][k]), 0.1 * largest));
  }
  return worst;
}

}  // namespace costate::rigid::test
