// loss::final and loss::track: the squared distance of a field from its targets, at chosen steps.
//
//   l_k = 1/2 w |x_k[field] - target_k|^2       vjp: x_bar[field] += w (x_k[field] - target_k)
//       hvp: w x_dot[field]
//
// Tests: tests/system/objective_test.cpp.
#include "costate/core/parallel.h"
#include "costate/system/losses/at_steps.h"

namespace costate::loss {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // numbers per chunk of a large state

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
    if (!bar.x) return;
    const Real w = static_cast<Real>(weight_);
    parallel_for(size_, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (int l = 0; l < at.lanes; ++l)
          bar.x[(offset_ + i) * at.lanes + l] += w * static_cast<Real>(residual(at, i, l));
      }
    });
  }
  void hvp(const At& at, const Inputs<Real>& in_dot, const Cotangents<Real>& bar_dot) const override {
    if (!in_dot.x || !bar_dot.x) return;
    const Real w = static_cast<Real>(weight_);
    for (std::int64_t j = offset_ * at.lanes; j < (offset_ + size_) * at.lanes; ++j)
      bar_dot.x[j] += w * in_dot.x[j];
  }
  bool plain_terms(std::int64_t k, std::int64_t, std::vector<PlainTerm<Real>>& terms) const override {
    const auto step = static_cast<std::int64_t>(this->index_of(k));
    terms.push_back({PlainTerm<Real>::Kind::distance, offset_, size_, weight_,
                     targets_.empty() ? nullptr : targets_.data() + step * size_,
                     per_world_ ? shared_size() : 0});
    return true;
  }

 private:
  static double square(double r) { return r * r; }
  double residual(const At& at, std::int64_t i, int l) const {
    const double x = at.in.x[(offset_ + i) * at.lanes + l];
    if (targets_.empty()) return x;
    const auto steps = static_cast<std::int64_t>(this->steps_.size()),
               step = static_cast<std::int64_t>(this->index_of(at.k));
    const std::int64_t row = per_world_ ? at.world_of(l) * steps + step : step;
    return x - targets_[row * size_ + i];
  }
  std::int64_t shared_size() const { return size_ * static_cast<std::int64_t>(this->steps_.size()); }
  std::string name_;
  std::int64_t offset_, size_;
  std::vector<Real> targets_;
  double weight_;
  bool per_world_ = false;
};

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

template ObjectivePtr<float> final<float>(const Signature&, std::string_view, std::vector<float>, double);
template ObjectivePtr<double> final<double>(const Signature&, std::string_view, std::vector<double>, double);
template ObjectivePtr<float> track<float>(const Signature&, std::string_view, std::vector<std::int64_t>,
                                          std::vector<float>, double);
template ObjectivePtr<double> track<double>(const Signature&, std::string_view, std::vector<std::int64_t>,
                                            std::vector<double>, double);

}  // namespace costate::loss
