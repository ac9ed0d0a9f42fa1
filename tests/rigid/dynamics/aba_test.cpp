#include "costate/rigid/dynamics/aba.h"

#include <gtest/gtest.h>

#include "costate/ad/dual.h"
#include "tests/rigid/differentiated_world.h"
#include "tests/rigid/models.h"

namespace costate::rigid {
namespace {

using test::DifferentiatedWorld;

struct State {
  std::vector<double> q, v, tau;
};
State random_state(const Model& model, unsigned seed) {
  const auto x = test::random_state(model, seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  State s{{x.begin(), x.begin() + model.nq}, {x.begin() + model.nq, x.begin() + model.nq + model.nv}, {}};
  for (int i = 0; i < model.nv; ++i) s.tau.push_back(uniform(random));
  return s;
}

Model chain(int links) {
  Model m;
  m.bodies.emplace_back();
  int parent = 0;
  for (int i = 0; i < links; ++i) {
    parent = test::add_body(m, "link" + std::to_string(i), parent, {0, 0, 0.2}, 0.3);
    test::add_joint(m, "joint" + std::to_string(i), parent, JointType::hinge);
  }
  complete(m);
  return m;
}

TEST(Aba, AccelerationsAreThoseOfTheFactoredMassMatrix) {
  for (const Model& model : {test::zoo(Integrator::rk4), chain(40)}) {
    DifferentiatedWorld w(model);
    AbaData<double> articulated(w.tree);
    for (unsigned seed : {1u, 2u, 3u}) {
      const State s = random_state(model, seed);
      forward_dynamics(w.tree, w.p.data(), s.q.data(), s.v.data(), s.tau.data(), w.d);
      const std::vector<double> expected(w.d.qacc.begin(), w.d.qacc.end());
      aba(w.tree, w.p.data(), s.q.data(), s.v.data(), s.tau.data(), w.d, articulated);
      double scale = 1;
      for (double a : expected) scale = std::max(scale, std::abs(a));
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(w.d.qacc[i], expected[i], 1e-11 * scale) << i;
    }
  }
}

TEST(Aba, ItsFactorInvertsTheMassMatrix) {
  const Model model = test::zoo(Integrator::rk4);
  DifferentiatedWorld w(model);
  AbaData<double> articulated(w.tree);
  const State s = random_state(model, 4);
  aba(w.tree, w.p.data(), s.q.data(), s.v.data(), s.tau.data(), w.d, articulated);
  std::vector<double> x = s.tau, Mx(x.size());
  aba_solve(w.tree, w.d, articulated, x.data());
  crba(w.tree, w.p.data(), w.d);
  multiply_mass(w.tree, w.d.M.data(), x.data(), Mx.data());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(Mx[i], s.tau[i], 1e-12) << i;
}

// <qdd_bar, qdd_dot> = <p_bar, p_dot> + <v_bar, v_dot> + <tau_bar, tau_dot> with qdd_dot by dual numbers.
TEST(Aba, ItsTransposeIsThatOfDualNumbers) {
  const Model model = test::zoo(Integrator::rk4);
  DifferentiatedWorld w(model);
  AbaData<double> articulated(w.tree);
  using D = Dual<double>;
  Data<D> d_dual(w.tree);
  AbaData<D> articulated_dual(w.tree);
  Activity all{std::vector<bool>(w.signature.fields(Role::parameter).size(), true)};
  for (unsigned seed : {5u, 6u, 7u}) {
    const State s = random_state(model, seed);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<D> p(w.p.size()), q(s.q.begin(), s.q.end()), v, tau;
    std::vector<double> p_dot(w.p.size()), v_dot, tau_dot, qdd_bar;
    for (int i = 0; i < w.tree.p.size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      p_dot[at] = uniform(random);
      p[at] = D(w.p[at], p_dot[at]);
    }
    prepare_units(w.tree.p, p.data());
    for (std::size_t i = 0; i < s.v.size(); ++i) {
      v_dot.push_back(uniform(random));
      tau_dot.push_back(uniform(random));
      qdd_bar.push_back(uniform(random));
      v.emplace_back(s.v[i], v_dot[i]);
      tau.emplace_back(s.tau[i], tau_dot[i]);
    }
    aba(w.tree, p.data(), q.data(), v.data(), tau.data(), d_dual, articulated_dual);
    double forward = 0, norm = 0;
    for (std::size_t i = 0; i < qdd_bar.size(); ++i) {
      forward += qdd_bar[i] * d_dual.qacc[i].d[0];
      norm += std::abs(qdd_bar[i] * d_dual.qacc[i].d[0]);
    }

    std::vector<double> q_bar(s.v.size()), v_bar(q_bar), tau_bar(q_bar), p_bar(w.p.size());
    Wanted wanted;
    wanted.active = &all;
    wanted.field_of = &w.tree.p.field_of;
    aba(w.tree, w.p.data(), s.q.data(), s.v.data(), s.tau.data(), w.d, articulated);
    aba_vjp<double>(w.tree, w.p.data(), s.q.data(), s.v.data(), qdd_bar.data(), wanted,
                    {q_bar.data(), v_bar.data(), nullptr, p_bar.data(), p_bar.data() + w.tree.p.gravity},
                    tau_bar.data(), w.d, articulated);
    double backward = 0;
    for (std::size_t i = 0; i < p_bar.size(); ++i) backward += p_bar[i] * p_dot[i];
    for (std::size_t i = 0; i < v_bar.size(); ++i) backward += v_bar[i] * v_dot[i] + tau_bar[i] * tau_dot[i];
    EXPECT_NEAR(backward, forward, 1e-12 * std::max(1.0, norm)) << seed;

    // Positions: row by row.
    w.differentiate(s.q, s.v, s.tau);
    const std::size_t n = s.v.size();
    for (std::size_t k = 0; k < n; ++k) {
      double expected = 0;
      for (std::size_t i = 0; i < n; ++i) expected += qdd_bar[i] * w.da_dq[i * n + k];
      EXPECT_NEAR(q_bar[k], expected, 1e-11 * std::max(1.0, std::abs(expected))) << k;
    }
  }
}

}  // namespace
}  // namespace costate::rigid
