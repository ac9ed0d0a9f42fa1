// ProblemReader: a TomlDocument, table by table, into a Problem. Each method reads one table of the file.
#pragma once

#include "costate/io/problem.h"

namespace costate::io {

class ProblemReader {
 public:
  ProblemReader(TomlDocument document, const std::vector<Setting>& settings);
  Problem read();

 private:
  // reader_values.cpp: single values, with their checks.
  double number(const TomlValue& v, const std::string& what) const;
  double positive(const TomlValue& v, const std::string& what) const;
  long count(const TomlValue& v, const std::string& what, long largest) const;
  bool boolean(const TomlValue& v, const std::string& what) const;
  const std::string& string(const TomlValue& v, const std::string& what) const;
  std::vector<double> numbers(const TomlValue& v, const std::string& what) const;
  const TomlValue& table(const TomlValue& v, const std::string& what) const;
  const std::string& choice(const TomlValue& v, const std::string& what,
                            const std::vector<std::string>& known) const;
  void apply(const Setting& setting);

  std::vector<Variable> variables(const char* table, std::vector<double>& values) const;
  // The formulas for the elements of one state.
  std::vector<const TomlValue*> formulas(const Variable& state, const TomlValue& v) const;
  std::shared_ptr<const ode::Function> function(const TomlValue& formula) const;

  void read_definitions();
  void read_equations();
  void read_solve();
  void read_events();
  void read_event(const TomlValue& event);
  void read_loss();
  void read_samples(const TomlValue& samples);
  void check_times(const TomlValue& times, const std::vector<double>& t) const;

  // reader_optimize.cpp
  void read_optimize();
  void read_fit();
  Series read_series(const TomlValue& series) const;
  std::vector<Input> inputs(const TomlValue& names) const;
  std::vector<Input> input(const std::string& name, Place place) const;
  void read_bounds(const TomlValue& bounds, const std::string& prefix, std::vector<Input>& inputs) const;

  TomlDocument document_;
  const TomlValue& root_;
  std::optional<Scope> scope_;
  Problem problem_;
};

}  // namespace costate::io
