#include "without_gil.h"

#include <atomic>
#include <chrono>

#include "costate/core/interrupt.h"
#include "costate/core/progress.h"

namespace costate::python {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::milliseconds(20);
constexpr auto kLong = std::chrono::seconds(1);  // what ends sooner needs no bar

thread_local Released* current = nullptr;  // of the thread that called; none in the others that work for it
thread_local Clock::time_point next_look;
std::atomic<bool> stopping{false};

void test() {
  if (stopping.load(std::memory_order_relaxed)) throw Stopped();
  if (current == nullptr) return;
  const auto now = Clock::now();
  if (now < next_look) return;
  next_look = now + kPatience;
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() == 0) return current->show_progress();
  current->raised = std::make_exception_ptr(nb::python_error());
  stopping = true;
  throw Stopped();
}

}  // namespace

void listen_to_signals() { set_interrupt_test(test); }

Released::Released() : outer_(current) {
  current = this;
  next_look = Clock::now() + kPatience;
}

void Released::show_progress() {
  const Progress* progress = Progress::current();
  if (progress == nullptr || Clock::now() - begun_ < kLong) return;
  try {  // a bar that cannot be drawn is no reason to lose the result
    if (bar_ == nullptr)
      bar_ = nb::module_::import_("costate.progress").attr("of_one_call")().release().ptr();
    if (bar_ != Py_None) nb::handle(bar_).attr("show")(progress->part());
  } catch (const nb::python_error&) {
    bar_ = Py_None;
  }
}

Released::~Released() {
  if (bar_ != nullptr && bar_ != Py_None) {
    const nb::gil_scoped_acquire lock;
    const nb::object bar = nb::steal(bar_);
    try {
      bar.attr("close")();
    } catch (const nb::python_error&) {
    }
  }
  current = outer_;
  if (raised) stopping = false;
}

}  // namespace costate::python
