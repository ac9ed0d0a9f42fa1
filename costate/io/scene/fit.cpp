#include <cmath>

#include "costate/io/scene/tables.h"
#include "costate/system/program/bind_program.h"
#include "costate/system/program/program_objective.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;

Measurements read_one(const SceneFile& file, const TomlValue& v) {
  file.require_known_keys(v, {"times", "formula", "quantities", "values", "sigma"}, "data");
  for (const char* key : {"times", "formula", "values"}) {
    if (!v.find(key))
      file.fail(v.place, std::string("data have no '") + key + "'",
                "write data = {times = [...], formula = \"x\", values = [...]}");
  }
  Measurements m{.times = file.numbers(*v.find("times"), "times"),
                 .values = file.numbers(*v.find("values"), "values"),
                 .sigma = file.positive_or(v, "sigma", 1),
                 .formula = v.find("formula"),
                 .table = &v};
  if (m.times.empty()) file.fail(v.find("times")->place, "data need at least one time");
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
      setup.data.push_back({std::move(term), m.values[k], m.sigma});
    }
  }
}

}  // namespace costate::io
