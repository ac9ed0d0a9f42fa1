#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "train.h"

namespace costate::app {
namespace {

constexpr int kWide = 720, kHigh = 300, kLeft = 70, kBottom = 40, kTop = 30;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

// One curve over decisions, from zero to its largest value.
std::string plot(const std::string& title, const std::vector<learn::Learned>& history,
                 double learn::Learned::*value) {
  double low = 0, high = 1e-9;
  for (const learn::Learned& l : history) {
    if (!std::isfinite(l.*value)) continue;
    low = std::min(low, l.*value), high = std::max(high, l.*value);
  }
  const double steps = history.empty() ? 1 : double(history.back().steps);
  const auto px = [&](double x) { return kLeft + (kWide - kLeft - 40) * x / steps; };
  const auto py = [&](double y) {
    return kHigh - kBottom - (kHigh - kBottom - kTop) * (y - low) / (high - low);
  };
  std::string svg =
      fmt::format("<svg viewBox='0 0 {0} {1}' width='{0}'><text x='{2}' y='18' class='t'>{3}</text>", kWide,
                  kHigh, kLeft, title);
  for (int i = 0; i <= 4; ++i) {
    const double y = low + (high - low) * i / 4, x = steps * i / 4;
    svg += fmt::format("<line x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}' stroke='#ddd'/>", kLeft, kWide - 40,
                       py(y));
    svg += fmt::format("<text x='{}' y='{:.1f}' class='r'>{:.4g}</text>", kLeft - 8, py(y) + 4, y);
    svg += fmt::format("<text x='{:.1f}' y='{}' class='m'>{:.0f}</text>", px(x), kHigh - kBottom + 18, x);
  }
  svg += "<polyline fill='none' stroke='#2166ac' stroke-width='2' points='";
  for (const learn::Learned& l : history)
    if (std::isfinite(l.*value)) svg += fmt::format("{:.1f},{:.1f} ", px(double(l.steps)), py(l.*value));
  return svg + fmt::format("'/><text x='{}' y='{}' class='m'>decisions</text></svg>", kWide / 2, kHigh - 6);
}

}  // namespace

std::string curve_page(const std::string& title, const std::vector<learn::Learned>& history) {
  return "<!doctype html><html lang='en'><meta charset='utf-8'><title>" + escaped(title) +
         "</title><style>body{font:15px sans-serif;margin:2em}text{font:12px "
         "sans-serif;fill:#333}.t{font-size:15px}"
         ".r{text-anchor:end}.m{text-anchor:middle}svg{display:block;margin:1em 0}</style><h1>" +
         escaped(title) + "</h1>" +
         plot("mean return of the last episodes (with noise)", history, &learn::Learned::mean_return) +
         plot("their mean length, decisions", history, &learn::Learned::mean_length) +
         plot("error of the critic", history, &learn::Learned::critic_error) + "</html>\n";
}

}  // namespace costate::app
