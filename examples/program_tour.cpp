// A Program from text and from a function, its reverse mode, and a run over many worlds.
#include <cstddef>
#include <cstdio>
#include <vector>

// [tour]
#include "costate/ad/derivative.h"
#include "costate/ad/executable.h"
#include "costate/ad/parse.h"
#include "costate/ad/record.h"
using namespace costate::ad;

int main() {
  // From text ...
  const Program rhs = parse_equations(
      "rate[0] = x[1]\n"
      "rate[1] = -g/l*sin(x[0]) + u",
      {{"x", 2}, {"u"}, {"g"}, {"l"}}, {{"rate", 2}});
  // ... or from a function of any scalar type.
  const Program same = record(
      [](auto x, auto u, auto g, auto l) {
        return std::array{x[1], -g[0] / l[0] * sin(x[0]) + u[0]};
      },
      Field{"x", 2}, Field{"u"}, Field{"g"}, Field{"l"});

  const Program reverse =
      vjp(rhs, {.active = {"x", "g"}});  // inputs x, u, g, l, rate_bar; outputs x_bar, g_bar
  const Program second = jvp(reverse);   // Hessian-vector products

  // Element i of world w is data[i * stride + w]; a broadcast block has one value for all worlds.
  constexpr int worlds = 1000;
  const double g = 9.81, l = 0.5;
  std::vector<double> x(2 * worlds, 0.3), u(worlds, 0.1), rate_bar(2 * worlds, 1.0), x_bar(2 * worlds),
      g_bar(worlds);
  const InputBlock<double> in[] = {
      {x.data(), worlds}, {u.data(), worlds}, {&g, 1, true}, {&l, 1, true}, {rate_bar.data(), worlds}};
  const OutputBlock<double> out[] = {{x_bar.data(), worlds}, {g_bar.data(), worlds}};

  const Executable run(reverse);
  std::vector<std::byte> scratch(run.scratch_bytes<double>());
  run.run<double>(in, out, worlds, scratch);  // allocates nothing
  std::printf("%s\nd/dx %.6f %.6f   d/dg %.6f   (%zu and %zu instructions)\n", to_string(rhs).c_str(),
              x_bar[0], x_bar[worlds], g_bar[0], run.instruction_count(),
              Executable(second).instruction_count());
  return to_string(rhs).size() > 0 && same.output_count() == 2 ? 0 : 1;
}
// [/tour]
