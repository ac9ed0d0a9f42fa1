// Names and shapes.
#include "costate/system/signature.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"
#include "pickles.h"

namespace costate::python {

using namespace nb::literals;

void bind_signature(nb::module_& m) {
  nb::class_<Field> field(m, "Field", "One named array among the numbers of a role.");
  pickle_members(field, &Field::name, &Field::size, &Field::offset, &Field::unit, &Field::defaults);
  field.def_ro("name", &Field::name)
      .def_ro("size", &Field::size, "Numbers in it.")
      .def_ro("offset", &Field::offset, "Of its first number among those of its role.")
      .def_ro("unit", &Field::unit)
      .def_ro("defaults", &Field::defaults, "Of a parameter; one value stands for all.")
      .def("__repr__", [](const Field& f) {
        return "Field('" + f.name + "', size=" + std::to_string(f.size) +
               (f.unit.empty() ? "" : ", unit='" + f.unit + "'") + ")";
      });

  const auto fields = [](Role role) { return [role](const Signature& s) { return s.fields(role); }; };
  const auto total = [](Role role) { return [role](const Signature& s) { return s.total(role); }; };
  nb::class_<Signature> signature(m, "Signature",
                                  "The names and sizes of everything a step reads and writes.");
  copy_is_itself(signature);
  signature.def_prop_ro("states", fields(Role::state), "Fields of the state.")
      .def_prop_ro("controls", fields(Role::control), "Fields of the control.")
      .def_prop_ro("parameters", fields(Role::parameter), "Fields of the parameters.")
      .def_prop_ro("state_size", total(Role::state), "Numbers of the state.")
      .def_prop_ro("control_size", total(Role::control), "Numbers of the control of one step.")
      .def_prop_ro("parameter_size", total(Role::parameter), "Numbers of all parameters.")
      .def(
          "match",
          [](const Signature& s, const std::vector<std::string>& globs) {
            const auto flags = s.match(Role::parameter, globs);
            std::vector<std::string> names;
            for (std::size_t f = 0; f < flags.size(); ++f) {
              if (flags[f]) names.push_back(s.fields(Role::parameter)[f].name);
            }
            return names;
          },
          "globs"_a, "Names of the parameters that match: '*' within a part, '**' across parts.")
      .def("__getstate__",
           [](const Signature& s) {
             return nb::make_tuple(s.fields(Role::state), s.fields(Role::control), s.fields(Role::parameter));
           })
      .def("__setstate__",
           [](Signature& s, const nb::tuple& state) {
             new (&s) Signature();
             using Fields = std::vector<Field>;
             s.add(Role::state, nb::cast<Fields>(state[0]));
             s.add(Role::control, nb::cast<Fields>(state[1]));
             s.add(Role::parameter, nb::cast<Fields>(state[2]));
           })
      .def("__repr__", &Signature::to_text);
}

}  // namespace costate::python
