// costate::Error becomes costate.Error (python/costate/error.py), with the parts of its message as
// attributes.
#include "costate/core/error.h"

#include <nanobind/stl/string.h>

#include "module.h"
#include "without_gil.h"

namespace costate::python {
namespace {

void raise(const Error& error) {
  const Error::Message& m = error.message();
  const nb::object type = nb::module_::import_("costate.error").attr("Error");
  const nb::object instance = type(error.what(), m.what, m.where, m.advice,
                                   error.kind() == Error::Kind::input ? "input" : "numerics");
  PyErr_SetObject(type.ptr(), instance.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    try {
      raise(error);
    } catch (nb::python_error& meanwhile) {  // a signal's handler raised while the error was being made
      meanwhile.restore();
    }
  } catch (const Stopped&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace costate::python
