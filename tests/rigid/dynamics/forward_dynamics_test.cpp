#include "costate/rigid/dynamics/forward_dynamics.h"

#include <gtest/gtest.h>

#include "tests/rigid/differentiated_world.h"
#include "tests/rigid/models.h"
#include "tests/rigid/reference_model.h"

namespace costate::rigid {
namespace {

using test::vector_of;

using test::DifferentiatedWorld;
using test::relative_error;

Model model_of_pinocchio(const test::Json& json) {
  Model m;
  m.bodies.emplace_back();
  for (const auto& b : json.at("bodies")) {
    Body body;
    body.parent = b.at("parent");
    body.pos = test::array_of<3>(b.at("pos"));
    body.quat = test::array_of<4>(b.at("quat"));
    body.mass = b.at("mass");
    body.com = test::array_of<3>(b.at("com"));
    body.inertia = test::array_of<6>(b.at("inertia"));
    m.bodies.push_back(body);
  }
  int index = 1;
  for (const auto& j : json.at("joints")) {
    Joint joint;
    joint.type = test::choice<JointType>(j.at("type"), {"free", "ball", "slide", "hinge"});
    joint.body = index++;
    joint.axis = test::array_of<3>(j.at("axis"));
    m.joints.push_back(joint);
  }
  complete(m);
  return m;
}

TEST(ForwardDynamics, RneaCrbaAbaAndTheirDerivativesArePinocchios) {
  const auto json = test::Json::parse(std::ifstream(COSTATE_RIGID_REFERENCE "_pinocchio.json"));
  const Model model = model_of_pinocchio(json);
  DifferentiatedWorld w(model);
  const auto n = static_cast<std::size_t>(model.nv);
  for (const auto& s : json.at("states")) {
    const auto q = vector_of(s.at("q")), v = vector_of(s.at("v")), tau = vector_of(s.at("tau"));
    w.differentiate(q, v, tau);
    EXPECT_LT(relative_error(w.d.qacc, vector_of(s.at("a"))), 1e-9);
    EXPECT_LT(relative_error(w.da_dq, vector_of(s.at("da_dq"))), 1e-9);
    EXPECT_LT(relative_error(w.da_dv, vector_of(s.at("da_dv"))), 1e-9);
    EXPECT_LT(relative_error(w.da_dtau, vector_of(s.at("da_dtau"))), 1e-9);
    rnea<double>(w.tree, w.p.data(), v.data(), v.data(), w.d.bias.data(), w.d);
    EXPECT_LT(relative_error(w.d.bias, vector_of(s.at("rnea"))), 1e-9);
    crba(w.tree, w.p.data(), w.d);
    const auto mass = vector_of(s.at("mass"));
    for (std::size_t i = 0; i < n; ++i) {
      int j = int(i);
      for (int t = 0; t < w.tree.dofs[i].depth; ++t) {
        EXPECT_NEAR(w.d.M[static_cast<std::size_t>(w.tree.dofs[i].row + t)],
                    mass[i * n + static_cast<std::size_t>(j)], 1e-9);
        j = w.tree.dofs[static_cast<std::size_t>(j)].parent;
      }
    }
  }
}

// Free joints and several joints in a body: the derivatives against the transpose of RNEA, row by row.
TEST(ForwardDynamics, DerivativesAreTheRowsOfTheTranspose) {
  Model model = test::zoo(Integrator::rk4);
  DifferentiatedWorld w(model);
  const auto n = static_cast<std::size_t>(model.nv);
  for (unsigned seed : {1u, 2u, 3u}) {
    const auto x = test::random_state(model, seed);
    const std::vector<double> q(x.begin(), x.begin() + model.nq),
        v(x.begin() + model.nq, x.begin() + model.nq + model.nv);
    w.differentiate(q, v, std::vector<double>(n, 0.3));
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> lambda(n), q_bar(n), v_bar(n);
      for (std::size_t k = 0; k < n; ++k) lambda[k] = -w.da_dtau[i * n + k];
      virtual_velocities(w.tree, lambda.data(), w.d);
      Wanted nothing;
      nothing.frames = false;
      rnea_vjp<double>(w.tree, w.p.data(), q.data(), v.data(), w.d.qacc.data(), lambda.data(), false, nothing,
                       {q_bar.data(), v_bar.data(), nullptr, nullptr, nullptr}, w.d);
      for (std::size_t k = 0; k < n; ++k) {
        EXPECT_NEAR(w.da_dq[i * n + k], q_bar[k], 1e-11 * std::max(1.0, std::abs(q_bar[k]))) << i << " " << k;
        EXPECT_NEAR(w.da_dv[i * n + k], v_bar[k], 1e-11 * std::max(1.0, std::abs(v_bar[k]))) << i << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace costate::rigid
