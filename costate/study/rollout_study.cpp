#include "costate/study/rollout_study.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/study/motion_summary.h"
#include "costate/study/one_per_world.h"
#include "costate/study/weighted.h"
#include "costate/study/window.h"

namespace costate::study {
namespace {

constexpr std::size_t kDataAtOnce = 4;  // blocks of worlds: work for several threads, memory for few

// The four control fields of a moving collider: offset and size in one knot.
struct Slots {
  const Field *position, *rotation, *velocity, *angular_velocity;
};

Slots slots(const Signature& signature, const Motion& m) {
  const std::string base = "collider/" + m.collider + "/";
  return {&signature.find(Role::control, base + "position"),
          &signature.find(Role::control, base + "rotation"),
          &signature.find(Role::control, base + "velocity"),
          &signature.find(Role::control, base + "angular_velocity")};
}

// Body state and knot, number by number; a rotation of one number is that about z.
template <class Body, class Visit>
void each_number(const Slots& s, Body& body, const Visit& visit) {
  const auto field = [&](const Field& f, auto& numbers) {
    for (std::int64_t i = 0; i < f.size; ++i) visit(f.offset + i, numbers[std::size_t(f.size == 1 ? 2 : i)]);
  };
  field(*s.position, body.position);
  field(*s.rotation, body.rotation);
  field(*s.velocity, body.velocity);
  field(*s.angular_velocity, body.angular_velocity);
}

// Fields of parameters that hold a variable.
std::vector<std::string> fields_of(const Signature& signature, const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Field& f : signature.fields(Role::parameter)) {
    const bool any = std::any_of(variables.begin(), variables.end(), [&](const Variable& v) {
      return v.where == Variable::Where::parameter && std::int64_t(v.index) >= f.offset &&
             std::int64_t(v.index) < f.offset + f.size;
    });
    if (any) names.push_back(f.name);
  }
  return names;
}

}  // namespace

std::vector<double> default_parameters(const Signature& signature) {
  std::vector<double> p;
  for (const Field& f : signature.fields(Role::parameter))
    for (std::int64_t i = 0; i < f.size; ++i)
      p.push_back(f.defaults[f.defaults.size() == 1 ? 0 : std::size_t(i)]);
  return p;
}

void shorten(Setup& setup, std::int64_t steps) {
  if (steps >= setup.steps) return;
  setup.steps = steps;
  for (Term& term : setup.terms) {
    const std::int64_t last = term.reads_controls ? steps - 1 : steps;
    std::erase_if(term.steps, [&](std::int64_t k) { return k > last; });
    if (term.steps.empty()) term.steps.push_back(last);
  }
}

// Terms one by one, for a report: their sums, and the fractions that they tell.
template <class Real>
class RolloutStudy<Real>::Ledger final : public Objective<Real> {
 public:
  using typename Objective<Real>::At;
  struct Entry {
    ObjectivePtr<Real> objective;
    mutable double sum = 0;
  };
  void add(ObjectivePtr<Real> objective) { entries_.push_back({std::move(objective)}); }
  double sum(std::size_t i) const { return entries_[i].sum; }

  void check(std::int64_t steps, std::int64_t worlds) const override {
    for (const Entry& e : entries_) e.objective->check(steps, worlds);
  }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override {
    std::int64_t best = kNever;
    for (const Entry& e : entries_) best = std::min(best, e.objective->next(k, steps));
    return best;
  }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override {
    std::int64_t best = -1;
    for (const Entry& e : entries_) best = std::max(best, e.objective->previous(k, steps));
    return best;
  }
  void value(const At& at, double*) const override {
    std::vector<double> lanes(std::size_t(at.lanes));
    for (const Entry& e : entries_) {
      if (e.objective->next(at.k, at.steps) != at.k) continue;
      lanes.assign(lanes.size(), 0.0);
      e.objective->value(at, lanes.data());
      e.sum += lanes[0];
    }
  }
  void vjp(const At&, const Cotangents<Real>&) const override {}

 private:
  std::vector<Entry> entries_;
};

template <class Real>
RolloutStudy<Real>::RolloutStudy(Setup setup) : setup_(std::move(setup)) {
  file = setup_.file;
  title = setup_.title;
  set_optimize(setup_.optimize);
  system_ = setup_.system.make<Real>();
  loss_ = loss_of(setup_.terms);
  window_is_due_ = setup_.optimize && setup_.optimize->automatic_window;
  note_blind_steps();
}

template <class Real>
RolloutStudy<Real>::~RolloutStudy() = default;

template <class Real>
Rollout<Real>& RolloutStudy<Real>::rollout() {
  std::vector<std::string> active = fields_of(setup_.signature, variables());
  if (!rollout_ || active != active_) {
    active_ = std::move(active);
    rollout_ = std::make_unique<Rollout<Real>>(system_, RolloutOptions{.steps = setup_.steps,
                                                                       .checkpoints = setup_.checkpoints,
                                                                       .active = active_,
                                                                       .device = setup_.device});
  }
  return *rollout_;
}

// A parameter for which the file gives no scale is of the size of its value: a conductivity of 1e-4 is not
// moved by 1.
template <class Real>
std::vector<Variable> RolloutStudy<Real>::inputs(bool scaled) const {
  std::vector<Variable> list = variables();
  for (Variable& v : list)
    if (scaled && v.where == Variable::Where::parameter && v.scale == 1 && v.start != 0)
      v.scale = std::abs(v.start);
  return list;
}

template <class Real>
ObjectivePtr<Real> RolloutStudy<Real>::bound(const Term& term, const AnyObjective& objective,
                                             const std::vector<std::int64_t>& steps) const {
  const ObjectivePtr<Real> inner = objective.make<Real>(steps);
  return term.observed ? setup_.quantities->objective(inner) : inner;
}

template <class Real>
ObjectivePtr<Real> RolloutStudy<Real>::loss_of(const std::vector<Term>& terms) const {
  std::vector<ObjectivePtr<Real>> all, observed;
  for (const Term& term : terms)
    (term.observed ? observed : all).push_back(term.objective.make<Real>(term.steps));
  if (!observed.empty()) all.push_back(setup_.quantities->objective(loss::sum<Real>(observed)));
  return loss::sum<Real>(all);
}

template <class Real>
Arguments<Real> RolloutStudy<Real>::arguments(const std::vector<double>& z) {
  return arguments_of(inputs_at(z));
}

template <class Real>
Arguments<Real> RolloutStudy<Real>::arguments_of(const Inputs& in) {
  Arguments<Real> a = rollout().arguments();
  a.x0.assign(in.x0.begin(), in.x0.end());
  for (const std::vector<std::string>* names : {&setup_.parameters_given, &active_}) {
    for (const std::string& name : *names) {
      const Field& f = setup_.signature.find(Role::parameter, name);
      a.parameters.set(name, std::vector<Real>(in.p.begin() + f.offset, in.p.begin() + f.offset + f.size));
    }
  }
  const std::int64_t width = setup_.signature.controls();
  const auto at = [&](std::int64_t k, std::int64_t i) -> Real& {
    return a.controls[std::size_t(k * width + i)];
  };
  for (const Motion& m : setup_.motions) {
    const Slots s = slots(setup_.signature, m);
    for (std::int64_t k = 0; k < setup_.steps; ++k) {
      const BodyState body = motion_at(m, in.paths, setup_.duration, setup_.dt * double(k));
      each_number(s, body, [&](std::int64_t i, double v) { at(k, i) = Real(v); });
    }
  }
  for (std::int64_t k = 0; k < setup_.steps; ++k)
    for (std::size_t i = 0; i < setup_.rest_controls.size(); ++i)
      if (setup_.rest_controls[i] != 0) at(k, std::int64_t(i)) = Real(setup_.rest_controls[i]);
  for (const Drive& drive : setup_.drives)
    for (std::int64_t k = 0; k < setup_.steps; ++k)
      at(k, std::int64_t(drive.control)) = Real(in.paths[drive.path].in_step(k, setup_.path_steps));
  return a;
}

template <class Real>
Inputs RolloutStudy<Real>::pull_back_arguments(const Inputs& in, const Gradient<Real>& g) const {
  Inputs bar = in.zeros();
  std::copy(g.x0.begin(), g.x0.end(), bar.x0.begin());
  for (const std::string& name : active_) {
    const auto values = g.parameters[name];
    std::copy(values.begin(), values.end(),
              bar.p.begin() + setup_.signature.find(Role::parameter, name).offset);
  }
  const std::int64_t width = setup_.signature.controls();
  const auto at = [&](std::int64_t k, std::int64_t i) {
    return double(g.controls[std::size_t(k * width + i)]);
  };
  for (const Motion& m : setup_.motions) {
    const Slots s = slots(setup_.signature, m);
    for (std::int64_t k = 0; k < setup_.steps; ++k) {
      BodyState body;
      each_number(s, body, [&](std::int64_t i, double& v) { v = at(k, i); });
      motion_at_vjp(m, in.paths, setup_.duration, setup_.dt * double(k), body, bar.paths);
    }
  }
  for (const Drive& drive : setup_.drives)
    for (std::int64_t k = 0; k < setup_.steps; ++k)
      add_transpose(in.paths[drive.path].weights_in_step(k, setup_.path_steps),
                    at(k, std::int64_t(drive.control)), bar.paths[drive.path].points);
  return bar;
}

template <class Real>
double RolloutStudy<Real>::prices_of(const Inputs& inputs) const {
  double sum = 0;
  for (const PathPrice& price : setup_.prices) sum += price_of(price, inputs.paths);
  return sum;
}

template <class Real>
double RolloutStudy<Real>::value(const std::vector<double>& z) {
  const Inputs in = inputs_at(z);
  return rollout().value(arguments_of(in), *loss_) + prices_of(in);
}

template <class Real>
void RolloutStudy<Real>::choose_window() {
  window_is_due_ = false;
  const Gradient<Real> whole = rollout().value_and_gradient(arguments_of(setup_.inputs), *loss_);
  const std::int64_t window = signal_window(whole.report);
  if (window >= setup_.steps) return;
  setup_.checkpoints = setup_.checkpoints.truncated(window);
  rollout_.reset();
  add_note("gradient_window = \"auto\" is " + number(setup_.dt * double(window), 3) + " s, " +
           std::to_string(window) + " steps: over longer ones the adjoint grows more than " +
           number(kSignalGrowth, 3) + " times");
  note_blind_steps();
}

template <class Real>
void RolloutStudy<Real>::add_note(const std::string& note) {
  setup_.notes.push_back(note);
  setup_.facts.emplace_back("note", note);
}

template <class Real>
void RolloutStudy<Real>::note_blind_steps() {
  const std::int64_t window = setup_.checkpoints.window;
  if (window <= 0 || setup_.terms.empty()) return;
  std::vector<std::int64_t> losses;
  for (const Term& term : setup_.terms) losses.insert(losses.end(), term.steps.begin(), term.steps.end());
  const std::int64_t blind = blind_steps(losses, window, setup_.steps);
  if (2 * blind <= setup_.steps) return;
  add_note("the gradient does not see " + number(100.0 * double(blind) / double(setup_.steps), 2) +
           " % of the time: no loss is taken within the window of " + number(setup_.dt * double(window), 3) +
           " s after it; take a loss `every` so often, such as spilled, or a longer gradient_window");
}

template <class Real>
double RolloutStudy<Real>::value_and_gradient(const std::vector<double>& z, double* gradient) {
  if (window_is_due_) choose_window();
  const Inputs in = inputs_at(z);
  const Gradient<Real> g = rollout().value_and_gradient(arguments_of(in), *loss_);
  report_ = g.report;
  report_.advice.insert(report_.advice.end(), setup_.notes.begin(), setup_.notes.end());
  Inputs bar = pull_back_arguments(in, g);
  for (const PathPrice& price : setup_.prices) price_of_vjp(price, in.paths, bar.paths);
  pull_back(bar, variables(), gradient);
  const double value = g.value + prices_of(in);
  require_finite(value, gradient);
  return value;
}

template <class Real>
bool RolloutStudy<Real>::gradients_of_data(const Inputs& in, const Arguments<Real>& a,
                                           const std::vector<double>& values, double* jacobian) {
  const std::size_t n = variables().size(), lanes = std::size_t(system_->lanes()), all = values.size();
  if (lanes == 1) return false;
  const auto repeated = [](auto numbers, std::size_t worlds) {
    std::vector<Real> many;
    for (std::size_t w = 0; w < worlds; ++w) many.insert(many.end(), numbers.begin(), numbers.end());
    return many;
  };
  for (std::size_t first = 0; first < all; first += kDataAtOnce * lanes) {
    const std::size_t worlds = std::min(all - first, kDataAtOnce * lanes);
    RolloutOptions options = rollout().options();
    options.worlds = std::int64_t(worlds);
    Rollout<Real> many(system_, options);
    Arguments<Real> at = a;
    at.x0 = repeated(a.x0, worlds), at.controls = repeated(a.controls, worlds);
    for (const std::string& name : active_) at.parameters.set(name, repeated(a.parameters[name], worlds));
    std::vector<ObjectivePtr<Real>> data;
    for (std::size_t w = 0; w < worlds; ++w)
      data.push_back(measured(setup_.data[first + w], setup_.data[first + w].term.steps[0]));
    const Gradient<Real> g = many.value_and_gradient(at, OnePerWorld<Real>(setup_.signature, data));
    Gradient<Real> one;
    one.parameters = a.parameters.zeros();
    for (std::size_t w = 0; w < worlds; ++w) {
      if (g.values[w] != values[first + w]) return false;
      const auto part = [&](const auto& numbers) {
        const std::size_t size = numbers.size() / worlds;
        return std::vector<Real>(numbers.begin() + std::ptrdiff_t(w * size),
                                 numbers.begin() + std::ptrdiff_t((w + 1) * size));
      };
      one.x0 = part(g.x0), one.controls = part(g.controls);
      for (const std::string& name : active_) one.parameters.set(name, part(g.parameters[name]));
      pull_back(pull_back_arguments(in, one), variables(), jacobian + (first + w) * n);
    }
  }
  return true;
}

template <class Real>
void RolloutStudy<Real>::residuals(const std::vector<double>& z, double* residual, double* jacobian) {
  const Inputs in = inputs_at(z);
  const Arguments<Real> a = arguments_of(in);
  Ledger ledger;
  for (const Datum& d : setup_.data) ledger.add(bound(d.term, d.term.objective, d.term.steps));
  rollout().value(a, ledger);
  std::vector<double> values;
  for (std::size_t k = 0; k < setup_.data.size(); ++k) values.push_back(ledger.sum(k));
  const bool at_once = jacobian && gradients_of_data(in, a, values, jacobian);
  const std::size_t n = variables().size();
  for (std::size_t k = 0; k < setup_.data.size(); ++k) {
    const Datum& d = setup_.data[k];
    residual[k] = (values[k] - d.measured) / d.sigma;
    if (!jacobian) continue;
    if (!at_once) {
      const Gradient<Real> g = rollout().value_and_gradient(a, *measured(d, d.term.steps[0]));
      pull_back(pull_back_arguments(in, g), variables(), jacobian + k * n);
    }
    for (std::size_t i = 0; i < n; ++i) jacobian[k * n + i] /= d.sigma;
  }
}

// A column per variable: the arguments are linear in the variables, unless a collider moves along a path.
template <class Real>
void RolloutStudy<Real>::curvature(const std::vector<double>& z, const std::vector<double>& weights,
                                   double* hessian) {
  if constexpr (sizeof(Real) == 4) {
    Study::curvature(z, weights, hessian);
  } else {
    if (!system_->capabilities().second_order || !setup_.motions.empty())
      Study::curvature(z, weights, hessian);
    std::vector<ObjectivePtr<Real>> data;
    std::vector<double> of_data;
    for (std::size_t k = 0; k < setup_.data.size(); ++k) {
      const Datum& d = setup_.data[k];
      data.push_back(measured(d, d.term.steps[0]));
      of_data.push_back(weights[k] / d.sigma);
    }
    const Weighted<Real> loss(setup_.signature, std::move(data), std::move(of_data));
    const Inputs in = inputs_at(z);
    const Arguments<Real> at = arguments_of(in);
    const std::size_t n = variables().size();
    for (std::size_t j = 0; j < n; ++j) {
      Inputs along = in.zeros();
      number_of(along, variables()[j]) = variables()[j].scale * variables()[j].unit;
      Arguments<Real> direction = rollout().arguments();
      direction.parameters = at.parameters.zeros();
      direction.x0 = along.x0;
      for (const std::string& name : active_) {
        const Field& f = setup_.signature.find(Role::parameter, name);
        direction.parameters.set(
            name, std::vector<Real>(along.p.begin() + f.offset, along.p.begin() + f.offset + f.size));
      }
      for (const Drive& drive : setup_.drives)
        for (std::int64_t k = 0; k < setup_.steps; ++k)
          direction.controls[std::size_t(k * setup_.signature.controls()) + drive.control] =
              along.paths[drive.path].in_step(k, setup_.path_steps);
      const auto product = rollout().hessian_vector(at, direction, loss).product;
      std::vector<double> column(n);
      pull_back(pull_back_arguments(in, product), variables(), column.data());
      for (std::size_t i = 0; i < n; ++i) hessian[i * n + j] = column[i];
    }
  }
}

template <class Real>
check::Result RolloutStudy<Real>::dot_product(std::uint64_t seed) {
  return check::dot_product(rollout(), arguments(start()), {.seed = seed});
}

template <class Real>
std::string RolloutStudy<Real>::difference(const std::vector<double>& before,
                                           const std::vector<double>& after) const {
  const std::vector<Path> old = inputs_at(before).paths, fresh = inputs_at(after).paths;
  std::string text;
  for (const Motion& m : setup_.motions) {
    const std::string change = what_changed(m, old, fresh, setup_.duration);
    text += (text.empty() ? "" : "; ") + (setup_.motions.size() > 1 ? m.collider + ": " : "") + change;
  }
  return text;
}

template <class Real>
Run RolloutStudy<Real>::run(const std::vector<double>& z, const RunOptions& options) {
  const Inputs in = inputs_at(z);
  Ledger ledger;
  std::vector<std::string> fractions;
  for (const Term& term : setup_.terms) ledger.add(bound(term, term.objective, term.steps));
  for (const Term& term : setup_.terms) {
    if (!term.fraction) continue;
    fractions.push_back(term.name);
    ledger.add(bound(term, term.fraction, {term.steps.back()}));
  }
  // Frame by frame: only one state is in memory, however long the run. Losses are read off on the way.
  const std::int64_t keep =
      std::max<std::int64_t>(1, std::llround(1 / (setup_.frames_per_second * setup_.dt)));
  StateObserver<Real> film;
  if (setup_.picture) {
    if (!options.trajectory.empty()) setup_.picture->also_write(options.trajectory);
    setup_.picture->begin(in);
    std::int64_t looks = std::clamp<std::int64_t>(setup_.picture->looks_per_frame(), 1, keep);
    while (keep % looks != 0) --looks;
    film.every = keep / looks;
    film.look = [&](std::int64_t k, std::int64_t, std::span<const Real> x) {
      const std::vector<double> state(x.begin(), x.end());
      setup_.picture->look(setup_.dt * double(k), state);
      if (k % keep != 0) return;
      setup_.picture->frame(setup_.dt * double(k), state);
      if (options.progress && k > 0) options.progress(k, setup_.steps);
    };
  }
  Rollout<Real> forward(system_, {.steps = setup_.steps, .active = {}, .device = setup_.device});
  forward.value(arguments_of(in), ledger, film);

  Run run;
  run.notes = setup_.notes;
  if (setup_.picture) {
    for (const std::string& note : setup_.picture->notes()) run.notes.push_back(note);
    for (const auto& mark : setup_.marks) setup_.picture->mark(mark);
    run.recording = setup_.picture->finish();
    run.trajectory = setup_.picture->written();
    run.recording.title = title;
    run.recording.frame_interval = setup_.dt * double(keep);
    run.recording.camera = setup_.camera;
  }
  for (std::size_t j = 0; j < setup_.terms.size(); ++j) {
    run.terms.emplace_back(setup_.terms[j].name, ledger.sum(j));
    run.loss += ledger.sum(j);
  }
  for (const PathPrice& price : setup_.prices) {
    run.terms.emplace_back(price.name, price_of(price, in.paths));
    run.loss += run.terms.back().second;
  }
  for (std::size_t j = 0; j < fractions.size(); ++j)
    run.fractions.emplace_back(fractions[j], ledger.sum(setup_.terms.size() + j));
  return run;
}

template class RolloutStudy<float>;
template class RolloutStudy<double>;

std::unique_ptr<Study> rollout_study(Setup setup) {
  if (setup.double_precision) return std::make_unique<RolloutStudy<double>>(std::move(setup));
  return std::make_unique<RolloutStudy<float>>(std::move(setup));
}

}  // namespace costate::study
