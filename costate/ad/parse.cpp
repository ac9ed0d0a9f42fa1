#include "costate/ad/parse.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "costate/ad/builder.h"
#include "costate/ad/parse_tokens.h"
#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate::ad {
namespace {

struct Function {
  std::string_view name;
  Op op;
};
constexpr Function kFunctions[] = {
    {"sqrt", Op::sqrt},     {"sin", Op::sin},      {"cos", Op::cos},     {"tan", Op::tan},
    {"exp", Op::exp},       {"expm1", Op::expm1},  {"log", Op::log},     {"log1p", Op::log1p},
    {"cbrt", Op::cbrt},     {"ln", Op::log},       {"sinh", Op::sinh},   {"cosh", Op::cosh},
    {"tanh", Op::tanh},     {"asin", Op::asin},    {"acos", Op::acos},   {"atan", Op::atan},
    {"atan2", Op::atan2},   {"pow", Op::pow},      {"abs", Op::abs},     {"sign", Op::sign},
    {"min", Op::min},       {"max", Op::max},      {"floor", Op::floor}, {"fma", Op::fma},
    {"select", Op::select}, {"where", Op::select},
};
// Made of several operations, so spelled out in Parser::call.
constexpr std::string_view kComposed[] = {"ceil", "step"};

// One named value, or an array of them. An element not yet given is kNone.
using Symbol = std::vector<Id>;

class Parser {
 public:
  Parser(std::string_view text, const std::vector<Field>& inputs, const TextOrigin& origin)
      : tokens_(text, origin) {
    for (const Field& field : inputs) {
      const Id first = builder_.input_field(field.name, field.size);
      Symbol& symbol = symbols_[field.name];
      for (int i = 0; i < field.size; ++i) symbol.push_back(first + i);
    }
  }

  Program expression_program() {
    skip_lines();
    const Id value = expression();
    skip_lines();
    if (tokens_.peek().kind != Token::Kind::end) unexpected("an operator or the end");
    builder_.output_field("value", std::vector<Id>{value});
    return builder_.finish();
  }

  Program equations_program(const std::vector<Field>& outputs) {
    for (const Field& field : outputs) {
      if (symbols_.count(field.name) != 0) throw Error("'" + field.name + "' is both an input and an output");
      symbols_[field.name] = Symbol(static_cast<std::size_t>(field.size), kNone);
      declared_.push_back(field.name);
    }
    while (skip_lines(), tokens_.peek().kind != Token::Kind::end) equation();
    for (const Field& field : outputs) {
      const Symbol& symbol = symbols_[field.name];
      for (std::size_t i = 0; i < symbol.size(); ++i) {
        if (symbol[i] != kNone) continue;
        const std::string name = field.size == 1 ? field.name : field.name + "[" + std::to_string(i) + "]";
        tokens_.fail(tokens_.peek().at, "no equation gives '" + name + "'", "add a line " + name + " = ...");
      }
      builder_.output_field(field.name, symbol);
    }
    return builder_.finish();
  }

 private:
  // Every way down the grammar passes expression(), unary() or power(), and each holds one of these: nesting,
  // and so the use of the stack, is bounded.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser.depth_ > kMaxNesting) {
        parser.tokens_.fail(parser.tokens_.peek().at,
                            "expression nested more than " + std::to_string(kMaxNesting) + " deep",
                            "give parts of it a name in an equation of their own");
      }
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  void skip_lines() {
    while (tokens_.peek().kind == Token::Kind::end_of_line || tokens_.is(";")) tokens_.next();
  }

  [[noreturn]] void unexpected(const std::string& wanted) {
    tokens_.fail(tokens_.peek().at, "expected " + wanted + ", found " + Tokens::describe(tokens_.peek()));
  }

  void expect(std::string_view symbol) {
    if (!tokens_.accept(symbol)) unexpected(std::string("'").append(symbol).append("'"));
  }

  void expect_close(std::string_view symbol) {
    if (tokens_.is(symbol)) tokens_.close();
    expect(symbol);
  }

  // --- equations ----------------------------------------------------------------------------------

  void equation() {
    const Token name = tokens_.peek();
    if (name.kind != Token::Kind::name) unexpected("the name of an equation");
    tokens_.next();
    const bool indexed = tokens_.is("[");
    const int index = indexed ? bracketed_index() : 0;
    if (!tokens_.is("=")) unexpected("'='");
    tokens_.next();
    const Id value = expression();
    const Token& after = tokens_.peek();
    if (after.kind != Token::Kind::end && after.kind != Token::Kind::end_of_line && !tokens_.is(";")) {
      unexpected("an operator, ';' or the end of the line");
    }
    define(name, indexed, index, value);
  }

  void define(const Token& name, bool indexed, int index, Id value) {
    const std::string key(name.text);
    const bool is_output = std::find(declared_.begin(), declared_.end(), key) != declared_.end();
    const auto known = symbols_.find(key);
    if (!is_output) {
      if (known != symbols_.end()) {
        tokens_.fail(name.at, "'" + key + "' is already an input or an earlier equation");
      }
      if (is_builtin(key)) tokens_.fail(name.at, "'" + key + "' is a function or constant of the language");
      if (indexed) {
        tokens_.fail(name.at, "'" + key + "' is not a declared array",
                     "only outputs are given element by element");
      }
      symbols_[key] = {value};
      return;
    }
    Symbol& symbol = known->second;
    if (!indexed && symbol.size() != 1) {
      tokens_.fail(name.at, "'" + key + "' has " + std::to_string(symbol.size()) + " elements",
                   "give each its equation: " + key + "[0] = ...");
    }
    check_index(name, symbol, index);
    Id& element = symbol[index];
    if (element != kNone) tokens_.fail(name.at, "'" + key + "' is given twice");
    element = value;
  }

  int bracketed_index() {
    tokens_.open();
    expect("[");
    const Token number = tokens_.peek();
    if (number.kind != Token::Kind::number || number.value != std::floor(number.value) ||
        number.value > 1e9) {
      tokens_.fail(number.at, "an index is a whole number such as 0");
    }
    tokens_.next();
    expect_close("]");
    return static_cast<int>(number.value);
  }

  void check_index(const Token& name, const Symbol& symbol, int index) {
    if (static_cast<std::size_t>(index) < symbol.size()) return;
    tokens_.fail(name.at, std::string("'").append(name.text).append("' has ") +
                              std::to_string(symbol.size()) + " elements, numbered from 0; there is no [" +
                              std::to_string(index) + "]");
  }

  // --- expressions, loosest binding first ---------------------------------------------------------

  Id expression() {
    const Level level(*this);
    const Id condition = either();
    if (!tokens_.accept("?")) return condition;
    const Id taken = expression();
    expect(":");
    return builder_.ternary(Op::select, condition, taken, expression());
  }

  Id either() {
    Id left = both();
    while (tokens_.accept("||")) left = builder_.binary(Op::logical_or, left, both());
    return left;
  }

  Id both() {
    Id left = comparison();
    while (tokens_.accept("&&")) left = builder_.binary(Op::logical_and, left, comparison());
    return left;
  }

  bool comparison_follows(Op* op) const {
    static constexpr Function kComparisons[] = {{"<", Op::lt},  {"<=", Op::le}, {">", Op::gt},
                                                {">=", Op::ge}, {"==", Op::eq}, {"!=", Op::ne}};
    for (const Function& f : kComparisons) {
      if (!tokens_.is(f.name)) continue;
      *op = f.op;
      return true;
    }
    return false;
  }

  Id comparison() {
    const Id left = sum();
    Op op{};
    if (!comparison_follows(&op)) return left;
    tokens_.next();
    const Id result = builder_.binary(op, left, sum());
    if (comparison_follows(&op)) {
      tokens_.fail(tokens_.peek().at, "comparisons do not chain", "write a < b && b < c");
    }
    return result;
  }

  Id sum() {
    Id left = product();
    for (;;) {
      if (tokens_.accept("+"))
        left = builder_.binary(Op::add, left, product());
      else if (tokens_.accept("-"))
        left = builder_.binary(Op::sub, left, product());
      else
        return left;
    }
  }

  Id product() {
    Id left = unary();
    for (;;) {
      if (tokens_.accept("*"))
        left = builder_.binary(Op::mul, left, unary());
      else if (tokens_.accept("/"))
        left = builder_.binary(Op::div, left, unary());
      else
        return left;
    }
  }

  Id unary() {
    const Level level(*this);
    if (tokens_.accept("-")) return builder_.unary(Op::neg, unary());
    if (tokens_.accept("+")) return unary();
    if (tokens_.accept("!")) return builder_.unary(Op::logical_not, unary());
    return power();
  }

  Id power() {
    const Id base = primary();
    if (!tokens_.accept("^") && !tokens_.accept("**")) return base;
    return builder_.binary(Op::pow, base, unary());  // unary: x^-2, and x^y^z is x^(y^z)
  }

  Id primary() {
    const Token token = tokens_.peek();
    if (token.kind == Token::Kind::number) {
      tokens_.next();
      return builder_.constant(token.value);
    }
    if (tokens_.is("(")) {
      tokens_.open();
      tokens_.next();
      const Id inside = expression();
      expect_close(")");
      return inside;
    }
    if (token.kind != Token::Kind::name) unexpected("a number, a name or '('");
    tokens_.next();
    return tokens_.is("(") ? call(token) : variable(token);
  }

  Id variable(const Token& name) {
    const auto known = symbols_.find(std::string(name.text));
    if (known == symbols_.end()) {
      if (name.text == "pi") return builder_.constant(std::numbers::pi);
      if (name.text == "e") return builder_.constant(std::numbers::e);
      unknown(name);
    }
    const Symbol& symbol = known->second;
    const bool indexed = tokens_.is("[");
    const int index = indexed ? bracketed_index() : 0;
    if (!indexed && symbol.size() != 1) {
      tokens_.fail(name.at,
                   std::string("'").append(name.text).append("' is an array of ") +
                       std::to_string(symbol.size()) + " elements",
                   std::string("write ").append(name.text).append("[0]"));
    }
    check_index(name, symbol, index);
    const Id element = symbol[index];
    if (element == kNone)
      tokens_.fail(name.at, std::string("'").append(name.text).append("' is used before its equation"));
    return element;
  }

  Id call(const Token& name) {
    const std::vector<Id> arguments = argument_list();
    const auto expect_count = [&](int count) {
      if (static_cast<int>(arguments.size()) == count) return;
      tokens_.fail(name.at, std::string("'").append(name.text).append("' takes ") + std::to_string(count) +
                                (count == 1 ? " argument" : " arguments") + ", not " +
                                std::to_string(arguments.size()));
    };
    if (name.text == "ceil") {
      expect_count(1);
      return builder_.unary(Op::neg, builder_.unary(Op::floor, builder_.unary(Op::neg, arguments[0])));
    }
    if (name.text == "step") {  // 0 for x < 0, else 1
      expect_count(1);
      return builder_.binary(Op::ge, arguments[0], builder_.constant(0));
    }
    for (const Function& f : kFunctions) {
      if (f.name != name.text) continue;
      expect_count(info(f.op).arity);
      const auto argument = [&](std::size_t i) { return i < arguments.size() ? arguments[i] : kNone; };
      return builder_.make({f.op, argument(0), argument(1), argument(2), 0});
    }
    if (symbols_.count(std::string(name.text)) != 0) {
      tokens_.fail(name.at, std::string("'").append(name.text).append("' is a value, not a function"),
                   "write * between factors");
    }
    unknown_function(name);
  }

  std::vector<Id> argument_list() {
    std::vector<Id> arguments;
    tokens_.open();
    expect("(");
    if (!tokens_.is(")")) {
      do arguments.push_back(expression());
      while (tokens_.accept(","));
    }
    if (!tokens_.is(")")) unexpected("',' or ')'");
    expect_close(")");
    return arguments;
  }

  // --- unknown names ------------------------------------------------------------------------------

  static bool is_builtin(std::string_view name) {
    for (const Function& f : kFunctions) {
      if (f.name == name) return true;
    }
    return std::find(std::begin(kComposed), std::end(kComposed), name) != std::end(kComposed) ||
           name == "pi" || name == "e";
  }

  [[noreturn]] void unknown(const Token& name) {
    std::vector<std::string> names{"pi", "e"};
    for (const auto& [key, symbol] : symbols_) names.push_back(key);
    if (is_builtin(name.text)) {
      tokens_.fail(name.at, std::string("'").append(name.text).append("' is a function"),
                   "give it arguments in ( )");
    }
    const std::string near = nearest_name(name.text, names);
    tokens_.fail(name.at, std::string("unknown name '").append(name.text).append("'"),
                 near.empty() ? "" : "did you mean '" + near + "'?");
  }

  [[noreturn]] void unknown_function(const Token& name) {
    std::vector<std::string> names(std::begin(kComposed), std::end(kComposed));
    for (const Function& f : kFunctions) names.emplace_back(f.name);
    const std::string near = nearest_name(name.text, names);
    tokens_.fail(name.at, std::string("unknown function '").append(name.text).append("'"),
                 near.empty() ? "" : "did you mean '" + near + "'?");
  }

  Tokens tokens_;
  Builder builder_;
  std::map<std::string, Symbol> symbols_;
  std::vector<std::string> declared_;
  int depth_ = 0;
};

}  // namespace

Program parse_expression(std::string_view text, const std::vector<Field>& inputs, const TextOrigin& origin) {
  return Parser(text, inputs, origin).expression_program();
}

Program parse_equations(std::string_view text, const std::vector<Field>& inputs,
                        const std::vector<Field>& outputs, const TextOrigin& origin) {
  return Parser(text, inputs, origin).equations_program(outputs);
}

}  // namespace costate::ad
