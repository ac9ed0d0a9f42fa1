// Coefficients of Radau IIA with three stages, order 5.
//
//   c = ((4 - s)/10, (4 + s)/10, 1),  s = sqrt 6;   b = last row of A (stiffly accurate)
//   T^-1 A^-1 T = [gamma 0 0; 0 alpha -beta; 0 beta alpha]: a real and a complex system instead of one of
//   three times the size
//
// [1] Hairer, Wanner: Solving Ordinary Differential Equations II, 2nd ed., table IV.5.6 (A), section IV.8 (T,
// eigenvalues). Tests: tests/ode/methods/radau_test.cpp checks the order conditions and the transformation.
#pragma once

namespace costate::ode::radau {

inline constexpr int kStages = 3;
inline constexpr double kRoot6 = 2.4494897427831780982;

inline constexpr double kC[3] = {(4 - kRoot6) / 10, (4 + kRoot6) / 10, 1};
inline constexpr double kA[3][3] = {
    {(88 - 7 * kRoot6) / 360, (296 - 169 * kRoot6) / 1800, (-2 + 3 * kRoot6) / 225},
    {(296 + 169 * kRoot6) / 1800, (88 + 7 * kRoot6) / 360, (-2 - 3 * kRoot6) / 225},
    {(16 - kRoot6) / 36, (16 + kRoot6) / 36, 1.0 / 9}};
inline constexpr double kInverseA[3][3] = {{2 + kRoot6 / 2, (-36 + 29 * kRoot6) / 30, (6 - 4 * kRoot6) / 15},
                                           {(-36 - 29 * kRoot6) / 30, 2 - kRoot6 / 2, (6 + 4 * kRoot6) / 15},
                                           {(-3 + 8 * kRoot6) / 3, (-3 - 8 * kRoot6) / 3, 5}};

inline constexpr double kGamma = 3.6378342527444957322;
inline constexpr double kAlpha = 2.6810828736277521339, kBeta = 3.0504301992474105694;

inline constexpr double kT[3][3] = {
    {9.1232394870892942792e-2, -0.14125529502095420843, -3.0029194105147424492e-2},
    {0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779},
    {0.96604818261509293619, 1, 0}};
inline constexpr double kInverseT[3][3] = {
    {4.3255798900631553510, 0.33919925181580986954, 0.54177053993587487119},
    {-4.1787185915519047273, -0.32768282076106238708, 0.47662355450055045196},
    {-0.50287263494578687595, 2.5719269498556054292, -0.59603920482822492497}};

// Error estimate [1, eq. IV.8.18]: gamma_0 h f(t, x) + sum e_i Z_i, before the filter with (M - h gamma_0
// J)^-1 (radau.h).
inline constexpr double kE[3] = {-(13 + 7 * kRoot6) / 3, (-13 + 7 * kRoot6) / 3, -1.0 / 3};

// The collocation polynomial through 0 and the stage times: weight of Z_i, and its derivative.
constexpr double weight(int i, double theta) {
  const int j = (i + 1) % 3, k = (i + 2) % 3;
  return theta * (theta - kC[j]) * (theta - kC[k]) / (kC[i] * (kC[i] - kC[j]) * (kC[i] - kC[k]));
}
constexpr double weight_rate(int i, double theta) {
  const int j = (i + 1) % 3, k = (i + 2) % 3;
  return ((theta - kC[j]) * (theta - kC[k]) + theta * (2 * theta - kC[j] - kC[k])) /
         (kC[i] * (kC[i] - kC[j]) * (kC[i] - kC[k]));
}

}  // namespace costate::ode::radau
