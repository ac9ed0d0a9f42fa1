#include "costate/coupled/swimmer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "costate/core/error.h"
#include "costate/coupled/model_inside.h"
#include "costate/coupled/shape_motion.h"
#include "costate/coupled/swimmer_shapes.h"
#include "costate/rigid/dynamics/integrate.h"
#include "costate/solve/dense_ldl.h"
#include "costate/system/one_world.h"

namespace costate::coupled {
namespace {

using fluid::LinkageBar, fluid::LinkageInputs, fluid::LinkageStage, fluid::LinkedForce, fluid::Planar;
using Tangent = Dual<double>;
constexpr std::size_t kStages = 3;

template <class T>
T inner(const Planar<T>& a, const Planar<T>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
// A - K V
template <class T>
Planar<T> felt(const LinkedForce<T>& f, const Planar<T>& v) {
  return {f.at_rest[0] - inner(f.stiffness[0], v), f.at_rest[1] - inner(f.stiffness[1], v),
          f.at_rest[2] - inner(f.stiffness[2], v)};
}

class SwimmingModel final : public fluid::Linkage {
 public:
  SwimmingModel(const Swimmer& from, const std::vector<int>& bodies);

  std::size_t shapes() const override { return observed_.size() / 6; }
  const Signature& signature() const override { return signature_; }
  std::vector<double> initial_state() const override { return inside_.initial; }
  Planar<double> pose(std::size_t shape, const Planar<double>& frame, const double* x,
                      const double* p) const override;
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(*this); }

  void begin(const LinkageInputs<double>& in, Planar<double>* poses, Workspace& work) const override {
    begin_in(in, poses, work);
  }
  void stage(const LinkageStage& at, const LinkedForce<double>* forces, Planar<double>* motions,
             Workspace& work) const override {
    stage_in(at, forces, motions, work);
  }
  void end(const Planar<double>* wrenches, double* y, Workspace& work) const override {
    end_in(wrenches, y, work);
  }
  void begin(const LinkageInputs<Tangent>& in, Planar<Tangent>* poses, Workspace& work) const override {
    begin_in(in, poses, work);
  }
  void stage(const LinkageStage& at, const LinkedForce<Tangent>* forces, Planar<Tangent>* motions,
             Workspace& work) const override {
    stage_in(at, forces, motions, work);
  }
  void end(const Planar<Tangent>* wrenches, Tangent* y, Workspace& work) const override {
    end_in(wrenches, y, work);
  }

  void end_vjp(const Planar<double>* wrenches, const double* y_bar, bool parameters,
               Planar<double>* wrenches_bar, Workspace& work) const override;
  void stage_vjp(const LinkageStage& at, const Planar<double>* motions_bar, Planar<double>* mu,
                 Workspace& work) const override;
  void begin_vjp(const Planar<double>* poses_bar, LinkageBar& bar, Workspace& work) const override;

 private:
  // One pass through a step, in values or with tangents.
  template <class T>
  struct Pass {
    explicit Pass(const SwimmingModel& a)
        : motion(a.tree(), a.observed_),
          poses(motion.shapes),
          x(a.inside_.stepper.states()),
          u(a.inside_.stepper.controls()),
          y(x.size()),
          raw(a.tree().p.size),
          J(motion.shapes * motion.dofs),
          M(motion.dofs * motion.dofs),
          v0(motion.dofs),
          w(motion.dofs) {
      for (std::size_t k = 0; k < kStages; ++k)
        v[k].resize(motion.dofs), S[k].resize(M.size()), forces[k].resize(motion.shapes);
    }
    ShapeMotion<T> motion;
    std::vector<mpm::Pose<T>> poses;
    std::vector<T> x, u, y, raw;               // of the rigid step; u: ctrl, then a force for each dof
    std::vector<Planar<T>> J;                  // shapes x dofs
    std::vector<T> M;                          // all of it
    std::vector<T> v0, w;                      // w of the stage that was looked at last
    std::array<std::vector<T>, kStages> v, S;  // of the stages; S factored
    std::array<std::vector<LinkedForce<T>>, kStages> forces;
    T dt, density;

    const T* start() const { return x.data() + (x.size() - v0.size() - activations()); }
    std::size_t activations() const { return std::size_t(motion.tree.na); }
    const T* before(int stage) const { return stage == 0 ? start() : v[std::size_t(stage) - 1].data(); }
    // J_s v
    Planar<T> carried(std::size_t s, const T* of) const {
      Planar<T> r{T(0), T(0), T(0)};
      for (std::size_t k = 0; k < motion.dofs; ++k)
        for (std::size_t i = 0; i < 3; ++i) r[i] += J[s * motion.dofs + k][i] * of[k];
      return r;
    }
    // f += J_s' wrench
    void gather(std::size_t s, const Planar<T>& wrench, T* f) const {
      for (std::size_t k = 0; k < motion.dofs; ++k) f[k] += inner(J[s * motion.dofs + k], wrench);
    }
    void set_w(const LinkageStage& at) {
      const T *first = start(), *last = before(at.number);
      for (std::size_t k = 0; k < w.size(); ++k)
        w[k] = T(at.kept) * first[k] + T(at.share) * (last[k] + v0[k] - first[k]);
    }
    T scale(const LinkageStage& at) const { return T(at.share) * dt * density; }
  };
  struct Scratch : Workspace {
    explicit Scratch(const SwimmingModel& a)
        : rigid(a.inside_.system),
          untouched(a.inside_.system),
          value(a),
          tangent(a),
          x_bar(value.x.size()),
          u_bar(value.u.size()),
          y_bar(value.x.size()),
          q_bar(value.v0.size()),
          start_bar(value.v0.size()),
          v0_bar(value.v0.size()),
          lambda(value.v0.size()),
          unused(value.v0.size()),
          ambient(a.tree().nq),
          p_bar(value.motion.p.size()),
          raw_bar(value.raw.size()),
          z_bar(value.motion.z.size()) {
      for (auto& bar : v_bar) bar.resize(value.v0.size());
    }
    OneWorld<double> rigid, untouched;  // the step that is taken, and the one without fluid
    Pass<double> value;
    Pass<Tangent> tangent;
    // Cotangents; q in its tangent space, p as ShapeMotion has them.
    std::vector<double> x_bar, u_bar, y_bar, q_bar, start_bar, v0_bar, lambda, unused, ambient, p_bar,
        raw_bar, z_bar;
    std::array<std::vector<double>, kStages> v_bar;
    double dt_bar = 0, density_bar = 0;
    bool parameters = false;
  };
  template <class T>
  Pass<T>& pass(Workspace& work) const {
    auto& s = static_cast<Scratch&>(work);
    if constexpr (is_dual<T>)
      return s.tangent;
    else
      return s.value;
  }
  template <class T>
  void load(const LinkageInputs<T>& in, Pass<T>& w) const;
  template <class T>
  void begin_in(const LinkageInputs<T>& in, Planar<T>* poses, Workspace& work) const;
  template <class T>
  void stage_in(const LinkageStage& at, const LinkedForce<T>* forces, Planar<T>* motions,
                Workspace& work) const;
  template <class T>
  void end_in(const Planar<T>* wrenches, T* y, Workspace& work) const;

  void rigid_vjp(const double* y_bar, OneWorld<double>& rigid, Scratch& s) const;
  void set_power(std::size_t shape, const Planar<double>& wrench, Scratch& s) const;
  void power_vjp(const double* v, Scratch& s) const;
  const rigid::Tree& tree() const { return inside_.stepper.tree; }
  rigid::Wanted wanted(const Scratch& s) const { return inside_.wanted(s.parameters); }
  ShapeMotionBar bars(Scratch& s) const { return {s.q_bar.data(), s.parameters ? s.p_bar.data() : nullptr}; }
  int frame(std::size_t shape) const { return tree().p.prepared_size + kFrame * int(shape); }

  ModelInside inside_;
  Signature signature_;
  std::int64_t gravity_ = 0, density_ = 0;  // numbers in it
  std::vector<rigid::Observed> observed_;
};

SwimmingModel::SwimmingModel(const Swimmer& from, const std::vector<int>& bodies)
    : inside_(from.model, from.options, from.initial_state) {
  if (rigid::has_fluid(from.model))
    throw Error({"the model has a fluid of its own, by its density and viscosity",
                 {},
                 "leave these out of its options: it feels that of the flow"});
  const auto& own = inside_.signature;
  for (Field f : own.fields(Role::state)) {
    f.name = "model/" + f.name;  // a flow has a v of its own
    signature_.add(Role::state, f);
  }
  signature_.add(Role::control, own.fields(Role::control));
  signature_.add(Role::parameter, own.fields(Role::parameter));
  gravity_ = signature_.parameters();
  signature_.add(Role::parameter, inside_.rigid_signature.find(Role::parameter, "gravity"));
  density_ = signature_.parameters();
  signature_.parameter("density", from.density, "kg/m^2").limit("density", kNotNegative);
  for (std::size_t s = 0; s < bodies.size(); ++s) {
    rigid::Observed o;
    o.body = bodies[s];
    o.pos_parameter = frame(s), o.quat_parameter = frame(s) + 3, o.inverse_quat_norm = frame(s) + 7;
    observe_frame_motion(o, observed_);
  }
}

Planar<double> SwimmingModel::pose(std::size_t shape, const Planar<double>& frame, const double* x,
                                   const double* p) const {
  std::vector<double> defaults;
  for (const Field& f : signature_.fields(Role::parameter))
    for (std::int64_t i = 0; i < f.size; ++i)
      defaults.push_back(f.defaults[f.defaults.size() == 1 ? 0 : std::size_t(i)]);
  Pass<double> w(*this);
  const std::vector<Planar<double>> frames(shapes(), frame);
  load({x ? x : inside_.initial.data(), nullptr, p ? p : defaults.data(), frames.data(), 1.0}, w);
  w.motion.place(3, w.poses.data());
  if (!stays_in_plane(w.motion, w.poses.data(), shape))
    throw Error({"the body '" + inside_.bodies[std::size_t(w.motion.body(shape))] +
                     "' can leave the plane of the flow",
                 {},
                 "in two dimensions hinges turn about z and slides lie across it"});
  const mpm::Pose<double>& at = w.poses[shape];
  return {at.c.x, at.c.y, std::atan2(at.R.e[1][0], at.R.e[0][0])};
}

// --- a step ------------------------------------------------------------------------------------------------

template <class T>
void SwimmingModel::load(const LinkageInputs<T>& in, Pass<T>& w) const {
  const T* gravity = in.p + gravity_;
  w.dt = in.dt, w.density = in.p[density_];
  inside_.parameters(in.p, Vec3<T>{gravity[0], gravity[1], gravity[2]}, in.dt, w.raw.data());
  std::copy(w.raw.begin(), w.raw.end(), w.motion.p.begin());
  std::copy(in.x, in.x + w.x.size(), w.x.begin());
  std::copy(in.x, in.x + tree().nq, w.motion.x.begin());
  rigid::prepare_units(tree().p, w.motion.p.data());
  for (std::size_t s = 0; s < shapes(); ++s) {
    const Planar<T>& from = in.frames[s];
    T* to = w.motion.p.data() + frame(s);
    const T half = T(0.5) * from[2];
    to[0] = from[0], to[1] = from[1], to[2] = T(0);
    to[3] = cos(half), to[4] = to[5] = T(0), to[6] = sin(half), to[7] = T(1);
  }
}

template <class T>
void SwimmingModel::begin_in(const LinkageInputs<T>& in, Planar<T>* poses, Workspace& work) const {
  Pass<T>& w = pass<T>(work);
  load(in, w);
  if (tree().nu > 0) std::copy(in.u, in.u + tree().nu, w.u.begin());
  std::fill(w.u.begin() + tree().nu, w.u.end(), T(0));
  static_cast<Scratch&>(work).untouched.step({}, w.x.data(), w.u.data(), w.raw.data(), w.y.data());
  std::copy_n(w.y.begin() + tree().nq, tree().nv, w.v0.begin());
  w.motion.place(2, w.poses.data());
  for (std::size_t s = 0; s < shapes(); ++s) {
    const mpm::Pose<T>& pose = w.poses[s];
    poses[s] = {pose.c.x, pose.c.y, atan2(pose.R.e[1][0], pose.R.e[0][0])};
  }
  for (std::size_t i = 0; i < w.J.size(); ++i)
    w.J[i] = {w.motion.J[i].linear.x, w.motion.J[i].linear.y, w.motion.J[i].angular.z};
  w.motion.inertia(w.M.data());
}

template <class T>
void SwimmingModel::stage_in(const LinkageStage& at, const LinkedForce<T>* forces, Planar<T>* motions,
                             Workspace& work) const {
  Pass<T>& w = pass<T>(work);
  const auto stage = std::size_t(at.number);
  const std::size_t dofs = w.motion.dofs;
  const T s = w.scale(at);
  std::copy(forces, forces + shapes(), w.forces[stage].begin());
  w.set_w(at);
  std::vector<T>&S = w.S[stage], &v = w.v[stage];
  S = w.M;
  std::fill(v.begin(), v.end(), T(0));
  for (std::size_t i = 0; i < shapes(); ++i) {
    Planar<T> pull = felt(forces[i], w.carried(i, w.w.data()));
    for (T& x : pull) x = s * x;
    w.gather(i, pull, v.data());
    for (std::size_t a = 0; a < dofs; ++a)
      for (std::size_t b = 0; b <= a; ++b)
        for (std::size_t k = 0; k < 3; ++k)
          S[a * dofs + b] += s * w.J[i * dofs + a][k] * inner(forces[i].stiffness[k], w.J[i * dofs + b]);
  }
  solve::ldl_factorise(dofs, S.data());
  solve::ldl_solve(dofs, S.data(), v.data());
  for (std::size_t k = 0; k < dofs; ++k) v[k] += w.w[k];
  for (std::size_t i = 0; i < shapes(); ++i) motions[i] = w.carried(i, v.data());
}

template <class T>
void SwimmingModel::end_in(const Planar<T>* wrenches, T* y, Workspace& work) const {
  Pass<T>& w = pass<T>(work);
  T* force = w.u.data() + tree().nu;
  std::fill(force, force + tree().nv, T(0));
  for (std::size_t i = 0; i < shapes(); ++i) {
    Planar<T> wrench = wrenches[i];
    for (T& x : wrench) x = w.density * x;
    w.gather(i, wrench, force);
  }
  static_cast<Scratch&>(work).rigid.step({}, w.x.data(), w.u.data(), w.raw.data(), y);
}

// --- transposes --------------------------------------------------------------------------------------------

// Adds what a rigid step with the forces now in u does to the cotangents of its state, controls and
// parameters.
void SwimmingModel::rigid_vjp(const double* y_bar, OneWorld<double>& rigid, Scratch& s) const {
  const Pass<double>& w = s.value;
  rigid.step_vjp({}, w.x.data(), w.u.data(), w.raw.data(), y_bar, s.x_bar.data(), s.u_bar.data(),
                 s.parameters ? s.raw_bar.data() : nullptr);
}
// <wrench, J v> of every shape, by q and frames.
void SwimmingModel::set_power(std::size_t shape, const Planar<double>& wrench, Scratch& s) const {
  double* z = s.z_bar.data() + kSeen * shape;
  z[kVelocity] = wrench[0], z[kVelocity + 1] = wrench[1], z[kAngular + 2] = wrench[2];
}
void SwimmingModel::power_vjp(const double* v, Scratch& s) const {
  seen_vjp(s.value.motion, wanted(s), v, s.z_bar.data(), bars(s), s.unused.data());
}

void SwimmingModel::end_vjp(const Planar<double>* wrenches, const double* y_bar, bool parameters,
                            Planar<double>* wrenches_bar, Workspace& work) const {
  auto& s = static_cast<Scratch&>(work);
  Pass<double>& w = s.value;
  s.parameters = parameters;
  for (auto* bar : {&s.x_bar, &s.u_bar, &s.q_bar, &s.start_bar, &s.v0_bar, &s.p_bar, &s.raw_bar, &s.z_bar})
    std::fill(bar->begin(), bar->end(), 0.0);
  for (auto& bar : s.v_bar) std::fill(bar.begin(), bar.end(), 0.0);
  s.dt_bar = s.density_bar = 0;
  double* force = w.u.data() + tree().nu;
  std::fill(force, force + tree().nv, 0.0);
  for (std::size_t i = 0; i < shapes(); ++i) w.gather(i, wrenches[i], force);
  std::vector<double>& given = s.lambda;  // per density, then what it does
  std::copy(force, force + tree().nv, given.begin());
  for (int k = 0; k < tree().nv; ++k) force[k] *= w.density;
  {
    const LentDiagnostics lent(s.diagnostics, s.rigid.diagnostics());
    rigid_vjp(y_bar, s.rigid, s);
  }
  double* force_bar = s.u_bar.data() + tree().nu;
  for (int k = 0; k < tree().nv; ++k) {
    s.density_bar += force_bar[k] * given[std::size_t(k)];
    given[std::size_t(k)] = w.density * force_bar[k];
    force_bar[k] = 0;
  }
  for (std::size_t i = 0; i < shapes(); ++i) {
    wrenches_bar[i] = w.carried(i, given.data());
    set_power(i, wrenches[i], s);
  }
  power_vjp(given.data(), s);
}

void SwimmingModel::stage_vjp(const LinkageStage& at, const Planar<double>* motions_bar, Planar<double>* mu,
                              Workspace& work) const {
  auto& s = static_cast<Scratch&>(work);
  Pass<double>& w = s.value;
  const auto stage = std::size_t(at.number);
  const std::size_t dofs = w.motion.dofs;
  const double scale = w.scale(at);
  const std::vector<double>& v = w.v[stage];
  std::vector<double>&v_bar = s.v_bar[stage], &lambda = s.lambda;
  w.set_w(at);
  for (std::size_t i = 0; i < shapes(); ++i) {
    w.gather(i, motions_bar[i], v_bar.data());
    set_power(i, motions_bar[i], s);
  }
  power_vjp(v.data(), s);
  lambda = v_bar;
  solve::ldl_solve(dofs, w.S[stage].data(), lambda.data());
  double scale_bar = 0;
  std::vector<double>& w_bar = v_bar;  // M lambda
  for (std::size_t i = 0; i < shapes(); ++i) {
    const Planar<double> given = felt(w.forces[stage][i], w.carried(i, v.data()));
    mu[i] = w.carried(i, lambda.data());
    scale_bar += inner(mu[i], given);
    set_power(i, {scale * given[0], scale * given[1], scale * given[2]}, s);
  }
  power_vjp(lambda.data(), s);
  for (std::size_t i = 0; i < shapes(); ++i) {
    Planar<double> held;  // -s K J lambda
    for (std::size_t k = 0; k < 3; ++k) held[k] = -scale * inner(w.forces[stage][i].stiffness[k], mu[i]);
    w.gather(i, held, w_bar.data());
    set_power(i, held, s);
    for (double& x : mu[i]) x *= w.density;
  }
  power_vjp(v.data(), s);
  for (std::size_t k = 0; k < dofs; ++k) {
    (stage == 0 ? s.start_bar : s.v_bar[stage - 1])[k] += at.share * w_bar[k];
    s.start_bar[k] += (at.kept - at.share) * w_bar[k];
    s.v0_bar[k] += at.share * w_bar[k];
    w.w[k] = v[k] - w.w[k];
  }
  inertia_vjp(w.motion, wanted(s), lambda.data(), w.w.data(), bars(s), s.unused.data());
  s.dt_bar += at.share * w.density * scale_bar;
  s.density_bar += at.share * w.dt * scale_bar;
}

void SwimmingModel::begin_vjp(const Planar<double>* poses_bar, LinkageBar& bar, Workspace& work) const {
  auto& s = static_cast<Scratch&>(work);
  Pass<double>& w = s.value;
  std::fill(s.z_bar.begin(), s.z_bar.end(), 0.0);
  for (std::size_t i = 0; i < shapes(); ++i) {
    double* z = s.z_bar.data() + kSeen * i;
    const auto& R = w.poses[i].R.e;
    z[kPosition] = poses_bar[i][0], z[kPosition + 1] = poses_bar[i][1];
    z[kAxes] = -R[1][0] * poses_bar[i][2], z[kAxes + 1] = R[0][0] * poses_bar[i][2];
  }
  power_vjp(w.v0.data(), s);
  std::fill(s.y_bar.begin(), s.y_bar.end(), 0.0);
  std::copy(s.v0_bar.begin(), s.v0_bar.end(), s.y_bar.begin() + tree().nq);
  std::fill(w.u.begin() + tree().nu, w.u.end(), 0.0);
  rigid_vjp(s.y_bar.data(), s.untouched, s);

  rigid::ambient_cotangent(tree(), w.x.data(), s.q_bar.data(), s.ambient.data());
  std::copy(s.x_bar.begin(), s.x_bar.end(), bar.x);
  for (std::size_t i = 0; i < s.ambient.size(); ++i) bar.x[i] += s.ambient[i];
  for (std::size_t k = 0; k < s.start_bar.size(); ++k) bar.x[std::size_t(tree().nq) + k] += s.start_bar[k];
  for (int i = 0; bar.u && i < tree().nu; ++i) bar.u[i] += s.u_bar[i];
  if (!bar.p) return;
  const auto of = [&](int i) { return s.raw_bar[i] + s.p_bar[i]; };
  for (std::size_t i = 0; i < inside_.own.size(); ++i)
    if (inside_.own[i] >= 0) bar.p[inside_.own[i]] += of(int(i));
  for (int a = 0; a < 3; ++a) bar.p[gravity_ + a] += of(tree().p.gravity + a);
  bar.p[density_] += s.density_bar;
  bar.dt += of(tree().p.dt) + s.dt_bar;
  for (std::size_t i = 0; i < shapes(); ++i) {
    const double *from = s.p_bar.data() + frame(i), *quat = w.motion.p.data() + frame(i) + 3;
    bar.frames[i][0] += from[0], bar.frames[i][1] += from[1];
    bar.frames[i][2] += 0.5 * (quat[0] * from[6] - quat[3] * from[3]);
  }
}

}  // namespace

void put_into(fluid::FlowOptions& flow, const Swimmer& swimmer) {
  if (flow.cells.size() != 2)
    throw Error({"a model swims in two dimensions, and the flow has three", {}, "take two numbers of cells"});
  if (flow.linkage) throw Error({"the flow has a model already", {}, "put all bodies into one model"});
  if (!(swimmer.density >= 0) || !std::isfinite(swimmer.density))
    throw Error(
        {"the density of the fluid is not a positive number",
         {},
         "it is that of the fluid times the depth of the model: 1000 kg/m^2 for a depth of 1 m in water"});
  Swimmer displaced = swimmer;
  std::vector<int> bodies;
  for (const SwimmingShape& shape : swimming_shapes(swimmer.model, swimmer.geoms)) {
    fluid::Obstacle b = shape.obstacle;
    b.linked = true, b.mask = swimmer.mask;
    displace(displaced.model.bodies[std::size_t(shape.body)], shape, swimmer.density);
    flow.obstacles.push_back(b);
    bodies.push_back(shape.body);
  }
  flow.linkage = std::make_shared<SwimmingModel>(displaced, bodies);
}

}  // namespace costate::coupled
