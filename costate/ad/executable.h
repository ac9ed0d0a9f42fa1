// Executable: a Program made ready to run, for one world or for many, in float or double.
//
// Many worlds are run in strips. An instruction works on a strip of K packs of worlds, so that the price of
// decoding it is shared by all worlds of the strip, and K is chosen so that the registers of a strip stay in
// the L1 cache. Registers are shared by values that are not alive at the same time (allocate.cpp). One world
// runs on plain numbers. Every world gets the same bits however many it is run with: each function is one
// piece of machine code.
//
// Programs that run often are turned into machine code (machine_code.h), which gives the same bits in less
// time. The interpreter is its reference, and what runs where there is none: on other processors, where the
// system refuses executable memory, with COSTATE_NO_MACHINE_CODE=1 in the environment, or with
// Engine::interpreter.
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
#include <memory>
#include <span>
#include <string>
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

// The instructions of a program, with registers allocated.
struct StraightCode {
  std::vector<Instruction> instructions;
  std::vector<double> constants;
  std::vector<float> constants_float;
  std::vector<int> input_sizes, output_sizes;
  std::size_t input_slots = 0, register_count = 0;
  std::vector<std::uint32_t> output_slots;  // slot of each output element

  std::size_t first_register() const { return constants.size() + input_slots; }
  std::size_t slot_count() const { return first_register() + register_count; }
};

enum class Engine {
  automatic,     // machine code for what runs often
  interpreter,   // never
  machine_code,  // from the first run on
};

struct MachineCodeReport {
  std::string refused;    // why there is none; empty if nothing speaks against it
  std::size_t codes = 0;  // for so many shapes of call
  std::size_t bytes = 0;
  double seconds = 0;  // spent on writing it
};

class CodeCache;

// Copies share their machine code.
class Executable {
 public:
  Executable() = default;
  explicit Executable(const Program& program, Engine engine = Engine::automatic);

  // Scratch that run() needs, for any number of worlds. It carries nothing from one call to the next.
  template <class T>
  std::size_t scratch_bytes() const {
    return scratch_bytes_[sizeof(T) == sizeof(double)];
  }

  // One block per field of the program, in order. Different scratch makes calls from several threads safe.
  template <class T>
  void run(std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
           std::ptrdiff_t worlds, std::span<std::byte> scratch) const;

  std::size_t instruction_count() const { return code_.instructions.size(); }
  std::size_t register_count() const { return code_.register_count; }
  MachineCodeReport machine_code() const;
  // "44 instructions, 12 registers, machine code for 2 shapes of call (3100 bytes)"
  std::string description() const;

 private:
  template <class T>
  void run_one(std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
               T* slots) const;
  template <class T, int K>
  void run_strips(std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
                  std::ptrdiff_t worlds, std::byte* scratch) const;
  template <class T>
  std::size_t interpreter_scratch() const;
  template <class T>
  const std::vector<T>& constants() const;

  StraightCode code_;
  int strip_packs_ = 0;
  std::size_t scratch_bytes_[2] = {0, 0};    // float, double
  std::shared_ptr<CodeCache> machine_code_;  // null: always interpreted
};

// Value of one operation; for powi, b is the exponent. The interpreter's own function, bit for bit.
template <class T>
T apply(Op op, T a, T b, T c);

// For tests and one-off values: field by field in, all outputs one after the other out. Allocates.
std::vector<double> evaluate(const Program& program, std::initializer_list<std::vector<double>> inputs);
std::vector<double> evaluate(const Program& program, std::span<const std::vector<double>> inputs);

}  // namespace costate::ad
