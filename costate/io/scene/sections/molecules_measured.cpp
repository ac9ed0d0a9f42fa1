#include "costate/io/scene/sections/molecules_measured.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "costate/core/text.h"
#include "costate/md/observable/motion.h"
#include "costate/md/observable/pair_distribution.h"
#include "costate/md/observable/thermodynamics.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;
using Steps = study::AnyObjective::Steps;

using SharedModel = std::shared_ptr<const md::Model>;

// md::observe of this, of the state that it is asked of. It is made once: every measurement of a fit asks.
template <class What>
study::AnyObjective observed(const SharedModel& model, const What& what) {
  const auto made = std::make_shared<std::pair<ObjectivePtr<float>, ObjectivePtr<double>>>();
  return study::any_objective([model, what, made](auto real, const Steps&) {
    auto& one = std::get<ObjectivePtr<decltype(real)>>(*made);
    if (!one) one = md::observe<decltype(real)>(*model, what);
    return one;
  });
}

// [[1, 0, 0], [0, 1, 0]]: whole numbers n of waves q = 2 pi n / box.
std::vector<std::array<int, 3>> waves_of(const SceneFile& file, const TomlValue& value, int dimensions) {
  if (!value.is(Kind::array)) file.fail(value.place, "waves are a list: [[1, 0, 0], [0, 1, 0]]");
  std::vector<std::array<int, 3>> waves;
  for (const TomlValue& row : value.items) {
    const std::vector<double> n = file.numbers(row, "a wave");
    if (int(n.size()) != dimensions)
      file.fail(row.place, "a wave has " + std::to_string(dimensions) + " whole numbers");
    waves.emplace_back();
    for (std::size_t k = 0; k < n.size(); ++k) {
      if (!(n[k] == std::round(n[k]) && std::abs(n[k]) < 1e9))
        file.fail(row.place, "a wave has whole numbers: q = 2 pi n / box");
      waves.back()[k] = int(n[k]);
    }
  }
  return waves;
}

}  // namespace

int atom_of(const SceneFile& file, const std::vector<std::string>& names, const TomlValue& value) {
  if (value.is(Kind::number)) {
    const double i = file.number(value, "an atom");
    if (i < 0 || i >= double(names.size()) || i != std::floor(i))
      file.fail(value.place, "there is no atom " + number(i), "atoms are counted from 0");
    return int(i);
  }
  const auto at = std::find(names.begin(), names.end(), file.string(value, "an atom"));
  if (at == names.end())
    file.fail(value.place, "there is no atom '" + value.text + "'", suggestion(value.text, names));
  return int(at - names.begin());
}

std::vector<int> atoms_of(const SceneFile& file, const std::vector<std::string>& names,
                          const TomlValue& value) {
  if (!value.is(Kind::array)) file.fail(value.place, "atoms are a list: [\"a\", \"b\"]");
  std::vector<int> list;
  for (const TomlValue& item : value.items) {
    if (item.is(Kind::array))
      for (const TomlValue& inner : item.items) list.push_back(atom_of(file, names, inner));
    else
      list.push_back(atom_of(file, names, item));
  }
  return list;
}

std::vector<study::MeasuredNumber> measured_of(const md::Model& model, const std::vector<double>& start) {
  const auto shared = std::make_shared<const md::Model>(model);
  std::vector<study::MeasuredNumber> all;
  for (const char* name : {"potential_energy", "kinetic_energy", "temperature", "pressure"})
    all.push_back({name, observed(shared, md::Observe{.quantity = md::quantity_by_name(name)})});
  for (const auto& [name, of] :
       {std::pair{"displacement", md::Motion::displacement}, {"velocity_correlation", md::Motion::velocity}})
    all.push_back({name, observed(shared, md::ObserveMotion{.of = of, .start = start})});
  return all;
}

OwnLoss pair_distribution_loss(const md::Model& model, const std::vector<std::string>& names) {
  const auto shared = std::make_shared<const md::Model>(model);
  const auto read = [shared, names](const SceneFile& file, const TomlValue& v, double weight) {
    md::ObserveDistribution what;
    const auto numbers = [&](const char* key, std::vector<double>& to) {
      if (const TomlValue* value = v.find(key)) to = file.one_or_more(*value, key);
    };
    const auto atoms = [&](const char* key, std::vector<int>& to) {
      if (const TomlValue* value = v.find(key)) to = atoms_of(file, names, *value);
    };
    numbers("radii", what.of.radii);
    numbers("target", what.target);
    numbers("weights", what.weights);
    atoms("from_atoms", what.of.from);
    atoms("to_atoms", what.of.to);
    what.of.width = file.positive_or(v, "width", what.of.width);
    if (const TomlValue* waves = v.find("waves")) what.of.waves = waves_of(file, *waves, shared->dimensions);
    const std::size_t size = what.of.radii.size() + what.of.waves.size();
    if (size == 0) file.fail(v.place, "this loss has neither radii nor waves", "add radii = [0.9, 1.0, 1.1]");
    if (what.weights.empty()) what.weights.assign(size, 1.0);
    file.told_at(v.place, [&] { return md::observe<double>(*shared, what); });  // says what it needs
    return study::any_objective([shared, what, weight](auto real, const Steps& steps) {
      md::ObserveDistribution then = what;
      then.steps = steps;
      for (double& one : then.weights) one *= weight / double(steps.size());
      return md::observe<decltype(real)>(*shared, then);
    });
  };
  return {
      "pair_distribution", {"radii", "width", "waves", "from_atoms", "to_atoms", "weights", "target"}, read};
}

}  // namespace costate::io
