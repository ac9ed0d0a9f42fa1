// Points that the flow carries along.
#include <gtest/gtest.h>

#include "costate/fluid/flow_places.h"
#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

Vector operator*(const Matrix& m, const Vector& x) {
  Vector y{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) y[i] += m[i][j] * x[j];
  return y;
}
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector sum_of(const Vector& a, double s, const Vector& b) {
  return {a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]};
}

// u = A (x - middle), A^2 symmetric and without a trace: a steady flow, of this scheme too. Speeds on all
// sides.
class LinearFlow {
 public:
  LinearFlow(std::vector<std::int64_t> cells, const Matrix& a) : a_(a) {
    options.cells = std::move(cells), options.width = {0.5, 0.4, 0.6}, options.dt = 0.1;
    options.viscosity = 0.1;
    options.tracers = {{.name = "seeds", .count = 2}};
    for (std::size_t i = 0; i < options.cells.size(); ++i)
      middle[i] = 0.45 * double(options.cells[i]) * options.width[i];
    for (Side& side : options.sides) side.kind = Side::Kind::velocity;
    for (std::size_t side = 0; side < 2 * options.cells.size(); ++side) {
      for (int c = 0; c < int(options.cells.size()); ++c)
        options.sides[side].velocity[std::size_t(c)] = speeds(c, side_places(options, side, c));
    }
  }
  std::vector<double> speeds(int c, const std::vector<Vector>& places) const {
    std::vector<double> u;
    for (const Vector& x : places) u.push_back(dot(a_[std::size_t(c)], sum_of(x, -1, middle)));
    return u;
  }
  // Where a point is after some steps: R(dt A)^n, R that of RK3; and its derivatives with respect to dt and
  // to the logarithm of A, which commute with it.
  struct Path {
    Vector place, by_dt, by_speed;
  };
  Path path(const Vector& from, Index steps) const {
    const double dt = options.dt;
    Path p{sum_of(from, -1, middle), {}, {}};
    for (Index n = 0; n < steps; ++n) {
      const auto once = [&](const Vector& x) {
        const Vector ax = a_ * x, aax = a_ * ax, aaax = a_ * aax;
        return sum_of(sum_of(sum_of(x, dt, ax), dt * dt / 2, aax), dt * dt * dt / 6, aaax);
      };
      const Vector ax = a_ * p.place, aax = a_ * ax, aaax = a_ * aax;
      const Vector by = sum_of(sum_of(ax, dt, aax), dt * dt / 2, aaax);
      p = {once(p.place), sum_of(once(p.by_dt), 1, by), sum_of(once(p.by_speed), dt, by)};
    }
    p.place = sum_of(p.place, 1, middle);
    return p;
  }

  FlowOptions options;
  Vector middle = {};

 private:
  Matrix a_;
};

void expect_path(const LinearFlow& of, const Vector& from, Index steps) {
  const FlowOptions& o = of.options;
  const auto system = flow<double>(o);
  const Signature& fields = system->signature();
  const std::size_t dim = o.cells.size();
  Rollout<double> rollout(system, {.steps = steps});
  auto at = rollout.arguments();
  for (std::size_t c = 0; c < dim; ++c)
    std::ranges::copy(of.speeds(int(c), face_places(o, int(c))),
                      at.x0.begin() + std::ptrdiff_t(fields.find(Role::state, kComponents[c]).offset));
  // The second point begins where the first one does; only it counts.
  const auto seeds = std::size_t(fields.find(Role::state, "seeds").offset);
  for (std::size_t k = 0; k < 2 * dim; ++k) at.x0[seeds + k] = from[k % dim];
  const Vector w{0.7, -0.4, 0.9};
  std::vector<double> weights(at.x0.size(), 0.0);
  std::copy_n(w.begin(), dim, weights.begin() + std::ptrdiff_t(seeds + dim));
  const auto g = rollout.value_and_gradient(at, *loss::cotangents<double>(fields, {steps}, {weights}));
  const auto path = of.path(from, steps);
  Vector seen = w;
  if (dim == 2) seen[2] = 0;
  EXPECT_NEAR(g.value, dot(seen, path.place), 1e-13);
  EXPECT_NEAR(g.parameters["dt"][0], dot(seen, path.by_dt), 1e-12);
  double by_speed = 0;
  for (std::size_t c = 0; c < dim; ++c) {
    const Field& u = fields.find(Role::state, kComponents[c]);
    for (Index i = u.offset; i < u.offset + u.size; ++i)
      by_speed += g.x0[std::size_t(i)] * at.x0[std::size_t(i)];
    for (std::size_t side = 0; side < 2 * dim; ++side) {
      const auto bar = g.parameters[std::string(kSideNames[side]) + "/" + kComponents[c]];
      for (std::size_t i = 0; i < bar.size(); ++i) by_speed += bar[i] * o.sides[side].velocity[c].values[i];
    }
  }
  EXPECT_NEAR(by_speed, dot(seen, path.by_speed), 1e-12);
  for (std::size_t a = 0; a < dim; ++a) {
    Vector moved = from;
    moved[a] += 1;
    EXPECT_NEAR(g.x0[seeds + dim + a], dot(seen, of.path(moved, steps).place) - dot(seen, path.place), 1e-12);
    EXPECT_EQ(g.x0[seeds + a], 0);
  }
}

TEST(Tracers, GoWithALinearFlowByTheFactorOfTheSchemeWithAllDerivatives) {
  const LinearFlow turning({6, 5}, {{{0.3, 0.5, 0}, {-0.2, -0.3, 0}, {}}});
  expect_path(turning, {1.1, 1.3, 0}, 7);
  expect_path(turning, {0.1, 0.07, 0}, 1);  // between the last speeds and two sides
}

TEST(Tracers, SpeedsInTheCornersOfABoxGoOnAsAPlaneDoes) {
  const LinearFlow pressed({4, 3, 5}, {{{0.3, 0.1, 0.2}, {0.1, -0.5, 0.15}, {0.2, 0.15, 0.2}}});
  expect_path(pressed, {0.9, 0.6, 1.7}, 7);
  expect_path(pressed, {0.07, 0.05, 0.1}, 1);
  expect_path(pressed, {1.9, 1.1, 2.9}, 1);
}

TEST(Tracers, GoOnBeyondASideThatWraps) {
  FlowOptions o{.cells = {8, 6}, .dt = 0.5, .viscosity = 0.01};
  o.tracers = {{.count = 1}};
  Rollout<double> rollout(flow<double>(o), {.steps = 100});
  auto at = rollout.arguments();
  std::fill_n(at.x0.begin(), 48, 0.7), std::fill_n(at.x0.begin() + 48, 48, -0.3);
  at.x0[96] = 7.9, at.x0[97] = 0.2;
  const auto g = rollout.value_and_gradient(
      at, *loss::cotangents<double>(rollout.system().signature(), {100}, {std::vector<double>([&] {
                                      std::vector<double> w(at.x0.size(), 0.0);
                                      w[96] = 1, w[97] = 2;
                                      return w;
                                    }())}));
  EXPECT_NEAR(g.value, (7.9 + 35) + 2 * (0.2 - 15), 1e-11);
  EXPECT_NEAR(g.parameters["dt"][0], 100 * (0.7 - 0.6), 1e-11);
  EXPECT_NEAR(test::sum({g.x0.data(), 48}), 50, 1e-11);
}

TEST(Tracers, StayInAClosedBox) {
  FlowOptions o{.cells = {12, 10}, .dt = 0.2, .viscosity = 0.02};
  for (std::size_t side = 0; side < 4; ++side) o.sides[side] = wall();
  o.sides[3] = wall();
  std::vector<double> lid;  // at rest in its corners
  for (int i = 0; i <= 12; ++i) lid.push_back(std::sin(std::numbers::pi * i / 12.0));
  o.sides[3].velocity[0] = lid;
  o.tracers = {{.name = "first", .count = 100}, {.name = "second", .count = 44}};
  Rollout<double> rollout(flow<double>(o), {.steps = 400});
  auto at = rollout.arguments();
  const auto first = std::size_t(rollout.system().signature().find(Role::state, "first").offset);
  for (std::size_t k = 0; k < 144; ++k)
    at.x0[first + 2 * k] = double(k % 12) + 0.4,
                      at.x0[first + 2 * k + 1] = 10.0 / 12 * (double(k / 12) + 0.3);
  const auto end = rollout.simulate(at).final_state;
  double moved = 0;
  for (std::size_t k = 0; k < 144; ++k)
    for (std::size_t a = 0; a < 2; ++a) {
      EXPECT_GT(end[first + 2 * k + a], 0);
      EXPECT_LT(end[first + 2 * k + a], a == 0 ? 12 : 10);
      moved += std::abs(end[first + 2 * k + a] - at.x0[first + 2 * k + a]);
    }
  EXPECT_GT(moved / 288, 0.5);
}

TEST(Tracers, KeepTheContract) {
  const auto seeded = [](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    std::uint32_t drawn = 0;
    const auto random = [&] { return 2 * uniform(seed, 5, drawn++) - 1; };
    for (auto& x : a.x0) x = decltype(x + 0)(0.3 * random());
    for (auto& u : a.controls) u = decltype(u + 0)(0.1 * random());
    const Field& seeds = rollout.system().signature().find(Role::state, "seeds");
    for (Index i = 0; i < seeds.size; ++i)
      a.x0[std::size_t(seeds.offset + i)] = decltype(a.x0[0] + 0)(2.3 + 1.9 * random());
    return a;
  };
  const auto gentle = [&](auto real, std::string name) {
    return costate::test::Contract<decltype(real)>{.states = seeded,
                                                   .name = std::move(name),
                                                   .steps = 6,
                                                   .long_steps = 40,
                                                   .stencil_step = 1e-5,
                                                   .taylor_step = 0,
                                                   .second_order_step = 1e-6};
  };
  FlowOptions channel{.cells = {6, 5}, .dt = 0.2, .viscosity = 0.1, .push = true};
  channel.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}, true};
  channel.sides[1] = {Side::Kind::outflow};
  channel.sides[2] = wall({0.1, 0, 0});
  channel.sides[3] = {Side::Kind::slip};
  channel.tracers = {{.name = "seeds", .count = 5}, {.name = "others", .count = 1}};
  channel.obstacles = {{.center = {3.3, 2.8, 0}, .size = {1.8}}};
  expect_contract(flow<double>(channel), gentle(0.0, "a channel"));
  expect_contract(flow<float>(channel), gentle(0.0F, "a channel"));
  FlowOptions box{.cells = {4, 5, 5}, .dt = 0.2, .viscosity = 0.1, .scheme = Scheme::euler};
  box.sides[2] = box.sides[3] = box.sides[4] = box.sides[5] = wall();
  box.tracers = {{.name = "seeds", .count = 3}};
  expect_contract(flow<double>(box), gentle(0.0, "3-D"));
  FlowOptions traced{.cells = {5, 5}, .dt = 0.3, .viscosity = 0.1, .scheme = Scheme::semi_lagrangian};
  traced.tracers = {{.name = "seeds", .count = 4}};
  expect_contract(flow<double>(traced), gentle(0.0, "traced speeds"));
}

TEST(Tracers, SayWhatIsWrong) {
  FlowOptions o;
  o.tracers = {{.name = "dust", .count = 0}};
  expect_error([&] { flow<double>(o); }, "'dust' has 0 points", "at least 1");
  o.tracers[0].count = 1, o.scheme = Scheme::stokes;
  expect_error([&] { flow<double>(o); }, "tracers", "rk3");
}

}  // namespace
}  // namespace costate::fluid
