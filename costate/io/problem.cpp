#include "costate/io/problem.h"

#include <fstream>
#include <span>
#include <sstream>

#include "costate/core/error.h"
#include "costate/io/problem_reader.h"

namespace costate::io {

namespace {

template <class Number>
Number& element(const Input& input, std::span<Number> x0, std::span<Number> p, std::span<Number> controls) {
  const auto values = input.of == Input::Of::state ? x0 : input.of == Input::Of::parameter ? p : controls;
  return values[std::size_t(input.index)];
}

}  // namespace

double& value_of(Problem& problem, const Input& input) {
  return element<double>(input, problem.y0, problem.p, problem.options.controls.values);
}

double value_of(const Problem& problem, const Input& input) {
  return element<const double>(input, problem.y0, problem.p, problem.options.controls.values);
}

double derivative_of(const ode::Gradient& gradient, const Input& input) {
  return element<const double>(input, gradient.x0, gradient.parameters["p"], gradient.controls);
}

Problem parse_problem(std::string text, const std::string& name, const std::vector<Setting>& settings) {
  return ProblemReader(TomlDocument(std::move(text), name), settings).read();
}

Problem load_problem(const std::string& path, const std::vector<Setting>& settings) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error({"there is no such file, or it cannot be read", path, ""});
  std::string text(kMaxFileSize + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (file.bad() || (file.gcount() == 0 && !file.eof()))
    throw Error({"this is not a file that can be read", path, ""});
  text.resize(std::size_t(file.gcount()));
  return parse_problem(std::move(text), path, settings);
}

}  // namespace costate::io
