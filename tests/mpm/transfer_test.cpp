// Splines, rows of nodes, the order of particles, and contact: the parts of a step on their own.
#include "costate/mpm/transfer/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "costate/core/error.h"
#include "costate/mpm/bodies/collider.h"
#include "costate/mpm/bodies/contact.h"
#include "costate/mpm/transfer/lane_io.h"
#include "costate/mpm/transfer/particle_order.h"
#include "costate/mpm/transfer/spline.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"

namespace costate::mpm {
namespace {

using costate::test::expect_error;

template <int kTaps>
void expect_moments() {
  const double low = kTaps == 3 ? 0.5 : 1.0;
  for (double f = low; f < low + 1; f += 0.0625) {
    double w[4], slopes[4], above[4], below[4];
    spline_weights<kTaps>(f, w);
    spline_slopes<kTaps>(f, slopes);
    double sum = 0, first = 0, second = 0, slope = 0, slope_first = 0;
    for (int k = 0; k < 4; ++k) {
      const double d = k - f;
      EXPECT_GE(w[k], 0);
      sum += w[k], first += w[k] * d, second += w[k] * d * d;
      slope += slopes[k], slope_first += slopes[k] * d;
    }
    EXPECT_NEAR(sum, 1, 1e-15);
    EXPECT_NEAR(first, 0, 1e-15);
    EXPECT_NEAR(second, 1 / kInverseMoment<kTaps>, 1e-15);
    EXPECT_NEAR(slope, 0, 1e-15);
    EXPECT_NEAR(slope_first, 1, 1e-15);
    const double h = 1e-6;
    spline_weights<kTaps>(f + h, above);
    spline_weights<kTaps>(f - h, below);
    for (int k = 0; k < kTaps; ++k) EXPECT_NEAR(slopes[k], (above[k] - below[k]) / (2 * h), 1e-9);
  }
}
TEST(Spline, WeightsHaveTheMomentsOfMls) {
  expect_moments<3>();
  expect_moments<4>();
}

template <class Real>
void expect_rows() {
  using Row = NodeRow<Real>;
  Real numbers[16], more[16], out[16];
  for (int i = 0; i < 16; ++i) numbers[i] = Real(1 + i * i), more[i] = Real(3 - i);
  const Row a = Row::load(numbers), b = Row::load(more);
  (a * Row::expand(numbers) + Row::quad(more)).store(out);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(out[i], numbers[i] * numbers[i / 4] + more[i % 4]);
  a.masses().store(out);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(out[i], numbers[i | 3]);
  a.quad_sum().store(out);
  for (int i = 0; i < 16; ++i) {
    const Real* q = numbers + (i & ~3);
    EXPECT_EQ(out[i], q[0] + q[1] + q[2] + q[3]);
  }
  Row::store_folds(out, a, b, a + b, a * b);
  for (int c = 0; c < 4; ++c) {
    Real sums[4] = {};
    for (int n = 0; n < 4; ++n) {
      const int i = 4 * n + c;
      sums[0] += numbers[i], sums[1] += more[i], sums[2] += numbers[i] + more[i],
          sums[3] += numbers[i] * more[i];
    }
    for (int k = 0; k < 4; ++k) EXPECT_EQ(out[4 * k + c], sums[k]);
  }
}
TEST(NodeRow, QuadsAndFoldsAreWhatTheySay) {
  expect_rows<float>();
  expect_rows<double>();
}

template <class Real, int N>
void expect_lanes() {
  using Mode = Values<Real>;
  constexpr int kLanes = kNativeLanes<Real>;
  std::vector<Real> state(40 * N + 4), copy(40 * N + 4, Real(-1));
  for (std::size_t i = 0; i < state.size(); ++i) state[i] = Real(i);
  std::int32_t index[kLanes];
  for (int l = 0; l < kLanes; ++l) index[l] = (7 * l + 3) % 40;
  typename Mode::Lanes lanes[N];
  gather_lanes<Mode, N>({state.data(), nullptr}, index, lanes);
  for (int c = 0; c < N; ++c)
    for (int l = 0; l < kLanes; ++l) EXPECT_EQ(lanes[c][l], state[std::size_t(index[l] * N + c)]);
  const int count = kLanes - 1;  // the last lane must not be written
  scatter_lanes<Mode, N>({copy.data(), nullptr}, index, count, lanes);
  for (int p = 0; p < 40; ++p) {
    const bool written = std::find(index, index + count, p) != index + count;
    for (int c = 0; c < N; ++c)
      EXPECT_EQ(copy[std::size_t(p * N + c)], written ? state[std::size_t(p * N + c)] : Real(-1)) << p;
  }
}
TEST(LaneIo, PacksReadAndWriteTheirParticlesAlone) {
  expect_lanes<float, 1>(), expect_lanes<float, 2>(), expect_lanes<float, 3>(), expect_lanes<float, 4>();
  expect_lanes<float, 9>(), expect_lanes<double, 1>(), expect_lanes<double, 2>(), expect_lanes<double, 3>();
  expect_lanes<double, 4>(), expect_lanes<double, 9>();
}

TEST(ParticleOrder, RunsHoldEveryParticleOnceInItsPencilStably) {
  const int n = 5000, materials = 3;
  std::vector<double> x;
  std::vector<std::int32_t> material;
  for (int p = 0; p < n; ++p) {
    for (int a = 0; a < 3; ++a) x.push_back(2 + 14 * (0.5 + 0.499 * std::sin(12.9898 * p + 78.233 * a)));
    material.push_back(p * 7 % materials);
  }
  ParticleOrder order(3, {20, 21, 22}, 3, n, materials);
  order.sort(x.data(), {0, 0, 0}, 1.0, material.data(), 0);
  std::set<std::int32_t> seen;
  for (int colour = 0; colour < ParticleOrder::kColours; ++colour) {
    std::set<std::pair<int, int>> columns;  // touched by pencils of this colour
    for (const auto& pencil : order.pencils(colour)) {
      for (int a : {0, 1})
        for (int b : {0, 1})
          EXPECT_TRUE(columns.insert({pencil.a + a, pencil.b + b}).second)
              << "two pencils of one colour touch";
      for (std::int32_t r = pencil.first_run; r < pencil.last_run; ++r) {
        const auto& run = order.runs()[std::size_t(r)];
        int last_block = -1;
        std::int32_t last = -1;
        for (std::int32_t i = run.begin; i < run.end; ++i) {
          const std::int32_t p = order.order()[i];
          EXPECT_TRUE(seen.insert(p).second);
          EXPECT_EQ(material[std::size_t(p)], run.material);
          int block[3];
          for (int a = 0; a < 3; ++a) block[a] = int(x[std::size_t(3 * p + a)] - 0.5) / 4;
          EXPECT_EQ(block[0], pencil.a);
          EXPECT_EQ(block[1], pencil.b);
          EXPECT_TRUE(block[2] > last_block || (block[2] == last_block && p > last));
          last_block = block[2], last = p;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), std::size_t(n));
  const costate::test::AllowFloatExceptions comparing_not_a_number;
  x[3 * 17] = std::numeric_limits<double>::quiet_NaN();
  expect_error(
      [&] {
        return order.sort(x.data(), {0, 0, 0}, 1.0, material.data(), 4);
      },
      "step 4: particle 17 at (nan", "give that side of the grid a wall");
}

TEST(Contact, VelocitiesAfterContactAreThoseOfTheCone) {
  const Vec3<double> n{0, 1, 0}, into{3, -4, 0}, away{3, 4, 0};
  const auto expect = [](const Vec3<double>& v, double x, double y) {
    EXPECT_NEAR(v.x, x, 1e-15);
    EXPECT_NEAR(v.y, y, 1e-15);
  };
  expect(contact_velocity(Contact::sticky, into, n, 0.0), 0, 0);
  expect(contact_velocity(Contact::slip, away, n, 0.0), 3, 0);
  expect(contact_velocity(Contact::separate, away, n, 0.0), 3, 4);
  expect(contact_velocity(Contact::separate, into, n, 0.0), 3, 0);
  expect(contact_velocity(Contact::coulomb, into, n, 0.5), 1, 0);   // loses mu |v_n| = 2
  expect(contact_velocity(Contact::coulomb, into, n, 0.75), 0, 0);  // sticks
  expect(contact_velocity(Contact::coulomb, away, n, 0.75), 3, 4);
  expect(contact_velocity(Contact::none, into, n, 0.75), 3, -4);
}

// Every kind, into the surface and away from it, sliding and sticking: the transpose against Dual numbers of
// the velocity itself.
TEST(Contact, TransposeIsThatOfTheVelocity) {
  using Seven = Dual<double, 7>;
  const double at[7] = {1.7, 0, -0.6, 0.28, 0.96, 0, 0};  // r, n; then mu
  const Vec3<double> out_bar{0.3, -1.1, 0.7};
  for (const Contact contact :
       {Contact::none, Contact::sticky, Contact::slip, Contact::separate, Contact::coulomb}) {
    for (const double normal : {-0.9, 0.4}) {
      for (const double mu : {0.3, 5.0}) {
        const auto variable = [&](int i, double value) { return Seven::variable(value, i); };
        const Vec3<Seven> r{variable(0, at[0]), variable(1, normal - at[0] * at[3] / at[4]),
                            variable(2, at[2])},
            n{variable(3, at[3]), variable(4, at[4]), variable(5, at[5])};
        const Seven friction = variable(6, mu);
        const Vec3<Seven> out = contact_velocity(contact, r, n, friction);
        const auto bar =
            contact_velocity_vjp<double>(contact, {r.x.v, r.y.v, r.z.v}, {n.x.v, n.y.v, n.z.v}, mu, out_bar);
        const double found[7] = {bar.r.x, bar.r.y, bar.r.z, bar.n.x, bar.n.y, bar.n.z, bar.mu};
        for (int i = 0; i < 7; ++i)
          EXPECT_NEAR(found[i], out.x.d[i] * out_bar.x + out.y.d[i] * out_bar.y + out.z.d[i] * out_bar.z,
                      1e-13)
              << static_cast<int>(contact) << ", input " << i << ", normal " << normal << ", mu " << mu;
      }
    }
  }
}

TEST(Contact, FadesFromTheSurfaceToTheEndOfItsBand) {
  const double band = 0.2;
  EXPECT_EQ(fade(-0.01, band).value, 1);
  EXPECT_EQ(fade(0.0, band).value, 1);
  EXPECT_NEAR(fade(0.1, band).value, 0.5, 1e-15);
  EXPECT_EQ(fade(0.2, band).value, 0);
  EXPECT_EQ(fade(0.3, band).slope, 0);
  for (const double phi : {0.03, 0.1, 0.17})
    EXPECT_NEAR(fade(phi, band).slope, (fade(phi + 1e-6, band).value - fade(phi - 1e-6, band).value) / 2e-6,
                1e-9);
}

}  // namespace
}  // namespace costate::mpm
