#include "costate/coupled/carrier.h"

#include <algorithm>

#include "costate/coupled/model_inside.h"
#include "costate/coupled/shape_motion.h"
#include "costate/rigid/dynamics/integrate.h"
#include "costate/system/one_world.h"

namespace costate::coupled {
namespace {

using soft::CarrierInputs;
using soft::Link;
using soft::LinkVector;
using Tangent = Dual<double>;

class ModelCarrier final : public soft::Carrier {
 public:
  explicit ModelCarrier(const CarrierModel& from) : inside_(from.model, from.options, from.initial_state) {
    for (std::size_t b = 0; b < inside_.bodies.size(); ++b) {
      rigid::Observed frame;
      frame.body = int(b);
      observe_frame_motion(frame, observed_);
    }
  }

  const Signature& signature() const override { return inside_.signature; }
  std::vector<double> initial_state() const override { return inside_.initial; }
  const std::vector<std::string>& links() const override { return inside_.bodies; }
  std::vector<Link<double>> links_at_start() const override;
  int dofs() const override { return tree().nv; }
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(*this); }

  void begin(const CarrierInputs<double>& in, Workspace& work) const override { begin_in(in, work); }
  void begin(const CarrierInputs<Tangent>& in, Workspace& work) const override { begin_in(in, work); }
  void move(const double* forces, double* y, Link<double>* links, Workspace& work) const override {
    move_in(forces, y, links, work);
  }
  void move(const Tangent* forces, Tangent* y, Link<Tangent>* links, Workspace& work) const override {
    move_in(forces, y, links, work);
  }
  void gather(const LinkVector<double>* wrenches, double* forces, Workspace& work) const override {
    gather_in(wrenches, forces, work);
  }
  void gather(const LinkVector<Tangent>* wrenches, Tangent* forces, Workspace& work) const override {
    gather_in(wrenches, forces, work);
  }
  void carry(const double* v, LinkVector<double>* links, Workspace& work) const override;
  void nudge(int dof, Link<Tangent>* links, Workspace& work) const override;
  void way(const double* from, const double* to, double* e) const override;
  void response(double* A, Workspace& work) const override;
  void vjp(const OutBar& out, double* forces_bar, InBar* in, Workspace& work) const override;

 private:
  // One pass through a step, in values or with tangents.
  template <class T>
  struct Pass {
    explicit Pass(const ModelCarrier& c)
        : motion(c.tree(), c.observed_),
          x(c.inside_.stepper.states()),
          u(c.inside_.stepper.controls()),
          y(x.size()),
          raw(c.tree().p.size),
          poses(c.inside_.bodies.size()),
          sums(poses.size(), mpm::BodySums<T>::zero()) {}
    ShapeMotion<T> motion;  // at q+
    std::vector<T> x, u, y, raw;
    std::vector<mpm::Pose<T>> poses;
    std::vector<mpm::BodySums<T>> sums;
    StepContext at;
  };
  struct Scratch : Workspace {
    explicit Scratch(const ModelCarrier& c)
        : rigid(c.inside_.system),
          value(c),
          tangent(c),
          probe_x(tangent.x.size()),
          probe_u(tangent.u.size()),
          probe_y(tangent.y.size()),
          probe_raw(tangent.raw.size()),
          push(value.motion.dofs),
          x_bar(value.x.size()),
          u_bar(value.u.size()),
          y_bar(value.x.size()),
          raw_bar(value.raw.size()),
          q_bar(value.motion.dofs),
          v_bar(value.motion.dofs),
          ambient(c.tree().nq),
          p_bar(value.motion.p.size()),
          z_bar(value.motion.z.size()) {}
    OneWorld<double> rigid;
    Pass<double> value;
    Pass<Tangent> tangent;
    std::vector<Tangent> probe_x, probe_u, probe_y, probe_raw, push;  // of nudge and response
    // Cotangents; q in its tangent space, p as ShapeMotion has them.
    std::vector<double> x_bar, u_bar, y_bar, raw_bar, q_bar, v_bar, ambient, p_bar, z_bar;
  };
  template <class T>
  static Pass<T>& pass(Workspace& work) {
    auto& s = static_cast<Scratch&>(work);
    if constexpr (is_dual<T>)
      return s.tangent;
    else
      return s.value;
  }
  template <class T>
  void begin_in(const CarrierInputs<T>& in, Workspace& work) const;
  template <class T>
  void move_in(const T* forces, T* y, Link<T>* links, Workspace& work) const;
  template <class T>
  void gather_in(const LinkVector<T>* wrenches, T* forces, Workspace& work) const;
  template <class T>
  static void place(Pass<T>& w, Link<T>* links);
  void links_vjp(const OutBar& out, bool parameters, Scratch& s) const;
  void receive(InBar& in, Scratch& s) const;
  template <class Straight, class Turn>
  void each_joint(const Straight& straight, const Turn& turn) const;
  const rigid::Tree& tree() const { return inside_.stepper.tree; }

  ModelInside inside_;
  std::vector<rigid::Observed> observed_;
};

template <class T>
void ModelCarrier::begin_in(const CarrierInputs<T>& in, Workspace& work) const {
  Pass<T>& w = pass<T>(work);
  inside_.parameters(in.p, in.gravity, in.dt, w.raw.data());
  std::copy(w.raw.begin(), w.raw.end(), w.motion.p.begin());
  rigid::prepare_units(tree().p, w.motion.p.data());
  std::copy(in.x, in.x + w.x.size(), w.x.begin());
  if (tree().nu > 0) std::copy(in.u, in.u + tree().nu, w.u.begin());
  w.at = in.at;
}

// Poses and J at motion.x.
template <class T>
void ModelCarrier::place(Pass<T>& w, Link<T>* links) {
  w.motion.place(3, w.poses.data());
  for (std::size_t b = 0; b < w.poses.size(); ++b) links[b] = {w.poses[b].c, w.poses[b].R};
}

template <class T>
void ModelCarrier::move_in(const T* forces, T* y, Link<T>* links, Workspace& work) const {
  Pass<T>& w = pass<T>(work);
  std::copy(forces, forces + tree().nv, w.u.begin() + tree().nu);
  static_cast<Scratch&>(work).rigid.step(w.at, w.x.data(), w.u.data(), w.raw.data(), w.y.data());
  std::copy(w.y.begin(), w.y.end(), y);
  std::copy_n(w.y.begin(), tree().nq, w.motion.x.begin());
  place(w, links);
}

template <class T>
void ModelCarrier::gather_in(const LinkVector<T>* wrenches, T* forces, Workspace& work) const {
  Pass<T>& w = pass<T>(work);
  for (std::size_t b = 0; b < w.sums.size(); ++b)
    w.sums[b].J = wrenches[b].linear, w.sums[b].L = wrenches[b].angular;
  w.motion.gather(w.sums.data(), forces);
}

void ModelCarrier::carry(const double* v, LinkVector<double>* links, Workspace& work) const {
  const Pass<double>& w = pass<double>(work);
  for (std::size_t b = 0; b < w.poses.size(); ++b) {
    const Six<double> moving = w.motion.carried(b, v);
    links[b] = {moving.linear, moving.angular};
  }
}

void ModelCarrier::nudge(int dof, Link<Tangent>* links, Workspace& work) const {
  auto& s = static_cast<Scratch&>(work);
  const Pass<double>& at = s.value;
  std::copy_n(at.y.begin(), tree().nq, s.probe_x.begin());
  std::copy(at.motion.p.begin(), at.motion.p.end(), s.tangent.motion.p.begin());
  std::fill(s.push.begin(), s.push.end(), Tangent(0.0));
  s.push[std::size_t(dof)] = Tangent(0.0, 1.0);
  rigid::integrate_position(tree(), s.probe_x.data(), s.push.data(), Tangent(1.0), s.tangent.motion.x.data());
  place(s.tangent, links);
}

// What leads from one configuration to another, joint by joint: straight(dof, q) of numbers that add up,
// turn(dof, q) of quaternions.
template <class Straight, class Turn>
void ModelCarrier::each_joint(const Straight& straight, const Turn& turn) const {
  for (const rigid::TreeJoint& joint : tree().joints) {
    const bool free = joint.type == rigid::JointType::free;
    if (joint.type == rigid::JointType::ball) {
      turn(joint.dof, joint.q);
      continue;
    }
    for (int i = 0; i < (free ? 3 : 1); ++i) straight(joint.dof + i, joint.q + i);
    if (free) turn(joint.dof + 3, joint.q + 3);
  }
}

void ModelCarrier::way(const double* from, const double* to, double* e) const {
  each_joint([&](int dof, int q) { e[dof] = to[q] - from[q]; },
             [&](int dof, int q) {
               const Vec3<double> phi = log_map(conjugate(normalized(rigid::quat_at(from + q))) *
                                                normalized(rigid::quat_at(to + q)));
               for (int i = 0; i < 3; ++i) e[dof + i] = phi[i];
             });
}

// A rotation of a body by theta, in its axes, is dq = q (0, theta)/2.
void ModelCarrier::response(double* A, Workspace& work) const {
  auto& s = static_cast<Scratch&>(work);
  const Pass<double>& at = s.value;
  const int nv = tree().nv;
  std::copy(at.x.begin(), at.x.end(), s.probe_x.begin());
  std::copy(at.u.begin(), at.u.end(), s.probe_u.begin());
  std::copy(at.raw.begin(), at.raw.end(), s.probe_raw.begin());
  for (int k = 0; k < nv; ++k) {
    Tangent& force = s.probe_u[std::size_t(tree().nu + k)];
    force.d[0] = 1;
    s.rigid.step(at.at, s.probe_x.data(), s.probe_u.data(), s.probe_raw.data(), s.probe_y.data());
    force.d[0] = 0;
    const auto rate = [&](int i) { return s.probe_y[std::size_t(i)].d[0]; };
    each_joint([&](int dof, int q) { A[dof * nv + k] = rate(q); },
               [&](int dof, int q) {
                 const Quat<double> turning{rate(q), rate(q + 1), rate(q + 2), rate(q + 3)};
                 const Vec3<double> theta = (conjugate(rigid::quat_at(at.y.data() + q)) * turning).vec();
                 for (int i = 0; i < 3; ++i) A[(dof + i) * nv + k] = 2 * theta[i];
               });
  }
}

// --- transposes --------------------------------------------------------------------------------------------

// Of the poses, and of forces . J'w: the power of the wrenches on links that move with `forces`.
void ModelCarrier::links_vjp(const OutBar& out, bool parameters, Scratch& s) const {
  const auto put = [&](std::size_t at, const Vec3<double>& v) {
    s.z_bar[at] = v.x, s.z_bar[at + 1] = v.y, s.z_bar[at + 2] = v.z;
  };
  for (std::size_t b = 0; b < inside_.bodies.size(); ++b) {
    put(kSeen * b + kPosition, out.links[b].place);
    for (int j = 0; j < 3; ++j) put(kSeen * b + kAxes + 3 * std::size_t(j), out.links[b].turn.column(j));
    put(kSeen * b + kVelocity, out.wrenches[b].linear);
    put(kSeen * b + kAngular, out.wrenches[b].angular);
  }
  seen_vjp(s.value.motion, inside_.wanted(parameters), out.forces, s.z_bar.data(),
           {s.q_bar.data(), parameters ? s.p_bar.data() : nullptr}, s.v_bar.data());
}

void ModelCarrier::vjp(const OutBar& out, double* forces_bar, InBar* in, Workspace& work) const {
  auto& s = static_cast<Scratch&>(work);
  Pass<double>& w = s.value;
  const bool parameters = in && in->p;
  for (auto* bar : {&s.x_bar, &s.u_bar, &s.raw_bar, &s.q_bar, &s.v_bar, &s.p_bar})
    std::fill(bar->begin(), bar->end(), 0.0);
  links_vjp(out, parameters, s);
  std::copy(out.y, out.y + s.y_bar.size(), s.y_bar.begin());
  rigid::ambient_cotangent(tree(), w.y.data(), s.q_bar.data(), s.ambient.data());
  for (std::size_t i = 0; i < s.ambient.size(); ++i) s.y_bar[i] += s.ambient[i];
  {
    const LentDiagnostics lent(s.diagnostics, s.rigid.diagnostics());
    s.rigid.step_vjp(w.at, w.x.data(), w.u.data(), w.raw.data(), s.y_bar.data(), s.x_bar.data(),
                     s.u_bar.data(), parameters ? s.raw_bar.data() : nullptr);
  }
  std::copy_n(s.u_bar.begin() + tree().nu, tree().nv, forces_bar);
  if (in) receive(*in, s);
}

void ModelCarrier::receive(InBar& in, Scratch& s) const {
  std::copy(s.x_bar.begin(), s.x_bar.end(), in.x);
  for (int i = 0; in.u && i < tree().nu; ++i) in.u[i] += s.u_bar[std::size_t(i)];
  if (!in.p) return;
  const auto of = [&](int i) { return s.raw_bar[std::size_t(i)] + s.p_bar[std::size_t(i)]; };
  for (std::size_t i = 0; i < inside_.own.size(); ++i)
    if (inside_.own[i] >= 0) in.p[inside_.own[i]] += of(int(i));
  for (int a = 0; a < 3; ++a) in.gravity[a] += of(tree().p.gravity + a);
  in.dt += of(tree().p.dt);
}

std::vector<Link<double>> ModelCarrier::links_at_start() const {
  std::vector<double> p;
  for (const Field& f : inside_.signature.fields(Role::parameter))
    for (std::int64_t i = 0; i < f.size; ++i)
      p.push_back(f.defaults[f.defaults.size() == 1 ? 0 : static_cast<std::size_t>(i)]);
  const std::vector<double> u(std::size_t(tree().nu), 0.0);
  Scratch s(*this);
  begin(CarrierInputs<double>{{}, inside_.initial.data(), u.data(), p.data(), Vec3<double>::zero(), 1.0}, s);
  std::copy_n(inside_.initial.begin(), tree().nq, s.value.motion.x.begin());
  std::vector<Link<double>> links(inside_.bodies.size());
  place(s.value, links.data());
  return links;
}

}  // namespace

std::shared_ptr<const soft::Carrier> carrier(const CarrierModel& from) {
  return std::make_shared<ModelCarrier>(from);
}

}  // namespace costate::coupled
