// What one thread of a GPU does for a Program that nobody has compiled: one world, all steps of a run,
// instruction after instruction.
//
//   x_{k+1} = step(x_k, u_k, p)            the program's instructions (ad/executable.h)
//   l_k     = step_vjp(x_k, ...; l_{k+1})  those of its transpose; u_bar and p_bar add up on the way
//
// Constants are the same for all worlds. Inputs and registers of a world lie in memory with those of its
// neighbours, [slot][world], so a warp reads and writes whole lines, and an instruction is decoded once for
// its 32 worlds. The tape holds the state of every step.
//
// Nothing here needs a GPU: tests run the same functions on the host. Who calls them: program_walker.h.
// Tests: tests/cuda/device_program_test.cpp.
#pragma once

#include <cmath>

#include "costate/ad/arithmetic.h"
#include "costate/cuda/lane_thread.h"

namespace costate::cuda {

// Instructions on a device; their slots are constants, inputs and registers, in this order.
template <class S>
struct WalkedCode {
  const ad::Instruction* instructions;
  const S* constants;
  const std::uint32_t* output_slots;
  std::uint32_t first_input;  // = how many constants there are
  int count, outputs;         // of instructions, of outputs
};

// A step, or its transpose. Inputs are x, u, p, k and, of the transpose, y_bar; outputs are y, or x_bar,
// u_bar and the wanted parts of p_bar.
template <class S>
struct WalkedProgram {
  WalkedCode<S> code;
  int states, controls, parameters, wanted;
  const int* wanted_parameters;  // which of the parameters they are
  S* memory;                     // of all worlds: inputs and registers, then the outputs of a step
  int slots;
};

template <class S>
COSTATE_HD inline S integer_power_of(S x, int n) {
  S power(1);
  for (unsigned k = n < 0 ? 0u - unsigned(n) : unsigned(n); k != 0; k >>= 1) {
    if (k & 1) power = power * x;
    if (k > 1) x = x * x;
  }
  return n < 0 ? S(1) / power : power;
}

// Functions of the math library, with an operand or two.
template <class S>
COSTATE_HD inline S walked_function(const ad::Instruction& i, S a, S b) {
  using ad::Op;
  switch (i.op) {
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::cos(a);
    case Op::tan:
      return std::tan(a);
    case Op::exp:
      return std::exp(a);
    case Op::expm1:
      return std::expm1(a);
    case Op::log:
      return std::log(a);
    case Op::log1p:
      return std::log1p(a);
    case Op::cbrt:
      return std::cbrt(a);
    case Op::sinh:
      return std::sinh(a);
    case Op::cosh:
      return std::cosh(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::asin:
      return std::asin(a);
    case Op::acos:
      return std::acos(a);
    case Op::atan:
      return std::atan(a);
    case Op::atan2:
      return std::atan2(a, b);
    case Op::pow:
      return std::pow(a, b);
    default:
      return integer_power_of(a, i.exponent);
  }
}

template <class S>
COSTATE_HD inline S walked_value(const ad::Instruction& i, S a, S b, S c) {
  return ad::arithmetic(i, a, b, c,
                        [](const ad::Instruction& of, S x, S y) { return walked_function(of, x, y); });
}

template <class S>
class ProgramThread {
 public:
  COSTATE_HD ProgramThread(const WalkedProgram<S>& program, const DeviceRun<S>& run, std::int64_t index)
      : of_(program), run_(run), index_(index), own_(program.memory + index) {
    load(run.p, program.states + program.controls, program.parameters);
  }

  // Inputs by their place among them; numbers of all worlds at `from`.
  COSTATE_HD void load(const S* from, int input, int n) const {
    for (int i = 0; i < n; ++i) at(input + i) = from[i * run_.worlds + index_];
  }
  COSTATE_HD void store_state(S* to) const {
    for (int i = 0; i < of_.states; ++i) to[i * run_.worlds + index_] = at(i);
  }
  COSTATE_HD void begin_step(int k) const {
    const S* const knot = run_.u + (k / int(run_.hold)) * run_.u_knot + index_ * run_.u_world;
    for (int i = 0; i < of_.controls; ++i) at(of_.states + i) = knot[i * run_.u_index];
    at(of_.states + of_.controls + of_.parameters) = S(k);
  }
  // y_bar among the inputs.
  COSTATE_HD int cotangent() const { return of_.states + of_.controls + of_.parameters + 1; }

  // Where the outputs are: taken together, since an input may be one of them.
  COSTATE_HD int execute() const {
    for (int n = 0; n < of_.code.count; ++n) {
      const ad::Instruction i = of_.code.instructions[n];
      at(int(i.out - of_.code.first_input)) = walked_value<S>(i, value(i.a), value(i.b), value(i.c));
    }
    for (int i = 0; i < of_.code.outputs; ++i) at(of_.slots + i) = value(of_.code.output_slots[i]);
    return of_.slots;
  }
  COSTATE_HD void copy(int from, int to, int n) const {
    for (int i = 0; i < n; ++i) at(to + i) = at(from + i);
  }
  // Adds output `from` + i to number `place(i)` of all worlds' at `to`.
  template <class Place>
  COSTATE_HD void add_to(S* to, int from, int n, const Place& place) const {
    for (int i = 0; i < n; ++i) to[place(i) * run_.worlds + index_] += at(from + i);
  }

  COSTATE_HD bool finite() const {
    bool all = true;
    for (int i = 0; i < of_.states; ++i) all = all && is_finite(at(i));
    return all;
  }
  COSTATE_HD double norm2(int input) const {
    double sum = 0;
    for (int i = 0; i < of_.states; ++i) sum += double(at(input + i)) * double(at(input + i));
    return sum;
  }

 private:
  COSTATE_HD S& at(int slot) const { return own_[slot * run_.worlds]; }
  COSTATE_HD S value(std::uint32_t slot) const {
    return slot < of_.code.first_input ? of_.code.constants[slot] : at(int(slot - of_.code.first_input));
  }

  const WalkedProgram<S>& of_;
  const DeviceRun<S>& run_;
  std::int64_t index_;
  S* own_;
};

// As advance_world, record_world and reverse_world of lane_thread.h. tape: where states go, or null.
template <class S>
COSTATE_HD inline void walk_world(const WalkedProgram<S>& step, const DeviceRun<S>& run, std::int64_t index,
                                  const S* from, S* to, const DeviceTape<S>& tape, char* diverged) {
  const ProgramThread<S> world(step, run, index);
  world.load(from, 0, step.states);
  const bool finite = world.finite();
  const int end = int(run.first + run.count);
  for (int k = int(run.first); k < end; ++k) {
    if (tape.base != nullptr) world.store_state(tape.base + (k - tape.begin) * (step.states * run.worlds));
    world.begin_step(k);
    world.copy(world.execute(), 0, step.states);
  }
  world.store_state(to);
  if (!finite || !world.finite()) diverged[index] = 1;
}

template <class S>
COSTATE_HD inline void walk_world_back(const WalkedProgram<S>& transpose, const DeviceRun<S>& run,
                                       std::int64_t index, const DeviceTape<S>& tape,
                                       const DeviceCotangents<S>& bar) {
  const ProgramThread<S> world(transpose, run, index);
  const int n = transpose.states, nu = transpose.controls, first = int(run.first), spacing = int(bar.spacing);
  world.load(bar.x, world.cotangent(), n);
  for (int k = int(run.first + run.count) - 1; k >= first; --k) {
    world.load(tape.base + (k - tape.begin) * (n * run.worlds), 0, n);
    world.begin_step(k);
    const int out = world.execute();
    if (bar.u != nullptr)
      world.add_to(bar.u + (k / int(run.hold)) * (nu * run.worlds), out + n, nu, [](int i) { return i; });
    if (bar.p != nullptr)
      world.add_to(bar.p, out + n + nu, transpose.wanted,
                   [&](int i) { return transpose.wanted_parameters[i]; });
    world.copy(out, world.cotangent(), n);
    if (k > first && k % spacing == 0)
      bar.norms[std::int64_t(k / spacing) * run.worlds + index] = world.norm2(world.cotangent());
  }
  world.copy(world.cotangent(), 0, n);
  world.store_state(bar.x);
}

}  // namespace costate::cuda
