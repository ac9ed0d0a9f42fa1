// Executable: a Program made ready to run, for one world or for many, in float or double.
//
// Many worlds are run in strips. An instruction works on a strip of K packs of worlds, so that the price of
// decoding it is shared by all worlds of the strip, and K is chosen so that the registers of a strip stay in
// the L1 cache. Registers are shared by values that are not alive at the same time (allocate.cpp). One world
// runs on plain numbers. Every world gets the same bits however many it is run with: each function is one
// piece of machine code.
//
//   const Executable step(program);
//   std::vector<std::byte> scratch(step.scratch_bytes<double>());
//   step.run<double>(inputs, outputs, worlds, scratch);   // allocates nothing
//
// Tests: tests/ad/program_op_test.cpp, tests/ad/program_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "costate/ad/program.h"

namespace costate::ad {

// One input field: element i of world w is data[i * stride + w], or data[i * stride] for every world if
// broadcast.
template <class T>
struct InputBlock {
  const T* data = nullptr;
  std::ptrdiff_t stride = 1;
  bool broadcast = false;
};

// One output field: element i of world w goes to data[i * stride + w], overwriting it or adding to it. It may
// be the block of an input, but not overlap one shifted.
template <class T>
struct OutputBlock {
  T* data = nullptr;
  std::ptrdiff_t stride = 1;
  bool add = false;
};

// Operands and result are slots: constants first, then inputs, then registers.
struct Instruction {
  Op op;
  std::uint32_t out, a, b, c;
  std::int32_t exponent;  // powi
};

class Executable {
 public:
  Executable() = default;
  explicit Executable(const Program& program);

  // Scratch that run() needs, for any number of worlds. It carries nothing from one call to the next.
  template <class T>
  std::size_t scratch_bytes() const;

  // One block per field of the program, in order. Different scratch makes calls from several threads safe.
  template <class T>
  void run(std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
           std::ptrdiff_t worlds, std::span<std::byte> scratch) const;

  std::size_t instruction_count() const { return code_.size(); }
  std::size_t register_count() const { return register_count_; }

 private:
  template <class T>
  void run_one(std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
               T* slots) const;
  template <class T, int K>
  void run_strips(std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
                  std::ptrdiff_t worlds, std::byte* scratch) const;
  template <class T>
  int strip_packs() const;
  std::size_t slot_count() const { return constants_.size() + input_slots_ + register_count_; }
  template <class T>
  const std::vector<T>& constants() const;

  std::vector<Instruction> code_;
  std::vector<double> constants_;
  std::vector<float> constants_float_;
  std::vector<int> input_sizes_, output_sizes_;
  std::size_t input_slots_ = 0, register_count_ = 0;
  std::vector<std::uint32_t> output_slots_;  // slot of each output element
};

// Value of one operation; for powi, b is the exponent. The interpreter's own function, bit for bit.
template <class T>
T apply(Op op, T a, T b, T c);

// For tests and one-off values: field by field in, all outputs one after the other out. Allocates.
std::vector<double> evaluate(const Program& program, std::initializer_list<std::vector<double>> inputs);
std::vector<double> evaluate(const Program& program, std::span<const std::vector<double>> inputs);

}  // namespace costate::ad
