// Picture: how a physics looks in a recording. It is shown one state after the other, and never keeps more
// than what it draws.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "costate/io/recording.h"
#include "costate/study/variables.h"

namespace costate::study {

class Picture {
 public:
  virtual ~Picture() = default;

  // A new film, of a run with these inputs.
  virtual void begin(const Inputs& inputs) = 0;
  virtual void frame(double t, const std::vector<double>& state) = 0;
  // A point that something should reach.
  virtual void mark(const std::array<double, 3>& position) = 0;
  // A state between frames, for what is counted rather than drawn: about every `looks_per_frame`-th part of
  // one.
  virtual void look(double t, const std::vector<double>& state) { (void)t, (void)state; }
  virtual int looks_per_frame() const { return 1; }
  // What a careful user should know of the run so far.
  virtual std::vector<std::string> notes() const { return {}; }
  // The frames also as a file that other programs read, by its ending (".xyz"): asked for before begin().
  // Throws Error where the physics has none.
  virtual void also_write(const std::string& ending);
  virtual std::string written() { return {}; }  // after the last frame
  // The recording, except for its title, camera and the time between frames.
  virtual io::Recording finish() = 0;
};

}  // namespace costate::study
