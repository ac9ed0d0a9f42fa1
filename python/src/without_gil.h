// Work without Python's lock, which still listens to Ctrl-C.
//
// Other Python threads run meanwhile. Between steps (core/interrupt.h) the thread that called takes the lock
// for a moment, at most every 20 ms, and lets Python handle its signals; if a handler raises (Ctrl-C:
// KeyboardInterrupt), all threads leave their loops and the exception is raised here. A call that takes more
// than a second and knows how far it is (core/progress.h) shows that then (python/costate/progress.py).
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>

namespace costate::python {

namespace nb = nanobind;

void listen_to_signals();  // once, when the module is loaded

// Thrown in threads that work while another one was interrupted.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// One call from Python.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

  // What a signal handler raised.
  std::exception_ptr raised;

  // With the lock held: how far the call is, on a bar that appears when it has taken long.
  void show_progress();

 private:
  Released* outer_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  PyObject* bar_ = nullptr;  // None: nobody watches
  nb::gil_scoped_release release_;
};

template <class F>
auto without_gil(const F& work) {
  std::exception_ptr raised;
  {
    Released scope;
    try {
      return work();
    } catch (...) {
      raised = scope.raised ? scope.raised : std::current_exception();
    }
  }
  std::rethrow_exception(raised);  // with the lock held again
}

}  // namespace costate::python
