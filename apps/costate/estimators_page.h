// What costate estimators found, compared with the truth, and its page of plots. Estimates are cells of JSON:
// method, steps, samples, names, gradient, standard_error, seconds, ..., or "refused".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json.h"

namespace costate::app {

// JSON has no NaN: it is null there.
double number_of(const Json& j);

struct Answer {
  double value = 0, error = 0;
};

// What the answers are compared with.
struct Truth {
  std::vector<std::int64_t> horizons;
  std::vector<double> exact;  // one per horizon; empty: not known
  const Json& cells;

  // The exact derivative, or the path score's with the most samples.
  std::optional<Answer> at(std::int64_t steps, const std::string& name) const;
  // How far an answer is from it, in standard errors.
  std::optional<double> off(const Json& cell, const std::string& name) const;
  // From which horizon on pathwise derivatives are of no use, and why; nothing where they are.
  std::optional<std::string> end_of_pathwise(const std::string& name) const;
};

std::string estimators_page(const std::string& title, const Json& cells, const Truth& truth);

}  // namespace costate::app
