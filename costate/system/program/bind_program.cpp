#include "costate/system/program/bind_program.h"

#include <algorithm>
#include <type_traits>

#include "costate/ad/parse.h"
#include "costate/ad/record.h"
#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate {
namespace {

using ad::Builder;
using ad::Id;
using ad::Program;
using ad::Var;

constexpr Role kRoles[] = {Role::state, Role::control, Role::parameter};

const std::vector<Id>& numbers_of(const BoundInputs& inputs, Role role) {
  return role == Role::state ? inputs.x : role == Role::control ? inputs.u : inputs.p;
}

std::vector<std::string> all_names(const Signature& signature) {
  std::vector<std::string> names;
  for (const Role role : kRoles) {
    for (const Field& field : signature.fields(role)) names.push_back(field.name);
  }
  return names;
}

bool has_name(const Signature& signature, std::string_view name) {
  const auto names = all_names(signature);
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The nodes that an input field of a user's program stands for.
std::vector<Id> resolve(const ad::Field& wanted, const Signature& signature, const BoundInputs& inputs) {
  for (const Role role : kRoles) {
    const Field* field = signature.find_if(role, wanted.name);
    if (field == nullptr || field->size != wanted.size) continue;
    const auto first = numbers_of(inputs, role).begin() + field->offset;
    return {first, first + field->size};
  }
  for (const Role role : kRoles) {
    const char* name = role == Role::state ? "x" : role == Role::control ? "u" : "p";
    const auto size = signature.total(role);
    if (wanted.name != name || wanted.size != size) continue;
    const auto& numbers = numbers_of(inputs, role);
    return {numbers.begin(), numbers.begin() + size};
  }
  if (wanted.name == "k" && wanted.size == 1) return {inputs.k};
  if (wanted.name == "t" && wanted.size == 1) {
    if (inputs.t != ad::kNone) return {inputs.t};
    throw Error({"the program reads the time t, but there is no parameter 'dt' to count it with",
                 {},
                 "read the number of the step, k, or add a parameter dt"});
  }
  for (const auto& [name, nodes] : inputs.others) {
    if (wanted.name == name && wanted.size == static_cast<int>(nodes.size())) return nodes;
  }
  std::string advice = "the fields are";
  const char* separator = " ";
  for (const std::string& name : nearest_names(wanted.name, all_names(signature))) {
    advice += separator + ("'" + name + "'");
    separator = ", ";
  }
  throw Error({"the program reads '" + wanted.name + "' with " + std::to_string(wanted.size) +
                   (wanted.size == 1 ? " element" : " elements") +
                   ", which is no state, control or parameter of that size",
               {},
               advice});
}

// The nodes of the states' new values (or rates), in the order of the states.
std::vector<Id> by_state(const Signature& signature, const Program& source, const std::vector<Id>& outputs,
                         const std::string& suffix) {
  if (source.output_fields().size() == 1 && source.output_count() == signature.states()) return outputs;
  std::vector<Id> result;
  for (const Field& field : signature.fields(Role::state)) {
    const int place = source.output_field(field.name + suffix);
    const int size = source.output_fields()[place].size;
    if (size != field.size) {
      throw Error("the program gives " + std::to_string(size) + " numbers for the state '" + field.name +
                  "' of size " + std::to_string(field.size));
    }
    const auto first = outputs.begin() + source.output_offset(place);
    result.insert(result.end(), first, first + size);
  }
  return result;
}

const char* suffix_of(const Scheme& scheme) {
  return std::holds_alternative<NextState>(scheme) ? "_next" : "_dot";
}

// A state of recorded numbers, as the integrators compute with it.
struct States {
  std::vector<Var> e;
  friend States operator+(States a, const States& b) {
    for (std::size_t i = 0; i < a.e.size(); ++i) a.e[i] += b.e[i];
    return a;
  }
  friend States operator*(Var s, States a) {
    for (Var& v : a.e) v = s * v;
    return a;
  }
};

}  // namespace

BoundInputs declare_inputs(Builder& builder, const Signature& signature) {
  BoundInputs inputs;
  const auto declare = [&](std::vector<Id>& to, const std::string& name, std::int64_t size) {
    const Id first = builder.input_field(name, static_cast<int>(size));
    for (std::int64_t i = 0; i < size; ++i) to.push_back(first + static_cast<Id>(i));
  };
  declare(inputs.x, "x", signature.states());
  if (signature.controls() > 0) declare(inputs.u, "u", signature.controls());
  for (const Field& field : signature.fields(Role::parameter))
    declare(inputs.p, "p/" + field.name, field.size);
  inputs.k = builder.input_field("k");
  if (const Field* dt = signature.find_if(Role::parameter, "dt")) {
    inputs.t = builder.binary(ad::Op::mul, inputs.k, inputs.p[dt->offset]);
    if (const Field* t0 = signature.find_if(Role::parameter, "t0"))
      inputs.t = builder.binary(ad::Op::add, inputs.p[t0->offset], inputs.t);
  }
  return inputs;
}

std::vector<Id> call(Builder& builder, const Program& program, const Signature& signature,
                     const BoundInputs& inputs) {
  std::vector<Id> arguments;
  for (const ad::Field& field : program.input_fields()) {
    const std::vector<Id> nodes = resolve(field, signature, inputs);
    arguments.insert(arguments.end(), nodes.begin(), nodes.end());
  }
  std::vector<Id> copy;
  const auto moved = [&](Id id) { return id == ad::kNone ? id : copy[id]; };
  for (const ad::Node& n : program.nodes()) {
    if (n.op == ad::Op::input) {
      copy.push_back(arguments[n.value]);
    } else if (n.op == ad::Op::constant) {
      copy.push_back(builder.constant(n.value));
    } else {
      copy.push_back(builder.make({n.op, moved(n.a), moved(n.b), moved(n.c), n.value}));
    }
  }
  std::vector<Id> outputs;
  for (const Id id : program.outputs()) outputs.push_back(moved(id));
  return outputs;
}

std::vector<ad::Field> names_of(const Signature& signature, bool timed) {
  std::vector<ad::Field> names;
  for (const Role role : kRoles) {
    for (const Field& field : signature.fields(role))
      names.push_back({field.name, static_cast<int>(field.size)});
  }
  if (!has_name(signature, "k")) names.push_back({"k", 1});
  if (timed && !has_name(signature, "t")) names.push_back({"t", 1});
  return names;
}

bool reads_time(const Signature& signature, const Program& program) {
  if (has_name(signature, "t")) return false;
  for (std::size_t f = 0; f < program.input_fields().size(); ++f) {
    if (program.input_fields()[f].name != "t") continue;
    const int place = program.input_offset(static_cast<int>(f));
    for (const ad::Node& n : program.nodes()) {
      if (n.op == ad::Op::input && n.value == place) return true;
    }
  }
  return false;
}

Signature with_time_step(Signature signature, const Scheme& scheme, bool timed) {
  const auto add = [&](double dt) {
    signature.parameter("dt", dt, "s");
    if (timed) signature.parameter("t0", 0.0, "s");
  };
  if (!std::holds_alternative<NextState>(scheme)) add(rows_of(scheme).dt);
  return signature;
}

Program bind_step(const Signature& signature, const Program& source, const Scheme& scheme) {
  Builder builder;
  const Signature full = with_time_step(signature, scheme, reads_time(signature, source));
  const BoundInputs inputs = declare_inputs(builder, full);
  const auto value = [&](const BoundInputs& at) {
    return by_state(signature, source, call(builder, source, signature, at), suffix_of(scheme));
  };

  const auto integrate = [&](const auto& method) {
    const auto rate = [&](Var t, const States& x) {
      BoundInputs at = inputs;
      at.t = t.id_in(builder);
      for (std::size_t i = 0; i < x.e.size(); ++i) at.x[i] = x.e[i].id_in(builder);
      States result;
      for (const Id id : value(at)) result.e.emplace_back(builder, id);
      return result;
    };
    States x;
    for (const Id id : inputs.x) x.e.emplace_back(builder, id);
    const std::size_t dt = full.find(Role::parameter, "dt").offset;
    std::vector<Id> ids;
    for (const Var& v : method.step(rate, Var(builder, inputs.t), Var(builder, inputs.p[dt]), x).e)
      ids.push_back(v.id_in(builder));
    return ids;
  };
  const auto next = [&](const auto& method) {
    if constexpr (std::is_same_v<std::decay_t<decltype(method)>, NextState>)
      return value(inputs);
    else
      return integrate(method);
  };
  builder.output_field("y", std::visit(next, scheme));
  return builder.finish();
}

Program parse_step(const Signature& signature, std::string_view text, const Scheme& scheme) {
  std::vector<ad::Field> outputs;
  for (const Field& field : signature.fields(Role::state))
    outputs.push_back({field.name + suffix_of(scheme), static_cast<int>(field.size)});
  const bool timed =
      !std::holds_alternative<NextState>(scheme) || signature.find_if(Role::parameter, "dt") != nullptr;
  return ad::parse_equations(text, names_of(signature, timed), outputs,
                             {.name = "equations", .line = 1, .column = 1});
}

}  // namespace costate
