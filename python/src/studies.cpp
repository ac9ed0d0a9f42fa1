// Studies from files: run, differentiate, check, optimise, record.
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.h"
#include "costate/core/text.h"
#include "costate/io/scene/load_study.h"
#include "costate/study/check.h"
#include "costate/study/optimise.h"
#include "costate/study/trust.h"
#include "module.h"
#include "pickles.h"
#include "progress.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using Numbers = std::vector<double>;

// Values given beside a file: {"parameters.g": 1.6, "domain.dx": "0.01"}.
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

nb::dict table(const study::NamedNumbers& pairs) {
  nb::dict result;
  for (const auto& [name, value] : pairs) result[name.c_str()] = value;
  return result;
}

Array column(const study::Run& run, const std::string& name) {
  for (std::size_t c = 0; c < run.columns.size(); ++c) {
    if (run.columns[c] != name) continue;
    Numbers values;
    for (const Numbers& row : run.rows) values.push_back(row[c]);
    return to_numpy(std::move(values));
  }
  throw Error("the run has no column '" + name + "'");
}

class PyStudy {
 public:
  using Open = std::function<std::unique_ptr<study::Study>(const io::Opening&)>;
  PyStudy(Open open, io::Opening opening)
      : open_(std::move(open)), opening_(std::move(opening)), study_(open_(opening_)) {}

  Kept recipe;  // of a study that came from a file (python/costate/_recipe.py)

  const study::Study& study() const { return *study_; }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& v : study_->variables()) list.push_back(v.name);
    return list;
  }
  Array numbers(double study::Variable::*member) const {
    Numbers values;
    for (const auto& v : study_->variables()) values.push_back(v.*member);
    return to_numpy(std::move(values));
  }
  nb::list facts() const {
    nb::list rows;
    for (const auto& [key, value] : study_->facts()) rows.append(nb::make_tuple(key, value));
    return rows;
  }
  study::Run run(const ArrayLike& x, int dense) {
    const Numbers at = scaled(x);
    return without_gil([&] { return study_->run(at, {.dense = dense}); });
  }
  std::pair<double, Array> value_and_grad(const ArrayLike& x) {
    const Numbers at = scaled(x);
    Numbers gradient(at.size());
    const double value = without_gil([&] { return study_->value_and_gradient(at, gradient.data()); });
    for (std::size_t i = 0; i < at.size(); ++i) gradient[i] /= study_->variables()[i].scale;
    return {value, to_numpy(std::move(gradient))};
  }
  // With respect to every input, as costate grad prints it.
  std::pair<double, nb::dict> gradient(const std::string& adjoint) const {
    const auto study = open_(opening_);
    study->use_adjoint(adjoint);
    study->choose(study->inputs(false));
    const Numbers at = study->start();
    Numbers gradient(at.size());
    const double value = without_gil([&] { return study->value_and_gradient(at, gradient.data()); });
    nb::dict named;
    for (std::size_t i = 0; i < at.size(); ++i)
      named[study->variables()[i].name.c_str()] = gradient[i] / study->variables()[i].scale;
    for (const auto& d : study->further_derivatives()) named[d.name.c_str()] = d.derivative;
    return {value, named};
  }
  // Of a fit.
  std::pair<Array, Array> residuals(const ArrayLike& x) {
    const Numbers at = scaled(x);
    const std::size_t m = std::size_t(study_->residuals()), n = at.size();
    if (m == 0)
      throw Error({"there are no measurements to identify anything from", study_->file,
                   "add [fit] with variables and data"});
    Numbers r(m), J(m * n);
    without_gil([&] {
      study_->residuals(at, r.data(), J.data());
      return true;
    });
    for (std::size_t k = 0; k < m * n; ++k) J[k] /= study_->variables()[k % n].scale;
    return {to_numpy(std::move(r)), to_numpy(std::move(J), {m, n})};
  }
  bool sigma_given() const { return study_->optimize() && study_->optimize()->sigma_given; }
  GradientReport report() const { return study_->report(); }
  nb::dict optimize(const std::string& state_file, bool resume, const nb::object& progress) {
    study::OptimiseOptions options{.state_file = state_file, .resume = resume};
    std::optional<ProgressBar> bar;
    options.progress = [&](const study::OptimiseProgress& p) {
      const nb::gil_scoped_acquire lock;
      if (!bar) bar.emplace(progress.is_none(), p.iterations);
      bar->show(p.iteration, p.value);
      if (progress.is_none()) return true;
      const nb::object answer = progress(p.iteration, p.value, p.best);
      return answer.is_none() || nb::cast<bool>(answer);
    };
    const study::Optimum o = without_gil([&] { return study::optimise(*study_, options); });
    nb::dict result, variables, deviation;
    Numbers best = o.best;
    for (std::size_t i = 0; i < best.size(); ++i) {
      best[i] *= study_->variables()[i].scale;
      variables[study_->variables()[i].name.c_str()] = best[i];
      if (!o.standard_deviation.empty())
        deviation[study_->variables()[i].name.c_str()] = o.standard_deviation[i];
    }
    result["x"] = to_numpy(std::move(best));
    result["variables"] = variables;
    if (!o.standard_deviation.empty()) result["standard_deviation"] = deviation;
    if (study_->residuals() > 0) {
      result["residual_rms"] = o.residual_rms;
      result["unseen"] = o.unseen;
      if (!o.laplace_deviation.empty()) {
        nb::dict whole;
        for (std::size_t i = 0; i < o.laplace_deviation.size(); ++i)
          whole[study_->variables()[i].name.c_str()] = o.laplace_deviation[i];
        result["laplace_deviation"] = whole;
      }
      if (!o.correlation.empty()) {
        const std::size_t n = o.best.size();
        result["correlation"] = to_numpy(Numbers(o.correlation), {n, n});
      }
    }
    result["loss"] = o.best_value;
    result["start_loss"] = o.start_value;
    result["losses"] = to_numpy(Numbers(o.losses));
    result["method"] = o.method;
    result["iterations"] = o.iterations;
    result["evaluations"] = o.evaluations;
    result["converged"] = o.converged;
    result["reason"] = o.reason;
    result["advice"] = o.advice;
    return result;
  }
  // In double precision, with tight tolerances, over the first steps.
  std::vector<check::Result> check(std::int64_t steps, std::uint64_t seed,
                                   std::optional<double> budget) const {
    if (budget && !(*budget > 0))
      throw Error({"budget = " + number(*budget), {}, "give seconds, or None for no limit"});
    const auto open = [&](std::int64_t most) {
      io::Opening opening = opening_;
      opening.for_check = true;
      opening.most_steps = most;
      return open_(opening);
    };
    return without_gil([&] {
      const std::int64_t most = budget ? study::steps_in_time(*budget, steps, open) : steps;
      return study::check_gradient(*open(most), {.seed = seed});
    });
  }
  check::Trust trust(const ArrayLike& x, const check::TrustOptions& options) {
    const Numbers z = scaled(x);
    return without_gil([&] {
      Numbers gradient(z.size());
      const double loss = study_->value_and_gradient(z, gradient.data());
      return study::trust(*study_, z, loss, gradient, options);
    });
  }

 private:
  // In units of the scales.
  Numbers scaled(const ArrayLike& x) const {
    const auto& variables = study_->variables();
    if (x.is_none()) return study_->start();
    Numbers values = to_vector<double>(x, "x");
    if (values.size() != variables.size())
      throw Error("x has " + std::to_string(values.size()) + " numbers, the study " +
                  std::to_string(variables.size()) + " variables");
    for (std::size_t i = 0; i < values.size(); ++i) values[i] /= variables[i].scale;
    return values;
  }

  Open open_;
  io::Opening opening_;
  std::unique_ptr<study::Study> study_;
};

// Events pickle as tuples; everything else as it is.
nb::tuple state_of(const study::Run& r) {
  nb::list events;
  for (const auto& e : r.events) events.append(nb::make_tuple(e.name, e.t, e.before, e.after));
  return nb::make_tuple(r.loss, r.terms, r.fractions, r.recording, r.columns, r.rows, events, r.message,
                        r.notes);
}
void set_state(study::Run& to, const nb::tuple& state) {
  study::Run run;
  run.loss = nb::cast<double>(state[0]);
  run.terms = nb::cast<study::NamedNumbers>(state[1]);
  run.fractions = nb::cast<study::NamedNumbers>(state[2]);
  run.recording = nb::cast<io::Recording>(state[3]);
  run.columns = nb::cast<std::vector<std::string>>(state[4]);
  run.rows = nb::cast<std::vector<Numbers>>(state[5]);
  for (const nb::handle given : nb::cast<nb::list>(state[6])) {
    const auto e = nb::cast<nb::tuple>(given);
    run.events.push_back({nb::cast<std::string>(e[0]), nb::cast<double>(e[1]), nb::cast<Numbers>(e[2]),
                          nb::cast<Numbers>(e[3])});
  }
  run.message = nb::cast<std::string>(state[7]);
  run.notes = nb::cast<std::vector<std::string>>(state[8]);
  new (&to) study::Run(std::move(run));
}

void bind_run(nb::module_& m) {
  nb::class_<study::Run>(m, "Run", "What a run came to. run['h'] is the state h of equations over time.")
      .def("__getstate__", &state_of)
      .def("__setstate__", &set_state)
      .def_ro("loss", &study::Run::loss)
      .def_prop_ro(
          "terms", [](const study::Run& r) { return table(r.terms); }, "Every part of the loss.")
      .def_prop_ro(
          "fractions", [](const study::Run& r) { return table(r.fractions); },
          "Of the points inside the region of each in_region, at its last time.")
      .def_ro("recording", &study::Run::recording,
              "What it looked like; no frames where there is no picture.")
      .def_ro("columns", &study::Run::columns, "Equations: 't', the states, the controls.")
      .def_prop_ro(
          "t", [](const study::Run& r) { return column(r, "t"); }, "(times,)")
      .def_prop_ro(
          "events",
          [](const study::Run& r) {
            nb::list list;
            for (const auto& e : r.events) list.append(nb::make_tuple(e.name, e.t));
            return list;
          },
          "[(name, time), ...]")
      .def_ro("message", &study::Run::message, "How it ended.")
      .def_ro("notes", &study::Run::notes)
      .def("__getitem__", &column, "name"_a)
      .def("__repr__", [](const study::Run& r) {
        return "Run: loss " + std::to_string(r.loss) +
               (r.columns.empty() ? ", " + std::to_string(r.recording.frames) + " frames"
                                  : ", " + std::to_string(r.rows.size()) + " times, " + r.message);
      });
}

}  // namespace

void bind_studies(nb::module_& m) {
  bind_run(m);
  nb::class_<PyStudy> study(m, "Study",
                            "A physics, what should happen in it, and what may be changed: one file.");
  pickle_by(study, "reduce_study");
  study
      .def_prop_rw(
          "_recipe", [](const PyStudy& s) { return s.recipe.get(); },
          [](PyStudy& s, const nb::object& recipe) { s.recipe = recipe.ptr(); })
      .def_prop_ro("title", [](const PyStudy& s) { return s.study().title; })
      .def_prop_ro(
          "steps", [](const PyStudy& s) { return s.study().steps(); }, "0: chosen by a solver.")
      .def_prop_ro("facts", &PyStudy::facts, "What was understood of the file: [(what, value), ...].")
      .def_prop_ro("variables", &PyStudy::names, "Names of what an optimiser may change.")
      .def_prop_ro(
          "start", [](const PyStudy& s) { return s.numbers(&study::Variable::start); },
          "Their values in the file, (variables,).")
      .def_prop_ro(
          "scale", [](const PyStudy& s) { return s.numbers(&study::Variable::scale); },
          "Changes of the variables that mean equally much, (variables,).")
      .def("run", &PyStudy::run, "x"_a = nb::none(), "dense"_a = 0,
           "A Run at values x of the variables. dense: equations at so many equally spaced times.")
      .def("value_and_grad", &PyStudy::value_and_grad, "x"_a = nb::none(), "(loss, d loss / d x).")
      .def("gradient", &PyStudy::gradient, "adjoint"_a = "discrete",
           "(loss, {input: derivative}) with respect to every input, by name.\n"
           "adjoint, of equations: 'discrete', 'forward', 'interpolating', 'backsolve' or 'cvodes'.")
      .def("residuals", &PyStudy::residuals, "x"_a = nb::none(),
           "Of [fit]: (residuals, d residuals / d x), in standard deviations of the measurements.")
      .def_prop_ro("sigma_given", &PyStudy::sigma_given,
                   "Whether [fit] says how exact its measurements are: error bars take it at its word then.")
      .def_prop_ro("report", &PyStudy::report, "Of the latest value_and_grad.")
      .def("optimize", &PyStudy::optimize, "state_file"_a = "", "resume"_a = false, "progress"_a = nb::none(),
           "As [optimize] or [fit] says: {'x', 'variables', 'loss', 'start_loss', 'losses', 'reason', ...}.\n"
           "progress(iteration, value, best): False stops. With a state file a run can be resumed.")
      .def("check", &PyStudy::check, "steps"_a = 200, "seed"_a = 1, "budget"_a = nb::none(),
           "Is the gradient right, over the first steps? A list of checks. budget: seconds, about, that it "
           "may "
           "take; then over fewer steps, where there is no time for all.")
      .def(
          "trust",
          [](PyStudy& s, const ArrayLike& x, double tolerance, double longest, int directions,
             std::uint64_t seed) {
            return s.trust(x, {tolerance, longest, directions, seed});
          },
          "x"_a = nb::none(), nb::kw_only(), "tolerance"_a = 0.1, "longest"_a = 1.0, "directions"_a = 4,
          "seed"_a = 1,
          "How far can the gradient at x be followed? The largest change of the variables, in units of their "
          "scales, over which it predicts the loss.")
      .def("__repr__", [](const PyStudy& s) {
        return "Study '" + (s.study().title.empty() ? s.study().file : s.study().title) +
               "': " + s.study().headline() + ", " + std::to_string(s.names().size()) + " variables";
      });
  m.def(
      "load_study",
      [](const std::string& path, nb::handle settings, const std::string& start_from) {
        return std::make_unique<PyStudy>(
            [path](const io::Opening& opening) { return io::load_study(path, opening); },
            io::Opening{.settings = settings_of(settings), .from = start_from});
      },
      "path"_a, "settings"_a = nb::none(), "start_from"_a = "");
  m.def(
      "parse_study",
      [](const std::string& text, const std::string& name, nb::handle settings) {
        return std::make_unique<PyStudy>(
            [text, name](const io::Opening& opening) { return io::parse_study(text, name, opening); },
            io::Opening{.settings = settings_of(settings)});
      },
      "text"_a, "name"_a = "text", "settings"_a = nb::none());
}

}  // namespace costate::python
