// expect_error(f, "what", "advice"): f throws an Error that says both. An Error's words are what a user gets
// from it, so tests ask for the words that matter.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <string_view>

#include "costate/core/error.h"

namespace costate::test {

// `what` is looked for in the place and the complaint, `advice` in the advice. The line that a failure names
// is the caller's.
template <class F>
void expect_error(const F& f, std::string_view what, std::string_view advice = {},
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  try {
    (void)f();
    ADD_FAILURE_AT(file, line) << "there was no Error; one that says \"" << what << "\" was due";
  } catch (const Error& error) {
    const Error::Message& message = error.message();
    const std::string complaint = message.where.empty() ? message.what : message.where + ": " + message.what;
    if (complaint.find(what) == std::string::npos)
      ADD_FAILURE_AT(file, line) << "\"" << what << "\" is not in the complaint: " << complaint;
    if (message.advice.find(advice) == std::string::npos)
      ADD_FAILURE_AT(file, line) << "\"" << advice << "\" is not in the advice: " << error.what();
  } catch (const std::exception& other) {
    ADD_FAILURE_AT(file, line) << "an exception that is not an Error: " << other.what();
  }
}

}  // namespace costate::test
