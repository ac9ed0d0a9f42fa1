// NumPy arrays in and out. Results are handed over without a copy: the array owns the C++ vector.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "costate/core/error.h"

namespace costate::python {

namespace nb = nanobind;

using Shape = std::vector<std::size_t>;

// Objects with the names that signatures and type stubs give them. What they really are is found out when
// they are read.
inline bool anything(PyObject*) { return true; }
class Array : public nb::object {
  NB_OBJECT_DEFAULT(Array, nb::object, "numpy.ndarray", anything)
};
class ArrayLike : public nb::object {
  NB_OBJECT_DEFAULT(ArrayLike, nb::object, "numpy.typing.ArrayLike", anything)
};
// Numbers, or numbers by field.
class FieldsLike : public nb::object {
  NB_OBJECT_DEFAULT(FieldsLike, nb::object,
                    "numpy.typing.ArrayLike | collections.abc.Mapping[str, numpy.typing.ArrayLike]", anything)
};
// Numbers by name.
class Values : public nb::object {
  NB_OBJECT_DEFAULT(Values, nb::object, "collections.abc.Mapping[str, numpy.typing.ArrayLike]", anything)
};

inline std::size_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

// Numbers that can be read where they lie: C-contiguous, in main memory, of the right type. Anything else
// (lists, other types, strided arrays, tensors of other libraries) is converted first.
template <class Real>
using ConstArray = nb::ndarray<const Real, nb::c_contig, nb::device::cpu>;

// What NumPy makes of lists. A list whose rows differ in length is no array at all.
inline nb::object as_any_array(nb::handle object, nb::handle numpy, const char* what) {
  try {
    return numpy.attr("asarray")(object);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ValueError)) throw;
    throw Error({std::string(what) + " is not an array of numbers", {}, "give rows of the same length"});
  }
}

// What NumPy would convert with a loss: complex numbers, masks, dates; and texts, which are no numbers.
inline void refuse_lossy(nb::handle object, nb::handle numpy, const char* what) {
  const auto kind = nb::cast<std::string>(as_any_array(object, numpy, what).attr("dtype").attr("kind"));
  if (kind == "U" || kind == "S" || kind == "M" || kind == "m" || kind == "V")
    throw Error(std::string(what) + " is an array of " +
                (kind == "U" || kind == "S" ? "texts" : "times or records") + ", not of numbers");
  if (nb::cast<bool>(numpy.attr("iscomplexobj")(object)))
    throw Error({std::string(what) + " has complex numbers", {}, "give real and imaginary parts"});
  const nb::object masked = numpy.attr("ma").attr("is_masked")(object);
  if (nb::cast<bool>(masked))
    throw Error({std::string(what) + " has masked numbers", {}, "fill them in first: array.filled(value)"});
}

template <class Real>
ConstArray<Real> as_array(nb::handle object, const char* what) {
  ConstArray<Real> array;
  const bool plain = !PyObject_HasAttrString(object.ptr(), "mask");
  if (plain && nb::try_cast(object, array)) return array;
  const nb::object numpy = nb::module_::import_("numpy");
  refuse_lossy(object, numpy, what);
  try {
    nb::object made = numpy.attr("ascontiguousarray")(object, sizeof(Real) == 8 ? "float64" : "float32");
    // ascontiguousarray makes one element of a scalar.
    if (nb::cast<int>(numpy.attr("ndim")(object)) == 0) made = made.attr("reshape")(nb::make_tuple());
    return nb::cast<ConstArray<Real>>(made);
  } catch (const std::exception& error) {
    throw Error(std::string(what) + " is not an array of numbers: " + error.what());
  }
}

template <class Real>
Shape shape_of(const ConstArray<Real>& array) {
  Shape shape(array.ndim());
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = array.shape(i);
  return shape;
}

inline std::string text_of(const Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

[[noreturn]] inline void wrong_shape(const std::string& name, const Shape& have, const std::string& want) {
  throw Error(name + " has the shape " + text_of(have) + " instead of " + want);
}

template <class Real>
std::vector<Real> to_vector(nb::handle object, const char* what) {
  const auto array = as_array<Real>(object, what);
  return std::vector<Real>(array.data(), array.data() + array.size());
}

template <class Number>
Array to_numpy(std::vector<Number>&& values, const Shape& shape) {
  auto* owned = new std::vector<Number>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
  return nb::borrow<Array>(
      nb::cast(nb::ndarray<nb::numpy, Number>(owned->data(), shape.size(), shape.data(), owner)));
}

template <class Number>
Array to_numpy(std::vector<Number>&& values) {
  const Shape shape = {values.size()};
  return to_numpy(std::move(values), shape);
}

}  // namespace costate::python
