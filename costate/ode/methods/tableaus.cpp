#include "costate/ode/methods/tableaus.h"

#include <cstddef>

namespace costate::ode {
namespace {

using Row = Tableau::Row;

// A row from its dense form.
Row row(const std::vector<double>& dense) {
  Row r;
  for (std::size_t j = 0; j < dense.size(); ++j) {
    if (dense[j] != 0) r.push_back({static_cast<int>(j), dense[j]});
  }
  return r;
}

std::vector<Row> rows(const std::vector<std::vector<double>>& dense) {
  std::vector<Row> r;
  for (const auto& d : dense) r.push_back(row(d));
  return r;
}

// w_i(theta) = sum_m P[i][m] theta^(m+1)
template <std::size_t Stages, std::size_t Degree>
void monomial_weights(const double (&P)[Stages][Degree], double theta, double* w, double* dw, double* ddw) {
  for (std::size_t i = 0; i < Stages; ++i) {
    double value = 0, slope = 0, curvature = 0;
    for (std::size_t m = Degree; m-- > 0;) {
      const double inner = value + P[i][m];
      curvature = curvature * theta + 2 * slope;
      slope = slope * theta + inner;
      value = inner * theta;
    }
    w[i] = value;
    dw[i] = slope;
    ddw[i] = curvature;
  }
}

constexpr double kEulerDense[1][1] = {{1}};
constexpr double kMidpointDense[2][2] = {{1, -1}, {0, 1}};
constexpr double kHeunDense[2][2] = {{1, -0.5}, {0, 0.5}};
constexpr double kRk4Dense[4][3] = {
    {1, -3. / 2, 2. / 3}, {0, 1, -2. / 3}, {0, 1, -2. / 3}, {0, -1. / 2, 2. / 3}};
constexpr double kBogackiShampineDense[4][3] = {
    {1, -4. / 3, 5. / 9}, {0, 1, -2. / 3}, {0, 4. / 3, -8. / 9}, {0, -1, 1}};
constexpr double kDormandPrinceDense[7][4] = {
    {1, -8048581381. / 2820520608., 8663915743. / 2820520608., -12715105075. / 11282082432.},
    {0, 0, 0, 0},
    {0, 131558114200. / 32700410799., -68118460800. / 10900136933., 87487479700. / 32700410799.},
    {0, -1754552775. / 470086768., 14199869525. / 1410260304., -10690763975. / 1880347072.},
    {0, 127303824393. / 49829197408., -318862633887. / 49829197408., 701980252875. / 199316789632.},
    {0, -282668133. / 205662961., 2019193451. / 616988883., -1453857185. / 822651844.},
    {0, 40617522. / 29380423., -110615467. / 29380423., 69997945. / 29380423.}};
constexpr double kTsitourasDense[7][4] = {
    {1, -2.7637061972748259113, 2.9132554618219127438, -1.0530884977290216},
    {0, 0.1317, -0.2234, 0.1017},
    {0, 3.9302962368947515285, -5.9410338721315047347, 2.490627285651252793},
    {0, -12.411077166933676984, 30.338188630282321598, -16.54810288924490272},
    {0, 37.509313416511039195, -88.178904894766401101, 47.37952196281928122},
    {0, -27.896526289197287792, 65.091894674793671515, -34.87065786149660974},
    {0, 1.5, -4.0, 2.5}};

}  // namespace

Tableau with_columns(Tableau tableau) {
  tableau.columns.resize(tableau.a.size());
  for (std::size_t i = tableau.a.size(); i-- > 0;) {
    for (const auto& term : tableau.a[i])
      tableau.columns[std::size_t(term.stage)].push_back({static_cast<int>(i), term.value});
  }
  return tableau;
}

const Tableau& euler_tableau() {
  static const Tableau tableau =
      with_columns({.name = "euler",
                    .order = 1,
                    .error_order = 0,
                    .dense_order = 1,
                    .stages = 1,
                    .error_stages = 1,
                    .dense_stages = 1,
                    .last = -1,
                    .c = {0},
                    .a = rows({{}}),
                    .b = row({1}),
                    .error = {},
                    .error_auxiliary = {},
                    .weights = [](double theta, double* w, double* dw, double* ddw) {
                      monomial_weights(kEulerDense, theta, w, dw, ddw);
                    }});
  return tableau;
}

const Tableau& midpoint_tableau() {
  static const Tableau tableau =
      with_columns({.name = "midpoint",
                    .order = 2,
                    .error_order = 0,
                    .dense_order = 2,
                    .stages = 2,
                    .error_stages = 2,
                    .dense_stages = 2,
                    .last = -1,
                    .c = {0, 0.5},
                    .a = rows({{}, {0.5}}),
                    .b = row({0, 1}),
                    .error = {},
                    .error_auxiliary = {},
                    .weights = [](double theta, double* w, double* dw, double* ddw) {
                      monomial_weights(kMidpointDense, theta, w, dw, ddw);
                    }});
  return tableau;
}

const Tableau& heun_tableau() {
  static const Tableau tableau =
      with_columns({.name = "heun",
                    .order = 2,
                    .error_order = 0,
                    .dense_order = 2,
                    .stages = 2,
                    .error_stages = 2,
                    .dense_stages = 2,
                    .last = -1,
                    .c = {0, 1},
                    .a = rows({{}, {1}}),
                    .b = row({0.5, 0.5}),
                    .error = {},
                    .error_auxiliary = {},
                    .weights = [](double theta, double* w, double* dw, double* ddw) {
                      monomial_weights(kHeunDense, theta, w, dw, ddw);
                    }});
  return tableau;
}

const Tableau& rk4_tableau() {
  static const Tableau tableau =
      with_columns({.name = "rk4",
                    .order = 4,
                    .error_order = 0,
                    .dense_order = 3,
                    .stages = 4,
                    .error_stages = 4,
                    .dense_stages = 4,
                    .last = -1,
                    .c = {0, 0.5, 0.5, 1},
                    .a = rows({{}, {0.5}, {0, 0.5}, {0, 0, 1}}),
                    .b = row({1. / 6, 1. / 3, 1. / 3, 1. / 6}),
                    .error = {},
                    .error_auxiliary = {},
                    .weights = [](double theta, double* w, double* dw, double* ddw) {
                      monomial_weights(kRk4Dense, theta, w, dw, ddw);
                    }});
  return tableau;
}

const Tableau& bogacki_shampine_tableau() {
  static const std::vector<double> b = {2. / 9, 1. / 3, 4. / 9};
  static const Tableau tableau =
      with_columns({.name = "bs3",
                    .order = 3,
                    .error_order = 2,
                    .dense_order = 3,
                    .stages = 3,
                    .error_stages = 4,
                    .dense_stages = 4,
                    .last = 3,
                    .c = {0, 0.5, 0.75, 1},
                    .a = rows({{}, {0.5}, {0, 0.75}, b}),
                    .b = row(b),
                    .error = row({-5. / 72, 1. / 12, 1. / 9, -1. / 8}),
                    .error_auxiliary = {},
                    .weights = [](double theta, double* w, double* dw, double* ddw) {
                      monomial_weights(kBogackiShampineDense, theta, w, dw, ddw);
                    }});
  return tableau;
}

const Tableau& dormand_prince_tableau() {
  static const std::vector<double> b = {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84};
  static const Tableau tableau = with_columns(
      {.name = "dopri5",
       .order = 5,
       .error_order = 4,
       .dense_order = 4,
       .stages = 6,
       .error_stages = 7,
       .dense_stages = 7,
       .last = 6,
       .c = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1},
       .a = rows({{},
                  {1. / 5},
                  {3. / 40, 9. / 40},
                  {44. / 45, -56. / 15, 32. / 9},
                  {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
                  {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
                  b}),
       .b = row(b),
       .error = row({71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40}),
       .error_auxiliary = {},
       .weights = [](double theta, double* w, double* dw, double* ddw) {
         monomial_weights(kDormandPrinceDense, theta, w, dw, ddw);
       }});
  return tableau;
}

const Tableau& tsitouras_tableau() {
  static const std::vector<double> b = {
      0.09646076681806522951816731316512876, 0.01,
      0.4798896504144995747752495322905965,  1.379008574103741893192274821856873,
      -3.290069515436080679901047585711364,  2.324710524099773982415355918398766};
  static const Tableau tableau = with_columns(
      {.name = "tsit5",
       .order = 5,
       .error_order = 4,
       .dense_order = 4,
       .stages = 6,
       .error_stages = 7,
       .dense_stages = 7,
       .last = 6,
       .c = {0, 0.161, 0.327, 0.9, 0.9800255409045096857298102862870246, 1, 1},
       .a = rows({{},
                  {0.161},
                  {-0.008480655492356988544426874250230775, 0.3354806554923569885444268742502308},
                  {2.897153057105493432130432594192939, -6.359448489975074843148159912383826,
                   4.362295432869581411017727318190887},
                  {5.325864828439256604428877920840511, -11.74888356406282787774717033978577,
                   7.495539342889836208304604784564358, -0.09249506636175524925650207933207192},
                  {5.861455442946420028659251486982648, -12.92096931784710929170611868178336,
                   8.159367898576158643180400794539253, -0.07158497328140099722453054252582974,
                   -0.02826905039406838290900305721271224},
                  b}),
       .b = row(b),
       .error = row({0.001780011052225771443378550607539535, 0.0008164344596567469032236360633546862,
                     -0.007880878010261996010314727672526304, 0.1447110071732629075371651479726351,
                     -0.5823571654525552250199376106520422, 0.4580821059291869466616365188325543, -1. / 66}),
       .error_auxiliary = {},
       .weights = [](double theta, double* w, double* dw, double* ddw) {
         monomial_weights(kTsitourasDense, theta, w, dw, ddw);
       }});
  return tableau;
}

}  // namespace costate::ode
