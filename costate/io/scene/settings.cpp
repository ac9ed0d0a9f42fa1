// What the user wrote on a command line takes the place of what the file says: --set PATH=VALUE.
//
//   run.duration=2            a key of a table; a table that describes how to do something may gain keys, and
//                             a file may gain such a table
//   start.u[1]=0              one of several numbers
//   materials.milk.viscosity  of the table of that name in an array of tables ...
//   colliders[0].friction     ... or of the one with that number
#include <charconv>
#include <cmath>
#include <optional>

#include "costate/io/scene/scene_file.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;

// "key[3]": the key and 3; -1 where there is no index.
struct Step {
  std::string key;
  long index = -1;
};

std::vector<Step> steps_of(const std::string& path) {
  std::vector<Step> steps;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t dot = std::min(path.find('.', begin), path.size());
    Step step{path.substr(begin, dot - begin)};
    if (const std::size_t bracket = step.key.find('[');
        bracket != std::string::npos && step.key.ends_with(']')) {
      const char* const last = step.key.data() + step.key.size() - 1;
      const auto parsed = std::from_chars(step.key.data() + bracket + 1, last, step.index);
      if (parsed.ec != std::errc() || parsed.ptr != last || step.index < 0) return {};
      step.key.resize(bracket);
    }
    steps.push_back(std::move(step));
    begin = dot + 1;
  }
  return steps;
}

bool is_tables(const TomlValue& v) {
  return v.is(Kind::array) && !v.items.empty() && v.items[0].is(Kind::table);
}
bool is_numeric(const TomlValue& v) {
  return v.is(Kind::number) || (v.is(Kind::array) && !v.items.empty() && v.items[0].is(Kind::number));
}

// Walks down the tree; every way off it is an Error that names the setting.
class Walk {
 public:
  // `place`: that of the setting.
  Walk(TomlDocument& document, Place place) : document_(document), place_(place), at_(&document.root()) {}

  [[noreturn]] void wrong(const std::string& what, const std::string& advice) const {
    document_.fail(place_, what, advice);
  }
  TomlValue& at() const { return *at_; }
  const std::string& where() const { return where_; }

  // Into the value of a key, and of an index behind it. A key that is not there is added, as `missing`, where
  // that says a kind.
  void down(const Step& step, std::optional<Kind> missing) {
    if (is_tables(*at_)) {
      named(step.key);
    } else if (at_->is(Kind::table)) {
      TomlValue* found = at_->find(step.key);
      if (!found && missing) {
        at_->keys.push_back(step.key);
        at_->key_places.push_back(place_);
        at_->items.emplace_back();
        at_->items.back().kind = *missing;
        at_->items.back().place = place_;
        found = &at_->items.back();
      }
      if (!found) {
        if (where_.empty()) wrong("the file has no [" + step.key + "]", "");
        wrong("there is no " + where_ + "." + step.key, suggestion(step.key, at_->keys));
      }
      at_ = found;
    } else {
      wrong(where_ + " is not a table", "write " + where_ + "=...");
    }
    where_ += (where_.empty() ? "" : ".") + step.key;
    if (step.index >= 0) element(step.index);
  }

 private:
  // One of [[tables]], by the name it gives itself.
  void named(const std::string& name) {
    std::vector<std::string> names;
    for (TomlValue& item : at_->items) {
      const TomlValue* given = item.find("name");
      if (!given || !given->is(Kind::string)) continue;
      names.push_back(given->text);
      if (given->text == name) {
        at_ = &item;
        return;
      }
    }
    wrong("there is no '" + name + "' among " + where_,
          names.empty() ? "write " + where_ + "[0].KEY" : suggestion(name, names));
  }
  void element(long index) {
    TomlValue* values = at_->is(Kind::table) ? at_->find("values") : at_;
    if (!values || !values->is(Kind::array)) wrong(where_ + " is not an array", "leave the index out");
    if (index >= long(values->items.size()))
      wrong(where_ + " is an array of " + std::to_string(values->items.size()) + " elements",
            "write " + where_ + "[0]=...");
    at_ = &values->items[index];
    where_ += "[" + std::to_string(index) + "]";
  }

  const TomlDocument& document_;
  Place place_;
  TomlValue* at_;
  std::string where_;
};

}  // namespace

void SceneFile::apply(const Setting& setting) {
  const auto& [path, text] = setting;
  const Place place = document_.place_beside("--set " + path + "=" + text);
  Walk walk(document_, place);
  const std::vector<Step> steps = steps_of(path);
  if (steps.size() < 2)
    walk.wrong("'" + path + "' names nothing that can be set",
               "write TABLE.KEY: run.duration, parameters.NAME, start.NAME, controls.NAME[0]");
  // The names of equations are what [equations] uses: another one would be a misspelling.
  const bool names = steps[0].key == "start" || steps[0].key == "parameters" || steps[0].key == "controls";
  const bool may_add = !(names && root().find("equations"));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::optional<Kind> missing;
    if (may_add && i + 1 == steps.size()) missing = Kind::string;
    if (may_add && i == 0 && steps[0].index < 0)
      missing = Kind::table;  // the section knows which there may be
    walk.down(steps[i], missing);
  }

  TomlValue value = setting_value(text);
  // A control of equations is its values.
  TomlValue* const values = !may_add && walk.at().is(Kind::table) ? walk.at().find("values") : nullptr;
  TomlValue& target = values ? *values : walk.at();
  const auto check = [&](const TomlValue& v, const auto& each) -> void {
    for (const TomlValue& item : v.items) each(item, each);
    if (v.is(Kind::array)) return;
    if (v.is(Kind::number) && !std::isfinite(v.number)) walk.wrong("the value is not a finite number", "");
    if (is_numeric(target) && !v.is(Kind::number) && names)
      walk.wrong("'" + v.text + "' is not a number", "write " + path + "=1.5");
  };
  check(value, check);
  if (names && target.is(Kind::array) && is_numeric(target)) {
    const std::string size = std::to_string(target.items.size());
    if (!value.is(Kind::array))
      walk.wrong(walk.where() + " is an array of " + size + " elements", "write " + walk.where() + "[0]=...");
    if (value.items.size() != target.items.size())
      walk.wrong(walk.where() + " is an array of " + size + " elements, not of " +
                     std::to_string(value.items.size()),
                 "");
  }
  if (names && target.is(Kind::number) && value.is(Kind::array))
    walk.wrong(walk.where() + " is one number", "write " + path + "=1.5");
  value.text_is_verbatim = false;
  const auto put = [place](TomlValue& v, const auto& each) -> void {
    v.place = v.text_place = place;
    for (TomlValue& item : v.items) each(item, each);
  };
  put(value, put);
  target = value;
}

}  // namespace costate::io
