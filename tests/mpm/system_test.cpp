#include "costate/mpm/system.h"

#include <gtest/gtest.h>

#include "tests/mpm/models.h"
#include "tests/system/contract.h"

namespace costate::mpm {
namespace {

// A block that moves and deforms, away from every wall.
Model block(int dimension, MaterialKind kind, Kernel kernel = Kernel::quadratic) {
  Model m;
  m.dimension = dimension;
  m.nodes = {16, 18, 17};
  m.dx = 0.1;
  m.origin = {-0.3, 0.2, 0.1};
  m.dt = 2e-3;
  m.kernel = kernel;
  m.materials = {{.name = "body", .kind = kind, .density = 900, .E = 2e4, .nu = 0.28, .bulk_modulus = 3e4, .viscosity = 2}};
  fill(m, Shape::box(0.2, 0.15, 0.2), {0.5, 1.1, 0.9}, 0.05, 0);
  const std::int64_t n = particle_count(m);
  for (std::int64_t p = 0; p < n; ++p) {
    for (int a = 0; a < dimension; ++a) {
      double& x = m.particles.x[std::size_t(p * dimension + a)];
      x += 0.01 * std::sin(double(3 * p + 7 * a));
      m.particles.v[std::size_t(p * dimension + a)] = 0.4 * std::cos(double(a) + 5 * x);
    }
  }
  return m;
}

template <class Real>
Arguments<Real> stirred(const Model& model, const Rollout<Real>& rollout) {
  Arguments<Real> at = rollout.arguments();
  at.x0 = initial_state<Real>(model);
  const std::int64_t n = particle_count(model);
  const int D = model.dimension;
  for (std::int64_t i = 0; i < n * D * D; ++i) {
    at.x0[std::size_t(2 * n * D + i)] += Real(0.5 * std::sin(double(i)));               // C
    if (model.materials[0].kind != MaterialKind::liquid || i % (D * D) == 0)
      at.x0[std::size_t(2 * n * D + n * D * D + i)] += Real(0.03 * std::cos(double(2 * i)));  // F
  }
  return at;
}

template <class Real>
void contract(const Model& model) {
  const auto system = mpm::system<Real>(model);
  Rollout<Real> rollout(system, {.steps = 10, .hold = 4});
  const Arguments<Real> at = stirred(model, rollout);
  const test::MeanPosition<Real> objective(particle_count(model), model.dimension, {0.1, 0.2, 0.3});
  costate::test::expect_contract<Real>(system, at, objective,
                                       {.steps = 10, .hold = 4, .stencil_gate = 1e-8, .stencil_step = 1e-4});
}

TEST(MaterialPoints, NeoHookeanMeetsTheContract) {
  contract<double>(block(3, MaterialKind::neo_hookean));
  contract<double>(block(2, MaterialKind::neo_hookean));
  contract<float>(block(3, MaterialKind::neo_hookean));
}

}  // namespace
}  // namespace costate::mpm
