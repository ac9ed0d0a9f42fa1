#include <algorithm>
#include <cmath>

#include "costate/io/scene/tables.h"

namespace costate::io {
namespace {

using Kind = TomlValue::Kind;
constexpr double kMostSteps = 1e7;

}  // namespace

void read_run_how(const SceneFile& file, study::Setup& setup) {
  const TomlValue& r = file.table_or_empty("run");
  if (const TomlValue* v = r.find("precision"))
    setup.double_precision = file.choice(*v, "precision", {"float", "double"}) == "double";
  if (const TomlValue* v = r.find("device")) setup.device = file.string(*v, "device");
  if (const TomlValue* v = r.find("checkpoints")) {
    setup.checkpoints = v->is(Kind::number) ? segments(file.count(*v, "checkpoints", 1'000'000))
                        : file.choice(*v, "checkpoint schedule", {"all", "segments"}) == "all" ? store_all()
                                                                                               : segments();
  }
}

void read_run(const SceneFile& file, double default_dt, double default_duration, study::Setup& setup) {
  const TomlValue& r = file.table_or_empty("run");
  file.require_known_keys(r, {"dt", "duration", "steps", "precision", "checkpoints", "device"}, "[run]");
  setup.dt = file.positive_or(r, "dt", default_dt);
  const TomlValue *duration = r.find("duration"), *steps = r.find("steps");
  if (duration && steps) file.fail(steps->place, "give the duration or the number of steps, not both");
  if (steps) {
    setup.steps = file.count(*steps, "steps", long(kMostSteps));
  } else {
    const double number =
        std::max(1.0, std::round(file.positive_or(r, "duration", default_duration) / setup.dt));
    if (!(number <= kMostSteps))
      file.fail(duration ? duration->place : r.place, "there are more than 10 million steps",
                "reduce duration, or enlarge dt");
    setup.steps = std::int64_t(number);
  }
  setup.path_steps = setup.steps;
  setup.duration = setup.dt * double(setup.steps);
  read_run_how(file, setup);
}

std::vector<std::int64_t> read_steps(const SceneFile& file, const TomlValue& v, double duration,
                                     std::int64_t steps) {
  const auto step_of = [&](double t) { return std::int64_t(std::llround(t / duration * double(steps))); };
  const auto time = [&](const TomlValue& t, const char* what) {
    const double seconds = file.number(t, what);
    if (seconds < 0 || seconds > duration * (1 + 1e-12))
      file.fail(t.place, std::string(what) + " is outside the run: not between 0 and the duration");
    return seconds;
  };
  const TomlValue *at = v.find("at"), *from = v.find("from"), *to = v.find("to"), *every = v.find("every");
  if (const TomlValue* times = v.find("times")) {
    if (at || from || to || every) file.fail(times->place, "give either times, or at, or from, to and every");
    file.numbers(*times, "times");
    std::vector<std::int64_t> list;
    for (const TomlValue& t : times->items) {
      list.push_back(step_of(time(t, "this time")));
      if (list.size() > 1 && list.back() <= list[list.size() - 2])
        file.fail(t.place, "times must increase, by a step or more");
    }
    if (list.empty()) file.fail(times->place, "there must be at least one time");
    return list;
  }
  if (at && (from || to || every)) file.fail(at->place, "give either at, or from, to and every");
  if (at && at->is(Kind::number)) return {step_of(time(*at, "at"))};
  if (at && file.string(*at, "at") != "end") file.fail(at->place, "at must be \"end\" or a time");
  if (!from && !to && !every) return {steps};
  const double first = from ? time(*from, "from") : 0, last = to ? time(*to, "to") : duration;
  const double gap = every ? file.positive(*every, "every") : (last - first) / 10;
  if (!(last >= first)) file.fail(v.place, "from is after to");
  if ((last - first) / std::max(gap, 1e-300) > 1e5)
    file.fail(v.place, "this is a hundred thousand samples", "enlarge every");
  std::vector<std::int64_t> list;
  for (double t = last; t >= first - 1e-9 * duration && gap > 0; t -= gap)
    list.push_back(step_of(std::max(t, 0.0)));
  if (list.empty()) list.push_back(step_of(last));
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

}  // namespace costate::io
