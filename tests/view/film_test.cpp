// Pictures and films of recordings, and what is said where a program is missing.
#include "costate/view/film.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

#include "tests/expect_error.h"
#include "tests/view/sample_recordings.h"

namespace costate::view {
namespace {

bool has(const char* program) {
  return std::system((std::string("command -v ") + program + " >/dev/null 2>&1").c_str()) == 0;
}
std::string scratch(const std::string& name) {
  return (std::filesystem::temp_directory_path() / (std::to_string(getpid()) + name)).string();
}

TEST(Film, APictureIsAPng) {
  if (!has("chromium")) GTEST_SKIP() << "no Chromium on this machine: apt-get install chromium";
  const std::string path = scratch("picture.png");
  write_png(path, {test::fountain("jet", 1.0, 500, 20)}, 0.3, {}, {.width = 400, .height = 300});
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(bytes.substr(0, 4), "\x89PNG");
  EXPECT_GT(bytes.size(), 5000u);                                              // more than an empty sheet
  EXPECT_EQ(bytes.substr(16, 8), std::string("\0\0\x01\x90\0\0\x01\x2c", 8));  // 400 x 300
  std::filesystem::remove(path);
}

TEST(Film, AFilmIsAnMp4WithAllFrames) {
  if (!has("chromium") || !has("ffmpeg")) GTEST_SKIP() << "needs chromium and ffmpeg: apt-get install both";
  const std::string path = scratch("film.mp4");
  write_mp4(path, {test::fountain("jet", 1.0, 100, 8)}, {}, {.width = 320, .height = 240});
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(bytes.substr(4, 4), "ftyp");
  // The table of sample sizes: version and flags, one size for all (0: none), how many samples.
  const std::size_t table = bytes.find("stsz");
  ASSERT_NE(table, std::string::npos);
  EXPECT_EQ(int(bytes[table + 15]), 8);
  std::filesystem::remove(path);
}

TEST(Film, FramesAreFoundInThePage) {
  EXPECT_EQ(jpegs_in_page("<html><pre id=\"film\" hidden=\"\">aGVsbG8=\nIQ==\nYWJj\n</pre></html>"),
            "hello!abc");
  costate::test::expect_error([] { jpegs_in_page("<html></html>"); }, "drew no frames", "WebGL 2");
}

TEST(Film, MissingProgramsAreNamed) {
  const std::vector<io::Recording> jet = {test::fountain("jet", 1.0, 50, 5)};
  setenv("COSTATE_BROWSER", "no-such-browser", 1);
  costate::test::expect_error([&] { write_png(scratch("x.png"), jet, 0); }, "no browser to draw with",
                              "install chromium");
  unsetenv("COSTATE_BROWSER");
  if (has("ffmpeg")) return;
  costate::test::expect_error([&] { write_mp4(scratch("x.mp4"), jet); }, "no ffmpeg", "install ffmpeg");
}

}  // namespace
}  // namespace costate::view
