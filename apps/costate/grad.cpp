#include <fmt/core.h>

#include <optional>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/study/trust.h"
#include "json.h"
#include "table.h"

namespace costate::app {
namespace {

// Of the same inputs, in units of scales to compare them by.
check::Trust trust_of(study::Study& study, unsigned seed) {
  study.choose(study.inputs(true));
  const std::vector<double> z = study.start();
  std::vector<double> gradient(z.size());
  const double loss = study.value_and_gradient(z, gradient.data());
  return study::trust(study, z, loss, gradient, {.seed = seed});
}

}  // namespace

int run_grad(const Arguments& arguments) {
  const auto study = open_study(arguments);
  study->use_adjoint(arguments.adjoint);
  study->choose(study->inputs(false));
  const std::vector<study::Variable> inputs = study->variables();
  if (inputs.empty() && !study->file.ends_with(".toml"))
    throw Error({"a model alone asks for no gradient", study->file,
                 "write a study: a file .toml with [model] file = \"" + study->file +
                     "\", [run], [[loss]] and [optimize] (docs/studies.md)"});
  if (inputs.empty())
    throw Error({"there are no variables to differentiate with respect to: the file has no [optimize]",
                 study->file, "add [optimize] with variables = [{name = \"...\", scale = 1}]"});
  const std::vector<double> z = study->start();
  std::vector<double> gradient(z.size());
  const double loss = study->value_and_gradient(z, gradient.data());
  // With respect to the input itself.
  for (std::size_t i = 0; i < z.size(); ++i) gradient[i] /= inputs[i].scale;
  const GradientReport report = study->report();
  const auto further = study->further_derivatives();
  std::optional<check::Trust> trust;
  if (arguments.trust) trust = trust_of(*study, arguments.seed);
  if (arguments.json) {
    Json derivatives = named(inputs, gradient);
    for (const auto& d : further) derivatives[d.name] = d.derivative;
    Json answer = {{"loss", loss},
                   {"gradient", derivatives},
                   {"report",
                    {{"estimator", report.estimator},
                     {"label", report.label},
                     {"schedule", report.schedule},
                     {"steps", report.steps},
                     {"memory_bytes", report.memory_bytes},
                     {"growth_rate", report.growth_rate},
                     {"advice", report.advice}}}};
    if (trust)
      answer["trust"] = {
          {"along_gradient", trust->along_gradient}, {"random", trust->random}, {"longest", trust->longest}};
    print(answer);
    return 0;
  }
  fmt::print("loss  {}\n\n", number(loss));
  Table table({"input", "value", "d loss / d input"});
  for (std::size_t i = 0; i < z.size(); ++i)
    table.row({inputs[i].name, number(inputs[i].start), number(gradient[i])});
  for (const auto& d : further) table.row({d.name, number(d.value), number(d.derivative)});
  fmt::print("{}\n{}", table.text(), report.to_text());
  if (trust) fmt::print("trust:    {}, in units of their scales\n", trust->to_text());
  return 0;
}

}  // namespace costate::app
