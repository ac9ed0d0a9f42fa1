// A run of MachineCode: the inputs brought into the frame, every segment over every strip, the outputs
// brought out.
//
// The code reads inputs and writes outputs where the caller has them. Only two kinds of block go through
// strips of the frame: inputs that an output overlaps, because a block writes some outputs before it has read
// all inputs, and all blocks of the last strip if it ends within a pack.
#pragma once

#include <span>

#include "costate/ad/executable.h"
#include "costate/ad/machine/machine_code.h"

namespace costate::ad {

// Scratch for any call.
std::size_t machine_code_scratch(const StraightCode& code, int strip_packs);

// False if outputs overlap one another: the order in which they are written would show, and is the
// interpreter's.
template <class T>
bool outputs_are_apart(const StraightCode& code, std::span<const OutputBlock<T>> outputs,
                       std::ptrdiff_t worlds);

// Many worlds.
template <class T>
void run_strips(const MachineCode& machine, const StraightCode& code, std::span<const InputBlock<T>> inputs,
                std::span<const OutputBlock<T>> outputs, std::ptrdiff_t worlds, std::byte* scratch);

// One world, by code for one world.
template <class T>
void run_one_world(const MachineCode& machine, const StraightCode& code,
                   std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
                   std::byte* scratch);

}  // namespace costate::ad
