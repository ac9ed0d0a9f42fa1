#include <cmath>

#include "costate/io/scene/tables.h"
#include "costate/io/text/table_file.h"
#include "costate/system/program/bind_program.h"
#include "costate/system/program/program_objective.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;

// An array as the file would have it, told at one place.
TomlValue array_of(const std::vector<double>& numbers, Place place) {
  TomlValue array, one;
  array.kind = Kind::array, one.kind = Kind::number;
  array.place = one.place = place;
  for (const double number : numbers) one.number = number, array.items.push_back(one);
  return array;
}

// Times and values from two columns of a file, instead of in the scene.
TomlValue with_columns(const SceneFile& file, const TomlValue& v) {
  const TomlValue& name = *v.find("file");
  for (const char* key : {"times", "values"})
    if (v.find(key)) file.fail(v.find(key)->place, std::string("the file of the data has the ") + key);
  const TomlValue& column =
      file.required(v, "column", "these data", "add column = \"NAME\": which column was measured");
  const std::string path = file.beside(file.string(name, "file"));
  const auto columns = file.told_at(name.place, [&] {
    return read_columns(path, {file.string_or(v, "time", "t"), file.string(column, "column")});
  });
  std::vector<double> times, values;
  for (std::size_t k = 0; k < columns[0].size(); ++k) {
    if (!(columns[0][k] == columns[0][k])) file.fail(name.place, "a row of " + path + " has no time");
    if (!(columns[1][k] == columns[1][k])) continue;  // nothing was measured
    times.push_back(columns[0][k]), values.push_back(columns[1][k]);
  }
  TomlValue filled = v;
  for (const auto& [key, numbers] : {std::pair("times", &times), std::pair("values", &values)}) {
    filled.keys.emplace_back(key), filled.key_places.push_back(name.place);
    filled.items.push_back(array_of(*numbers, name.place));
  }
  return filled;
}

Measurements read_one(const SceneFile& file, const TomlValue& v) {
  file.require_known_keys(v, {"times", "formula", "quantities", "values", "sigma", "file", "time", "column"},
                          "data");
  const auto table = std::make_shared<const TomlValue>(v.find("file") ? with_columns(file, v) : v);
  for (const char* key : {"times", "formula", "values"}) {
    if (!table->find(key))
      file.fail(v.place, std::string("data have no '") + key + "'",
                "write data = {times = [...], formula = \"x\", values = [...]}, or file and column");
  }
  Measurements m{.times = file.numbers(*table->find("times"), "times"),
                 .values = file.numbers(*table->find("values"), "values"),
                 .sigma = file.positive_or(v, "sigma", 1),
                 .formula = v.find("formula"),
                 .table = table};
  if (m.times.empty()) file.fail(table->find("times")->place, "data need at least one time");
  if (m.values.size() != m.times.size())
    file.fail(v.find("values")->place, "there are " + std::to_string(m.values.size()) + " values for " +
                                           std::to_string(m.times.size()) + " times");
  return m;
}

}  // namespace

std::vector<Measurements> read_measurements(const SceneFile& file) {
  const TomlValue* fit = file.root().find("fit");
  if (!fit) return {};
  const TomlValue& data = file.required(file.table(*fit, "fit"), "data", "[fit]",
                                        "add data = {times = [...], formula = \"x\", values = [...]}");
  std::vector<Measurements> list;
  if (data.is(Kind::array)) {
    for (const TomlValue& series : data.items) list.push_back(read_one(file, file.table(series, "data")));
  } else {
    list.push_back(read_one(file, file.table(data, "data")));
  }
  if (list.empty()) file.fail(data.place, "there are no data");
  return list;
}

void read_fit_data(const SceneFile& file, Draft& draft) {
  study::Setup& setup = draft.setup;
  study::Quantities& quantities = *setup.quantities;
  std::size_t series = 0;
  for (const Measurements& m : read_measurements(file)) {
    if (const TomlValue* q = m.table->find("quantities")) {
      file.table(*q, "quantities");
      for (std::size_t i = 0; i < q->keys.size(); ++i)
        file.told_at(q->items[i].place,
                     [&] { return quantities.numbers(file.string(q->items[i], q->keys[i]), q->keys[i]); });
    }
    const ad::Program program =
        parse_formula(file.document(), *m.formula, names_of(quantities.signature(), true));
    const std::vector<std::int64_t> steps = read_steps(file, *m.table, setup.duration, setup.steps);
    for (std::size_t k = 0; k < m.times.size(); ++k) {
      study::Term term{.name = written(*m.formula), .steps = {steps[k]}};
      term.objective =
          study::any_objective([program, &quantities](auto real, const std::vector<std::int64_t>& at) {
            return loss::program<decltype(real)>(quantities.signature(), program, loss::at_steps(at));
          });
      setup.data.push_back({std::move(term), m.values[k], m.sigma, series});
    }
    ++series;
  }
}

}  // namespace costate::io
