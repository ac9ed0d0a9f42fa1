// ControlledSystem: a plant whose control is a function of its own state, y = step(x, u(k, x, w), p), or has
// one added to what it is given, y = step(x, u + r(k, x, w), p), where the system has controls of its own.
// Which function it is, a class below says: closed_loop.cpp (a network), program_policy.cpp (a recorded
// function). Here is what every one of them needs: the plant's step, and its derivatives chained with those
// of u.
#pragma once

#include <memory>
#include <utility>

#include "costate/core/aligned_buffer.h"
#include "costate/system/system.h"

namespace costate::learn {

// The plant's states and parameters, in its order: its own numbers come first.
Signature fields_without_controls(const Signature& plant);

template <class Real>
class ControlledSystem : public System<Real> {
 public:
  explicit ControlledSystem(std::shared_ptr<const System<Real>> plant) : plant_(std::move(plant)) {}

  const Signature& signature() const override { return signature_; }
  int lanes() const override { return plant_->lanes(); }
  // The policy reads the state, so a tape that could stand in for it saves nothing.
  TapePlan tape(const Activity& active, const TapeBudget& budget) const override {
    return plant_->tape(narrowed(active), {budget.numbers, true});
  }
  typename System<Real>::Capabilities capabilities() const override {
    auto c = plant_->capabilities();
    c.reversible = false;  // the control is that of the state before the step
    return c;
  }
  typename System<Real>::Fault fault(const Inputs<Real>& in, int lane) const override {
    return plant_->fault({in.x, nullptr, in.p}, lane);
  }
  // Nothing is held back: the policy adds to the cotangents of the plant's parameters too.
  void begin_run(const Real* p, Real*, const Activity& active, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    narrow(active, s.active);
    plant_->begin_run(p, nullptr, s.active, *s.plant);
  }
  void end_run(const Real* p, Real*, const Activity&, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    plant_->end_run(p, nullptr, s.active, *s.plant);
  }
  void energy(const Inputs<Real>& in, Real* value, Workspace& work) const override {
    plant_->energy({in.x, nullptr, in.p}, value, *static_cast<Scratch&>(work).plant);
  }

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    const LentDiagnostics lent(s.diagnostics, s.plant->diagnostics);
    control(at, in, s);
    add_given(in.u, s.u);
    plant_->step(at, {in.x, s.u.data(), in.p}, y, tape, *s.plant);
  }

  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                Real* y_dot, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    const LentDiagnostics lent(s.diagnostics, s.plant->diagnostics);
    control_jvp(at, in, in_dot, s);
    add_given(in.u, s.u), add_given(in_dot.u, s.u_dot);
    plant_->step_jvp(at, {in.x, s.u.data(), in.p}, {in_dot.x, s.u_dot.data(), in_dot.p}, y, y_dot, *s.plant);
  }

  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    const LentDiagnostics lent(s.diagnostics, s.plant->diagnostics);
    narrow(active, s.active);
    control(at, in, s);
    add_given(in.u, s.u);
    std::fill_n(s.u_bar.data(), plant_->control_size(), Real(0));
    plant_->step_vjp(at, {in.x, s.u.data(), in.p}, tape, y_bar, {bar.x, s.u_bar.data(), bar.p}, s.active,
                     *s.plant);
    add_given_vjp(s.u_bar, bar.u);
    control_vjp(at, in, bar, s);
  }

  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    const LentDiagnostics lent(s.diagnostics, s.plant->diagnostics);
    narrow(active, s.active);
    control_jvp(at, in, in_dot, s);
    add_given(in.u, s.u), add_given(in_dot.u, s.u_dot);
    std::fill_n(s.u_bar.data(), plant_->control_size(), Real(0));
    std::fill_n(s.u_bar_dot.data(), plant_->control_size(), Real(0));
    plant_->step_hvp(at, {in.x, s.u.data(), in.p}, {in_dot.x, s.u_dot.data(), in_dot.p}, y_bar, y_bar_dot,
                     {bar.x, s.u_bar.data(), bar.p}, {bar_dot.x, s.u_bar_dot.data(), bar_dot.p}, s.active,
                     *s.plant);
    add_given_vjp(s.u_bar, bar.u), add_given_vjp(s.u_bar_dot, bar_dot.u);
    control_hvp(at, in, in_dot, bar, bar_dot, s);
  }

 protected:
  struct Scratch : Workspace {
    explicit Scratch(const System<Real>& controlled)
        : plant(controlled.make_workspace()),
          u(controlled.control_size()),
          u_dot(controlled.control_size()),
          u_bar(controlled.control_size()),
          u_bar_dot(controlled.control_size()) {
      active.parameters.resize(controlled.signature().fields(Role::parameter).size());
    }
    std::unique_ptr<Workspace> plant;
    AlignedBuffer<Real> u, u_dot, u_bar, u_bar_dot;
    Activity active;  // as the plant counts its parameters
  };

  // Write s.u (and s.u_dot) of all lanes.
  virtual void control(const StepContext& at, const Inputs<Real>& in, Scratch& s) const = 0;
  virtual void control_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                           Scratch& s) const = 0;
  // Add what s.u_bar (and s.u_bar_dot) means for the inputs. bar.p may be null.
  virtual void control_vjp(const StepContext& at, const Inputs<Real>& in, const Cotangents<Real>& bar,
                           Scratch& s) const = 0;
  virtual void control_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                           const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                           Scratch& s) const = 0;

  std::shared_ptr<const System<Real>> plant_;
  Signature signature_;

 private:
  // The control that the system itself is given, and its transpose; nothing where it has none.
  void add_given(const Real* given, AlignedBuffer<Real>& to) const {
    for (std::int64_t i = 0; given && i < this->control_size(); ++i) to.data()[i] += given[i];
  }
  void add_given_vjp(const AlignedBuffer<Real>& u_bar, Real* given_bar) const {
    for (std::int64_t i = 0; given_bar && i < this->control_size(); ++i) given_bar[i] += u_bar.data()[i];
  }
  Activity narrowed(const Activity& all) const {
    Activity plant{std::vector<bool>(plant_->signature().fields(Role::parameter).size()), true};
    narrow(all, plant);
    return plant;
  }
  static void narrow(const Activity& all, Activity& plant) {
    for (std::size_t f = 0; f < plant.parameters.size(); ++f) plant.parameters[f] = all.parameters[f];
  }
};

}  // namespace costate::learn
