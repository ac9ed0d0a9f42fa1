// Know your fabric: Young's modulus, Poisson's ratio, bending stiffness and density of a cloth, with error
// bars, from ten photographs of two samples at rest. A photograph shows each vertex to a millimetre.
//
//   a strip is clamped at a table's edge and hangs         bending and density
//   a square hangs on its upper edge, a bar of known weight is sewn to its hem
//                                                          modulus, Poisson's ratio, density
//
//   soft_fabric docs/images/soft_fabric.svg     also draws the picture
#include <cmath>
#include <cstdio>
#include <random>
#include <tuple>

#include "costate/optim/levenberg_marquardt.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/solve/dense_ldl.h"
#include "costate/system/tangents.h"
#include "examples/figure.h"

using namespace costate;

const double kNoise = 1e-3 / std::sqrt(10.0);  // m: of the mean of ten photographs
constexpr int kUnknowns = 4;
constexpr const char* kNames[kUnknowns] = {"E", "nu", "bending", "density"};
constexpr const char* kUnits[kUnknowns] = {"Pa", "", "J", "kg/m^2"};

// [samples]
soft::SoftModel samples(const double (&q)[kUnknowns]) {
  soft::SoftModel model{
      .materials = {{.name = "cloth",
                     .law = "stvk",
                     .numbers = {{"E", q[0]}, {"nu", q[1]}},
                     .density = q[3],
                     .thickness = 1e-3,
                     .bending = q[2]},
                    // The bar: cells of the hem have this weight on top of their own.
                    {.name = "bar", .law = "stvk", .numbers = {{"E", 1e6}}, .density = 6, .bending = 1e-2}},
      .integrator = soft::Integrator::still,
      .tolerance = 1e-10,
      .max_iterations = 400};
  constexpr int kSide = 24;
  soft::add_part(model, "strip", soft::Cells::triangles, soft::cloth_mesh({0.2, 0.04}, {24, 6}), 0);
  soft::SoftMesh square = soft::cloth_mesh({0.6, 0.6}, {kSide, kSide});
  for (std::size_t i = 0; i < square.vertices.size(); i += 3)  // upright
    square.vertices[i + 2] = square.vertices[i + 1] - 0.6, square.vertices[i + 1] = 0.3;
  const int first = soft::add_part(model, "square", soft::Cells::triangles, square, 0, {0, 0, 0});
  soft::Part bar{.name = "bar", .cells = soft::Cells::triangles, .material = 1};
  for (std::size_t k = 0; k < 6 * kSide; ++k) bar.vertices.push_back(first + square.cells[k]);
  model.parts.push_back(bar);
  soft::Hold clamp{.name = "clamp"};  // two rows of the strip, and the upper edge of the square
  for (int i = 0; i < model.vertices(); ++i) {
    const double* X = model.rest.data() + 3 * i;
    if (i < first ? X[0] < 0.01 : X[2] > -1e-9) clamp.vertices.push_back(i);
  }
  model.holds = {clamp};
  return model;
}
// [/samples]

// The strip from the side, the square from the front.
void draw(const char* path, const std::vector<double>& seen, const std::vector<double>& guess,
          const std::vector<double>& found) {
  constexpr int kStripVertices = 25 * 7, kRow = 25;
  figure::Figure picture;
  figure::Panel& strip = picture.panel("strip: x [m]", "z [m]");
  figure::Panel& square = picture.panel("square: x [m]", "z [m]");
  const auto point = [](const std::vector<double>& x, int i) {
    return figure::Point{x[std::size_t(3 * i)], x[std::size_t(3 * i + 2)]};
  };
  std::vector<figure::Point> dots[2];
  for (int i = 0; i < 25; ++i) dots[0].push_back(point(seen, i));
  for (int i = 0; i < kRow * kRow; ++i) dots[1].push_back(point(seen, kStripVertices + i));
  strip.dots(dots[0], figure::kOrange, "seen", 2), square.dots(dots[1], figure::kOrange, "seen", 1.5);
  for (const auto& [x, colour, label] :
       {std::tuple(&guess, figure::kGrey, "guess"), std::tuple(&found, figure::kBlue, "found")}) {
    std::vector<figure::Point> line;
    for (int i = 0; i < 25; ++i) line.push_back(point(*x, i));
    strip.line(line, colour, label);
    line.clear();
    const int n = kRow - 1;
    for (int k = 0; k <= 4 * n; ++k) {  // around its edge
      const int side = k / n % 4, s = k % n;
      const int i = side == 0 ? s : side == 1 ? n : side == 2 ? n - s : 0;
      const int j = side == 0 ? 0 : side == 1 ? s : side == 2 ? n : n - s;
      line.push_back(point(*x, kStripVertices + kRow * (k == 4 * n ? 0 : j) + (k == 4 * n ? 0 : i)));
    }
    square.line(line, colour, label);
  }
  picture.write(path);
}

int main(int argc, char** argv) {
  // [fit]
  const double truth[kUnknowns] = {2e4, 0.25, 2e-5, 0.18}, guess[kUnknowns] = {5e4, 0.1, 6e-5, 0.3};
  const auto system = soft::soft_bodies<double>(samples(guess));
  const auto arguments = [&](const double(&q)[kUnknowns]) {
    const soft::SoftModel model = samples(q);
    Arguments<double> at{soft::soft_state(model), {}, Parameters<double>(system->signature())};
    for (int j = 0; j < kUnknowns; ++j) at.parameters[std::string("material/cloth/") + kNames[j]][0] = q[j];
    return at;
  };
  std::vector<double> seen = tangents<double>(*system, {}, arguments(truth), {}).states;
  const std::size_t n = seen.size() / 2;  // positions; the rest are velocities
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, kNoise);
  for (std::size_t i = 0; i < n; ++i) seen[i] += noise(random);

  // Powers of e times the guess, so that all numbers are about one in size; Poisson's ratio as it is.
  const auto numbers = [&](const double* z, double(&q)[kUnknowns], double(&slope)[kUnknowns]) {
    for (int j = 0; j < kUnknowns; ++j) {
      q[j] = j == 1 ? z[j] : guess[j] * std::exp(z[j]);
      slope[j] = j == 1 ? 1 : q[j];
    }
  };
  const auto residuals = [&](const double* z, double* r, double* J) {
    double q[kUnknowns], slope[kUnknowns];
    numbers(z, q, slope);
    const Arguments<double> at = arguments(q);
    std::vector<Arguments<double>> along;
    for (int j = 0; J && j < kUnknowns; ++j) {
      along.push_back({{}, {}, at.parameters.zeros()});
      along.back().parameters[std::string("material/cloth/") + kNames[j]][0] = slope[j];
    }
    const auto run = tangents<double>(*system, {}, at, along);
    for (std::size_t i = 0; i < n; ++i) {
      r[i] = (run.states[i] - seen[i]) / kNoise;
      for (std::size_t j = 0; J && j < kUnknowns; ++j)
        J[i * kUnknowns + j] = run.rates[2 * n * j + i] / kNoise;
    }
  };
  const auto found = optim::minimize(
      optim::Residuals{int(n), residuals}, {0, guess[1], 0, 0},
      optim::LevenbergMarquardtOptions{.stopping = {.max_iterations = 20, .gradient_tolerance = 1e-3},
                                       .bounds = {{-3, -0.4, -3, -3}, {3, 0.48, 3, 3}}});
  // [/fit]
  // [bars]
  // Standard deviations: the diagonal of (J'J)^-1, times the slopes of the numbers.
  double q[kUnknowns], slope[kUnknowns], deviation[kUnknowns];
  numbers(found.x.data(), q, slope);
  std::vector<double> r(n), J(n * kUnknowns), normal(kUnknowns * kUnknowns);
  residuals(found.x.data(), r.data(), J.data());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t a = 0; a < kUnknowns; ++a)
      for (std::size_t b = 0; b < kUnknowns; ++b)
        normal[kUnknowns * a + b] += J[kUnknowns * i + a] * J[kUnknowns * i + b];
  solve::ldl_factorise(kUnknowns, normal.data());
  for (std::size_t j = 0; j < kUnknowns; ++j) {
    double column[kUnknowns] = {};
    column[j] = 1;
    solve::ldl_solve(kUnknowns, normal.data(), column);
    deviation[j] = slope[j] * std::sqrt(column[j]);
  }
  // [/bars]
  bool good = found.iterations <= 10;
  std::printf("%d numbers in, 4 out\n", int(n));
  for (int j = 0; j < kUnknowns; ++j) {
    const double off = std::abs(q[j] - truth[j]);
    std::printf("%-8s guess %-6.3g found %.3g +- %.1g %-6s truth %.3g\n", kNames[j], guess[j], q[j],
                deviation[j], kUnits[j], truth[j]);
    good = good && off < 0.02 * truth[j] && off < 4 * deviation[j];
  }
  if (argc > 1)
    draw(argv[1], seen, tangents<double>(*system, {}, arguments(guess), {}).states,
         tangents<double>(*system, {}, arguments(q), {}).states);
  return good ? 0 : 1;
}
