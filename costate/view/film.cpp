#include "costate/view/film.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

#include "costate/core/error.h"
#include "costate/core/text.h"

namespace costate::view {
namespace {

namespace fs = std::filesystem;

// A folder that is gone at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "costate_film_XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error({"there is no room for temporary files", name, ""});
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string quoted(const std::string& text) {
  std::string safe = "'";
  for (const char c : text) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return safe + "'";
}

bool has_program(const std::string& name) {
  return std::system(("command -v " + quoted(name) + " >/dev/null 2>&1").c_str()) == 0;
}

std::string browser() {
  std::vector<std::string> names = {"chromium", "chromium-browser", "google-chrome"};
  if (const char* given = std::getenv("COSTATE_BROWSER")) names = {given};
  for (const std::string& name : names)
    if (has_program(name)) return name;
  throw Error({"there is no browser to draw with", names.size() == 1 ? "COSTATE_BROWSER=" + names[0] : "",
               "install chromium, name it in COSTATE_BROWSER, or open the page of costate view yourself"});
}

// The page in the browser: `output` is what the shell does with the result.
void browse(const std::string& page, const std::string& address, const FilmSize& size,
            const std::string& option, const std::string& output) {
  const std::string command =
      quoted(browser()) +
      " --headless --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --hide-scrollbars "
      "--virtual-time-budget=20000 --run-all-compositor-stages-before-draw --window-size=" +
      std::to_string(size.width) + "," + std::to_string(size.height) + " " + option + " " +
      quoted("file://" + page + "#" + address) + " " + output + " 2>/dev/null";
  if (std::system(command.c_str()) != 0)
    throw Error({"the browser could not draw the page", browser(), "does it run at all? try --version"});
}

void move_to(const std::string& from, const std::string& to) {
  std::error_code trouble;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, trouble);
  if (trouble)
    throw Error({"the file cannot be written: " + trouble.message(), to,
                 "is there room, and does its folder exist?"});
}

int digit_of(char c) {
  return c >= 'A' && c <= 'Z'   ? c - 'A'
         : c >= 'a' && c <= 'z' ? c - 'a' + 26
         : c >= '0' && c <= '9' ? c - '0' + 52
         : c == '+'             ? 62
         : c == '/'             ? 63
                                : -1;
}

}  // namespace

std::string jpegs_in_page(const std::string& page) {
  const std::size_t tag = page.find("<pre id=\"film\""), begin = page.find('>', tag);
  const std::size_t end = page.find("</pre>", tag);
  if (tag == std::string::npos || begin > end || end == std::string::npos)
    throw Error({"the browser drew no frames", "", "is it a Chromium with WebGL 2?"});
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (std::size_t i = begin + 1; i < end; ++i) {
    const int digit = digit_of(page[i]);
    if (digit < 0) {  // padding, or the next picture
      bits = 0;
      count = 0;
      continue;
    }
    bits = bits << 6 | unsigned(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += char(bits >> count & 0xFF);
  }
  return bytes;
}

void write_png(const std::string& path, const std::vector<io::Recording>& recordings, double time,
               const ReplayOptions& options, const FilmSize& size) {
  const Scratch scratch;
  write_replay(scratch / "page.html", recordings, options);
  browse(scratch / "page.html", "still&time=" + number(time, 9), size,
         "--screenshot=" + quoted(scratch / "picture.png"), ">/dev/null");
  move_to(scratch / "picture.png", path);
}

void write_mp4(const std::string& path, const std::vector<io::Recording>& recordings,
               const ReplayOptions& options, const FilmSize& size) {
  if (!has_program("ffmpeg"))
    throw Error({"there is no ffmpeg to pack a film with", path, "install ffmpeg, or make a picture: --png"});
  const Scratch scratch;
  write_replay(scratch / "page.html", recordings, options);
  const double rate = 1 / recordings[0].frame_interval;
  browse(scratch / "page.html", "film=" + number(rate, 9), size, "--dump-dom",
         "> " + quoted(scratch / "page.out"));
  std::ifstream drawn(scratch / "page.out", std::ios::binary);
  const std::string jpegs = jpegs_in_page({std::istreambuf_iterator<char>(drawn), {}});
  std::ofstream(scratch / "film.mjpeg", std::ios::binary).write(jpegs.data(), std::streamsize(jpegs.size()));
  const std::string command =
      "ffmpeg -v error -y -f mjpeg -r " + number(rate, 9) + " -i " + quoted(scratch / "film.mjpeg") +
      " -vf 'pad=ceil(iw/2)*2:ceil(ih/2)*2' -pix_fmt yuv420p " + quoted(scratch / "film.mp4");
  if (std::system(command.c_str()) != 0) throw Error({"ffmpeg could not pack the film", path, ""});
  move_to(scratch / "film.mp4", path);
}

}  // namespace costate::view
