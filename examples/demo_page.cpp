#include "examples/demo_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "costate/core/error.h"

namespace demo {
namespace {

// Metres to pixels: x right, y up, 60 px a metre, ground at 480.
constexpr double kScale = 60, kLeft = 60, kGround = 480;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}
std::string at(Point p) { return number(kLeft + kScale * p.x) + "," + number(kGround - kScale * p.y); }

std::string polyline(const std::vector<Point>& points, const char* colour) {
  std::string text = "<polyline fill='none' stroke='" + std::string(colour) + "' stroke-width='2' points='";
  for (Point p : points) text += at(p) + " ";
  return text + "'/>";
}

std::string array_of(const std::vector<Point>& points) {
  std::string text = "[";
  for (Point p : points) text += "[" + at(p) + "],";
  return text + "]";
}

// log10 of the loss over the iterations, in a box of 260 x 120 at (x, y).
std::string curve(const std::vector<double>& losses, double x, double y, const char* title) {
  std::string text = "<g transform='translate(" + number(x) + "," + number(y) +
                     ")'><rect width='260' height='120' fill='none' stroke='#bbb'/>";
  text += "<text x='8' y='16'>" + std::string(title) +
          "</text><polyline fill='none' stroke='#1b6ca8' stroke-width='2' points='";
  std::vector<double> logs;
  for (double loss : losses) logs.push_back(std::log10(std::max(loss, 1e-16)));
  if (logs.empty()) logs.push_back(0);
  const auto [low, high] = std::minmax_element(logs.begin(), logs.end());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const double across = logs.size() > 1 ? double(i) / double(logs.size() - 1) : 0,
                 up = *high > *low ? (logs[i] - *low) / (*high - *low) : 0;
    text += number(10 + 240 * across) + "," + number(108 - 80 * up) + " ";
  }
  return text + "'/></g>";
}

}  // namespace

void write_page(const std::string& path, const Page& page) {
  std::ofstream out(path);
  out << "<!doctype html><meta charset='utf-8'><title>costate: a ball, a cup and an unknown wind</title>\n"
         "<style>body{font:15px system-ui,sans-serif;margin:24px;color:#222}text{font:13px "
         "system-ui,sans-serif;fill:#444}</style>\n"
         "<h2>A ball, a cup and an unknown wind</h2>\n"
         "<p>Dots: six throws as a noisy camera saw them; the drag and the wind were learned from these. "
         "<span style='color:#c0392b'>Red</span>: the first throw at the cup. <span "
         "style='color:#1e8449'>Green</span>: the throw found by gradient.</p>\n"
         "<svg id='scene' viewBox='0 0 960 540' width='960' height='540'>\n";
  out << "<line x1='0' x2='960' y1='" << number(kGround) << "' y2='" << number(kGround)
      << "' stroke='#888'/>\n";
  for (Point p : page.dots) {
    if (p.y > -0.6)
      out << "<circle cx='" << number(kLeft + kScale * p.x) << "' cy='" << number(kGround - kScale * p.y)
          << "' r='2' fill='#999'/>\n";
  }
  const double cup_x = kLeft + kScale * page.cup.x, cup_y = kGround - kScale * page.cup.y;
  out << "<path d='M" << number(cup_x - 16) << " " << number(cup_y - 14)
      << " l5 30 h22 l5 -30' fill='#f3e5d0' stroke='#7b4f26' stroke-width='3'/>\n";
  out << polyline(page.before, "#c0392b") << "\n" << polyline(page.after, "#1e8449") << "\n";
  out << "<circle id='red' r='7' fill='#c0392b'/><circle id='green' r='7' fill='#1e8449'/>\n";
  out << curve(page.fit_losses, 660, 20, "learning the air: log loss")
      << curve(page.aim_losses, 660, 150, "learning to throw: log loss");
  out << "</svg>\n<p><button id='play'>pause</button> <input id='time' type='range' min='0' max='"
      << page.after.size() - 1 << "' value='0' style='width:700px'></p>\n";
  out << "<script>\nconst paths={red:" << array_of(page.before) << ",green:" << array_of(page.after) << "};\n"
      << "const time=document.getElementById('time'),play=document.getElementById('play');let running=true;\n"
         "function show(){for(const name in paths){const "
         "p=paths[name][Math.min(+time.value,paths[name].length-1)];"
         "const "
         "ball=document.getElementById(name);ball.setAttribute('cx',p[0]);ball.setAttribute('cy',p[1]);}}\n"
         "function "
         "tick(){if(running){time.value=(+time.value+1)%(+time.max+1);}show();setTimeout(tick,25);}\n"
         "play.onclick=()=>{running=!running;play.textContent=running?'pause':'play';};time.oninput=()=>{"
         "running=false;play.textContent='play';show();};\n"
         "show();tick();\n</script>\n";
  out.close();
  if (!out) throw costate::Error({"cannot write the replay", path, "give another path: build/bin/demo PATH"});
}

}  // namespace demo
