#include "costate/study/check.h"

#include <algorithm>
#include <numeric>

#include "costate/system/check_differences.h"

namespace costate::study {
namespace {

using check::MovedTogether;
using check::Result;

constexpr std::size_t kMostFields = 8;  // that are measured one by one

// Variables of equal names: those of "jug.angle[3]" and "jug.angle[4]" are of one field.
std::vector<MovedTogether> grouped(const std::vector<Variable>& variables, char end_of_name) {
  std::vector<MovedTogether> fields;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string name = variables[i].name.substr(0, variables[i].name.find(end_of_name));
    const auto same =
        std::find_if(fields.begin(), fields.end(), [&](const MovedTogether& f) { return f.name == name; });
    MovedTogether& field = same != fields.end() ? *same : fields.emplace_back(MovedTogether{name, {}});
    field.members.push_back(i);
  }
  return fields;
}

// All of them first; then one by one where there are several. Many fields are taken together by their owners,
// "parameters" or "jug".
std::vector<MovedTogether> check_fields(const std::vector<Variable>& variables) {
  MovedTogether all{"all variables", std::vector<std::size_t>(variables.size())};
  std::iota(all.members.begin(), all.members.end(), std::size_t{0});
  std::vector<MovedTogether> fields = grouped(variables, '[');
  if (fields.size() > kMostFields) fields = grouped(variables, '.');
  if (fields.size() == 1) return fields;
  fields.insert(fields.begin(), std::move(all));
  return fields;
}

class StudySubject final : public check::Subject {
 public:
  explicit StudySubject(Study& study) : study_(study) {
    fields = check_fields(study.variables());
    stencil = study.stencil();
    if (study.steps() > 0) detail = ", " + std::to_string(study.steps()) + " steps";
  }
  double value(const std::vector<double>& z) override { return study_.value(z); }
  double value_and_gradient(const std::vector<double>& z, double* gradient,
                            std::vector<std::int64_t>& pattern) override {
    const double value = study_.value_and_gradient(z, gradient);
    pattern = study_.report().mode_switches;
    return value;
  }
  bool has_modes() const override { return study_.has_modes(); }

 private:
  Study& study_;
};

}  // namespace

std::vector<Result> check_gradient(Study& study, std::uint64_t seed) {
  study.choose(study.inputs(true));
  const std::vector<double> z = study.start();
  std::vector<Result> results = {study.dot_product(seed)};
  results[0].name = "dot product";
  if (results[0].detail.empty()) {
    results[0].detail = "forward against reverse, random directions";
    if (study.steps() > 0) results[0].detail += ", " + std::to_string(study.steps()) + " steps";
  }
  if (z.empty() || !study.has_loss()) {
    const std::string why = "the file has no [optimize], or no loss";
    results.push_back({.name = "stencil", .detail = why, .skipped = true});
    results.push_back({.name = "Taylor", .detail = why, .skipped = true});
    return results;
  }
  StudySubject subject(study);
  for (Result& r : check::check_differences(subject, z, seed)) results.push_back(std::move(r));
  for (Result& r : study.comparisons()) results.push_back(std::move(r));
  return results;
}

}  // namespace costate::study
