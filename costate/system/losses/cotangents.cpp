// loss::cotangents: a loss that lives elsewhere, by its derivatives with respect to the states at chosen
// steps.
//
//   l_k = <c_k, x_k>      vjp: x_bar += c_k      hvp: 0
//
// Tests: tests/system/objective_test.cpp.
#include "costate/system/losses/at_steps.h"

namespace costate::loss {
namespace {

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
    if (!bar.x) return;
    for (std::int64_t i = 0; i < size_; ++i) {
      for (int l = 0; l < at.lanes; ++l) bar.x[i * at.lanes + l] += get(at, i, l);
    }
  }
  void hvp(const At&, const Inputs<Real>&, const Cotangents<Real>&) const override {}  // linear
  bool plain_terms(std::int64_t k, std::int64_t, std::vector<PlainTerm<Real>>& terms) const override {
    terms.push_back({PlainTerm<Real>::Kind::linear, 0, size_, 1.0, values_[this->index_of(k)].data(), size_});
    return true;
  }

 private:
  Real get(const At& at, std::int64_t i, int l) const {
    return values_[this->index_of(at.k)][at.world_of(l) * size_ + i];
  }
  std::int64_t size_;
  std::vector<std::vector<Real>> values_;
};

}  // namespace

template <class Real>
ObjectivePtr<Real> cotangents(const Signature& signature, std::vector<std::int64_t> steps,
                              std::vector<std::vector<Real>> values) {
  require_steps(steps);
  return std::make_shared<RawCotangents<Real>>(signature.states(), std::move(steps), std::move(values));
}

template ObjectivePtr<float> cotangents<float>(const Signature&, std::vector<std::int64_t>,
                                               std::vector<std::vector<float>>);
template ObjectivePtr<double> cotangents<double>(const Signature&, std::vector<std::int64_t>,
                                                 std::vector<std::vector<double>>);

}  // namespace costate::loss
