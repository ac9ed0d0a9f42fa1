// A Program as C++ source: one statement per node, in the order of the program. Truth values stay truth
// values (bool, or a mask when S is a Pack) until somebody computes with them.
#include <cmath>
#include <initializer_list>
#include <set>

#include "costate/ad/program.h"
#include "costate/core/error.h"
#include "costate/core/text.h"

namespace costate::ad {
namespace {

constexpr const char* kPrelude =
    "#pragma once\n"
    "#include <cmath>\n"
    "#if !defined(COSTATE_HD)\n"
    "#if defined(__CUDACC__)\n"
    "#define COSTATE_HD __host__ __device__\n"
    "#else\n"
    "#define COSTATE_HD\n"
    "#endif\n"
    "#endif\n\n"
    "#if !defined(COSTATE_EMITTED)\n"
    "#define COSTATE_EMITTED\n"
    "namespace costate_emitted {\n"
    "COSTATE_HD inline double select(bool c, double a, double b) { return c ? a : b; }\n"
    "COSTATE_HD inline float select(bool c, float a, float b) { return c ? a : b; }\n"
    "template <class S>\n"
    "COSTATE_HD inline S integer_power(S x, int n) {\n"
    "  S power(1);\n"
    "  for (unsigned k = n < 0 ? 0u - unsigned(n) : unsigned(n); k != 0; k >>= 1) {\n"
    "    if (k & 1) power = power * x;\n"
    "    if (k > 1) x = x * x;\n"
    "  }\n"
    "  return n < 0 ? S(1) / power : power;\n"
    "}\n"
    "}  // namespace costate_emitted\n"
    "#endif\n\n";

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

std::string literal(double value) {
  if (std::isnan(value)) return "S(NAN)";
  if (std::isinf(value)) return value > 0 ? "S(INFINITY)" : "S(-INFINITY)";
  std::string digits = number(value, 17);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return joined({"S(", digits, ")"});
}

bool is_identifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      return false;
  }
  return true;
}

// Field names such as "geom/foot/friction" become identifiers, each its own.
std::vector<std::string> parameter_names(const std::vector<Field>& fields, const char* prefix,
                                         std::set<std::string>& taken) {
  std::vector<std::string> names;
  for (const Field& field : fields) {
    std::string name = prefix;
    for (const char c : field.name) name += is_identifier(std::string("_") + c) ? c : '_';
    while (!taken.insert(name).second) name += "_";
    names.push_back(name);
  }
  return names;
}

class Emitter {
 public:
  Emitter(const Program& program, std::vector<std::string> inputs) : program_(program) {
    for (std::size_t f = 0; f < inputs.size(); ++f) {
      for (int i = 0; i < program.input_fields()[f].size; ++i) {
        input_.push_back(inputs[f] + "[" + std::to_string(i) + "]");
      }
    }
  }

  // As a number.
  std::string value(Id id) const {
    const Node& n = node(id);
    if (n.op == Op::constant) return literal(n.value);
    if (is_truth(n.op)) return joined({"select(", name(id), ", S(1), S(0))"});
    return name(id);
  }
  // As a truth value.
  std::string truth(Id id) const {
    return is_truth(node(id).op) ? name(id) : joined({"(", value(id), " != S(0))"});
  }

  std::string statement(Id id) const {
    const char* const type = is_truth(node(id).op) ? "const auto " : "const S ";
    return std::string("  ").append(type).append(name(id)).append(" = ").append(expression(id)).append(";\n");
  }

 private:
  const Node& node(Id id) const { return program_.nodes()[id]; }
  static std::string name(Id id) { return std::string("v").append(std::to_string(id)); }

  static const char* infix(Op op) {
    switch (op) {
      case Op::add:
        return " + ";
      case Op::sub:
        return " - ";
      case Op::mul:
        return " * ";
      case Op::div:
        return " / ";
      case Op::lt:
        return " < ";
      case Op::le:
        return " <= ";
      case Op::gt:
        return " > ";
      case Op::ge:
        return " >= ";
      case Op::eq:
        return " == ";
      case Op::ne:
        return " != ";
      default:
        return nullptr;
    }
  }

  std::string expression(Id id) const {
    const Node& n = node(id);
    if (n.op == Op::input) return input_[n.value];
    const auto operand = [&](int k) { return value(n.operand(k)); };
    if (infix(n.op) != nullptr) return joined({operand(0), infix(n.op), operand(1)});
    switch (n.op) {
      case Op::neg:
        return joined({"-", operand(0)});
      case Op::fma:
        return joined({"fma(", operand(0), ", ", operand(1), ", ", operand(2), ")"});
      case Op::fms:
        return joined({"fma(", operand(0), ", ", operand(1), ", -", operand(2), ")"});
      case Op::fnma:
        return joined({"fma(-", operand(0), ", ", operand(1), ", ", operand(2), ")"});
      case Op::powi:
        return joined({"integer_power(", operand(0), ", ", std::to_string(static_cast<int>(n.value)), ")"});
      case Op::sign: {
        const std::string x = operand(0);
        return joined({"select(", x, " > S(0), S(1), select(", x, " < S(0), S(-1), ", x, "))"});
      }
      // A NaN on either side stays.
      case Op::min:
      case Op::max: {
        const std::string x = operand(0), y = operand(1);
        const char* const before = n.op == Op::min ? " < " : " > ";
        return joined({"select((", y, before, x, ") | (", y, " != ", y, "), ", y, ", ", x, ")"});
      }
      // & and |: a mask has no short circuit, and both sides are values already computed.
      case Op::logical_and:
        return joined({"(", truth(n.a), " & ", truth(n.b), ")"});
      case Op::logical_or:
        return joined({"(", truth(n.a), " | ", truth(n.b), ")"});
      case Op::logical_not:
        return joined({"!", truth(n.a)});
      case Op::select:
        return joined({"select(", truth(n.a), ", ", operand(1), ", ", operand(2), ")"});
      case Op::gated_mul:
        return joined({operand(0), " * select(", operand(0), " == S(0), S(0), ", operand(1), ")"});
      default: {
        const std::string second = info(n.op).arity > 1 ? joined({", ", operand(1)}) : "";
        return joined({info(n.op).name, "(", operand(0), second, ")"});
      }
    }
  }

  const Program& program_;
  std::vector<std::string> input_;
};

}  // namespace

std::string emit_cpp(const Program& source, std::string_view function_name) {
  if (!is_identifier(function_name))
    throw Error("'" + std::string(function_name) + "' is not a C++ function name");
  const Program program = fuse(source);
  std::set<std::string> taken;
  const std::vector<std::string> inputs = parameter_names(program.input_fields(), "in_", taken);
  const std::vector<std::string> outputs = parameter_names(program.output_fields(), "out_", taken);

  std::string text = kPrelude;
  std::string parameters;
  const auto document = [&](const std::vector<Field>& fields, const std::vector<std::string>& names,
                            const char* type) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      text.append("// ").append(names[f]).append("[").append(std::to_string(fields[f].size)).append("]: ");
      for (const char c : fields[f].name) text += c == '\n' || c == '\r' || c == '\\' ? ' ' : c;
      text += "\n";
      parameters.append(parameters.empty() ? "" : ", ").append(type).append(names[f]);
    }
  };
  document(program.input_fields(), inputs, "[[maybe_unused]] const S* ");
  document(program.output_fields(), outputs, "S* ");

  text.append("template <class S>\nCOSTATE_HD inline void ")
      .append(function_name)
      .append("(")
      .append(parameters);
  text += ") {\n  using namespace costate_emitted;\n  using namespace std;\n";
  const Emitter emitter(program, inputs);
  for (std::size_t i = 0; i < program.nodes().size(); ++i) {
    if (program.nodes()[i].op != Op::constant) text += emitter.statement(static_cast<Id>(i));
  }
  std::size_t k = 0;
  for (std::size_t f = 0; f < outputs.size(); ++f) {
    for (int i = 0; i < program.output_fields()[f].size; ++i) {
      text.append("  ").append(outputs[f]).append("[").append(std::to_string(i)).append("] = ");
      text.append(emitter.value(program.outputs()[k++])).append(";\n");
    }
  }
  return text + "}\n";
}

}  // namespace costate::ad
