// What travels between processes: results as their members, systems and losses as the call that made them
// (python/costate/_recipe.py).
#pragma once

#include "arrays.h"

namespace costate::python {

// A Python object that may outlive the interpreter, and be let go by a thread without Python's lock.
class Kept {
 public:
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() { *this = nullptr; }
  Kept& operator=(PyObject* object) {
    if (object_ == object) return *this;
    if (!Py_IsInitialized()) return *this;
    const nb::gil_scoped_acquire lock;
    Py_XINCREF(object);
    Py_XDECREF(object_);
    object_ = object;
    return *this;
  }
  nb::object get() const { return object_ ? nb::borrow(object_) : nb::none(); }

 private:
  PyObject* object_ = nullptr;
};

// Pickled by a function of python/costate/_recipe.py; a copy is the object itself, which nobody can change.
template <class Class>
void pickle_by(Class& type, const char* function) {
  type.def(
      "__reduce__",
      [function](nb::handle self) { return nb::module_::import_("costate._recipe").attr(function)(self); },
      nb::sig("def __reduce__(self) -> tuple"));
}
template <class Class>
void copy_is_itself(Class& type) {
  type.def("__copy__", [](nb::handle self) { return nb::borrow(self); });
  type.def(
      "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); }, nb::arg("memo"));
}

// `from` pickles and copies as a tuple of these members.
template <class T, class... Member>
void pickle_members(nb::class_<T>& type, Member T::*... members) {
  type.def("__getstate__", [=](const T& from) { return nb::make_tuple((from.*members)...); });
  type.def("__setstate__", [=](T& to, const nb::tuple& state) {
    new (&to) T();
    std::size_t i = 0;
    ((to.*members = nb::cast<Member>(state[i++])), ...);
  });
}

}  // namespace costate::python
