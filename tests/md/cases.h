// What several tests of molecules ask of a sample: the contract in both precisions, and how well it conserves
// its energy.
#pragma once

#include "tests/md/models.h"
#include "tests/system/contract.h"

namespace costate::md::test {

// `float_spread`: how far the start in float lies from the sample's places.
inline void expect_both_contracts(const Sample& s, double float_spread = 0.02) {
  const auto states = [&](const auto& rollout, unsigned seed) { return start(s, rollout, seed); };
  costate::test::expect_contract(make_system<double>(s.model), {.states = states,
                                                                .steps = 20,
                                                                .long_steps = 200,
                                                                .stencil_step = 1e-4,
                                                                .taylor_step = 3e-4,
                                                                .second_order_step = 1e-4});
  const auto near = [&](const auto& rollout, unsigned seed) { return start(s, rollout, seed, float_spread); };
  costate::test::expect_contract(make_system<float>(s.model),
                                 {.states = near, .steps = 20, .long_steps = 50});
}

// The contract over a few steps, in double: for tables of many models. `begin` is a sampler of states.
template <class Begin>
void expect_short_contract(const Sample& s, const Begin& begin) {
  costate::test::expect_contract(make_system<double>(s.model), {.states = begin,
                                                                .steps = 4,
                                                                .long_steps = 0,
                                                                .seeds = 1,
                                                                .stencil_step = 1e-4,
                                                                .taylor_step = 3e-4,
                                                                .second_order_step = 1e-4});
}

// The order of the largest change of the energy over the time 2 from begin(rollout): fitted to seven steps
// from dt to dt/8.
template <class Begin>
double energy_order(Sample s, double dt, const Begin& begin) {
  std::vector<double> steps, errors;
  for (int halves = 0; halves <= 6; ++halves) {
    const double step = dt * std::pow(2.0, -0.5 * halves);
    steps.push_back(step);
    s.model.dt = step;
    const auto system = make_system<double>(s.model);
    Rollout<double> rollout(system, {.steps = std::int64_t(std::lround(2 / step)), .keep = 1, .active = {}});
    const auto at = begin(rollout);
    const auto path = rollout.simulate(at);
    const auto n = std::size_t(system->signature().states()), lanes = std::size_t(system->lanes());
    const auto work = system->make_workspace();
    AlignedBuffer<double> x{std::int64_t(n * lanes)}, p{system->parameter_size()}, e{std::int64_t(lanes)};
    const auto& fields = system->signature().fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (std::int64_t i = 0; i < fields[f].size; ++i)
        std::fill_n(p.data() + (fields[f].offset + i) * std::int64_t(lanes), lanes,
                    at.parameters.values(f)[std::size_t(i)]);
    double first = 0, worst = 0;
    for (std::size_t k = 0; k < path.kept.size(); ++k) {
      for (std::size_t i = 0; i < n; ++i) std::fill_n(x.data() + i * lanes, lanes, path.states[k * n + i]);
      system->energy({x.data(), nullptr, p.data()}, e.data(), *work);
      if (k == 0) first = e.data()[0];
      worst = std::max(worst, std::abs(e.data()[0] - first));
    }
    errors.push_back(worst);
  }
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double x = std::log(steps[i]), y = std::log(errors[i]);
    sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  const double n = double(steps.size());
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

}  // namespace costate::md::test
