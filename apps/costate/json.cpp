#include "json.h"

#include <cstdio>

namespace costate::app {

Json to_json(const study::NamedNumbers& pairs) {
  Json json = Json::object();
  for (const auto& [name, value] : pairs) json[name] = value;
  return json;
}

Json named(const std::vector<study::Variable>& variables, const std::vector<double>& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i) json[variables[i].name] = values[i];
  return json;
}

void print(const Json& json) {
  // Names may come from files that are not UTF-8: replaced, never a failure.
  std::puts(json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace costate::app
