#include "build_signature.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "costate/ode/lanes/fixed_scheme.h"

namespace costate::python {
namespace {

template <class Add>
void each_field(nb::handle fields, const char* what, const Add& add) {
  if (fields.is_none()) return;
  if (nb::isinstance<nb::str>(fields)) return add(nb::cast<std::string>(fields), std::int64_t{1});
  if (nb::isinstance<nb::dict>(fields)) {
    for (auto [name, size] : nb::borrow<nb::dict>(fields)) {
      std::int64_t count = 0;
      if (!nb::try_cast(size, count))
        throw Error(std::string(what) + " are {name: size}: the size of '" + nb::cast<std::string>(name) +
                    "' is no integer");
      add(nb::cast<std::string>(name), count);
    }
    return;
  }
  for (nb::handle name : fields) add(nb::cast<std::string>(name), std::int64_t{1});
}

}  // namespace

Signature build_signature(nb::handle states, nb::handle controls, nb::handle parameters) {
  Signature s;
  each_field(states, "states", [&](const std::string& name, std::int64_t size) { s.state(name, size); });
  each_field(controls, "controls",
             [&](const std::string& name, std::int64_t size) { s.control(name, size); });
  if (parameters.is_none()) return s;
  nb::dict defaults;
  if (!nb::try_cast(parameters, defaults)) throw Error("parameters are {name: default}");
  for (auto [name, value] : defaults) {
    const auto values = as_array<double>(value, nb::cast<std::string>(name).c_str());
    if (values.ndim() == 0)
      s.parameter(nb::cast<std::string>(name), values.data()[0]);
    else
      s.parameter(nb::cast<std::string>(name),
                  std::vector<double>(values.data(), values.data() + values.size()));
  }
  return s;
}

Scheme scheme_of(const std::string& given, double dt) {
  if (given == "next") return NextState{};
  // SciPy's names, as solve_ivp takes them.
  const std::string method = given == "RK23"     ? "bs3"
                             : given == "RK45"   ? "dopri5"
                             : given == "DOP853" ? "dop853"
                                                 : given;
  const auto known = ode::fixed_scheme_names();
  if (std::find(known.begin(), known.end(), method) == known.end()) {
    std::string names;
    for (const std::string& name : known) names += "'" + name + "', ";
    throw Error({"method = '" + method + "'",
                 {},
                 "use " + names +
                     "or 'next' where the function gives the next state; implicit and adaptive methods are "
                     "those of solve_ivp"});
  }
  return ode::fixed_scheme(method, dt);
}

}  // namespace costate::python
