#include "costate/ad/executable.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "costate/ad/arithmetic.h"
#include "costate/ad/interpret_strip.h"
#include "costate/ad/machine/code_cache.h"
#include "costate/ad/machine/machine_code_run.h"
#include "costate/core/error.h"
#include "costate/core/functions.h"

namespace costate::ad {
namespace {

constexpr std::size_t kAlign = kAlignment;

template <class T>
T step_one(const Instruction& i, const T* s) {
  return arithmetic(i, s[i.a], s[i.b], s[i.c], [](const Instruction& of, T a, T b) {
    return function_value<T>(of.op, a, b, of.exponent);
  });
}

// visit(block, index in its field, index among all elements).
template <class Block, class Visit>
COSTATE_INLINE void for_each_element(std::span<const Block> blocks, const std::vector<int>& sizes,
                                     const Visit& visit) {
  std::size_t element = 0;
  for (std::size_t f = 0; f < blocks.size(); ++f) {
    for (int i = 0; i < sizes[f]; ++i) visit(blocks[f], i, element++);
  }
}

template <class T>
T* aligned(std::byte* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return reinterpret_cast<T*>(p + (kAlign - address % kAlign) % kAlign);
}

}  // namespace

template <>
const std::vector<double>& Executable::constants() const {
  return code_.constants;
}
template <>
const std::vector<float>& Executable::constants() const {
  return code_.constants_float;
}

template <class T>
std::size_t Executable::interpreter_scratch() const {
  const auto strips = (code_.input_slots + code_.register_count) * static_cast<std::size_t>(strip_packs_);
  return 2 * kAlign + code_.slot_count() * sizeof(Strip<T>) + (code_.constants.size() + strips) * kSimdBytes;
}

template <class T>
void Executable::run(std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
                     std::ptrdiff_t worlds, std::span<std::byte> scratch) const {
  if (inputs.size() != code_.input_sizes.size() || outputs.size() != code_.output_sizes.size()) {
    throw Error("the program has " + std::to_string(code_.input_sizes.size()) + " input and " +
                std::to_string(code_.output_sizes.size()) + " output fields; run() was given " +
                std::to_string(inputs.size()) + " and " + std::to_string(outputs.size()) + " blocks");
  }
  if (scratch.size() < scratch_bytes<T>()) {
    throw Error("run() needs " + std::to_string(scratch_bytes<T>()) + " bytes of scratch and was given " +
                std::to_string(scratch.size()));
  }
  if (worlds <= 0) return;
  if (worlds == 1 && machine_code_) {
    if (const MachineCode* const machine = machine_code_->for_one_world<T>())
      return run_one_world(*machine, code_, inputs, outputs, scratch.data());
  }
  if (machine_code_ && machine_code_->run(code_, strip_packs_, inputs, outputs, worlds, scratch.data()))
    return;
  if (worlds == 1) return run_one<T>(inputs, outputs, aligned<T>(scratch.data()));
  if (strip_packs_ == kLongStrip) {
    run_strips<T, kLongStrip>(inputs, outputs, worlds, scratch.data());
  } else {
    run_strips<T, kShortStrip>(inputs, outputs, worlds, scratch.data());
  }
}

template <class T>
void Executable::run_one(std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
                         T* slots) const {
  T* const input_slots = std::copy(constants<T>().begin(), constants<T>().end(), slots);
  for_each_element(inputs, code_.input_sizes, [&](const InputBlock<T>& block, int i, std::size_t element) {
    input_slots[element] = block.data[i * block.stride];
  });
  for (const Instruction& instruction : code_.instructions)
    slots[instruction.out] = step_one(instruction, slots);
  for_each_element(outputs, code_.output_sizes, [&](const OutputBlock<T>& block, int i, std::size_t element) {
    const T value = slots[code_.output_slots[element]];
    T& to = block.data[i * block.stride];
    to = block.add ? to + value : value;
  });
}

template <class T, int K>
void Executable::run_strips(std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
                            std::ptrdiff_t worlds, std::byte* scratch) const {
  using P = NativePack<T>;
  constexpr int lanes = P::lanes;
  // Scratch: where each slot is; one pack per constant; a strip per input; a strip per register.
  Strip<T>* const table = aligned<Strip<T>>(scratch);
  T* const constant_packs = aligned<T>(reinterpret_cast<std::byte*>(table + code_.slot_count()));
  T* const input_strips = constant_packs + code_.constants.size() * lanes;
  T* const registers = input_strips + code_.input_slots * K * lanes;
  const std::size_t first_input = code_.constants.size(), first_register = first_input + code_.input_slots;

  for (std::size_t i = 0; i < code_.constants.size(); ++i) {
    P(constants<T>()[i]).store(constant_packs + i * lanes);
    table[i] = {constant_packs + i * lanes, 0};
  }
  for (std::size_t i = 0; i < code_.input_slots + code_.register_count; ++i) {
    table[first_input + i] = {input_strips + i * K * lanes, lanes};
  }
  for_each_element(inputs, code_.input_sizes, [&](const InputBlock<T>& block, int i, std::size_t element) {
    if (!block.broadcast) return;
    T* const strip = input_strips + element * K * lanes;
    P(block.data[i * block.stride]).store(strip);
    table[first_input + element] = {strip, 0};
  });

  const auto is_aligned = [](const T* p) { return reinterpret_cast<std::uintptr_t>(p) % kAlignment == 0; };
  const auto written = [&](const T* row) {  // by any output, in the strip that starts at `row`
    std::size_t f = 0;
    for (const OutputBlock<T>& block : outputs) {
      const T* const end = block.data + (code_.output_sizes[f++] - 1) * block.stride + worlds;
      if (row < end && block.data < row + K * lanes) return true;
    }
    return false;
  };
  for (std::ptrdiff_t first = 0; first < worlds; first += K * lanes) {
    const std::ptrdiff_t here = std::min<std::ptrdiff_t>(K * lanes, worlds - first);
    const int packs = static_cast<int>((here + lanes - 1) / lanes);
    // Inputs are copied: elements a power of two apart would keep evicting each other from the cache, and an
    // output may overwrite its input. Not so a block that is laid out like a strip and written by nobody.
    for_each_element(inputs, code_.input_sizes, [&](const InputBlock<T>& block, int i, std::size_t element) {
      if (block.broadcast) return;
      const T* const from = block.data + i * block.stride + first;
      T* const strip = input_strips + element * K * lanes;
      const bool in_place =
          here == K * lanes && block.stride == K * lanes && is_aligned(from) && !written(from);
      if (!in_place) load_strip(from, strip, here);
      table[first_input + element] = {in_place ? from : strip, lanes};
    });
    const auto registers_from = static_cast<std::uint32_t>(first_register);
    if (packs == K) {
      run_code<T, K, K>(code_.instructions, table, registers, registers_from, K);
    } else if (packs == 1) {
      run_code<T, 1, K>(code_.instructions, table, registers, registers_from, 1);
    } else {
      run_code<T, 0, K>(code_.instructions, table, registers, registers_from, packs);
    }
    for_each_element(outputs, code_.output_sizes,
                     [&](const OutputBlock<T>& block, int i, std::size_t element) {
                       store_strip(table[code_.output_slots[element]], block.data + i * block.stride + first,
                                   here, block.add);
                     });
  }
}

template <class T>
T apply(Op op, T a, T b, T c) {
  const T slots[] = {a, b, c};
  return step_one<T>({op, 0, 0, 1, 2, op == Op::powi ? static_cast<std::int32_t>(b) : 0}, slots);
}

template float apply(Op, float, float, float);
template double apply(Op, double, double, double);
template std::size_t Executable::interpreter_scratch<float>() const;
template std::size_t Executable::interpreter_scratch<double>() const;
template void Executable::run(std::span<const InputBlock<float>>, std::span<const OutputBlock<float>>,
                              std::ptrdiff_t, std::span<std::byte>) const;
template void Executable::run(std::span<const InputBlock<double>>, std::span<const OutputBlock<double>>,
                              std::ptrdiff_t, std::span<std::byte>) const;

std::vector<double> evaluate(const Program& program, std::span<const std::vector<double>> inputs) {
  const Executable executable(program);
  std::vector<InputBlock<double>> in;
  for (std::size_t f = 0; f < inputs.size(); ++f) {
    if (f < program.input_fields().size() &&
        static_cast<int>(inputs[f].size()) != program.input_fields()[f].size) {
      throw Error("input '" + program.input_fields()[f].name + "' has " +
                  std::to_string(program.input_fields()[f].size) + " elements and was given " +
                  std::to_string(inputs[f].size()));
    }
    in.push_back({inputs[f].data(), 1, false});
  }
  std::vector<double> result(program.output_count());
  std::vector<OutputBlock<double>> out;
  for (std::size_t f = 0; f < program.output_fields().size(); ++f) {
    out.push_back({result.data() + program.output_offset(static_cast<int>(f)), 1, false});
  }
  std::vector<std::byte> scratch(executable.scratch_bytes<double>());
  executable.run<double>(in, out, 1, scratch);
  return result;
}

std::vector<double> evaluate(const Program& program, std::initializer_list<std::vector<double>> inputs) {
  return evaluate(program, std::span<const std::vector<double>>(inputs.begin(), inputs.size()));
}

}  // namespace costate::ad
