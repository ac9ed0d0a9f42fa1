// ReportCollector: the GradientReport of a rollout from what its blocks have noticed. Internal to Rollout.
#pragma once

#include <mutex>
#include <vector>

#include "costate/system/block.h"
#include "costate/system/run/collector.h"

namespace costate {

template <class Real>
class ReportCollector {
 public:
  explicit ReportCollector(GradientReport& report) : report_(report) {}

  // By several threads at once: maxima and lists that are sorted later, so the order of arrival does not
  // show.
  void take(const BlockResults<Real>& block);

  // After all blocks: the report, and the sum of the values of the worlds that are not masked. `norm2`: the
  // squares of the adjoint's norms, all blocks together.
  void finish(const RolloutShape<Real>& rollout, int lanes, const double* norm2, Gradient<Real>& out);

 private:
  void finish_values(Gradient<Real>& out);
  void finish_label(const Checkpoints& checkpoints);

  GradientReport& report_;
  std::mutex mutex_;
  std::vector<std::int64_t> masked_;
  Findings findings_;
};

extern template class ReportCollector<float>;
extern template class ReportCollector<double>;

}  // namespace costate
