// Scenes of particles from TOML files: run, differentiate, optimise, record.
#include "costate/io/scene.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <variant>

#include "arrays.h"
#include "costate/io/scene_check.h"
#include "costate/io/scene_optimize.h"
#include "costate/io/scene_problem.h"
#include "module.h"
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
  template <class F>
  decltype(auto) visit(const F& f) const {
    return std::visit([&](const auto& p) -> decltype(auto) { return f(*p); }, problem_);
  }

 public:
  explicit PyScene(const io::Scene& scene) {
    if (scene.double_precision)
      problem_ = std::make_unique<io::SceneProblem<double>>(scene);
    else
      problem_ = std::make_unique<io::SceneProblem<float>>(scene);
  }

  const io::Scene& scene() const {
    return visit([](const auto& p) -> const io::Scene& { return p.scene(); });
  }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    if (scene().optimize)
      for (const auto& v : scene().optimize->variables) list.push_back(v.name);
    return list;
  }
  Array start() const {
    Numbers values;
    if (scene().optimize)
      for (const auto& v : scene().optimize->variables) values.push_back(v.start);
    return to_numpy(std::move(values));
  }
  std::pair<io::Recording, nb::dict> run(const ArrayLike& x) {
    io::SceneOutcome outcome;
    const Numbers at = scaled(x);
    io::Recording recording =
        without_gil([&] { return visit([&](auto& p) { return p.record(at, &outcome); }); });
    nb::dict told;
    told["loss"] = outcome.loss;
    told["terms"] = table(outcome.terms);
    told["fractions"] = table(outcome.fractions);
    return {std::move(recording), told};
  }
  std::pair<double, Array> value_and_grad(const ArrayLike& x) {
    const Numbers at = scaled(x);
    Numbers gradient(at.size());
    const double value = without_gil(
        [&] { return visit([&](auto& p) { return p.value_and_gradient(at, gradient.data()); }); });
    for (std::size_t i = 0; i < at.size(); ++i) gradient[i] /= scene().optimize->variables[i].scale;
    return {value, to_numpy(std::move(gradient))};
  }
  GradientReport report() const {
    return visit([](const auto& p) { return p.report(); });
  }
  nb::dict optimize(const std::string& state_file, bool resume, const nb::object& progress) {
    io::SceneOptimizeOptions options{.state_file = state_file, .resume = resume};
    options.progress = [&](const io::SceneProgress& p) {
      if (progress.is_none()) return true;
      const nb::gil_scoped_acquire lock;
      const nb::object answer = progress(p.iteration, p.value, p.best);
      return answer.is_none() || nb::cast<bool>(answer);
    };
    const io::SceneOptimum o =
        without_gil([&] { return visit([&](auto& p) { return io::optimize(p, options); }); });
    nb::dict result;
    Numbers best = o.best;
    for (std::size_t i = 0; i < best.size(); ++i) best[i] *= scene().optimize->variables[i].scale;
    result["x"] = to_numpy(std::move(best));
    result["loss"] = o.best_value;
    result["start_loss"] = o.start_value;
    result["losses"] = to_numpy(Numbers(o.losses));
    result["iterations"] = o.iterations;
    result["evaluations"] = o.evaluations;
    result["reason"] = o.reason;
    return result;
  }
  std::vector<io::CheckResult> check(std::int64_t steps, std::uint64_t seed) const {
    return without_gil([&] { return io::check(scene(), steps, seed); });
  }

 private:
  // In units of the scales.
  Numbers scaled(nb::handle x) const {
    const std::size_t count = scene().optimize ? scene().optimize->variables.size() : 0;
    Numbers values = x.is_none() ? Numbers(count) : to_vector<double>(x, "x");
    if (values.size() != count)
      throw Error("x has " + std::to_string(values.size()) + " numbers, the scene " + std::to_string(count) +
                  " variables");
    for (std::size_t i = 0; i < count; ++i) {
      const auto& v = scene().optimize->variables[i];
      values[i] = (x.is_none() ? v.start : values[i]) / v.scale;
    }
    return values;
  }
  static nb::dict table(const std::vector<std::pair<std::string, double>>& pairs) {
    nb::dict result;
    for (const auto& [name, value] : pairs) result[name.c_str()] = value;
    return result;
  }

  std::variant<std::unique_ptr<io::SceneProblem<float>>, std::unique_ptr<io::SceneProblem<double>>> problem_;
};

}  // namespace

void bind_scenes(nb::module_& m) {
  nb::class_<PyScene>(m, "Scene",
                      "Particles, what should happen to them, and what may be changed; from a TOML file.")
      .def_prop_ro("title", [](const PyScene& s) { return s.scene().title; })
      .def_prop_ro("steps", [](const PyScene& s) { return s.scene().steps; })
      .def_prop_ro("variables", &PyScene::names, "Names of what an optimiser may change.")
      .def_prop_ro("start", &PyScene::start, "Their values in the file, (variables,).")
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
        return "Scene '" + (s.scene().title.empty() ? s.scene().file : s.scene().title) +
               "': " + std::to_string(mpm::particle_count(s.scene().model)) + " particles, " +
               std::to_string(s.scene().steps) + " steps, " + std::to_string(s.names().size()) + " variables";
      });
  m.def(
      "load_scene",
      [](const std::string& path, nb::handle settings, const std::string& from) {
        const io::Scene scene = io::load_scene(path, settings_of(settings));
        return std::make_unique<PyScene>(from.empty() ? scene : io::started_from(scene, from));
      },
      "path"_a, "settings"_a = nb::none(), "start_from"_a = "");
  m.def("is_scene", &io::is_scene, "path"_a);
}

}  // namespace costate::python
