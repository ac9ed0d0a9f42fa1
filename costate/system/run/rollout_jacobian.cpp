// Rollout::jacobian: tangents along one input each, as many at once as a block has lanes. Always on the CPU.
#include <cstring>
#include <span>

#include "costate/core/error.h"
#include "costate/system/run/cpu_block.h"
#include "costate/system/run/rollout_impl.h"

namespace costate {
namespace {

// Whether the first world gives the same bits in every lane, moved along one generic direction. Noise is
// drawn for world + lane, so a physics that uses it does not.
template <class Real>
bool lanes_agree(CpuBlock<Real>& block, const System<Real>& system, const Arguments<Real>& arguments) {
  const int lanes = system.lanes();
  if (lanes == 1) return true;
  double golden = 0;  // multiples of the golden ratio, modulo 1
  const auto fill = [&](Real* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      golden += 0.618033988749895;
      if (golden > 1) golden -= 1;
      std::fill_n(to + i * lanes, lanes, static_cast<Real>(golden));
    }
  };
  block.load_copies(arguments, 0);
  fill(block.x0_dot(), system.signature().states());
  fill(block.p_dot(), system.signature().parameters());
  block.simulate_tangents(nullptr);
  for (const Real* result : {block.results().final_state, block.results().final_state_dot}) {
    for (std::int64_t j = 0; j < system.state_size(); ++j) {
      if (std::memcmp(result + j, result + j / lanes * lanes, sizeof(Real)) != 0) return false;
    }
  }
  return true;
}

// Numbers among (x0, p) that the Jacobian has columns for.
std::vector<std::int64_t> columns_of(const Signature& s, const Activity& activity) {
  std::vector<std::int64_t> columns;
  for (std::int64_t i = 0; i < s.states(); ++i) columns.push_back(i);
  for (std::size_t f = 0; f < activity.parameters.size(); ++f) {
    const Field& field = s.fields(Role::parameter)[f];
    for (std::int64_t i = 0; activity.parameters[f] && i < field.size; ++i)
      columns.push_back(s.states() + field.offset + i);
  }
  return columns;
}

}  // namespace

template <class Real>
std::vector<Real> Rollout<Real>::jacobian(const Arguments<Real>& arguments) {
  impl_->check_values(arguments);
  if (impl_->options.worlds != 1)
    throw Error("jacobian() is of a single world: make the rollout with worlds = 1");
  const System<Real>& system = *impl_->system;
  const std::int64_t n = system.signature().states();
  const int lanes = system.lanes();
  const std::vector<std::int64_t> columns = columns_of(system.signature(), impl_->activity);
  const auto count = static_cast<std::int64_t>(columns.size());
  std::vector<Real> matrix(n * count);
  Pool<CpuBlock<Real>> pool(
      [&] { return std::make_unique<CpuBlock<Real>>(system, impl_->options, impl_->activity); });
  // Every lane is the same world, moved along another direction; where noise tells lanes apart, lane 0 alone
  // is that world.
  auto probe = pool.take();
  const int directions = lanes_agree(*probe, system, arguments) ? lanes : 1;
  pool.give_back(std::move(probe));
  parallel_for(count, directions, [&](std::int64_t begin, std::int64_t end) {
    auto block = pool.take();
    block->load_copies(arguments, 0);
    for (std::int64_t c = begin; c < end; ++c) {
      const std::int64_t index = columns[c];
      Real* seed = index < n ? block->x0_dot() + index * lanes : block->p_dot() + (index - n) * lanes;
      seed[c - begin] = Real(1);
    }
    block->simulate_tangents(nullptr);
    const Real* end_dot = block->results().final_state_dot;
    for (std::int64_t c = begin; c < end; ++c) {
      for (std::int64_t i = 0; i < n; ++i) matrix[i * count + c] = end_dot[i * lanes + (c - begin)];
    }
    pool.give_back(std::move(block));
  });
  return matrix;
}

template std::vector<float> Rollout<float>::jacobian(const Arguments<float>&);
template std::vector<double> Rollout<double>::jacobian(const Arguments<double>&);

}  // namespace costate
