// The tables that all physics share, each read by one function: [run], [parameters], [controls], [[loss]],
// [optimize], [fit], [plan], [view]. The guide: docs/studies.md.
#pragma once

#include "costate/ad/program.h"
#include "costate/io/scene/draft.h"

namespace costate::io {

// [run] (run.cpp): dt, duration or steps, precision, checkpoints, device. The physics' own step is the
// default. Sets dt and steps.
void read_run(const SceneFile& file, double default_dt, double default_duration, study::Setup& setup);
// precision and checkpoints alone.
void read_run_how(const SceneFile& file, study::Setup& setup);
// at = "end", at = 1.2, times = [...], or from, to and every: steps, increasing.
std::vector<std::int64_t> read_steps(const SceneFile& file, const TomlValue& v, double duration,
                                     std::int64_t steps);

// [parameters] (parameters.cpp): values of the physics' parameters other than its own.
void read_parameters(const SceneFile& file, Draft& draft);

// [controls] (controls.cpp): a path for each of the things that can be driven. `t` is the time of each step.
void read_controls(const SceneFile& file, Draft& draft);
// One control: a number, [values], {values, interpolation}, {count, value, interpolation}, or a formula of t.
study::Path read_path(const SceneFile& file, const TomlValue& v, const std::string& name, double dt,
                      std::int64_t steps);

// One formula, or a number, of the given names; a mistake is told at its place in the file (formula.cpp).
ad::Program parse_formula(const TomlDocument& document, const TomlValue& formula,
                          const std::vector<ad::Field>& fields);
// A formula as it is written, for reports.
std::string written(const TomlValue& formula);

// [[loss]] (losses.cpp).
void read_losses(const SceneFile& file, Draft& draft);
// A kind other than formula and effort, of any physics, at given steps; its name, weight and times are read
// elsewhere.
struct LossContext {
  study::Quantities& quantities;
  int dimension = 3;
  double width = 0.01;
  std::size_t up = 1;
  std::vector<std::array<double, 3>>* marks = nullptr;
};
study::Term read_term(const SceneFile& file, const TomlValue& v, const std::string& kind,
                      std::vector<std::int64_t> steps, const LossContext& context);
// The kind of a loss: "formula" where it has one and says no more.
std::string kind_of(const SceneFile& file, const TomlValue& v, const std::vector<OwnLoss>& own = {});
double weight_of(const SceneFile& file, const TomlValue& v);

// [optimize] and [fit] without its data (optimize.cpp), with the variables found among the groups.
// gradient_window shortens the reach of the checkpoints, where there are some.
std::optional<study::Optimize> read_optimize(const SceneFile& file, const std::vector<VariableGroup>& groups,
                                             const study::Inputs& inputs, bool has_loss, double dt,
                                             std::int64_t steps, Checkpoints* checkpoints);
// [plan] (plan.cpp): how `costate plan` plans, and what the motion must meet, of the states among the groups.
void read_plan(const SceneFile& file, const std::vector<VariableGroup>& groups, study::Setup& setup);
// [fit] data: measurements of quantities at times (fit.cpp).
void read_fit_data(const SceneFile& file, Draft& draft);
// One table of data of [fit]: checked keys, times, values, sigma. `formula` is left to the caller. Of a file
// of columns `table` has its times and values.
struct Measurements {
  std::vector<double> times, values;
  double sigma = 1;
  const TomlValue* formula = nullptr;
  std::shared_ptr<const TomlValue> table;
};
std::vector<Measurements> read_measurements(const SceneFile& file);

// [view] (view.cpp): frames_per_second, eye, target, field_of_view.
void read_view(const SceneFile& file, study::Setup& setup);

}  // namespace costate::io
