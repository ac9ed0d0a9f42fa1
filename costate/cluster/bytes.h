// Numbers and texts as bytes: what travels between a driver and its workers, and what a log keeps.
//
// Little-endian, as every machine that runs the engine is. What is read may be hostile: lengths are checked
// before anything is allocated, and an Error says what is wrong.
// Tests: tests/cluster/tree_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "costate/core/error.h"

namespace costate::cluster {

class Writer {
 public:
  Writer& integer(std::int64_t value);
  Writer& number(double value);
  Writer& text(std::string_view value);
  Writer& numbers(const std::vector<double>& values);
  Writer& integers(const std::vector<std::int64_t>& values);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  std::int64_t integer();
  double number();
  std::string text();
  std::vector<double> numbers();
  std::vector<std::int64_t> integers();
  // Error where bytes are left over.
  void end() const;

 private:
  std::string_view take(std::size_t count);
  std::size_t length(std::size_t each);
  std::string_view left_;
};

std::string to_bytes(const Error& error);
Error error_of(Reader& from);

// 16 hexadecimal digits: FNV-1a of 64 bits [1]. It tells mistakes apart, not forgeries.
// [1] Fowler, Noll, Vo: the FNV hash, draft-eastlake-fnv.
std::string fingerprint(std::string_view bytes);

std::string to_hex(std::string_view bytes);
// False: that is not hexadecimal.
bool from_hex(std::string_view hex, std::string& bytes);

}  // namespace costate::cluster
