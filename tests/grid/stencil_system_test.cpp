// StencilSystem with a kernel that uses what neither the wave nor the heat does: two cells of halo, drives
// that pass through sides, and a step that is not linear. Fourth-order diffusion with decay,
//
//   y = x + dt (d lap4 x - x^3),
//     lap4 = sum over both axes of (-x(-2) + 16 x(-1) - 30 x(0) + 16 x(1) - x(2)) / 12
#include "costate/grid/stencil_system.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/system/contract.h"

namespace costate {
namespace {

using namespace grid;

struct DecayKernel {
  static constexpr int fields = 1, coefficients = 1, constants = 2, tapes = 0, drives = 1,
                       halo = 2;  // constants: value, dt
  bool wraps_x = false, wraps_y = false;
  template <class S>
  struct Scale {
    S value, dt;
  };
  template <class S>
  Scale<S> scale(const Vec<S, 2>& c) const {
    return {c[0], c[1]};
  }
  template <class S, class F>
  static S lap4(const F& f) {
    return ((S(16) * ((f(-1, 0) + f(1, 0)) + (f(0, -1) + f(0, 1)))) -
            ((f(-2, 0) + f(2, 0)) + (f(0, -2) + f(0, 2))) - S(60) * f(0, 0)) /
           S(12);
  }
  template <class S, class At>
  static S lap4_x(const At& at) {
    return lap4<S>([&](int di, int dj) { return at.x(0, di, dj); });
  }
  template <class S, class At>
  Vec<S, 0> tape(const Scale<S>&, const At&) const {
    return {};
  }
  template <class S, class At>
  Vec<S, 1> step(const Scale<S>& k, const At& at, const Vec<S, 0>&) const {
    const S x = at.x(0);
    return {{x + k.dt * (at.p(0) * lap4_x<S>(at) - x * x * x)}};
  }
  template <class S, class At>
  Vec<S, 1> drive(const Scale<S>& k, const At& at) const {
    return {{k.dt * at.p(0) * at.y_bar(0)}};
  }
  template <class S, class At>
  CellCotangent<S, DecayKernel> step_vjp(const Scale<S>& k, const At& at, const Vec<S, 0>&) const {
    const S x = at.x(0), bar = at.y_bar(0), lap_x = lap4_x<S>(at);
    const S lap_drive = lap4<S>([&](int di, int dj) { return at.drive(0, di, dj); });
    return {{{bar * (S(1) - S(3) * k.dt * x * x) + lap_drive}},
            {{k.dt * lap_x * bar}},
            {{S(0), (at.p(0) * lap_x - x * x * x) * bar}}};
  }
  bool periodic(int axis) const { return axis == 0 ? wraps_x : wraps_y; }
  // East and north are mirrors with a sign, west and south have a fixed value.
  template <class S>
  Outside<S> outside(const Scale<S>& k, Side side, int) const {
    if (side == kEast || side == kNorth) return {S(0.5), S(0)};
    return {S(-1), S(2) * k.value};
  }
  template <class S>
  void outside_vjp(const Scale<S>&, Side side, int, const S& offset_bar, Vec<S, 2>& bar) const {
    if (side == kWest || side == kSouth) bar[0] += S(2) * offset_bar;
  }
};

template <class Real>
void contract(std::int64_t nx, std::int64_t ny, DecayKernel kernel) {
  Signature signature;
  signature.state("x", nx * ny)
      .parameter_field("d", nx * ny, 0.1)
      .parameter("value", 0.7)
      .parameter("dt", 0.2);
  const std::shared_ptr<System<Real>> system =
      std::make_shared<StencilSystem<DecayKernel, Real>>(signature, kernel, nx, ny);
  Rollout<Real> rollout(system, {.steps = 19});
  Arguments<Real> a = rollout.arguments();
  for (std::size_t i = 0; i < a.x0.size(); ++i) {
    a.x0[i] = Real(std::sin(0.7 * double(i)));
    a.parameters["d"][i] = Real(0.2 + 0.1 * std::cos(1.3 * double(i)));
  }
  test::expect_contract<Real>(
      system,
      {.states = test::starting_at(a), .objective = loss::final<Real>(signature, "x", {}), .steps = 19});
}

TEST(StencilSystem, AHaloOfTwoMeetsTheContractWithEverySide) {
  contract<double>(9, 7, {});
  contract<double>(16, 5, {.wraps_x = true});
  contract<double>(5, 12, {.wraps_y = true});
  contract<double>(4, 4, {.wraps_x = true, .wraps_y = true});
  contract<float>(19, 6, {});
}
TEST(StencilSystem, AHaloOfTwoMeetsTheContractAcrossSlabs) {
  contract<double>(128, 300, {});
  contract<double>(130, 290, {.wraps_y = true});
}

TEST(StencilSystem, GridsSmallerThanTheHaloAreRefused) {
  Signature signature;
  signature.state("x", 12).parameter_field("d", 12, 0.1).parameter("value", 0.7).parameter("dt", 0.2);
  try {
    StencilSystem<DecayKernel, double>(signature, {}, 3, 4);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("3 x 4 cells is too small"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("at least 4 cells"), std::string::npos);
  }
}

}  // namespace
}  // namespace costate
