// Commands on scenes (files with a table [domain]); the same names as for problem files, told apart by main().
#pragma once

#include "commands.h"
#include "costate/io/scene.h"

namespace costate::app {

// The scene with what the command line changes.
io::Scene load_scene(const Arguments& arguments);
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
