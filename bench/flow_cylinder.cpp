// The cylinder in a channel of Schaefer and Turek (1996), with 32 cells across: the figures of docs/fluid.md.
//
//   costate_bench_cylinder 2d1     Re 20, steady: drag and its derivative at eight places between the cells
//   costate_bench_cylinder 2d2     Re 100: drag, lift, frequency and pressure drop of a cycle
//   costate_bench_cylinder 2d3     an inflow that comes and goes within 8 s
//
// A second argument is the number of cells across the cylinder. Further ones are `surface` for a cylinder
// whose surface holds the flow instead of a mask, and `graded` for cells that get wider along the channel,
// away from the cylinder and its wake.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string>
#include <vector>

#include "costate/fluid/flow.h"
#include "costate/fluid/grid/graded.h"
#include "costate/system/rollout.h"

using namespace costate;

namespace {

constexpr double kHeight = 0.41, kRadius = 0.05;

struct Channel {
  std::int64_t nx, ny;
  fluid::FlowOptions options;
  inline static bool surface = false, graded = false;
  Channel(std::int64_t across, double dt, double shift_x, double shift_y)
      : nx(22 * across), ny(std::lround(kHeight / 0.1 * double(across))) {
    options = {.width = {2.2 / double(nx), kHeight / double(ny), 1}, .dt = dt};
    if (graded) {
      while (ny % 8 != 0) ++ny;  // a quick transform
      const double h = options.width[0] = options.width[1] = kHeight / double(ny);
      options.widths[0] = fluid::graded_widths({{0, 3 * h}, {0.1, h}, {0.45, h}, {2.2, 10 * h}});
      nx = std::int64_t(options.widths[0].size());
    }
    options.cells = {nx, ny};
    options.viscosity = 1e-3;
    options.sides[1] = {fluid::Side::Kind::outflow};
    options.sides[2] = options.sides[3] = fluid::wall();
    options.pressure = true;
    // At the front and the back, or, where points hold the flow, two and three cells before and behind them.
    const auto pair = [&](const char* name, double away) {
      const double out = away * options.width[0];
      options.probes.push_back(
          {.name = name, .place = {0.15 - out, 0.2, 0}, .minus = {{0.25 + out, 0.2, 0}}});
    };
    if (surface)
      pair("near", 2), pair("far", 3);
    else
      pair("drop", 0);
    options.obstacles = {{.center = {0.2 + shift_x * options.width[0], 0.2 + shift_y * options.width[1], 0},
                          .size = {kRadius}}};
    if (surface) options.obstacles[0].core = fluid::Obstacle::Core::surface;
  }
  // A parabola with this speed in the middle.
  std::vector<double> inflow(double fastest) const {
    std::vector<double> speeds;
    for (std::int64_t j = 0; j < ny; ++j) {
      const double y = (double(j) + 0.5) * options.width[1];
      speeds.push_back(4 * fastest * y * (kHeight - y) / (kHeight * kHeight));
    }
    return speeds;
  }
  void start(std::vector<double>& x0, double fastest) const {
    const std::vector<double> speeds = inflow(fastest);
    for (std::int64_t j = 0; j < ny; ++j)
      for (std::int64_t i = 0; i <= nx; ++i) x0[std::size_t(j * (nx + 1) + i)] = speeds[std::size_t(j)];
  }
  // Between the front and the back of the cylinder.
  static double pressure_drop(const std::vector<double>& state, const Signature& signature) {
    const auto drop = [&](const std::string& name) {
      return state[std::size_t(signature.find(Role::state, name + "/p").offset)];
    };
    return surface ? 3 * drop("near") - 2 * drop("far") : drop("drop");  // along a line through both
  }
};

void steady(std::int64_t across) {
  const double truth = 5.57953523, slope = 129.00531;
  double least = 1e9, most = 0;
  for (int k = 0; k < 8; ++k) {
    Channel channel(across, 0.08 / double(across), k / 8.0, (3 * k % 8) / 8.0);
    channel.options.sides[0] = {fluid::Side::Kind::velocity, {channel.inflow(0.3), 0.0, 0.0}};
    channel.options.pressure = false;
    const auto system = fluid::flow<double>(channel.options);
    const auto steps = std::int64_t(std::lround(4 / channel.options.dt));
    Rollout<double> rollout(system, {.steps = steps, .checkpoints = binomial(120), .active = {"body/size"}});
    auto at = rollout.arguments();
    channel.start(at.x0, 0.3);
    const auto g = rollout.value_and_gradient(
        at, *loss::final_value<double>(system->signature(), "body/force", 0, 2 / (0.2 * 0.2 * 0.1)));
    const double d = g.parameters["body/size"][0];
    least = std::min(least, d), most = std::max(most, d);
    std::printf("moved by (%.3f, %.3f) cells: drag %.4f (%+.2f %%), derivative %.2f (%+.2f %%)\n", k / 8.0,
                (3 * k % 8) / 8.0, g.value, 100 * (g.value / truth - 1), d, 100 * (d / slope - 1));
    std::fflush(stdout);
  }
  std::printf("scatter of the derivative %.2f %%\n", 100 * (most / least - 1));
}

void shedding(std::int64_t across) {
  Channel channel(across, 0.032 / double(across), 0, 0);
  channel.options.sides[0] = {fluid::Side::Kind::velocity, {channel.inflow(1.5), 0.0, 0.0}};
  const auto system = fluid::flow<double>(channel.options);
  const auto force = std::size_t(system->signature().find(Role::state, "body/force").offset);
  const std::int64_t chunk = 64, keep = 2;  // what holds a surface is made once per chunk
  Rollout<double> rollout(system, {.steps = chunk, .keep = keep, .active = {}});
  auto at = rollout.arguments();
  channel.start(at.x0, 1.5);
  std::vector<double> time, drag, lift, drop;
  for (std::int64_t from = 0; double(from + chunk) * channel.options.dt <= 10; from += chunk) {
    const auto run = rollout.simulate(at);
    for (std::size_t i = 1; i < run.kept.size(); ++i) {
      const auto begin = run.states.begin() + std::ptrdiff_t(i * at.x0.size());
      at.x0.assign(begin, begin + std::ptrdiff_t(at.x0.size()));
      time.push_back(double(from + run.kept[i]) * channel.options.dt);
      drag.push_back(20 * at.x0[force]), lift.push_back(20 * at.x0[force + 1]);
      drop.push_back(channel.pressure_drop(at.x0, system->signature()));
    }
  }
  // Cycles begin where the lift rises through zero; look at the last four.
  std::vector<std::size_t> begins;
  for (std::size_t i = 1; i < lift.size(); ++i)
    if (lift[i - 1] < 0 && lift[i] >= 0) begins.push_back(i);
  if (begins.size() < 5) return void(std::printf("there are no cycles yet\n"));
  const std::size_t first = begins[begins.size() - 5], last = begins.back();
  const auto crossing = [&](std::size_t i) {
    return time[i] - (time[i] - time[i - 1]) * lift[i] / (lift[i] - lift[i - 1]);
  };
  const double period = (crossing(last) - crossing(first)) / 4;
  const auto peak =
      std::max_element(lift.begin() + std::ptrdiff_t(first), lift.begin() + std::ptrdiff_t(last));
  const auto half = std::size_t(std::lround(period / 2 / (time[1] - time[0])));
  std::printf("drag at most %.4f, lift at most %.4f, Strouhal number %.4f, pressure drop %.4f\n",
              *std::max_element(drag.begin() + std::ptrdiff_t(first), drag.begin() + std::ptrdiff_t(last)),
              *peak, 0.1 / period, drop[std::min(drop.size() - 1, std::size_t(peak - lift.begin()) + half)]);
}

void pulse(std::int64_t across) {
  Channel channel(across, 0.032 / double(across), 0, 0);
  channel.options.sides[0] = {.kind = fluid::Side::Kind::velocity, .driven = true};
  const auto system = fluid::flow<double>(channel.options);
  const auto force = std::size_t(system->signature().find(Role::state, "body/force").offset);
  const std::int64_t chunk = 50, keep = 2;  // what holds a surface is made once per chunk
  Rollout<double> rollout(system, {.steps = chunk, .keep = keep, .active = {}});
  auto at = rollout.arguments();
  const auto controls = std::size_t(system->signature().controls());
  const std::vector<double> shape = channel.inflow(1.5);
  double drag = 0, drag_time = 0, lift = 0, lift_time = 0;
  const auto steps = std::int64_t(std::lround(8 / channel.options.dt));
  for (std::int64_t k = 0; k < steps; k += chunk) {
    for (std::int64_t i = 0; i < chunk; ++i) {
      const double speed = std::sin(std::numbers::pi * double(k + i + 1) * channel.options.dt / 8);
      for (std::size_t j = 0; j < shape.size(); ++j)
        at.controls[std::size_t(i) * controls + j] = speed * shape[j];
    }
    const auto run = rollout.simulate(at);
    const std::size_t numbers = at.x0.size();
    for (std::size_t i = 1; i < run.kept.size(); ++i) {
      const double* felt = run.states.data() + i * numbers + force;
      const double t = double(k + run.kept[i]) * channel.options.dt;
      if (20 * felt[0] > drag) drag = 20 * felt[0], drag_time = t;
      if (20 * felt[1] > lift) lift = 20 * felt[1], lift_time = t;
    }
    at.x0 = run.final_state;
  }
  // The pressure of the last stage has half of what it takes to change the speeds on a side between two steps
  // (docs/fluid.md): the other half is what goes away when they stay.
  const double changing = channel.pressure_drop(at.x0, system->signature());
  std::fill(at.controls.begin(), at.controls.end(), 0.0);
  const auto still = rollout.simulate(at);
  const auto begin = still.states.begin() + std::ptrdiff_t(at.x0.size());
  at.x0.assign(begin, begin + std::ptrdiff_t(at.x0.size()));
  const double drop = 2 * changing - channel.pressure_drop(at.x0, system->signature());
  std::printf("drag at most %.5f at %.4f s, lift at most %.5f at %.4f s, pressure drop at the end %.5f\n",
              drag, drag_time, lift, lift_time, drop);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  const std::int64_t across = argc > 2 ? std::max(4, std::atoi(argv[2])) : 32;
  for (int i = 3; i < argc; ++i) {
    if (std::string(argv[i]) == "surface") Channel::surface = true;
    if (std::string(argv[i]) == "graded") Channel::graded = true;
  }
  if (which == "2d1") return steady(across), 0;
  if (which == "2d2") return shedding(across), 0;
  if (which == "2d3") return pulse(across), 0;
  std::fprintf(stderr, "costate_bench_cylinder 2d1|2d2|2d3 [cells across] [surface] [graded]\n");
  return 1;
}
