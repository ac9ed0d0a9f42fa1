#include "costate/learn/task.h"

#include <algorithm>

#include "costate/ad/builder.h"
#include "costate/ad/derivative.h"
#include "costate/ad/parse.h"
#include "costate/core/error.h"
#include "costate/system/program/bind_program.h"

namespace costate::learn {
namespace {

std::string last_name(const std::string& name) { return "last_" + name; }

// The function over "x", "u", "last", "alive", with the output "value"; parameters are constants.
ad::Program bound(const Signature& plant, const ad::Program& source) {
  ad::Builder builder;
  BoundInputs inputs;
  const auto declare = [&](const std::string& name, std::int64_t size) {
    const ad::Id first = builder.input_field(name, int(size));
    std::vector<ad::Id> ids;
    for (std::int64_t i = 0; i < size; ++i) ids.push_back(first + ad::Id(i));
    return ids;
  };
  inputs.x = declare("x", plant.states());
  inputs.u = declare("u", plant.controls());
  const std::vector<ad::Id> last = declare("last", plant.states());
  inputs.others.push_back({"alive", declare("alive", 1)});
  for (const Field& f : plant.fields(Role::state))
    inputs.others.push_back({last_name(f.name), {last.begin() + f.offset, last.begin() + f.offset + f.size}});
  for (const Field& f : plant.fields(Role::parameter)) {
    for (std::int64_t i = 0; i < f.size; ++i)
      inputs.p.push_back(builder.constant(f.defaults[f.defaults.size() == 1 ? 0 : std::size_t(i)]));
  }
  inputs.k = builder.constant(0);
  builder.output_field("value", call(builder, source, plant, inputs));
  return builder.finish();
}

void expect_size(const char* what, std::size_t size, std::int64_t wanted, bool may_be_empty) {
  if (std::int64_t(size) == wanted || (may_be_empty && size == 0)) return;
  throw Error("a task whose '" + std::string(what) + "' has " + std::to_string(size) +
              " numbers; the plant has " + std::to_string(wanted));
}

void expect_one(const char* what, const ad::Program& program) {
  if (program.output_count() != 1)
    throw Error("the " + std::string(what) + " of a task is one number, not " +
                std::to_string(program.output_count()));
}

enum Column : std::size_t { kX, kU, kLast, kAlive, kFirstExtra };

}  // namespace

ad::Program task_program(const Signature& plant, const std::vector<std::string>& formulas,
                         const std::string& where) {
  std::vector<ad::Field> names = names_of(plant, false);
  for (const Field& f : plant.fields(Role::state)) names.push_back({last_name(f.name), int(f.size)});
  names.push_back({"alive", 1});
  if (formulas.size() == 1) return ad::parse_expression(formulas[0], names, {.name = where});
  std::string text;
  for (std::size_t i = 0; i < formulas.size(); ++i)
    text += "value[" + std::to_string(i) + "] = " + formulas[i] + "\n";
  return ad::parse_equations(text, names, {{"value", int(formulas.size())}}, {.name = where});
}

TaskFunctions::TaskFunctions(const Task& task) {
  if (!task.plant) throw Error("a task without a plant");
  const Signature& plant = task.plant->signature();
  states_ = plant.states(), controls_ = plant.controls();
  if (controls_ == 0) throw Error("there is nothing to learn: the plant has no controls");
  if (task.hold < 1 || task.decisions < 1)
    throw Error("a task needs at least one step per decision, and one decision per episode");
  expect_size("start", task.start.size(), states_, false);
  expect_size("uniform", task.uniform.size(), states_, true);
  expect_size("normal", task.normal.size(), states_, true);
  expect_size("lower", task.lower.size(), controls_, false);
  expect_size("upper", task.upper.size(), controls_, false);
  if (task.observe.output_count() == 0)
    throw Error({"a task in which nothing is seen", {}, "give observe at least one formula"});
  expect_one("reward", task.reward);
  observations_ = task.observe.output_count();
  const ad::Program observe = bound(plant, task.observe), reward = bound(plant, task.reward);
  observe_ = ad::Executable(observe);
  observe_vjp_ = ad::Executable(ad::vjp(observe, {.active = {"x"}}));
  reward_ = ad::Executable(reward);
  reward_vjp_ = ad::Executable(ad::vjp(reward, {.active = {"x", "u", "last"}}));
  ends_ = task.alive.output_count() > 0;
  if (ends_) {
    expect_one("alive", task.alive);
    const ad::Program alive = bound(plant, task.alive);
    alive_ = ad::Executable(alive);
    alive_vjp_ = ad::Executable(ad::vjp(alive, {.active = {"x"}}));
  }
  columns_.resize(8);
}

void TaskFunctions::make_room(std::size_t column, std::int64_t worlds, std::int64_t size) {
  columns_[column].assign(std::size_t(worlds * size), 0.0);
}
void TaskFunctions::turn_in(std::size_t column, std::int64_t worlds, std::int64_t size, const double* rows) {
  make_room(column, worlds, size);
  for (std::int64_t w = 0; rows && w < worlds; ++w) {
    for (std::int64_t i = 0; i < size; ++i) columns_[column][i * worlds + w] = rows[w * size + i];
  }
}
void TaskFunctions::add_out(std::size_t column, std::int64_t worlds, std::int64_t size, double* rows) {
  for (std::int64_t w = 0; w < worlds; ++w) {
    for (std::int64_t i = 0; i < size; ++i) rows[w * size + i] += columns_[column][i * worlds + w];
  }
}

void TaskFunctions::run(const ad::Executable& code, std::int64_t worlds, int extra_inputs, int outputs) {
  std::vector<ad::InputBlock<double>> in;
  std::vector<ad::OutputBlock<double>> out;
  for (std::size_t c = 0; c < kFirstExtra + std::size_t(extra_inputs); ++c)
    in.push_back({columns_[c].data(), worlds, false});
  for (int i = 0; i < outputs; ++i)
    out.push_back({columns_[kFirstExtra + std::size_t(extra_inputs + i)].data(), worlds, false});
  scratch_.resize(std::max(scratch_.size(), code.scratch_bytes<double>()));
  code.run<double>(in, out, worlds, scratch_);
}

// Of what is a function of the state alone: there are no controls yet, and nothing came before.
void TaskFunctions::state_in(std::int64_t worlds, const double* x) {
  turn_in(kX, worlds, states_, x);
  turn_in(kU, worlds, controls_, nullptr);
  turn_in(kLast, worlds, states_, x);
  turn_in(kAlive, worlds, 1, nullptr);
}

void TaskFunctions::observe(std::int64_t worlds, const double* x, double* o) {
  state_in(worlds, x);
  make_room(kFirstExtra, worlds, observations_);
  run(observe_, worlds, 0, 1);
  std::fill_n(o, worlds * observations_, 0.0);
  add_out(kFirstExtra, worlds, observations_, o);
}

void TaskFunctions::observe_vjp(std::int64_t worlds, const double* x, const double* o_bar, double* x_bar) {
  state_in(worlds, x);
  turn_in(kFirstExtra, worlds, observations_, o_bar);
  make_room(kFirstExtra + 1, worlds, states_);
  run(observe_vjp_, worlds, 1, 1);
  add_out(kFirstExtra + 1, worlds, states_, x_bar);
}

void TaskFunctions::alive(std::int64_t worlds, const double* y, double* alive) {
  if (!ends_) {
    std::fill_n(alive, worlds, 1.0);
    return;
  }
  margin(worlds, y, alive);
  for (std::int64_t w = 0; w < worlds; ++w) alive[w] = alive[w] > 0 ? 1 : 0;
}

void TaskFunctions::margin(std::int64_t worlds, const double* y, double* margin) {
  state_in(worlds, y);
  make_room(kFirstExtra, worlds, 1);
  run(alive_, worlds, 0, 1);
  std::copy(columns_[kFirstExtra].begin(), columns_[kFirstExtra].end(), margin);
}

void TaskFunctions::margin_vjp(std::int64_t worlds, const double* y, const double* margin_bar,
                               double* y_bar) {
  state_in(worlds, y);
  turn_in(kFirstExtra, worlds, 1, margin_bar);
  make_room(kFirstExtra + 1, worlds, states_);
  run(alive_vjp_, worlds, 1, 1);
  add_out(kFirstExtra + 1, worlds, states_, y_bar);
}

void TaskFunctions::reward(std::int64_t worlds, const double* x, const double* u, const double* y,
                           const double* alive, double* r) {
  turn_in(kX, worlds, states_, y);
  turn_in(kU, worlds, controls_, u);
  turn_in(kLast, worlds, states_, x);
  turn_in(kAlive, worlds, 1, alive);
  make_room(kFirstExtra, worlds, 1);
  run(reward_, worlds, 0, 1);
  std::copy(columns_[kFirstExtra].begin(), columns_[kFirstExtra].end(), r);
}

void TaskFunctions::reward_vjp(std::int64_t worlds, const double* x, const double* u, const double* y,
                               const double* alive, const double* r_bar, double* x_bar, double* u_bar,
                               double* y_bar) {
  turn_in(kX, worlds, states_, y);
  turn_in(kU, worlds, controls_, u);
  turn_in(kLast, worlds, states_, x);
  turn_in(kAlive, worlds, 1, alive);
  turn_in(kFirstExtra, worlds, 1, r_bar);
  make_room(kFirstExtra + 1, worlds, states_);
  make_room(kFirstExtra + 2, worlds, controls_);
  make_room(kFirstExtra + 3, worlds, states_);
  run(reward_vjp_, worlds, 1, 3);
  add_out(kFirstExtra + 1, worlds, states_, y_bar);
  add_out(kFirstExtra + 2, worlds, controls_, u_bar);
  add_out(kFirstExtra + 3, worlds, states_, x_bar);
}

}  // namespace costate::learn
