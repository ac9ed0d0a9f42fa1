// Replay: recordings as one HTML file that needs no network, no server and no installation.
//
//   view::write_replay("pour.html", {before, after}, {.title = "Learning to pour"});
//
// Recordings stand side by side and share one camera and one clock. The file holds three.js, the viewer
// (page/*.js) and the frames: positions in 16 bits over the box that the recording fills (a 65535th of its
// edge: finer than a pixel), speeds in 8, poses in floats, all as base64. Where the particles of many frames
// would make the file larger than `max_bytes`, every n-th particle is shown, enlarged to fill the same space,
// and the page says so. Guide: docs/viewer.md.
// Tests: tests/view/replay_test.cpp (what the file says), tests/view/browser_test.cpp (what a browser shows).
#pragma once

#include <string>
#include <vector>

#include "costate/io/recording.h"

namespace costate::view {

struct ReplayOptions {
  std::string title = {};                         // of the page; empty: that of the first recording
  std::vector<std::string> notes = {};            // sentences under the title
  std::size_t max_bytes = std::size_t{24} << 20;  // of packed particles, and of images, before base64
};

// The page as text. Error where a recording is invalid, or there is none.
std::string replay_page(const std::vector<io::Recording>& recordings, const ReplayOptions& options = {});
void write_replay(const std::string& path, const std::vector<io::Recording>& recordings,
                  const ReplayOptions& options = {});

}  // namespace costate::view
