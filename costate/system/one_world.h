// OneWorld: one world of a System that steps many in lanes, for whoever needs single steps of a single world:
// a mechanism among particles, a test. All lanes carry the same numbers; a cotangent enters in the first lane
// and is read there. Tests: tests/system/one_world_test.cpp.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/core/aligned_buffer.h"
#include "costate/system/block_memory.h"
#include "costate/system/system.h"

namespace costate {

template <class Real>
class OneWorld {
 public:
  explicit OneWorld(std::shared_ptr<const System<Real>> system)
      : system_(std::move(system)),
        lanes_(system_->lanes()),
        work_(system_->make_workspace()),
        active_{std::vector<bool>(system_->signature().fields(Role::parameter).size(), true), true} {
    for (Numbers* n : {&value_, &rate_, &bar_}) {
      n->x.reserve(system_->state_size()), n->y.reserve(system_->state_size());
      n->u.reserve(system_->control_size() + 1), n->p.reserve(system_->parameter_size() + 1);
    }
  }

  // What the transposes have noticed.
  Diagnostics& diagnostics() { return work_->diagnostics; }

  void step(const StepContext& at, const Real* x, const Real* u, const Real* p, Real* y) {
    load(x, u, p, value_);
    system_->step(at, value_.inputs(), value_.y.data(), nullptr, *work_);
    take_lane(value_.y.data(), states(), lanes_, 0, y);
  }
  // With tangents.
  void step(const StepContext& at, const Dual<Real>* x, const Dual<Real>* u, const Dual<Real>* p,
            Dual<Real>* y) {
    load(x, u, p, value_), load_tangents(x, u, p);
    system_->step_jvp(at, value_.inputs(), rate_.inputs(), value_.y.data(), rate_.y.data(), *work_);
    for (std::int64_t i = 0; i < states(); ++i)
      y[i] = {value_.y.data()[i * lanes_], rate_.y.data()[i * lanes_]};
  }
  // Adds to x_bar, u_bar and, where it is not null, p_bar.
  void step_vjp(const StepContext& at, const Real* x, const Real* u, const Real* p, const Real* y_bar,
                Real* x_bar, Real* u_bar, Real* p_bar) {
    load(x, u, p, value_);
    fill_zero(bar_.y.data(), system_->state_size());
    fill_zero(bar_.u.data(), system_->control_size());
    fill_zero(bar_.p.data(), system_->parameter_size());
    for (std::int64_t i = 0; i < states(); ++i) bar_.y.data()[i * lanes_] = y_bar[i];
    system_->step_vjp(at, value_.inputs(), nullptr, bar_.y.data(),
                      {bar_.x.data(), bar_.u.data(), p_bar ? bar_.p.data() : nullptr}, active_, *work_);
    const auto add = [&](const AlignedBuffer<Real>& from, Real* to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) to[i] += from.data()[i * lanes_];
    };
    add(bar_.x, x_bar, states()), add(bar_.u, u_bar, system_->signature().controls());
    if (p_bar) add(bar_.p, p_bar, system_->signature().parameters());
  }

 private:
  struct Numbers {
    AlignedBuffer<Real> x, u, p, y;
    Inputs<Real> inputs() const { return {x.data(), u.data(), p.data()}; }
  };
  std::int64_t states() const { return system_->signature().states(); }
  template <class T, class Read>
  void spread(const T* from, std::int64_t count, AlignedBuffer<Real>& to, const Read& read) const {
    for (std::int64_t i = 0; i < count; ++i) std::fill_n(to.data() + i * lanes_, lanes_, read(from[i]));
  }
  template <class T, class Read>
  void spread(const T* x, const T* u, const T* p, Numbers& to, const Read& read) const {
    const Signature& s = system_->signature();
    spread(x, s.states(), to.x, read), spread(u, s.controls(), to.u, read);
    spread(p, s.parameters(), to.p, read);
  }
  template <class T>
  void load(const T* x, const T* u, const T* p, Numbers& to) const {
    spread(x, u, p, to, [](const T& v) { return primal(v); });
  }
  void load_tangents(const Dual<Real>* x, const Dual<Real>* u, const Dual<Real>* p) {
    spread(x, u, p, rate_, [](const Dual<Real>& v) { return v.d[0]; });
  }

  std::shared_ptr<const System<Real>> system_;
  int lanes_;
  std::unique_ptr<Workspace> work_;
  Activity active_;
  Numbers value_, rate_, bar_;
};

}  // namespace costate
