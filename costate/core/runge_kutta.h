// Explicit Runge-Kutta methods: the one place where their numbers stand.
//
//   X_i = x + h sum_j a_ij k_j      k_i = f(t + c_i h, X_i)
//   y   = x + h sum_i b_i k_i       over the first `stages`
//   err =     h sum_i e_i k_i       over all stages of the table: y less the solution of lower order
//   y(theta) = x + h sum_i k_i sum_m dense_im theta^(m+1)
//
// A method with an error estimate is "first same as last": its last stage is f(t + h, y), the first of the
// next step, so the last row of a is b. Constants of the compiler, for kernels that unroll them (ode/lanes)
// and for Lie groups (rigid/step); ode/methods/tableaus.h and system/program/explicit_step.h make tables of
// the run out of them. DOP853 exists only there.
//
// [HNW] Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, 2nd ed.: II.1 for Euler,
// midpoint, Heun and RK4; table II.5.2 for Dormand and Prince's 5(4), with the interpolant of Shampine, Math.
// Comp. 46 (1986). Bogacki, Shampine, Appl. Math. Lett. 2 (1989). Tsitouras, Comput. Math. Appl. 62 (2011).
// Tests: tests/ode/methods/explicit_rk_test.cpp (orders of methods and interpolants).
#pragma once

namespace costate::runge_kutta {

struct Euler {
  static constexpr const char* name = "euler";
  static constexpr int stages = 1, order = 1, dense_order = 1;
  static constexpr double c[1] = {0};
  static constexpr double a[1][1] = {};
  static constexpr double b[1] = {1};
  static constexpr double dense[1][1] = {{1}};
};

struct Midpoint {
  static constexpr const char* name = "midpoint";
  static constexpr int stages = 2, order = 2, dense_order = 2;
  static constexpr double c[2] = {0, 0.5};
  static constexpr double a[2][1] = {{}, {0.5}};
  static constexpr double b[2] = {0, 1};
  static constexpr double dense[2][2] = {{1, -1}, {0, 1}};
};

struct Heun {
  static constexpr const char* name = "heun";
  static constexpr int stages = 2, order = 2, dense_order = 2;
  static constexpr double c[2] = {0, 1};
  static constexpr double a[2][1] = {{}, {1}};
  static constexpr double b[2] = {0.5, 0.5};
  static constexpr double dense[2][2] = {{1, -0.5}, {0, 0.5}};
};

struct Rk4 {
  static constexpr const char* name = "rk4";
  static constexpr int stages = 4, order = 4, dense_order = 3;
  static constexpr double c[4] = {0, 0.5, 0.5, 1};
  static constexpr double a[4][3] = {{}, {0.5}, {0, 0.5}, {0, 0, 1}};
  static constexpr double b[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
  static constexpr double dense[4][3] = {
      {1, -3. / 2, 2. / 3}, {0, 1, -2. / 3}, {0, 1, -2. / 3}, {0, -1. / 2, 2. / 3}};
};

struct BogackiShampine {
  static constexpr const char* name = "bs3";
  static constexpr int stages = 3, order = 3, error_order = 2, dense_order = 3;
  static constexpr double c[4] = {0, 0.5, 0.75, 1};
  static constexpr double a[4][3] = {{}, {0.5}, {0, 0.75}, {2. / 9, 1. / 3, 4. / 9}};
  static constexpr const double (&b)[3] = a[3];
  static constexpr double e[4] = {-5. / 72, 1. / 12, 1. / 9, -1. / 8};
  static constexpr double dense[4][3] = {
      {1, -4. / 3, 5. / 9}, {0, 1, -2. / 3}, {0, 4. / 3, -8. / 9}, {0, -1, 1}};
};

struct DormandPrince {
  static constexpr const char* name = "dopri5";
  static constexpr int stages = 6, order = 5, error_order = 4, dense_order = 4;
  static constexpr double c[7] = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
  static constexpr double a[7][6] = {{},
                                     {1. / 5},
                                     {3. / 40, 9. / 40},
                                     {44. / 45, -56. / 15, 32. / 9},
                                     {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
                                     {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
                                     {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
  static constexpr const double (&b)[6] = a[6];
  static constexpr double e[7] = {71. / 57600,      0,         -71. / 16695, 71. / 1920,
                                  -17253. / 339200, 22. / 525, -1. / 40};
  static constexpr double dense[7][4] = {
      {1, -8048581381. / 2820520608., 8663915743. / 2820520608., -12715105075. / 11282082432.},
      {0, 0, 0, 0},
      {0, 131558114200. / 32700410799., -68118460800. / 10900136933., 87487479700. / 32700410799.},
      {0, -1754552775. / 470086768., 14199869525. / 1410260304., -10690763975. / 1880347072.},
      {0, 127303824393. / 49829197408., -318862633887. / 49829197408., 701980252875. / 199316789632.},
      {0, -282668133. / 205662961., 2019193451. / 616988883., -1453857185. / 822651844.},
      {0, 40617522. / 29380423., -110615467. / 29380423., 69997945. / 29380423.}};
};

struct Tsitouras {
  static constexpr const char* name = "tsit5";
  static constexpr int stages = 6, order = 5, error_order = 4, dense_order = 4;
  static constexpr double c[7] = {0, 0.161, 0.327, 0.9, 0.9800255409045096857298102862870246, 1, 1};
  static constexpr double a[7][6] = {
      {},
      {0.161},
      {-0.008480655492356988544426874250230775, 0.3354806554923569885444268742502308},
      {2.897153057105493432130432594192939, -6.359448489975074843148159912383826,
       4.362295432869581411017727318190887},
      {5.325864828439256604428877920840511, -11.74888356406282787774717033978577,
       7.495539342889836208304604784564358, -0.09249506636175524925650207933207192},
      {5.861455442946420028659251486982648, -12.92096931784710929170611868178336,
       8.159367898576158643180400794539253, -0.07158497328140099722453054252582974,
       -0.02826905039406838290900305721271224},
      {0.09646076681806522951816731316512876, 0.01, 0.4798896504144995747752495322905965,
       1.379008574103741893192274821856873, -3.290069515436080679901047585711364,
       2.324710524099773982415355918398766}};
  static constexpr const double (&b)[6] = a[6];
  static constexpr double e[7] = {0.001780011052225771443378550607539535,
                                  0.0008164344596567469032236360633546862,
                                  -0.007880878010261996010314727672526304,
                                  0.1447110071732629075371651479726351,
                                  -0.5823571654525552250199376106520422,
                                  0.4580821059291869466616365188325543,
                                  -1. / 66};
  static constexpr double dense[7][4] = {
      {1, -2.7637061972748259113, 2.9132554618219127438, -1.0530884977290216},
      {0, 0.1317, -0.2234, 0.1017},
      {0, 3.9302962368947515285, -5.9410338721315047347, 2.490627285651252793},
      {0, -12.411077166933676984, 30.338188630282321598, -16.54810288924490272},
      {0, 37.509313416511039195, -88.178904894766401101, 47.37952196281928122},
      {0, -27.896526289197287792, 65.091894674793671515, -34.87065786149660974},
      {0, 1.5, -4.0, 2.5}};
};

}  // namespace costate::runge_kutta
