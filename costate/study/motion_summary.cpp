#include "costate/study/motion_summary.h"

#include <cmath>
#include <cstdio>

namespace costate::study {
namespace {

constexpr int kSamples = 401;
constexpr double kDegree = 3.14159265358979323846 / 180;

std::string words(const char* format, double value) {
  char text[80];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

MotionSummary summarise(const Motion& motion, const std::vector<Path>& paths, double duration) {
  MotionSummary s;
  const auto time = [&](int i) { return duration * i / (kSamples - 1); };
  for (int i = 0; i < kSamples; ++i) {
    const double angle = paths[motion.angle].at(time(i), duration);
    if (std::abs(angle) > std::abs(s.largest_angle)) s.largest_angle = angle;
  }
  const double half = std::abs(s.largest_angle) / 2;
  int counted = 0;
  for (int i = 0; i < kSamples; ++i) {
    if (std::abs(paths[motion.angle].at(time(i), duration)) < half) continue;
    if (counted++ == 0) s.half_time = time(i);
    for (std::size_t a = 0; a < 3; ++a) s.place[a] += paths[motion.position[a]].at(time(i), duration);
  }
  for (double& p : s.place) p /= counted;
  return s;
}

std::string what_changed(const Motion& motion, const std::vector<Path>& before,
                         const std::vector<Path>& after, double duration) {
  const MotionSummary a = summarise(motion, before, duration), b = summarise(motion, after, duration);
  std::vector<std::string> changes;
  const double tilt = (std::abs(b.largest_angle) - std::abs(a.largest_angle)) / kDegree;
  if (std::abs(tilt) >= 2)
    changes.push_back(words("tilt %.0f degrees ", std::abs(tilt)) + (tilt > 0 ? "more" : "less"));
  const double later = b.half_time - a.half_time;
  if (std::abs(later) >= 0.01 * duration)
    changes.push_back(words("%.2f s ", std::abs(later)) + (later > 0 ? "later" : "earlier"));
  const char* const directions[3][2] = {
      {"further left", "further right"}, {"lower", "higher"}, {"further back", "further forward"}};
  for (std::size_t k = 0; k < 3; ++k) {
    const double shift = b.place[k] - a.place[k];
    if (std::abs(shift) >= 0.002)
      changes.push_back(words("%.1f cm ", 100 * std::abs(shift)) + directions[k][shift > 0]);
  }
  std::string sentence;
  for (std::size_t i = 0; i < changes.size(); ++i)
    sentence += (i == 0 ? "" : i + 1 == changes.size() ? " and " : ", ") + changes[i];
  return sentence.empty() ? "leave it as it is" : sentence;
}

}  // namespace costate::study
