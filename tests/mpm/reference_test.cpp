// The published run of DiffTaichi's diffmpm_simple, recomputed in double: a block thrown at a target.
// Hu et al., DiffTaichi: differentiable programming for physical simulation, ICLR 2020.
#include <gtest/gtest.h>

#include "tests/mpm/models.h"

namespace costate::mpm {
namespace {

Model thrown_block() {
  Model m;
  m.dimension = 2;
  m.nodes = {120, 120, 1};
  m.dx = 1.0 / 120;
  m.dt = 3e-4;
  m.gravity = {0, -9.8, 0};
  m.mass_floor = 1e-10;
  // mu = lambda = 100
  m.materials = {
      {.name = "jelly", .kind = MaterialKind::fixed_corotated, .density = 1, .E = 250, .nu = 0.25}};
  for (int face = 0; face < 4; ++face)
    m.walls[std::size_t(face)] = {Contact::separate, face % 2 == 0 ? 3 : 2, 0};
  for (int i = 0; i < 60; ++i) {
    for (int j = 0; j < 60; ++j) {
      m.particles.x.push_back(m.dx * (0.7 * i + 10));
      m.particles.x.push_back(m.dx * (0.7 * j + 25));
    }
  }
  m.particles.volume = {1};
  return m;
}

// The block bounces, and the descent amplifies rounding: moving all particles by 1e-14 changes loss 5 by 7e-8
// and loss 10 by 1e-3 of itself. So the first digits that another order of summation can change are at
// iteration 5; later ones show that the descent arrives all the same.
TEST(DiffMpmSimple, LossesOfTheDescentAreThoseOfTheReference) {
  const Model model = thrown_block();
  const auto system = mpm::system<double>(model);
  const std::int64_t n = particle_count(model);
  Rollout<double> rollout(system, {.steps = 1023, .checkpoints = segments(), .active = {}});
  Arguments<double> at = rollout.arguments();
  const test::MeanPosition<double> objective(n, 2, {0.3, 0.6});
  double v[2] = {0, 0};
  struct Reference {
    int iteration;
    double loss, precision;
  };
  const std::vector<Reference> reference = {{0, .05046649074, 1e-10},  {5, .0250039089, 1e-8},
                                            {10, .00532256757, 1e-2},  {15, 3.15386824e-4, 5e-2},
                                            {20, 1.17782997e-5, 1e-2}, {25, 3.96361e-7, 1e-2}};
#if defined(__SANITIZE_ADDRESS__)
  constexpr int last = 0;  // a minute or more for each gradient here
#else
  constexpr int last = 25;
#endif
  std::size_t next = 0;
  for (int iteration = 0; iteration <= last; ++iteration) {
    at.x0 = initial_state<double>(model);
    for (std::int64_t p = 0; p < n; ++p)
      for (int a = 0; a < 2; ++a) at.x0[std::size_t(2 * n + 2 * p + a)] = v[a];
    const auto g = rollout.value_and_gradient(at, objective);
    double gradient[2] = {0, 0};
    for (std::int64_t p = 0; p < n; ++p)
      for (int a = 0; a < 2; ++a) gradient[a] += g.x0[std::size_t(2 * n + 2 * p + a)];
    if (iteration == 0) {
      EXPECT_NEAR(gradient[0], -.01369874, 5e-9);
      EXPECT_NEAR(gradient[1], .03125752, 5e-9);
    }
    if (iteration == reference[next].iteration) {
      EXPECT_NEAR(g.value, reference[next].loss, reference[next].precision * reference[next].loss)
          << iteration;
      ++next;
    }
    for (int a = 0; a < 2; ++a) v[a] -= 10 * gradient[a];
  }
}

}  // namespace
}  // namespace costate::mpm
