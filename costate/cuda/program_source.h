// A Program as CUDA source for NVRTC: its step and transpose written out (ad::emit_cpp), as a kernel of
// lane_thread.h, which is part of the text. Nothing is included, so nothing has to be found on the machine
// that compiles it.
//
// Entry points, with the scalar of the System: advance, record and reverse, whose arguments are those of
// advance_world, record_world and reverse_world without the index of the world.
// Tests: tests/cuda/device_program_test.cpp.
#pragma once

#include <string>

#include "costate/ad/derivative.h"
#include "costate/system/activity.h"
#include "costate/system/signature.h"

namespace costate::cuda {

// `bound`: one step, from bind_step (system/program/bind_program.h).
std::string program_source(const Signature& signature, const ad::Program& bound, const Activity& activity,
                           bool double_precision);
// What a transpose is asked for: the cotangents of x, u and the parameters that are active, in this order.
ad::DerivativeOptions wanted_cotangents(const Signature& signature, const ad::Program& bound,
                                        const Activity& activity);
// Steps of a segment of its tape: LaneThread::kSegment.
int program_segment(std::int64_t states, const ad::Program& bound);

}  // namespace costate::cuda
