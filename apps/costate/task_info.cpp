// costate info of a file with [task]: what a policy sees, does and is rewarded for, and how it is learned.
#include <fmt/core.h>

#include "costate/io/scene/load_task.h"
#include "costate/io/text/toml_document.h"
#include "json.h"
#include "table.h"
#include "train.h"

namespace costate::app {
namespace {

std::string layers(const std::vector<int>& sizes) {
  std::string text;
  for (const int size : sizes) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return text;
}

// "q (2), v (2)".
std::string listed(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& f : fields) text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", f.name, f.size);
  return text;
}

std::string ranges(const learn::Task& task) {
  std::string text;
  for (std::size_t i = 0; i < task.lower.size(); ++i)
    text += fmt::format("{}{:.4g} to {:.4g}", i > 0 ? ", " : "", task.lower[i], task.upper[i]);
  return text;
}

// One formula, or a list of them, as written.
std::string formulas(const io::TomlValue* v) {
  if (!v) return "";
  if (!v->is(io::TomlValue::Kind::array)) return v->text;
  std::string text;
  for (const io::TomlValue& one : v->items) text += (text.empty() ? "" : ", ") + one.text;
  return text;
}

}  // namespace

bool is_task_file(const std::string& path) {
  return io::TomlDocument(io::read_text(path), path).root().find("task") != nullptr;
}

int run_task_info(const Arguments& arguments) {
  const io::TaskFile file = io::load_task(arguments.file, settings_of(arguments));
  const io::SceneFile scene(io::TomlDocument(io::read_text(arguments.file), arguments.file),
                            settings_of(arguments));
  const io::TomlValue& written = *scene.root().find("task");
  const learn::Task& task = file.task;
  const Signature& plant = task.plant->signature();
  const learn::LearnOptions& o = file.options;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"states", listed(plant.fields(Role::state))},
      {"controls", listed(plant.fields(Role::control))},
      {"ranges", ranges(task)},
      {"decision", fmt::format("every {:.4g} s, {} steps", file.step, task.hold)},
      {"episode", fmt::format("{} decisions, {:.4g} s", task.decisions, double(task.decisions) * file.step)},
      {"observed", formulas(written.find("observe"))},
      {"reward", formulas(written.find("reward"))}};
  if (written.find("alive")) facts.emplace_back("alive while", formulas(written.find("alive")) + " > 0");
  facts.emplace_back("learned by", fmt::format("{}: {} decisions in {} worlds, pieces of {}", o.method,
                                               o.steps, o.worlds, o.horizon));
  facts.emplace_back("networks", fmt::format("policy {}{}; critic {}",
                                             o.memory > 0 ? fmt::format("memory {}, ", o.memory) : "",
                                             layers(o.hidden), layers(o.critic)));
  if (arguments.json) {
    Json list = Json::array();
    for (const auto& [what, value] : facts) list.push_back({what, value});
    print({{"file", arguments.file}, {"title", file.title}, {"facts", list}});
    return 0;
  }
  fmt::print("{}\n\n", file.title.empty() ? arguments.file : file.title);
  Table table;
  for (const auto& [what, value] : facts) table.row({what, value});
  fmt::print("{}\na task to learn: costate train {}\n", table.text(), arguments.file);
  return 0;
}

}  // namespace costate::app
