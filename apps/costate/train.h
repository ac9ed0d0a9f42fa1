// costate train: a policy learns the task of a file.
#pragma once

#include <string>
#include <vector>

#include "commands.h"
#include "costate/learn/learner.h"

namespace costate::app {

// The --set of a command line.
std::vector<io::Setting> settings_of(const Arguments& arguments);

int run_train(const Arguments& arguments);

// Whether a file has a [task], and costate info of such a file (task_info.cpp).
bool is_task_file(const std::string& path);
int run_task_info(const Arguments& arguments);

// A page with the learning curve: returns and lengths of episodes over decisions.
std::string curve_page(const std::string& title, const std::vector<learn::Learned>& history);

}  // namespace costate::app
