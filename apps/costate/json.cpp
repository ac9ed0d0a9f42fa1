#include "json.h"

#include <cstdio>

namespace costate::app {

Json named(const std::vector<io::Variable>& variables, const double* values) {
  Json json = Json::object();
  for (const io::Variable& v : variables) {
    if (v.array)
      json[v.name] = std::vector<double>(values + v.offset, values + v.offset + v.size);
    else
      json[v.name] = values[v.offset];
  }
  return json;
}

Json named_controls(const io::Problem& problem, const std::vector<double>& values) {
  Json json = Json::object();
  for (const io::Variable& v : problem.controls) {
    Json series = Json::array();
    for (int i = 0; i < v.size; ++i) series.push_back(values[problem.control_index(v, i)]);
    json[v.name] = series;
  }
  return json;
}

void print(const Json& json) {
  // Names may come from files that are not UTF-8: replaced, never a failure.
  std::puts(json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace costate::app
