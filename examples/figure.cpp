#include "examples/figure.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "costate/core/error.h"

namespace figure {
namespace {

constexpr double kWidth = 760, kHeight = 340, kLeft = 62, kRight = 16, kTop = 10, kBottom = 46, kKeyRow = 18;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string tick_text(double value, double tick, bool log) {
  char text[32];
  if (log) {
    std::snprintf(text, sizeof text, "1e%.0f", value);
  } else {
    std::snprintf(text, sizeof text, "%.*f", std::max(0, int(std::ceil(-std::log10(tick) - 1e-9))), value);
  }
  return text;
}

// 1, 2 or 5 times a power of ten: about `count` of them in the range.
double round_tick(double range, int count) {
  const double rough = range / count, power = std::pow(10, std::floor(std::log10(rough)));
  for (double m : {1.0, 2.0, 5.0}) {
    if (m * power >= rough) return m * power;
  }
  return 10 * power;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return "<text x='" + number(x) + "' y='" + number(y) + "' text-anchor='" + anchor + "'" + more + ">" +
         text + "</text>\n";
}

}  // namespace

Panel& Panel::y_range(double low, double high) {
  range_[0] = low;
  range_[1] = high;
  return *this;
}

void Panel::line(std::vector<Point> points, const char* colour, const std::string& label, double width,
                 bool dashed) {
  series_.push_back({Series::Kind::line, std::move(points), colour, label, width, dashed});
}

void Panel::dots(std::vector<Point> points, const char* colour, const std::string& label, double radius) {
  series_.push_back({Series::Kind::dots, std::move(points), colour, label, radius, false});
}

void Panel::band(const std::vector<Point>& low, const std::vector<Point>& high, const char* colour,
                 const std::string& label) {
  std::vector<Point> outline = low;
  outline.insert(outline.end(), high.rbegin(), high.rend());
  series_.push_back({Series::Kind::band, std::move(outline), colour, label, 0, false});
}

double Panel::Axis::share(double value) const {
  return ((log ? std::log10(value) : value) - low) / (high - low);
}

Panel::Axis Panel::axis(bool vertical) const {
  const bool log = log_[vertical];
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Series& s : series_) {
    for (Point p : s.points) {
      const double v = vertical ? p.y : p.x;
      if (log && !(v > 0)) continue;
      low = std::min(low, log ? std::log10(v) : v);
      high = std::max(high, log ? std::log10(v) : v);
    }
  }
  if (vertical && range_[0] < range_[1]) {
    low = log ? std::log10(range_[0]) : range_[0];
    high = log ? std::log10(range_[1]) : range_[1];
  } else if (vertical) {
    const double margin = 0.06 * std::max(high - low, 1e-12);
    low -= margin;
    high += margin;
  }
  if (!(high > low)) high = low + 1;
  const double tick = round_tick(high - low, 6);
  return {low, high, log ? std::max(1.0, tick) : tick, log};
}

std::string Panel::dash(const Series& s) { return s.dashed ? " stroke-dasharray='6 4'" : ""; }

std::string Panel::key(const Series& s, double x, double y) {
  std::string out;
  if (s.kind == Series::Kind::dots) {
    out = "<circle cx='" + number(x + 12) + "' cy='" + number(y) + "' r='" + number(s.size) + "' fill='" +
          s.colour + "'/>";
  } else {
    out = "<path d='M" + number(x) + " " + number(y) + "h24' stroke='" + s.colour + "' stroke-width='" +
          number(s.kind == Series::Kind::band ? 9 : s.size) + "'" + dash(s) +
          (s.kind == Series::Kind::band ? " stroke-opacity='0.25'" : "") + "/>";
  }
  return out + text_at(x + 29, y + 4, "start", s.label);
}

std::string Panel::svg(double left, double width, double height) const {
  const Axis x = axis(false), y = axis(true);
  const double x0 = left + kLeft, x1 = left + width - kRight, y0 = height - kBottom;
  // Keys above the plot, as many in a row as fit; text is about 6.2 pixels a letter.
  double key_x = x0, y1 = kTop;
  std::string keys;
  for (const Series& s : series_) {
    if (s.label.empty()) continue;
    const double long_as = 46 + 6.2 * double(s.label.size());
    if (key_x > x0 && key_x + long_as > x1 + 14) {
      key_x = x0;
      y1 += kKeyRow;
    }
    keys += key(s, key_x, y1 + 5);
    key_x += long_as;
  }
  if (!keys.empty()) y1 += kKeyRow;
  const auto px = [&](double v) { return x0 + (x1 - x0) * x.share(v); };
  const auto py = [&](double v) { return y0 - (y0 - y1) * y.share(v); };
  const std::string clip = "clip" + number(left);
  std::string out = "<clipPath id='" + clip + "'><rect x='" + number(x0) + "' y='" + number(y1) +
                    "' width='" + number(x1 - x0) + "' height='" + number(y0 - y1) + "'/></clipPath>\n";
  for (double v = std::ceil(x.low / x.tick - 1e-9) * x.tick; v <= x.high + 1e-9 * x.tick; v += x.tick) {
    const double at = x0 + (x1 - x0) * (v - x.low) / (x.high - x.low);
    out += "<path class='grid' d='M" + number(at) + " " + number(y0) + "V" + number(y1) + "'/>";
    out += text_at(at, y0 + 17, "middle", tick_text(v + 0.0, x.tick, x.log));
  }
  for (double v = std::ceil(y.low / y.tick - 1e-9) * y.tick; v <= y.high + 1e-9 * y.tick; v += y.tick) {
    const double at = y0 - (y0 - y1) * (v - y.low) / (y.high - y.low);
    out += "<path class='grid' d='M" + number(x0) + " " + number(at) + "H" + number(x1) + "'/>";
    out += text_at(x0 - 7, at + 4, "end", tick_text(std::abs(v) < 1e-9 * y.tick ? 0.0 : v, y.tick, y.log));
  }
  out += "<path class='axes' d='M" + number(x0) + " " + number(y1) + "V" + number(y0) + "H" + number(x1) +
         "'/>\n";
  out += text_at((x0 + x1) / 2, height - 10, "middle", x_label_);
  const std::string turn = " transform='rotate(-90 " + number(left + 14) + " " + number((y0 + y1) / 2) + ")'";
  out += text_at(left + 14, (y0 + y1) / 2, "middle", y_label_, turn.c_str());

  out += "<g clip-path='url(#" + clip + ")'>\n";
  for (const Series& s : series_) {
    std::string points;
    for (Point p : s.points) {
      if ((x.log && !(p.x > 0)) || (y.log && !(p.y > 0))) continue;
      if (s.kind == Series::Kind::dots) {
        out += "<circle cx='" + number(px(p.x)) + "' cy='" + number(py(p.y)) + "' r='" + number(s.size) +
               "' fill='" + s.colour + "'/>\n";
      } else {
        points += number(px(p.x)) + "," + number(py(p.y)) + " ";
      }
    }
    if (s.kind == Series::Kind::band) {
      out += "<polygon fill='" + s.colour + "' fill-opacity='0.18' points='" + points + "'/>\n";
    } else if (s.kind == Series::Kind::line) {
      out += "<polyline fill='none' stroke='" + s.colour + "' stroke-width='" + number(s.size) + "'" +
             dash(s) + " points='" + points + "'/>\n";
    }
  }
  return out + "</g>\n" + keys;
}

void Figure::write(const std::string& path) const {
  std::ofstream out(path);
  out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << kWidth << " " << kHeight << "' width='"
      << kWidth << "' height='" << kHeight
      << "'>\n<style>text{font:12px "
         "Helvetica,Arial,sans-serif;fill:#333}.grid{stroke:#e4e4e4}.axes{stroke:#555;fill:none}</"
         "style>\n<rect width='100%' height='100%' fill='#fff'/>\n";
  const double width = kWidth / double(panels_.size());
  for (std::size_t i = 0; i < panels_.size(); ++i) out << panels_[i].svg(double(i) * width, width, kHeight);
  out << "</svg>\n";
  out.close();
  if (!out)
    throw costate::Error({"cannot write the picture", path, "give another path as the first argument"});
}

}  // namespace figure
