// Error: what a user sees when an input or a run is wrong. It says what was wrong, where (a file and line of
// theirs, or a step, field and world), and which setting to change. Our own bugs are asserts, not errors.
#pragma once

#include <stdexcept>
#include <string>

namespace costate {

class Error : public std::runtime_error {
 public:
  // Who can mend it: the author of the input, or whoever chose the numerics. Command-line exit codes follow
  // it.
  enum class Kind { input, numerics };

  struct Message {
    std::string what;    // "the state is not finite: particle/x[17] is nan"
    std::string where;   // "step 340 of 1000, world 12"   or   "scene.toml:14:7"
    std::string advice;  // "reduce dt (now 0.01), or set on_divergence = mask_world"
  };

  explicit Error(Message message, Kind kind = Kind::input)
      : std::runtime_error(format(message)), message_(std::move(message)), kind_(kind) {}
  explicit Error(std::string what) : Error(Message{std::move(what), {}, {}}) {}

  const Message& message() const { return message_; }
  Kind kind() const { return kind_; }

 private:
  static std::string format(const Message& m) {
    std::string s;
    if (!m.where.empty()) s += m.where + ": ";
    s += m.what;
    if (!m.advice.empty()) s += "\n  " + m.advice;
    return s;
  }
  Message message_;
  Kind kind_;
};

}  // namespace costate
