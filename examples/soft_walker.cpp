// A soft body learns to walk twice with the same effort: once by its muscles alone, once with its shape and
// stiffness to choose as well. One gradient has all of them.
//
//   soft_walker                        a body that is one cube thick, on two legs; a few iterations
//   soft_walker walker.html planar     the same, with 60 iterations of each
//   soft_walker walker.html full       with four legs: 648 cubes, DiffPD's quadruped
//
// The body is that of DiffPD (Du et al., ACM TOG 41, 2021). Both replays are in the page, side by side.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "costate/core/error.h"
#include "costate/optim/lbfgs.h"
#include "costate/soft/mesh/surface.h"
#include "costate/soft/mesh/voxels.h"
#include "costate/soft/soft_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/rollout.h"
#include "costate/view/replay.h"

using namespace costate;

constexpr std::int64_t kSteps = 100, kHold = 5;
constexpr std::size_t kMuscles = 4, kKnots = kSteps / kHold;
constexpr double kSide = 0.12, kGap = 0.004;  // m: a leg's thickness, over the floor at the start
constexpr double kEffort = 0.12;              // root mean square of the contractions, whatever else is chosen

// [body]
// A trunk on legs as long as they are thick twice, of `n` cubes per thickness. Each leg has a muscle along
// its front and one along its back; legs of a row pull together.
soft::SoftModel walker(int n, bool four_legs) {
  const double h = kSide / n;
  const int long_side = 4 * n, wide = four_legs ? 4 * n : 1;
  std::vector<std::array<int, 3>> cubes;
  std::vector<int> muscle;  // of each cube; -1: none
  for (int k = 0; k < 3 * n; ++k)
    for (int j = 0; j < wide; ++j)
      for (int i = 0; i < long_side; ++i) {
        const bool leg_x = i < n || i >= 3 * n, leg_y = !four_legs || j < n || j >= 3 * n;
        if (k < 2 * n && !(leg_x && leg_y)) continue;
        cubes.push_back({i, j, k});
        const int column = i % n;
        const bool front = column >= n - n / 2, back = column < n / 2;
        muscle.push_back(k >= 2 * n || !(front || back) ? -1 : (i < n ? 0 : 2) + (front ? 0 : 1));
      }
  const soft::SoftMesh mesh = soft::voxel_mesh(h, cubes);
  soft::SoftModel m{.materials = {{.name = "body",
                                   .law = "fixed_corotated",
                                   .numbers = {{"E", 1e5}, {"nu", 0.45}},
                                   .density = 300,
                                   .viscosity = 100}},
                    .obstacles = {{.name = "floor", .friction = 0.8}},
                    .contact = {.distance = 0.004, .stiffness = 2e4, .slip_speed = 0.02},
                    .dt = 0.01,
                    .tolerance = 1e-7};
  soft::add_part(m, "body", soft::Cells::hexahedra, mesh, 0);
  const char* names[kMuscles] = {"hind front", "hind back", "fore front", "fore back"};
  for (std::size_t k = 0; k < kMuscles; ++k) {
    soft::Part part{.name = names[k], .cells = soft::Cells::hexahedra, .material = int(k) + 1};
    for (std::size_t c = 0; c < cubes.size(); ++c)
      if (muscle[c] == int(k))
        part.vertices.insert(part.vertices.end(), mesh.cells.begin() + std::ptrdiff_t(8 * c),
                             mesh.cells.begin() + std::ptrdiff_t(8 * c + 8));
    m.parts.push_back(part);
    m.materials.push_back({.name = names[k],
                           .law = "muscle",
                           .numbers = {{"stiffness", 1e5}, {"contraction", 0}, {"ax", 0}, {"az", 1}},
                           .driven = "contraction",
                           .density = 0});
  }
  return m;
}
// [/body]

// [design]
// What the body may change: its stiffness (a power of e), and its shape by five modes. Feet stay on the
// floor.
constexpr std::size_t kModes = 5;
constexpr double kReach = 3;  // how much further a search goes along these than along a contraction
void mode(std::size_t k, const double* X, double* way) {
  const double leg = 2 * kSide, down = std::max(0.0, 1 - X[2] / leg);  // 1 at the feet, 0 at the trunk
  const bool hind = X[0] < 2 * kSide;
  const double middle = hind ? 0.5 * kSide : 3.5 * kSide;
  way[0] = way[1] = way[2] = 0;
  if (k == 0) way[2] = std::min(X[2], leg);                      // longer legs
  if (k == 1 && hind) way[0] = leg * down;                       // hind legs lean
  if (k == 2 && !hind) way[0] = leg * down;                      // fore legs lean
  if (k == 3) way[0] = X[2] < leg ? (X[0] - middle) * down : 0;  // broader feet
  if (k == 4) way[2] = std::max(0.0, X[2] - leg);                // a thicker trunk
}
// [/design]

struct Walker {
  soft::SoftModel model;
  Rollout<double> rollout;
  Arguments<double> at;
  std::vector<double> base;
  bool designed = false;
  int gradients = 0;

  Walker(int n, bool four_legs)
      : model(walker(n, four_legs)),
        rollout(soft::soft_bodies<double>(model), {.steps = kSteps, .hold = kHold, .keep = 2}),
        at(rollout.arguments()),
        base(model.rest) {}

  // Unknowns: contractions per knot, in any unit; stiffness; modes.
  std::size_t unknowns() const { return kMuscles * kKnots + (designed ? 1 + kModes : 0); }
  double scale(const double* w) const {
    double squares = 0;
    for (std::size_t i = 0; i < kMuscles * kKnots; ++i) squares += w[i] * w[i];
    return kEffort / std::sqrt(squares / double(kMuscles * kKnots));
  }
  void set(const double* w) {
    const double to = scale(w);
    for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = to * w[i];
    const double* d = w + kMuscles * kKnots;
    std::vector<double> rest = base;
    for (std::size_t i = 0; designed && i < rest.size(); i += 3)
      for (std::size_t k = 0; k < kModes; ++k) {
        double way[3];
        mode(k, base.data() + i, way);
        for (std::size_t c = 0; c < 3; ++c) rest[i + c] += kReach * d[1 + k] * way[c];
      }
    at.parameters["material/body/E"][0] = 1e5 * (designed ? std::exp(kReach * d[0]) : 1);
    std::copy(rest.begin(), rest.end(), at.parameters["rest"].begin());
    for (std::size_t i = 2; i < rest.size(); i += 3) rest[i] += kGap;
    at.x0 = soft::soft_state(model, rest);
  }
  // [gradient]
  // Minus how far the middle has come. A body that buckles has no derivative: the search steps back from it.
  double operator()(const double* w, double* gradient) {
    try {
      return evaluate(w, gradient);
    } catch (const Error&) {
      return std::numeric_limits<double>::infinity();
    }
  }
  double evaluate(const double* w, double* gradient) {
    ++gradients;
    set(w);
    const std::size_t n3 = base.size();
    const auto distance = loss::lambda<double>(rollout.system().signature(), [&](auto x, auto, auto) {
      auto sum = 0 * x[0];
      for (std::size_t i = 0; i < n3; i += 3) sum = sum - x[i];
      return sum * (3.0 / double(n3));
    });
    const auto g = rollout.value_and_gradient(at, *distance);
    double value = g.value, along = 0;
    for (std::size_t i = 0; i < n3; i += 3) value += at.x0[i] * 3 / double(n3);
    const double to = scale(w);
    for (std::size_t i = 0; i < at.controls.size(); ++i) along += g.controls[i] * at.controls[i];
    for (std::size_t i = 0; i < at.controls.size(); ++i)  // the effort stays what it is
      gradient[i] =
          to * (g.controls[i] - along * at.controls[i] / (kEffort * kEffort * double(at.controls.size())));
    if (!designed) return value;
    double* d = gradient + at.controls.size();
    d[0] = kReach * g.parameters["material/body/E"][0] * at.parameters["material/body/E"][0];
    for (std::size_t k = 0; k < kModes; ++k) {
      d[1 + k] = 0;
      for (std::size_t i = 0; i < n3; i += 3) {
        double way[3];
        mode(k, base.data() + i, way);
        for (std::size_t c = 0; c < 3; ++c)
          d[1 + k] +=
              kReach * (g.parameters["rest"][i + c] + g.x0[i + c] + (c == 0 ? 3 / double(n3) : 0)) * way[c];
      }
    }
    return value;
  }
  // [/gradient]

  io::Recording film(const std::string& title, const std::vector<double>& w) {
    set(w.data());
    const auto run = rollout.simulate(at);
    io::Recording film;
    film.title = title, film.frame_interval = 0.02, film.frames = std::int64_t(run.kept.size());
    io::Mesh mesh{.name = "body"};
    for (const int v : soft::surface_of(model.parts[0])) mesh.triangles.push_back(std::uint32_t(v));
    for (std::size_t f = 0; f < run.kept.size(); ++f) {
      const double* x = run.states.data() + f * 2 * base.size();
      mesh.vertices.insert(mesh.vertices.end(), x, x + base.size());
    }
    film.meshes = {mesh};
    return film;
  }
};

int main(int argc, char** argv) {
  const bool full = argc > 2 && std::strcmp(argv[2], "full") == 0;
  Walker body(full ? 3 : 2, full);
  std::vector<double> w;  // a trot to begin with
  for (std::size_t k = 0; k < kKnots; ++k)
    for (const double phase : {0.0, 3.1, 1.5, 4.6}) w.push_back(0.1 * std::sin(0.9 * double(k) + phase));
  const auto clock = std::chrono::steady_clock::now();
  const auto search = [&](std::vector<double> from, int iterations) {
    optim::Bounds bounds;
    bounds.lower.assign(kMuscles * kKnots, -2), bounds.upper.assign(kMuscles * kKnots, 2);
    if (body.designed)
      for (std::size_t k = 0; k <= kModes; ++k)
        bounds.lower.push_back(-0.8 / kReach), bounds.upper.push_back(0.8 / kReach);
    return optim::minimize(
        [&](const double* x, double* g) { return body(x, g); }, from,
        optim::LbfgsOptions{
            .first_step = 0.05, .stopping = {.max_iterations = iterations}, .bounds = bounds});
  };
  std::vector<double> g(w.size() + 1 + kModes);
  const double first = -body(w.data(), g.data());
  const int iterations = argc > 2 ? 30 : 4;
  const std::vector<double> half = search(w, iterations).x;
  const auto muscles = search(half, iterations);  // as long again
  const io::Recording before = body.film("muscles alone", muscles.x);
  body.designed = true;
  w = half;
  w.resize(body.unknowns(), 0.0);
  const auto designed = search(w, iterations);  // from there with the body as well
  const double gain = designed.value / muscles.value - 1;
  std::printf("%d vertices, %zu unknowns\n", body.model.vertices(), body.unknowns());
  const double enough = argc > 2 ? 0.3 : 0.05;
  std::printf("shape and stiffness bring it %s with the same effort\n",
              gain > enough ? "further" : "no further");
  std::fprintf(
      stderr,
      "%.3f m at first, %.3f m by muscles alone, %.3f m with the body designed (%.0f %% further); "
      "E x %.2f, modes %.2f %.2f %.2f %.2f %.2f; %d gradients of %.2f s\n",
      first, -muscles.value, -designed.value, 100 * gain, std::exp(kReach * designed.x[kMuscles * kKnots]),
      kReach * designed.x[kMuscles * kKnots + 1], kReach * designed.x[kMuscles * kKnots + 2],
      kReach * designed.x[kMuscles * kKnots + 3], kReach * designed.x[kMuscles * kKnots + 4],
      kReach * designed.x[kMuscles * kKnots + 5], body.gradients,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - clock).count() / body.gradients);
  view::write_replay(argc > 1 ? argv[1] : "soft_walker.html",
                     {before, body.film("body and muscles", designed.x)},
                     {.title = "A walker designed in shape, stiffness and muscle"});
  return gain > enough ? 0 : 1;
}
