#include "costate/mpm/bodies/free_bodies.h"

namespace costate::mpm {
namespace {

void add_inputs(BodyInputs<double>& to, BodyInputs<double> from) {
  double numbers[BodyInputs<double>::kCount];
  int i = 0;
  from.each([&](double& v) { numbers[i++] = v; });
  i = 0;
  to.each([&](double& v) { v += numbers[i++]; });
}

// R and c of a pose go to orientation and position.
template <int D>
void add_pose(const double (&turn_of_body)[4], const Pose<double>& pose, BodyMotion<double>& to) {
  to.c += pose.c;
  using T = Dual<double, 4>;
  T turn[4];
  for (int i = 0; i < 4; ++i) turn[i] = T::variable(turn_of_body[i], i);
  const Mat3<T> R = orientation<D>(turn);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) to.turn[k] += pose.R.e[i][j] * R.e[i][j].d[k];
}

template <int D>
class FreeBodies final : public Mechanism {
  // Numbers of rotations: three in space, the third alone in a plane.
  static constexpr int kTurns = D == 3 ? 3 : 1, kOrientation = D == 3 ? 4 : 1;
  static constexpr int axis(int i) { return D == 3 ? i : 2; }
  // Where the numbers of a body lie, from its first on.
  static constexpr int kPosition = 0, kTurn = D, kVelocity = D + kOrientation, kSpin = kVelocity + D,
                       kStates = kSpin + kTurns;
  static constexpr int kMass = 0, kInertia = 1, kFriction = 1 + kTurns, kParameters = kFriction + 1;

 public:
  explicit FreeBodies(const std::vector<Body>& bodies) : bodies_(bodies) {
    for (const Body& b : bodies_) {
      shapes_.push_back({b.name, b.shape, b.contact, b.friction, b.band});
      const std::string path = "body/" + b.name + "/";
      signature_.state(path + "position", D, "m").state(path + "orientation", kOrientation, "");
      signature_.state(path + "velocity", D, "m/s").state(path + "angular_velocity", kTurns, "rad/s");
      std::vector<double> inertia;
      for (int i = 0; i < kTurns; ++i) inertia.push_back(b.inertia[axis(i)]);
      signature_.parameter(path + "mass", b.mass, "kg").parameter(path + "inertia", inertia, "kg m^2");
      signature_.parameter(path + "friction", b.friction, "");
      signature_.limit(path + "mass", kPositive).limit(path + "inertia", kPositive);
    }
  }

  const std::vector<Collider>& shapes() const override { return shapes_; }
  const Signature& signature() const override { return signature_; }
  std::string objection(int) const override { return {}; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Work>(bodies_.size());
  }
  std::vector<double> initial_state() const override {
    std::vector<double> state;
    const auto put = [&](const double* from, int count) { state.insert(state.end(), from, from + count); };
    for (const Body& b : bodies_) {
      put(b.position.data(), D);
      if constexpr (D == 3) {
        const Quat<double> q = exp_map(Vec3<double>{b.rotation[0], b.rotation[1], b.rotation[2]});
        const double turn[4] = {q.w, q.x, q.y, q.z};
        put(turn, 4);
      } else {
        put(b.rotation.data() + 2, 1);
      }
      put(b.velocity.data(), D);
      put(b.angular_velocity.data() + axis(0), kTurns);
    }
    return state;
  }

  void begin(const MechanismInputs<double>& in, int, Pose<double>* poses, Workspace& work) const override {
    begin_all(in, poses, work);
  }
  void begin(const MechanismInputs<Tangent>& in, int, Pose<Tangent>* poses, Workspace& work) const override {
    begin_all(in, poses, work);
  }
  void predict(const BodySums<double>* sums, Pose<double>* poses, Workspace& work) const override {
    predict_all(sums, poses, work);
  }
  void predict(const BodySums<Tangent>* sums, Pose<Tangent>* poses, Workspace& work) const override {
    predict_all(sums, poses, work);
  }
  void move(const BodySums<double>* sums, double* y, Workspace& work) const override {
    move_all(sums, y, work);
  }
  void move(const BodySums<Tangent>* sums, Tangent* y, Workspace& work) const override {
    move_all(sums, y, work);
  }

  void move_vjp(const BodySums<double>* sums, const double* y_bar, bool, BodySums<double>* sums_bar,
                Workspace& work) const override {
    Work& w = static_cast<Work&>(work);
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      const double* y = y_bar + b * kStates;
      BodyMotion<double> out_bar{};
      for (int a = 0; a < D; ++a) out_bar.c[a] = y[kPosition + a], out_bar.V[a] = y[kVelocity + a];
      for (int a = 0; a < kTurns; ++a) out_bar.W[axis(a)] = y[kSpin + a];
      for (int i = 0; i < kOrientation; ++i) out_bar.turn[i] = y[kTurn + i];
      BodyInputs<double> in = w.values[b];
      in.sums = sums[b];
      w.bar[b] = body_vjp(in, out_bar,
                          [](const auto& at) { return mpm::move<D>(at.body, at.n, at.sums, at.g, at.dt); });
      w.friction_bar[b] = 0;
      sums_bar[b] = w.bar[b].sums;
    }
  }

  void predict_vjp(const Pose<double>* pose_bars, BodySums<double>* sums_bar,
                   Workspace& work) const override {
    Work& w = static_cast<Work&>(work);
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      add_pose<D>(w.values[b].body.turn, pose_bars[b], w.bar[b].body);
      w.friction_bar[b] += pose_bars[b].mu;
      BodyMotion<double> seen_bar{};
      seen_bar.V = pose_bars[b].V, seen_bar.W = pose_bars[b].W;
      const BodyInputs<double> from = body_vjp(w.values[b], seen_bar, [](const auto& at) {
        auto seen = at.body;
        mpm::predict<D>(seen, at.n, at.sums, at.g, at.dt);
        return seen;
      });
      sums_bar[b] = from.sums;
      add_inputs(w.bar[b], from);
    }
  }

  void begin_vjp(const Pose<double>* pose_bars, MechanismBar& bar, Workspace& work) const override {
    Work& w = static_cast<Work&>(work);
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      const BodyInputs<double>& in = w.values[b];
      const Pose<double>& pose = pose_bars[b];
      BodyInputs<double>& t = w.bar[b];
      add_pose<D>(in.body.turn, pose, t.body);
      w.friction_bar[b] += pose.mu;
      t.body.V += pose.V;
      t.body.W += pose.W;
      for (int a = 0; a < D; ++a) {
        t.g[a] += in.dt * pose.V[a];
        t.dt += in.g[a] * pose.V[a];
      }
      write(t.body, bar.x + b * kStates);
      bar.gravity += t.g;
      bar.dt += t.dt;
      if (!bar.p) continue;
      double* p = bar.p + b * kParameters;
      p[kMass] += t.n.mass;
      for (int i = 0; i < kTurns; ++i) p[kInertia + i] += t.n.inertia[axis(i)];
      p[kFriction] += w.friction_bar[b];
    }
  }

 private:
  struct Work : Workspace {
    explicit Work(std::size_t bodies) : values(bodies), bar(bodies), tangents(bodies), friction_bar(bodies) {}
    std::vector<BodyInputs<double>> values, bar;  // with the sums of the first look
    std::vector<BodyInputs<Tangent>> tangents;
    std::vector<double> friction_bar;
  };
  template <class T>
  static std::vector<BodyInputs<T>>& inputs(Workspace& work) {
    if constexpr (is_dual<T>)
      return static_cast<Work&>(work).tangents;
    else
      return static_cast<Work&>(work).values;
  }
  template <class T>
  static void write(const BodyMotion<T>& from, T* x) {
    for (int a = 0; a < D; ++a) x[kPosition + a] = from.c[a], x[kVelocity + a] = from.V[a];
    for (int a = 0; a < kTurns; ++a) x[kSpin + a] = from.W[axis(a)];
    for (int i = 0; i < kOrientation; ++i) x[kTurn + i] = from.turn[i];
  }

  template <class T>
  void begin_all(const MechanismInputs<T>& from, Pose<T>* poses, Workspace& work) const {
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      const T *x = from.x + b * kStates, *p = from.p + b * kParameters;
      BodyInputs<T>& in = inputs<T>(work)[b] = {};
      for (int a = 0; a < D; ++a) in.body.c[a] = x[kPosition + a], in.body.V[a] = x[kVelocity + a];
      for (int a = 0; a < kTurns; ++a) in.body.W[axis(a)] = x[kSpin + a];
      for (int i = 0; i < kOrientation; ++i) in.body.turn[i] = x[kTurn + i];
      in.n.mass = p[kMass];
      for (int i = 0; i < 3; ++i) in.n.inertia[i] = p[kInertia + (D == 3 ? i : 0)];
      in.g = from.gravity;
      in.dt = from.dt;
      poses[b] = {orientation<D>(in.body.turn), in.body.c, in.body.V + in.dt * in.g, in.body.W, p[kFriction]};
    }
  }
  template <class T>
  void predict_all(const BodySums<T>* sums, Pose<T>* poses, Workspace& work) const {
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      BodyInputs<T>& in = inputs<T>(work)[b];
      in.sums = sums[b];
      BodyMotion<T> seen = in.body;
      mpm::predict<D>(seen, in.n, in.sums, in.g, in.dt);
      poses[b].V = seen.V;
      poses[b].W = seen.W;
    }
  }
  template <class T>
  void move_all(const BodySums<T>* sums, T* y, Workspace& work) const {
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      const BodyInputs<T>& in = inputs<T>(work)[b];
      write(mpm::move<D>(in.body, in.n, sums[b], in.g, in.dt), y + b * kStates);
    }
  }

  std::vector<Body> bodies_;
  std::vector<Collider> shapes_;
  Signature signature_;
};

}  // namespace

std::shared_ptr<const Mechanism> free_bodies(const Model& model) {
  if (model.dimension == 3) return std::make_shared<FreeBodies<3>>(model.bodies);
  return std::make_shared<FreeBodies<2>>(model.bodies);
}

}  // namespace costate::mpm
