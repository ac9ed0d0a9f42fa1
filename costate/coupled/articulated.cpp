#include "costate/coupled/articulated.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/coupled/model_inside.h"
#include "costate/coupled/shape_motion.h"
#include "costate/rigid/dynamics/integrate.h"
#include "costate/system/one_world.h"

namespace costate::coupled {
namespace {

using mpm::BodySums;
using mpm::MechanismBar;
using mpm::MechanismInputs;
using mpm::Pose;
using Tangent = Dual<double>;

class Articulated final : public mpm::Mechanism {
 public:
  explicit Articulated(const Articulation& from);

  const std::vector<mpm::Collider>& shapes() const override { return shapes_; }
  const Signature& signature() const override { return signature_; }
  std::vector<double> initial_state() const override { return inside_.initial; }
  std::string objection(int dimension) const override;
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(*this); }

  void begin(const MechanismInputs<double>& in, int dimension, Pose<double>* poses,
             Workspace& work) const override {
    begin_in(in, dimension, poses, work);
  }
  void predict(const BodySums<double>* sums, Pose<double>* poses, Workspace& work) const override {
    predict_in(sums, poses, work);
  }
  void move(const BodySums<double>* sums, double* y, Workspace& work) const override {
    move_in(sums, y, work);
  }
  void begin(const MechanismInputs<Tangent>& in, int dimension, Pose<Tangent>* poses,
             Workspace& work) const override {
    begin_in(in, dimension, poses, work);
  }
  void predict(const BodySums<Tangent>* sums, Pose<Tangent>* poses, Workspace& work) const override {
    predict_in(sums, poses, work);
  }
  void move(const BodySums<Tangent>* sums, Tangent* y, Workspace& work) const override {
    move_in(sums, y, work);
  }

  void move_vjp(const BodySums<double>* sums, const double* y_bar, bool parameters,
                BodySums<double>* sums_bar, Workspace& work) const override;
  void predict_vjp(const Pose<double>* pose_bars, BodySums<double>* sums_bar, Workspace& work) const override;
  void begin_vjp(const Pose<double>* pose_bars, MechanismBar& bar, Workspace& work) const override;

  std::vector<ShapePose> shape_poses(const std::vector<double>& x, const std::vector<double>& p) const;
  std::vector<double> defaults() const;

 private:
  // One pass through a step, in values or with tangents.
  template <class T>
  struct Pass {
    explicit Pass(const Articulated& a)
        : motion(a.inside_.stepper.tree, a.observed_),
          x(a.inside_.stepper.states()),
          u(a.inside_.stepper.controls()),
          y(x.size()),
          raw(a.map_size()),
          turns(3 * a.shapes_.size()),
          v0(motion.dofs),
          v1(v0.size()),
          change(v0.size()),
          sums(a.shapes_.size()) {}
    ShapeMotion<T> motion;
    std::vector<T> x, u, y;         // of the rigid step; u: ctrl, then a force for each dof
    std::vector<T> raw, turns;      // parameters as given; rotations of the shapes in their bodies
    std::vector<T> v0, v1, change;  // change = v1 - v0
    std::vector<BodySums<T>> sums;  // of the look
    StepContext at;
    T dt;
    int dimension;
  };
  struct Scratch : Workspace {
    explicit Scratch(const Articulated& a)
        : rigid(a.inside_.system),
          untouched(a.inside_.system),
          value(a),
          x_bar(value.x.size()),
          u_bar(value.u.size()),
          y_bar(value.x.size()),
          q_bar(value.v0.size()),
          v0_bar(value.v0.size()),
          lambda(value.v0.size()),
          unused(value.v0.size()),
          ambient(a.inside_.stepper.tree.nq),
          p_bar(value.motion.p.size()),
          raw_bar(value.raw.size()),
          mu_bar(a.shapes_.size()),
          z_bar(value.motion.z.size()) {}
    OneWorld<double> rigid, untouched;  // the step that is taken, and the one if nothing touched the shapes
    Pass<double> value;
    std::unique_ptr<Pass<Tangent>> tangent;  // made on first use
    // Cotangents; q in its tangent space, p as ShapeMotion has them.
    std::vector<double> x_bar, u_bar, y_bar, q_bar, v0_bar, lambda, unused, ambient, p_bar, raw_bar, mu_bar,
        z_bar;
    double dt_bar = 0;
    bool parameters = false;
  };
  template <class T>
  Pass<T>& pass(Workspace& work) const {
    auto& s = static_cast<Scratch&>(work);
    if constexpr (is_dual<T>) {
      if (!s.tangent) s.tangent = std::make_unique<Pass<T>>(*this);
      return *s.tangent;
    } else {
      return s.value;
    }
  }
  template <class T>
  void load(const MechanismInputs<T>& in, Pass<T>& w) const;
  template <class T>
  void begin_in(const MechanismInputs<T>& in, int dimension, Pose<T>* poses, Workspace& work) const;
  template <class T>
  void predict_in(const BodySums<T>* sums, Pose<T>* poses, Workspace& work) const;
  template <class T>
  void move_in(const BodySums<T>* sums, T* y, Workspace& work) const;

  void poses_vjp(const Pose<double>* bars, const double* v, double* v_bar, Scratch& s) const;
  void power_vjp(const double* v, Scratch& s) const;
  void rigid_vjp(const double* y_bar, OneWorld<double>& rigid, Scratch& s) const;
  rigid::Wanted wanted(const Scratch& s) const { return inside_.wanted(s.parameters); }
  ShapeMotionBar bars(Scratch& s) const { return {s.q_bar.data(), s.parameters ? s.p_bar.data() : nullptr}; }
  int frame(std::size_t shape) const { return inside_.stepper.tree.p.prepared_size + kFrame * int(shape); }
  int map_size() const { return inside_.stepper.tree.p.size; }

  ModelInside inside_;
  std::vector<mpm::Collider> shapes_;
  Signature signature_;
  std::vector<rigid::Observed> observed_;
  std::int64_t first_ = 0;           // of the shapes' seven numbers (friction, position, rotation) each
  std::vector<std::string> bodies_;  // of the shapes
};

Articulated::Articulated(const Articulation& from)
    : inside_(from.model, from.options, from.initial_state), signature_(inside_.signature) {
  first_ = signature_.parameters();
  for (const Attached& a : from.shapes) {
    const auto body = std::find(inside_.bodies.begin(), inside_.bodies.end(), a.body);
    if (body == inside_.bodies.end()) {
      const std::string nearest = nearest_name(a.body, inside_.bodies);
      throw Error(
          {"the model has no body '" + a.body + "'", "collider \"" + a.collider.name + "\"",
           nearest.empty() ? "it has '" + inside_.bodies.back() + "'" : "did you mean '" + nearest + "'?"});
    }
    const std::size_t s = shapes_.size();
    shapes_.push_back(a.collider);
    bodies_.push_back(a.body);
    rigid::Observed o;
    o.body = int(body - inside_.bodies.begin());
    o.pos_parameter = frame(s), o.quat_parameter = frame(s) + 3, o.inverse_quat_norm = frame(s) + 7;
    observe_frame_motion(o, observed_);
    const std::string path = "collider/" + a.collider.name + "/";
    const auto three = [](const mpm::Vector& v) { return std::vector<double>{v[0], v[1], v[2]}; };
    signature_.parameter(path + "friction", a.collider.friction);
    signature_.parameter(path + "position", three(a.collider.position), "m");
    signature_.parameter(path + "rotation", three(a.collider.rotation), "rad");
  }
}

std::vector<double> Articulated::defaults() const {
  std::vector<double> p;
  for (const Field& f : signature_.fields(Role::parameter))
    for (std::int64_t i = 0; i < f.size; ++i)
      p.push_back(f.defaults[f.defaults.size() == 1 ? 0 : static_cast<std::size_t>(i)]);
  return p;
}

std::string Articulated::objection(int dimension) const {
  if (dimension == 3) return {};
  const std::vector<double> p = defaults();
  Pass<double> w(*this);
  std::vector<Pose<double>> poses(shapes_.size());
  load({{}, inside_.initial.data(), nullptr, p.data(), Vec3<double>::zero(), 1.0}, w);
  w.motion.place(3, poses.data());
  for (std::size_t s = 0; s < shapes_.size(); ++s) {
    if (!stays_in_plane(w.motion, poses.data(), s))
      return "collider \"" + shapes_[s].name + "\" on body \"" + bodies_[s] +
             "\" can leave the plane: in two dimensions hinges turn about z and slides lie across it";
  }
  return {};
}

// --- a step ------------------------------------------------------------------------------------------------

template <class T>
void Articulated::load(const MechanismInputs<T>& in, Pass<T>& w) const {
  inside_.parameters(in.p, in.gravity, in.dt, w.raw.data());
  std::copy(w.raw.begin(), w.raw.end(), w.motion.p.begin());
  std::copy(in.x, in.x + w.x.size(), w.x.begin());
  std::copy(in.x, in.x + inside_.stepper.tree.nq, w.motion.x.begin());
  w.at = in.at;
  w.dt = in.dt;
  rigid::prepare_units(inside_.stepper.tree.p, w.motion.p.data());
  for (std::size_t s = 0; s < shapes_.size(); ++s) {
    const T* from = in.p + first_ + 7 * std::int64_t(s);
    T* to = w.motion.p.data() + frame(s);
    std::copy(from + 1, from + 4, to);
    std::copy(from + 4, from + 7, w.turns.begin() + 3 * std::ptrdiff_t(s));
    const Quat<T> turn = exp_map(Vec3<T>{from[4], from[5], from[6]});
    to[3] = turn.w, to[4] = turn.x, to[5] = turn.y, to[6] = turn.z, to[7] = T(1);
  }
}

template <class T>
void Articulated::begin_in(const MechanismInputs<T>& in, int dimension, Pose<T>* poses,
                           Workspace& work) const {
  Pass<T>& w = pass<T>(work);
  const rigid::Tree& tree = inside_.stepper.tree;
  w.dimension = dimension;
  load(in, w);
  if (tree.nu > 0) std::copy(in.u, in.u + tree.nu, w.u.begin());
  std::fill(w.u.begin() + tree.nu, w.u.end(), T(0));
  static_cast<Scratch&>(work).untouched.step(w.at, w.x.data(), w.u.data(), w.raw.data(), w.y.data());
  std::copy_n(w.y.begin() + tree.nq, tree.nv, w.v0.begin());
  w.motion.place(dimension, poses);
  w.motion.carry(w.v0.data(), poses);
  for (std::size_t s = 0; s < shapes_.size(); ++s) poses[s].mu = in.p[first_ + 7 * std::int64_t(s)];
}

template <class T>
void Articulated::predict_in(const BodySums<T>* sums, Pose<T>* poses, Workspace& work) const {
  Pass<T>& w = pass<T>(work);
  std::copy(sums, sums + shapes_.size(), w.sums.begin());
  w.motion.gather(sums, w.change.data());
  w.motion.respond(sums, w.change.data());
  for (std::size_t k = 0; k < w.v0.size(); ++k) w.v1[k] = w.v0[k] + w.change[k];
  w.motion.carry(w.v1.data(), poses);
}

template <class T>
void Articulated::move_in(const BodySums<T>* sums, T* y, Workspace& work) const {
  Pass<T>& w = pass<T>(work);
  T* force = w.u.data() + inside_.stepper.tree.nu;
  w.motion.gather(sums, force);
  for (int k = 0; k < inside_.stepper.tree.nv; ++k) force[k] = force[k] / w.dt;
  static_cast<Scratch&>(work).rigid.step(w.at, w.x.data(), w.u.data(), w.raw.data(), y);
}

// --- transposes --------------------------------------------------------------------------------------------

// Adds what a rigid step with the forces now in u does to the cotangents of its state, controls and
// parameters.
void Articulated::rigid_vjp(const double* y_bar, OneWorld<double>& rigid, Scratch& s) const {
  Pass<double>& w = s.value;
  rigid.step_vjp(w.at, w.x.data(), w.u.data(), w.raw.data(), y_bar, s.x_bar.data(), s.u_bar.data(),
                 s.parameters ? s.raw_bar.data() : nullptr);
}

// Of the power <z_bar, J_s v> of the shapes, by q and frames: z_bar's velocities are set, the rest of it is
// zero.
void Articulated::power_vjp(const double* v, Scratch& s) const {
  seen_vjp(s.value.motion, wanted(s), v, s.z_bar.data(), bars(s), s.unused.data());
}

namespace {

void put(double* z_bar, int at, const Vec3<double>& v) {
  z_bar[at] = v.x, z_bar[at + 1] = v.y, z_bar[at + 2] = v.z;
}
// In two dimensions nobody has seen the rest.
Six<double> in_plane(Six<double> a, int dimension) {
  if (dimension == 2) a.linear.z = a.angular.x = a.angular.y = 0;
  return a;
}

}  // namespace

void Articulated::move_vjp(const BodySums<double>* sums, const double* y_bar, bool parameters,
                           BodySums<double>* sums_bar, Workspace& work) const {
  auto& s = static_cast<Scratch&>(work);
  Pass<double>& w = s.value;
  const int nu = inside_.stepper.tree.nu, nv = inside_.stepper.tree.nv;
  s.parameters = parameters;
  for (auto* bar :
       {&s.x_bar, &s.u_bar, &s.q_bar, &s.v0_bar, &s.p_bar, &s.raw_bar, &s.mu_bar, &s.z_bar, &s.unused})
    std::fill(bar->begin(), bar->end(), 0.0);
  double* force = w.u.data() + nu;
  w.motion.gather(sums, force);
  for (int k = 0; k < nv; ++k) force[k] /= w.dt;
  {
    const LentDiagnostics lent(s.diagnostics, s.rigid.diagnostics());
    rigid_vjp(y_bar, s.rigid, s);
  }
  s.dt_bar = 0;
  for (int k = 0; k < nv; ++k) {
    double& force_bar = s.u_bar[nu + k];
    s.lambda[k] = force_bar / w.dt;
    s.dt_bar -= force_bar * force[k] / w.dt;
    force_bar = 0;
  }
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Six<double> pull = w.motion.carried(i, s.lambda.data());
    sums_bar[i] = BodySums<double>::zero();
    sums_bar[i].J = pull.linear, sums_bar[i].L = pull.angular;
    const Six<double> given = in_plane({sums[i].J, sums[i].L}, w.dimension);
    put(s.z_bar.data() + kSeen * i, kVelocity, given.linear);
    put(s.z_bar.data() + kSeen * i, kAngular, given.angular);
  }
  power_vjp(s.lambda.data(), s);
}

// Of poses whose velocities are J_s v.
void Articulated::poses_vjp(const Pose<double>* pose_bars, const double* v, double* v_bar, Scratch& s) const {
  const int dimension = s.value.dimension;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Pose<double>& bar = pose_bars[i];
    double* z = s.z_bar.data() + kSeen * i;
    put(z, kPosition, {bar.c.x, bar.c.y, dimension == 2 ? 0.0 : bar.c.z});
    for (int j = 0; j < 3; ++j) put(z, kAxes + 3 * j, bar.R.column(j));
    const Six<double> moving = in_plane({bar.V, bar.W}, dimension);
    put(z, kVelocity, moving.linear), put(z, kAngular, moving.angular);
    s.mu_bar[i] += bar.mu;
  }
  seen_vjp(s.value.motion, wanted(s), v, s.z_bar.data(), bars(s), v_bar);
  std::fill(s.z_bar.begin(), s.z_bar.end(), 0.0);
}

void Articulated::predict_vjp(const Pose<double>* pose_bars, BodySums<double>* sums_bar,
                              Workspace& work) const {
  auto& s = static_cast<Scratch&>(work);
  Pass<double>& w = s.value;
  poses_vjp(pose_bars, w.v1.data(), s.v0_bar.data(), s);
  // (M + sum J'KJ) change = sum J'j: with lambda the solution for the cotangent of the change, <lambda,
  // J'j - (M + J'KJ) change> has the derivatives.
  s.lambda = s.v0_bar;
  solve::ldl_solve(w.motion.dofs, w.motion.A.data(), s.lambda.data());
  const auto set = [&](std::size_t i, const Six<double>& a) {
    const Six<double> seen = in_plane(a, w.dimension);
    put(s.z_bar.data() + kSeen * i, kVelocity, seen.linear);
    put(s.z_bar.data() + kSeen * i, kAngular, seen.angular);
  };
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Six<double> pull = w.motion.carried(i, s.lambda.data()),
                      moved = w.motion.carried(i, w.change.data()), held = stiff(w.sums[i], moved);
    sums_bar[i] = BodySums<double>::zero();
    sums_bar[i].J = pull.linear, sums_bar[i].L = pull.angular;
    stiff_vjp(pull, moved, sums_bar[i]);
    set(i, {w.sums[i].J - held.linear, w.sums[i].L - held.angular});
  }
  power_vjp(s.lambda.data(), s);
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Six<double> held = stiff(w.sums[i], w.motion.carried(i, s.lambda.data()));
    set(i, {-held.linear, -held.angular});
  }
  power_vjp(w.change.data(), s);
  std::fill(s.z_bar.begin(), s.z_bar.end(), 0.0);
  inertia_vjp(w.motion, wanted(s), s.lambda.data(), w.change.data(), bars(s), s.unused.data());
}

void Articulated::begin_vjp(const Pose<double>* pose_bars, MechanismBar& bar, Workspace& work) const {
  auto& s = static_cast<Scratch&>(work);
  Pass<double>& w = s.value;
  const rigid::Tree& tree = inside_.stepper.tree;
  const rigid::ParameterMap& map = tree.p;
  poses_vjp(pose_bars, w.v0.data(), s.v0_bar.data(), s);
  std::fill(s.y_bar.begin(), s.y_bar.end(), 0.0);
  std::copy(s.v0_bar.begin(), s.v0_bar.end(), s.y_bar.begin() + tree.nq);
  std::fill(w.u.begin() + tree.nu, w.u.end(), 0.0);
  rigid_vjp(s.y_bar.data(), s.untouched, s);

  rigid::ambient_cotangent(tree, w.x.data(), s.q_bar.data(), s.ambient.data());
  for (std::size_t i = 0; i < s.x_bar.size(); ++i)
    bar.x[i] = s.x_bar[i] + (i < s.ambient.size() ? s.ambient[i] : 0.0);
  for (int i = 0; bar.u && i < tree.nu; ++i) bar.u[i] += s.u_bar[i];
  if (!bar.p) return;
  const auto of = [&](int i) { return s.raw_bar[i] + s.p_bar[i]; };
  for (std::size_t i = 0; i < inside_.own.size(); ++i)
    if (inside_.own[i] >= 0) bar.p[inside_.own[i]] += of(int(i));
  for (int a = 0; a < 3; ++a) bar.gravity[a] += of(map.gravity + a);
  bar.dt += of(map.dt) + s.dt_bar;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    double* to = bar.p + first_ + 7 * std::int64_t(i);
    const double* from = s.p_bar.data() + frame(i);
    to[0] += s.mu_bar[i];
    for (int a = 0; a < 3; ++a) to[1 + a] += from[a];
    const double* phi = w.turns.data() + 3 * i;
    using D = Dual<double, 3>;
    const Quat<D> turn =
        exp_map(Vec3<D>{D::variable(phi[0], 0), D::variable(phi[1], 1), D::variable(phi[2], 2)});
    for (int a = 0; a < 3; ++a)
      to[4 + a] +=
          from[3] * turn.w.d[a] + from[4] * turn.x.d[a] + from[5] * turn.y.d[a] + from[6] * turn.z.d[a];
  }
}

std::vector<ShapePose> Articulated::shape_poses(const std::vector<double>& x,
                                                const std::vector<double>& p) const {
  Pass<double> w(*this);
  std::vector<Pose<double>> poses(shapes_.size());
  load({{}, x.data(), nullptr, p.data(), Vec3<double>::zero(), 1.0}, w);
  w.motion.place(3, poses.data());
  std::vector<ShapePose> result;
  for (std::size_t s = 0; s < shapes_.size(); ++s) {
    const Quat<double> in_body = rigid::quat_at(w.motion.p.data() + frame(s) + 3);
    const Vec3<double> phi = log_map(w.motion.d.quat[w.motion.body(s)] * in_body);
    result.push_back({{poses[s].c.x, poses[s].c.y, poses[s].c.z}, {phi.x, phi.y, phi.z}});
  }
  return result;
}

}  // namespace

std::shared_ptr<const mpm::Mechanism> articulated(const Articulation& articulation) {
  return std::make_shared<Articulated>(articulation);
}

std::vector<ShapePose> shape_poses(const mpm::Mechanism& mechanism, const std::vector<double>& x,
                                   const std::vector<double>& p) {
  const auto& a = dynamic_cast<const Articulated&>(mechanism);
  return a.shape_poses(x, p.empty() ? a.defaults() : p);
}

}  // namespace costate::coupled
