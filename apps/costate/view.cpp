#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "commands.h"
#include "costate/view/film.h"
#include "costate/view/replay.h"

namespace costate::app {

int run_view(const Arguments& arguments) {
  std::vector<io::Recording> recordings;
  for (const std::string& file : arguments.files) recordings.push_back(io::read_recording(file));
  // Runs of one scene have one title: then their files tell them apart.
  const std::string title = recordings[0].title;
  const bool same = std::all_of(recordings.begin(), recordings.end(),
                                [&](const io::Recording& r) { return r.title == title; });
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (recordings[i].title.empty() || (recordings.size() > 1 && same))
      recordings[i].title = std::filesystem::path(arguments.files[i]).stem().string();
  }
  const std::string page = arguments.output.empty()
                               ? std::filesystem::path(arguments.files[0]).stem().string() + ".html"
                               : arguments.output;
  if (!arguments.png.empty()) expect_writable(arguments.png, "--png");
  if (!arguments.mp4.empty()) expect_writable(arguments.mp4, "--mp4");
  const view::ReplayOptions options{.title = arguments.title.empty() ? title : arguments.title};
  if (!arguments.png.empty() || !arguments.mp4.empty()) {
    double end = 0;
    for (const io::Recording& r : recordings) end = std::max(end, r.frame_interval * double(r.frames - 1));
    if (!arguments.png.empty()) {
      view::write_png(arguments.png, recordings, arguments.time < 0 ? end : arguments.time, options);
      fmt::print("picture: {}\n", arguments.png);
    }
    if (!arguments.mp4.empty()) {
      view::write_mp4(arguments.mp4, recordings, options);
      fmt::print("film: {}\n", arguments.mp4);
    }
    if (arguments.output.empty()) return 0;
  }
  view::write_replay(page, recordings, options);
  fmt::print("replay: {}\n", page);
  return 0;
}

}  // namespace costate::app
