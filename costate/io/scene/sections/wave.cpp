// The section of waves on a grid (costate/grid/wave.h): [wave] says where they run, [start] u and v are
// formulas of x and y, the middles of the cells, and every named source is a control.
#include <cmath>

#include "costate/ad/executable.h"
#include "costate/core/aligned_buffer.h"
#include "costate/core/text.h"
#include "costate/grid/wave.h"
#include "costate/io/scene/section.h"
#include "costate/study/field_quantities.h"

namespace costate::io {
namespace {

constexpr long kMostCells = 4096;  // along one side

struct Pond {
  grid::WaveOptions options = {};
  double height = 1;  // of the picture, per displacement
};

// The water as a surface over its basin.
class WavePicture final : public study::Picture {
 public:
  explicit WavePicture(Pond pond) : pond_(std::move(pond)) {}

  void begin(const study::Inputs&) override {
    recording_ = {};
    surface_ = {.name = "water", .color = 0x4f86c6};
    const auto nx = std::uint32_t(pond_.options.nx), ny = std::uint32_t(pond_.options.ny);
    for (std::uint32_t j = 0; j + 1 < ny; ++j) {
      for (std::uint32_t i = 0; i + 1 < nx; ++i) {
        const std::uint32_t a = j * nx + i;
        surface_.triangles.insert(surface_.triangles.end(), {a, a + 1, a + nx, a + 1, a + nx + 1, a + nx});
      }
    }
  }
  void frame(double, const std::vector<double>& state) override {
    const auto& [o, height] = pond_;
    for (std::int64_t k = 0; k < o.nx * o.ny; ++k)
      surface_.vertices.insert(surface_.vertices.end(),
                               {float((double(k % o.nx) + 0.5) * o.dx),
                                float((double(k / o.nx) + 0.5) * o.dx), float(height * state[k])});
    ++recording_.frames;
  }
  void mark(const std::array<double, 3>&) override {}
  Recording finish() override {
    const grid::WaveOptions& o = pond_.options;
    const auto x = float(0.5 * double(o.nx) * o.dx), y = float(0.5 * double(o.ny) * o.dx),
               depth = 0.05F * (x + y);
    recording_.ground = -2 * depth;
    Body basin;
    basin.name = "basin";
    basin.shape.kind = Shape::Kind::box;
    basin.shape.size = {1.04F * x, 1.04F * y, 0.5F * depth};
    basin.color = 0xb9aa94;
    basin.poses = {{x, y, -1.5F * depth, 1, 0, 0, 0}};
    recording_.bodies.push_back(std::move(basin));
    recording_.meshes.push_back(std::move(surface_));
    return std::move(recording_);
  }

 private:
  Pond pond_;
  Recording recording_;
  Mesh surface_;
};

// u = "0.2*exp(-500*((x - 0.3)^2 + (y - 0.5)^2))" in every cell.
void read_field(const SceneFile& file, const char* key, const grid::WaveOptions& o, double* to) {
  const TomlValue* v = file.table_or_empty("start").find(key);
  if (!v) return;
  const ad::Executable code(parse_formula(file.document(), *v, {{"x", 1}, {"y", 1}}));
  AlignedBuffer<std::byte> scratch;
  scratch.reserve(std::int64_t(code.scratch_bytes<double>()));
  for (std::int64_t k = 0; k < o.nx * o.ny; ++k) {
    const double x = (double(k % o.nx) + 0.5) * o.dx, y = (double(k / o.nx) + 0.5) * o.dx;
    const ad::InputBlock<double> in[] = {{&x}, {&y}};
    const ad::OutputBlock<double> out[] = {{to + k}};
    code.run<double>(in, out, 1, {scratch.data(), std::size_t(scratch.capacity())});
    if (!std::isfinite(to[k])) file.fail(v->place, "this is not finite in cell " + std::to_string(k));
  }
}

}  // namespace

Draft read_wave(const SceneFile& file) {
  const TomlValue& w = file.table(*file.root().find("wave"), "wave");
  file.require_known_keys(w, {"cells", "dx", "speed", "damping", "sources", "height"}, "[wave]");
  file.require_known_keys(file.table_or_empty("start"), {"u", "v"}, "[start]");
  Pond pond;
  pond.height = file.positive_or(w, "height", 1);
  grid::WaveOptions& o = pond.options;
  const TomlValue& cells = file.required(w, "cells", "[wave]", "add the number of cells: cells = [96, 64]");
  if (file.numbers(cells, "cells").size() != 2) file.fail(cells.place, "cells are two numbers: [96, 64]");
  o.nx = file.count(cells.items[0], "cells", kMostCells);
  o.ny = file.count(cells.items[1], "cells", kMostCells);
  o.dx = file.positive(file.required(w, "dx", "[wave]", "add the width of a cell: dx = 0.01"), "dx");
  o.speed = file.positive_or(w, "speed", 1);
  o.damping = file.not_negative_or(w, "damping", 0);
  Draft draft;
  const TomlValue* sources = w.find("sources");
  for (std::size_t i = 0; sources && i < file.table(*sources, "sources").keys.size(); ++i) {
    const TomlValue& v = sources->items[i];
    const std::vector<double> at = file.numbers(v, "the cell of a source");
    if (at.size() != 2 || at[0] < 0 || at[0] >= double(o.nx) || at[1] < 0 || at[1] >= double(o.ny))
      file.fail(v.place, "a source is at a cell of the grid: [column, row], from 0");
    o.sources.push_back(std::int64_t(at[1]) * o.nx + std::int64_t(at[0]));
    draft.drivable.push_back({.name = sources->keys[i], .control = i});
  }
  study::Setup& setup = draft.setup;
  // Half of what is stable.
  read_run(file, 0.35 * o.dx / o.speed, 1, setup);
  o.dt = setup.dt;
  setup.signature = grid::wave<double>(o)->signature();
  setup.system = study::any_system([o](auto real) {
    return std::shared_ptr<const System<decltype(real)>>(grid::wave<decltype(real)>(o));
  });
  const std::int64_t count = o.nx * o.ny;
  setup.inputs.x0.assign(2 * count, 0.0);
  read_field(file, "u", o, setup.inputs.x0.data());
  read_field(file, "v", o, setup.inputs.x0.data() + count);
  setup.headline = std::to_string(o.nx) + " x " + std::to_string(o.ny) + " cells, " +
                   std::to_string(setup.steps) + " steps of " + number(setup.dt) + " s";
  setup.facts = {{"cells", std::to_string(o.nx) + " x " + std::to_string(o.ny)},
                 {"dt", number(setup.dt)},
                 {"steps", std::to_string(setup.steps)}};
  setup.identity = setup.headline;
  setup.quantities =
      std::make_shared<study::FieldQuantities>(setup.signature, std::vector<study::RowGroup>{});
  setup.picture = std::make_shared<WavePicture>(pond);
  setup.stencil = {.step = 1e-3, .gate = 1e-8};
  draft.dimension = 2;
  return draft;
}

}  // namespace costate::io
