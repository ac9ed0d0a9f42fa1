// One input of the fuzzer: text that claims to be a study. Whatever it says, reading it ends in a Study or in
// an Error with a message; equations of bounded cost are solved and differentiated, which ends in numbers or
// in an Error.
#pragma once

#include <string>

#include "costate/core/error.h"
#include "costate/io/scene/load_study.h"
#include "costate/study/equation_study.h"

namespace costate::fuzz {

// Returns what happened, for tests: "solved", "read", or the first line of the message.
inline std::string fuzz_study(const std::string& text) {
  try {
    const auto study = io::parse_study(text, "fuzz.toml");
    auto* const equations = dynamic_cast<study::EquationStudy*>(study.get());
    if (!equations) return "read";
    study::Equations bounded = equations->equations();
    bounded.options.max_steps = 200;
    bounded.options.max_events = 50;
    const ode::Solution solution = study::solve(bounded);
    if (!bounded.terms.empty()) study::gradient(bounded, solution, "discrete");
    return "solved";
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.empty()) __builtin_trap();
    return message.substr(0, message.find('\n'));
  }
}

}  // namespace costate::fuzz
