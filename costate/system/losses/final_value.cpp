// loss::final_value: one number of the final state.
//
//   l_T = w x_T[i]        vjp: x_bar[i] += w      hvp: 0
//
// Tests: tests/system/objective_test.cpp.
#include "costate/system/losses/at_steps.h"

namespace costate::loss {
namespace {

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
    if (!bar.x) return;
    for (int l = 0; l < at.lanes; ++l) bar.x[at_ * at.lanes + l] += static_cast<Real>(weight_);
  }
  void hvp(const At&, const Inputs<Real>&, const Cotangents<Real>&) const override {}  // linear
  bool plain_terms(std::int64_t, std::int64_t, std::vector<PlainTerm<Real>>& terms) const override {
    terms.push_back({PlainTerm<Real>::Kind::linear, at_, 1, weight_, nullptr, 0});
    return true;
  }

 private:
  std::int64_t at_;
  double weight_;
};

}  // namespace

template <class Real>
ObjectivePtr<Real> final_value(const Signature& signature, std::string_view field, std::int64_t index,
                               double weight) {
  return std::make_shared<FinalValue<Real>>(signature.find(Role::state, field), index, weight);
}

template ObjectivePtr<float> final_value<float>(const Signature&, std::string_view, std::int64_t, double);
template ObjectivePtr<double> final_value<double>(const Signature&, std::string_view, std::int64_t, double);

}  // namespace costate::loss
