#include "costate/mpm/laws/law.h"

#include <cmath>

#include "costate/core/text.h"

namespace costate::mpm {

std::span<const Law* const> laws() {
#define COSTATE_LIST(kind) &Law::kind,
  static constexpr const Law* kLaws[] = {COSTATE_MPM_LAWS(COSTATE_LIST)};
#undef COSTATE_LIST
  return kLaws;
}

const Law& law_of(MaterialKind kind) { return *laws()[static_cast<std::size_t>(kind)]; }

const Number* Law::find(const std::string& number) const {
  for (const Number& n : numbers)
    if (number == n.name) return &n;
  return nullptr;
}

std::string objection(const Material& material) {
  for (const Number& n : law_of(material.kind).numbers) {
    const double value = material.*n.value;
    const ParameterRange& r = n.range;
    if (std::isfinite(value) && r.holds(value)) continue;
    std::string wanted = n.name;
    if (std::isfinite(r.low) && std::isfinite(r.high))
      wanted = number(r.low, 4) + (r.open ? " < " : " <= ") + n.name;
    else if (std::isfinite(r.low))
      wanted += (r.open ? " > " : " >= ") + number(r.low, 4);
    if (std::isfinite(r.high)) wanted += " < " + number(r.high, 4);
    if (wanted == n.name) wanted = std::string("a finite ") + n.name;
    return "needs " + wanted + ", not " + number(value, 4);
  }
  return {};
}

double pressure_wave_speed(const Material& m) {
  const double mu = m.E / (2 * (1 + m.nu)), lambda = m.E * m.nu / ((1 + m.nu) * (1 - 2 * m.nu));
  return std::sqrt((lambda + 2 * mu) / m.density);
}

}  // namespace costate::mpm
