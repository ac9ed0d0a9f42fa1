// Interruption: long work asks, between steps, whether somebody wants it to stop.
//
// A program that embeds the engine sets a test (Python: has Ctrl-C been pressed?). It is called from every
// thread that works, between steps, so it must be cheap and safe for threads; it stops the work by throwing.
// Whatever was being computed is lost, whatever it was computed from is not: inputs are never written to, and
// a Rollout can be used again.
// Tests: tests/core/interrupt_test.cpp, tests/python/test_interrupt.py.
#pragma once

#include <atomic>

namespace costate {

using InterruptTest = void (*)();

namespace detail {
inline std::atomic<InterruptTest> interrupt_test{nullptr};
}  // namespace detail

// Null: nothing interrupts. Applies to the whole process.
inline void set_interrupt_test(InterruptTest test) { detail::interrupt_test.store(test); }

inline void stop_if_interrupted() {
  if (const InterruptTest test = detail::interrupt_test.load(std::memory_order_relaxed)) test();
}

}  // namespace costate
