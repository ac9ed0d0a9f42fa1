// Each law on its own: transpose against tangents in every entry, tangents against differences, and closed
// forms. Particles stand in lanes, each at another deformation, so that both sides of every branch are met,
// and equal stretches too.
#include "costate/mpm/laws/response.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "costate/mpm/laws/hencky.h"
#include "costate/mpm/laws/polar.h"

namespace costate::mpm {
namespace {

using Lanes = NativePack<double>;
constexpr int kLanes = kNativeLanes<double>;

// Numbers for stresses of about one, so that every branch is met; a number that is not listed keeps its
// default.
std::vector<double> numbers(MaterialKind kind) {
  Material m{.density = 1000,
             .E = 2.5,
             .nu = 0.3,
             .bulk_modulus = 3,
             .gamma = 7,
             .viscosity = 0.4,
             .tension = 0.02,
             .yield_stress = 0.15,
             .friction_angle = 0.5,
             .critical_compression = 0.04,
             .critical_stretch = 0.03,
             .hardening = 3,
             .strength = 0.7};
  std::vector<double> values;
  for (const Number& n : law_of(kind).numbers) values.push_back(m.*n.value);
  return values;
}

// Inputs and outputs as flat vectors of one particle.
template <class S, int D>
void for_inputs(LawInput<S, D>& in, std::size_t parameters, const std::function<void(S&)>& f) {
  for (int i = 0; i < D * D; ++i) f(in.C.e[i / D][i % D]);
  for (int i = 0; i < D * D; ++i) f(in.F.e[i / D][i % D]);
  f(in.plastic);
  f(in.actuation);
  f(in.dt);
  for (std::size_t p = 1; p < parameters; ++p) f(in.p[p]);
}
template <class S, int D>
void for_outputs(LawOutput<S, D>& out, const std::function<void(S&)>& f) {
  for (int i = 0; i < D * D; ++i) f(out.F.e[i / D][i % D]);
  for (int i = 0; i < D * D; ++i) f(out.tau.e[i / D][i % D]);
  f(out.plastic);
}

// Lane l: small strain, large strain (yields), compression, expansion, pure scaling (equal stretches), a
// rotation.
template <int D>
LawInput<Lanes, D> sample(MaterialKind kind) {
  LawInput<Lanes, D> in;
  for (int l = 0; l < kLanes; ++l) {
    const double size[] = {0.01, 0.3, 0.05, 0.05, 0.0, 0.02, 0.15, 0.1};
    const double scale[] = {1.0, 1.0, 0.9, 1.1, 0.97, 1.0, 0.93, 1.004};
    for (int i = 0; i < D * D; ++i) {
      in.C.e[i / D][i % D].set(l, l % 8 == 4 ? 0.0 : 0.3 * std::sin(1.7 * l + 2.3 * i));
      const double identity = i / D == i % D ? 1 : 0;
      in.F.e[i / D][i % D].set(l, scale[l % 8] * (identity + size[l % 8] * std::cos(2.1 * l + 1.3 * i)));
    }
    if (l % 8 == 5) {  // about the last axis
      const double c = std::cos(1.1), s = std::sin(1.1);
      const Matrix<Lanes, D> F = in.F;
      for (int j = 0; j < D; ++j) {
        in.F(0, j).set(l, c * F(0, j)[l] - s * F(1, j)[l]);
        in.F(1, j).set(l, s * F(0, j)[l] + c * F(1, j)[l]);
      }
    }
    in.plastic.set(l, kind == MaterialKind::snow             ? 0.95 + 0.02 * l
                      : kind == MaterialKind::drucker_prager ? 0.01 * (l % 3)
                                                             : 0.0);
    in.actuation.set(l, 0.4 - 0.1 * l);
  }
  in.dt = Lanes(0.05);
  const auto p = numbers(kind);
  for (std::size_t n = 0; n < p.size(); ++n) in.p[n] = Lanes(p[n]);
  const double fibre[3] = {0.6, 0.8, 0};
  for (int a = 0; a < 3; ++a) in.fibre[a] = fibre[a];
  return in;
}

template <int D>
void expect_transpose_is_that_of_the_tangent(MaterialKind kind) {
  using T = Dual<Lanes>;
  const std::size_t parameters = numbers(kind).size();
  LawInput<Lanes, D> in = sample<D>(kind);
  const auto law = response_of<Lanes, D>(kind);
  const auto tangent_law = response_of<T, D>(kind);

  // Rows of the Jacobian by transposes.
  std::vector<std::vector<Lanes>> rows;
  int outputs = 0;
  LawOutput<Lanes, D> probe;
  for_outputs<Lanes, D>(probe, [&](Lanes&) { ++outputs; });
  for (int o = 0; o < outputs; ++o) {
    LawOutput<Lanes, D> bar;
    int index = 0;
    for_outputs<Lanes, D>(bar, [&](Lanes& b) { b = Lanes(index++ == o ? 1.0 : 0.0); });
    bar.J = Lanes(0);
    LawInput<Lanes, D> in_bar;
    law.respond_vjp(in, bar, in_bar);
    rows.emplace_back();
    for_inputs<Lanes, D>(in_bar, parameters, [&](Lanes& b) { rows.back().push_back(b); });
  }
  // Columns by tangents.
  for (std::size_t c = 0; c < rows[0].size(); ++c) {
    LawInput<T, D> moving;
    std::vector<Lanes> values;
    for_inputs<Lanes, D>(in, parameters, [&](Lanes& v) { values.push_back(v); });
    std::size_t index = 0;
    for_inputs<T, D>(moving, parameters, [&](T& v) {
      v = T(values[index], Lanes(index == c ? 1.0 : 0.0));
      ++index;
    });
    moving.p[0] = T(in.p[0]);
    for (int a = 0; a < 3; ++a) moving.fibre[a] = in.fibre[a];
    LawOutput<T, D> out;
    tangent_law.respond(moving, out);
    std::size_t o = 0;
    for_outputs<T, D>(out, [&](T& v) {
      for (int l = 0; l < kLanes; ++l)
        EXPECT_NEAR(rows[o][c][l], v.d[0][l], 1e-12 * std::max(1.0, std::abs(v.d[0][l])))
            << "output " << o << ", input " << c << ", lane " << l;
      ++o;
    });
    // The tangent against a difference of the plain law, where no branch lies within reach: most lanes do.
    const double h = 1e-6;
    std::vector<Lanes> ends[2];
    for (int side : {0, 1}) {
      LawInput<Lanes, D> shifted = in;
      std::size_t at = 0;
      for_inputs<Lanes, D>(shifted, parameters, [&](Lanes& v) {
        if (at++ == c) v += Lanes(side == 0 ? -h : h);
      });
      LawOutput<Lanes, D> y;
      law.respond(shifted, y);
      for_outputs<Lanes, D>(y, [&](Lanes& v) { ends[side].push_back(v); });
    }
    o = 0;
    for_outputs<T, D>(out, [&](T& v) {
      for (int l = 0; l < kLanes; ++l) {
        const double difference = (ends[1][o][l] - ends[0][o][l]) / (2 * h);
        EXPECT_NEAR(v.d[0][l], difference, 2e-8 * std::max(1.0, std::abs(difference)))
            << "output " << o << ", input " << c << ", lane " << l;
      }
      ++o;
    });
  }
}

TEST(Law, TransposesAreThoseOfTheTangents) {
  for (std::size_t k = 0; k < laws().size(); ++k) {
    const auto kind = MaterialKind(k);
    SCOPED_TRACE(static_cast<int>(kind));
    expect_transpose_is_that_of_the_tangent<2>(kind);
    expect_transpose_is_that_of_the_tangent<3>(kind);
  }
}

// At rest nothing pulls, whatever the material (a muscle: without actuation).
TEST(Law, NoStressAtRest) {
  for (std::size_t k = 0; k < laws().size(); ++k) {
    const auto kind = MaterialKind(k);
    LawInput<Lanes, 3> in = sample<3>(kind);
    in.C = Matrix<Lanes, 3>::zero();
    in.F = Matrix<Lanes, 3>::identity();
    in.actuation = Lanes(0);
    in.plastic = Lanes(laws()[k]->plastic.value_or(0));
    LawOutput<Lanes, 3> out;
    response_of<Lanes, 3>(kind).respond(in, out);
    for (int i = 0; i < 9; ++i) EXPECT_NEAR(out.tau.e[i / 3][i % 3][0], 0, 1e-14);
  }
}

// Near rest all elastic laws are Hooke's: tau = 2 mu e + lambda tr(e).
TEST(Law, ElasticLawsAreHookesNearRest) {
  for (const MaterialKind kind : {MaterialKind::fixed_corotated, MaterialKind::neo_hookean,
                                  MaterialKind::stvk_hencky, MaterialKind::von_mises, MaterialKind::muscle}) {
    LawInput<Lanes, 3> in = sample<3>(kind);
    in.C = Matrix<Lanes, 3>::zero();
    in.actuation = Lanes(0);
    const double h = 1e-6, e[6] = {1, -0.5, 0.3, 0.2, -0.7, 0.4};
    in.F = Matrix<Lanes, 3>::identity();
    const int place[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (int k = 0; k < 6; ++k) {
      in.F(place[k][0], place[k][1]) += Lanes(h * e[k]);
      if (k > 2) in.F(place[k][1], place[k][0]) += Lanes(h * e[k]);
    }
    LawOutput<Lanes, 3> out;
    response_of<Lanes, 3>(kind).respond(in, out);
    const double mu = 2.5 / 2.6, lambda = 2.5 * 0.3 / (1.3 * 0.4), tr = e[0] + e[1] + e[2];
    for (int k = 0; k < 6; ++k)
      EXPECT_NEAR(out.tau(place[k][0], place[k][1])[0], h * (2 * mu * e[k] + (k < 3 ? lambda * tr : 0)),
                  1e-11);
  }
}

TEST(Law, VonMisesStressStaysInsideTheYieldSurface) {
  const LawInput<Lanes, 3> in = sample<3>(MaterialKind::von_mises);
  LawOutput<Lanes, 3> out;
  response_of<Lanes, 3>(MaterialKind::von_mises).respond(in, out);
  int yielding = 0;
  for (int l = 0; l < kLanes; ++l) {
    double tr = 0, square = 0;
    for (int i = 0; i < 3; ++i) tr += out.tau(i, i)[l];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) square += std::pow(out.tau(i, j)[l] - (i == j ? tr / 3 : 0), 2);
    EXPECT_LE(std::sqrt(square), std::sqrt(2.0 / 3) * 0.15 + 1e-12);
    yielding += std::sqrt(square) > std::sqrt(2.0 / 3) * 0.15 - 1e-9;
  }
  EXPECT_GT(yielding, 0);
  EXPECT_LT(yielding, kLanes);
}

TEST(Law, SandCarriesNoTensionAndItsShearIsBoundedByPressure) {
  const LawInput<Lanes, 3> in = sample<3>(MaterialKind::drucker_prager);
  LawOutput<Lanes, 3> out;
  response_of<Lanes, 3>(MaterialKind::drucker_prager).respond(in, out);
  const double alpha = std::sqrt(2.0 / 3) * 2 * std::sin(0.5) / (3 - std::sin(0.5));
  int apart = 0;
  for (int l = 0; l < kLanes; ++l) {
    double tr = 0, square = 0;
    for (int i = 0; i < 3; ++i) tr += out.tau(i, i)[l];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) square += std::pow(out.tau(i, j)[l] - (i == j ? tr / 3 : 0), 2);
    EXPECT_LE(tr, 1e-12);
    EXPECT_LE(std::sqrt(square), -alpha * tr + 1e-12);  // the cone: |dev tau| <= -alpha tr(tau)
    apart += tr > -1e-12;
  }
  EXPECT_GT(apart, 0);
  EXPECT_LT(apart, kLanes);
}

TEST(Law, LiquidTensionIsBoundedAndForgotten) {
  LawInput<Lanes, 3> in = sample<3>(MaterialKind::liquid);
  in.C = Matrix<Lanes, 3>::zero();
  in.F = Matrix<Lanes, 3>::identity();
  in.F(0, 0) = Lanes(1.5);
  LawOutput<Lanes, 3> out;
  const auto law = response_of<Lanes, 3>(MaterialKind::liquid);
  law.respond(in, out);
  EXPECT_GT(out.tau(0, 0)[0], 0);
  EXPECT_LT(out.tau(0, 0)[0], 3.0 * 0.02);
  for (int k = 0; k < 1000; ++k) {
    in.F = out.F;
    law.respond(in, out);
  }
  EXPECT_LT(out.tau(0, 0)[0], 1e-4);
}

// --- polar decomposition and divided differences -----------------------------------------------------------

TEST(Polar, RotationIsOrthogonalAndStretchSymmetric) {
  for (int seed = 0; seed < 50; ++seed) {
    Matrix<double, 3> F;
    for (int i = 0; i < 9; ++i)
      F.e[i / 3][i % 3] = (i % 4 == 0) + 0.6 * std::sin(1.0 + 3.7 * i + 11.3 * seed);
    if (determinant(F) < 0.05) continue;
    const Matrix<double, 3> R = polar_rotation(F), S = transpose_times(R, F), one = transpose_times(R, R);
    EXPECT_NEAR(determinant(R), 1, 1e-12);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        EXPECT_NEAR(one(i, j), i == j ? 1 : 0, 1e-13);
        EXPECT_NEAR(S(i, j), S(j, i), 1e-12);
      }
    }
  }
}

TEST(Hencky, DividedDifferencesAreSmoothThroughEquality) {
  for (double gap : {0.0, 1e-12, 1e-6, 1e-3, 0.02, 0.04, 0.1, 0.5, 2.0}) {
    const double a = 0.7 + gap, b = 0.7;
    const long double la = a, lb = b;
    const double log_exact =
        gap < 1e-7 ? 1 / (0.7 + gap / 2) : double((std::log(la) - std::log(lb)) / (la - lb));
    const double exp_exact =
        gap < 1e-7 ? std::exp(0.7 + gap / 2) : double((std::exp(la) - std::exp(lb)) / (la - lb));
    EXPECT_NEAR(divided_log(a, b), log_exact, 3e-12 * log_exact) << gap;
    EXPECT_NEAR(divided_exp(a, b), exp_exact, 3e-12 * exp_exact) << gap;
  }
}

TEST(Hencky, SpectrumDiagonalises) {
  for (int seed = 0; seed < 20; ++seed) {
    Matrix<double, 3> F;
    for (int i = 0; i < 9; ++i) F.e[i / 3][i % 3] = (i % 4 == 0) + 0.5 * std::sin(2.0 + 3.1 * i + 7.7 * seed);
    const Matrix<double, 3> b = times_transpose(F, F);
    const auto s = spectrum(b);
    const Matrix<double, 3> again = assemble(s.Q, s.value);
    for (int i = 0; i < 9; ++i) EXPECT_NEAR(again.e[i / 3][i % 3], b.e[i / 3][i % 3], 1e-13);
  }
}

}  // namespace
}  // namespace costate::mpm
