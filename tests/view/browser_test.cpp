// The page in a browser: headless Chromium, drawing in software. A probe added to the page draws, reads
// pixels back and writes what it finds into the title; the console comes with the log.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "costate/view/replay.h"
#include "tests/view/sample_recordings.h"

namespace costate::view {
namespace {

// Draws at three times and counts pixels that differ from the background, and from the frame before.
constexpr char kProbe[] = R"~(<script>
window.addEventListener('load', () => {
  const player = window.costateReplay, stage = player.stage, gl = stage.renderer.getContext();
  player.setPlaying(false);
  const grab = time => {
    player.setTime(time);
    stage.render();
    const pixels = new Uint8Array(4 * gl.drawingBufferWidth * gl.drawingBufferHeight);
    gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    return pixels;
  };
  const differ = (a, b) => {
    let n = 0;
    for (let i = 0; i < a.length; i += 4) n += Math.abs(a[i] - b(i)) + Math.abs(a[i + 1] - b(i + 1)) + Math.abs(a[i + 2] - b(i + 2)) > 24;
    return n / (a.length / 4);
  };
  const first = grab(0), middle = grab(player.duration / 2);
  const background = [first[first.length - 4], first[first.length - 3], first[first.length - 2]];
  stage.orbit.turn({theta: 0.5, phi: 0});
  const turned = grab(player.duration / 2);
  player.key({key: '1', preventDefault() {}});
  const alone = grab(player.duration / 2);
  player.key({key: 'c', preventDefault() {}});
  player.key({key: 'ArrowRight', preventDefault() {}});
  const pane = stage.canvas.getBoundingClientRect(), chart = document.getElementById('chart').getBoundingClientRect();
  const covered = Math.max(0, Math.min(pane.right, chart.right) - Math.max(pane.left, chart.left)) *
                  Math.max(0, Math.min(pane.bottom, chart.bottom) - Math.max(pane.top, chart.top));
  document.documentElement.setAttribute('data-probe', [
    'drawn', differ(first, i => background[i % 4]).toFixed(4), 'moved', differ(middle, i => first[i]).toFixed(4),
    'turned', differ(turned, i => middle[i]).toFixed(4), 'alone', differ(alone, i => turned[i]).toFixed(4),
    'chart', chart.width, 'covered', covered, 'gl', gl.getError(), 'programs', stage.renderer.info.programs.length,
    'trouble', document.getElementById('trouble').hidden ? 'none' : document.getElementById('trouble').textContent].join(' '));
});
</script>)~";

std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (std::system((std::string("command -v ") + name + " >/dev/null 2>&1").c_str()) == 0) return name;
  }
  return "";
}

struct Seen {
  std::string dom, log;
  // The word after `name` in what the probe wrote.
  double number(const std::string& name) const {
    const std::size_t begin = dom.find("data-probe=\""), at = dom.find(name + " ", begin);
    return begin == std::string::npos || at == std::string::npos
               ? -1
               : std::atof(dom.c_str() + at + name.size() + 1);
  }
};

Seen open(const std::string& page) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("costate_browser_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "page.html").string(), dom = (folder / "dom").string(),
                    log = (folder / "log").string();
  std::string html = page;
  html.insert(html.rfind("</body>"), kProbe);
  std::ofstream(file, std::ios::binary) << html;
  const std::string command =
      "timeout 100 " + browser() +
      " --headless --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --disable-extensions"
      " --window-size=900,500 --enable-logging=stderr --virtual-time-budget=4000 --user-data-dir='" +
      (folder / "profile").string() + "' --dump-dom 'file://" + file + "' > '" + dom + "' 2> '" + log + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  const auto read = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  Seen seen{read(dom), read(log)};
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return seen;
}

// Lines that the page wrote to the console.
std::string console(const std::string& log) {
  std::string lines;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    // Slow read-backs are the probe's own doing.
    if (line.find("CONSOLE") != std::string::npos && line.find("ReadPixels") == std::string::npos)
      lines += line + "\n";
    begin = end + 1;
  }
  return lines;
}

TEST(ReplayInABrowser, DrawsParticlesSideBySideWithoutAComplaint) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium on this machine: apt-get install chromium";
  const Seen seen =
      open(replay_page({test::fountain("before", 0.5, 1500, 30), test::fountain("after", 1, 1500, 30)},
                       {.title = "Learning to aim", .notes = {"Aim higher."}}));
  EXPECT_EQ(console(seen.log), "");
  EXPECT_GT(seen.number("drawn"), 0.05);
  EXPECT_GT(seen.number("moved"), 0.002);
  EXPECT_GT(seen.number("turned"), 0.01);
  EXPECT_GT(seen.number("alone"), 0.01);
  EXPECT_GT(seen.number("chart"), 100);
  EXPECT_EQ(seen.number("covered"), 0);  // pixels of the panes that lie behind the chart
  EXPECT_EQ(seen.number("gl"), 0);
  EXPECT_NE(seen.dom.find("trouble none"), std::string::npos);
  EXPECT_NE(seen.dom.find("<h1 id=\"title\">Learning to aim</h1>"), std::string::npos);
  EXPECT_NE(seen.dom.find("<polyline"), std::string::npos);  // the loss
}

TEST(ReplayInABrowser, DrawsBodiesAndMeshesWithoutAComplaint) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium on this machine: apt-get install chromium";
  const Seen seen = open(replay_page({test::tumble(20)}));
  EXPECT_EQ(console(seen.log), "");
  EXPECT_GT(seen.number("drawn"), 0.05);
  EXPECT_GT(seen.number("moved"), 0.002);
  EXPECT_EQ(seen.number("gl"), 0);
  EXPECT_NE(seen.dom.find("trouble none"), std::string::npos);
}

TEST(ReplayInABrowser, DrawsImagesWithAColourBarAndAChoice) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium on this machine: apt-get install chromium";
  const Seen seen = open(replay_page({test::puff()}));
  EXPECT_EQ(console(seen.log), "");
  EXPECT_GT(seen.number("drawn"), 0.05);
  EXPECT_GT(seen.number("moved"), 0.002);
  EXPECT_EQ(seen.number("gl"), 0);
  EXPECT_NE(seen.dom.find("trouble none"), std::string::npos);
  EXPECT_NE(seen.dom.find("puff 0 to "), std::string::npos);
  EXPECT_NE(seen.dom.find("<option value=\"slope\">slope</option>"), std::string::npos);
}

}  // namespace
}  // namespace costate::view
