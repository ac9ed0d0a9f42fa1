// ProblemReader: a TomlDocument, table by table, into a Problem. Each method reads one table of the file.
#pragma once

#include "costate/io/problem.h"
#include "costate/io/text/toml_values.h"

namespace costate::io {

class ProblemReader : private TomlValues {
 public:
  ProblemReader(TomlDocument document, const std::vector<Setting>& settings);
  Problem read();

 private:
  // reader_settings.cpp
  void apply(const Setting& setting);

  std::vector<Variable> variables(const char* table, std::vector<double>& values) const;
  // The formulas for the elements of one state.
  std::vector<const TomlValue*> formulas(const Variable& state, const TomlValue& v) const;
  std::shared_ptr<const ode::Function> function(const TomlValue& formula) const;

  void read_controls();  // reader_controls.cpp
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

  const TomlValue& root_;
  std::optional<Scope> scope_;
  Problem problem_;
};

}  // namespace costate::io
