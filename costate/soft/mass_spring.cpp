#include "costate/soft/mass_spring.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>

#include "costate/ad/dual.h"
#include "costate/core/error.h"
#include "costate/soft/mass_spring_program.h"
#include "costate/soft/mass_spring_step.h"
#include "costate/system/program/recorded_step.h"

namespace costate::soft {
namespace {

void check_model(const MassSpringModel& m) {
  const int n = int(m.masses.size());
  const auto in_space = [&](const std::vector<double>& v) { return int(v.size()) == m.dimensions; };
  if (m.dimensions != 2 && m.dimensions != 3) throw Error("masses and springs live in 2 or 3 dimensions");
  if (n == 0) throw Error("a mass-spring model needs a mass");
  for (std::size_t i = 0; i < m.masses.size(); ++i) {
    if (!(m.masses[i] > 0)) throw Error("mass " + std::to_string(i) + " is not positive");
  }
  for (std::size_t s = 0; s < m.springs.size(); ++s) {
    const Spring& spring = m.springs[s];
    const std::string name = "spring " + std::to_string(s);
    if (std::min(spring.a, spring.b) < 0 || std::max(spring.a, spring.b) >= n)
      throw Error(name + " ends at a mass that does not exist");
    if (spring.a == spring.b) throw Error(name + " joins a mass to itself");
    if (spring.muscle < -1) throw Error(name + ": a muscle is 0, 1, ... or -1 for none");
    if (spring.muscle < 0 && spring.strength != 0)
      throw Error({name + " has a strength and no muscle to use it", {}, "give it a muscle"});
  }
  if (!m.gravity.empty() && !in_space(m.gravity)) throw Error("gravity needs one number per dimension");
  for (std::size_t j = 0; j < m.planes.size(); ++j) {
    const std::vector<double>& normal = m.planes[j].normal;
    double square = 0;
    for (double c : normal) square += c * c;
    if (!in_space(normal) || !(square > 0))
      throw Error("the normal of plane " + std::to_string(j) + " is not a direction");
    if (!(m.planes[j].friction >= 0))
      throw Error("the friction of plane " + std::to_string(j) + " is negative");
  }
  if (!(m.softening >= 0)) throw Error("softening is negative");
  if (!(m.dt > 0)) throw Error("dt is not positive");
}

Signature make_signature(const MassSpringModel& m) {
  const std::int64_t numbers = m.dimensions * std::int64_t(m.masses.size());
  Signature s;
  s.state("x", numbers, "m").state("v", numbers, "m/s");
  if (m.muscles() > 0) s.control("actuation", m.muscles());
  s.parameter("mass", m.masses, "kg");
  if (!m.springs.empty()) {
    const auto each = [&](const char* name, double Spring::*number, const char* unit) {
      std::vector<double> values;
      for (const Spring& spring : m.springs) values.push_back(spring.*number);
      s.parameter(name, values, unit);
    };
    each("spring/rest_length", &Spring::rest_length, "m");
    each("spring/stiffness", &Spring::stiffness, "N/m");
    each("spring/damping", &Spring::damping, "N s/m");
    each("spring/strength", &Spring::strength, "");
  }
  s.parameter("drag", m.drag, "1/s");
  s.parameter("gravity", m.gravity.empty() ? std::vector<double>(std::size_t(m.dimensions), 0.0) : m.gravity,
              "m/s^2");
  if (!m.planes.empty()) {
    std::vector<double> friction, offset;
    for (const Plane& plane : m.planes) {
      double square = 0;
      for (double c : plane.normal) square += c * c;
      friction.push_back(plane.friction);
      offset.push_back(plane.offset / std::sqrt(square));
    }
    s.parameter("plane/friction", friction);
    if (m.contact == Contact::split) s.parameter("plane/offset", offset, "m");
  }
  s.parameter("dt", m.dt, "s");
  return s.limit("dt", kPositive).limit("mass", kPositive).limit("plane/friction*", kNotNegative);
}

Topology make_topology(const MassSpringModel& m, const Signature& signature) {
  Topology t{.masses = int(m.masses.size()),
             .springs = m.springs,
             .planes = m.planes,
             .split = m.contact == Contact::split,
             .softening = m.softening};
  for (Plane& plane : t.planes) {
    double square = 0;
    for (double c : plane.normal) square += c * c;
    for (double& c : plane.normal) c /= std::sqrt(square);
    plane.offset /= std::sqrt(square);
  }
  const auto at = [&](const char* name) {  // of a field that no code will read, if the model has none
    const Field* field = signature.find_if(Role::parameter, name);
    return field ? int(field->offset) : -1;
  };
  t.p = {.mass = at("mass"),
         .rest = at("spring/rest_length"),
         .stiffness = at("spring/stiffness"),
         .damping = at("spring/damping"),
         .strength = at("spring/strength"),
         .drag = at("drag"),
         .gravity = at("gravity"),
         .friction = at("plane/friction"),
         .offset = at("plane/offset"),
         .dt = at("dt")};
  return t;
}

// The arrays that a step reads and writes.
template <class S, int D>
struct Arrays {
  Arrays(const Topology& m, const Signature& s)
      : x(s.states()),
        u(s.controls()),
        p(s.parameters()),
        y(x.size()),
        y_bar(x.size()),
        x_bar(x.size()),
        u_bar(u.size()),
        p_bar(p.size()),
        scratch(m) {}
  std::vector<S> x, u, p, y, y_bar, x_bar, u_bar, p_bar;
  StepScratch<S, D> scratch;
};

template <class Real, int D>
class MassSpringSystem final : public System<Real>, public RecordedStep {
  using S = NativePack<Real>;
  using Tangent = Dual<S>;
  static constexpr int kLanes = lanes_of<S>;

  struct Scratch : Workspace {
    Scratch(const Topology& m, const Signature& s) : values(m, s), tangents(m, s) {}
    Arrays<S, D> values;
    Arrays<Tangent, D> tangents;
    const Real* p = nullptr;  // of the run: they are in `values`
    Real* p_bar = nullptr;    // of the run: `values` goes there at its end
  };

 public:
  explicit MassSpringSystem(const MassSpringModel& model)
      : signature_(make_signature(model)), topology_(make_topology(model, signature_)) {}

  const Signature& signature() const override { return signature_; }
  const ad::Program& program() const override {
    std::call_once(recorded_, [&] { program_ = record_mass_spring(topology_, signature_, D); });
    return program_;
  }
  int lanes() const override { return kLanes; }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true, .vjp = true, .second_order = true};
  }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Scratch>(topology_, signature_);
  }

  void step(const StepContext&, const Inputs<Real>& in, Real* y, Real*, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    Arrays<S, D>& a = s.values;
    read(in.x, a.x);
    read(in.u, a.u);
    if (in.p != s.p) read(in.p, a.p);
    forward(a);
    write(a.y, y);
  }

  void step_jvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y, Real* y_dot,
                Workspace& work) const override {
    Arrays<Tangent, D>& a = static_cast<Scratch&>(work).tangents;
    read(in, in_dot, a);
    forward(a);
    write(a.y, y, y_dot);
  }

  void step_vjp(const StepContext&, const Inputs<Real>& in, const Real*, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity&, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    Arrays<S, D>& a = s.values;
    const bool held_back = bar.p && bar.p == s.p_bar;
    read(in.x, a.x);
    read(in.u, a.u);
    if (in.p != s.p) read(in.p, a.p);
    read(y_bar, a.y_bar);
    read(bar.u, a.u_bar);
    if (!held_back) read(bar.p, a.p_bar);
    transpose(a);
    write(a.x_bar, bar.x);
    write(a.u_bar, bar.u);
    if (!held_back) write(a.p_bar, bar.p);
  }

  void step_hvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity&, Workspace& work) const override {
    Arrays<Tangent, D>& a = static_cast<Scratch&>(work).tangents;
    read(in, in_dot, a);
    read(y_bar, y_bar_dot, a.y_bar);
    read(bar.u, bar_dot.u, a.u_bar);
    read(bar.p, bar_dot.p, a.p_bar);
    transpose(a);
    write(a.x_bar, bar.x, bar_dot.x);
    write(a.u_bar, bar.u, bar_dot.u);
    write(a.p_bar, bar.p, bar_dot.p);
  }

  // Runs read the parameters once, and write their cotangents once.
  void begin_run(const Real* p, Real* p_bar, const Activity&, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    read(p, s.values.p);
    if (p_bar) read(p_bar, s.values.p_bar);
    s.p = p, s.p_bar = p_bar;
  }
  void end_run(const Real*, Real*, const Activity&, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    write(s.values.p_bar, s.p_bar);
    s.p = s.p_bar = nullptr;
  }

 private:
  // Not inlined: single steps and runs are the same machine code, so the same bits.
  template <class Scalar>
  [[gnu::noinline]] void forward(Arrays<Scalar, D>& a) const {
    mass_spring_step<Scalar, D>(topology_, a.x.data(), a.u.data(), a.p.data(), a.y.data(), a.scratch);
  }
  template <class Scalar>
  [[gnu::noinline]] void transpose(Arrays<Scalar, D>& a) const {
    mass_spring_step_vjp<Scalar, D>(topology_, a.x.data(), a.u.data(), a.p.data(), a.y_bar.data(),
                                    a.x_bar.data(), a.u_bar.data(), a.p_bar.data(), a.scratch);
  }

  // A null pointer reads as zero, and is not written to: tangents that are zero, cotangents that nobody
  // wants.
  static void read(const Real* from, std::vector<S>& to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from ? load<S>(from + i * kLanes) : S(0);
  }
  static void read(const Real* value, const Real* tangent, std::vector<Tangent>& to) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = {value ? load<S>(value + i * kLanes) : S(0), tangent ? load<S>(tangent + i * kLanes) : S(0)};
  }
  static void read(const Inputs<Real>& in, const Inputs<Real>& in_dot, Arrays<Tangent, D>& a) {
    read(in.x, in_dot.x, a.x);
    read(in.u, in_dot.u, a.u);
    read(in.p, in_dot.p, a.p);
  }
  static void write(const std::vector<S>& from, Real* to) {
    for (std::size_t i = 0; to && i < from.size(); ++i) store<S>(to + i * kLanes, from[i]);
  }
  static void write(const std::vector<Tangent>& from, Real* value, Real* tangent) {
    for (std::size_t i = 0; value && i < from.size(); ++i) {
      store<S>(value + i * kLanes, from[i].v);
      store<S>(tangent + i * kLanes, from[i].d[0]);
    }
  }

  Signature signature_;
  Topology topology_;
  mutable std::once_flag recorded_;
  mutable ad::Program program_;  // made when it is first asked for
};

}  // namespace

int MassSpringModel::muscles() const {
  int last = -1;
  for (const Spring& spring : springs) last = std::max(last, spring.muscle);
  return last + 1;
}

template <class Real>
std::shared_ptr<System<Real>> make_system(const MassSpringModel& model) {
  check_model(model);
  if (model.dimensions == 2) return std::make_shared<MassSpringSystem<Real, 2>>(model);
  return std::make_shared<MassSpringSystem<Real, 3>>(model);
}
template std::shared_ptr<System<float>> make_system<float>(const MassSpringModel&);
template std::shared_ptr<System<double>> make_system<double>(const MassSpringModel&);

}  // namespace costate::soft
