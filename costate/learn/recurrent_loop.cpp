#include "costate/learn/recurrent_loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "costate/core/error.h"
#include "costate/learn/controlled_system.h"
#include "costate/learn/network_start.h"
#include "costate/learn/strided_dual.h"

namespace costate::learn {
namespace {

RecurrentLayout join(const Signature& plant, const RecurrentNetwork& network, Signature& fields) {
  check_plant(plant, network.observations);
  if (network.memory < 1 || network.observations.empty())
    throw Error("a policy with a memory needs at least one number to remember and one observation");
  RecurrentLayout n;
  n.inputs = int(network.observations.size()), n.memory = network.memory, n.outputs = int(plant.controls());
  n.observations = network.observations;
  const std::int64_t m = n.memory;
  fields.add(Role::state, plant.fields(Role::state)).state("policy/memory", m);
  fields.add(Role::parameter, plant.fields(Role::parameter));
  fields.parameter("policy/W", first_weights(network.seed, 1, 3 * m, n.inputs));
  fields.parameter("policy/U", first_weights(network.seed, 2, 3 * m, m));
  std::vector<double> b(std::size_t(3 * m));
  std::fill_n(b.begin() + m, m, 1.0);  // of z: at first memory lasts
  fields.parameter("policy/b", b);
  fields.parameter_field("policy/d", m, 0);
  fields.parameter("policy/V", first_weights(network.seed, 3, n.outputs, m));
  fields.parameter_field("policy/e", n.outputs, 0);
  const auto at = [&](const char* name) { return fields.find(Role::parameter, name).offset; };
  n.w = at("policy/W"), n.u = at("policy/U"), n.b = at("policy/b"), n.d = at("policy/d");
  n.v = at("policy/V"), n.e = at("policy/e");
  return n;
}

// The plant's states come first in a block, so that its pointers serve the plant as they are.
template <class Real, class S>
class RecurrentLoop final : public ControlledSystem<Real> {
  using Base = ControlledSystem<Real>;
  using Tangent = Dual<S>;
  static constexpr int kWidth = lanes_of<S>;

  struct Scratch : Base::Scratch {
    explicit Scratch(const RecurrentLoop& loop)
        : Base::Scratch(*loop.plant_),
          values(loop.layout_),
          tangents(loop.layout_),
          after(std::size_t(loop.layout_.memory * loop.lanes())),
          after_dot(std::size_t(loop.layout_.memory * loop.lanes())) {}
    RecurrentActivations<S> values;
    RecurrentActivations<Tangent> tangents;
    AlignedBuffer<Real> after, after_dot;  // the memory afterwards
    // Cotangents of the memory afterwards, of the step whose transpose is under way.
    const Real *after_bar = nullptr, *after_bar_dot = nullptr;
  };
  using AnyScratch = typename Base::Scratch;

 public:
  RecurrentLoop(std::shared_ptr<const System<Real>> plant, const RecurrentNetwork& network)
      : Base(std::move(plant)), layout_(join(this->plant_->signature(), network, this->signature_)) {}

  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(*this); }
  using Base::lanes;

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& work) const override {
    Base::step(at, in, y, tape, work);
    leave(static_cast<Scratch&>(work).after, y);
  }
  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                Real* y_dot, Workspace& work) const override {
    Base::step_jvp(at, in, in_dot, y, y_dot, work);
    auto& s = static_cast<Scratch&>(work);
    leave(s.after, y), leave(s.after_dot, y_dot);
  }
  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    static_cast<Scratch&>(work).after_bar = y_bar + memory();
    Base::step_vjp(at, in, tape, y_bar, bar, active, work);
  }
  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    s.after_bar = y_bar + memory(), s.after_bar_dot = y_bar_dot + memory();
    Base::step_hvp(at, in, in_dot, y_bar, y_bar_dot, bar, bar_dot, active, work);
  }

 private:
  // Where the memory begins in a block.
  std::int64_t memory() const { return this->plant_->state_size(); }
  void leave(const AlignedBuffer<Real>& after, Real* y) const {
    std::copy_n(after.data(), std::int64_t(layout_.memory) * lanes(), y + memory());
  }

  void control(const StepContext&, const Inputs<Real>& in, AnyScratch& scratch) const override {
    auto& s = static_cast<Scratch&>(scratch);
    for (int first = 0; first < lanes(); first += kWidth) {
      values(in, first, s);
      write(s.values.u, s.u.data(), first), write(s.values.after, s.after.data(), first);
    }
  }
  void control_jvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                   AnyScratch& scratch) const override {
    auto& s = static_cast<Scratch&>(scratch);
    for (int first = 0; first < lanes(); first += kWidth) {
      tangents(in, in_dot, first, s);
      write(s.tangents.u, s.u.data(), s.u_dot.data(), first);
      write(s.tangents.after, s.after.data(), s.after_dot.data(), first);
    }
  }
  void control_vjp(const StepContext&, const Inputs<Real>& in, const Cotangents<Real>& bar,
                   AnyScratch& scratch) const override {
    auto& s = static_cast<Scratch&>(scratch);
    for (int first = 0; first < lanes(); first += kWidth) {
      values(in, first, s);
      recurrent_vjp<S>(layout_, strided(in.x + memory(), first), strided(in.p, first),
                       strided(s.u_bar.data(), first), strided(s.after_bar, first), strided(bar.x, first),
                       strided(bar.x + memory(), first),
                       Wanted<Strided<S>>{strided(bar.p, first), bar.p != nullptr}, s.values);
    }
  }
  void control_hvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                   const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                   AnyScratch& scratch) const override {
    auto& s = static_cast<Scratch&>(scratch);
    for (int first = 0; first < lanes(); first += kWidth) {
      tangents(in, in_dot, first, s);
      recurrent_vjp<Tangent>(
          layout_, strided(in.x + memory(), memory_of(in_dot.x), first), strided(in.p, in_dot.p, first),
          strided(s.u_bar.data(), s.u_bar_dot.data(), first), strided(s.after_bar, s.after_bar_dot, first),
          strided(bar.x, bar_dot.x, first), strided(bar.x + memory(), bar_dot.x + memory(), first),
          Wanted<StridedDual<S>>{strided(bar.p, bar_dot.p, first), bar.p != nullptr}, s.tangents);
    }
  }

  void values(const Inputs<Real>& in, int first, Scratch& s) const {
    recurrent(layout_, strided(in.x, first), strided(in.x + memory(), first), strided(in.p, first), s.values);
  }
  void tangents(const Inputs<Real>& in, const Inputs<Real>& in_dot, int first, Scratch& s) const {
    recurrent(layout_, strided(in.x, in_dot.x, first), strided(in.x + memory(), memory_of(in_dot.x), first),
              strided(in.p, in_dot.p, first), s.tangents);
  }
  const Real* memory_of(const Real* x_dot) const { return x_dot ? x_dot + memory() : nullptr; }
  Strided<S> strided(const Real* block, int first) const { return lanes_from<S>(first, lanes(), block); }
  StridedDual<S> strided(const Real* value, const Real* tangent, int first) const {
    return lanes_from<S>(first, lanes(), value, tangent);
  }
  void write(const std::vector<S>& from, Real* to, int first) const {
    for (std::size_t i = 0; i < from.size(); ++i) store<S>(to + std::int64_t(i) * lanes() + first, from[i]);
  }
  void write(const std::vector<Tangent>& from, Real* to, Real* to_dot, int first) const {
    for (std::size_t i = 0; i < from.size(); ++i) {
      store<S>(to + std::int64_t(i) * lanes() + first, from[i].v);
      store<S>(to_dot + std::int64_t(i) * lanes() + first, from[i].d[0]);
    }
  }

  RecurrentLayout layout_;
};

}  // namespace

template <class Real>
std::shared_ptr<System<Real>> closed_loop(std::shared_ptr<const System<Real>> plant,
                                          const RecurrentNetwork& network) {
  if (plant->lanes() % kNativeLanes<Real> == 0)
    return std::make_shared<RecurrentLoop<Real, NativePack<Real>>>(std::move(plant), network);
  return std::make_shared<RecurrentLoop<Real, Real>>(std::move(plant), network);
}
template std::shared_ptr<System<float>> closed_loop<float>(std::shared_ptr<const System<float>>,
                                                           const RecurrentNetwork&);
template std::shared_ptr<System<double>> closed_loop<double>(std::shared_ptr<const System<double>>,
                                                             const RecurrentNetwork&);

}  // namespace costate::learn
