// Film: recordings as a picture (PNG) or a film (MP4), drawn by the page of replay.h in headless Chromium.
//
//   view::write_png("pour.png", {after}, 1.2);
//   view::write_mp4("pour.mp4", {before, after});
//
// Chromium is found by the name in COSTATE_BROWSER, or as chromium, chromium-browser or google-chrome; ffmpeg
// packs the frames of a film. Where one is missing, an Error says what to install.
// Tests: tests/view/film_test.cpp.
#pragma once

#include "costate/view/replay.h"

namespace costate::view {

struct FilmSize {
  int width = 1280, height = 800;  // pixels
};

void write_png(const std::string& path, const std::vector<io::Recording>& recordings, double time,
               const ReplayOptions& options = {}, const FilmSize& size = {});
// At the frame rate of the first recording.
void write_mp4(const std::string& path, const std::vector<io::Recording>& recordings,
               const ReplayOptions& options = {}, const FilmSize& size = {});

// The frames of a film as JPEG pictures, one after the other, in the output of a page that was opened with
// #film: base64, one line each. Error where there are none.
std::string jpegs_in_page(const std::string& page);

}  // namespace costate::view
