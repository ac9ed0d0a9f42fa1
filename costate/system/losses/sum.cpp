// loss::sum: terms added. Each sees only the steps at which it has a term.
// Tests: tests/system/objective_test.cpp.
#include <algorithm>
#include <utility>

#include "costate/core/error.h"
#include "costate/system/losses/times.h"

namespace costate::loss {
namespace {

template <class Real>
class Sum final : public Objective<Real> {
 public:
  using typename Objective<Real>::At;
  explicit Sum(std::vector<ObjectivePtr<Real>> terms) : terms_(std::move(terms)) {}
  void check(std::int64_t steps, std::int64_t worlds) const override {
    for (const auto& term : terms_) term->check(steps, worlds);
  }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override { return next_of(terms_, k, steps); }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override {
    return previous_of(terms_, k, steps);
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
  bool plain_terms(std::int64_t k, std::int64_t steps, std::vector<PlainTerm<Real>>& terms) const override {
    return std::ranges::all_of(terms_, [&](const auto& term) {
      return term->next(k, steps) != k || term->plain_terms(k, steps, terms);
    });
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

template <class Real>
ObjectivePtr<Real> sum(std::vector<ObjectivePtr<Real>> terms) {
  for (const auto& term : terms) {
    if (!term) throw Error("a term of loss::sum is null");
  }
  return std::make_shared<Sum<Real>>(std::move(terms));
}

template ObjectivePtr<float> sum<float>(std::vector<ObjectivePtr<float>>);
template ObjectivePtr<double> sum<double>(std::vector<ObjectivePtr<double>>);

}  // namespace costate::loss
