// load_study: a file as a Study. The file is read once; which tables it has says what it is about. The guide:
// docs/studies.md.
//
//   const auto study = io::load_study("coffee.toml");
//   const study::Optimum best = study::optimise(*study);
//
// Everything that can be wrong with a file is found here, and reported with its line and column.
// Tests: tests/io/scene/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/io/scene/scene_file.h"
#include "costate/study/study.h"

namespace costate::io {

// How a file is opened: as it says, or as a check wants it.
struct Opening {
  std::vector<Setting> settings = {};
  std::string from = {};   // state file whose best variables are the start; empty: the file's own
  bool for_check = false;  // in double precision even where the file says float, and with tight tolerances
  std::int64_t most_steps =
      0;  // > 0: cut off after so many, its losses moved to the new end where they lay beyond it
};

// A study (.toml), or a model of rigid bodies alone (.xml, .urdf), from its first keyframe or its reference
// configuration, for `run.duration` seconds (3). Throws Error.
std::unique_ptr<study::Study> load_study(const std::string& path, const Opening& opening = {});
std::unique_ptr<study::Study> parse_study(std::string text, const std::string& name,
                                          const Opening& opening = {});

// Whether the name of a file is that of a model: .xml or .urdf.
bool is_model_file(const std::string& path);

}  // namespace costate::io
