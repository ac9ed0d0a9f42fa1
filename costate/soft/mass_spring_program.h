// The step of masses and springs as a Program, for what runs Programs: a GPU (docs/cuda.md).
// Tests: tests/cuda/device_springs_test.cpp.
#pragma once

#include "costate/ad/program.h"
#include "costate/soft/mass_spring_step.h"
#include "costate/system/signature.h"

namespace costate::soft {

// As bind_program.h has it: "x", "u" where there is a muscle, "p/<name>" and "k" go in, "y" comes out.
ad::Program record_mass_spring(const Topology& topology, const Signature& signature, int dimensions);

}  // namespace costate::soft
