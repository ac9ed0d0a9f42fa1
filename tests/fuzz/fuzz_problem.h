// One input of the fuzzer: text that claims to be a problem file. Whatever it says, reading it ends in a Problem or in an
// Error with a message; a Problem of bounded cost is solved and differentiated, which ends in numbers or in an Error.
#pragma once

#include <cstdint>
#include <string>

#include "costate/core/error.h"
#include "costate/io/run.h"

namespace costate::fuzz {

// Returns what happened, for tests: "solved", or the first line of the message.
inline std::string fuzz_problem(const std::string& text) {
  try {
    io::Problem problem = io::parse_problem(text, "fuzz.toml");
    ode::Options& o = problem.options;
    o.max_steps = 200;
    o.max_events = 50;
    const ode::Solution solution = io::solve(problem);
    if (problem.has_loss()) io::gradient(problem, solution, "discrete");
    return "solved";
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.empty()) __builtin_trap();
    return message.substr(0, message.find('\n'));
  }
}

}  // namespace costate::fuzz
