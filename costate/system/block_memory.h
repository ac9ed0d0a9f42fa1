// Plain moves of a block's numbers.
#pragma once

#include <cstdint>
#include <cstring>

namespace costate {

template <class Real>
void fill_zero(Real* to, std::int64_t count) {
  if (count > 0) std::memset(to, 0, static_cast<std::size_t>(count) * sizeof(Real));
}
template <class Real>
void copy(Real* to, const Real* from, std::int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Real));
}

}  // namespace costate
