// Signature: the names of everything a step reads and writes, and which numbers its parameters may have.
//
// A physics lists its fields once: state ("q", "v", "particle/x"), control ("torque"), parameter
// ("body/torso/mass", "gravity", "dt"). Names are paths; users choose fields with globs ("geom/*/friction").
// Errors, reports, scene files, Python dictionaries and the choice of what to differentiate all go through
// this one registry. So do ranges: a mass is positive, a range ends after it begins; a run, a planner and a
// scene refuse other numbers before anything is computed (ranges.h). Equations of a user's own have none: any
// number may be meant.
// Tests: tests/system/signature_test.cpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace costate {

enum class Role { state, control, parameter };
const char* to_string(Role role);

struct ParameterRange {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool open = true;          // low itself is outside; high always is
  bool pairs = false;        // the numbers are pairs, and none ends before it begins
  std::int64_t numbers = 0;  // of the field, from its first on; 0: all

  // What is not a number is outside.
  bool holds(double value) const {
    return (open ? std::isgreater(value, low) : std::isgreaterequal(value, low)) && std::isless(value, high);
  }
};
inline constexpr ParameterRange kPositive = {.low = 0}, kNotNegative = {.low = 0, .open = false},
                                kIncreasing = {.pairs = true};

struct Field {
  std::string name;
  std::int64_t size = 1;
  std::int64_t offset = 0;                  // of its first number among those of its role
  std::string unit;                         // "m/s"; empty: none or user-defined
  std::vector<double> defaults;             // parameters only; one value stands for all
  std::vector<ParameterRange> ranges = {};  // parameters only
};

class Signature {
 public:
  Signature& state(std::string name, std::int64_t size = 1, std::string unit = {});
  Signature& control(std::string name, std::int64_t size = 1, std::string unit = {});
  Signature& parameter(std::string name, double value, std::string unit = {});
  Signature& parameter(std::string name, std::vector<double> values, std::string unit = {});
  Signature& parameter_field(std::string name, std::int64_t size, double value, std::string unit = {});

  // Fields of another signature, after those that are there.
  Signature& add(Role role, Field field);
  Signature& add(Role role, const std::vector<Field>& fields);

  // The range of the parameter of that name, which must be there, or of those that match a pattern.
  Signature& limit(std::string_view name, const ParameterRange& range);
  Signature& limit(std::size_t field, const ParameterRange& range);  // of fields(Role::parameter)
  // Which of fields(Role::parameter) have a range.
  const std::vector<std::size_t>& limited() const { return limited_; }

  std::int64_t states() const { return total(Role::state); }
  std::int64_t controls() const { return total(Role::control); }
  std::int64_t parameters() const { return total(Role::parameter); }
  std::int64_t total(Role role) const;
  const std::vector<Field>& fields(Role role) const { return fields_[static_cast<int>(role)]; }

  // Throws an Error that lists near misses.
  const Field& find(Role role, std::string_view name) const;
  const Field* find_if(Role role, std::string_view name) const;

  // One flag per field of the role. A glob that matches nothing is an Error: a misspelt name would give no
  // gradient in silence.
  std::vector<bool> match(Role role, const std::vector<std::string>& globs) const;

  // "particle/x[17]" for number `index` of the role.
  std::string describe(Role role, std::int64_t index) const;

  // The three lists as a table for people.
  std::string to_text() const;

 private:
  // Looks names up without making a string of them.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  std::vector<Field> fields_[3];
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>
      position_[3];  // of each name in fields_
  std::vector<std::size_t> limited_;
};

// Same names and sizes in the same order.
bool same_fields(const Signature& a, const Signature& b, Role role);

// '*' stands for any run of characters but '/', "**" for any run at all, '?' for one character.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace costate
