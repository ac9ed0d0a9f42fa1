// Laws at one deformation: energy, stress and its derivative along a direction. The digits were computed with
// mpmath at 45 digits from the energies alone.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/soft/laws/law.h"
#include "tests/expect_error.h"

namespace costate::soft {
namespace {

// (E, nu) of Lame's constants.
std::vector<double> lame(double mu, double la) {
  return {mu * (3 * la + 2 * mu) / (la + mu), la / (2 * (la + mu))};
}

struct Case {
  const char* law;
  std::vector<double> numbers;
  double W;
  std::vector<double> P, dP;
};

// neo_hookean_simple adds mu to la, so that small strains see E and nu: (2, 3) are the (2, 5) of its formula.
const std::vector<Case> kSolids = {
    {"neo_hookean",
     lame(2, 5),
     0.23924198952668046,
     {1.3485176986966483, 0.3008548005331714, -0.07278367073459606, -0.01726178921800212, 0.7716115584715225,
      0.20668687109004363, 0.04167929443127727, -0.07558249478672485, 1.6146144983412005},
     {3.7935680956091087, 0.3472420234045345, 0.11392376177984817, -0.6265900759506978, 4.799402896765171,
      0.19258354825445212, -0.18638075904416473, -0.24236561023183856, 2.989859609626937}},
    {"neo_hookean_j",
     lame(2, 5),
     0.26489831136612917,
     {1.690873060432312, 0.34071809607773496, -0.08372653617820175, -0.09073531433935458, 1.1850955455906231,
      0.2442052668966917, 0.06512829181043231, -0.12560702252892228, 1.9303943297138217},
     {6.147228151863822, 0.5507800223113094, 0.1126729559749221, -1.0749361990879196, 7.584838410068639,
      0.3529753507097164, -0.10352722223249786, -0.5156254735327171, 5.223460331529904}},
    {"neo_hookean_stable",
     lame(2, 5),
     0.27448251461300047,
     {1.7900652693787795, 0.3580402762506872, -0.08808819406267179, -0.1011013881253436, 1.2704999931280925,
      0.2574395821880154, 0.0698881940626718, -0.1352263881253436, 2.0367666575041232},
     {6.695756521753913, 0.6146501768524533, 0.11162009333957132, -1.1529139776968882, 8.170614678234793,
      0.3966452724826604, -0.09878814813158159, -0.5629125895715446, 5.7509274446587915}},
    {"fixed_corotated",
     lame(2, 5),
     0.2708203270926221,
     {1.7173039052038217, 0.34584087762858695, -0.08841047305468613, -0.09270589083877571, 1.2045663339241823,
      0.2534391695008003, 0.06443138178283739, -0.12771981782889946, 2.0028403312726444},
     {6.252324128139814, 0.6026318824956027, 0.10752159661189326, -1.0134505010481747, 7.455857775381574,
      0.3556416014566496, -0.13316679285475858, -0.48169103531826746, 5.266657852351549}},
    {"corotated",
     lame(2, 5),
     0.28008549506321693,
     {1.6320166266196354, 0.3783785995154619, -0.09342425240476507, 0.006001026280714816, 0.8485808444069032,
      0.25983717497859105, 0.04415981910613416, -0.07940215920721476, 2.0208300136317425},
     {4.503012428722586, 0.5797392057448773, 0.10821066553108934, -0.4561967703880541, 4.839711550549539,
      0.2820385209078982, -0.3068400122417103, -0.14388356061831198, 3.7059126522738493}},
    {"arap",
     lame(2, 5),
     0.1365501708426221,
     {0.44847265520382157, 0.19810025262858694, -0.04785422305468613, 0.17960035916122427,
      -0.32788054107581754, 0.11438916950080033, -0.02247486821716261, 0.057680182171100526,
      0.8325028312726442},
     {1.0685678781398138, 0.26039750749560275, -0.0009721533881067384, -0.11138175104817467,
      1.4072046503815738, 0.14907285145664956, -0.1978167928547586, 0.013896464681732548,
      0.2531203523515488}},
    {"stvk",
     lame(2, 5),
     0.34576328125,
     {2.046125, 0.49225, -0.1349375, 0.040625, 0.956375, 0.3558125, 0.0416875, -0.084375, 2.7565},
     {5.762125, 1.001625, 0.0695, -0.151625, 4.8215, 0.421, -0.542875, 0.03925, 4.809375}},
    {"hencky",
     lame(2, 5),
     0.22799164054237864,
     {1.297528494382273, 0.29139075435291784, -0.06403943527676688, -0.012678325728084973, 0.7315391880962651,
      0.18937530260951618, 0.04276883306321912, -0.07115177127453844, 1.4785067032586345},
     {3.5963209470808235, 0.24558522097153773, 0.12275552684172406, -0.7518703675012239, 5.072439939509802,
      0.18846512434314555, -0.12983991624721264, -0.3104397688521543, 2.911109791212009}},
    {"neo_hookean_simple",
     lame(2, 3),
     0.21827015625,
     {1.27883125, 0.292740625, -0.07055625, -0.00230625, 0.687446875, 0.19905, 0.03690625, -0.0654,
      1.5503375},
     {4.74375625, 0.472234375, 0.06849375, -0.84206875, 5.958653125, 0.31656875, -0.10535, -0.3955875,
      3.8535375}},
    {"mooney_rivlin",
     {0.6, 0.4, 19.0 / 3},
     0.26040680667076561,
     {1.7248671981743413, 0.33982351891123225, -0.07862441026645221, -0.10695780494321751, 1.2554704320151262,
      0.2375943060555788, 0.07187876678842368, -0.1347057818742541, 1.8842754278912808},
     {6.5986192281831615, 0.5067176999079296, 0.12023954787864467, -1.3226541403520358, 8.613777819280452,
      0.3871907455930863, -0.025990616098139515, -0.6575485783051643, 5.712022965143695}},
    {"fung",
     {1.5, 0.7, 1.1, 19.0 / 3},
     0.28242374040353196,
     {2.2270852601500164, 0.3568698112666439, -0.09943638330769498, -0.29378400119719555, 2.107877518650293,
      0.2970851156863973, 0.11391869953073322, -0.24298919057650087, 2.407382189138078},
     {8.513902578831281, 0.8346845370536654, 0.13114826814724911, -1.1467338333621837, 9.13966923241613,
      0.44357815654917976, -0.1197000768239246, -0.5935966620088353, 7.9330441389190165}},
    {"fibre",
     {0.8, 1.3, 2.0 / 3, 1.0 / 3, 2.0 / 3},
     0.049544777434399256,
     {0.32176035533955595, 0.16088017766977798, 0.32176035533955595, 0.13989580666937215,
      0.069947903334686076, 0.13989580666937215, 0.33574993600649317, 0.16787496800324658,
      0.33574993600649317},
     {0.61635167149358508, 0.30817583574679254, 0.61635167149358508, 0.24121631154741797, 0.12060815577370899,
      0.24121631154741797, 0.48378999917863007, 0.24189499958931503, 0.48378999917863007}},
    {"muscle",
     {2, 0.2, 2, 1, 2},
     0.12752302673317872,
     {0.31547674787232455, 0.15773837393616227, 0.31547674787232455, 0.13716380342274975, 0.06858190171137488,
      0.13716380342274975, 0.32919312821459945, 0.16459656410729973, 0.32919312821459945},
     {0.22843285039054265, 0.11421642519527132, 0.22843285039054265, 0.07307859864544902, 0.03653929932272451,
      0.07307859864544902, 0.08211725042160777, 0.04105862521080388, 0.08211725042160777}},
};
const std::vector<Case> kMembranes = {
    {"stvk",
     {100, 0.3},
     0.0032547315934065934,
     {0.06990461538461538, 0.005193626373626374, 0.002476043956043956, -0.02801785714285714,
      0.01187912087912088, 0.006073351648351648},
     {0.4038956043956044, 0.1453554945054945, 0.07019010989010989, 0.3473593406593407, 0.04251538461538462,
      -0.05830274725274725}},
    {"neo_hookean",
     {100, 0.3},
     0.0030712203181058702,
     {0.05840298427835598, 0.004015762819797474, 0.002971086816507136, -0.03381017064324434,
      0.009758510300413645, 0.006931638477227065},
     {0.3218556755245912, 0.1361306118031713, 0.05872588778416373, 0.4017115969660311, 0.03335739793105887,
      -0.07350939674315599}},
    {"arap",
     {100, 0.3},
     0.0030495014159995223,
     {0.05500213882237496, 0.003568032757877536, 0.003395039781117389, -0.03872243675947623,
      0.009080389853788092, 0.007756779202632214},
     {0.1785019772917796, 0.1206145865831598, 0.07591580484157086, 0.2143058126057498, 0.006032320101552012,
      -0.04492327449495481}},
    {"limited",
     {100, 0.3, 1.25, 50},
     0.0046630973314509732,
     {0.20834451933885662, 0.019570300457410418, -0.0040387095617322855, 0.048112190984183824,
      0.037506309857433792, -0.0054022212595476638},
     {4.0846561537905888, 0.5650086074716248, -0.026945994675574895, 2.3541555256032597, 0.67088831639637962,
      -0.30635927695801038}},
    {"orthotropic",
     {100, 40, 0.25, 20},
     0.0029006066573142821,
     {0.075207401345601024, 0.0035288420595170294, -0.001672990578712459, -0.0081510740387430223,
      0.013578476446781147, 0.0021229474256037133},
     {0.344577666126459, 0.0698643181927294, 0.0344944801453497, 0.144401711159757, 0.0345202760834068,
      -0.020578766304921}},
    {"baraff_witkin",
     {100, 100, 50},
     0.003967603390851859,
     {0.07169733555147753, 0.004975195278687314, 0.004680088719887426, -0.05019123659017332,
      0.01178977820028143, 0.01011600590164086},
     {0.2366157455519644, 0.1692296541291202, 0.1091536008096877, 0.2812452732711615, 0.006850776176062084,
      -0.0566795824155024}},
};
constexpr double kF[9] = {1.1, .2, -.05, -.1, .9, .15, .05, -.1, 1.2},
                 kDF[9] = {.3, -.1, .2, .1, .4, -.2, -.3, .2, .1};
constexpr double kF2[6] = {1.05, .12, -.08, .93, .2, -.15}, kDF2[6] = {.3, -.1, .2, .4, -.3, .5};

// The printed membranes have a thickness of 0.01.
template <int C>
void expect_case(const Law<C>& law, const Case& k, const double* F, const double* dF, double thickness) {
  SCOPED_TRACE(k.law);
  constexpr int n = 3 * C;
  double P[n], A[n * n];
  EXPECT_NEAR(thickness * law.energy(F, k.numbers.data()), k.W, 1e-14 * std::abs(k.W) + 1e-15);
  law.stress(F, k.numbers.data(), P);
  law.stress_slope(F, k.numbers.data(), A);
  for (int i = 0; i < n; ++i) {
    EXPECT_NEAR(thickness * P[i], k.P[std::size_t(i)], 2e-14) << i;
    double along = 0;
    for (int j = 0; j < n; ++j) along += A[n * i + j] * dF[j];
    EXPECT_NEAR(thickness * along, k.dP[std::size_t(i)], 5e-14) << i;
  }
}

TEST(Law, SolidsHaveThePublishedDigits) {
  for (const Case& k : kSolids) expect_case(solid_law(k.law), k, kF, kDF, 1);
  EXPECT_EQ(kSolids.size(), solid_laws().size());
}
TEST(Law, MembranesHaveThePublishedDigits) {
  for (const Case& k : kMembranes) expect_case(membrane_law(k.law), k, kF2, kDF2, 0.01);
  EXPECT_EQ(kMembranes.size(), membrane_laws().size());
}

// Stress is the slope of the energy, the slope is that of the stress, symmetric, and the numbers are
// followed: six-point differences.
template <int C>
void expect_consistent(const Law<C>& law, const std::vector<double>& F0, std::vector<double> c) {
  SCOPED_TRACE(law.name());
  constexpr int n = 3 * C;
  constexpr double kWeight[3] = {45.0 / 60, -9.0 / 60, 1.0 / 60}, h = 1e-3;
  double P[n], A[n * n];
  law.stress(F0.data(), c.data(), P);
  law.stress_slope(F0.data(), c.data(), A);
  double size = 0;
  for (const double a : A) size = std::max(size, std::abs(a));
  for (int i = 0; i < n; ++i) {
    double slope = 0, curve[n] = {};
    for (int k = 1; k <= 3; ++k)
      for (const int side : {-1, 1}) {
        std::vector<double> F = F0;
        F[std::size_t(i)] += side * k * h;
        const double w = side * kWeight[k - 1] / h;
        slope += w * law.energy(F.data(), c.data());
        double Q[n];
        law.stress(F.data(), c.data(), Q);
        for (int j = 0; j < n; ++j) curve[j] += w * Q[j];
      }
    EXPECT_NEAR(slope, P[i], 1e-10 * size) << i;
    for (int j = 0; j < n; ++j) {
      EXPECT_NEAR(curve[j], A[n * i + j], 1e-9 * size) << i << ' ' << j;
      EXPECT_NEAR(A[n * j + i], A[n * i + j], 1e-13 * size) << i << ' ' << j;
    }
  }
  std::vector<double> G(F0.rbegin(), F0.rend()), c_bar(c.size(), 0.0);
  law.numbers_vjp(F0.data(), c.data(), G.data(), c_bar.data());
  for (std::size_t k = 0; k < c.size(); ++k) {
    double slope = 0, P_dot[n] = {}, forward = 0;
    const double scale = std::abs(c[k]) * h;
    for (int j = 1; j <= 3; ++j)
      for (const int side : {-1, 1}) {
        std::vector<double> moved = c;
        moved[k] += side * j * scale;
        law.stress(F0.data(), moved.data(), P);
        for (int i = 0; i < n; ++i) slope += side * kWeight[j - 1] / scale * P[i] * G[std::size_t(i)];
      }
    std::vector<double> c_dot(c.size(), 0.0);
    c_dot[k] = 1;
    law.numbers_jvp(F0.data(), c.data(), c_dot.data(), P_dot);
    for (int i = 0; i < n; ++i) forward += P_dot[i] * G[std::size_t(i)];
    EXPECT_NEAR(slope, c_bar[k], 1e-9 * (std::abs(c_bar[k]) + size / c[k])) << "number " << k;
    EXPECT_NEAR(forward, c_bar[k], 1e-13 * (std::abs(c_bar[k]) + size / c[k])) << "number " << k;
  }
}

const std::vector<double> kTurned = {1.2 * 0.955336489125606,
                                     -1.2 * 0.295520206661340,
                                     0,
                                     1.2 * 0.295520206661340,
                                     1.2 * 0.955336489125606,
                                     0,
                                     0,
                                     0,
                                     0.8};
const std::vector<double> kInverted = {.9, .1, .2, -.2, 1.1, .1, .1, .3, -.5};

TEST(Law, DerivativesOfSolidsAreThoseOfTheEnergy) {
  for (const Case& k : kSolids)
    for (const auto& F : {std::vector<double>(kF, kF + 9), kTurned, kInverted})
      if (solid_law(k.law).defined(F.data(), k.numbers.data()))
        expect_consistent(solid_law(k.law), F, k.numbers);
}
TEST(Law, DerivativesOfMembranesAreThoseOfTheEnergy) {
  for (const Case& k : kMembranes)
    expect_consistent(membrane_law(k.law), std::vector<double>(kF2, kF2 + 6), k.numbers);
}

TEST(Law, EnergiesOfInvertedCellsHaveThePublishedDigits) {
  const auto c = lame(2, 5);
  EXPECT_NEAR(solid_law("neo_hookean_stable").energy(kInverted.data(), c.data()), 10.77693635621483, 1e-13);
  EXPECT_NEAR(solid_law("stvk").energy(kInverted.data(), c.data()), 0.5009125, 1e-14);
  EXPECT_NEAR(solid_law("fixed_corotated").energy(kInverted.data(), c.data()), 10.853515079928377, 1e-13);
  EXPECT_NEAR(solid_law("neo_hookean_simple").energy(kInverted.data(), lame(2, 3).data()), 8.7230625, 1e-14);
  for (const char* log : {"neo_hookean", "neo_hookean_j", "hencky", "mooney_rivlin"})
    EXPECT_FALSE(solid_law(log).defined(kInverted.data(), c.data())) << log;
}

// At the rest shape every law of E and nu is Hooke's law.
TEST(Law, SmallStrainsSeeYoungAndPoisson) {
  const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, expected[9] = {5.2, 0, -.2, 0, 5.6, 0, -.2, 0, 4.4};
  for (const SolidLaw* law : solid_laws()) {
    if (law->numbers().size() != 2 || law->name() == std::string("arap")) continue;
    SCOPED_TRACE(law->name());
    double A[81];
    law->stress_slope(identity, lame(2, 5).data(), A);
    for (int i = 0; i < 9; ++i) {
      double along = 0;
      for (int j = 0; j < 9; ++j) along += A[9 * i + j] * kDF[j];
      EXPECT_NEAR(along, expected[i], 1e-13) << i;
    }
  }
}

// An orthotropic cloth of equal numbers is an isotropic one.
TEST(Law, AnOrthotropicClothOfEqualNumbersIsIsotropic) {
  const double isotropic[2] = {100, .3}, woven[4] = {100, 100, .3, 100 / 2.6};
  double A[36], B[36];
  membrane_law("stvk").stress_slope(kF2, isotropic, A);
  membrane_law("orthotropic").stress_slope(kF2, woven, B);
  for (int i = 0; i < 36; ++i) EXPECT_NEAR(A[i], B[i], 1e-12) << i;
}

TEST(Law, MisspeltNamesAreErrors) {
  test::expect_error([] { return &solid_law("neo_hokean"); }, "no law 'neo_hokean' of a solid",
                     "did you mean 'neo_hookean'");
  test::expect_error([] { return &membrane_law("hencky"); }, "of a membrane",
                     "stvk, neo_hookean, arap, limited");
  const double stretched[6] = {1.3, 0, 0, 1.3, 0, 0}, limit[4] = {100, 0.3, 1.25, 50};
  EXPECT_FALSE(membrane_law("limited").defined(stretched, limit));
}

}  // namespace
}  // namespace costate::soft
