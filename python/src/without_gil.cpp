#include "without_gil.h"

#include <atomic>
#include <chrono>

#include "costate/core/interrupt.h"

namespace costate::python {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::milliseconds(20);

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
  if (PyErr_CheckSignals() == 0) return;
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

Released::~Released() {
  current = outer_;
  if (raised) stopping = false;
}

}  // namespace costate::python
