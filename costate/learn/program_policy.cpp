#include "costate/learn/program_policy.h"

#include "costate/ad/derivative.h"
#include "costate/ad/executable.h"
#include "costate/core/error.h"
#include "costate/learn/controlled_system.h"
#include "costate/system/program/bind_program.h"

namespace costate::learn {
namespace {

// Over the numbers of a block: inputs "x", "p/...", "k", output "u".
ad::Program bind_policy(const Signature& fields, const ad::Program& source, std::int64_t controls) {
  ad::Builder builder;
  const BoundInputs inputs = declare_inputs(builder, fields);
  const std::vector<ad::Id> outputs = call(builder, source, fields, inputs);
  if (std::int64_t(outputs.size()) != controls)
    throw Error("the policy returns " + std::to_string(outputs.size()) + " numbers; the plant has " +
                std::to_string(controls) + " controls");
  builder.output_field("u", outputs);
  return builder.finish();
}

template <class Real>
class ProgramLoop final : public ControlledSystem<Real> {
  using Base = ControlledSystem<Real>;
  using AnyScratch = typename Base::Scratch;
  static constexpr Real kZero = 0;

  // An input field of the program other than k.
  struct Slot {
    Role role;
    std::int64_t offset;
    bool read;
  };
  // Cotangents of the states alone, or of the parameters too, and these with their rates.
  struct Transpose {
    bool exists = false;
    ad::Executable value, with_rate;
  };
  struct Scratch : Base::Scratch {
    explicit Scratch(const System<Real>& controlled) : Base::Scratch(controlled) {}
    std::vector<ad::InputBlock<Real>> inputs;
    std::vector<ad::OutputBlock<Real>> outputs;
    AlignedBuffer<std::byte> bytes;
    Real k = 0;
  };

 public:
  ProgramLoop(std::shared_ptr<const System<Real>> plant, const Signature& weights, const ad::Program& source,
              bool keeps_controls)
      : Base(std::move(plant)) {
    const Signature& own = this->plant_->signature();
    if (own.controls() == 0) throw Error("there is nothing to control: the plant has no controls");
    this->signature_ = policy_signature(own, weights);
    const ad::Program policy = bind_policy(this->signature_, source, own.controls());
    find_slots(policy);
    if (keeps_controls) this->signature_.add(Role::control, own.fields(Role::control));
    ad::DerivativeOptions moving;
    for (std::size_t f = 0; f < slots_.size(); ++f) moving.active.push_back(policy.input_fields()[f].name);
    value_ = ad::Executable(policy);
    tangent_ = ad::Executable(ad::jvp(policy, moving));
    moving.active.push_back("u_bar");
    for (const bool parameters : {false, true}) {
      ad::DerivativeOptions active;
      for (std::size_t f = 0; f < slots_.size(); ++f) {
        if (slots_[f].read && (parameters || slots_[f].role == Role::state))
          active.active.push_back(policy.input_fields()[f].name);
      }
      if (active.active.empty()) continue;
      const ad::Program transpose = ad::vjp(policy, active);
      transposes_[parameters] = {true, ad::Executable(transpose), ad::Executable(ad::jvp(transpose, moving))};
    }
  }

  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Scratch>(*this->plant_);
  }
  using Base::lanes;

 private:
  void find_slots(const ad::Program& policy) {
    slots_.push_back({Role::state, 0, false});
    for (const Field& field : this->signature_.fields(Role::parameter))
      slots_.push_back({Role::parameter, field.offset, false});
    for (std::size_t f = 0; f < slots_.size(); ++f) {
      const int first = policy.input_offset(int(f)), end = first + policy.input_fields()[f].size;
      for (const ad::Node& n : policy.nodes())
        slots_[f].read |= n.op == ad::Op::input && n.value >= first && n.value < end;
    }
  }

  void add_inputs(const Inputs<Real>& in, Scratch& s) const {
    for (const Slot& slot : slots_) {
      const Real* const data = slot.role == Role::state ? in.x : in.p;
      if (slot.read && data)
        s.inputs.push_back({data + slot.offset * lanes(), lanes(), false});
      else
        s.inputs.push_back({&kZero, 0, true});
    }
  }
  void add_outputs(const Cotangents<Real>& bar, bool parameters, Scratch& s) const {
    for (const Slot& slot : slots_) {
      if (!slot.read || (slot.role == Role::parameter && !parameters)) continue;
      Real* const data = slot.role == Role::state ? bar.x : bar.p;
      s.outputs.push_back({data + slot.offset * lanes(), lanes(), true});
    }
  }
  Scratch& begin(const StepContext& at, const Inputs<Real>& in, AnyScratch& scratch) const {
    auto& s = static_cast<Scratch&>(scratch);
    s.inputs.clear();
    s.outputs.clear();
    s.k = static_cast<Real>(at.k);
    add_inputs(in, s);
    s.inputs.push_back({&s.k, 1, true});
    return s;
  }
  void run(const ad::Executable& code, Scratch& s) const {
    s.bytes.reserve(std::int64_t(code.template scratch_bytes<Real>()));
    code.template run<Real>(s.inputs, s.outputs, lanes(), {s.bytes.data(), std::size_t(s.bytes.capacity())});
  }

  void control(const StepContext& at, const Inputs<Real>& in, AnyScratch& scratch) const override {
    Scratch& s = begin(at, in, scratch);
    s.outputs.push_back({s.u.data(), lanes(), false});
    run(value_, s);
  }
  void control_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                   AnyScratch& scratch) const override {
    Scratch& s = begin(at, in, scratch);
    add_inputs(in_dot, s);
    s.outputs.push_back({s.u.data(), lanes(), false});
    s.outputs.push_back({s.u_dot.data(), lanes(), false});
    run(tangent_, s);
  }
  void control_vjp(const StepContext& at, const Inputs<Real>& in, const Cotangents<Real>& bar,
                   AnyScratch& scratch) const override {
    const Transpose& transpose = transposes_[bar.p != nullptr];
    if (!transpose.exists) return;
    Scratch& s = begin(at, in, scratch);
    s.inputs.push_back({s.u_bar.data(), lanes(), false});
    add_outputs(bar, bar.p != nullptr, s);
    run(transpose.value, s);
  }
  void control_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                   const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                   AnyScratch& scratch) const override {
    const Transpose& transpose = transposes_[bar.p != nullptr];
    if (!transpose.exists) return;
    Scratch& s = begin(at, in, scratch);
    s.inputs.push_back({s.u_bar.data(), lanes(), false});
    add_inputs(in_dot, s);
    s.inputs.push_back({s.u_bar_dot.data(), lanes(), false});
    add_outputs(bar, bar.p != nullptr, s);
    add_outputs(bar_dot, bar.p != nullptr, s);
    run(transpose.with_rate, s);
  }

  std::vector<Slot> slots_;
  ad::Executable value_, tangent_;
  Transpose transposes_[2];
};

}  // namespace

Signature policy_signature(const Signature& plant, const Signature& weights) {
  return fields_without_controls(plant).add(Role::parameter, weights.fields(Role::parameter));
}

namespace {

template <class Real>
std::shared_ptr<System<Real>> loop_of(std::shared_ptr<const System<Real>> plant, const Signature& weights,
                                      const ad::Program& program, bool residual) {
  return std::make_shared<ProgramLoop<Real>>(std::move(plant), weights, program, residual);
}

}  // namespace

template <class Real>
std::shared_ptr<System<Real>> closed_loop(std::shared_ptr<const System<Real>> plant, const Signature& weights,
                                          const ad::Program& policy) {
  return loop_of(std::move(plant), weights, policy, false);
}
template <class Real>
std::shared_ptr<System<Real>> hybrid(std::shared_ptr<const System<Real>> plant, const Signature& weights,
                                     const ad::Program& residual) {
  return loop_of(std::move(plant), weights, residual, true);
}
template std::shared_ptr<System<float>> hybrid(std::shared_ptr<const System<float>>, const Signature&,
                                               const ad::Program&);
template std::shared_ptr<System<double>> hybrid(std::shared_ptr<const System<double>>, const Signature&,
                                                const ad::Program&);
template std::shared_ptr<System<float>> closed_loop(std::shared_ptr<const System<float>>, const Signature&,
                                                    const ad::Program&);
template std::shared_ptr<System<double>> closed_loop(std::shared_ptr<const System<double>>, const Signature&,
                                                     const ad::Program&);

}  // namespace costate::learn
