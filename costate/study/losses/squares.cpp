#include "costate/study/losses/squares.h"

#include "costate/ad/builder.h"
#include "costate/ad/derivative_rules.h"

namespace costate::study {
namespace {

// 1/2 (sum of squares); 0 of none.
ad::Program half_sum(ad::Builder& builder, const std::vector<ad::Id>& numbers) {
  const ad::Id two = builder.constant(2);
  ad::Id sum = numbers.empty() ? builder.constant(0) : builder.binary(ad::Op::pow, numbers[0], two);
  for (std::size_t i = 1; i < numbers.size(); ++i)
    sum = builder.binary(ad::Op::add, sum, builder.binary(ad::Op::pow, numbers[i], two));
  const std::vector<ad::Id> half = {builder.binary(ad::Op::mul, builder.constant(0.5), sum)};
  builder.output_field("value", half);
  return builder.finish();
}

}  // namespace

ad::Program squared_distance(const std::string& field, const std::vector<double>& target,
                             const std::vector<bool>& wanted) {
  ad::Builder builder;
  const ad::Id q = builder.input_field(field, int(target.size()));
  std::vector<ad::Id> misses;
  for (std::size_t i = 0; i < target.size(); ++i)
    if (wanted[i]) misses.push_back(builder.binary(ad::Op::sub, q + ad::Id(i), builder.constant(target[i])));
  return half_sum(builder, misses);
}

ad::Program squared_controls(const std::string& field, const std::vector<bool>& wanted) {
  ad::Builder builder;
  const ad::Id u = builder.input_field(field, int(wanted.size()));
  std::vector<ad::Id> chosen;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) chosen.push_back(u + ad::Id(i));
  return half_sum(builder, chosen);
}

ad::Program scaled(const ad::Program& program, double weight) {
  ad::Builder builder;
  const ad::Copy copy = ad::copy_into(builder, program);
  const ad::Id value = copy.value[program.outputs()[0]];
  const std::vector<ad::Id> product = {builder.binary(ad::Op::mul, builder.constant(weight), value)};
  builder.output_field("value", product);
  return builder.finish();
}

ad::Program with_constant(const ad::Program& program, const std::string& field, double value) {
  ad::Builder builder;
  std::vector<ad::Id> inputs;
  for (const ad::Field& f : program.input_fields()) {
    if (f.name == field) {
      inputs.push_back(builder.constant(value));
      continue;
    }
    const ad::Id first = builder.input_field(f.name, f.size);
    for (int i = 0; i < f.size; ++i) inputs.push_back(first + i);
  }
  builder.output_field("value", std::vector<ad::Id>{ad::splice(builder, program, inputs)});
  return builder.finish();
}

bool reads(const ad::Program& program, const std::string& field) {
  for (std::size_t f = 0; f < program.input_fields().size(); ++f) {
    if (program.input_fields()[f].name != field) continue;
    const int first = program.input_offset(int(f)), end = first + program.input_fields()[f].size;
    for (const ad::Node& n : program.nodes())
      if (n.op == ad::Op::input && n.value >= first && n.value < end) return true;
  }
  return false;
}

}  // namespace costate::study
