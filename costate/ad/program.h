// Program: straight-line code over real numbers, the form in which user physics is differentiated.
//
// A program is a list of nodes, each an operation on earlier nodes (static single assignment), with named
// inputs and outputs. It is made by recording a generic C++ function (record.h), by parsing text (parse.h) or
// by a Builder; differentiated into further programs (derivative.h); run for one world or many
// (executable.h); or written out as C++/CUDA source (emit_cpp). It is a value: copied, compared, never
// changed once made.
//
//   Program f   = parse_expression("a*x - b*x*y", {{"x"}, {"y"}, {"a"}, {"b"}});
//   Program f_t = vjp(f);           // inputs x, y, a, b, value_bar; outputs x_bar, y_bar, a_bar, b_bar
//
// Tests: tests/ad/program_test.cpp. Guide: docs/program.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "costate/ad/op.h"

namespace costate::ad {

using Id = std::int32_t;  // index of a node
inline constexpr Id kNone = -1;

struct Node {
  Op op = Op::constant;
  Id a = kNone, b = kNone, c = kNone;  // operands
  double value = 0;  // constant: its value; powi: the exponent; input: position among all inputs

  Id operand(int i) const { return i == 0 ? a : i == 1 ? b : c; }
};

// A named array of inputs or outputs. A scalar has size 1.
struct Field {
  std::string name;
  int size = 1;
  friend bool operator==(const Field&, const Field&) = default;
};

class Program {
 public:
  // `outputs` are nodes, in the order of the elements of `output_fields`. Builder::finish is the usual way
  // here.
  Program() = default;
  Program(std::vector<Node> nodes, std::vector<Field> input_fields, std::vector<Field> output_fields,
          std::vector<Id> outputs);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Field>& input_fields() const { return input_fields_; }
  const std::vector<Field>& output_fields() const { return output_fields_; }
  const std::vector<Id>& outputs() const { return outputs_; }

  int input_count() const { return input_count_; }  // elements of all input fields
  int output_count() const { return static_cast<int>(outputs_.size()); }

  // Place of a field among the fields. Error naming the fields there are if `name` is none of them.
  int input_field(std::string_view name) const;
  int output_field(std::string_view name) const;
  // Position of the first element of a field among all inputs (outputs).
  int input_offset(int field) const { return input_offsets_[field]; }
  int output_offset(int field) const { return output_offsets_[field]; }

 private:
  std::vector<Node> nodes_;
  std::vector<Field> input_fields_, output_fields_;
  std::vector<int> input_offsets_, output_offsets_;
  std::vector<Id> outputs_;
  int input_count_ = 0;
};

// Listing for people: one line per node, as in `%7 = mul %3 %5`, with names for inputs and outputs.
std::string to_string(const Program& program);

// The same program with products fused into the sums that are their only use (fma, fms, fnma): fewer
// instructions, one rounding less. What the interpreter runs and what emit_cpp writes.
Program fuse(const Program& program);

// C++ source of `template <class S> void name(const S* <input field>..., S* <output field>...)`. Needs no
// costate header; compiles as CUDA device code too. Same numbers as the interpreter up to the rounding of the
// math library.
std::string emit_cpp(const Program& program, std::string_view function_name);

}  // namespace costate::ad
