// ProgressBar: what somebody at a terminal sees of a long optimisation that they gave no callback
// (python/costate/progress.py).
#pragma once

#include "module.h"

namespace costate::python {

class ProgressBar {
 public:
  // total = 0: not known.
  explicit ProgressBar(bool wanted, int total = 0) {
    if (wanted) bar_ = nb::module_::import_("costate.progress").attr("automatic")(total);
  }
  ProgressBar(const ProgressBar&) = delete;
  ~ProgressBar() {
    if (bar_.is_valid() && !bar_.is_none()) {
      try {
        bar_.attr("close")();
      } catch (const nb::python_error&) {  // a bar that cannot be wiped off is no reason to lose the result
      }
    }
  }
  void show(int iteration, double value) const {
    if (bar_.is_valid() && !bar_.is_none()) bar_.attr("show")(iteration, value);
  }

 private:
  nb::object bar_;
};

}  // namespace costate::python
