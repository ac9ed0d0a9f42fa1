#include "costate/cluster/bytes.h"

#include <bit>
#include <cstring>

namespace costate::cluster {

static_assert(std::endian::native == std::endian::little);

namespace {

template <class T>
void append(std::string& bytes, const T* values, std::size_t count) {
  const std::size_t before = bytes.size();
  bytes.resize(before + count * sizeof(T));
  if (count > 0) std::memcpy(bytes.data() + before, values, count * sizeof(T));
}

template <class T>
std::vector<T> read(std::string_view bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

constexpr char kDigits[] = "0123456789abcdef";

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

Writer& Writer::integer(std::int64_t value) {
  append(bytes_, &value, 1);
  return *this;
}
Writer& Writer::number(double value) {
  append(bytes_, &value, 1);
  return *this;
}
Writer& Writer::text(std::string_view value) {
  integer(std::int64_t(value.size()));
  bytes_ += value;
  return *this;
}
Writer& Writer::numbers(const std::vector<double>& values) {
  integer(std::int64_t(values.size()));
  append(bytes_, values.data(), values.size());
  return *this;
}
Writer& Writer::integers(const std::vector<std::int64_t>& values) {
  integer(std::int64_t(values.size()));
  append(bytes_, values.data(), values.size());
  return *this;
}

std::string_view Reader::take(std::size_t count) {
  if (count > left_.size())
    throw Error("a message is shorter than it says: " + std::to_string(left_.size()) + " bytes instead of " +
                std::to_string(count));
  const std::string_view taken = left_.substr(0, count);
  left_.remove_prefix(count);
  return taken;
}
std::size_t Reader::length(std::size_t each) {
  const std::int64_t count = integer();
  if (count < 0 || std::uint64_t(count) > left_.size() / each)
    throw Error("a message says that " + std::to_string(count) + " items follow, and has " +
                std::to_string(left_.size()) + " bytes");
  return std::size_t(count);
}
std::int64_t Reader::integer() { return read<std::int64_t>(take(sizeof(std::int64_t)))[0]; }
double Reader::number() { return read<double>(take(sizeof(double)))[0]; }
std::string Reader::text() { return std::string(take(length(1))); }
std::vector<double> Reader::numbers() { return read<double>(take(length(sizeof(double)) * sizeof(double))); }
std::vector<std::int64_t> Reader::integers() {
  return read<std::int64_t>(take(length(sizeof(std::int64_t)) * sizeof(std::int64_t)));
}
void Reader::end() const {
  if (!left_.empty())
    throw Error("a message is longer than it says, by " + std::to_string(left_.size()) + " bytes");
}

std::string to_bytes(const Error& error) {
  const Error::Message& m = error.message();
  const bool numerics = error.kind() == Error::Kind::numerics;
  return Writer().text(m.what).text(m.where).text(m.advice).integer(numerics).bytes();
}
Error error_of(Reader& from) {
  Error::Message m;
  for (std::string* words : {&m.what, &m.where, &m.advice}) {
    *words = from.text();
    for (char& c : *words)  // a terminal obeys some characters
      if (c != '\n' && (std::uint8_t(c) < ' ' || c == '\x7f')) c = '?';
  }
  if (m.what.empty()) m.what = "something failed, and did not say what";
  return Error(m, from.integer() != 0 ? Error::Kind::numerics : Error::Kind::input);
}

std::string fingerprint(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ std::uint8_t(c)) * 0x100000001b3;
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; hash >>= 4) text[i] = kDigits[hash & 15];
  return text;
}

std::string to_hex(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) hex += kDigits[std::uint8_t(c) >> 4], hex += kDigits[std::uint8_t(c) & 15];
  return hex;
}
bool from_hex(std::string_view hex, std::string& bytes) {
  bytes.clear();
  if (hex.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]), low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes += char(16 * high + low);
  }
  return true;
}

}  // namespace costate::cluster
