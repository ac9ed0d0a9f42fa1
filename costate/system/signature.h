// Signature: the names of everything a step reads and writes.
//
// A physics lists its fields once: state ("q", "v", "particle/x"), control ("torque"), parameter
// ("body/torso/mass", "gravity", "dt"). Names are paths; users choose fields with globs ("geom/*/friction").
// Errors, reports, scene files, Python dictionaries and the choice of what to differentiate all go through
// this one registry.
// Tests: tests/system/signature_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace costate {

enum class Role { state, control, parameter };
const char* to_string(Role role);

struct Field {
  std::string name;
  std::int64_t size = 1;
  std::int64_t offset = 0;       // of its first number among those of its role
  std::string unit;              // "m/s"; empty: none or user-defined
  std::vector<double> defaults;  // parameters only; one value stands for all
};

class Signature {
 public:
  Signature& state(std::string name, std::int64_t size = 1, std::string unit = {});
  Signature& control(std::string name, std::int64_t size = 1, std::string unit = {});
  Signature& parameter(std::string name, double value, std::string unit = {});
  Signature& parameter(std::string name, std::vector<double> values, std::string unit = {});
  Signature& parameter_field(std::string name, std::int64_t size, double value, std::string unit = {});

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
  Signature& add(Role role, Field field);
  std::vector<Field> fields_[3];
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>
      position_[3];  // of each name in fields_
};

// Same names and sizes in the same order.
bool same_fields(const Signature& a, const Signature& b, Role role);

// '*' stands for any run of characters but '/', "**" for any run at all, '?' for one character.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace costate
