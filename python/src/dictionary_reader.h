// A dictionary of options, read key by key.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "costate/core/error.h"
#include "module.h"
#include "rows.h"

namespace costate::python {

// A dictionary whose keys are all asked for: one that is left over is a misspelt one.
class DictionaryReader {
 public:
  DictionaryReader(nb::handle object, std::string what) : what_(std::move(what)) {
    if (!nb::try_cast(object, dict_)) throw Error(what_ + " is not a dictionary");
  }
  template <class T>
  void read(const char* key, T& to) {
    known_ += (known_.empty() ? "" : ", ") + std::string(key);
    if (!dict_.contains(key)) return;
    ++found_;
    if constexpr (std::is_same_v<T, double>) {
      to = nb::cast<double>(nb::float_(nb::object(dict_[key])));
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      to = to_vector<double>(dict_[key], key);
    } else {
      if (!nb::try_cast(nb::object(dict_[key]), to))
        throw Error(what_ + ": '" + key + "' has the wrong type");
    }
  }
  // Whole numbers in rows of `width`.
  void read_indices(const char* key, std::size_t width, std::vector<int>& to) {
    known_ += (known_.empty() ? "" : ", ") + std::string(key);
    if (!dict_.contains(key)) return;
    ++found_;
    to = to_indices(dict_[key], (what_ + ": '" + key + "'").c_str(), width);
  }
  void finish() const {
    if (found_ != dict_.size()) throw Error({what_ + " has a key that is not known", {}, "it has " + known_});
  }

 private:
  nb::dict dict_;
  std::string what_, known_;
  std::size_t found_ = 0;
};

}  // namespace costate::python
