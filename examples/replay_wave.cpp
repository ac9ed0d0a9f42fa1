// A wave as a page: any simulation that can fill a Recording can be watched.
//
//   build/bin/replay_wave             writes wave.html
//   build/bin/replay_wave page.html   writes it elsewhere
#include <cmath>
#include <cstdio>

#include "costate/grid/wave.h"
#include "costate/system/rollout.h"
#include "costate/view/replay.h"

int main(int argc, char** argv) {
  using namespace costate;
  constexpr std::uint32_t n = 96;
  // [simulate]
  const auto pond = grid::wave<float>({.nx = n, .ny = n, .dx = 1.0 / n, .dt = 0.5 / n, .damping = 0.1});
  Rollout<float> rollout(pond, {.steps = 480, .keep = 4});
  auto drop = rollout.arguments();
  for (std::uint32_t j = 0; j < n; ++j) {
    for (std::uint32_t i = 0; i < n; ++i)
      drop.x0[j * n + i] = 0.2F * std::exp(-0.02F * float(std::pow(i - 35.0, 2) + std::pow(j - 55.0, 2)));
  }
  const auto waves = rollout.simulate(drop);
  // [/simulate]
  // [record]
  io::Recording recording;
  recording.title = "A drop falls into a pond";
  recording.frames = std::int64_t(waves.kept.size());
  recording.frame_interval = 4 * 0.5 / n;
  io::Mesh surface{.name = "water", .color = 0x4f86c6};
  for (std::uint32_t j = 0; j + 1 < n; ++j) {
    for (std::uint32_t i = 0; i + 1 < n; ++i) {
      const std::uint32_t a = j * n + i;
      surface.triangles.insert(surface.triangles.end(), {a, a + 1, a + n, a + 1, a + n + 1, a + n});
    }
  }
  for (std::size_t f = 0; f < waves.kept.size(); ++f) {
    const float* u = waves.states.data() + f * 2 * n * n;
    for (std::uint32_t k = 0; k < n * n; ++k)
      surface.vertices.insert(surface.vertices.end(),
                              {float(k % n) / n - 0.5F, float(k / n) / n - 0.5F, 0.08F + u[k]});
  }
  recording.meshes.push_back(surface);
  recording.bodies.push_back({.name = "basin",
                              .shape = {.kind = io::Shape::Kind::box, .size = {0.52F, 0.52F, 0.03F}},
                              .color = 0xb9aa94,
                              .poses = {{0, 0, 0.03F, 1, 0, 0, 0}}});

  const std::string page = argc > 1 ? argv[1] : "wave.html";
  view::write_replay(page, {recording});
  // [/record]
  std::printf("%lld frames of %u vertices: %s\n", static_cast<long long>(recording.frames), n * n,
              page.c_str());
}
