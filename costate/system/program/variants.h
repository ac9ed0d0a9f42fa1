// Derivatives made on demand: one for each choice of the fields that a caller wants, made when it is first
// asked for and kept.
//
// A caller remembers the variant it used last and looks there first (ChosenFields::are); only a new choice
// takes the lock. Used by StepProgram and LayeredSystem. Tests: tests/system/program/program_system_test.cpp,
// layered_system_test.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "costate/system/system.h"

namespace costate {

// What a caller asks for.
struct FieldChoice {
  bool controls;
  bool any_parameter;        // false: none
  const Activity* activity;  // null: all parameters
  bool operator()(std::size_t parameter) const {
    return any_parameter && (activity == nullptr || activity->parameters[parameter]);
  }
};

// What a variant was made for.
struct ChosenFields {
  int kind = 0;  // of derivative, as its owner counts them
  bool controls = false;
  std::vector<bool> parameters;

  ChosenFields() = default;
  ChosenFields(int kind_, const FieldChoice& choice, std::size_t parameter_fields)
      : kind(kind_), controls(choice.controls) {
    for (std::size_t f = 0; f < parameter_fields; ++f) parameters.push_back(choice(f));
  }
  bool are(int other_kind, const FieldChoice& choice) const {
    if (kind != other_kind || controls != choice.controls) return false;
    for (std::size_t f = 0; f < parameters.size(); ++f) {
      if (parameters[f] != choice(f)) return false;
    }
    return true;
  }
};

// Variants derive from ChosenFields. Threads may ask at the same time.
template <class Variant>
class Variants {
 public:
  // The variant for this choice; make() returns a std::unique_ptr to a new one.
  template <class Make>
  const Variant& find(int kind, const FieldChoice& choice, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (const auto& v : all_) {
      if (v->are(kind, choice)) return *v;
    }
    return *all_.emplace_back(make());
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<const Variant>> all_;
};

}  // namespace costate
