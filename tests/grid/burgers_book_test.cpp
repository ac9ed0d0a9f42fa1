// The example of a book, to every digit that it prints: Thuerey et al., Physics-based Deep Learning (2021),
// chapter "Burgers optimization with a differentiable physics gradient". The start of Burgers' equation is
// found from its state half a second later, by steps of 5 down the gradient.
#include "costate/grid/burgers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "costate/system/rollout.h"

namespace costate {
namespace {

constexpr std::int64_t kCells = 128, kRows = 10, kSteps = 16;  // rows are lines of their own: all the same

// The state to be reached, from the chapter's program.
constexpr double kAim[kCells] = {
    0.008612174447657694, 0.02584669669548606,  0.043136357266407785,  0.060491074685516746,
    0.07793926183951633,  0.0954779141740818,   0.11311894389663882,   0.1308497114054023,
    0.14867023658641343,  0.1665634396808965,   0.18452263429574314,   0.20253084411376132,
    0.22057828799835133,  0.23865132431365316,  0.25673879161339097,   0.27483167307082423,
    0.2929182325574904,   0.3109944766354339,   0.3290477753208284,    0.34707880794585116,
    0.36507311960102307,  0.38303584302507954,  0.40094962955534186,   0.4188235294008765,
    0.4366357052408043,   0.45439856841363885,  0.4720845505219581,    0.4897081943759776,
    0.5072391070000235,   0.5247011051514834,   0.542067187709797,     0.5593576751669057,
    0.5765465453632126,   0.5936507311857876,   0.6106452944663003,    0.6275435911624945,
    0.6443221318186165,   0.6609900633731869,   0.67752574922899,      0.6939334022562877,
    0.7101938106059631,   0.7263049537163667,   0.7422506131457406,    0.7580207366534812,
    0.7736033721649875,   0.7889776974379873,   0.8041371279965555,    0.8190465276590387,
    0.8337064887158392,   0.8480617965162781,   0.8621229412131242,    0.8758057344502199,
    0.8891341984763013,   0.9019806505391214,   0.9143881632159129,    0.9261597966464793,
    0.9373647624856912,   0.9476871303793314,   0.9572273019669029,    0.9654367940878237,
    0.9724097482283165,   0.9767381835635638,   0.9669484658390122,    0.659083299684951,
    -0.659083180712816,   -0.9669485121167052,  -0.9767382069792288,   -0.9724097635533602,
    -0.9654367970450167,  -0.9572273263645859,  -0.9476871280825523,   -0.9373647681120841,
    -0.9261598056102645,  -0.9143881718456056,  -0.9019807055316369,   -0.8891341634240081,
    -0.8758057205293912,  -0.8621229450911845,  -0.8480618138204272,   -0.833706571569058,
    -0.8190466131476127,  -0.8041372124868691,  -0.7889777195422356,   -0.7736033858767385,
    -0.758020740007683,   -0.7422507481169578,  -0.7263049162371344,   -0.7101938950789042,
    -0.6939334061553678,  -0.677525822052029,   -0.6609901538934517,   -0.6443222327338847,
    -0.6275436932970322,  -0.6106454472814152,  -0.5936507836778451,   -0.5765466491708988,
    -0.5593578078967361,  -0.5420672759411125,  -0.5247011730988912,   -0.5072391580614087,
    -0.4897082914472909,  -0.47208460952428394, -0.4543985995006753,   -0.4366355580500639,
    -0.41882350871539187, -0.40094955631843376, -0.38303594105786365,  -0.36507302109186685,
    -0.3470786936847069,  -0.3290476440540586,  -0.31099441589505206,  -0.2929180880304103,
    -0.27483158663081614, -0.2567388003912687,  -0.2386513127155433,   -0.22057831776499126,
    -0.20253089403524566, -0.18452269630486776, -0.1665634500729787,   -0.14867027528284874,
    -0.13084990929476334, -0.1131191325854089,  -0.09547794429803691,  -0.07793928430794522,
    -0.06049114408297565, -0.0431364527809777,  -0.025846763281087953, -0.00861212501518312};

struct Book {
  std::shared_ptr<System<double>> system =
      grid::burgers<double>({.nx = kCells,
                             .ny = kRows,
                             .dx = 2.0 / kCells,
                             .dt = 1.0 / 32,
                             .viscosity = 0.01 / (kCells * std::numbers::pi)});
  Rollout<double> rollout{system, {.steps = kSteps}};
  Arguments<double> at = rollout.arguments();
  ObjectivePtr<double> distance;
  Book() {
    std::vector<double> aim;
    for (std::int64_t row = 0; row < kRows; ++row) aim.insert(aim.end(), kAim, kAim + kCells);
    distance = loss::final<double>(system->signature(), "u", aim, 2.0 / (kCells * kRows));
  }
};

TEST(BurgersOfABook, DescendsByEveryPrintedDigit) {
  // Losses and norms of gradients of the same scheme, written in another language in double precision; the
  // book prints six digits of the losses.
  const struct {
    int iteration;
    double loss, norm;
  } wanted[] = {{0, 0.382915252953, 0.1091783203527},
                {1, 0.326882280844, 0.0980426029042},
                {2, 0.281031664758, 0},
                {3, 0.242803583302, 0},
                {4, 0.210666045355, 0},
                {5, 0.183475980695, 0.0693769152604},
                {10, 0.096223857287, 0},
                {15, 0.054792480886, 0},
                {20, 0.032819326658, 0},
                {25, 0.020333508589, 0},
                {30, 0.012851998496, 0},
                {35, 0.008184779408, 0},
                {40, 0.005185749347, 0},
                {45, 0.003262656662, 0.00769330887107}};
  Book book;
  std::size_t next = 0;
  for (int iteration = 0; iteration <= 45; ++iteration) {
    const auto g = book.rollout.value_and_gradient(book.at, *book.distance);
    double norm = 0;
    for (std::int64_t i = 0; i < kCells; ++i) norm += std::pow(kRows * g.x0[std::size_t(i)], 2);
    if (iteration == wanted[next].iteration) {
      EXPECT_NEAR(g.value, wanted[next].loss, 1e-12) << iteration;
      if (wanted[next].norm > 0) {
        EXPECT_NEAR(std::sqrt(norm), wanted[next].norm, 1e-12) << iteration;
      }
      ++next;
    }
    for (std::size_t i = 0; i < g.x0.size(); ++i) book.at.x0[i] -= 5 * kRows * g.x0[i];
  }
  EXPECT_EQ(next, std::size(wanted));
}

TEST(BurgersOfABook, TheTrueStartIsNotTheStartOfTheScheme) {
  Book book;
  for (std::size_t i = 0; i < book.at.x0.size(); ++i)
    book.at.x0[i] = -std::sin(std::numbers::pi * (-1 + (double(i % kCells) + 0.5) / 64));
  EXPECT_NEAR(book.rollout.value(book.at, *book.distance), 0.00189740083954, 1e-12);
}

}  // namespace
}  // namespace costate
