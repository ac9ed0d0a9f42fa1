#include "progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

#include "costate/core/interrupt.h"
#include "costate/core/progress.h"

namespace costate::app {

namespace {

std::thread::id main_thread;  // threads that help it do not draw
std::string line;             // of the ProgressBar that is shown; empty: none

std::string drawn(double part) {
  constexpr int kWidth = 24;
  const int filled = std::clamp(int(kWidth * part), 0, kWidth);
  std::string bar(std::size_t(filled), '=');
  if (filled < kWidth) bar += '>' + std::string(std::size_t(kWidth - filled - 1), ' ');
  return bar;
}
void put(const std::string& text) {
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

// One call inside: of the thread that computes, between its steps.
using Clock = std::chrono::steady_clock;
thread_local const Progress* seen = nullptr;
thread_local Clock::time_point begun, next_look;
thread_local bool shows_part = false;

void look() {
  const Progress* progress = Progress::current();
  if (progress == nullptr || std::this_thread::get_id() != main_thread) return;
  const auto now = Clock::now();
  if (progress != seen) {
    seen = progress;
    begun = now;
    next_look = now + std::chrono::seconds(1);
  }
  if (now < next_look) return;
  next_look = now + std::chrono::milliseconds(100);
  const double part = progress->part();
  put(line.empty() ? fmt::format("[{}] {:.0f} %", drawn(part), 100 * part)
                   : fmt::format("{}  ({:.0f} % of this one)", line, 100 * part));
  shows_part = true;
}
void wipe() {
  seen = nullptr;
  if (shows_part) put(line);
  shows_part = false;
}

}  // namespace

void watch_progress() {
  if (!isatty(STDERR_FILENO)) return;
  main_thread = std::this_thread::get_id();
  set_interrupt_test(look);
  Progress::set_ended(wipe);
}

ProgressBar::ProgressBar() : terminal_(isatty(STDERR_FILENO)) {}

void ProgressBar::show(int done, int all, const std::string& text) {
  if (!terminal_) return;
  line = fmt::format("[{}] {}/{}  {}", drawn(all > 0 ? double(done) / all : 0), done, all, text);
  put(line);
  shown_ = true;
}

void ProgressBar::finish() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
  line.clear();
}

std::string clock_time(double seconds) {
  const long s = std::lround(std::clamp(seconds, 0.0, 1e7));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace costate::app
