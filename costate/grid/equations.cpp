#include "costate/grid/equations.h"

#include <cmath>

#include "costate/core/text.h"
#include "costate/grid/burgers.h"
#include "costate/grid/gray_scott.h"
#include "costate/grid/heat.h"
#include "costate/grid/shallow_water.h"
#include "costate/grid/wave.h"

namespace costate::grid {
namespace {

double number_of(const GridSpec& s, const char* name) { return s.parameters.at(name).values.front(); }

// --- wave ------------------------------------------------------------------------------------------

double stable_wave(const GridSpec& s) {
  const double speed = s.parameters.at("speed").largest(), damping = number_of(s, "damping");
  const double waves = speed > 0 ? 0.7 * s.dx / speed : s.dx;
  return damping > 0 ? std::min(waves, 1 / damping) : waves;
}
template <class Real>
std::shared_ptr<System<Real>> make_wave(const GridSpec& s) {
  return wave<Real>({s.nx, s.ny, s.dx, s.dt, s.parameters.at("speed"), number_of(s, "damping"), s.sources});
}

// --- heat ------------------------------------------------------------------------------------------

double stable_heat(const GridSpec& s) {
  return number_of(s, "capacity") * s.dx * s.dx / (4 * s.parameters.at("conductivity").largest());
}
HeatSide heat_side(const GridSpec& s, const char* name) {
  const auto& [kind, value] = s.sides.at(name);
  using Kind = HeatSide::Kind;
  return {kind == "temperature" ? Kind::temperature
          : kind == "gradient"  ? Kind::gradient
                                : Kind::periodic,
          value};
}
template <class Real>
std::shared_ptr<System<Real>> make_heat(const GridSpec& s) {
  return heat<Real>({s.nx, s.ny, s.dx, s.dt, s.parameters.at("conductivity"), number_of(s, "capacity"),
                     s.parameters.at("source"), heat_side(s, "west"), heat_side(s, "east"),
                     heat_side(s, "south"), heat_side(s, "north"), s.sources});
}

// --- shallow water ----------------------------------------------------------------------------------

double stable_shallow_water(const GridSpec& s) {
  return std::sqrt(0.5 / (number_of(s, "gravity") * s.parameters.at("depth").largest())) * s.dx;
}
bool periodic(const GridSpec& s, const char* side, const char* opposite) {
  const bool wraps = s.sides.at(side).first == "periodic";
  if (wraps != (s.sides.at(opposite).first == "periodic"))
    throw Error({"one side is periodic and the opposite one is not", {}, "make both periodic, or neither"});
  return wraps;
}
template <class Real>
std::shared_ptr<System<Real>> make_shallow_water(const GridSpec& s) {
  return shallow_water<Real>({s.nx, s.ny, s.dx, s.dt, s.parameters.at("depth"), number_of(s, "gravity"),
                              number_of(s, "drag"), number_of(s, "rotation"), periodic(s, "west", "east"),
                              periodic(s, "south", "north"), s.sources});
}

// --- Burgers ----------------------------------------------------------------------------------------

double stable_burgers(const GridSpec& s) {
  const double viscosity = number_of(s, "viscosity");
  return viscosity > 0 ? std::min(s.dx, s.dx * s.dx / (2 * viscosity)) : s.dx;
}
void refuse_sources(const GridSpec& s) {
  if (!s.sources.empty())
    throw Error({"'burgers' has no sources that are driven",
                 {},
                 "give it the parameter 'source', one number per cell"});
}
template <class Real>
std::shared_ptr<System<Real>> make_burgers(const GridSpec& s) {
  refuse_sources(s);
  return burgers<Real>({s.nx, s.ny, s.dx, s.dt, number_of(s, "viscosity"), s.parameters.at("source")});
}

// --- reaction and diffusion -------------------------------------------------------------------------

double stable_gray_scott(const GridSpec& s) {
  const double fastest = std::max(number_of(s, "diffusivity_u"), number_of(s, "diffusivity_v"));
  const double spreading = fastest > 0 ? s.dx * s.dx / (4 * fastest) : 2.0;
  return std::min(spreading, 2.0);
}
template <class Real>
std::shared_ptr<System<Real>> make_gray_scott(const GridSpec& s) {
  return gray_scott<Real>({s.nx, s.ny, s.dx, s.dt, s.parameters.at("feed"), number_of(s, "kill"),
                           number_of(s, "diffusivity_u"), number_of(s, "diffusivity_v"), s.sources});
}

// ----------------------------------------------------------------------------------------------------

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}
[[noreturn]] void unknown(const std::string& what, const std::string& given,
                          const std::vector<std::string>& names) {
  throw Error({"there is no " + what + " '" + given + "'", {}, "there is " + list(names)});
}

const char* const kSides[4] = {"west", "east", "south", "north"};

void complete_sides(const Equation& e, GridSpec& spec) {
  for (const auto& [name, side] : spec.sides) {
    if (e.sides.empty())
      throw Error({std::string("the sides of '") + e.name + "' cannot be chosen", {}, "leave them out"});
    if (std::ranges::find(kSides, name) == std::end(kSides))
      unknown("side", name, {"west, east, south, north"});
    if (std::ranges::find(e.sides, side.first) == e.sides.end()) unknown("kind of side", side.first, e.sides);
  }
  for (const char* name : kSides) {
    if (!e.sides.empty()) spec.sides.try_emplace(name, e.sides.front(), 0.0);
  }
}

}  // namespace

const std::vector<Equation>& equations() {
  static const std::vector<Equation> kEquations = {
      {"wave",
       {{"speed", 1, true}, {"damping", 0, false}},
       {},
       stable_wave,
       make_wave<float>,
       make_wave<double>},
      {"heat",
       {{"conductivity", 1, true}, {"source", 0, true}, {"capacity", 1, false}},
       {"gradient", "temperature", "periodic"},
       stable_heat,
       make_heat<float>,
       make_heat<double>},
      {"shallow_water",
       {{"depth", 1, true}, {"gravity", 9.81, false}, {"drag", 0, false}, {"rotation", 0, false}},
       {"wall", "periodic"},
       stable_shallow_water,
       make_shallow_water<float>,
       make_shallow_water<double>},
      {"burgers",
       {{"source", 0, true}, {"viscosity", 0.01, false}},
       {},
       stable_burgers,
       make_burgers<float>,
       make_burgers<double>},
      {"gray_scott",
       {{"feed", 0.04, true},
        {"kill", 0.06, false},
        {"diffusivity_u", 0.16, false},
        {"diffusivity_v", 0.08, false}},
       {},
       stable_gray_scott,
       make_gray_scott<float>,
       make_gray_scott<double>}};
  return kEquations;
}

const Equation& equation(const std::string& name) {
  std::vector<std::string> names;
  for (const Equation& e : equations()) {
    if (e.name == name) return e;
    names.emplace_back(e.name);
  }
  unknown("equation", name, names);
}

GridSpec complete(GridSpec spec) {
  const Equation& e = equation(spec.equation);
  std::vector<std::string> names;
  for (const Equation::Parameter& p : e.parameters) {
    names.emplace_back(p.name);
    const auto& [at, added] = spec.parameters.try_emplace(p.name, p.value);
    if (!p.per_cell && at->second.values.size() != 1)
      throw Error({std::string("'") + p.name + "' is one number", {}, "it is the same in all cells"});
    if (at->second.values.empty()) throw Error(std::string("'") + p.name + "' has no numbers");
  }
  for (const auto& [name, values] : spec.parameters) {
    if (std::ranges::find(names, name) == names.end())
      unknown(std::string("parameter of '") + e.name + "'", name, names);
  }
  complete_sides(e, spec);
  if (spec.dt == 0) spec.dt = 0.5 * e.stable_dt(spec);
  return spec;
}

template <class Real>
std::shared_ptr<System<Real>> make_system(const GridSpec& given) {
  const GridSpec spec = complete(given);
  const Equation& e = equation(spec.equation);
  if constexpr (sizeof(Real) == 4)
    return e.in_float(spec);
  else
    return e.in_double(spec);
}
template std::shared_ptr<System<float>> make_system<float>(const GridSpec&);
template std::shared_ptr<System<double>> make_system<double>(const GridSpec&);

}  // namespace costate::grid
