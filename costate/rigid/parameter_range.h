// Which numbers a parameter of a model can have: a mass is not negative, a step takes time, a range ends
// after it begins. The file reader refuses others, and so do scenes and Python where they set a parameter by
// name. A step itself does not look.
// Tests: tests/rigid/parameter_range_test.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace costate::rigid {

// What is wrong with these numbers of a field (one for all, or some worlds' one after the other); empty:
// nothing.
std::string parameter_fault(std::string_view name, std::span<const double> values);

}  // namespace costate::rigid
