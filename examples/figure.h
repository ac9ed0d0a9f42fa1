// Figure: plots as SVG, for the pictures of the documentation. Panels side by side, each with axes, lines and
// dots.
//
//   Figure figure;
//   Panel& panel = figure.panel("time [s]", "height [m]");
//   panel.line(points, kBlue, "the ball");
//   figure.write("docs/images/ball.svg");
#pragma once

#include <deque>
#include <string>
#include <vector>

namespace figure {

struct Point {
  double x, y;
};

// Readable next to each other for most colour-blind people (Okabe, Ito 2008).
inline constexpr const char *kBlue = "#0072b2", *kOrange = "#d55e00", *kGreen = "#009e73", *kPink = "#cc79a7",
                            *kGrey = "#8a8a8a";

class Panel {
 public:
  Panel(std::string x_label, std::string y_label)
      : x_label_(std::move(x_label)), y_label_(std::move(y_label)) {}

  Panel& log_x() { return log_[0] = true, *this; }
  Panel& log_y() { return log_[1] = true, *this; }
  Panel& y_range(double low, double high);  // without it: all that is drawn

  // An empty label: not in the legend.
  void line(std::vector<Point> points, const char* colour, const std::string& label = "", double width = 2,
            bool dashed = false);
  void dots(std::vector<Point> points, const char* colour, const std::string& label = "", double radius = 3);
  // The area between two curves over the same x.
  void band(const std::vector<Point>& low, const std::vector<Point>& high, const char* colour,
            const std::string& label = "");

  std::string svg(double left, double width, double height) const;

 private:
  struct Series {
    enum class Kind { line, dots, band } kind;
    std::vector<Point> points;
    std::string colour, label;
    double size;
    bool dashed;
  };
  struct Axis {
    double low, high, tick;
    bool log;
    double share(double value) const;  // 0 at low, 1 at high
  };
  Axis axis(bool vertical) const;
  static std::string dash(const Series& s);
  static std::string key(const Series& s, double x, double y);

  std::string x_label_, y_label_;
  bool log_[2] = {false, false};
  double range_[2] = {0, 0};
  std::vector<Series> series_;
};

class Figure {
 public:
  Panel& panel(const std::string& x_label, const std::string& y_label) {
    return panels_.emplace_back(x_label, y_label);
  }
  void write(const std::string& path) const;

 private:
  std::deque<Panel> panels_;  // references stay good
};

}  // namespace figure
