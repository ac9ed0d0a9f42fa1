// costate estimators: one study, several estimators of the gradient of its average loss, over horizons and
// numbers of samples. Prints a table, and writes a page with plots. Every cell is kept in
// PREFIX.estimators.json as soon as it is known: an interrupted run goes on with --resume.
//
// Answers are compared with the exact one (--exact), or else with the path score, which has no bias: how many
// standard errors they are off, and from which horizon on pathwise gradients are of no use.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/estimate/gradient.h"
#include "costate/study/rollout_study.h"
#include "json.h"
#include "progress_bar.h"
#include "table.h"

namespace costate::app {
namespace {

struct Cell {
  std::string method;
  std::int64_t steps, samples;
};

template <class Real>
Json estimate_cell(study::RolloutStudy<Real>& study, const Arguments& arguments, const Cell& cell) {
  estimate::Sampling sampling{.method = estimate::method_by_name(cell.method), .samples = cell.samples};
  const auto system = study.setup().system.template make<Real>();
  sampling.parameters = arguments.parameters.empty()
                            ? estimate::answered_parameters<Real>(*system, sampling.method)
                            : arguments.parameters;
  const RolloutOptions options{
      .steps = cell.steps, .checkpoints = study.setup().checkpoints, .seed = arguments.seed};
  const auto begin = std::chrono::steady_clock::now();
  const auto at = study.arguments(study.start());
  Json out = {{"method", cell.method}, {"steps", cell.steps}, {"samples", cell.samples}};
  try {
    const estimate::Sampled s = estimate::gradient<Real>(system, options, at, *study.objective(), sampling);
    out["by"] = estimate::to_string(s.method);
    out["label"] = s.label;
    if (!s.reason.empty()) out["reason"] = s.reason;
    out["value"] = s.value;
    out["value_error"] = s.value_error;
    out["names"] = s.names;
    out["gradient"] = s.gradient;
    out["standard_error"] = s.standard_error;
    out["effective_samples"] = s.effective_samples;
    out["memory_bytes"] = s.memory_bytes;
  } catch (const Error& error) {
    out["refused"] = error.message().what;
  }
  out["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

Json estimate_any(study::Study& study, const Arguments& arguments, const Cell& cell) {
  if (auto* in_double = dynamic_cast<study::RolloutStudy<double>*>(&study))
    return estimate_cell(*in_double, arguments, cell);
  if (auto* in_float = dynamic_cast<study::RolloutStudy<float>*>(&study))
    return estimate_cell(*in_float, arguments, cell);
  throw Error({"equations are solved, not stepped: they have no estimators", arguments.file,
               "estimators are for studies of molecules and other steps"});
}

bool is_of(const Json& done, const Cell& cell) {
  return done["method"] == cell.method && done["steps"] == cell.steps && done["samples"] == cell.samples;
}

// What the estimates of one file of estimators have in common: another seed, another file or other parameters
// ask another question. As a number (FNV-1a).
std::string question_of(const Arguments& arguments) {
  std::ifstream in(arguments.file, std::ios::binary);
  std::string all(std::istreambuf_iterator<char>(in), {});
  for (const auto* list : {&arguments.set, &arguments.parameters})
    for (const std::string& one : *list) all += "\n" + one;
  all += "\n" + std::to_string(arguments.seed);
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : all) hash = (hash ^ std::uint8_t(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

Json kept_cells(const std::string& path, const std::string& question) {
  std::ifstream in(path);
  if (!in) return Json::array();
  const Json cells = Json::parse(in, nullptr, false);
  const auto is_cell = [](const Json& c) {
    return c.is_object() && c.contains("method") && c.contains("steps") && c.contains("samples") &&
           c.contains("seconds");
  };
  if (!cells.is_array() || !std::all_of(cells.begin(), cells.end(), is_cell))
    throw Error({"this is not a file of estimators", path, "run without --resume"});
  for (const Json& c : cells)
    if (c.value("question", "") != question)
      throw Error({"these are estimates of another file, seed or parameters", path,
                   "run without --resume, or with another --output"});
  return cells;
}

// JSON has no NaN: it is null there.
double number_of(const Json& j) {
  return j.is_null() ? std::numeric_limits<double>::quiet_NaN() : j.get<double>();
}

// --- what the answers are compared with --------------------------------------------------------------------

struct Answer {
  double value = 0, error = 0;
};

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

struct Truth {
  std::vector<std::int64_t> horizons;
  std::vector<double> exact;  // one per horizon; empty: not known
  const Json& cells;

  // The exact derivative, or the path score's with the most samples.
  std::optional<Answer> at(std::int64_t steps, const std::string& name) const {
    if (!exact.empty()) {
      const auto where = std::find(horizons.begin(), horizons.end(), steps);
      if (where == horizons.end()) return {};
      return Answer{exact[std::size_t(where - horizons.begin())], 0};
    }
    const Json* score = best_cell(cells, "girsanov", steps);
    return score ? answer_of(*score, name) : std::nullopt;
  }
  // How far an answer is from it, in standard errors.
  std::optional<double> off(const Json& cell, const std::string& name) const {
    const std::int64_t steps = cell["steps"];
    const auto truth = at(steps, name), own = answer_of(cell, name);
    if (!truth || !own || (exact.empty() && &cell == best_cell(cells, "girsanov", steps))) return {};
    const double error = std::hypot(truth->error, own->error);
    const double apart = own->value - truth->value;
    return error > 0 ? apart / error : apart == 0 ? 0 : std::copysign(HUGE_VAL, apart);
  }
  // From which horizon on pathwise derivatives are of no use, and why; nothing where they are.
  std::optional<std::string> end_of_pathwise(const std::string& name) const {
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
};

// --- the page ----------------------------------------------------------------------------------------------

struct Curve {
  std::string name;
  std::vector<double> x, y, error;
};

// Curves with error bars over a logarithmic axis of x; `log_y` too where asked for.
std::string plot(const std::string& title, const std::string& x_name, const std::vector<Curve>& curves,
                 bool log_y) {
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

std::string page(const std::string& title, const Json& cells, const Truth& truth) {
  std::vector<std::string> names, methods;
  std::int64_t most = 0;
  for (const Json& c : cells) {
    if (c.contains("refused")) continue;
    for (const std::string name : c["names"])
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    const std::string method = c["method"];
    if (std::find(methods.begin(), methods.end(), method) == methods.end()) methods.push_back(method);
    most = std::max(most, c["samples"].get<std::int64_t>());
  }
  std::string body;
  for (const std::string& name : names) {
    std::vector<Curve> values, errors, biases;
    for (const std::string& method : methods) {
      Curve value{method, {}, {}, {}}, error{method, {}, {}, {}}, off{method, {}, {}, {}};
      for (const Json& c : cells) {
        if (c["method"] != method || c["samples"] != most) continue;
        const auto answer = answer_of(c, name);
        if (!answer) continue;  // this method has none for it
        const double steps = c["steps"];
        value.x.push_back(steps), value.y.push_back(answer->value), value.error.push_back(answer->error);
        error.x.push_back(steps), error.y.push_back(answer->error), error.error.push_back(0);
        if (const auto right = truth.at(c["steps"], name))
          off.x.push_back(steps), off.y.push_back(std::abs(answer->value - right->value)),
              off.error.push_back(0);
      }
      if (!value.x.empty()) values.push_back(value), errors.push_back(error);
      if (!off.x.empty()) biases.push_back(off);
    }
    if (!truth.exact.empty()) {
      Curve known{"exact", {}, {}, {}};
      for (std::size_t i = 0; i < truth.exact.size(); ++i)
        known.x.push_back(double(truth.horizons[i])), known.y.push_back(truth.exact[i]),
            known.error.push_back(0);
      values.push_back(known);
    }
    body += "<h2>with respect to " + html(name) + "</h2>" +
            plot(fmt::format("derivative, {} samples, one standard error", most), "steps", values, false) +
            plot("standard error", "steps", errors, true);
    if (!biases.empty())
      body +=
          plot(truth.exact.empty() ? "distance from the path score" : "distance from the exact derivative",
               "steps", biases, true);
    if (const auto end = truth.end_of_pathwise(name))
      body += "<p>Pathwise derivatives are of no use from " + html(*end) + ".</p>";
  }
  body +=
      "<h2>what each costs</h2><table><tr><td>steps</td><td>samples</td><td>estimator</td><td>seconds</td>"
      "<td>memory that grows with the steps, MB</td></tr>";
  for (const Json& c : cells)
    if (!c.contains("refused"))
      body += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{:.3g}</td></tr>",
                          c["steps"].get<std::int64_t>(), c["samples"].get<std::int64_t>(),
                          c["method"].get<std::string>(), c["seconds"].get<double>(),
                          1e-6 * c["memory_bytes"].get<double>());
  body += "</table><h2>what each is</h2><table>";
  for (const std::string& method : methods)
    for (const Json& c : cells)
      if (c["method"] == method && c.contains("label")) {
        body += "<tr><td>" + method + "</td><td>" + html(c["label"]) + "</td></tr>";
        break;
      }
  for (const Json& c : cells) {
    if (!c.contains("refused")) continue;
    const std::string row = "<tr><td>" + c["method"].get<std::string>() +
                            "</td><td>refused: " + html(c["refused"]) + "</td></tr>";
    if (body.find(row) == std::string::npos) body += row;
  }
  return "<!doctype html><meta charset='utf-8'><title>" + html(title) +
         "</title><style>body{font:15px "
         "sans-serif;margin:2em;max-width:1100px}svg{font-size:12px;margin-right:2em}"
         ".t{font-size:14px}.g{stroke:#ddd}.a{text-anchor:end;fill:#555}.b{text-anchor:middle;fill:#555}"
         "td{padding:2px 12px 2px 0}</style><h1>" +
         html(title) + "</h1>" + body + "</table>";
}

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw Error({"the file cannot be written", path, ""});
}

void print_table(const Json& cells, const Truth& truth) {
  Table table(
      {"steps", "samples", "estimator", "number", "derivative", "standard error", "off by", "seconds", "MB"});
  std::vector<std::string> names;
  for (const Json& c : cells) {
    const std::string steps = std::to_string(c["steps"].get<std::int64_t>()),
                      samples = std::to_string(c["samples"].get<std::int64_t>()), method = c["method"];
    if (c.contains("refused")) continue;
    for (std::size_t i = 0; i < c["names"].size(); ++i) {
      const auto off = truth.off(c, c["names"][i]);
      table.row({steps, samples, method, c["names"][i], fmt::format("{:.6g}", number_of(c["gradient"][i])),
                 fmt::format("{:.2g}", number_of(c["standard_error"][i])),
                 off ? fmt::format("{:.1f} errors", std::abs(*off)) : "",
                 fmt::format("{:.2f}", c["seconds"].get<double>()),
                 fmt::format("{:.3g}", 1e-6 * c["memory_bytes"].get<double>())});
      if (std::find(names.begin(), names.end(), c["names"][i].get<std::string>()) == names.end())
        names.push_back(c["names"][i]);
    }
  }
  fmt::print("{}", table.text());
  for (const std::string& name : names)
    if (const auto end = truth.end_of_pathwise(name))
      fmt::print("\nwith respect to {}: pathwise derivatives are of no use from {}", name, *end);
  std::vector<std::string> told;
  for (const Json& c : cells) {
    if (!c.contains("refused")) continue;
    const std::string line =
        fmt::format("\n{} refused: {}", c["method"].get<std::string>(), c["refused"].get<std::string>());
    if (std::find(told.begin(), told.end(), line) == told.end()) told.push_back(line);
  }
  for (const std::string& line : told) fmt::print("{}", line);
  if (!told.empty()) fmt::print("\n");
}

}  // namespace

int run_estimators(const Arguments& arguments) {
  const auto study = open_study(arguments);
  if (!study->has_loss())
    throw Error({"there is no loss to estimate the gradient of", arguments.file, "add [[loss]]"});
  std::vector<std::string> methods = arguments.methods;
  if (methods.empty()) methods = {"pathwise", "girsanov", "reinforce", "differences"};
  std::vector<std::int64_t> horizons = arguments.horizons, samples = arguments.samples;
  if (horizons.empty()) horizons = {study->steps()};
  if (samples.empty()) samples = {4096};
  std::sort(horizons.begin(), horizons.end());
  if (!arguments.exact.empty() &&
      (arguments.exact.size() != horizons.size() || arguments.parameters.size() != 1))
    throw Error({fmt::format("--exact has {} numbers", arguments.exact.size()), arguments.file,
                 "give one per horizon, from the shortest to the longest, and name one of --parameters"});
  const std::string prefix = output_prefix(arguments) + ".estimators", kept = prefix + ".json";
  expect_writable_prefix(prefix);
  const std::string question = question_of(arguments);
  Json cells = arguments.resume ? kept_cells(kept, question) : Json::array();
  ProgressBar bar;
  const int all = int(methods.size() * horizons.size() * samples.size());
  int done = 0;
  for (const std::int64_t steps : horizons) {
    Arguments longer = arguments;  // the file with so many steps: its losses move with the end
    if (steps != study->steps()) longer.set.push_back("run.steps=" + std::to_string(steps));
    const auto at_horizon = open_study(longer);
    for (const std::int64_t count : samples) {
      for (const std::string& method : methods) {
        const Cell cell{method, steps, count};
        (void)estimate::method_by_name(method);
        const bool known =
            std::any_of(cells.begin(), cells.end(), [&](const Json& c) { return is_of(c, cell); });
        bar.show(done++, all, fmt::format("{}, {} steps, {} samples", method, steps, count));
        if (known) continue;
        cells.push_back(estimate_any(*at_horizon, arguments, cell));
        cells.back()["question"] = question;
        write(kept, cells.dump(1));
      }
    }
  }
  bar.finish();
  if (std::all_of(cells.begin(), cells.end(), [](const Json& c) { return c.contains("refused"); }))
    throw Error({"no estimator has an answer: " + cells[0]["refused"].get<std::string>(), arguments.file,
                 "choose other --methods or --parameters"});
  const Truth truth{horizons, arguments.exact, cells};
  write(prefix + ".html", page(study->title.empty() ? arguments.file : study->title, cells, truth));
  if (arguments.json) {
    print({{"estimates", cells}, {"page", prefix + ".html"}});
  } else {
    print_table(cells, truth);
    fmt::print("\nplots: {}.html\n", prefix);
  }
  return 0;
}

}  // namespace costate::app
