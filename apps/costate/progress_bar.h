// ProgressBar: one line on stderr that says how far an optimisation has come; nothing where stderr is not a
// terminal.
#pragma once

#include <string>

namespace costate::app {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // [=======>        ]  12/30  TEXT
  void show(int done, int all, const std::string& text);
  // Takes the line away.
  void finish();

 private:
  bool terminal_, shown_ = false;
};

// From now on a simulation or gradient that takes more than a second says how far it is, on the same line.
void watch_progress();

// "2:05", "1:02:05"
std::string clock_time(double seconds);

}  // namespace costate::app
