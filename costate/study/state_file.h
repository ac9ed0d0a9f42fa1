// The state of an optimisation as a JSON file: the optimiser's memory, the best point by the names of its
// variables, the loss of every iteration. Files are treated as hostile.
// Tests: tests/io/scene/particles_study_test.cpp.
#pragma once

#include "costate/optim/by_name.h"
#include "costate/study/variables.h"

namespace costate::study {

// What makes two runs the same run is `identity`: another file or another setting is another run.
void write_state(const std::string& path, const std::string& identity, const std::vector<Variable>& variables,
                 const optim::AnyState& state, const std::vector<double>& losses);
// False: there is no such file. Error where it is not a state, or that of another run. `state` is a fresh one
// of the method.
bool read_state(const std::string& path, const std::string& identity, std::size_t variables,
                optim::AnyState& state, std::vector<double>& losses);
// Each variable started where the state is best, where it has one of that name; how many it has. Error where
// it is not a state.
int start_from_state(const std::string& path, std::vector<Variable>& variables);

}  // namespace costate::study
