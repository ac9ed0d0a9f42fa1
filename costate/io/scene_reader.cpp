#include "costate/io/scene_reader.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/io/scene_fill.h"
#include "costate/mpm/laws/law.h"
#include "costate/mpm/system.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;

constexpr std::int64_t kMostParticles = 20'000'000, kMostNodes = std::int64_t{1} << 26,
                       kMostSteps = 10'000'000;
constexpr double kShortestDuration = 1e-30;  // the rates of motions divide by it
constexpr int kWallNodes = 3;                // the third lies on the wall
constexpr Color kColors[] = {0x4f86c6, 0xd98b5f, 0x7aa06b, 0xb07aa1, 0xe0b84f, 0x6b6b6b};

}  // namespace

SceneReader::SceneReader(TomlDocument document, const std::vector<Setting>& settings)
    : SceneTables(std::move(document), settings,
                  "domain.dx=0.01, optimize.iterations=20, record.frames_per_second=60") {
  scene_.file = document_.name();
}

Scene SceneReader::read() {
  document_.require_known_keys(
      root_,
      {"title", "domain", "walls", "materials", "colliders", "bodies", "fill", "loss", "regularise",
       "optimize", "record", "model", "contact", "start", "controls"},
      "the file");
  if (const TomlValue* title = root_.find("title")) scene_.title = string(*title, "title");
  read_domain();
  read_walls();
  read_materials();
  read_model();
  read_colliders();
  make_mechanism();
  read_bodies();
  read_fills();
  choose_time_step();
  read_model_controls();
  read_losses();
  read_regularisers();
  read_optimize();
  const SceneCamera look = read_record();
  scene_.look.frames_per_second = look.frames_per_second;
  scene_.look.camera = look.camera;
  try {
    mpm::check(scene_.model);
  } catch (const Error& error) {
    throw Error({error.message().what, document_.name(), error.message().advice});
  }
  return std::move(scene_);
}

std::array<double, 3> SceneReader::vector(const TomlValue& v, const std::string& what, bool size) const {
  const std::vector<double> list = numbers(v, what);
  const int dimension = scene_.model.dimension;
  if (int(list.size()) != dimension)
    document_.fail(v.place, what + " must be " + std::to_string(dimension) + " numbers");
  std::array<double, 3> r = {0, 0, size ? 1.0 : 0.0};
  for (std::size_t i = 0; i < list.size(); ++i) {
    r[i] = list[i];
    if (size && !(r[i] > 0)) document_.fail(v.items[i].place, what + " must be greater than zero");
  }
  return r;
}

mpm::Contact SceneReader::contact(const TomlValue& v) const {
  static const std::vector<std::string> kNames = {"none", "sticky", "slip", "separate", "coulomb"};
  const std::string& name = choice(v, "contact", kNames);
  return mpm::Contact(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
}

int SceneReader::material(const TomlValue& v) const {
  std::vector<std::string> names;
  for (const mpm::Material& m : scene_.model.materials) names.push_back(m.name);
  const auto at = std::find(names.begin(), names.end(), string(v, "material"));
  if (at == names.end())
    document_.fail(v.place, "there is no material '" + v.text + "'", suggestion(v.text, names));
  return int(at - names.begin());
}

void SceneReader::read_domain() {
  const TomlValue* found = root_.find("domain");
  if (!found)
    document_.fail({}, "there is no table [domain]", "add [domain] with low, high, dx and duration");
  const TomlValue& d = table(*found, "domain");
  document_.require_known_keys(d,
                               {"dimension", "low", "high", "dx", "dt", "courant", "duration", "gravity",
                                "kernel", "precision", "checkpoints"},
                               "[domain]");
  mpm::Model& model = scene_.model;
  if (const TomlValue* v = d.find("dimension")) {
    model.dimension = int(count(*v, "dimension", 3));
    if (model.dimension < 2) document_.fail(v->place, "dimension must be 2 or 3");
  }
  const TomlValue& high = required(d, "high", "[domain]", "add the corner of space: high = [0.5, 0.5, 0.5]");
  low_ = d.find("low") ? vector(*d.find("low"), "low") : std::array<double, 3>{0, 0, 0};
  high_ = vector(high, "high");
  const TomlValue& dx = required(d, "dx", "[domain]", "add the width of a cell: dx = 0.01");
  model.dx = positive(dx, "dx");
  double nodes = 1;
  for (std::size_t a = 0; a < std::size_t(model.dimension); ++a) {
    if (!(high_[a] > low_[a])) document_.fail(high.items[a].place, "high must be above low");
    const double cells = std::ceil((high_[a] - low_[a]) / model.dx - 1e-6);
    nodes *= cells + 2 * kWallNodes - 1;
    if (cells < 8) document_.fail(dx.place, "there are fewer than 8 cells from low to high", "reduce dx");
    if (nodes > double(kMostNodes))
      document_.fail(dx.place, "the grid has more than 2^26 nodes", "enlarge dx");
    model.nodes[a] = int(cells) + 2 * kWallNodes - 1;
    model.origin[a] = low_[a] - (kWallNodes - 1) * model.dx;
  }
  if (model.dimension == 2) model.nodes[2] = 1;
  const TomlValue& duration = required(d, "duration", "[domain]", "add the time to simulate: duration = 1.5");
  scene_.duration = positive(duration, "duration");
  if (scene_.duration < kShortestDuration)
    document_.fail(duration.place, "the duration is shorter than 1e-30", "enlarge duration");
  model.gravity = d.find("gravity") ? vector(*d.find("gravity"), "gravity") : mpm::Vector{0, -9.81, 0};
  if (const TomlValue* v = d.find("kernel"))
    model.kernel =
        choice(*v, "kernel", {"quadratic", "cubic"}) == "cubic" ? mpm::Kernel::cubic : mpm::Kernel::quadratic;
  if (const TomlValue* v = d.find("precision"))
    scene_.double_precision = choice(*v, "precision", {"float", "double"}) == "double";
  if (const TomlValue* v = d.find("checkpoints")) scene_.checkpoints = read_checkpoints(*v);
}

void SceneReader::read_wall(const TomlValue& v, const std::string& name, mpm::Wall& wall) const {
  if (v.is(Kind::string)) {
    wall.contact = contact(v);
    return;
  }
  document_.require_known_keys(table(v, name), {"contact", "friction"}, "walls." + name);
  if (const TomlValue* c = v.find("contact")) wall.contact = contact(*c);
  if (const TomlValue* f = v.find("friction")) {
    wall.friction = number(*f, "friction");
    if (wall.friction < 0) document_.fail(f->place, "friction must not be negative");
    if (!v.find("contact")) wall.contact = mpm::Contact::coulomb;
  }
}

void SceneReader::read_walls() {
  for (mpm::Wall& wall : scene_.model.walls) wall.nodes = kWallNodes;
  const TomlValue* found = root_.find("walls");
  if (!found) return;
  static const std::vector<std::string> kSides = {"left", "right", "floor", "ceiling", "back", "front"};
  std::vector<std::string> known(kSides.begin(), kSides.begin() + 2 * scene_.model.dimension);
  known.push_back("all");
  document_.require_known_keys(table(*found, "walls"), known, "[walls]");
  if (const TomlValue* all = found->find("all"))
    for (mpm::Wall& wall : scene_.model.walls) read_wall(*all, "all", wall);
  for (std::size_t side = 0; side < std::size_t(2 * scene_.model.dimension); ++side)
    if (const TomlValue* v = found->find(kSides[side])) read_wall(*v, kSides[side], scene_.model.walls[side]);
}

void SceneReader::read_materials() {
  const std::vector<TomlValue>* list = tables("materials", 64);
  if (!list || list->empty())
    document_.fail({}, "there is no material",
                   "add [[materials]] with name = \"water\" and kind = \"liquid\"");
  for (const TomlValue& v : *list) {
    mpm::Material m;
    m.name = string(required(v, "name", "this material", "add name = \"water\""), "name");
    if (m.name.empty() || m.name.find_first_of("/.*[]") != std::string::npos)
      document_.fail(v.find("name")->place, "a name must not be empty and has none of / . * [ ]");
    for (const mpm::Material& other : scene_.model.materials)
      if (other.name == m.name)
        document_.fail(v.find("name")->place, "there are two materials '" + m.name + "'");
    std::vector<std::string> kinds;
    for (const mpm::Law* law : mpm::laws()) kinds.push_back(law->name);
    const std::string& kind =
        choice(required(v, "kind", "this material", "add kind = \"liquid\""), "kind of material", kinds);
    m.kind = mpm::MaterialKind(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
    const mpm::Law& law = mpm::law_of(m.kind);
    std::vector<std::string> known = {"name", "kind", "color"};
    for (const mpm::Number& n : law.numbers) known.push_back(n.name);
    if (law.find("bulk_modulus")) known.push_back("sound_speed");
    if (law.contracts) known.push_back("fibre");
    document_.require_known_keys(v, known, "a material of kind " + kind);
    for (const mpm::Number& n : law.numbers)
      if (const TomlValue* given = v.find(n.name)) m.*n.value = number(*given, n.name);
    if (const TomlValue* c = v.find("sound_speed")) {
      if (v.find("bulk_modulus"))
        document_.fail(c->place, "bulk_modulus says the same already",
                       "keep one: bulk_modulus = density * sound_speed^2");
      m.bulk_modulus = m.density * positive(*c, "sound_speed") * c->number;
    }
    if (const TomlValue* f = v.find("fibre")) m.fibre = vector(*f, "fibre");
    if (const std::string wrong = mpm::objection(m); !wrong.empty())
      document_.fail(v.place, "material '" + m.name + "' " + wrong);
    scene_.look.material_colors.push_back(v.find("color")
                                              ? color(*v.find("color"))
                                              : kColors[scene_.model.materials.size() % std::size(kColors)]);
    scene_.model.materials.push_back(m);
  }
}

std::int64_t SceneReader::most_particles(const TomlValue& place, std::int64_t particles) const {
  if (particles > kMostParticles)
    document_.fail(place.place, "these are more than 20 million particles",
                   "enlarge dx, or reduce particles_per_cell");
  return particles;
}

void SceneReader::read_fills() {
  const std::vector<TomlValue>* list = tables("fill", 256);
  if (!list || list->empty())
    document_.fail({}, "there are no particles", "add [[fill]] with a material and a shape");
  for (const TomlValue& v : *list) read_fill(v);
  if (scene_.model.particles.x.empty())
    document_.fail(list->front().place, "not one particle fits into these shapes",
                   "reduce dx, or enlarge the shape");
}

void SceneReader::read_fill(const TomlValue& v) {
  document_.require_known_keys(v,
                               {"material", "shape", "position", "inside", "level", "particles_per_cell",
                                "jitter", "seed", "velocity"},
                               "[[fill]]");
  mpm::Model& model = scene_.model;
  Fill fill;
  fill.material = material(required(v, "material", "this fill", "add material = \"water\""));
  const TomlValue* per_cell = v.find("particles_per_cell");
  const double particles = per_cell               ? positive(*per_cell, "particles_per_cell")
                           : model.dimension == 2 ? 4
                                                  : 8;
  if (particles > 1000) document_.fail(per_cell->place, "particles_per_cell must not be above 1000");
  fill.spacing = model.dx / std::pow(particles, 1.0 / model.dimension);
  if (const TomlValue* n = v.find("jitter")) {
    fill.jitter = number(*n, "jitter");
    if (fill.jitter < 0 || fill.jitter > 1) document_.fail(n->place, "jitter must be between 0 and 1");
  }
  if (const TomlValue* n = v.find("seed")) fill.seed = std::uint64_t(count(*n, "seed", 1L << 52));
  if (const TomlValue* n = v.find("velocity")) fill.velocity = vector(*n, "velocity");

  // Only what lies in the domain, half a spacing from its walls, is filled: a box around it bounds the work.
  const auto in_domain = [this, gap = fill.spacing / 2](const mpm::Vector& x) {
    for (std::size_t a = 0; a < std::size_t(scene_.model.dimension); ++a)
      if (x[a] < low_[a] + gap || x[a] > high_[a] - gap) return false;
    return true;
  };
  fill.low = low_;
  fill.high = high_;
  double places = 1;
  for (std::size_t a = 0; a < std::size_t(model.dimension); ++a)
    places *= (high_[a] - low_[a]) / fill.spacing + 1;
  if (places > 3e8) document_.fail(v.place, "the domain has room for more than 3e8 particles", "enlarge dx");

  if (const TomlValue* name = v.find("inside")) {
    const Standing cup = standing(*name);
    const double level = number(required(v, "level", "this fill",
                                         "add the height of the liquid above the cup's origin: level = 0.08"),
                                "level");
    fill.inside = [cup, level, gap = fill.spacing / 2, in_domain](const mpm::Vector& x) {
      return in_domain(x) &&
             inside_cup(cup.shape, {x[0] - cup.position[0], x[1] - cup.position[1], x[2] - cup.position[2]},
                        level, gap);
    };
    most_particles(v, add_particles(model, fill));
    return;
  }
  const mpm::Shape shape =
      read_shape(required(v, "shape", "this fill", "add shape = {kind = \"box\", half = [0.1, 0.1, 0.1]}"));
  const std::array<double, 3> position =
      vector(required(v, "position", "this fill", "add the centre of the shape: position = [0.2, 0.2, 0.2]"),
             "position");
  fill.inside = [&shape, position, in_domain](const mpm::Vector& x) {
    return in_domain(x) &&
           mpm::signed_distance(shape, {x[0] - position[0], x[1] - position[1], x[2] - position[2]}) < 0;
  };
  most_particles(v, add_particles(model, fill));
}

void SceneReader::choose_time_step() {
  const TomlValue& d = *root_.find("domain");
  double speed = 0;
  for (const mpm::Material& m : scene_.model.materials)
    speed = std::max(speed, mpm::law_of(m.kind).wave_speed(m));
  const TomlValue *dt = d.find("dt"), *courant = d.find("courant");
  if (dt && courant) document_.fail(courant->place, "dt is given already", "keep one of dt and courant");
  // A fraction of the time that the fastest wave takes to cross a cell.
  const double wanted =
      dt ? positive(*dt, "dt") : (courant ? positive(*courant, "courant") : 0.3) * scene_.model.dx / speed;
  const double steps = std::ceil(scene_.duration / wanted - 1e-9);
  if (!(steps <= double(kMostSteps)))
    document_.fail(dt ? dt->place : d.place, "this takes more than ten million steps",
                   "reduce duration, or soften the materials");
  scene_.steps = std::max<std::int64_t>(1, std::int64_t(steps));
  scene_.model.dt = scene_.duration / double(scene_.steps);
}

Scene parse_scene(std::string text, const std::string& name, const std::vector<Setting>& settings) {
  return SceneReader(TomlDocument(std::move(text), name), settings).read();
}

Scene load_scene(const std::string& path, const std::vector<Setting>& settings) {
  return parse_scene(read_text(path), path, settings);
}

}  // namespace costate::io
