// Soft bodies and cloth: steps and gradients with published digits (complex step; jax in double with the
// implicit function theorem), statics against beams, the contract, and errors.
#include "costate/soft/soft_system.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/soft/mesh/procedural.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate::soft {
namespace {

using costate::test::expect_error;

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double gate, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  double size = 0;
  for (const double x : b) size = std::max(size, std::abs(x));
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], gate * size) << what << ' ' << i;
}

// --- one tetrahedron ---------------------------------------------------------------------------------------

SoftModel tetrahedron() {
  return {.rest = {0, 0, 0, 1, .1, 0, .1, .9, .05, .2, .15, 1.1},
          .parts = {{"tet", Cells::tetrahedra, {0, 1, 2, 3}, 0}},
          .materials = {{.name = "m", .numbers = {{"E", 1e4}, {"nu", .3}}}},
          .holds = {{"foot", {0}}},
          .dt = .02,
          .tolerance = 1e-15};
}
struct Tetrahedron {
  int steps;
  double loss;
  std::vector<double> x, numbers, g, X, x0, v0;  // numbers: E, nu, density, dt
};
const std::vector<Tetrahedron> kTetrahedra = {
    {1,
     0.005480818954556255,
     {0.0, 0.0, 0.0, 1.003014032559676, 0.09990091524780646, -0.0007317585125394683, 0.09994978694051392,
      0.8951882110435663, 0.04791214633051273, 0.2537377628922097, 0.1320092885822835, 0.9882997665418839},
     {2.021736886342735e-08, 0.0005451124030890086, -2.0217368863427354e-07, -0.06291239900541877},
     {-1.872488926272651e-05, 1.2470410030486756e-05, 3.4873148228879105e-05},
     {-0.0005497389848691705, -0.0008384419063468745, -0.000915151016270886, 0.0008111538128437903,
      -8.557610679037576e-05, -0.0005465810504285594, -3.2595226282456825e-05, 0.0008177075846073096,
      -9.03313913168029e-06, -0.0002288196016921632, 0.00010631042852994118, 0.0014707652058311264},
     {0.0005499860490259637, 0.0008332635060666032, 0.0011168959696861167, -0.0008055681187084854,
      7.424925261282116e-05, 0.0007751872309860793, 3.249431747213431e-05, -0.0008187458971642093,
      -3.2824150243929524e-05, -0.04603914935557993, 0.03192052172076828, 0.08644050749145561},
     {0.0, 0.0, 0.0, -1.6111362374169705e-05, 1.4849850522564237e-06, 1.550374461972159e-05,
      6.498863494426855e-07, -1.6374917943284186e-05, -6.564830048785899e-07, -0.0009207829871115987,
      0.0006384104344153656, 0.001728810149829112}},
    {10,
     0.004314619183027628,
     {0.0, 0.0, 0.0, 1.0661194075504896, 0.0912797023190912, -0.2165354874167908, 0.09759820389081335,
      0.9132255275170492, -0.14811739065907684, 0.2903121623347881, 0.16554620114777602, 0.8348917848307678},
     {-5.655732410813297e-07, -0.01596003975190968, 5.6557324108133e-06, 0.9444781923008493},
     {-9.28514942229387e-05, 0.001516343420707554, -0.0013334585176120444},
     {0.016511897033854774, 0.006540063611946619, 0.013204199022760158, -0.015753322906584946,
      -0.001822061769533401, 0.0036374115895341117, 0.0014094742241745298, -0.021336493963979724,
      0.025834689424553213, -0.0021680483514443538, 0.016618492121566512, -0.04267630003684748},
     {-0.016810197841643348, -0.007899394824549311, -0.01506036766991693, 0.014611715989866188,
      0.0013409744083355383, -0.00619400932752885, -0.002904415914599218, 0.019521881561136146,
      -0.03431735483435834, -0.004584939898835497, 0.05258274000285364, -0.009536483337428103},
     {0.0, 0.0, 0.0, 0.0015109030813280973, 6.408747820867185e-05, -0.0006357102553173813,
      -0.00037333954149669095, 0.0019552172990689046, -0.0030168349043849137, -0.0014056243585627527,
      0.012049911567310116, -0.00795801338033322}},
};

TEST(Soft, ATetrahedronHasThePublishedDigits) {
  for (const Tetrahedron& k : kTetrahedra) {
    SCOPED_TRACE(k.steps);
    const SoftModel model = tetrahedron();
    const auto system = soft_bodies<double>(model);
    Rollout<double> rollout(system, {.steps = k.steps});
    Arguments<double> at = rollout.arguments();
    std::vector<double> x = model.rest;
    x[9] += .05, x[10] -= .02, x[11] -= .1;
    at.x0 = soft_state(model, x, {0, 0, 0, .1, 0, .2, 0, -.3, .1, .2, .1, -.5});
    const auto loss = loss::expression<double>(system->signature(),
                                               "((x[9] - 0.3)^2 + (x[10] - 0.1)^2 + (x[11] - 0.9)^2)/2");
    const auto g = rollout.value_and_gradient(at, *loss);
    EXPECT_NEAR(g.value, k.loss, 1e-13 * k.loss);
    const auto end = rollout.forward(at).final_state;
    expect_near({end.begin(), end.begin() + 12}, k.x, 1e-13, "x");
    const char* names[] = {"material/m/E", "material/m/nu", "material/m/density", "dt"};
    for (int i = 0; i < 4; ++i)
      EXPECT_NEAR(g.parameters[names[i]][0], k.numbers[std::size_t(i)],
                  1e-11 * std::abs(k.numbers[std::size_t(i)]))
          << names[i];
    const auto gravity = g.parameters["gravity"], rest = g.parameters["rest"];
    expect_near({gravity.begin(), gravity.end()}, k.g, 1e-11, "gravity");
    expect_near({rest.begin(), rest.end()}, k.X, 1e-11, "rest");
    expect_near({g.x0.begin(), g.x0.begin() + 12}, k.x0, 1e-11, "x0");
    expect_near({g.x0.begin() + 12, g.x0.end()}, k.v0, 1e-11, "v0");
  }
}

// --- a cloth of 4 x 4 vertices -----------------------------------------------------------------------------

TEST(Soft, AClothInTheWindHasThePublishedDigits) {
  SoftModel model{.materials = {{.name = "m",
                                 .law = "stvk",
                                 .numbers = {{"E", 1e5}, {"nu", .3}},
                                 .density = .2,
                                 .thickness = 1e-3,
                                 .bending = 1e-5}},
                  .holds = {{"corners", {12, 15}}},
                  .wind = {1, 2, .5},
                  .wind_drag = .3,
                  .dt = .01,
                  .tolerance = 1e-14};
  add_part(model, "cloth", Cells::triangles, cloth_mesh({.3, .3}, {3, 3}), 0);
  std::vector<double> x = model.rest;
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 4; ++i) x[std::size_t(3 * (4 * j + i) + 2)] = .01 * std::sin(i + 2 * j);
  const auto system = soft_bodies<double>(model);
  Rollout<double> rollout(system, {.steps = 10});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(model, x);
  std::string mean;
  for (int i = 0; i < 16; ++i) mean += (i ? "+x[" : "(x[") + std::to_string(3 * i + 2) + "]";
  const auto loss = loss::expression<double>(system->signature(), mean + ")/16");
  const auto g = rollout.value_and_gradient(at, *loss);
  EXPECT_NEAR(g.value, -0.037915692762548234, 1e-14);
  const std::pair<const char*, double> numbers[] = {{"material/m/E", 1.1570661030085567e-08},
                                                    {"wind_drag", 0.0105653602641079},
                                                    {"dt", -6.351382431573166},
                                                    {"material/m/bending", 14.723319215009248},
                                                    {"material/m/nu", 0.0003226260155477396},
                                                    {"material/m/density", -0.02236953687195509},
                                                    {"material/m/thickness", 1.1570661030085567}};
  for (const auto& [name, value] : numbers)
    EXPECT_NEAR(g.parameters[name][0], value, 1e-9 * std::abs(value)) << name;
  const auto gravity = g.parameters["gravity"], wind = g.parameters["wind"], rest = g.parameters["rest"];
  expect_near({gravity.begin(), gravity.end()},
              {-5.522987328226056e-06, -0.00037613905506374897, 0.00369325377494973}, 1e-10, "gravity");
  expect_near({wind.begin(), wind.end()},
              {7.055578548228144e-05, 0.00018055388210188488, 0.0054758890590926364}, 1e-10, "wind");
  std::vector<double> plane;  // the reference has a flat rest shape of two numbers per vertex
  for (std::size_t i = 0; i < rest.size(); ++i)
    if (i % 3 != 2) plane.push_back(rest[i]);
  expect_near(plane,
              {0.00654640183517566,    0.002155381269509333,  -0.007260604806074147,  -0.010996861878128537,
               0.0012588114434475253,  -0.01332122510032223,  -0.006432163608498792,  -0.006184192618710421,
               -0.007320691821050038,  -0.014506242986832667, 0.0035585335490858267,  -0.012863623168424024,
               1.517076306619368e-06,  -0.008587062104341936, -0.0028282739218139087, -0.004761519753907944,
               -0.0021712904290503918, 0.008594895321227635,  0.0028562094950267945,  -0.002736275913000712,
               0.0006166527846510703,  -0.00946744784499063,  0.003134021167593189,   3.0176231323583475e-05,
               0.20745008746511112,    0.01558061609065876,   -0.008037520381848465,  0.009045402000823544,
               0.012491495482462173,   0.004599601258853564,  -0.20386318533052422,   0.043418379196262694},
              1e-10, "rest");
  expect_near(
      {g.x0.begin(), g.x0.begin() + 48},
      {-0.002608730029644254,  0.0010610411732431858,  0.06825021607573789,     0.0019090892806369322,
       0.010185226746710827,   0.08268416430723102,    0.0027829019024622837,   0.012198415193970713,
       0.09017091310354475,    0.004839558546823251,   0.006581337456146797,    0.05230035777241204,
       0.004266312598417756,   0.01057385884375332,    0.06956052435544968,     -0.0029712300284984276,
       0.010264002459448293,   0.014569638949551877,   0.002368476887880088,    0.011676039293301077,
       0.0969414102722479,     0.0014296130327493112,  0.006472695256147111,    0.03326756820921545,
       -0.0007979190113896698, 0.004710637349372417,   0.040481196632703664,    -0.0026741868088661948,
       0.011562904210446173,   0.044686328454853375,   -0.003913818357922216,   0.014370330113657695,
       0.06160080113718508,    -0.0007470200697739949, 0.008890038691907054,    0.02594541794239269,
       -0.1876873119165816,    -0.056530176625358,     0.17170631246758064,     0.000637570291727474,
       0.014056682064218064,   -0.015994444802793273,  -0.00011631238117529134, 0.013387785159743197,
       -0.016064707797272655,  0.18328300606315515,    -0.07946081738670854,    0.17989430291995928},
      1e-10, "x0");
  expect_near({g.x0.begin() + 48, g.x0.end()},
              {-0.0001516338351584712,
               -8.294597070362258e-05,
               0.006426847536241862,
               2.617938761302327e-05,
               8.87714189412029e-05,
               0.0063244992287526895,
               1.400647795104753e-05,
               0.00027131438037180115,
               0.0072135812652255014,
               0.00025273098816784155,
               0.0003745609838531434,
               0.00572371365839552,
               0.00010643390221649601,
               0.00017182953811633765,
               0.005851831960890075,
               -0.00024978934968131753,
               -0.0003319534650619957,
               0.005184788545207121,
               1.652114734527022e-05,
               -0.00043499134957873263,
               0.008410040198121206,
               1.7215863480551082e-05,
               -0.00019834450252719017,
               0.004681197906545058,
               -9.050576946426723e-05,
               -0.00018600560419624945,
               0.0036889670884656125,
               -0.00021370711071377508,
               -0.00035417021646408906,
               0.005130038214418079,
               -0.0002139597125139353,
               -0.0002830578477968524,
               0.005459772704461213,
               -0.00011622841494957554,
               5.2406443672573885e-05,
               0.0029504448409381073,
               -0.0,
               -0.0,
               -0.0,
               5.356969523068303e-06,
               0.0002559259740743586,
               -0.0002738936338938111,
               -4.932550086182907e-06,
               0.00029798237578978744,
               -0.0006618129575603487,
               -0.0,
               -0.0,
               -0.0},
              1e-10, "v0");
}

// --- statics -----------------------------------------------------------------------------------------------

// An affine displacement of the surface is one of the inside, whatever the cells.
TEST(Soft, PatchesOfEveryCellAreAffineInside) {
  for (const Cells kind : {Cells::tetrahedra, Cells::quadratic_tetrahedra, Cells::hexahedra}) {
    SCOPED_TRACE(kCellNames[int(kind)]);
    SoftModel model{.materials = {{.law = "neo_hookean"}},
                    .gravity = {0, 0, 0},
                    .integrator = Integrator::still,
                    .tolerance = 1e-13};
    SoftMesh mesh = block_mesh(kind, {1, 1, 1}, {3, 3, 3});
    add_part(model, "block", kind, mesh, 0);
    Hold surface{"surface", {}};
    std::vector<double> x = model.rest, affine;
    const double F[9] = {1.2, .1, .05, -.1, .9, .1, 0, .2, 1.1};
    for (int i = 0; i < model.vertices(); ++i) {
      const double* X = model.rest.data() + 3 * i;
      const bool outside =
          X[0] < 1e-9 || X[0] > 1 - 1e-9 || X[1] < 1e-9 || X[1] > 1 - 1e-9 || X[2] < 1e-9 || X[2] > 1 - 1e-9;
      for (int d = 0; d < 3; ++d) {
        affine.push_back(F[3 * d] * X[0] + F[3 * d + 1] * X[1] + F[3 * d + 2] * X[2]);
        x[std::size_t(3 * i + d)] = affine.back() + (outside ? 0 : .02 * std::sin(3 * i + d));
      }
      if (outside) surface.vertices.push_back(i);
    }
    model.holds = {surface};
    const auto system = soft_bodies<double>(model);
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> at = rollout.arguments();
    at.x0 = soft_state(model, x);
    const auto end = rollout.forward(at).final_state;
    expect_near({end.begin(), end.begin() + 3 * model.vertices()}, affine, 1e-12, "x");
  }
}

// A cantilever under its weight: w = rho A g L^4 / 8 EI and 0.2 % of shear (Timoshenko), with Poisson's
// ratio 0 so that nothing bulges.
double tip(Cells kind, std::array<int, 3> cells) {
  SoftModel model{.materials = {{.law = "stvk", .numbers = {{"E", 1e9}, {"nu", 0}}}},
                  .integrator = Integrator::still,
                  .tolerance = 1e-9};
  add_part(model, "beam", kind, block_mesh(kind, {1, .1, .05}, cells), 0);
  model.holds = {{"wall", {}}};
  int last = 0;
  for (int i = 0; i < model.vertices(); ++i) {
    if (model.rest[std::size_t(3 * i)] < 1e-9) model.holds[0].vertices.push_back(i);
    if (model.rest[std::size_t(3 * i)] > 1 - 1e-9 && model.rest[std::size_t(3 * i + 2)] < 1e-9) last = i;
  }
  const auto system = soft_bodies<double>(model);
  Rollout<double> rollout(system, {.steps = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(model);
  return -rollout.forward(at).final_state[std::size_t(3 * last + 2)];
}
TEST(Soft, CantileversBendAsBeamTheorySays) {
  const double expected = 5.886e-3 * 1.002;
  EXPECT_NEAR(tip(Cells::quadratic_tetrahedra, {20, 2, 2}), expected, 0.005 * expected);
  // Linear cells lock: they are too stiff, by an excess that falls by four when they are halved.
  const double coarse = tip(Cells::hexahedra, {20, 1, 2}), fine = tip(Cells::hexahedra, {40, 1, 4});
  EXPECT_NEAR((expected / coarse - 1) / (expected / fine - 1), 4, 0.2);
}

// --- time --------------------------------------------------------------------------------------------------

// Error of the position after a fixed time against a tenfold finer grid.
TEST(Soft, IntegratorsHaveTheirOrder) {
  for (const auto& [of, order] : {std::pair{Integrator::euler, 1.0}, std::pair{Integrator::bdf2, 2.0},
                                  std::pair{Integrator::midpoint, 2.0}}) {
    SCOPED_TRACE(kIntegratorNames[int(of)]);
    const auto height = [&, integrator = of](int steps) {
      SoftModel model = tetrahedron();
      model.dt = 0.2 / steps;
      model.integrator = integrator;
      model.tolerance = 1e-13;
      const auto system = soft_bodies<double>(model);
      Rollout<double> rollout(system, {.steps = steps});
      Arguments<double> at = rollout.arguments();
      at.x0 = soft_state(model);
      return rollout.forward(at).final_state[11];
    };
    const double exact = (4 * height(3200) - height(1600)) / 3;  // of second order: better than either
    const double fine = of == Integrator::euler ? 2 * height(1600) - height(800) : exact;
    const double slope = std::log2((height(200) - fine) / (height(400) - fine));
    EXPECT_NEAR(slope, order, 0.1);
  }
}

// --- the contract in every regime --------------------------------------------------------------------------

TEST(Soft, DrivenDampedBodiesOfAllCellsMeetTheContract) {
  for (const Cells kind : {Cells::tetrahedra, Cells::quadratic_tetrahedra, Cells::hexahedra}) {
    SCOPED_TRACE(kCellNames[int(kind)]);
    SoftModel model{.materials = {{.name = "m",
                                   .law = "neo_hookean_stable",
                                   .numbers = {{"E", 2e4}, {"nu", .35}},
                                   .per_element = kind == Cells::tetrahedra,
                                   .viscosity = 20}},
                    .drag = .5,
                    .dt = .01,
                    .tolerance = 1e-14};
    add_part(model, "block", kind, block_mesh(kind, {.2, .1, .1}, {1, 1, 1}), 0);
    model.holds = {{"end", {0, 2}, true}};
    const auto system = soft_bodies<double>(model);
    Rollout<double> rollout(system, {.steps = 2});
    Arguments<double> at = rollout.arguments();
    at.x0 = soft_state(model);
    at.controls = {.1, .2, -.1, -.2, .1, .3};
    costate::test::expect_contract(system,
                                   {.states = costate::test::starting_at(at), .steps = 6, .long_steps = 40});
  }
}

// Woven cloth whose rest shape is not flat: its warp leans out of the triangles, and turns with them.
TEST(Soft, WovenClothMeetsTheContract) {
  for (const char* law : {"orthotropic", "baraff_witkin"}) {
    SCOPED_TRACE(law);
    SoftModel model{.materials = {{.name = "m",
                                   .law = law,
                                   .density = .2,
                                   .viscosity = 20,
                                   .warp = {.8, .3, .5},
                                   .bending = 1e-3,
                                   .bending_viscosity = 1e-4}},
                    .drag = .5,
                    .wind = {1, 2, .5},
                    .wind_drag = .1,
                    .tolerance = 1e-14};
    SoftMesh mesh = cloth_mesh({.2, .2}, {2, 2});
    for (std::size_t i = 0; i < mesh.vertices.size(); i += 3)
      mesh.vertices[i + 2] = .3 * mesh.vertices[i] + .02 * std::sin(double(i));
    add_part(model, "cloth", Cells::triangles, mesh, 0);
    model.holds = {{"corner", {0, 2}, true}};
    const auto system = soft_bodies<double>(model);
    Rollout<double> rollout(system, {.steps = 2});
    Arguments<double> at = rollout.arguments();
    at.x0 = soft_state(model);
    at.controls = {.1, .2, -.1, -.2, .1, .3};
    costate::test::expect_contract(system,
                                   {.states = costate::test::starting_at(at), .steps = 6, .long_steps = 40});
  }
}

// A cloth of two stiffnesses is pulled along its warp, wherever that lies: only the first one counts.
TEST(Soft, TheWarpIsWhereTheMaterialSays) {
  for (const int axis : {0, 1}) {
    SoftModel m{.materials = {{.name = "m",
                               .law = "orthotropic",
                               .numbers = {{"E1", 2e4}, {"E2", 5e3}, {"nu", 0}, {"G", 4e3}},
                               .density = 1}},
                .integrator = Integrator::still,
                .tolerance = 1e-12};
    m.materials[0].warp = {axis == 0 ? 1. : 0., axis == 1 ? 1. : 0., 0};
    m.gravity = {0, -1e-3, 0};
    add_part(m, "cloth", Cells::triangles, cloth_mesh({1, 1}, {4, 4}), 0);
    m.holds = {{"top", {20, 21, 22, 23, 24}}};
    const auto system = soft_bodies<double>(m);
    Rollout<double> rollout(system, {.steps = 1});
    Arguments<double> at = rollout.arguments();
    at.x0 = soft_state(m);
    const auto end = rollout.simulate(at).final_state;
    // Weight of 1e-3 N/m^2 on a cloth of E thickness: 1e-3 L^2/(2 E t).
    EXPECT_NEAR(-end[7], 1e-3 / (2 * (axis == 1 ? 20 : 5)), 1e-3 * 1e-4) << axis;
  }
}

// --- bad input ---------------------------------------------------------------------------------------------

TEST(Soft, BadModelsAreErrorsThatSayWhatToDo) {
  const auto with = [](const auto& change) {
    return [change] {
      SoftModel m = tetrahedron();
      change(m);
      return soft_bodies<double>(m);
    };
  };
  expect_error(with([](SoftModel& m) { std::swap(m.parts[0].vertices[0], m.parts[0].vertices[1]); }),
               "tetrahedra 0 of part 'tet' is inside out at rest", "swap two");
  expect_error(
      with([](SoftModel& m) { m.rest[11] = m.rest[8], m.rest[10] = m.rest[7], m.rest[9] = m.rest[6]; }),
      "has no volume at rest", "move its vertices apart");
  expect_error(with([](SoftModel& m) {
                 m.rest.insert(m.rest.end(), {5, 5, 5});
               }),
               "vertex 4 belongs to no cell", "remove it");
  expect_error(with([](SoftModel& m) { m.rest[4] = std::nan(""); }), "vertex 1 is nan");
  expect_error(with([](SoftModel& m) { m.parts[0].vertices[2] = 9; }), "names vertex 9");
  expect_error(with([](SoftModel& m) { m.parts[0].vertices.pop_back(); }), "lists 3 vertices", "have 4 each");
  expect_error(with([](SoftModel& m) { m.materials[0].numbers["nu"] = .5; }), "nu = 0.5", "-1 < nu < 0.5");
  expect_error(with([](SoftModel& m) { m.materials[0].numbers["mu"] = 1; }), "has no number 'mu'", "E, nu");
  expect_error(with([](SoftModel& m) { m.materials[0].density = -1; }), "density = -1", "0 or more");
  expect_error(with([](SoftModel& m) { m.materials[0].density = 0; }), "vertex 0 has no mass",
               "parts that lie over another one");
  expect_error(with([](SoftModel& m) { m.holds.push_back({"again", {0}}); }), "held twice", "one hold");
  expect_error(with([](SoftModel& m) { m.dt = 0; }), "dt = 0", "positive");
  expect_error(
      [] {
        SoftModel m{.materials = {{.law = "stvk", .bending = 1}}};
        m.rest = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1};
        m.parts = {{"fan", Cells::triangles, {0, 1, 2, 1, 0, 3, 0, 1, 4}, 0}};
        return soft_bodies<double>(m);
      },
      "belongs to three triangles", "bending = 0");
}

TEST(Soft, AWarpAcrossItsClothIsAnError) {
  SoftModel m{.materials = {{.name = "silk", .law = "orthotropic", .warp = {0, 0, 1}}}};
  add_part(m, "cloth", Cells::triangles, cloth_mesh({1, 1}, {1, 1}), 0);
  costate::test::expect_error([&] { return soft_bodies<double>(m); },
                              "the warp of material 'silk' stands on cell 0 of part 'cloth'",
                              "choose a direction along the cloth");
}

TEST(Soft, AnInvertedStartNamesItsCell) {
  const SoftModel model = tetrahedron();
  const auto system = soft_bodies<double>(model);
  Rollout<double> rollout(system, {.steps = 3});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(model);
  at.x0[11] = -1;
  expect_error([&] { return rollout.forward(at); }, "'tet': cell 0 is inside out", "neo_hookean_stable");
}

TEST(Soft, ABodyWithoutAHoldHasNoStateOfRest) {
  SoftModel model = tetrahedron();
  model.holds.clear();
  model.integrator = Integrator::still;
  const auto system = soft_bodies<double>(model);
  Rollout<double> rollout(system, {.steps = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(model);
  expect_error([&] { return rollout.forward(at); }, "Newton's iteration stopped", "hold it");
}

}  // namespace
}  // namespace costate::soft
