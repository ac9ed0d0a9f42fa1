// Studies from text and from the files of this folder, as the types that tests look into.
#pragma once

#include <string>
#include <vector>

#include "costate/io/scene/load_study.h"
#include "costate/study/check.h"
#include "costate/study/equation_study.h"
#include "costate/study/optimise.h"
#include "costate/study/rollout_study.h"

namespace costate::io::test {

using study::Equations, study::Named, study::Optimum, study::RolloutStudy, study::Series;
using study::gradient, study::initial_state, study::optimise, study::solve;

inline std::string folder() { return COSTATE_IO_TESTS "/scene"; }

inline study::Equations equations_of(study::Study& study) {
  return dynamic_cast<study::EquationStudy&>(study).equations();
}
inline study::Equations equations(const std::string& text, const std::vector<Setting>& settings = {}) {
  return equations_of(*parse_study(text, "f.toml", {.settings = settings}));
}
inline study::Equations reference(const std::string& name, const std::vector<Setting>& settings = {}) {
  return equations_of(*load_study(folder() + "/equations/" + name + ".toml", {.settings = settings}));
}
// Checked as costate check does.
inline std::vector<check::Result> checked(study::Equations equations) {
  study::tighten(equations);
  study::EquationStudy study(std::move(equations));
  return study::check_gradient(study);
}
inline study::Optimum optimised(study::Equations equations) {
  study::EquationStudy study(std::move(equations));
  return study::optimise(study);
}

template <class Real>
study::RolloutStudy<Real>& rollout_of(study::Study& study) {
  return dynamic_cast<study::RolloutStudy<Real>&>(study);
}

}  // namespace costate::io::test
