// A SoftModel made ready: its fields with their places, its terms, who adds up what.
#pragma once

#include <memory>

#include "costate/soft/contact/self_contact.h"
#include "costate/soft/elements/term.h"
#include "costate/soft/elements/wind.h"
#include "costate/soft/soft_model.h"
#include "costate/soft/step/assembly.h"
#include "costate/soft/step/hold_motion.h"
#include "costate/soft/step/riders.h"
#include "costate/system/signature.h"

namespace costate::soft {

struct Compiled {
  SoftModel model;
  Signature signature;
  int n = 0;       // vertices
  int copies = 2;  // arrays of 3n numbers in a state: x, v, and for bdf2 x_old, v_old
  std::int64_t rest = 0, gravity = 0, drag = 0, wind = 0, wind_drag = 0, dt = 0;  // among the parameters
  std::int64_t wind_control = -1;
  std::vector<char> free;     // per vertex
  std::vector<char> follows;  // free, or rides: a step finds out where it goes
  HoldMotion held;
  Riders riders;                              // on the links of model.carrier
  std::int64_t carrier_u = 0, carrier_p = 0;  // where the carrier's controls and parameters begin
  std::int64_t creases = 0;                   // numbers that hinges remember
  std::int64_t crease_x() const { return 3LL * copies * n; }  // where they begin in the state
  std::int64_t carrier_x() const { return crease_x() + creases; }
  int dofs() const { return model.carrier ? model.carrier->dofs() : 0; }
  std::vector<std::string> names;  // of the part of each term
  std::vector<std::unique_ptr<Term>> terms;
  std::int64_t kept = 0;                // numbers that terms keep of the rest shape
  std::unique_ptr<ContactAreas> areas;  // null: contact is not weighted by area
  std::unique_ptr<SelfContact> self;    // null: surfaces do not touch each other
  bool contact = false;                 // there are obstacles or self
  Wind windy;
  std::unique_ptr<Assembly> assembly, wind_assembly;
};

// Error for what makes no model: cells of no volume, vertices of no cell, numbers out of range.
Compiled compile(const SoftModel& model);

}  // namespace costate::soft
