#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/io/scene_reader.h"
#include "costate/mpm/system.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;
constexpr double kDegree = 3.14159265358979323846 / 180;
constexpr int kMostColumns = 1 << 20;

}  // namespace

void SceneReader::read_losses() {
  const std::vector<TomlValue>* list = tables("loss", 64);
  if (!list) return;
  for (const TomlValue& v : *list) scene_.losses.push_back(read_loss(v));
}

Region SceneReader::read_region(const TomlValue& v) const {
  table(v, "region");
  static const std::vector<std::string> kKinds = {"box", "sphere", "cylinder"};
  const std::string& kind =
      choice(required(v, "kind", "this region", "add kind = \"cylinder\""), "kind of region", kKinds);
  Region r;
  r.centre = vector(required(v, "centre", "this region", "add centre = [0.1, 0.1, 0.1]"), "centre");
  const auto size = [&](const char* key) {
    return positive(required(v, key, "a " + kind, std::string("add ") + key + " = 0.05"), key);
  };
  if (kind == "box") {
    document_.require_known_keys(v, {"kind", "centre", "half"}, "a box");
    r.size =
        vector(required(v, "half", "a box", "add its half extents: half = [0.1, 0.1, 0.1]"), "half", true);
  } else if (kind == "sphere") {
    document_.require_known_keys(v, {"kind", "centre", "radius"}, "a sphere");
    r.kind = Region::Kind::sphere;
    r.size = {size("radius"), 0, 0};
  } else {
    document_.require_known_keys(v, {"kind", "centre", "radius", "half_height"}, "a cylinder");
    r.kind = Region::Kind::cylinder;
    r.size = {size("radius"), size("half_height"), 0};
  }
  return r;
}

LossTerm SceneReader::read_loss(const TomlValue& v) const {
  static const std::vector<std::string> kKinds = {"in_region", "spilled", "centre_of_mass", "match_particles",
                                                  "height_field"};
  const std::string& kind =
      choice(required(v, "kind", "this loss", "add kind = \"in_region\""), "kind of loss", kKinds);
  LossTerm term;
  term.kind = LossTerm::Kind(std::find(kKinds.begin(), kKinds.end(), kind) - kKinds.begin());
  term.name = v.find("name") ? string(*v.find("name"), "name") : kind;
  std::vector<std::string> known = {"kind", "name", "weight", "material", "at", "from", "to", "every"};
  const auto also = [&](std::vector<std::string> keys) {
    known.insert(known.end(), keys.begin(), keys.end());
    document_.require_known_keys(v, known, "a loss of kind " + kind);
  };
  term.weight = v.find("weight") ? positive(*v.find("weight"), "weight") : 1;
  if (const TomlValue* m = v.find("material")) term.material = material(*m);
  term.steps = read_steps(v, scene_.duration, scene_.steps);
  switch (term.kind) {
    case LossTerm::Kind::in_region:
    case LossTerm::Kind::spilled:
      also(term.kind == LossTerm::Kind::spilled ? std::vector<std::string>{"region", "width", "height"}
                                                : std::vector<std::string>{"region", "width"});
      term.region =
          read_region(required(v, "region", "this loss", "add region = {kind = \"cylinder\", ...}"));
      term.width = v.find("width") ? positive(*v.find("width"), "width") : scene_.model.dx;
      if (term.kind == LossTerm::Kind::spilled)
        term.height =
            number(required(v, "height", "this loss", "add the height below which it counts: height = 0.1"),
                   "height");
      break;
    case LossTerm::Kind::centre_of_mass: {
      also({"target", "axes"});
      term.target = vector(required(v, "target", "this loss", "add target = [0.3, 0.2, 0.1]"), "target");
      if (const TomlValue* axes = v.find("axes")) {
        const std::string& text = string(*axes, "axes");
        const std::string all = std::string("xyz").substr(0, std::size_t(scene_.model.dimension));
        if (text.empty() || text.find_first_not_of(all) != std::string::npos)
          document_.fail(axes->place, "axes are some of \"" + all + "\"");
        for (std::size_t a = 0; a < 3; ++a) term.axes[a] = text.find("xyz"[a]) != std::string::npos;
      }
      break;
    }
    case LossTerm::Kind::match_particles:
      also({"recording"});
      read_match(v, term);
      break;
    case LossTerm::Kind::height_field:
      also({"first", "columns", "column_width", "heights"});
      read_height_field(v, term);
      break;
  }
  return term;
}

// The last frame of a recording with as many particles as the scene, in the same order.
void SceneReader::read_match(const TomlValue& v, LossTerm& term) const {
  const TomlValue& file = required(v, "recording", "this loss", "add recording = \"target.rec\"");
  std::string path = string(file, "recording");
  if (const std::size_t slash = document_.name().rfind('/');
      slash != std::string::npos && !path.starts_with('/'))
    path = document_.name().substr(0, slash + 1) + path;
  Recording r;
  try {
    r = read_recording(path);
  } catch (const Error& error) {
    document_.fail(file.place, error.message().what, path);
  }
  const mpm::Model& model = scene_.model;
  const std::size_t count = r.particles.material.size();
  if (std::int64_t(count) != mpm::particle_count(model))
    document_.fail(file.place, "the recording has " + std::to_string(count) + " particles, the scene " +
                                   std::to_string(mpm::particle_count(model)));
  const float* last = r.particles.positions.data() + std::size_t(r.frames - 1) * count * 3;
  for (std::size_t i = 0; i < count; ++i) {
    if (term.material >= 0 && model.particles.material[i] != term.material) continue;
    for (std::size_t a = 0; a < std::size_t(model.dimension); ++a) term.targets.push_back(last[3 * i + a]);
  }
}

void SceneReader::read_height_field(const TomlValue& v, LossTerm& term) const {
  const std::size_t axes = scene_.model.dimension == 2 ? 1 : 2;
  const TomlValue& first = required(v, "first", "this loss", "add the middle of the first column");
  const TomlValue& columns = required(v, "columns", "this loss", "add the number of columns along x (and z)");
  const TomlValue& heights =
      required(v, "heights", "this loss", "add heights = [...]: one per column, z fastest");
  const std::vector<double> at = numbers(first, "first"), counts = numbers(columns, "columns");
  if (at.size() != axes) document_.fail(first.place, "first must be " + std::to_string(axes) + " numbers");
  if (counts.size() != axes)
    document_.fail(columns.place, "columns must be " + std::to_string(axes) + " numbers");
  std::int64_t total = 1;
  for (std::size_t k = 0; k < axes; ++k) {
    term.first_column[k] = at[k];
    term.columns[k] = int(count(columns.items[k], "columns", kMostColumns));
    total *= term.columns[k];
  }
  term.column_width =
      positive(required(v, "column_width", "this loss", "add column_width = 0.02"), "column_width");
  term.targets = numbers(heights, "heights");
  if (std::int64_t(term.targets.size()) != total)
    document_.fail(heights.place, "there are " + std::to_string(term.targets.size()) + " heights for " +
                                      std::to_string(total) + " columns");
}

std::size_t SceneReader::motion(const TomlValue& v, const std::string& name) const {
  std::vector<std::string> names;
  for (const Motion& m : scene_.motions) names.push_back(m.collider);
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end())
    document_.fail(v.place, "there is no collider '" + name + "' that moves", suggestion(name, names));
  return std::size_t(at - names.begin());
}

void SceneReader::read_regularisers() {
  const std::vector<TomlValue>* list = tables("regularise", 64);
  if (!list) return;
  for (const TomlValue& v : *list) {
    document_.require_known_keys(v, {"kind", "collider", "weight", "of", "limit_deg"}, "[[regularise]]");
    Regulariser r;
    const std::string& kind = choice(required(v, "kind", "this regulariser", "add kind = \"jerk\""),
                                     "kind of regulariser", {"jerk", "overshoot"});
    const TomlValue& who =
        required(v, "collider", "this regulariser", "add the name of a collider that moves");
    r.motion = motion(who, string(who, "collider"));
    r.weight = v.find("weight") ? positive(*v.find("weight"), "weight") : 1;
    if (kind == "overshoot") {
      r.kind = Regulariser::Kind::overshoot;
      r.limit = kDegree * number(required(v, "limit_deg", "overshoot",
                                          "add the largest angle that costs nothing: limit_deg = 100"),
                                 "limit_deg");
      if (const TomlValue* of = v.find("of"))
        document_.fail(of->place, "overshoot is always that of the angle");
    } else {
      if (const TomlValue* l = v.find("limit_deg")) document_.fail(l->place, "jerk has no limit");
      if (const TomlValue* of = v.find("of")) {
        const std::string& part = choice(*of, "path", {"position", "angle"});
        r.position = part == "position";
        r.angle = part == "angle";
      }
    }
    scene_.regularisers.push_back(r);
  }
}

void SceneReader::read_optimize() {
  const TomlValue* found = root_.find("optimize");
  if (!found) return;
  const TomlValue& o = table(*found, "optimize");
  SceneOptimize& optimize = scene_.optimize.emplace();
  for (const TomlValue& v :
       SceneTables::read_optimize(o, "{name = \"jug.angle\", scale = 0.1}", scene_.model.dt, scene_.steps,
                                  optimize, scene_.checkpoints))
    read_variable(v);
  if (scene_.losses.empty()) document_.fail(o.place, "there is no loss to optimise", "add [[loss]]");
}

// {name = "jug.position", axes = "xy", scale = 0.02, fixed_first = 1, lower = ..., upper = ...}, "jug.angle" or "parameters.NAME".
void SceneReader::read_variable(const TomlValue& v) {
  document_.require_known_keys(v, {"name", "axes", "scale", "fixed_first", "fixed_last", "lower", "upper"},
                               "a variable");
  std::vector<SceneVariable>& variables = scene_.optimize->variables;
  const TomlValue& place = required(v, "name", "this variable", "add name = \"jug.angle\"");
  const std::string& name = string(place, "name");
  const std::size_t dot = name.find('.');
  SceneVariable base = read_bounds(v);
  const auto add = [&](const SceneVariable& variable) { add_variable(v, variable, *scene_.optimize); };
  if (dot == std::string::npos)
    document_.fail(place.place, "'" + name + "' is no variable",
                   "write \"NAME.position\", \"NAME.angle\" or \"parameters.NAME\"");
  const std::string owner = name.substr(0, dot), part = name.substr(dot + 1);
  if (model_ && (owner == "controls" || owner == "start")) {
    for (const SceneVariable& variable : model_->variables_of(v)) add(variable);
    return;
  }

  if (owner == "parameters") {
    for (const char* key : {"axes", "fixed_first", "fixed_last"})
      if (v.find(key)) document_.fail(v.find(key)->place, std::string(key) + " is for motions");
    const Signature signature = mpm::system<double>(scene_.model)->signature();
    std::vector<std::string> names;
    for (const Field& f : signature.fields(Role::parameter)) names.push_back(f.name);
    const Field* field = signature.find_if(Role::parameter, part);
    if (!field) document_.fail(place.place, "there is no parameter '" + part + "'", suggestion(part, names));
    for (std::int64_t i = 0; i < field->size; ++i) {
      SceneVariable variable = base;
      variable.kind = SceneVariable::Kind::parameter;
      variable.parameter = part;
      variable.point = std::size_t(i);
      variable.name = "parameters." + part + (field->size > 1 ? "[" + std::to_string(i) + "]" : "");
      variable.start = field->defaults.size() == 1 ? field->defaults[0] : field->defaults[std::size_t(i)];
      add(variable);
    }
    return;
  }
  base.motion = motion(place, owner);
  const Motion& m = scene_.motions[base.motion];
  const auto fixed = [&](const char* key) {
    return v.find(key) ? std::size_t(count(*v.find(key), key, 1000)) : std::size_t{0};
  };
  const std::size_t first = fixed("fixed_first"), last = fixed("fixed_last");
  const std::size_t before = variables.size();
  if (part == "angle") {
    if (v.find("axes")) document_.fail(v.find("axes")->place, "an angle has no axes");
    base.kind = SceneVariable::Kind::angle;
    base.scale *= kDegree;  // written in degrees, as the angle is
    base.lower *= kDegree;
    base.upper *= kDegree;
    for (std::size_t i = first; i + last < m.angle.points.size(); ++i) {
      base.point = i;
      base.name = owner + ".angle[" + std::to_string(i) + "]";
      base.start = m.angle.points[i];
      add(base);
    }
  } else if (part == "position") {
    const std::string all = std::string("xyz").substr(0, std::size_t(scene_.model.dimension));
    const std::string axes = v.find("axes") ? string(*v.find("axes"), "axes") : all;
    if (axes.empty() || axes.find_first_not_of(all) != std::string::npos)
      document_.fail(v.find("axes")->place, "axes are some of \"" + all + "\"");
    for (const char axis : axes) {
      base.axis = std::size_t(axis - 'x');
      for (std::size_t i = first; i + last < m.position[0].points.size(); ++i) {
        base.point = i;
        base.name = owner + ".position[" + std::to_string(i) + "]." + axis;
        base.start = m.position[base.axis].points[i];
        add(base);
      }
    }
  } else {
    document_.fail(place.place, "a motion has no '" + part + "'",
                   "write " + owner + ".position or " + owner + ".angle");
  }
  if (variables.size() == before)
    document_.fail(v.place, "all control points are fixed", "reduce fixed_first or fixed_last");
}

}  // namespace costate::io
