// Results as JSON objects.
#pragma once

#include <nlohmann/json.hpp>

#include "costate/study/study.h"

namespace costate::app {

using Json = nlohmann::ordered_json;

// {"in the mug": 0.93}
Json to_json(const study::NamedNumbers& pairs);
// {"start.h": 1.0}: one number for each variable.
Json named(const std::vector<study::Variable>& variables, const std::vector<double>& values);
// One object and the end of the line, on stdout.
void print(const Json& json);

}  // namespace costate::app
