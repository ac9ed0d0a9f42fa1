#include "estimators_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace costate::app {

double number_of(const Json& j) {
  return j.is_null() ? std::numeric_limits<double>::quiet_NaN() : j.get<double>();
}

namespace {

// Of one parameter, where the cell has it.
std::optional<Answer> answer_of(const Json& cell, const std::string& name) {
  if (cell.contains("refused")) return {};
  const auto at = std::find(cell["names"].begin(), cell["names"].end(), name);
  if (at == cell["names"].end()) return {};
  const auto i = std::size_t(at - cell["names"].begin());
  return Answer{number_of(cell["gradient"][i]), number_of(cell["standard_error"][i])};
}

// The cell of a method at a horizon with the most samples.
const Json* best_cell(const Json& cells, const std::string& method, std::int64_t steps) {
  const Json* best = nullptr;
  for (const Json& c : cells)
    if (c["method"] == method && c["steps"] == steps && (!best || c["samples"] > (*best)["samples"]))
      best = &c;
  return best;
}

}  // namespace

std::optional<Answer> Truth::at(std::int64_t steps, const std::string& name) const {
  if (!exact.empty()) {
    const auto where = std::find(horizons.begin(), horizons.end(), steps);
    if (where == horizons.end()) return {};
    return Answer{exact[std::size_t(where - horizons.begin())], 0};
  }
  const Json* score = best_cell(cells, "girsanov", steps);
  return score ? answer_of(*score, name) : std::nullopt;
}

std::optional<double> Truth::off(const Json& cell, const std::string& name) const {
  const std::int64_t steps = cell["steps"];
  const auto truth = at(steps, name), own = answer_of(cell, name);
  if (!truth || !own || (exact.empty() && &cell == best_cell(cells, "girsanov", steps))) return {};
  const double error = std::hypot(truth->error, own->error);
  const double apart = own->value - truth->value;
  return error > 0 ? apart / error : apart == 0 ? 0 : std::copysign(HUGE_VAL, apart);
}

std::optional<std::string> Truth::end_of_pathwise(const std::string& name) const {
  for (const std::int64_t steps : horizons) {
    const Json* path = best_cell(cells, "pathwise", steps);
    const auto own = path ? answer_of(*path, name) : std::nullopt, truth = at(steps, name);
    if (!own || !truth) continue;
    const auto far = off(*path, name);
    std::string why;
    if (far && std::abs(*far) > 4)
      why = std::isinf(*far) ? "every path's derivative is the same wrong number"
                             : fmt::format("they are off by {:.1f} standard errors", std::abs(*far));
    else if (own->error > 0.5 * std::abs(truth->value))
      why = fmt::format("their standard error is {:.2g} of the derivative",
                        own->error / std::max(std::abs(truth->value), 1e-300));
    if (!why.empty()) return fmt::format("{} steps on ({})", steps, why);
  }
  return {};
}

namespace {

struct Curve {
  std::string name;
  std::vector<double> x, y, error;
  void add(double at, double value, double of = 0) {
    x.push_back(at), y.push_back(value), error.push_back(of);
  }
};

// Curves with error bars over a logarithmic axis of x; `log_y` too where asked for.
std::string plot(const std::string& title, const std::string& x_name, const std::vector<Curve>& curves,
                 bool log_y) {
  if (curves.empty()) return {};
  constexpr double kWide = 520, kHigh = 300, kLeft = 70, kBottom = 40;
  static const char* kColors[] = {"#1f6fb4", "#d9622b", "#2c8a4b", "#8a4fb0",
                                  "#b02f4f", "#6b6b6b", "#b08d2f"};
  double x0 = 1e300, x1 = -1e300, y0 = 1e300, y1 = -1e300;
  const auto vertical = [&](double y) { return log_y ? std::log10(std::max(y, 1e-300)) : y; };
  for (const Curve& c : curves) {
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      if (log_y && !(c.y[i] > 0)) continue;
      x0 = std::min(x0, std::log10(c.x[i])), x1 = std::max(x1, std::log10(c.x[i]));
      y0 = std::min(y0, vertical(c.y[i] - (log_y ? 0 : c.error[i])));
      y1 = std::max(y1, vertical(c.y[i] + (log_y ? 0 : c.error[i])));
    }
  }
  if (!(x1 > x0)) x0 -= 0.5, x1 += 0.5;
  if (!(y1 > y0)) y0 -= 1, y1 += 1;
  const double margin = 0.06 * (y1 - y0);
  y0 -= margin, y1 += margin;
  const auto px = [&](double x) { return kLeft + (std::log10(x) - x0) / (x1 - x0) * (kWide - kLeft - 20); };
  const auto py = [&](double y) {
    return kHigh - kBottom - (vertical(y) - y0) / (y1 - y0) * (kHigh - kBottom - 30);
  };
  std::string svg = fmt::format("<svg viewBox='0 0 {} {}' width='{}'><text x='{}' y='18' class='t'>{}</text>",
                                kWide, kHigh + 20 * double(curves.size()), kWide, kLeft, title);
  for (int k = 0; k <= 4; ++k) {
    const double y = y0 + (y1 - y0) * k / 4, at = kHigh - kBottom - (kHigh - kBottom - 30) * k / 4;
    svg += fmt::format(
        "<line x1='{}' x2='{}' y1='{}' y2='{}' class='g'/><text x='{}' y='{}' class='a'>{:.3g}</text>", kLeft,
        kWide - 20, at, at, kLeft - 6, at + 4, log_y ? std::pow(10, y) : y);
  }
  svg += fmt::format("<text x='{}' y='{}' class='b'>{}</text>", kWide / 2, kHigh - 8, x_name);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const char* color = kColors[c % std::size(kColors)];
    std::string line;
    for (std::size_t i = 0; i < curves[c].x.size(); ++i) {
      const double x = curves[c].x[i], y = curves[c].y[i], e = curves[c].error[i];
      if (c == 0) svg += fmt::format("<text x='{:.1f}' y='{}' class='b'>{:g}</text>", px(x), kHigh - 24, x);
      if (log_y && !(y > 0)) continue;
      line += fmt::format("{:.1f},{:.1f} ", px(x), py(y));
      svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}'/>", px(x), py(y), color);
      if (!log_y)
        svg += fmt::format("<line x1='{0:.1f}' x2='{0:.1f}' y1='{1:.1f}' y2='{2:.1f}' stroke='{3}'/>", px(x),
                           py(y - e), py(y + e), color);
    }
    svg +=
        fmt::format("<polyline points='{}' fill='none' stroke='{}'/><text x='{}' y='{}' fill='{}'>{}</text>",
                    line, color, kLeft, kHigh + 14 + 18 * double(c), color, curves[c].name);
  }
  return svg + "</svg>";
}

std::string html(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

// What of the cells is shown: those that answered.
struct Shown {
  std::vector<std::string> names, methods;
  std::vector<std::int64_t> samples;  // increasing
};
Shown shown_of(const Json& cells) {
  Shown all;
  const auto add = [](auto& list, const auto& one) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  };
  for (const Json& c : cells) {
    if (c.contains("refused")) continue;
    for (const std::string name : c["names"]) add(all.names, name);
    add(all.methods, c["method"].get<std::string>());
    add(all.samples, c["samples"].get<std::int64_t>());
  }
  std::sort(all.samples.begin(), all.samples.end());
  return all;
}

// Derivatives, standard errors and distances from the truth, over the horizon, with the most samples.
std::string over_horizons(const std::string& name, const Json& cells, const Shown& shown,
                          const Truth& truth) {
  const std::int64_t most = shown.samples.back();
  std::vector<Curve> values, errors, biases;
  for (const std::string& method : shown.methods) {
    Curve value{method, {}, {}, {}}, error = value, off = value;
    for (const Json& c : cells) {
      if (c["method"] != method || c["samples"] != most) continue;
      const auto answer = answer_of(c, name);
      if (!answer) continue;  // this method has none for it
      const double steps = c["steps"];
      value.add(steps, answer->value, answer->error);
      error.add(steps, answer->error);
      if (const auto right = truth.at(c["steps"], name))
        off.add(steps, std::abs(answer->value - right->value));
    }
    if (!value.x.empty()) values.push_back(value), errors.push_back(error);
    if (!off.x.empty()) biases.push_back(off);
  }
  if (!truth.exact.empty()) {
    Curve known{"exact", {}, {}, {}};
    for (std::size_t i = 0; i < truth.exact.size(); ++i) known.add(double(truth.horizons[i]), truth.exact[i]);
    values.push_back(known);
  }
  std::string text =
      plot(fmt::format("derivative, {} samples, one standard error", most), "steps", values, false) +
      plot("standard error", "steps", errors, true);
  if (!biases.empty())
    text += plot(truth.exact.empty() ? "distance from the path score" : "distance from the exact derivative",
                 "steps", biases, true);
  return text;
}

// Standard errors over the number of samples, at the longest horizon; nothing where there is one number.
std::string over_samples(const std::string& name, const Json& cells, const Shown& shown, const Truth& truth) {
  if (shown.samples.size() < 2) return {};
  std::vector<Curve> errors;
  for (const std::string& method : shown.methods) {
    Curve error{method, {}, {}, {}};
    for (const std::int64_t samples : shown.samples)
      for (const Json& c : cells) {
        if (c["method"] != method || c["samples"] != samples || c["steps"] != truth.horizons.back()) continue;
        if (const auto answer = answer_of(c, name)) error.add(double(samples), answer->error);
      }
    if (!error.x.empty()) errors.push_back(error);
  }
  return plot(fmt::format("standard error at {} steps", truth.horizons.back()), "samples", errors, true);
}

std::string table_of_costs(const Json& cells) {
  std::string text =
      "<h2>what each "
      "costs</h2><table><tr><td>steps</td><td>samples</td><td>estimator</td><td>seconds</td>"
      "<td>memory that grows with the steps, MB</td></tr>";
  for (const Json& c : cells)
    if (!c.contains("refused"))
      text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{:.3g}</td></tr>",
                          c["steps"].get<std::int64_t>(), c["samples"].get<std::int64_t>(),
                          c["method"].get<std::string>(), c["seconds"].get<double>(),
                          1e-6 * c["memory_bytes"].get<double>());
  return text + "</table>";
}

// What every estimator says of itself, or why it refused.
std::string table_of_labels(const Json& cells, const Shown& shown) {
  std::string text = "<h2>what each is</h2><table>";
  for (const std::string& method : shown.methods)
    for (const Json& c : cells)
      if (c["method"] == method && c.contains("label")) {
        text += "<tr><td>" + method + "</td><td>" + html(c["label"]) + "</td></tr>";
        break;
      }
  for (const Json& c : cells) {
    if (!c.contains("refused")) continue;
    const std::string row = "<tr><td>" + c["method"].get<std::string>() +
                            "</td><td>refused: " + html(c["refused"]) + "</td></tr>";
    if (text.find(row) == std::string::npos) text += row;
  }
  return text + "</table>";
}

}  // namespace

std::string estimators_page(const std::string& title, const Json& cells, const Truth& truth) {
  const Shown shown = shown_of(cells);
  std::string body;
  for (const std::string& name : shown.names) {
    body += "<h2>with respect to " + html(name) + "</h2>" + over_horizons(name, cells, shown, truth) +
            over_samples(name, cells, shown, truth);
    if (const auto end = truth.end_of_pathwise(name))
      body += "<p>Pathwise derivatives are of no use from " + html(*end) + ".</p>";
  }
  return "<!doctype html><meta charset='utf-8'><title>" + html(title) +
         "</title><style>body{font:15px "
         "sans-serif;margin:2em;max-width:1100px}svg{font-size:12px;margin-right:2em}"
         ".t{font-size:14px}.g{stroke:#ddd}.a{text-anchor:end;fill:#555}.b{text-anchor:middle;fill:#555}"
         "td{padding:2px 12px 2px 0}</style><h1>" +
         html(title) + "</h1>" + body + table_of_costs(cells) + table_of_labels(cells, shown);
}

}  // namespace costate::app
