// Commands on scenes (files with a table [domain] or [model], and models of rigid bodies); the same names as for problem files, told apart
// by main().
#pragma once

#include "commands.h"
#include "costate/io/scene_function.h"

namespace costate::app {

// The scene with what the command line changes.
std::unique_ptr<io::SceneFunction> open_scene(const Arguments& arguments);
io::SceneOpening opening_of(const Arguments& arguments);
// Files of a run: PREFIX.html, PREFIX.rec, ...; from --output, or the scene's own name without its folder.
std::string output_prefix(const Arguments& arguments);

int run_scene(const Arguments& arguments);
int grad_scene(const Arguments& arguments);
int check_scene(const Arguments& arguments);
int info_scene(const Arguments& arguments);
int optimize_scene(const Arguments& arguments);

// Recordings to a page.
int run_view(const Arguments& arguments);

}  // namespace costate::app
