// Vector fields and guards that run in Python: a function that cannot be recorded once for all inputs,
// because its path depends on them.
//
// The source is an object of python/costate/called.py. value() calls the function as it is. Derivatives
// record it at the inputs in question, where its path is known, and are exact on that path. A recorded field
// may have a source, too: of the Jacobian that a user gives for Newton.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "costate/ode/fields/function.h"
#include "costate/ode/fields/vector_field.h"

namespace costate::python {

// inner: the recorded field; null: all is asked of the source.
std::shared_ptr<const ode::VectorField> called_field(std::shared_ptr<const ode::VectorField> inner,
                                                     nanobind::object source, int states, int parameters);
std::shared_ptr<const ode::Function> called_function(nanobind::object source, int states, int parameters);

// The field of an object that Python made of a recording: Equations.
const ode::VectorField& field_of(nanobind::handle equations);

}  // namespace costate::python
