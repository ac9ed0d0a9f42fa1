// Numbers as text, for messages, reports and generated code.
// Tests: tests/core/text_test.cpp.
#pragma once

#include <string>

namespace costate {

// With so many significant digits and no more than it needs: "0.0005", "3e-07", "nan".
std::string number(double value, int digits = 6);

// "3.20e-12": one digit before the point and `decimals` after it.
std::string scientific(double value, int decimals = 2);

// A sentence with one or two numbers: in_words("gradient norm %.2g not above %.2g", a, b).
std::string in_words(const char* format, double a, double b = 0);

// The shortest text that reads back as the same double.
std::string exact_number(double value);

}  // namespace costate
