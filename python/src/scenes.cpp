// Scenes from TOML files: run, differentiate, optimise, record.
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.h"
#include "costate/io/scene_check.h"
#include "costate/io/scene_function.h"
#include "costate/io/scene_optimize.h"
#include "module.h"
#include "progress.h"
#include "settings.h"
#include "without_gil.h"

namespace costate::python {

std::vector<io::Setting> settings_of(nb::handle settings) {
  std::vector<io::Setting> list;
  if (settings.is_none()) return list;
  nb::dict values;
  if (!nb::try_cast(settings, values)) throw Error("settings are {key: value}");
  for (auto [key, value] : values) {
    const bool text = nb::isinstance<nb::str>(value);
    list.emplace_back(nb::cast<std::string>(key),
                      text ? nb::cast<std::string>(value) : nb::repr(value).c_str());
  }
  return list;
}

namespace {

using namespace nb::literals;
using Numbers = std::vector<double>;

class PyScene {
 public:
  PyScene(std::string path, io::SceneOpening opening)
      : path_(std::move(path)), opening_(std::move(opening)), scene_(io::open_scene(path_, opening_)) {}

  const io::SceneFunction& scene() const { return *scene_; }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& v : scene_->variables()) list.push_back(v.name);
    return list;
  }
  Array start() const {
    Numbers values;
    for (const auto& v : scene_->variables()) values.push_back(v.start);
    return to_numpy(std::move(values));
  }
  Array scale() const {
    Numbers values;
    for (const auto& v : scene_->variables()) values.push_back(v.scale);
    return to_numpy(std::move(values));
  }
  nb::dict facts() const {
    nb::dict table;
    for (const auto& [key, value] : scene_->facts()) table[key.c_str()] = value;
    return table;
  }
  std::pair<io::Recording, nb::dict> run(const ArrayLike& x) {
    io::SceneOutcome outcome;
    const Numbers at = scaled(x);
    io::Recording recording = without_gil([&] { return scene_->record(at, &outcome); });
    nb::dict told;
    told["loss"] = outcome.loss;
    told["terms"] = table(outcome.terms);
    told["fractions"] = table(outcome.fractions);
    return {std::move(recording), told};
  }
  std::pair<double, Array> value_and_grad(const ArrayLike& x) {
    const Numbers at = scaled(x);
    Numbers gradient(at.size());
    const double value = without_gil([&] { return scene_->value_and_gradient(at, gradient.data()); });
    for (std::size_t i = 0; i < at.size(); ++i) gradient[i] /= scene_->variables()[i].scale;
    return {value, to_numpy(std::move(gradient))};
  }
  GradientReport report() const { return scene_->report(); }
  nb::dict optimize(const std::string& state_file, bool resume, const nb::object& progress) {
    io::SceneOptimizeOptions options{.state_file = state_file, .resume = resume};
    std::optional<ProgressBar> bar;
    options.progress = [&](const io::SceneProgress& p) {
      const nb::gil_scoped_acquire lock;
      if (!bar) bar.emplace(progress.is_none(), p.iterations);
      bar->show(p.iteration, p.value);
      if (progress.is_none()) return true;
      const nb::object answer = progress(p.iteration, p.value, p.best);
      return answer.is_none() || nb::cast<bool>(answer);
    };
    const io::SceneOptimum o = without_gil([&] { return io::optimize(*scene_, options); });
    nb::dict result;
    Numbers best = o.best;
    for (std::size_t i = 0; i < best.size(); ++i) best[i] *= scene_->variables()[i].scale;
    result["x"] = to_numpy(std::move(best));
    result["loss"] = o.best_value;
    result["start_loss"] = o.start_value;
    result["losses"] = to_numpy(Numbers(o.losses));
    result["iterations"] = o.iterations;
    result["evaluations"] = o.evaluations;
    result["reason"] = o.reason;
    return result;
  }
  // Over the first steps, in double precision.
  std::vector<io::CheckResult> check(std::int64_t steps, std::uint64_t seed) const {
    io::SceneOpening opening = opening_;
    opening.double_precision = true;
    opening.most_steps = steps;
    return without_gil([&] { return io::check(*io::open_scene(path_, opening), seed); });
  }

 private:
  // In units of the scales.
  Numbers scaled(const ArrayLike& x) const {
    const auto& variables = scene_->variables();
    if (x.is_none()) return scene_->start();
    Numbers values = to_vector<double>(x, "x");
    if (values.size() != variables.size())
      throw Error("x has " + std::to_string(values.size()) + " numbers, the scene " +
                  std::to_string(variables.size()) + " variables");
    for (std::size_t i = 0; i < values.size(); ++i) values[i] /= variables[i].scale;
    return values;
  }
  static nb::dict table(const std::vector<std::pair<std::string, double>>& pairs) {
    nb::dict result;
    for (const auto& [name, value] : pairs) result[name.c_str()] = value;
    return result;
  }

  std::string path_;
  io::SceneOpening opening_;
  std::unique_ptr<io::SceneFunction> scene_;
};

}  // namespace

void bind_scenes(nb::module_& m) {
  nb::class_<PyScene>(m, "Scene",
                      "Particles or rigid bodies, what should happen to them, and what may be changed.")
      .def_prop_ro("title", [](const PyScene& s) { return s.scene().title(); })
      .def_prop_ro("steps", [](const PyScene& s) { return s.scene().steps(); })
      .def_prop_ro("facts", &PyScene::facts, "What was understood of the file.")
      .def_prop_ro("variables", &PyScene::names, "Names of what an optimiser may change.")
      .def_prop_ro("start", &PyScene::start, "Their values in the file, (variables,).")
      .def_prop_ro("scale", &PyScene::scale, "Changes of the variables that mean equally much, (variables,).")
      .def("run", &PyScene::run, "x"_a = nb::none(),
           "(Recording, {'loss', 'terms', 'fractions'}) at values x.")
      .def("value_and_grad", &PyScene::value_and_grad, "x"_a = nb::none(), "(loss, d loss / d x).")
      .def_prop_ro("report", &PyScene::report, "Of the latest gradient.")
      .def("optimize", &PyScene::optimize, "state_file"_a = "", "resume"_a = false, "progress"_a = nb::none(),
           "As [optimize] says: {'x', 'loss', 'start_loss', 'losses', 'reason', ...}.\n"
           "progress(iteration, value, best): False stops. With a state file a run can be resumed.")
      .def("check", &PyScene::check, "steps"_a = 200, "seed"_a = 1,
           "Is the gradient right? A list of checks.")
      .def("__repr__", [](const PyScene& s) {
        return "Scene '" + (s.scene().title().empty() ? s.scene().file() : s.scene().title()) +
               "': " + s.scene().headline() + ", " + std::to_string(s.names().size()) + " variables";
      });
  m.def(
      "load_scene",
      [](const std::string& path, nb::handle settings, const std::string& start_from) {
        return std::make_unique<PyScene>(
            path, io::SceneOpening{.settings = settings_of(settings), .from = start_from});
      },
      "path"_a, "settings"_a = nb::none(), "start_from"_a = "");
  m.def("is_scene", &io::is_scene, "path"_a);
}

}  // namespace costate::python
