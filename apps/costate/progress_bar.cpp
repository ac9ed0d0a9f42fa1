#include "progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace costate::app {

ProgressBar::ProgressBar() : terminal_(isatty(STDERR_FILENO)) {}

void ProgressBar::show(int done, int all, const std::string& text) {
  if (!terminal_) return;
  constexpr int kWidth = 24;
  const int filled = all > 0 ? std::clamp(kWidth * done / all, 0, kWidth) : 0;
  std::string bar(std::size_t(filled), '=');
  if (filled < kWidth) bar += '>' + std::string(std::size_t(kWidth - filled - 1), ' ');
  fmt::print(stderr, "\r\033[K[{}] {}/{}  {}", bar, done, all, text);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressBar::finish() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

std::string clock_time(double seconds) {
  const long s = std::lround(std::clamp(seconds, 0.0, 1e7));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace costate::app
