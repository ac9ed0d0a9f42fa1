#include "costate/learn/closed_loop.h"

#include <cmath>
#include <string>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/learn/controlled_system.h"
#include "costate/learn/network_start.h"
#include "costate/learn/strided_dual.h"

namespace costate::learn {
namespace {

PolicyLayout join(const Signature& plant, const PolicyNetwork& network, Signature& fields) {
  check_plant(plant, network.observations);
  if (network.hidden < 1 || network.waves < 0)
    throw Error("a network needs a hidden layer, and waves that can be counted");
  if (network.waves > 0 && !plant.find_if(Role::parameter, "dt"))
    throw Error({"waves need the time, and the plant has no parameter \"dt\"", {}, "set waves to 0"});
  PolicyLayout n;
  n.waves = network.waves;
  n.inputs = network.waves + int(network.observations.size());
  n.hidden = network.hidden;
  n.outputs = int(plant.controls());
  n.observations = network.observations;
  if (n.inputs == 0) throw Error("a network that sees neither waves nor observations");
  fields = fields_without_controls(plant);
  if (n.waves > 0) fields.parameter("policy/omega", network.omega, "rad/s");
  fields.parameter("policy/w1", first_weights(network.seed, 1, n.hidden, n.inputs));
  fields.parameter_field("policy/b1", n.hidden, 0);
  fields.parameter("policy/w2", first_weights(network.seed, 2, n.outputs, n.hidden));
  fields.parameter_field("policy/b2", n.outputs, 0);
  const auto at = [&](const char* name) { return fields.find(Role::parameter, name).offset; };
  if (n.waves > 0) n.dt = at("dt"), n.omega = at("policy/omega");
  n.w1 = at("policy/w1"), n.b1 = at("policy/b1"), n.w2 = at("policy/w2"), n.b2 = at("policy/b2");
  return n;
}

template <class Real, class S>
class ClosedLoop final : public ControlledSystem<Real> {
  using Base = ControlledSystem<Real>;
  using Tangent = Dual<S>;
  static constexpr int kWidth = lanes_of<S>;

  struct Scratch : Base::Scratch {
    explicit Scratch(const ClosedLoop& loop)
        : Base::Scratch(*loop.plant_), values(loop.layout_), tangents(loop.layout_) {}
    PolicyActivations<S> values;
    PolicyActivations<Tangent> tangents;
  };
  using AnyScratch = typename Base::Scratch;

 public:
  ClosedLoop(std::shared_ptr<const System<Real>> plant, const PolicyNetwork& network)
      : Base(std::move(plant)), layout_(join(this->plant_->signature(), network, this->signature_)) {}

  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(*this); }
  using Base::lanes;

 private:
  void control(const StepContext& at, const Inputs<Real>& in, AnyScratch& scratch) const override {
    auto& s = static_cast<Scratch&>(scratch);
    for (int first = 0; first < lanes(); first += kWidth) {
      policy(layout_, at.k, strided(in.x, first), strided(in.p, first), s.values);
      write(s.values.u, s.u.data(), first);
    }
  }
  void control_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                   AnyScratch& scratch) const override {
    auto& s = static_cast<Scratch&>(scratch);
    for (int first = 0; first < lanes(); first += kWidth) control_and_tangent(at, in, in_dot, first, s);
  }
  void control_vjp(const StepContext& at, const Inputs<Real>& in, const Cotangents<Real>& bar,
                   AnyScratch& scratch) const override {
    auto& s = static_cast<Scratch&>(scratch);
    for (int first = 0; first < lanes(); first += kWidth) {
      if (lanes() > kWidth) policy(layout_, at.k, strided(in.x, first), strided(in.p, first), s.values);
      policy_vjp<S>(layout_, at.k, strided(in.p, first), strided(s.u_bar.data(), first),
                    strided(bar.x, first), Wanted<Strided<S>>{strided(bar.p, first), bar.p != nullptr},
                    s.values);
    }
  }
  void control_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                   const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                   AnyScratch& scratch) const override {
    auto& s = static_cast<Scratch&>(scratch);
    for (int first = 0; first < lanes(); first += kWidth) {
      if (lanes() > kWidth) control_and_tangent(at, in, in_dot, first, s);
      policy_vjp<Tangent>(
          layout_, at.k, strided(in.p, in_dot.p, first), strided(s.u_bar.data(), s.u_bar_dot.data(), first),
          strided(bar.x, bar_dot.x, first),
          Wanted<StridedDual<S>>{strided(bar.p, bar_dot.p, first), bar.p != nullptr}, s.tangents);
    }
  }

  Strided<S> strided(const Real* block, int first) const { return lanes_from<S>(first, lanes(), block); }
  StridedDual<S> strided(const Real* value, const Real* tangent, int first) const {
    return lanes_from<S>(first, lanes(), value, tangent);
  }
  void write(const std::vector<S>& from, Real* to, int first) const {
    for (std::size_t i = 0; i < from.size(); ++i) store<S>(to + std::int64_t(i) * lanes() + first, from[i]);
  }

  void control_and_tangent(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                           int first, Scratch& s) const {
    policy(layout_, at.k, strided(in.x, in_dot.x, first), strided(in.p, in_dot.p, first), s.tangents);
    for (std::size_t i = 0; i < s.tangents.u.size(); ++i) {
      store<S>(s.u.data() + std::int64_t(i) * lanes() + first, s.tangents.u[i].v);
      store<S>(s.u_dot.data() + std::int64_t(i) * lanes() + first, s.tangents.u[i].d[0]);
    }
  }

  PolicyLayout layout_;
};

}  // namespace

void check_plant(const Signature& plant, const std::vector<Observation>& observations) {
  if (plant.controls() == 0) throw Error("there is nothing to control: the plant has no controls");
  for (const Observation& o : observations) {
    for (const auto& term : o.terms) {
      if (term.state < 0 || term.state >= plant.states())
        throw Error("an observation of state number " + std::to_string(term.state) + ", but there are " +
                    std::to_string(plant.states()));
    }
  }
}

std::vector<double> first_weights(std::uint64_t seed, std::uint64_t layer, std::int64_t outputs,
                                  std::int64_t inputs) {
  std::vector<double> w(std::size_t(outputs * inputs));
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = normal(seed, 0, layer, std::uint32_t(i)) / std::sqrt(double(inputs));
  return w;
}

Signature fields_without_controls(const Signature& plant) {
  Signature s;
  for (const Role role : {Role::state, Role::parameter}) s.add(role, plant.fields(role));
  return s;
}

template <class Real>
std::shared_ptr<System<Real>> closed_loop(std::shared_ptr<const System<Real>> plant,
                                          const PolicyNetwork& network) {
  if (plant->lanes() % kNativeLanes<Real> == 0)
    return std::make_shared<ClosedLoop<Real, NativePack<Real>>>(std::move(plant), network);
  return std::make_shared<ClosedLoop<Real, Real>>(std::move(plant), network);
}
template std::shared_ptr<System<float>> closed_loop<float>(std::shared_ptr<const System<float>>,
                                                           const PolicyNetwork&);
template std::shared_ptr<System<double>> closed_loop<double>(std::shared_ptr<const System<double>>,
                                                             const PolicyNetwork&);

}  // namespace costate::learn
