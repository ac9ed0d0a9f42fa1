// costate::Error becomes costate.Error, with the parts of its message as attributes.
#include "costate/core/error.h"

#include <nanobind/stl/string.h>

#include "module.h"
#include "without_gil.h"

namespace costate::python {
namespace {

PyObject* error_type = nullptr;

void raise(const Error& error) {
  const Error::Message& m = error.message();
  const nb::object type = nb::borrow(error_type);
  nb::object instance = type(error.what());
  instance.attr("what") = m.what;
  instance.attr("where") = m.where;
  instance.attr("advice") = m.advice;
  instance.attr("kind") = error.kind() == Error::Kind::input ? "input" : "numerics";
  PyErr_SetObject(error_type, instance.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(error);
  } catch (const Stopped&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace

void bind_errors(nb::module_& m) {
  error_type = PyErr_NewExceptionWithDoc(
      "costate.Error",
      "What was wrong with an input or a run.\n\n"
      "what: the mistake; where: file and line, or step, field and world; advice: which setting to change;\n"
      "kind: 'input' (mend the input) or 'numerics' (mend the settings).",
      PyExc_RuntimeError, nullptr);
  m.attr("Error") = nb::borrow(error_type);
  nb::register_exception_translator(translate);
}

}  // namespace costate::python
