// Optimisation with a progress bar, which Ctrl-C ends with the best so far: of optimize and identify.
#pragma once

#include "commands.h"
#include "costate/study/optimise.h"
#include "progress_bar.h"

namespace costate::app {

// state_file: empty for none.
study::Optimum optimised(study::Study& study, const Arguments& arguments, const std::string& state_file,
                         ProgressBar& bar);

}  // namespace costate::app
