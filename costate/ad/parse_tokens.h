// The words of the expression language, and errors that point at them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "costate/ad/parse.h"

namespace costate::ad {

struct Token {
  enum class Kind { number, name, symbol, end_of_line, end };
  Kind kind = Kind::end;
  std::string_view text;
  std::size_t at = 0;  // offset in the text
  double value = 0;    // number
};

class Tokens {
 public:
  Tokens(std::string_view text, const TextOrigin& origin);

  const Token& peek() const { return current_; }
  Token next();
  bool is(std::string_view symbol) const {
    return current_.kind == Token::Kind::symbol && current_.text == symbol;
  }
  // Takes the symbol if it is next.
  bool accept(std::string_view symbol);
  // Inside brackets a line may end anywhere. Called before the bracket is taken, since taking it reads on.
  void open() { ++brackets_; }
  void close() { --brackets_; }

  // What the user sees of a token: 'x', "the end of the line", "the end of the text".
  static std::string describe(const Token& token);
  [[noreturn]] void fail(std::size_t at, const std::string& what, const std::string& advice = "") const;

 private:
  Token scan();
  Token number();

  std::string_view text_;
  TextOrigin origin_;
  std::size_t at_ = 0;
  int brackets_ = 0;
  Token current_;
};

}  // namespace costate::ad
