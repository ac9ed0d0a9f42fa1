#include "costate/io/scene/sections/particles.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/io/scene/section.h"
#include "costate/io/scene/sections/fill.h"
#include "costate/mpm/bodies/reach.h"
#include "costate/mpm/bodies/ridges.h"
#include "costate/mpm/laws/law.h"
#include "costate/mpm/system.h"
#include "costate/study/field_quantities.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;

constexpr std::int64_t kMostParticles = 20'000'000, kMostNodes = std::int64_t{1} << 26,
                       kMostSteps = 10'000'000;
constexpr double kShortestDuration = 1e-30;  // the rates of motions divide by it
constexpr int kWallNodes = 3;                // the third lies on the wall
// Of a cell, by which the grid begins outside `low`. Sizes and positions in files are round numbers: nodes
// that lie on the axis of a cup or on the diagonal of a box have no normal. No two differ, or add up, to a
// whole.
constexpr double kOffRoundNumbers[] = {0.381966, 0.263932, 0.145898};
constexpr Color kColors[] = {0x4f86c6, 0xd98b5f, 0x7aa06b, 0xb07aa1, 0xe0b84f, 0x6b6b6b};

}  // namespace

Draft read_particles(const SceneFile& file) { return ParticlesReader(file).read(); }

Draft ParticlesReader::read() {
  read_domain();
  read_duration();
  read_walls();
  read_materials();
  read_model();
  read_colliders();
  make_mechanism();
  read_bodies();
  read_fills();
  choose_time_step();
  study::Setup& setup = draft_.setup;
  setup.double_precision = false;
  setup.checkpoints = segments();
  read_run_how(file_, setup);
  try {
    setup.signature = setup.double_precision ? mpm::system<double>(scene_.model)->signature()
                                             : mpm::system<float>(scene_.model)->signature();
  } catch (const Error& error) {
    throw Error({error.message().what, file_.name(), error.message().advice});
  }
  setup.system = study::any_system([model = scene_.model](auto real) {
    return std::shared_ptr<const System<decltype(real)>>(mpm::system<decltype(real)>(model));
  });
  setup.inputs.x0 = mpm::initial_state<double>(scene_.model);
  if (model_) {
    const Field* ctrl = setup.signature.find_if(Role::control, "ctrl");
    const std::int64_t q = setup.signature.find(Role::state, "q").offset;
    std::copy(model_->x0.begin(), model_->x0.end(), setup.inputs.x0.begin() + q);
    add_bodies(*model_, std::size_t(q), ctrl ? std::size_t(ctrl->offset) : 0, draft_);
  }
  scene_.duration = setup.duration;
  scene_.motions = setup.motions;
  describe();
  setup.quantities = std::make_shared<study::FieldQuantities>(setup.signature, row_groups(setup.signature));
  setup.picture = std::make_shared<study::ParticlesPicture>(scene_, setup.signature);
  // Kinks of contact are everywhere: differences are short. Rounding cancels among the particles.
  setup.stencil = {.step = 1e-5, .gate = 1e-5, .noise = 1e-14};
  draft_.dimension = scene_.model.dimension;
  draft_.width = scene_.model.dx;
  return std::move(draft_);
}

// Particles of each material, and free bodies.
std::vector<study::RowGroup> ParticlesReader::row_groups(const Signature& signature) const {
  const mpm::Model& m = scene_.model;
  std::vector<study::RowGroup> groups;
  for (const bool velocity : {false, true}) {
    const std::int64_t offset = signature.find(Role::state, velocity ? "particle/v" : "particle/x").offset;
    const std::string part = velocity ? "/velocity" : "";
    for (int k = -1; k < int(m.materials.size()); ++k) {
      study::RowGroup group{.name = (k < 0 ? "particles" : "material/" + m.materials[k].name) + part,
                            .dimension = m.dimension,
                            .offset = offset};
      for (std::size_t i = 0; i < m.particles.material.size(); ++i) {
        if (k >= 0 && m.particles.material[i] != k) continue;
        group.rows.push_back(std::int64_t(i));
        if (!velocity) group.volume.push_back(m.particles.volume[i]);
      }
      if (!group.rows.empty()) groups.push_back(std::move(group));
    }
  }
  for (const mpm::Body& body : m.bodies) {
    const std::string base = "body/" + body.name;
    groups.push_back({.name = base,
                      .dimension = m.dimension,
                      .offset = signature.find(Role::state, base + "/position").offset,
                      .rows = {0}});
  }
  return groups;
}

void ParticlesReader::describe() {
  const mpm::Model& m = scene_.model;
  study::Setup& setup = draft_.setup;
  std::string grid = std::to_string(m.nodes[0]) + " x " + std::to_string(m.nodes[1]);
  if (m.dimension == 3) grid += " x " + std::to_string(m.nodes[2]);
  study::NamedTexts rows = {{"particles", std::to_string(mpm::particle_count(m))},
                            {"grid", grid},
                            {"dx", number(m.dx)},
                            {"dt", number(m.dt)},
                            {"steps", std::to_string(setup.steps)}};
  for (const mpm::Material& material : m.materials) rows.emplace_back("material", material.name);
  for (const mpm::Collider& c : m.colliders)
    rows.emplace_back(c.moves ? "moving collider" : "collider", c.name);
  if (model_) {
    rows.emplace_back("model", model_->model_file);
    rows.emplace_back("dofs", std::to_string(model_->model->nv));
    rows.emplace_back("actuators", std::to_string(model_->model->nu()));
    for (const coupled::Attached& a : scene_.attached)
      rows.emplace_back("collider on " + a.body, a.collider.name);
  }
  setup.facts.insert(setup.facts.begin(), rows.begin(), rows.end());
  const auto outside = [](const std::string& name) {
    return "'" + name + "' lies outside the domain, where no particle can touch it: move it, or enlarge high";
  };
  for (const mpm::Body& b : m.bodies)
    if (!mpm::meets_grid(m, b.shape, b.position, b.rotation, b.band)) setup.notes.push_back(outside(b.name));
  for (const mpm::Collider& c : m.colliders) {
    if (!c.moves && !mpm::meets_grid(m, c.shape, c.position, c.rotation, c.band))
      setup.notes.push_back(outside(c.name));
    if (const std::int64_t nodes = mpm::nodes_on_ridges(m, c); nodes > 0)
      setup.notes.push_back(
          std::to_string(nodes) + " nodes of the grid lie on a ridge of collider '" + c.name +
          "', where it has no normal: the gradient is that of one side; move it by a fraction "
          "of dx");
  }
  setup.headline = std::to_string(mpm::particle_count(m)) + " particles, " + std::to_string(setup.steps) +
                   " steps of " + number(m.dt) + " s";
  setup.identity =
      std::to_string(setup.steps) + " " + std::to_string(m.particles.x.size()) + " " + std::to_string(m.dx);
}

mpm::Contact ParticlesReader::contact(const TomlValue& v) const {
  static const std::vector<std::string> kNames = {"none", "sticky", "slip", "separate", "coulomb"};
  const std::string& name = file_.choice(v, "contact", kNames);
  return mpm::Contact(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
}

int ParticlesReader::material(const TomlValue& v) const {
  std::vector<std::string> names;
  for (const mpm::Material& m : scene_.model.materials) names.push_back(m.name);
  const auto at = std::find(names.begin(), names.end(), file_.string(v, "material"));
  if (at == names.end())
    file_.fail(v.place, "there is no material '" + v.text + "'", suggestion(v.text, names));
  return int(at - names.begin());
}

void ParticlesReader::read_domain() {
  const TomlValue* found = file_.root().find("domain");
  if (!found) file_.fail({}, "there is no table [domain]", "add [domain] with low, high and dx");
  const TomlValue& d = file_.table(*found, "domain");
  file_.require_known_keys(d, {"dimension", "low", "high", "dx", "gravity", "kernel", "grid_offset"},
                           "[domain]");
  mpm::Model& model = scene_.model;
  if (const TomlValue* v = d.find("dimension")) {
    model.dimension = int(file_.count(*v, "dimension", 3));
    if (model.dimension < 2) file_.fail(v->place, "dimension must be 2 or 3");
  }
  const TomlValue& high =
      file_.required(d, "high", "[domain]", "add the corner of space: high = [0.5, 0.5, 0.5]");
  low_ = d.find("low") ? vector(*d.find("low"), "low") : std::array<double, 3>{0, 0, 0};
  high_ = vector(high, "high");
  const TomlValue& dx = file_.required(d, "dx", "[domain]", "add the width of a cell: dx = 0.01");
  model.dx = file_.positive(dx, "dx");
  const TomlValue* given = d.find("grid_offset");
  const double same = given ? file_.number(*given, "grid_offset") : 0;
  if (same < 0 || same >= 1) file_.fail(given->place, "grid_offset must be at least 0 and below 1");
  double nodes = 1;
  for (std::size_t a = 0; a < std::size_t(model.dimension); ++a) {
    if (!(high_[a] > low_[a])) file_.fail(high.items[a].place, "high must be above low");
    const double offset = given ? same : kOffRoundNumbers[a];
    const double cells = std::ceil((high_[a] - low_[a]) / model.dx + offset - 1e-6);
    nodes *= cells + 2 * kWallNodes - 1;
    if (cells < 8) file_.fail(dx.place, "there are fewer than 8 cells from low to high", "reduce dx");
    if (nodes > double(kMostNodes)) file_.fail(dx.place, "the grid has more than 2^26 nodes", "enlarge dx");
    model.nodes[a] = int(cells) + 2 * kWallNodes - 1;
    model.origin[a] = low_[a] - (kWallNodes - 1 + offset) * model.dx;
  }
  if (model.dimension == 2) model.nodes[2] = 1;
  model.gravity = d.find("gravity") ? vector(*d.find("gravity"), "gravity") : mpm::Vector{0, -9.81, 0};
  if (const TomlValue* v = d.find("kernel"))
    model.kernel = file_.choice(*v, "kernel", {"quadratic", "cubic"}) == "cubic" ? mpm::Kernel::cubic
                                                                                 : mpm::Kernel::quadratic;
}

void ParticlesReader::read_duration() {
  const TomlValue& r = file_.table_or_empty("run");
  file_.require_known_keys(r, {"duration", "dt", "courant", "precision", "checkpoints", "device"}, "[run]");
  if (r.keys.empty())
    file_.fail({}, "there is no table [run]", "add [run] with the time to simulate: duration = 1.5");
  const TomlValue& duration =
      file_.required(r, "duration", "[run]", "add the time to simulate: duration = 1.5");
  draft_.setup.duration = file_.positive(duration, "duration");
  if (draft_.setup.duration < kShortestDuration)
    file_.fail(duration.place, "the duration is shorter than 1e-30", "enlarge duration");
}

void ParticlesReader::read_wall(const TomlValue& v, const std::string& name, mpm::Wall& wall) const {
  if (v.is(Kind::string)) {
    wall.contact = contact(v);
    return;
  }
  file_.require_known_keys(file_.table(v, name), {"contact", "friction"}, "walls." + name);
  if (const TomlValue* c = v.find("contact")) wall.contact = contact(*c);
  if (const TomlValue* f = v.find("friction")) {
    wall.friction = file_.number(*f, "friction");
    if (wall.friction < 0) file_.fail(f->place, "friction must not be negative");
    if (!v.find("contact")) wall.contact = mpm::Contact::coulomb;
  }
}

void ParticlesReader::read_walls() {
  for (mpm::Wall& wall : scene_.model.walls) wall.nodes = kWallNodes;
  const TomlValue* found = file_.root().find("walls");
  if (!found) return;
  static const std::vector<std::string> kSides = {"left", "right", "floor", "ceiling", "back", "front"};
  std::vector<std::string> known(kSides.begin(), kSides.begin() + 2 * scene_.model.dimension);
  known.push_back("all");
  file_.require_known_keys(file_.table(*found, "walls"), known, "[walls]");
  if (const TomlValue* all = found->find("all"))
    for (mpm::Wall& wall : scene_.model.walls) read_wall(*all, "all", wall);
  for (std::size_t side = 0; side < std::size_t(2 * scene_.model.dimension); ++side)
    if (const TomlValue* v = found->find(kSides[side])) read_wall(*v, kSides[side], scene_.model.walls[side]);
}

void ParticlesReader::read_materials() {
  const std::vector<TomlValue>& list = file_.tables("materials", 64);
  if (list.empty())
    file_.fail({}, "there is no material", "add [[materials]] with name = \"water\" and kind = \"liquid\"");
  for (const TomlValue& v : list) {
    mpm::Material m;
    m.name = file_.name_of(v, "material", "water");
    for (const mpm::Material& other : scene_.model.materials)
      if (other.name == m.name) file_.fail(v.find("name")->place, "there are two materials '" + m.name + "'");
    std::vector<std::string> kinds;
    for (const mpm::Law* law : mpm::laws()) kinds.push_back(law->name);
    const std::string& kind = file_.choice(
        file_.required(v, "kind", "this material", "add kind = \"liquid\""), "kind of material", kinds);
    m.kind = mpm::MaterialKind(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
    const mpm::Law& law = mpm::law_of(m.kind);
    std::vector<std::string> known = {"name", "kind", "color"};
    for (const mpm::Number& n : law.numbers) known.push_back(n.name);
    if (law.find("bulk_modulus")) known.push_back("sound_speed");
    if (law.contracts) known.push_back("fibre");
    file_.require_known_keys(v, known, "a material of kind " + kind);
    for (const mpm::Number& n : law.numbers)
      if (const TomlValue* given = v.find(n.name)) m.*n.value = file_.number(*given, n.name);
    if (const TomlValue* c = v.find("sound_speed")) {
      if (v.find("bulk_modulus"))
        file_.fail(c->place, "bulk_modulus says the same already",
                   "keep one: bulk_modulus = density * sound_speed^2");
      m.bulk_modulus = m.density * file_.positive(*c, "sound_speed") * c->number;
    }
    if (const TomlValue* f = v.find("fibre")) m.fibre = vector(*f, "fibre");
    if (const std::string wrong = mpm::objection(m); !wrong.empty())
      file_.fail(v.place, "material '" + m.name + "' " + wrong);
    scene_.look.materials.push_back(v.find("color")
                                        ? file_.color(*v.find("color"))
                                        : kColors[scene_.model.materials.size() % std::size(kColors)]);
    scene_.model.materials.push_back(m);
  }
}

std::int64_t ParticlesReader::most_particles(const TomlValue& place, std::int64_t particles) const {
  if (particles > kMostParticles)
    file_.fail(place.place, "these are more than 20 million particles",
               "enlarge dx, or reduce particles_per_cell");
  return particles;
}

void ParticlesReader::read_fills() {
  const std::vector<TomlValue>& list = file_.tables("fill", 256);
  if (list.empty()) file_.fail({}, "there are no particles", "add [[fill]] with a material and a shape");
  for (const TomlValue& v : list) read_fill(v);
  if (scene_.model.particles.x.empty())
    file_.fail(list.front().place, "not one particle fits into these shapes",
               "reduce dx, or enlarge the shape");
}

void ParticlesReader::read_fill(const TomlValue& v) {
  file_.require_known_keys(v,
                           {"material", "shape", "position", "inside", "level", "particles_per_cell",
                            "jitter", "seed", "velocity"},
                           "[[fill]]");
  mpm::Model& model = scene_.model;
  Fill fill;
  fill.material = material(file_.required(v, "material", "this fill", "add material = \"water\""));
  const TomlValue* per_cell = v.find("particles_per_cell");
  const double particles = per_cell               ? file_.positive(*per_cell, "particles_per_cell")
                           : model.dimension == 2 ? 4
                                                  : 8;
  if (particles > 1000) file_.fail(per_cell->place, "particles_per_cell must not be above 1000");
  fill.spacing = model.dx / std::pow(particles, 1.0 / model.dimension);
  if (const TomlValue* n = v.find("jitter")) {
    fill.jitter = file_.number(*n, "jitter");
    if (fill.jitter < 0 || fill.jitter > 1) file_.fail(n->place, "jitter must be between 0 and 1");
  }
  if (const TomlValue* n = v.find("seed")) fill.seed = std::uint64_t(file_.count(*n, "seed", 1L << 52));
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
  if (places > 3e8) file_.fail(v.place, "the domain has room for more than 3e8 particles", "enlarge dx");

  if (const TomlValue* name = v.find("inside")) {
    const Standing cup = standing(*name);
    const TomlValue& height = file_.required(
        v, "level", "this fill", "add the height of the liquid above the cup's origin: level = 0.08");
    const double level = file_.number(height, "level");
    double rim = cup.shape.profile[0][1];
    for (const auto& [radius, y] : cup.shape.profile) rim = std::max(rim, y);
    if (level > rim + 1e-9 * model.dx)
      file_.fail(height.place, "the rim of '" + name->text + "' is only " + number(rim) + " high",
                 "reduce level to " + number(rim) + " or less");
    fill.inside = [cup, level, gap = fill.spacing / 2, in_domain](const mpm::Vector& x) {
      return in_domain(x) &&
             inside_cup(cup.shape, {x[0] - cup.position[0], x[1] - cup.position[1], x[2] - cup.position[2]},
                        level, gap);
    };
    most_particles(v, add_particles(model, fill));
    return;
  }
  const mpm::Shape shape = read_shape(
      file_.required(v, "shape", "this fill", "add shape = {kind = \"box\", half = [0.1, 0.1, 0.1]}"));
  const std::array<double, 3> position = vector(
      file_.required(v, "position", "this fill", "add the centre of the shape: position = [0.2, 0.2, 0.2]"),
      "position");
  fill.inside = [&shape, position, in_domain](const mpm::Vector& x) {
    return in_domain(x) &&
           mpm::signed_distance(shape, {x[0] - position[0], x[1] - position[1], x[2] - position[2]}) < 0;
  };
  most_particles(v, add_particles(model, fill));
}

void ParticlesReader::choose_time_step() {
  const TomlValue& r = file_.table_or_empty("run");
  study::Setup& setup = draft_.setup;
  double speed = 0;
  for (const mpm::Material& m : scene_.model.materials)
    speed = std::max(speed, mpm::law_of(m.kind).wave_speed(m));
  const TomlValue *dt = r.find("dt"), *courant = r.find("courant");
  if (dt && courant) file_.fail(courant->place, "dt is given already", "keep one of dt and courant");
  // A fraction of the time that the fastest wave takes to cross a cell.
  const double wanted = dt ? file_.positive(*dt, "dt")
                           : (courant ? file_.positive(*courant, "courant") : 0.3) * scene_.model.dx / speed;
  const double steps = std::ceil(setup.duration / wanted - 1e-9);
  if (!(steps <= double(kMostSteps)))
    file_.fail(dt ? dt->place : r.place, "this takes more than ten million steps",
               "reduce duration, or soften the materials");
  setup.steps = setup.path_steps = std::max<std::int64_t>(1, std::int64_t(steps));
  setup.dt = scene_.model.dt = setup.duration / double(setup.steps);
}

}  // namespace costate::io
