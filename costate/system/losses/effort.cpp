// loss::effort: the squared size of the controls, at every step.
//
//   l_k = 1/2 w |u_k|^2      vjp: u_bar += w u_k      hvp: w u_dot
//
// Tests: tests/system/objective_test.cpp.
#include <algorithm>

#include "costate/core/error.h"
#include "costate/system/objective.h"

namespace costate::loss {
namespace {

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
  bool plain_terms(std::int64_t, std::int64_t, std::vector<PlainTerm<Real>>& terms) const override {
    terms.push_back({PlainTerm<Real>::Kind::effort, 0, size_, weight_, nullptr, 0});
    return true;
  }

 private:
  void add(Real* to, const Real* from, int lanes) const {
    if (!to) return;
    for (std::int64_t j = 0; j < size_ * lanes; ++j) to[j] += static_cast<Real>(weight_) * from[j];
  }
  std::int64_t size_;
  double weight_;
};

}  // namespace

template <class Real>
ObjectivePtr<Real> effort(const Signature& signature, double weight) {
  return std::make_shared<Effort<Real>>(signature.controls(), weight);
}

template ObjectivePtr<float> effort<float>(const Signature&, double);
template ObjectivePtr<double> effort<double>(const Signature&, double);

}  // namespace costate::loss
