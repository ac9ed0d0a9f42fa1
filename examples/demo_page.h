// The demo's replay: one HTML page with an SVG, no network, no library.
#pragma once

#include <string>
#include <vector>

namespace demo {

struct Point {
  double x, y;
};

struct Page {
  std::vector<Point> dots;           // what the camera saw
  std::vector<Point> before, after;  // flights, at equal times
  Point cup;
  std::vector<double> fit_losses, aim_losses;
};

// Throws costate::Error if the file cannot be written.
void write_page(const std::string& path, const Page& page);

}  // namespace demo
