#include "costate/rigid/step_jacobian.h"

#include <span>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/rigid/step/step_body.h"
#include "costate/system/block_memory.h"
#include "costate/system/run/pool.h"

namespace costate::rigid {
namespace {

// A row of A and B from the cotangents of the state and the controls.
template <class S>
void store_row(int row, int n, int m, const StepWork<S>& w, S* A, S* B) {
  S* to = std::copy(w.q_bar.begin(), w.q_bar.end(), A + row * n);
  to = std::copy(w.v_bar.begin(), w.v_bar.end(), to);
  std::copy(w.act_bar.begin(), w.act_bar.end(), to);
  std::copy(w.u_bar.begin(), w.u_bar.end(), B + row * m);
}

// The rows of v+ = v + h a and act+: transposes of the acceleration, each with a unit cotangent. Needs
// evaluate.
template <class S>
void rows_of_rates(const Stepper& stepper, const StateIn<S>& in, StepWork<S>& w, S* A, S* B) {
  const Tree& t = stepper.tree;
  const int n = 2 * t.nv + t.na, m = stepper.controls();
  const S* p = w.p.data();
  const S h = p[t.p.dt];
  const Wanted nothing{nullptr, nullptr, false};
  prepare_acceleration_vjp(t, stepper.constraints, p, in, static_cast<const S*>(nullptr), nothing, w.d, w.c);
  const auto clear = [&] {
    for (auto* bar : {&w.q_bar, &w.v_bar, &w.act_bar, &w.act_dot_bar, &w.u_bar})
      std::fill(bar->begin(), bar->end(), S(0));
  };
  const auto through_acceleration = [&] {
    prepared_acceleration_vjp<S>(t, stepper.constraints, stepper.implicit, p, in, w.act_dot_bar.data(),
                                 nothing,
                                 {w.q_bar.data(), w.v_bar.data(), w.act_bar.data(), w.u_bar.data(),
                                  stepper.applied_forces ? w.u_bar.data() + t.nu : nullptr, w.p_bar.data()},
                                 w.d, w.c);
  };
  for (int i = 0; i < t.nv; ++i) {
    clear();
    std::fill(w.d.lambda.begin(), w.d.lambda.end(), S(0));
    w.d.lambda[i] = h;
    w.v_bar[i] = S(1);
    through_acceleration();
    store_row(t.nv + i, n, m, w, A, B);
  }
  for (int i = 0; i < t.na; ++i) {
    clear();
    std::fill(w.d.lambda.begin(), w.d.lambda.end(), S(0));
    std::fill(w.y_bar.begin(), w.y_bar.end(), S(0));
    w.y_bar[t.nq + t.nv + i] = S(1);
    next_activations_vjp(t, p, h, in.act, static_cast<const S*>(w.d.act_dot.data()),
                         static_cast<const S*>(w.y_bar.data() + t.nq + t.nv), nothing, w.act_bar.data(),
                         w.act_dot_bar.data(), w.p_bar.data());
    through_acceleration();
    store_row(2 * t.nv + i, n, m, w, A, B);
  }
}

// The rows of q+: dq+ = T dq + h G dv+, T and G the identity except for rotations: exp(-h w) and the right
// Jacobian of exp. Needs the rows of v+.
template <class S>
void rows_of_positions(const Stepper& stepper, const S* v_next, const S& h, S* A, S* B) {
  const Tree& t = stepper.tree;
  const int n = 2 * t.nv + t.na, m = stepper.controls();
  const auto row_of_q = [&](int row, const int* dofs, const S* turn, const S* carry, int count) {
    S *a = A + row * n, *b = B + row * m;
    std::fill(a, a + n, S(0));
    std::fill(b, b + m, S(0));
    for (int k = 0; k < count; ++k) {
      const S *va = A + (t.nv + dofs[k]) * n, *vb = B + (t.nv + dofs[k]) * m, weight = h * carry[k];
      for (int j = 0; j < n; ++j) a[j] += weight * va[j];
      for (int j = 0; j < m; ++j) b[j] += weight * vb[j];
      a[dofs[k]] += turn[k];
    }
  };
  for (const TreeJoint& joint : t.joints) {
    const int rotation = joint.type == JointType::free   ? joint.dof + 3
                         : joint.type == JointType::ball ? joint.dof
                                                         : -1;
    const int straight = joint.type == JointType::free ? 3 : joint.type == JointType::ball ? 0 : 1;
    const S one(1);
    for (int k = 0; k < straight; ++k) {
      const int dof = joint.dof + k;
      row_of_q(dof, &dof, &one, &one, 1);
    }
    if (rotation < 0) continue;
    const Vec3<S> phi = h * vec3_at(v_next + rotation);
    const Quat<S> e = exp_map(phi);
    const int dofs[3] = {rotation, rotation + 1, rotation + 2};
    for (int k = 0; k < 3; ++k) {
      Vec3<S> unit = Vec3<S>::zero();
      unit[k] = S(1);
      const Vec3<S> turn = rotate(e, unit), carry = exp_jacobian_transpose(phi, unit);
      const S turns[3] = {turn.x, turn.y, turn.z}, carries[3] = {carry.x, carry.y, carry.z};
      row_of_q(rotation + k, dofs, turns, carries, 3);
    }
  }
}

// All rows into w's pack-wide A and B.
template <class S>
void step_jacobian(const Stepper& stepper, StepWork<S>& w, S* A, S* B) {
  const Tree& t = stepper.tree;
  const S* p = w.p.data();
  const S h = p[t.p.dt];
  const StateIn<S> in = state_in<S>(stepper, w.x.data(), w.u.data());
  evaluate<S>(stepper, p, in, nullptr, w);
  S* v_next = w.mean_v.data();
  for (int i = 0; i < t.nv; ++i) v_next[i] = in.v[i] + h * w.d.qacc[i];
  rows_of_rates(stepper, in, w, A, B);
  rows_of_positions<S>(stepper, v_next, h, A, B);
}

// Hard contact moves positions with another velocity than v+: every row is a transpose of the step.
template <class S>
void hard_step_jacobian(const Stepper& stepper, StepWork<S>& w, S* A, S* B) {
  const Tree& t = stepper.tree;
  const int n = 2 * t.nv + t.na, m = stepper.controls();
  Euler::step<S>(stepper, w, true);
  for (int row = 0; row < n; ++row) {
    std::fill(w.y_bar.begin(), w.y_bar.end(), S(0));
    std::fill(w.u_bar.begin(), w.u_bar.end(), S(0));
    if (row < t.nv) {
      std::fill(w.moved_q_bar.begin(), w.moved_q_bar.end(), S(0));
      w.moved_q_bar[row] = S(1);
      ambient_cotangent(t, static_cast<const S*>(w.y.data()), static_cast<const S*>(w.moved_q_bar.data()),
                        w.y_bar.data());
    } else {
      w.y_bar[t.nq + row - t.nv] = S(1);
    }
    Euler::step_vjp<S>(stepper, w, Wanted{nullptr, nullptr, false});
    store_row(row, n, m, w, A, B);
  }
  leave_tape(w.d);
}

}  // namespace

template <class Real>
struct StepJacobian<Real>::Impl {
  using S = NativePack<Real>;
  static constexpr int kLanes = lanes_of<S>;
  Signature signature;
  Stepper stepper;
  std::int64_t rows = 0;

  // Of one thread: scratch of a step, and the matrices of a pack of worlds.
  struct Work {
    explicit Work(const Impl& of)
        : w(of.stepper),
          A(static_cast<std::size_t>(of.rows * of.rows)),
          B(static_cast<std::size_t>(of.rows * of.stepper.controls())) {}
    StepWork<S> w;
    std::vector<S> A, B;
  };
  Pool<Work> pool{[this] { return std::make_unique<Work>(*this); }};

  static std::span<const Real> rows_of(const Real* numbers, std::int64_t size, std::int64_t worlds) {
    return {numbers, static_cast<std::size_t>(size * worlds)};
  }

  // Lane l of a pack is world first + l; the last ones of the last pack repeat the last world.
  void pack_of_worlds(std::int64_t first, std::int64_t worlds, const Real* x, const Real* u,
                      const Parameters<Real>& parameters, Real* A, Real* B, Work& work) const {
    StepWork<S>& w = work.w;
    const auto gather = [&](std::span<const Real> from, std::int64_t size, S* to) {
      gather_lanes(from, size, first, 1, worlds, kLanes, reinterpret_cast<Real*>(to));
    };
    gather(rows_of(x, stepper.states(), worlds), stepper.states(), w.x.data());
    gather(rows_of(u, stepper.controls(), worlds), stepper.controls(), w.u.data());
    const auto& fields = signature.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f)
      gather(parameters.values(f), fields[f].size, w.p.data() + fields[f].offset);
    prepare_units(stepper.tree.p, w.p.data());
    if (stepper.hard())
      hard_step_jacobian(stepper, w, work.A.data(), work.B.data());
    else
      step_jacobian(stepper, w, work.A.data(), work.B.data());
    for (int l = 0; l < kLanes && first + l < worlds; ++l) {
      for (const auto& [pack, to] : {std::pair{&work.A, A}, std::pair{&work.B, B}}) {
        const auto size = std::int64_t(pack->size());
        take_lane(reinterpret_cast<const Real*>(pack->data()), size, kLanes, l, to + (first + l) * size);
      }
    }
  }
};

template <class Real>
StepJacobian<Real>::StepJacobian(const Model& model, const SystemOptions& options)
    : impl_(std::make_unique<Impl>()) {
  SystemOptions uncut = options;
  if (uncut.onset == Onset::automatic) uncut.onset = Onset::none;
  impl_->stepper = make_stepper(model, uncut, impl_->signature);
  impl_->stepper.constraints.hard.aware = false;  // that is no derivative
  if (impl_->stepper.evaluations != 1 || impl_->stepper.split)
    throw Error({"the Jacobian of a step is for steps of one evaluation", "rigid::StepJacobian",
                 "use Euler or implicitfast without onset = split, or Rollout::jacobian"});
  impl_->rows = 2 * impl_->stepper.tree.nv + impl_->stepper.tree.na;
}
template <class Real>
StepJacobian<Real>::~StepJacobian() = default;
template <class Real>
StepJacobian<Real>::StepJacobian(StepJacobian&&) noexcept = default;

template <class Real>
const Signature& StepJacobian<Real>::signature() const {
  return impl_->signature;
}
template <class Real>
std::int64_t StepJacobian<Real>::rows() const {
  return impl_->rows;
}
template <class Real>
std::int64_t StepJacobian<Real>::controls() const {
  return impl_->stepper.controls();
}

template <class Real>
void StepJacobian<Real>::operator()(std::int64_t worlds, const Real* x, const Real* u,
                                    const Parameters<Real>& parameters, Real* A, Real* B) const {
  if (!same_fields(impl_->signature, parameters.signature(), Role::parameter))
    throw Error("these are not the parameters of this model");
  parallel_for((worlds + Impl::kLanes - 1) / Impl::kLanes, 1, [&](std::int64_t pack, std::int64_t) {
    auto work = impl_->pool.take();
    impl_->pack_of_worlds(pack * Impl::kLanes, worlds, x, u, parameters, A, B, *work);
    impl_->pool.give_back(std::move(work));
  });
}

template class StepJacobian<float>;
template class StepJacobian<double>;

}  // namespace costate::rigid
