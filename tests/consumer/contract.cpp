// A physics that the engine does not know, held to the engine's own contract.
#include <costate/contract/contract.h>
#include <costate/costate.h>

TEST(OwnPhysics, KeepsTheContract) {
  using namespace costate;
  Signature fields;
  fields.state("angle", 1).state("rate", 1).control("torque", 1).parameter("length", 1.0);
  const auto pendulum = [](auto x, auto u, auto p) {
    return std::array{x[1], u[0] - 9.81 / p[0] * sin(x[0])};
  };
  test::expect_contract<double>(lambda_system<double, Sizes{.states = 2, .controls = 1, .parameters = 1}>(
                                    fields, pendulum, rk4(0.01), 1),
                                {});
}
