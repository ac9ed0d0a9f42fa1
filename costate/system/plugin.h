// A physics of one's own in a shared library, for programs that are already built: Python.
//
//   costate::Plugin make() {
//     return {.name = "bead", .in_double = std::make_shared<LaneSystem<Bead, double>>(fields()),
//             .in_single = std::make_shared<LaneSystem<Bead, float>>(fields()), .initial = {1.0, 0.0}};
//   }
//   COSTATE_PLUGIN(make)
//
// and in Python  costate.load_plugin("libbead.so")  is a System like any other. Program and library share
// virtual functions and a few structs, no instruction set: a library for other registers than the program's
// works. They must come from the same version of costate, which is compared before anything is called.
// docs/recipes.md shows the whole; tests: tests/python/test_plugin.py, tests/consumer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/core/interrupt.h"
#include "costate/system/system.h"

namespace costate {

struct Plugin {
  std::string name;
  std::shared_ptr<const System<double>> in_double;
  std::shared_ptr<const System<float>> in_single = {};  // null: there is none
  std::vector<double> initial = {};                     // where rollouts start; empty: at zero
};

// What the program finds in the library, under the name costate_plugin.
struct PluginEntry {
  // Bytes of what both sides share, and a number that changes when they mean something else.
  std::size_t layout[5];
  // `interrupt`: the program's own test for Ctrl-C.
  Plugin* (*make)(InterruptTest interrupt);
  void (*destroy)(Plugin*);
};

inline constexpr std::size_t kPluginLayout[5] = {1, sizeof(Plugin), sizeof(Signature), sizeof(Run<double>),
                                                 sizeof(Activity)};

}  // namespace costate

// `function` takes nothing and returns a costate::Plugin.
#define COSTATE_PLUGIN(function)                                                            \
  extern "C" __attribute__((visibility("default"))) costate::PluginEntry costate_plugin() { \
    costate::PluginEntry entry{{},                                                          \
                               [](costate::InterruptTest interrupt) {                       \
                                 costate::set_interrupt_test(interrupt);                    \
                                 return new costate::Plugin(function());                    \
                               },                                                           \
                               [](costate::Plugin* made) { delete made; }};                 \
    for (int i = 0; i < 5; ++i) entry.layout[i] = costate::kPluginLayout[i];                \
    return entry;                                                                           \
  }
