#include "costate/ad/parse_tokens.h"

#include <algorithm>
#include <charconv>

#include "costate/core/error.h"

namespace costate::ad {
namespace {

// ASCII only, whatever the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

Tokens::Tokens(std::string_view text, const TextOrigin& origin) : text_(text), origin_(origin) {
  if (text.size() > kMaxTextLength) {
    throw Error({"the text is " + std::to_string(text.size()) + " characters long; the limit is " +
                     std::to_string(kMaxTextLength),
                 origin.name, ""});
  }
  current_ = scan();
}

Token Tokens::next() {
  const Token taken = current_;
  current_ = scan();
  return taken;
}

bool Tokens::accept(std::string_view symbol) {
  if (!is(symbol)) return false;
  next();
  return true;
}

Token Tokens::scan() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '\n' && brackets_ == 0) {
      return {Token::Kind::end_of_line, text_.substr(at_, 1), at_++, 0};
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at_;
    } else {
      break;
    }
  }
  if (at_ >= text_.size()) return {Token::Kind::end, {}, text_.size(), 0};
  const std::size_t start = at_;
  const char c = text_[at_];
  if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number();
  if (is_letter(c)) {
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return {Token::Kind::name, text_.substr(start, at_ - start), start, 0};
  }
  for (const std::string_view two : {"**", "<=", ">=", "==", "!=", "&&", "||"}) {
    if (text_.substr(at_, 2) == two) {
      at_ += 2;
      return {Token::Kind::symbol, text_.substr(start, 2), start, 0};
    }
  }
  if (std::string_view("+-*/^()[]<>!?:,;=").find(c) != std::string_view::npos) {
    ++at_;
    return {Token::Kind::symbol, text_.substr(start, 1), start, 0};
  }
  if (c == '&' || c == '|')
    fail(at_, std::string("'") + c + "' is not an operator", std::string("write ") + c + c);
  fail(at_, "this character is not part of an expression");
}

Token Tokens::number() {
  const std::size_t start = at_;
  double value = 0;
  const auto [stop, error] = std::from_chars(text_.data() + start, text_.data() + text_.size(), value);
  at_ = static_cast<std::size_t>(stop - text_.data());
  if (error == std::errc::result_out_of_range) fail(start, "this number does not fit a double");
  if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.')) {
    fail(at_, "a number is followed by '" + std::string(1, text_[at_]) + "'", "write * between factors");
  }
  return {Token::Kind::number, text_.substr(start, at_ - start), start, value};
}

std::string Tokens::describe(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the text";
  if (token.kind == Token::Kind::end_of_line) return "the end of the line";
  return std::string("'").append(token.text).append("'");
}

void Tokens::fail(std::size_t at, const std::string& what, const std::string& advice) const {
  constexpr std::size_t kShown = 60;  // characters either side of the caret
  const std::size_t place = std::min(at, text_.size());
  const std::size_t line_start = place == 0 ? 0 : text_.rfind('\n', place - 1) + 1;  // npos + 1 is 0
  const std::size_t line_end = std::min(text_.find('\n', place), text_.size());
  const auto lines_before =
      std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(place), '\n');
  const std::size_t column =
      place - line_start + 1 + (lines_before == 0 ? static_cast<std::size_t>(origin_.column) - 1 : 0);

  const std::size_t from = std::max(line_start, place > kShown ? place - kShown : 0);
  const std::size_t to = std::min(line_end, place + kShown);
  std::string shown(text_.substr(from, to - from));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = c == '\t' ? ' ' : '?';
  }
  throw Error(
      {what + "\n  " + shown + "\n  " + std::string(place - from, ' ') + "^",
       origin_.name + ":" + std::to_string(origin_.line + lines_before) + ":" + std::to_string(column),
       advice});
}

}  // namespace costate::ad
