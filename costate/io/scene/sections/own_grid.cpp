// [grid] with equation = "own": an equation of the user's as text (costate/grid/cell_equation.h).
//
//   rates = {c = "D*lap_c - w*c_x + r*c*(1 - c)"}
//   parameters = {D = 0.01, r = 1.0, w = "0.3*sin(y)"}     numbers, or formulas of x and y: one per cell
//   controls = ["push"]                                    names that [controls] drives
//   sides = {west = "closed", east = "zero"}               others are periodic
#include "costate/io/scene/sections/own_grid.h"

#include "costate/core/text.h"
#include "costate/grid/cell_equation.h"
#include "costate/io/scene/sections/field_picture.h"
#include "costate/io/scene/sections/surface_picture.h"
#include "costate/study/field_quantities.h"

namespace costate::io {
namespace {

void read_sides(const SceneFile& file, const TomlValue& table, grid::CellEquation& o) {
  using Side = grid::CellEquation::Side;
  const TomlValue* sides = table.find("sides");
  const char* const names[] = {"west", "east", "south", "north"};
  for (std::size_t i = 0; sides && i < file.table(*sides, "sides").keys.size(); ++i) {
    const auto side = std::ranges::find(names, sides->keys[i]);
    if (side == std::end(names))
      file.fail(sides->key_places[i], "there is no side '" + sides->keys[i] + "'",
                "there is west, east, south, north");
    const std::string kind = file.string(sides->items[i], "a side");
    if (kind != "periodic" && kind != "closed" && kind != "zero")
      file.fail(sides->items[i].place, "there is no kind of side '" + kind + "'",
                "there is periodic, closed, zero");
    o.sides[std::size_t(side - names)] = kind == "periodic" ? Side::periodic
                                         : kind == "closed" ? Side::closed
                                                            : Side::zero;
  }
}

}  // namespace

Draft read_own_grid(const SceneFile& file, const TomlValue& table, const GridCells& in_every_cell) {
  file.require_known_keys(table,
                          {"equation", "cells", "dx", "rates", "parameters", "controls", "sides", "height"},
                          "[grid] of 'own'");
  const double height = file.positive_or(table, "height", 1);
  grid::CellEquation o{.nx = in_every_cell.nx, .ny = in_every_cell.ny, .dx = in_every_cell.dx, .fields = {}};
  const TomlValue& rates = file.table(
      file.required(table, "rates", "[grid]", "add the rate of every field: rates = {c = \"0.1*lap_c\"}"),
      "rates");
  for (std::size_t i = 0; i < rates.keys.size(); ++i)
    o.fields.push_back({rates.keys[i], file.string(rates.items[i], "a rate")});
  const TomlValue* parameters = table.find("parameters");
  for (std::size_t i = 0; parameters && i < file.table(*parameters, "parameters").keys.size(); ++i) {
    const TomlValue& v = parameters->items[i];
    if (v.is(TomlValue::Kind::string))
      o.parameters.push_back({parameters->keys[i], in_every_cell(v), true});
    else
      o.parameters.push_back({parameters->keys[i], file.number(v, parameters->keys[i])});
  }
  Draft draft;
  if (const TomlValue* controls = table.find("controls")) {
    if (!controls->is(TomlValue::Kind::array)) file.fail(controls->place, "controls is a list of names");
    for (const TomlValue& v : controls->items) {
      o.controls.push_back(file.string(v, "the name of a control"));
      draft.drivable.push_back({.name = o.controls.back(), .control = o.controls.size() - 1});
    }
  }
  read_sides(file, table, o);
  study::Setup& setup = draft.setup;
  read_run(file, o.dt, 1, setup);
  o.dt = setup.dt;
  setup.signature = file.told_at(table.place, [&] { return grid::cell_equation<double>(o)->signature(); });
  setup.system = study::any_system([o](auto real) {
    return std::shared_ptr<const System<decltype(real)>>(grid::cell_equation<decltype(real)>(o));
  });
  if (table.find("height"))
    setup.picture = std::make_shared<SurfacePicture>(o.nx, o.ny, o.dx,
                                                     setup.signature.fields(Role::state)[0].name, height);
  else
    setup.picture = std::make_shared<FieldPicture>(o.nx, o.ny, o.dx, setup.signature);
  setup.stencil = {.step = 1e-3, .gate = 1e-8};
  draft.dimension = 2;
  return draft;
}

}  // namespace costate::io
