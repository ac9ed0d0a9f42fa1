// Section: what a physics reads of a file. The table that chooses it, the tables that it alone knows, and the
// function that makes a study of them. A new physics is one file in sections/ and one line in sections.cpp.
//
// A physics that a Rollout simulates fills a Draft: its system, where it starts, its quantities (so that
// every loss works), what can be driven, its picture. The tables that all physics share (tables.h) do the
// rest.
#pragma once

#include <memory>

#include "costate/io/scene/draft.h"
#include "costate/io/scene/load_study.h"
#include "costate/io/scene/tables.h"

namespace costate::io {

struct Section {
  const char* table;                // that chooses it
  std::vector<std::string> tables;  // that it reads besides the common ones
  std::unique_ptr<study::Study> (*open)(const SceneFile& file, const Opening& opening);
};
// In the order in which a file is asked: a file with [domain] and [model] is one of particles.
const std::vector<Section>& sections();

// Sections that fill a Draft.
Draft read_particles(const SceneFile& file);
Draft read_bodies(const SceneFile& file);
Draft read_grid(const SceneFile& file);
Draft read_flow(const SceneFile& file);
Draft read_springs(const SceneFile& file);
Draft read_soft(const SceneFile& file);
Draft read_molecules(const SceneFile& file);
// Equations are solved, not stepped: sections/equations.cpp.
std::unique_ptr<study::Study> open_equations(const SceneFile& file, const Opening& opening);

}  // namespace costate::io
