// The section of fields on a grid (costate/grid/equations.h): [grid] says which equation, where, and with
// which parameters, as numbers or as formulas of x and y, the middle of a cell. [start] gives the fields in
// the same way. Every named source is a control.
#include <cmath>

#include "costate/ad/executable.h"
#include "costate/core/aligned_buffer.h"
#include "costate/core/text.h"
#include "costate/grid/equations.h"
#include "costate/io/scene/section.h"
#include "costate/io/scene/sections/field_picture.h"
#include "costate/io/scene/sections/own_grid.h"
#include "costate/io/scene/sections/surface_picture.h"
#include "costate/study/field_quantities.h"

namespace costate::io {
namespace {

constexpr long kMostCells = 4096;  // along one side

// "0.2*exp(-500*((x - 0.3)^2 + (y - 0.5)^2))" in every cell.
std::vector<double> in_every_cell(const SceneFile& file, const TomlValue& v, const grid::GridSpec& spec) {
  const ad::Executable code(parse_formula(file.document(), v, {{"x", 1}, {"y", 1}}));
  AlignedBuffer<std::byte> scratch;
  scratch.reserve(std::int64_t(code.scratch_bytes<double>()));
  std::vector<double> values(std::size_t(spec.nx * spec.ny));
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double x = (double(std::int64_t(k) % spec.nx) + 0.5) * spec.dx,
                 y = (double(std::int64_t(k) / spec.nx) + 0.5) * spec.dx;
    const ad::InputBlock<double> in[] = {{&x}, {&y}};
    const ad::OutputBlock<double> out[] = {{&values[k]}};
    code.run<double>(in, out, 1, {scratch.data(), std::size_t(scratch.capacity())});
    if (!std::isfinite(values[k])) file.fail(v.place, "this is not finite in cell " + std::to_string(k));
  }
  return values;
}

void read_cells(const SceneFile& file, const TomlValue& table, grid::GridSpec& spec) {
  const TomlValue& cells =
      file.required(table, "cells", "[grid]", "add the number of cells: cells = [96, 64]");
  if (file.numbers(cells, "cells").size() != 2) file.fail(cells.place, "cells are two numbers: [96, 64]");
  spec.nx = file.count(cells.items[0], "cells", kMostCells);
  spec.ny = file.count(cells.items[1], "cells", kMostCells);
  spec.dx = file.positive(file.required(table, "dx", "[grid]", "add the width of a cell: dx = 0.01"), "dx");
}

// A parameter per cell is a number or a formula, any other one a number.
void read_values(const SceneFile& file, const TomlValue& table, const grid::Equation& equation,
                 grid::GridSpec& spec) {
  for (const grid::Equation::Parameter& p : equation.parameters) {
    const TomlValue* v = table.find(p.name);
    if (!v) continue;
    if (p.per_cell && v->is(TomlValue::Kind::string))
      spec.parameters.emplace(p.name, in_every_cell(file, *v, spec));
    else
      spec.parameters.emplace(p.name, file.number(*v, p.name));
  }
}

// sides = {west = {temperature = 20.0}, south = "periodic", north = "periodic"}
void read_sides(const SceneFile& file, const TomlValue& table, grid::GridSpec& spec) {
  const TomlValue* sides = table.find("sides");
  for (std::size_t i = 0; sides && i < file.table(*sides, "sides").keys.size(); ++i) {
    const TomlValue& v = sides->items[i];
    if (v.is(TomlValue::Kind::string)) {
      spec.sides[sides->keys[i]] = {v.text, 0.0};
    } else if (file.table(v, "a side").keys.size() == 1) {
      spec.sides[sides->keys[i]] = {v.keys[0], file.number(v.items[0], v.keys[0])};
    } else {
      file.fail(v.place, "a side has one kind", "write west = {temperature = 20.0}, or west = \"periodic\"");
    }
  }
}

void read_sources(const SceneFile& file, const TomlValue& table, grid::GridSpec& spec, Draft& draft) {
  const TomlValue* sources = table.find("sources");
  for (std::size_t i = 0; sources && i < file.table(*sources, "sources").keys.size(); ++i) {
    const TomlValue& v = sources->items[i];
    const std::vector<double> at = file.numbers(v, "the cell of a source");
    if (at.size() != 2 || at[0] < 0 || at[0] >= double(spec.nx) || at[1] < 0 || at[1] >= double(spec.ny))
      file.fail(v.place, "a source is at a cell of the grid: [column, row], from 0");
    spec.sources.push_back(std::int64_t(at[1]) * spec.nx + std::int64_t(at[0]));
    draft.drivable.push_back({.name = sources->keys[i], .control = i});
  }
}

void read_start(const SceneFile& file, const grid::GridSpec& spec, study::Setup& setup) {
  const TomlValue& start = file.table_or_empty("start");
  std::vector<std::string> fields;
  for (const Field& f : setup.signature.fields(Role::state)) fields.push_back(f.name);
  file.require_known_keys(start, fields, "[start]");
  for (const Field& f : setup.signature.fields(Role::state)) {
    const TomlValue* v = start.find(f.name);
    const std::vector<double> values =
        v ? in_every_cell(file, *v, spec) : std::vector<double>(std::size_t(f.size));
    setup.inputs.x0.insert(setup.inputs.x0.end(), values.begin(), values.end());
  }
}

// [start], and what is said about the run.
void describe(const SceneFile& file, const grid::GridSpec& spec, study::Setup& setup) {
  read_start(file, spec, setup);
  const std::string size = std::to_string(spec.nx) + " x " + std::to_string(spec.ny);
  setup.headline = size + " cells, " + std::to_string(setup.steps) + " steps of " + number(setup.dt) + " s";
  setup.facts = {{"equation", spec.equation},
                 {"cells", size},
                 {"dt", number(setup.dt)},
                 {"steps", std::to_string(setup.steps)}};
  setup.identity = setup.headline;
  setup.quantities =
      std::make_shared<study::FieldQuantities>(setup.signature, std::vector<study::RowGroup>{});
}

}  // namespace

Draft read_grid(const SceneFile& file) {
  const TomlValue& table = file.table(*file.root().find("grid"), "grid");
  grid::GridSpec spec;
  const TomlValue& name =
      file.required(table, "equation", "[grid]", "add which equation: equation = \"wave\"");
  spec.equation = file.string(name, "equation");
  if (spec.equation == "own") {
    read_cells(file, table, spec);
    Draft draft = read_own_grid(file, table, {spec.nx, spec.ny, spec.dx, [&](const TomlValue& v) {
                                                return in_every_cell(file, v, spec);
                                              }});
    describe(file, spec, draft.setup);
    return draft;
  }
  const grid::Equation& equation =
      file.told_at(name.place, [&]() -> const grid::Equation& { return grid::equation(spec.equation); });
  std::vector<std::string> known = {"equation", "cells", "dx", "sides", "sources", "height"};
  for (const grid::Equation::Parameter& p : equation.parameters) known.emplace_back(p.name);
  file.require_known_keys(table, known, "[grid] of '" + spec.equation + "'");
  const double height = file.positive_or(table, "height", 1);
  read_cells(file, table, spec);
  read_values(file, table, equation, spec);
  read_sides(file, table, spec);
  Draft draft;
  read_sources(file, table, spec, draft);
  study::Setup& setup = draft.setup;
  file.told_at(table.place, [&] {
    spec = grid::complete(spec);
    return 0;
  });
  read_run(file, spec.dt, 1, setup);
  spec.dt = setup.dt;
  setup.signature = file.told_at(table.place, [&] { return grid::make_system<double>(spec)->signature(); });
  setup.system = study::any_system([spec](auto real) {
    return std::shared_ptr<const System<decltype(real)>>(grid::make_system<decltype(real)>(spec));
  });
  describe(file, spec, setup);
  if (table.find("height"))
    setup.picture = std::make_shared<SurfacePicture>(
        spec.nx, spec.ny, spec.dx, setup.signature.fields(Role::state).front().name, height);
  else
    setup.picture = std::make_shared<FieldPicture>(spec.nx, spec.ny, spec.dx, setup.signature);
  setup.stencil = {.step = 1e-3, .gate = 1e-8};
  draft.dimension = 2;
  return draft;
}

}  // namespace costate::io
