// load_task: a file as a task to learn. The tables of its physics, [task] and [train]. The guide:
// docs/learning.md.
//
//   const io::TaskFile file = io::load_task("hopper.toml");
//   const auto learner = learn::make_learner(file.task, file.options);
//
// Tests: tests/learn/task_file_test.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/io/scene/scene_file.h"
#include "costate/learn/learner.h"
#include "costate/study/picture.h"

namespace costate::io {

struct TaskFile {
  std::string title;
  learn::Task task;
  learn::LearnOptions options;
  std::shared_ptr<study::Picture> picture;  // may be null
  double step = 0;                          // s, per decision
};

// Everything that can be wrong with the file is told with its line and column.
TaskFile load_task(const std::string& path, const std::vector<Setting>& settings = {});
TaskFile parse_task(std::string text, const std::string& name, const std::vector<Setting>& settings = {});

}  // namespace costate::io
