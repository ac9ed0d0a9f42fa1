// Binding: a user's Program, which speaks in names, becomes one over the numbers of a block.
//
// A bound program has the input fields "x" (all states), "u" (all controls, if there are any), "p/<name>" for
// each parameter field (so that each can be differentiated or not) and "k", the number of the step.
//
// A user's program may read, in any order and leaving out what it does not need:
//   a field of the signature by its name and size      "q", "torque", "mass"
//   "x", "u", "p"                                      all numbers of a role
//   "k", and "t" = t0 + k dt where there is a parameter "dt" (t0 is 0 if there is none)
// A field of the signature wins over the other meanings of its name.
//
// Tests: tests/system/program/program_system_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costate/ad/builder.h"
#include "costate/ad/program.h"
#include "costate/system/program/explicit_step.h"
#include "costate/system/signature.h"

namespace costate {

// The nodes of a bound program's inputs.
struct BoundInputs {
  std::vector<ad::Id> x, u, p;
  ad::Id k = ad::kNone;
  ad::Id t = ad::kNone;                                             // kNone: the signature has no dt
  std::vector<std::pair<std::string, std::vector<ad::Id>>> others;  // fields beyond the signature's
};
BoundInputs declare_inputs(ad::Builder& builder, const Signature& signature);

// Copies `program` into the builder, its inputs resolved by name; returns the nodes of its outputs.
std::vector<ad::Id> call(ad::Builder& builder, const ad::Program& program, const Signature& signature,
                         const BoundInputs& inputs);

// The names a text may use, for the parser: all fields of the signature, "k", and "t" if `timed`.
std::vector<ad::Field> names_of(const Signature& signature, bool timed);

// `signature` as it stands after the integrator has added "dt", and "t0" if the program reads "t".
Signature with_time_step(Signature signature, const Scheme& scheme, bool timed);
bool reads_time(const Signature& signature, const ad::Program& program);

// One step as a bound program with the output "y". The source gives the next state, or the derivative to
// integrate: one output field with all states, or one per state named <state>_next (<state>_dot).
// `signature` is the user's, without dt.
ad::Program bind_step(const Signature& signature, const ad::Program& source, const Scheme& scheme);

// Equations for each state, in the names of `signature`: q_dot = v (or q_next = ..., for NextState).
ad::Program parse_step(const Signature& signature, std::string_view text, const Scheme& scheme);

}  // namespace costate
