// [[loss]]: parts of the loss, each of one kind. A kind is a function here, a line in kKinds, and its
// mathematics in costate/study/losses.
#include <algorithm>
#include <cctype>

#include "costate/io/scene/tables.h"
#include "costate/study/losses/height_field.h"
#include "costate/study/losses/match.h"
#include "costate/study/losses/region.h"
#include "costate/study/losses/squares.h"
#include "costate/system/program/bind_program.h"
#include "costate/system/program/program_objective.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;
using study::AnyObjective;
using study::Quantity;
using study::Term;
using Steps = std::vector<std::int64_t>;

constexpr int kMostColumns = 1 << 20;

// What all kinds have.
const std::vector<std::string> kCommon = {"kind", "name", "weight", "at", "from", "to", "every", "times"};

void require_keys(const SceneFile& file, const TomlValue& v, const std::string& kind,
                  std::vector<std::string> keys) {
  keys.insert(keys.end(), kCommon.begin(), kCommon.end());
  file.require_known_keys(v, keys, "a loss of kind " + kind);
}

// The mean over its steps, times the weight.
AnyObjective objective_of(const SceneFile& file, Place place, study::Quantities& quantities,
                          const ad::Program& program, double weight) {
  // A mistake is told here, with its place, rather than when the study is made.
  file.told_at(place,
               [&] { return loss::program<double>(quantities.signature(), program, loss::at_steps({0})); });
  return study::any_objective([program, weight, &quantities](auto real, const Steps& steps) {
    return loss::program<decltype(real)>(
        quantities.signature(), study::scaled(program, weight / double(steps.size())), loss::at_steps(steps));
  });
}

// `of`, or all points of the physics. Several names together are one point.
Quantity points_of(const SceneFile& file, const TomlValue& v, const LossContext& c) {
  const TomlValue* of = v.find("of");
  if (!of && c.quantities.all_points().empty())
    file.fail(v.place, "this loss has no 'of'", "add the points that it is about: of = \"body/NAME\"");
  if (!of) return c.quantities.points(c.quantities.all_points());
  if (of->is(Kind::string)) return file.told_at(of->place, [&] { return c.quantities.points(of->text); });
  if (!of->is(Kind::array) || of->items.size() < 2 || of->items.size() > 3)
    file.fail(of->place, "'of' is the name of a quantity, or of two or three that are coordinates");
  Quantity q{.size = std::int64_t(of->items.size()), .points = {.dimension = int(of->items.size())}};
  for (const TomlValue& item : of->items) {
    const Quantity one =
        file.told_at(item.place, [&] { return c.quantities.numbers(file.string(item, "of")); });
    if (one.size != 1) file.fail(item.place, "'" + item.text + "' is not one number");
    q.points.elements.push_back(c.quantities.signature().find(Role::state, one.field).offset);
  }
  return q;
}

// --- kinds -------------------------------------------------------------------------------------------------

// Half the squared distance of a quantity from its target, along some axes.
void read_distance(const SceneFile& file, const TomlValue& v, const LossContext& c, Term& term) {
  const bool velocity = file.string(*v.find("kind"), "kind") == "velocity";
  require_keys(file, v, velocity ? "velocity" : "position", {"of", "target", "axes"});
  const TomlValue* of = v.find("of");
  Quantity q;
  if (of || !velocity) {
    const TomlValue& path =
        file.required(v, "of", "this loss", "add what should be somewhere: of = \"body/NAME\"");
    const std::string& text = file.string(path, "of");
    q = file.told_at(path.place,
                     [&] { return c.quantities.numbers(velocity ? c.quantities.velocity_of(text) : text); });
    if (!v.find("name")) term.name = (velocity ? "velocity of " : "position of ") + text;
  } else {
    const Field* field = c.quantities.signature().find_if(Role::state, "v");
    if (!field) file.fail(v.place, "this loss has no 'of'", "add what should be at rest: of = \"NAME\"");
    q = {.field = "v", .size = field->size};
  }
  std::vector<double> target(std::size_t(q.size), 0.0);
  if (const TomlValue* t = v.find("target")) {
    target = file.one_or_more(*t, "target");
    if (std::int64_t(target.size()) != q.size)
      file.fail(t->place,
                "the target must be " + std::to_string(q.size) + (q.size == 1 ? " number" : " numbers"));
  } else if (!velocity) {
    file.fail(v.place, "this loss has no 'target'", "add target = [0.3, 0.0, 0.5]");
  }
  std::vector<bool> wanted(std::size_t(q.size), true);
  if (const TomlValue* axes = v.find("axes")) {
    if (q.size != 2 && q.size != 3) file.fail(axes->place, "axes are for quantities of two or three numbers");
    const std::array<bool, 3> chosen = file.axes(*axes, int(q.size));
    wanted.assign(chosen.begin(), chosen.begin() + q.size);
  } else if (c.marks && !velocity && q.points.count() == 1 && q.size == 3) {
    c.marks->push_back({target[0], target[1], target[2]});
  }
  term.objective = objective_of(file, v.place, c.quantities, study::squared_distance(q.field, target, wanted),
                                weight_of(file, v));
}

// Measurements: half the mean squared difference of a quantity from values at times.
void read_track(const SceneFile& file, const TomlValue& v, const LossContext& c, Term& term) {
  require_keys(file, v, "track", {"of", "values"});
  const TomlValue& path = file.required(v, "of", "this loss", "add of = \"joint/NAME\"");
  const Quantity q = file.told_at(path.place, [&] { return c.quantities.numbers(file.string(path, "of")); });
  if (!v.find("name")) term.name = "track of " + path.text;
  file.required(v, "times", "this loss", "add times = [0.1, 0.2, 0.3]");
  const TomlValue& values = file.required(v, "values", "this loss", "add values = [...], one per time");
  if (!values.is(Kind::array) || values.items.size() != term.steps.size())
    file.fail(values.place,
              "there must be one value for each of the " + std::to_string(term.steps.size()) + " times");
  std::vector<double> targets;
  for (const TomlValue& row : values.items) {
    const std::vector<double> list = file.one_or_more(row, "value");
    if (std::int64_t(list.size()) != q.size)
      file.fail(row.place, "a value of " + path.text + " is " + std::to_string(q.size) +
                               (q.size == 1 ? " number" : " numbers"));
    targets.insert(targets.end(), list.begin(), list.end());
  }
  term.objective = study::any_objective(
      [q, targets, weight = weight_of(file, v), &quantities = c.quantities](auto real, const Steps& steps) {
        using Real = decltype(real);
        const std::size_t used = steps.size() * std::size_t(q.size);
        return loss::track<Real>(quantities.signature(), q.field, steps,
                                 std::vector<Real>(targets.begin(), targets.begin() + std::ptrdiff_t(used)),
                                 weight / double(steps.size()));
      });
}

study::Region read_shape(const SceneFile& file, const TomlValue& v, int dimension) {
  file.table(v, "region");
  const std::string& kind = file.choice(file.required(v, "kind", "this region", "add kind = \"cylinder\""),
                                        "kind of region", {"box", "sphere", "cylinder"});
  study::Region r;
  r.centre = file.vector(file.required(v, "centre", "this region", "add centre = [0.1, 0.1, 0.1]"), "centre",
                         dimension);
  const auto size = [&](const char* key) {
    return file.positive(file.required(v, key, "a " + kind, std::string("add ") + key + " = 0.05"), key);
  };
  if (kind == "box") {
    file.require_known_keys(v, {"kind", "centre", "half"}, "a box");
    r.size = file.vector(file.required(v, "half", "a box", "add its half extents: half = [0.1, 0.1, 0.1]"),
                         "half", dimension, true);
  } else if (kind == "sphere") {
    file.require_known_keys(v, {"kind", "centre", "radius"}, "a sphere");
    r.kind = study::Region::Kind::sphere;
    r.size = {size("radius"), 0, 0};
  } else {
    file.require_known_keys(v, {"kind", "centre", "radius", "half_height"}, "a cylinder");
    r.kind = study::Region::Kind::cylinder;
    r.size = {size("radius"), size("half_height"), 0};
  }
  return r;
}

void read_region(const SceneFile& file, const TomlValue& v, const LossContext& c, Term& term) {
  const std::string& kind = file.string(*v.find("kind"), "kind");
  const bool spilled = kind == "spilled";
  require_keys(file, v, kind,
               spilled ? std::vector<std::string>{"of", "region", "width", "height"}
                       : std::vector<std::string>{"of", "region", "width"});
  const Quantity q = points_of(file, v, c);
  study::RegionLoss loss{
      .region =
          read_shape(file, file.required(v, "region", "this loss", "add region = {kind = \"cylinder\", ...}"),
                     q.points.dimension),
      .width = file.positive_or(v, "width", c.width),
      .up = c.up,
      .weight = weight_of(file, v)};
  if (spilled)
    loss.height = file.number(
        file.required(v, "height", "this loss", "add the height below which it counts: height = 0.1"),
        "height");
  term.observed = q.observed;
  term.objective = study::any_objective([loss, points = q.points](auto real, const Steps& steps) {
    return study::in_region<decltype(real)>(loss, points, steps);
  });
  if (!spilled)
    term.fraction = study::any_objective([loss, points = q.points](auto real, const Steps& steps) {
      return study::inside<decltype(real)>(loss.region, points, steps.back());
    });
}

// Where points were in the last frame of a recording.
std::vector<double> last_places(const SceneFile& file, const TomlValue& at, const Recording& r,
                                const std::string& of, const study::Points& points) {
  std::vector<double> targets;
  const std::size_t count = r.particles.material.size(), dimension = std::size_t(points.dimension);
  for (const Body& body : r.bodies) {
    if (!points.rows.empty() || of != "body/" + body.name) continue;
    for (std::size_t a = 0; a < dimension; ++a) targets.push_back(body.poses.back()[a]);
    return targets;
  }
  if (points.rows.empty()) file.fail(at.place, "the recording does not show '" + of + "'");
  const std::int64_t last = *std::max_element(points.rows.begin(), points.rows.end());
  if (std::int64_t(count) <= last)
    file.fail(at.place, "the recording has " + std::to_string(count) + " particles, the scene more than " +
                            std::to_string(last));
  const float* places = r.particles.positions.data() + std::size_t(r.frames - 1) * count * 3;
  for (const std::int64_t row : points.rows)
    for (std::size_t a = 0; a < dimension; ++a) targets.push_back(places[3 * std::size_t(row) + a]);
  return targets;
}

void read_match(const SceneFile& file, const TomlValue& v, const LossContext& c, Term& term) {
  require_keys(file, v, "match", {"of", "recording"});
  const Quantity q = points_of(file, v, c);
  const TomlValue& name = file.required(v, "recording", "this loss", "add recording = \"target.rec\"");
  const std::string path = file.beside(file.string(name, "recording"));
  Recording r;
  try {
    r = read_recording(path);
  } catch (const Error& error) {
    file.fail(name.place, error.message().what, path);
  }
  const std::vector<double> targets = last_places(file, name, r, file.string_or(v, "of", ""), q.points);
  term.observed = q.observed;
  term.objective = study::any_objective(
      [points = q.points, targets, weight = weight_of(file, v)](auto real, const Steps& steps) {
        return study::match<decltype(real)>(points, targets, weight, steps);
      });
}

void read_height_field(const SceneFile& file, const TomlValue& v, const LossContext& c, Term& term) {
  require_keys(file, v, "height_field", {"of", "first", "columns", "column_width", "heights"});
  const Quantity q = points_of(file, v, c);
  if (q.points.volume.empty())
    file.fail(v.place, "a height field needs points that have a volume", "write of = \"material/NAME\"");
  study::HeightField field{.weight = weight_of(file, v)};
  const std::size_t axes = q.points.dimension == 2 ? 1 : 2;
  const TomlValue& first = file.required(v, "first", "this loss", "add the middle of the first column");
  const TomlValue& columns =
      file.required(v, "columns", "this loss", "add the number of columns along x (and z)");
  const TomlValue& heights =
      file.required(v, "heights", "this loss", "add heights = [...]: one per column, z fastest");
  const std::vector<double> at = file.numbers(first, "first"), counts = file.numbers(columns, "columns");
  if (at.size() != axes) file.fail(first.place, "first must be " + std::to_string(axes) + " numbers");
  if (counts.size() != axes) file.fail(columns.place, "columns must be " + std::to_string(axes) + " numbers");
  std::int64_t total = 1;
  for (std::size_t k = 0; k < axes; ++k) {
    field.first[k] = at[k];
    field.columns[k] = int(file.count(columns.items[k], "columns", kMostColumns));
    total *= field.columns[k];
  }
  field.width =
      file.positive(file.required(v, "column_width", "this loss", "add column_width = 0.02"), "column_width");
  field.heights = file.numbers(heights, "heights");
  if (std::int64_t(field.heights.size()) != total)
    file.fail(heights.place, "there are " + std::to_string(field.heights.size()) + " heights for " +
                                 std::to_string(total) + " columns");
  term.observed = q.observed;
  term.objective = study::any_objective([field, points = q.points](auto real, const Steps& steps) {
    return study::height_field<decltype(real)>(field, points, steps);
  });
}

using ReadKind = void (*)(const SceneFile&, const TomlValue&, const LossContext&, Term&);
const std::pair<const char*, ReadKind> kKinds[] = {
    {"position", read_distance},        {"velocity", read_distance}, {"track", read_track},
    {"in_region", read_region},         {"spilled", read_region},    {"match", read_match},
    {"height_field", read_height_field}};

// --- kinds that only a rollout has in this form: a program of controls, a price on a path -----------------

// formula = "(1 - cos(angle))^2 + 0.1*ctrl[0]^2", quantities = {angle = "joint/hinge"}
void read_formula(const SceneFile& file, const TomlValue& v, Draft& draft, Term& term) {
  require_keys(file, v, "formula", {"formula", "quantities", "integral", "values"});
  study::Quantities& quantities = *draft.setup.quantities;
  if (const TomlValue* q = v.find("quantities")) {
    file.table(*q, "quantities");
    for (std::size_t i = 0; i < q->keys.size(); ++i) {
      const std::string& name = q->keys[i];
      const auto in_name = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
      if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ||
          !std::all_of(name.begin(), name.end(), in_name))
        file.fail(q->key_places[i], "'" + name + "' cannot be a name in formulas",
                  "use letters, digits and _, and begin with a letter");
      if (name == "t" || name == "k" || name == "data" || draft.setup.signature.find_if(Role::state, name) ||
          draft.setup.signature.find_if(Role::control, name))
        file.fail(q->key_places[i], "'" + name + "' has a meaning of its own in formulas",
                  "choose another name");
      file.told_at(q->items[i].place,
                   [&] { return quantities.numbers(file.string(q->items[i], name), name); });
    }
  }
  const TomlValue& formula = file.required(v, "formula", "this loss", "add formula = \"q[0]^2\"");
  std::vector<ad::Field> names = names_of(quantities.signature(), true);
  const TomlValue* values = v.find("values");
  if (values) names.push_back({"data", 1});
  const ad::Program program = parse_formula(file.document(), formula, names);
  if (!v.find("name")) term.name = formula.is(Kind::string) ? formula.text.substr(0, 40) : "constant";
  for (const Field& f : quantities.signature().fields(Role::control))
    term.reads_controls = term.reads_controls || study::reads(program, f.name);
  double weight = weight_of(file, v);
  const TomlValue* integral = v.find("integral");
  if (integral && file.boolean(*integral, "integral")) {
    // Over time: the sum over all steps, times dt.
    term.steps.clear();
    for (std::int64_t k = 0; k < draft.setup.steps; ++k) term.steps.push_back(k);
    weight *= draft.setup.dt * double(draft.setup.steps);
    term.reads_controls = true;
  }
  // There is no control after the last step.
  if (term.reads_controls && term.steps.size() > 1) std::erase(term.steps, draft.setup.steps);
  if (term.reads_controls && term.steps.back() == draft.setup.steps)
    file.fail(v.place, "this loss reads a control at the end, where there is none",
              "give it times before the end: from, to and every, or integral = true");
  if (!values) {
    term.objective = objective_of(file, v.place, quantities, program, weight);
    return;
  }
  const std::vector<double> data = file.numbers(*values, "values");
  if (!v.find("times") || data.size() != term.steps.size())
    file.fail(values->place, "there are " + std::to_string(data.size()) + " values for " +
                                 std::to_string(v.find("times") ? term.steps.size() : 0) + " times");
  term.objective = study::any_objective([program, data, weight, &quantities](auto real, const Steps& steps) {
    using Real = decltype(real);
    std::vector<ObjectivePtr<Real>> each;
    for (std::size_t k = 0; k < steps.size(); ++k)
      each.push_back(loss::program<Real>(
          quantities.signature(),
          study::scaled(study::with_constant(program, "data", data[k]), weight / double(steps.size())),
          loss::at_steps({steps[k]})));
    return loss::sum<Real>(each);
  });
}

// Half the squared controls, averaged over all steps.
void read_effort(const SceneFile& file, const TomlValue& v, Draft& draft, Term& term) {
  file.require_known_keys(v, {"kind", "name", "weight", "of"}, "a loss of kind effort");
  const TomlValue* who = v.find("of");
  const std::string glob = who ? file.string(*who, "of") : "**";
  const Signature& signature = draft.setup.signature;
  std::vector<std::string> names;
  std::vector<bool> wanted(std::size_t(signature.controls()), false);
  for (const Drivable& d : draft.drivable) {
    names.push_back(d.name);
    if (glob_match(glob, d.name)) wanted[d.control] = true;
  }
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end())
    file.fail(who ? who->place : v.place, "there is no control '" + glob + "'", suggestion(glob, names));
  term.steps.clear();
  for (std::int64_t k = 0; k < draft.setup.steps; ++k) term.steps.push_back(k);
  term.reads_controls = true;
  const auto& fields = signature.fields(Role::control);
  const std::string field = fields.size() == 1 ? fields[0].name : "u";
  term.objective = objective_of(file, v.place, *draft.setup.quantities,
                                study::squared_controls(field, wanted), weight_of(file, v));
}

void read_own(const SceneFile& file, const TomlValue& v, const OwnLoss& own, Term& term) {
  require_keys(file, v, own.kind, own.keys);
  term.observed = false;
  term.objective = own.read(file, v, weight_of(file, v));
}

// jerk and overshoot: `of` is "jug.position", "jug.angle", "controls.push" or "jug", which is both.
study::PathPrice read_price(const SceneFile& file, const TomlValue& v, const std::string& kind,
                            const Draft& draft) {
  const bool overshoot = kind == "overshoot";
  file.require_known_keys(v,
                          overshoot ? std::vector<std::string>{"kind", "name", "weight", "of", "limit"}
                                    : std::vector<std::string>{"kind", "name", "weight", "of"},
                          "a loss of kind " + kind);
  const TomlValue& of = file.required(v, "of", "this loss", "add what moves: of = \"jug.angle\"");
  const std::string& name = file.string(of, "of");
  study::PathPrice price{.name = file.string_or(v, "name", kind + " of " + name),
                         .kind = overshoot ? study::PathPrice::Kind::overshoot : study::PathPrice::Kind::jerk,
                         .weight = weight_of(file, v)};
  std::vector<std::string> names;
  double unit = 1;
  for (const VariableGroup& g : draft.groups) {
    if (g.where != study::Variable::Where::path) continue;
    names.push_back(g.name);
    if (g.name != name && !g.name.starts_with(name + ".")) continue;
    price.paths.push_back(g.path);
    unit = g.unit;
    if (draft.setup.inputs.paths[g.path].shape != study::Path::Shape::spline)
      file.fail(of.place, "'" + g.name + "' is not a spline, and has no " + kind,
                "give it interpolation = \"spline\"");
  }
  if (price.paths.empty())
    file.fail(of.place, "there is no motion or control '" + name + "'", suggestion(name, names));
  if (overshoot)
    price.limit = unit * file.number(file.required(v, "limit", "overshoot",
                                                   "add the largest value that costs nothing: limit = 100"),
                                     "limit");
  return price;
}

}  // namespace

std::string kind_of(const SceneFile& file, const TomlValue& v, const std::vector<OwnLoss>& own) {
  if (!v.find("kind") && v.find("formula")) return "formula";
  std::vector<std::string> names = {"formula", "effort", "jerk", "overshoot"};
  for (const auto& [name, read] : kKinds) names.emplace_back(name);
  for (const OwnLoss& one : own) names.push_back(one.kind);
  return file.choice(file.required(v, "kind", "this loss", "add formula = \"...\", or kind = \"position\""),
                     "kind of loss", names);
}

double weight_of(const SceneFile& file, const TomlValue& v) { return file.positive_or(v, "weight", 1); }

Term read_term(const SceneFile& file, const TomlValue& v, const std::string& kind, Steps steps,
               const LossContext& context) {
  Term term{.name = file.string_or(v, "name", kind), .steps = std::move(steps)};
  for (const auto& [name, read] : kKinds)
    if (kind == name) read(file, v, context, term);
  return term;
}

void read_losses(const SceneFile& file, Draft& draft) {
  study::Setup& setup = draft.setup;
  const LossContext context{.quantities = *setup.quantities,
                            .dimension = draft.dimension,
                            .width = draft.width,
                            .up = draft.up,
                            .marks = &setup.marks};
  for (const TomlValue& v : file.tables("loss", 256)) {
    const std::string kind = kind_of(file, v, draft.losses);
    const auto own = std::find_if(draft.losses.begin(), draft.losses.end(),
                                  [&](const OwnLoss& one) { return one.kind == kind; });
    if (kind == "jerk" || kind == "overshoot") {
      setup.prices.push_back(read_price(file, v, kind, draft));
      setup.facts.emplace_back("loss", setup.prices.back().name);
      continue;
    }
    Term term{.name = file.string_or(v, "name", kind)};
    if (kind != "effort") term.steps = read_steps(file, v, setup.duration, setup.steps);
    if (kind == "formula")
      read_formula(file, v, draft, term);
    else if (kind == "effort")
      read_effort(file, v, draft, term);
    else if (own != draft.losses.end())
      read_own(file, v, *own, term);
    else
      term = read_term(file, v, kind, term.steps, context);
    setup.facts.emplace_back("loss", term.name);
    setup.terms.push_back(std::move(term));
  }
}

}  // namespace costate::io
