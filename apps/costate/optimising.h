// Optimisation with a progress bar, which Ctrl-C ends with the best so far: of optimize and identify.
#pragma once

#include "commands.h"
#include "costate/study/optimise.h"
#include "progress_bar.h"

namespace costate::app {

// state_file: empty for none. `pool`: where it is told what the workers of --pool did.
study::Optimum optimised(study::Study& study, const Arguments& arguments, const std::string& state_file,
                         ProgressBar& bar, std::string* pool = nullptr);

}  // namespace costate::app
