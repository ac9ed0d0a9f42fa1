// Model predictive control of a humanoid: it rises from a crouch, walks at 0.5 m/s, and is pushed on the way.
//
//   control_humanoid [replay.html]           one push from the side
//   control_humanoid [replay.html] pushes    ten pushes, from all sides, at ten moments of a stride
//
// The plan follows a gait that knows nothing of forces: feet that stand or swing under a trunk that moves on.
// What keeps the humanoid up is the plan: 32 steps of 10 ms through the contacts, made anew in every step.
#include <costate/costate.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <numbers>
#include <string>

#include "costate/io/rigid_picture.h"

using namespace costate;

constexpr double kStep = 0.01, kSpeed = 0.5;    // s, m/s
constexpr double kWalk = 1.0, kRamp = 1.0;      // s: when it sets off, and how long it takes to full speed
constexpr double kPeriod = 0.9, kStance = 0.6;  // s of a stride, the part of it that a foot stands
constexpr double kLift = 0.06, kSway = 0.04;    // m: of a swinging foot, of the trunk from side to side
constexpr double kLeg = 0.79, kCrouch = 0.58;   // m from hip to ankle: walking, and at the start
constexpr double kImpulse = 30, kPushed = 0.1;  // N s, s
constexpr std::int64_t kHorizon = 32;

// [gait]
// 1. The gait at time t: where the trunk is, and angles that put the feet where they stand or swing.
class Gait {
 public:
  explicit Gait(const rigid::Model& model) : model_(model) {
    for (const rigid::Joint& joint : model.joints) at_[joint.name] = std::size_t(joint.qpos);
  }

  std::vector<double> pose(double t, double leg = kLeg) const {
    std::vector<double> q(model_.qpos0.begin(), model_.qpos0.end());
    const double s = t - kWalk, ramp = std::clamp(s / kRamp, 0.0, 1.0), phase = std::max(0.0, s) / kPeriod;
    const double side =
        -kSway * std::min(1.0, 2 * ramp) * std::cos(2 * std::numbers::pi * (phase - kStance / 2));
    q[0] = kSpeed * (s < 0 ? 0 : s < kRamp ? 0.5 * s * s / kRamp : s - 0.5 * kRamp);
    q[1] = side, q[2] = leg + 0.507;  // of the trunk above the hips, and of the ankles above the floor
    for (const std::string which : {"right", "left"}) {
      const double p = phase + (which == "left" ? 0.5 : 0.0), part = p - std::floor(p),
                   stride = kSpeed * ramp * kPeriod * kStance, swing = (part - kStance) / (1 - kStance);
      const bool stands = part < kStance;
      const double x = stands ? stride * (0.5 - part / kStance)
                              : -0.5 * stride * std::cos(std::numbers::pi * swing),
                   lift = stands ? 0 : kLift * std::min(1.0, 3 * ramp) * std::sin(std::numbers::pi * swing);
      bend(which, x, leg - lift, side / leg, q);
    }
    return q;
  }
  // With the velocities that go with it.
  std::vector<double> state(double t) const {
    const double h = 1e-4;
    std::vector<double> x = pose(t), later = pose(t + h);
    std::vector<double> v(std::size_t(model_.nv));
    for (std::size_t i = 0; i < 3; ++i) v[i] = (later[i] - x[i]) / h;
    for (std::size_t i = 7; i < x.size(); ++i) v[i - 1] = (later[i] - x[i]) / h;
    x.insert(x.end(), v.begin(), v.end());
    return x;
  }

 private:
  // Hip, knee and ankle of a leg whose foot is x ahead of the hip and `down` below it, flat on the floor.
  void bend(const std::string& which, double x, double down, double roll, std::vector<double>& q) const {
    const double thigh = 0.42, shank = 0.40, d = std::hypot(x, down);
    const double knee = std::acos((d * d - thigh * thigh - shank * shank) / (2 * thigh * shank));
    const double hip =
        std::atan2(-x, down) - std::acos((thigh * thigh + d * d - shank * shank) / (2 * thigh * d));
    const auto set = [&](const char* joint, double angle) { q[at_.at(which + joint)] = angle; };
    set("_hip_y", hip), set("_knee", knee), set("_ankle_y", -hip - knee);
    set("_hip_x", which == "left" ? -roll : roll), set("_ankle_x", roll);
  }

  const rigid::Model& model_;
  std::map<std::string, std::size_t> at_;
};
// [/gait]

// [weights]
// 2. What matters: the trunk upright and at its height most, arms least. Its way ahead counts little: after a
//    push it need not catch up.
control::ReferenceWeights weights(const rigid::Model& model) {
  const auto nv = std::size_t(model.nv);
  control::ReferenceWeights w;
  w.states.assign(2 * nv, 0.0);
  const double trunk[6] = {0.5, 5, 40, 20, 20, 5};  // place, orientation
  for (std::size_t i = 0; i < 6; ++i) w.states[i] = trunk[i], w.states[nv + i] = i < 3 ? 2 : 0.2;
  for (const rigid::Joint& joint : model.joints) {
    if (joint.type == rigid::JointType::free) continue;
    const bool arm =
        joint.name.find("shoulder") != std::string::npos || joint.name.find("elbow") != std::string::npos;
    w.states[std::size_t(joint.dof)] = arm ? 0.3 : 3;
    w.states[nv + std::size_t(joint.dof)] = 0.01;
  }
  w.last = w.states;
  for (double& weight : w.last) weight *= 5;
  w.controls.assign(model.actuators.size(), 0.02);
  return w;
}
// [/weights]

struct Push {
  double time = 1e9, angle = 0;
};

class Walker {
 public:
  explicit Walker(rigid::Model model)
      : model_(std::move(model)),
        gait_(model_),
        problem_(make_problem()),
        mpc_(problem_, std::vector<double>(problem_.lower.size(), 0.0),
             // [mpc]
             {.ddp = {.iterations = 1, .fresh_gains = false}}  // [/mpc]
             ),
        world_(rigid::make_system<double>(model_, {.applied_forces = true, .onset = rigid::Onset::none})),
        plant_(world_, Parameters<double>(world_->signature()), problem_.space),
        x_(gait_.pose(0, kCrouch)) {
    x_.resize(x_.size() + std::size_t(model_.nv), 0.0);
  }

  // 3. Walks until `end`; false: it fell.
  bool walk(double end, const Push& push = {}) {
    auto block = plant_.take();
    std::vector<double> y(x_.size());
    bool up = true;
    for (; up && double(k_) * kStep < end; ++k_) {
      const double t = double(k_) * kStep;
      const auto begin = std::chrono::steady_clock::now();
      // [update]
      reference_->begin_at(k_);
      const control::Plan& plan = mpc_.update(x_, k_ == 0 ? 0 : 1);
      std::vector<double> u = mpc_.control(x_);
      // [/update]
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const std::size_t motors = u.size();
      u.resize(motors + std::size_t(model_.nv), 0.0);  // forces that the planner does not know of
      if (t >= push.time && t < push.time + kPushed) {
        u[motors] = kImpulse / kPushed * std::cos(push.angle);
        u[motors + 1] = kImpulse / kPushed * std::sin(push.angle);
      }
      if (k_ % 3 == 0) film(plan, t >= push.time && t < push.time + kPushed);
      plant_.step(k_, x_.data(), u.data(), y.data(), *block);
      x_ = y;
      up = x_[2] > 0.9 || t < 0.5;
      ++plans;
    }
    plant_.give_back(std::move(block));
    return up;
  }

  // A walk that was interrupted goes on from here.
  struct Saved {
    std::vector<double> x;
    control::Plan plan;
    std::int64_t k;
  };
  Saved save() const { return {x_, mpc_.latest(), k_}; }
  void restore(const Saved& saved) {
    x_ = saved.x, k_ = saved.k;
    mpc_.start(saved.plan);
    now_.clear(), ahead_.clear();
  }

  const std::vector<double>& x() const { return x_; }
  double late() const { return gait_.pose(double(k_) * kStep)[0] - x_[0]; }  // m behind the gait

  // The humanoid, and as a shade where it will be at the end of its plan.
  io::Recording recording(const std::string& title) const {
    const rigid::Observer observer(model_, problem_.system->signature(), {});
    io::RigidPicture now(model_), ahead(model_);
    for (const auto& x : now_) now.add_frame(observer.body_poses(x));
    for (const auto& x : ahead_) ahead.add_frame(observer.body_poses(x));
    io::Recording r = now.finish(), shade = ahead.finish();
    for (io::Body& body : shade.bodies) {
      if (body.poses.size() == 1) continue;
      body.name += ", planned", body.opacity = 0.25F, body.color = 0x4f86c6;
      r.bodies.push_back(std::move(body));
    }
    r.title = title, r.frame_interval = 3 * kStep;
    return r;
  }

  double seconds = 0;
  int plans = 0;

 private:
  control::Problem make_problem() {
    const rigid::SystemOptions options{.onset = rigid::Onset::none};
    control::Problem p;
    p.system = rigid::make_system<double>(model_, options);
    p.parameters = Parameters<double>(p.system->signature());
    p.space = control::space_of(model_);
    p.jacobians = control::rigid_jacobians(model_, options, p.parameters);
    p.steps = kHorizon;
    p.lower.assign(model_.actuators.size(), -1), p.upper.assign(model_.actuators.size(), 1);
    std::vector<double> rows;
    for (int k = 0; k < 1000; ++k) {
      const auto row = gait_.state(kStep * k);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    reference_ = std::make_shared<control::Reference>(p.system->signature(), p.space, weights(model_), rows);
    p.objective = reference_;
    return p;
  }
  void film(const control::Plan& plan, bool) {
    now_.push_back(x_);
    ahead_.emplace_back(plan.x.end() - std::ptrdiff_t(x_.size()), plan.x.end());
  }

  rigid::Model model_;
  Gait gait_;
  std::shared_ptr<control::Reference> reference_;
  control::Problem problem_;
  control::Mpc mpc_;
  std::shared_ptr<System<double>> world_;
  control::Plant plant_;
  std::vector<double> x_;
  std::int64_t k_ = 0;
  std::vector<std::vector<double>> now_, ahead_;
};

int main(int argc, char** argv) {
  const bool many = argc > 1 && std::string(argv[argc - 1]) == "pushes";
  rigid::Model model = rigid::load(COSTATE_SCENES "/humanoid.xml");
  model.options.timestep = kStep;
  Walker walker(model);
  const bool rose = walker.walk(kWalk) && walker.x()[2] > 1.25;
  const bool walked = walker.walk(2.5) && std::abs(walker.late()) < 0.05;
  std::printf("it %s from the crouch and %s at 0.5 m/s\n", rose ? "rises" : "does not rise",
              walked ? "walks" : "does not walk");
  int survived = 0;
  const int pushes = many ? 10 : 1;
  const Walker::Saved before = walker.save();
  for (int i = 0; i < pushes; ++i) {
    if (many) walker.restore(before);
    const Push push{2.5 + (many ? 0.09 * i : 0.0),
                    (many ? 2 * std::numbers::pi / 10 * i : 0.5 * std::numbers::pi)};
    const bool up = walker.walk(push.time + (many ? 2.5 : 1.5), push);
    survived += up;
    std::fprintf(stderr, "push of %.0f N s towards %3.0f degrees at %.2f s: %s, %.2f m behind the gait\n",
                 kImpulse, push.angle * 180 / std::numbers::pi, push.time, up ? "stays up" : "falls",
                 walker.late());
  }
  std::printf("pushed by 30 N s: stays up %d of %d times\n", survived, pushes);
  std::fprintf(stderr, "%d plans, %.1f per second\n", walker.plans, walker.plans / walker.seconds);
  const int arguments = argc - (many ? 1 : 0);
  if (arguments > 1)
    view::write_replay(argv[1], {walker.recording("A humanoid under MPC")},
                       {.title = "From a crouch, walking, pushed; the shade is the end of the plan"});
  return rose && walked && survived >= pushes - 1 ? 0 : 1;
}
