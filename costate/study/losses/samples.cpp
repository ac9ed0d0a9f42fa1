#include "costate/study/losses/samples.h"

#include <algorithm>

#include "costate/core/error.h"

namespace costate::study {

ProgramSampleCost::ProgramSampleCost(const ad::Program& cost, std::vector<double> times,
                                     std::vector<double> data)
    : cost_(cost), times_(std::move(times)), data_(std::move(data)) {
  if (!data_.empty() && data_.size() != times_.size()) throw Error("samples need one datum per time");
}

std::vector<double> ProgramSampleCost::with_data(std::size_t k, const double* p) const {
  std::vector<double> all(p, p + parameters());
  if (!data_.empty()) all.push_back(data_[k]);
  return all;
}

double ProgramSampleCost::value(std::size_t k, const double* x, const double* p) const {
  std::vector<double> scratch(cost_.scratch_size());
  double value = 0;
  cost_.value(times_[k], x, with_data(k, p).data(), &value, scratch.data());
  return value;
}

void ProgramSampleCost::gradient(std::size_t k, const double* x, const double* p, double* x_bar,
                                 double* p_bar) const {
  std::vector<double> scratch(cost_.scratch_size()), all_bar(cost_.parameters());
  double t_bar = 0;
  const double one = 1;
  cost_.vjp(times_[k], x, with_data(k, p).data(), &one, &t_bar, x_bar, all_bar.data(), scratch.data());
  for (int i = 0; i < parameters(); ++i) p_bar[i] += all_bar[i];
}

void ProgramSampleCost::gradient_jvp(std::size_t k, const double* x, const double* p, const double* x_dot,
                                     const double* p_dot, double* x_bar_dot, double* p_bar_dot) const {
  std::vector<double> scratch(cost_.scratch_size()), all_dot(cost_.parameters()),
      all_bar_dot(std::size_t(cost_.parameters()));
  for (int i = 0; p_dot && i < parameters(); ++i) all_dot[i] = p_dot[i];
  double t_bar_dot = 0;
  const double one = 1;
  cost_.vjp_jvp(times_[k], x, with_data(k, p).data(), &one, 0.0, x_dot, all_dot.data(), nullptr, &t_bar_dot,
                x_bar_dot, all_bar_dot.data(), scratch.data());
  for (int i = 0; i < parameters(); ++i) p_bar_dot[i] += all_bar_dot[i];
}

// --- objectives of a study --------------------------------------------------------------------------------

namespace {

Objective<double>::At at_time(std::size_t k, const double* x, const double* p) {
  return {.k = std::int64_t(k), .steps = INT64_MAX - 1, .in = {x, nullptr, p}};
}

class FunctionSum final : public ode::Function {
 public:
  explicit FunctionSum(std::vector<std::shared_ptr<const ode::Function>> terms) : terms_(std::move(terms)) {}
  int states() const override { return terms_[0]->states(); }
  int parameters() const override { return terms_[0]->parameters(); }
  int outputs() const override { return 1; }
  std::size_t scratch_size() const override {
    std::size_t most = 0;
    for (const auto& f : terms_) most = std::max(most, f->scratch_size());
    return most;
  }
  void value(double t, const double* x, const double* p, double* y, double* scratch) const override {
    add(y, [&](const ode::Function& f, double* one) { f.value(t, x, p, one, scratch); });
  }
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* y_dot, double* scratch) const override {
    add(y_dot,
        [&](const ode::Function& f, double* one) { f.jvp(t, x, p, t_dot, x_dot, p_dot, one, scratch); });
  }
  void vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar, double* x_bar,
           double* p_bar, double* scratch) const override {
    for (const auto& f : terms_) f->vjp(t, x, p, y_bar, t_bar, x_bar, p_bar, scratch);
  }
  bool has_second_order() const override {
    return std::all_of(terms_.begin(), terms_.end(), [](const auto& f) { return f->has_second_order(); });
  }
  void vjp_jvp(double t, const double* x, const double* p, const double* y_bar, double t_dot,
               const double* x_dot, const double* p_dot, const double* y_bar_dot, double* t_bar_dot,
               double* x_bar_dot, double* p_bar_dot, double* scratch) const override {
    for (const auto& f : terms_)
      f->vjp_jvp(t, x, p, y_bar, t_dot, x_dot, p_dot, y_bar_dot, t_bar_dot, x_bar_dot, p_bar_dot, scratch);
  }

 private:
  template <class Evaluate>
  void add(double* y, const Evaluate& evaluate) const {
    double sum = 0;
    for (const auto& f : terms_) {
      double one = 0;
      evaluate(*f, &one);
      sum += one;
    }
    *y = sum;
  }
  std::vector<std::shared_ptr<const ode::Function>> terms_;
};

class SampleSum final : public ode::SampleCost {
 public:
  SampleSum(std::vector<std::shared_ptr<const ode::SampleCost>> costs, bool forward)
      : costs_(std::move(costs)) {
    for (std::size_t c = 0; c < costs_.size(); ++c)
      for (std::size_t k = 0; k < costs_[c]->times().size(); ++k) places_.push_back({c, k});
    const auto time = [&](const Place& p) { return costs_[p.cost]->times()[p.k]; };
    std::stable_sort(places_.begin(), places_.end(), [&](const Place& a, const Place& b) {
      return forward ? time(a) < time(b) : time(a) > time(b);
    });
    for (const Place& p : places_) times_.push_back(time(p));
  }
  const std::vector<double>& times() const override { return times_; }
  double value(std::size_t k, const double* x, const double* p) const override {
    return costs_[places_[k].cost]->value(places_[k].k, x, p);
  }
  void gradient(std::size_t k, const double* x, const double* p, double* x_bar,
                double* p_bar) const override {
    costs_[places_[k].cost]->gradient(places_[k].k, x, p, x_bar, p_bar);
  }
  void gradient_jvp(std::size_t k, const double* x, const double* p, const double* x_dot, const double* p_dot,
                    double* x_bar_dot, double* p_bar_dot) const override {
    costs_[places_[k].cost]->gradient_jvp(places_[k].k, x, p, x_dot, p_dot, x_bar_dot, p_bar_dot);
  }

 private:
  struct Place {
    std::size_t cost, k;
  };
  std::vector<std::shared_ptr<const ode::SampleCost>> costs_;
  std::vector<Place> places_;
  std::vector<double> times_;
};

}  // namespace

double ObjectiveSamples::value(std::size_t k, const double* x, const double* p) const {
  double loss = 0;
  objective_->value(at_time(k, x, p), &loss);
  return loss;
}
void ObjectiveSamples::gradient(std::size_t k, const double* x, const double* p, double* x_bar,
                                double* p_bar) const {
  objective_->vjp(at_time(k, x, p), {x_bar, nullptr, p_bar});
}
void ObjectiveSamples::gradient_jvp(std::size_t, const double*, const double*, const double*, const double*,
                                    double*, double*) const {
  throw Error("this loss has no second derivatives");
}

void ObjectiveFunction::value(double, const double* x, const double* p, double* y, double*) const {
  *y = cost_.value(0, x, p);
}
void ObjectiveFunction::jvp(double, const double* x, const double* p, double, const double* x_dot,
                            const double* p_dot, double* y_dot, double*) const {
  std::vector<double> x_bar(std::size_t(states_), 0.0), p_bar(std::size_t(parameters_), 0.0);
  cost_.gradient(0, x, p, x_bar.data(), p_bar.data());
  *y_dot = 0;
  for (std::size_t i = 0; x_dot && i < x_bar.size(); ++i) *y_dot += x_bar[i] * x_dot[i];
  for (std::size_t i = 0; p_dot && i < p_bar.size(); ++i) *y_dot += p_bar[i] * p_dot[i];
}
void ObjectiveFunction::vjp(double, const double* x, const double* p, const double* y_bar, double*,
                            double* x_bar, double* p_bar, double*) const {
  std::vector<double> x_one(std::size_t(states_), 0.0), p_one(std::size_t(parameters_), 0.0);
  cost_.gradient(0, x, p, x_one.data(), p_one.data());
  for (std::size_t i = 0; i < x_one.size(); ++i) x_bar[i] += y_bar[0] * x_one[i];
  for (std::size_t i = 0; p_bar && i < p_one.size(); ++i) p_bar[i] += y_bar[0] * p_one[i];
}

std::shared_ptr<const ode::Function> sum_of(std::vector<std::shared_ptr<const ode::Function>> functions) {
  if (functions.empty()) return nullptr;
  if (functions.size() == 1) return functions[0];
  return std::make_shared<FunctionSum>(std::move(functions));
}
std::shared_ptr<const ode::SampleCost> sum_of(std::vector<std::shared_ptr<const ode::SampleCost>> costs,
                                              bool forward) {
  if (costs.empty()) return nullptr;
  if (costs.size() == 1) return costs[0];
  return std::make_shared<SampleSum>(std::move(costs), forward);
}

}  // namespace costate::study
