#include "costate/system/objective.h"

#include <algorithm>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/parallel.h"

namespace costate {

template <class Real>
void Objective<Real>::hvp(const At&, const Inputs<Real>&, const Cotangents<Real>&) const {
  throw Error("this objective has no second derivatives");
}
template class Objective<float>;
template class Objective<double>;

namespace loss {
namespace {

constexpr std::int64_t kLast = -1;        // the final state, whatever the number of steps
constexpr std::int64_t kGrain = 1 << 14;  // numbers per chunk of a large state

// Terms at a sorted list of steps.
template <class Real>
class AtSteps : public Objective<Real> {
 public:
  explicit AtSteps(std::vector<std::int64_t> steps) : steps_(std::move(steps)) {
    if (!std::is_sorted(steps_.begin(), steps_.end()) ||
        std::adjacent_find(steps_.begin(), steps_.end()) != steps_.end()) {
      throw Error("the steps of an objective must increase");
    }
  }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override {
    if (only_last()) return k <= steps ? steps : kNever;
    const auto it = std::lower_bound(steps_.begin(), steps_.end(), k);
    return it == steps_.end() ? kNever : *it;
  }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override {
    if (only_last()) return k >= steps ? steps : -1;
    const auto it = std::upper_bound(steps_.begin(), steps_.end(), k);
    return it == steps_.begin() ? -1 : *(it - 1);
  }

 protected:
  bool only_last() const { return steps_.size() == 1 && steps_[0] == kLast; }
  std::size_t index_of(std::int64_t k) const {
    return only_last()
               ? 0
               : static_cast<std::size_t>(std::lower_bound(steps_.begin(), steps_.end(), k) - steps_.begin());
  }
  void check_steps(std::int64_t steps) const {
    if (!only_last() && !steps_.empty() && (steps_.front() < 0 || steps_.back() > steps)) {
      throw Error("an objective has a term at step " +
                  std::to_string(steps_.front() < 0 ? steps_.front() : steps_.back()) +
                  ", outside the rollout of " + std::to_string(steps) + " steps");
    }
  }
  std::vector<std::int64_t> steps_;
};

// 1/2 w |x[field] - target|^2
template <class Real>
class FieldDistance final : public AtSteps<Real> {
 public:
  using typename Objective<Real>::At;
  FieldDistance(const Field& field, std::vector<std::int64_t> steps, std::vector<Real> targets, double weight)
      : AtSteps<Real>(std::move(steps)),
        name_(field.name),
        offset_(field.offset),
        size_(field.size),
        targets_(std::move(targets)),
        weight_(weight) {
    per_world_ = !targets_.empty() && static_cast<std::int64_t>(targets_.size()) != shared_size();
  }

  void check(std::int64_t steps, std::int64_t worlds) const override {
    this->check_steps(steps);
    if (!per_world_) return;
    const auto have = static_cast<std::int64_t>(targets_.size());
    if (have != shared_size() * worlds) {
      throw Error("the target of '" + name_ + "' has " + std::to_string(have) + " numbers instead of " +
                  std::to_string(shared_size()) + " (steps x size, shared) or " +
                  std::to_string(shared_size() * worlds) + " (for each world)");
    }
  }

  void value(const At& at, double* loss) const override {
    if (at.lanes == 1) {
      loss[0] += 0.5 * weight_ * parallel_sum(size_, kGrain, 0.0, [&](std::int64_t begin, std::int64_t end) {
                   double sum = 0;
                   for (std::int64_t i = begin; i < end; ++i) sum += square(residual(at, i, 0));
                   return sum;
                 });
      return;
    }
    for (std::int64_t i = 0; i < size_; ++i) {
      for (int l = 0; l < at.lanes; ++l) loss[l] += 0.5 * weight_ * square(residual(at, i, l));
    }
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    const Real w = static_cast<Real>(weight_);
    parallel_for(size_, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (int l = 0; l < at.lanes; ++l)
          bar.x[(offset_ + i) * at.lanes + l] += w * static_cast<Real>(residual(at, i, l));
      }
    });
  }
  void hvp(const At& at, const Inputs<Real>& in_dot, const Cotangents<Real>& bar_dot) const override {
    if (!in_dot.x) return;
    const Real w = static_cast<Real>(weight_);
    for (std::int64_t j = offset_ * at.lanes; j < (offset_ + size_) * at.lanes; ++j)
      bar_dot.x[j] += w * in_dot.x[j];
  }

 private:
  static double square(double r) { return r * r; }
  double residual(const At& at, std::int64_t i, int l) const {
    const double x = at.in.x[(offset_ + i) * at.lanes + l];
    if (targets_.empty()) return x;
    const auto steps = static_cast<std::int64_t>(this->steps_.size()),
               step = static_cast<std::int64_t>(this->index_of(at.k));
    const std::int64_t row = per_world_ ? at.world_of(l) * steps + step : step;
    return x - targets_[static_cast<std::size_t>(row * size_ + i)];
  }
  std::int64_t shared_size() const { return size_ * static_cast<std::int64_t>(this->steps_.size()); }
  std::string name_;
  std::int64_t offset_, size_;
  std::vector<Real> targets_;
  double weight_;
  bool per_world_ = false;
};

template <class Real>
class FinalValue final : public AtSteps<Real> {
 public:
  using typename Objective<Real>::At;
  FinalValue(const Field& field, std::int64_t index, double weight)
      : AtSteps<Real>({kLast}), at_(field.offset + index), weight_(weight) {
    if (index < 0 || index >= field.size) {
      throw Error("'" + field.name + "' has " + std::to_string(field.size) + " numbers; there is no index " +
                  std::to_string(index));
    }
  }
  void check(std::int64_t, std::int64_t) const override {}
  void value(const At& at, double* loss) const override {
    for (int l = 0; l < at.lanes; ++l) loss[l] += weight_ * at.in.x[at_ * at.lanes + l];
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    for (int l = 0; l < at.lanes; ++l) bar.x[at_ * at.lanes + l] += static_cast<Real>(weight_);
  }
  void hvp(const At&, const Inputs<Real>&, const Cotangents<Real>&) const override {}  // linear

 private:
  std::int64_t at_;
  double weight_;
};

template <class Real>
class Effort final : public Objective<Real> {
 public:
  using typename Objective<Real>::At;
  Effort(std::int64_t controls, double weight) : size_(controls), weight_(weight) {
    if (controls == 0) throw Error("loss::effort needs a system with controls");
  }
  void check(std::int64_t, std::int64_t) const override {}
  std::int64_t next(std::int64_t k, std::int64_t steps) const override { return k < steps ? k : kNever; }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override { return std::min(k, steps - 1); }
  void value(const At& at, double* loss) const override {
    for (std::int64_t i = 0; i < size_; ++i) {
      for (int l = 0; l < at.lanes; ++l) {
        const double u = at.in.u[i * at.lanes + l];
        loss[l] += 0.5 * weight_ * u * u;
      }
    }
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override { add(bar.u, at.in.u, at.lanes); }
  void hvp(const At& at, const Inputs<Real>& in_dot, const Cotangents<Real>& bar_dot) const override {
    if (in_dot.u) add(bar_dot.u, in_dot.u, at.lanes);
  }

 private:
  void add(Real* to, const Real* from, int lanes) const {
    if (!to) return;
    for (std::int64_t j = 0; j < size_ * lanes; ++j) to[j] += static_cast<Real>(weight_) * from[j];
  }
  std::int64_t size_;
  double weight_;
};

template <class Real>
class RawCotangents final : public AtSteps<Real> {
 public:
  using typename Objective<Real>::At;
  RawCotangents(std::int64_t states, std::vector<std::int64_t> steps, std::vector<std::vector<Real>> values)
      : AtSteps<Real>(std::move(steps)), size_(states), values_(std::move(values)) {
    if (values_.size() != this->steps_.size()) throw Error("loss::cotangents needs one array for each step");
  }
  void check(std::int64_t steps, std::int64_t worlds) const override {
    this->check_steps(steps);
    for (const auto& v : values_) {
      if (static_cast<std::int64_t>(v.size()) != size_ * worlds) {
        throw Error("a cotangent has " + std::to_string(v.size()) +
                    " numbers instead of worlds x states = " + std::to_string(size_ * worlds));
      }
    }
  }
  void value(const At& at, double* loss) const override {
    for (std::int64_t i = 0; i < size_; ++i) {
      for (int l = 0; l < at.lanes; ++l) loss[l] += double(at.in.x[i * at.lanes + l]) * get(at, i, l);
    }
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    for (std::int64_t i = 0; i < size_; ++i) {
      for (int l = 0; l < at.lanes; ++l) bar.x[i * at.lanes + l] += get(at, i, l);
    }
  }
  void hvp(const At&, const Inputs<Real>&, const Cotangents<Real>&) const override {}  // linear

 private:
  Real get(const At& at, std::int64_t i, int l) const {
    return values_[this->index_of(at.k)][static_cast<std::size_t>(at.world_of(l) * size_ + i)];
  }
  std::int64_t size_;
  std::vector<std::vector<Real>> values_;
};

template <class Real>
class Sum final : public Objective<Real> {
 public:
  using typename Objective<Real>::At;
  explicit Sum(std::vector<ObjectivePtr<Real>> terms) : terms_(std::move(terms)) {}
  void check(std::int64_t steps, std::int64_t worlds) const override {
    for (const auto& term : terms_) term->check(steps, worlds);
  }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override {
    std::int64_t best = kNever;
    for (const auto& term : terms_) best = std::min(best, term->next(k, steps));
    return best;
  }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override {
    std::int64_t best = -1;
    for (const auto& term : terms_) best = std::max(best, term->previous(k, steps));
    return best;
  }
  void value(const At& at, double* loss) const override {
    for_each(at, [&](const Objective<Real>& term) { term.value(at, loss); });
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    for_each(at, [&](const Objective<Real>& term) { term.vjp(at, bar); });
  }
  void hvp(const At& at, const Inputs<Real>& in_dot, const Cotangents<Real>& bar_dot) const override {
    for_each(at, [&](const Objective<Real>& term) { term.hvp(at, in_dot, bar_dot); });
  }

 private:
  template <class F>
  void for_each(const At& at, const F& f) const {
    for (const auto& term : terms_) {
      if (term->next(at.k, at.steps) == at.k) f(*term);
    }
  }
  std::vector<ObjectivePtr<Real>> terms_;
};

}  // namespace

namespace {
void require_steps(const std::vector<std::int64_t>& steps) {
  for (std::int64_t k : steps) {
    if (k < 0) throw Error("an objective cannot have a term at step " + std::to_string(k));
  }
}
}  // namespace

template <class Real>
ObjectivePtr<Real> final(const Signature& signature, std::string_view field, std::vector<Real> target,
                         double weight) {
  return std::make_shared<FieldDistance<Real>>(signature.find(Role::state, field),
                                               std::vector<std::int64_t>{kLast}, std::move(target), weight);
}
template <class Real>
ObjectivePtr<Real> track(const Signature& signature, std::string_view field, std::vector<std::int64_t> steps,
                         std::vector<Real> targets, double weight) {
  require_steps(steps);
  return std::make_shared<FieldDistance<Real>>(signature.find(Role::state, field), std::move(steps),
                                               std::move(targets), weight);
}
template <class Real>
ObjectivePtr<Real> final_value(const Signature& signature, std::string_view field, std::int64_t index,
                               double weight) {
  return std::make_shared<FinalValue<Real>>(signature.find(Role::state, field), index, weight);
}
template <class Real>
ObjectivePtr<Real> effort(const Signature& signature, double weight) {
  return std::make_shared<Effort<Real>>(signature.controls(), weight);
}
template <class Real>
ObjectivePtr<Real> cotangents(const Signature& signature, std::vector<std::int64_t> steps,
                              std::vector<std::vector<Real>> values) {
  require_steps(steps);
  return std::make_shared<RawCotangents<Real>>(signature.states(), std::move(steps), std::move(values));
}
template <class Real>
ObjectivePtr<Real> sum(std::vector<ObjectivePtr<Real>> terms) {
  for (const auto& term : terms) {
    if (!term) throw Error("a term of loss::sum is null");
  }
  return std::make_shared<Sum<Real>>(std::move(terms));
}

#define COSTATE_INSTANTIATE(Real)                                                                          \
  template ObjectivePtr<Real> final<Real>(const Signature&, std::string_view, std::vector<Real>, double);  \
  template ObjectivePtr<Real> track<Real>(const Signature&, std::string_view, std::vector<std::int64_t>,   \
                                          std::vector<Real>, double);                                      \
  template ObjectivePtr<Real> final_value<Real>(const Signature&, std::string_view, std::int64_t, double); \
  template ObjectivePtr<Real> effort<Real>(const Signature&, double);                                      \
  template ObjectivePtr<Real> cotangents<Real>(const Signature&, std::vector<std::int64_t>,                \
                                               std::vector<std::vector<Real>>);                            \
  template ObjectivePtr<Real> sum<Real>(std::vector<ObjectivePtr<Real>>);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace loss
}  // namespace costate
