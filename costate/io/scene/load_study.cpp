#include "costate/io/scene/load_study.h"

#include <filesystem>

#include "costate/io/model/load_model.h"
#include "costate/io/scene/section.h"

namespace costate::io {
namespace {

// Tables that every study may have.
const std::vector<std::string> kCommon = {"title", "run",      "start", "parameters", "controls",
                                          "loss",  "optimize", "fit",   "view"};

template <Draft (*Read)(const SceneFile&)>
std::unique_ptr<study::Study> open_rollout(const SceneFile& file, const Opening& opening) {
  Draft draft = Read(file);
  study::Setup& setup = draft.setup;
  setup.file = file.name();
  if (const TomlValue* title = file.root().find("title")) setup.title = file.string(*title, "title");
  setup.inputs.p = study::default_parameters(setup.signature);
  read_parameters(file, draft);
  read_controls(file, draft);
  read_losses(file, draft);
  read_fit_data(file, draft);
  for (const Field& f : setup.signature.fields(Role::parameter))
    draft.groups.push_back({.name = "parameters." + f.name,
                            .where = study::Variable::Where::parameter,
                            .first = std::size_t(f.offset),
                            .count = std::size_t(f.size)});
  for (const Field& f : setup.signature.fields(Role::state))
    draft.groups.push_back(
        {.name = "start." + f.name, .first = std::size_t(f.offset), .count = std::size_t(f.size)});
  // A gradient that is cut off is not the derivative that differences are compared with.
  const Checkpoints whole = setup.checkpoints;
  setup.optimize = read_optimize(file, draft.groups, setup.inputs, !setup.terms.empty(), setup.dt,
                                 setup.steps, &setup.checkpoints);
  if (opening.for_check) {
    setup.checkpoints = whole;
    if (setup.optimize) setup.optimize->automatic_window = false;
  }
  read_plan(file, draft.groups, setup);
  read_view(file, setup);
  if (opening.for_check) {
    setup.double_precision = true;
    if (draft.tighten) draft.tighten(setup);
  }
  setup.facts.emplace_back("precision", setup.double_precision ? "double" : "float");
  if (setup.optimize) setup.facts.emplace_back("variables", std::to_string(setup.optimize->variables.size()));
  for (const std::string& note : setup.notes) setup.facts.emplace_back("note", note);
  if (opening.most_steps > 0) study::shorten(setup, opening.most_steps);
  return study::rollout_study(std::move(setup));
}

std::unique_ptr<study::Study> open(TomlDocument document, const Opening& opening) {
  const SceneFile file(std::move(document), opening.settings);
  if (const TomlValue* task = file.root().find("task"))
    file.fail(task->place, "this is a task to be learned, not a study", "use costate train");
  const Section* chosen = nullptr;
  std::string list;
  for (const Section& section : sections()) {
    if (!chosen && file.root().find(section.table)) chosen = &section;
    list += (list.empty() ? "[" : ", [") + std::string(section.table) + "]";
  }
  if (!chosen) file.fail({}, "there is no table that says what this is about", "add one of " + list);
  std::vector<std::string> known = kCommon;
  known.insert(known.end(), chosen->tables.begin(), chosen->tables.end());
  known.emplace_back(chosen->table);
  if (chosen->open != open_equations) known.emplace_back("plan");  // they are solved, not stepped
  file.require_known_keys(file.root(), known, std::string("a file with [") + chosen->table + "]");
  std::unique_ptr<study::Study> study = chosen->open(file, opening);
  if (!opening.from.empty()) study->start_from(opening.from);
  return study;
}

// A model alone, as the file that somebody would have written for it. It has no lines: mistakes are told with
// the model's name.
TomlDocument document_of_model(const std::string& path) {
  const rigid::Model model = rigid::load(path);
  TomlDocument document("", path);
  const auto add = [](TomlValue& table, const std::string& key) -> TomlValue& {
    table.keys.push_back(key);
    table.key_places.push_back({});
    return table.items.emplace_back();
  };
  const auto text = [&](TomlValue& table, const std::string& key, const std::string& value) {
    TomlValue& v = add(table, key);
    v.kind = TomlValue::Kind::string;
    v.text = value;
  };
  text(add(document.root(), "model"), "file", std::filesystem::absolute(path).string());
  TomlValue& start = add(document.root(), "start");
  if (!model.keyframes.empty() && !model.keyframes[0].name.empty())
    text(start, "keyframe", model.keyframes[0].name);
  for (const char* name : {"run", "parameters", "controls", "contact", "view"}) add(document.root(), name);
  return document;
}

}  // namespace

const std::vector<Section>& sections() {
  static const std::vector<Section> kSections = {
      {"equations", {"definitions", "events"}, open_equations},
      {"soft", {"materials", "parts", "holds", "obstacles", "contact", "model"}, open_rollout<read_soft>},
      {"domain",
       {"walls", "materials", "colliders", "bodies", "fill", "model", "contact"},
       open_rollout<read_particles>},
      {"flow", {"obstacles", "scalars", "reactions", "tracers", "probes", "model"}, open_rollout<read_flow>},
      {"model", {"contact"}, open_rollout<read_bodies>},
      {"grid", {}, open_rollout<read_grid>},
      {"springs", {"masses", "links", "planes"}, open_rollout<read_springs>},
      {"molecules", {"atoms", "potentials", "rigid_bonds"}, open_rollout<read_molecules>}};
  return kSections;
}

bool is_model_file(const std::string& path) { return path.ends_with(".xml") || path.ends_with(".urdf"); }

std::unique_ptr<study::Study> parse_study(std::string text, const std::string& name, const Opening& opening) {
  return open(TomlDocument(std::move(text), name), opening);
}

std::unique_ptr<study::Study> load_study(const std::string& path, const Opening& opening) {
  if (is_model_file(path)) return open(document_of_model(path), opening);
  return parse_study(read_text(path), path, opening);
}

}  // namespace costate::io
