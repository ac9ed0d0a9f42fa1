// What keys of the tables of soft bodies hold, where a key may be missing: one word of several, as its
// number; three numbers; true or false. Tests: tests/io/scene/soft_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "costate/core/text.h"
#include "costate/io/scene/scene_file.h"

namespace costate::io {

inline std::size_t choice(const SceneFile& file, const TomlValue& table, const char* key,
                          std::span<const char* const> words, std::size_t otherwise) {
  const TomlValue* value = table.find(key);
  if (!value) return otherwise;
  const std::string word = file.string(*value, key);
  std::vector<std::string> all(words.begin(), words.end());
  const auto at = std::find(all.begin(), all.end(), word);
  if (at == all.end())
    file.fail(value->place, std::string("unknown ") + key + " '" + word + "'", suggestion(word, all));
  return std::size_t(at - all.begin());
}
inline std::array<double, 3> vector_or(const SceneFile& file, const TomlValue& table, const char* key,
                                       std::array<double, 3> otherwise) {
  const TomlValue* value = table.find(key);
  return value ? file.vector(*value, key, 3) : otherwise;
}
inline bool flag(const SceneFile& file, const TomlValue& table, const char* key) {
  const TomlValue* value = table.find(key);
  return value && file.boolean(*value, key);
}

}  // namespace costate::io
