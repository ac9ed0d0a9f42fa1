// A step that is cut at an impact, and the same step left whole: a ball meets an elastic floor and comes
// back.
//
//   contact_cut docs/images/split_step.svg     also draws the picture
#include <costate/costate.h>
#include <costate/io/model/mjcf.h>
#include <costate/rigid/compile/compile.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "examples/elastic_ball.h"
#include "examples/figure.h"

using namespace costate;
using rigid::Onset;

struct Flight {
  std::vector<figure::Point> path;   // of the first start: time [s], gap [mm]
  std::vector<double> ends, slopes;  // z(1) and dz(1)/dz0 of every start
};

// Falls at 1 m/s from each start; the impact is half a second later.
Flight fly(double dt, Onset onset, const std::vector<double>& starts) {
  const auto system = rigid::make_system<double>(rigid::compile(io::parse_mjcf(kBall)), {.onset = onset});
  Rollout<double> rollout(
      system, {.steps = std::lround(1 / dt), .worlds = std::int64_t(starts.size()), .keep = 1, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.parameters.set("dt", dt);
  at.x0.clear();
  for (const double z : starts) at.x0.insert(at.x0.end(), {z, -1.0});
  const auto run = rollout.simulate(at);
  const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "q"));
  Flight out;
  const std::size_t stride = 2 * starts.size();
  for (std::size_t f = 0; f < run.kept.size(); ++f)
    out.path.push_back({dt * double(run.kept[f]), 1000 * run.states[f * stride]});
  for (std::size_t i = 0; i < starts.size(); ++i) {
    out.ends.push_back(run.final_state[2 * i]);
    out.slopes.push_back(g.x0[2 * i]);
  }
  return out;
}

int main(int argc, char** argv) {
  constexpr int kStarts = 120;
  constexpr double kStep = 0.004;
  std::vector<double> starts;
  for (int i = 0; i < kStarts; ++i) starts.push_back(0.502 + 1e-4 * i);
  const Flight whole = fly(kStep, Onset::none, starts), cut = fly(kStep, Onset::automatic, starts);
  const auto print = [](const char* name, const Flight& f) {
    const auto [least, most] = std::minmax_element(f.slopes.begin(), f.slopes.end());
    std::printf("%-12s dz(1)/dz0 from %6.2f to %6.2f\n", name, *least, *most);
  };
  std::printf("%d starts, steps of 4 ms; the physics says -1\n", kStarts);
  print("whole steps", whole);
  print("cut steps", cut);
  if (argc < 2) return 0;

  figure::Figure picture;
  figure::Panel& time = picture.panel("time [s]", "gap [mm]");
  const auto near = [](std::vector<figure::Point> path) {
    std::erase_if(path, [](const figure::Point& p) { return p.x < 0.488 || p.x > 0.548; });
    return path;
  };
  time.line({{0.488, 0.0}, {0.548, 0.0}}, figure::kGrey, "", 1, true);
  time.line(near(fly(1e-4, Onset::automatic, {starts[0]}).path), figure::kGrey, "the physics");
  time.dots(near(whole.path), figure::kOrange, "whole steps", 6);
  time.dots(near(cut.path), figure::kBlue, "cut steps");
  figure::Panel& ends = picture.panel("z0 [m]", "z at 1 s [m]");
  const auto over_starts = [&](const Flight& f) {
    std::vector<figure::Point> points;
    for (std::size_t i = 0; i < kStarts; ++i) points.push_back({starts[i], f.ends[i]});
    return points;
  };
  ends.line(over_starts(whole), figure::kOrange, "whole steps");
  ends.line(over_starts(cut), figure::kBlue, "cut steps");
  picture.write(argv[1]);
}
