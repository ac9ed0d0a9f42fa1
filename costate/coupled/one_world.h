// OneWorld: a System of many worlds in lanes, as the step of one. All lanes carry the same numbers; a cotangent enters in the first and is read there.
#pragma once

#include <algorithm>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/core/aligned_buffer.h"
#include "costate/system/system.h"

namespace costate::coupled {

class OneWorld {
 public:
  explicit OneWorld(std::shared_ptr<const System<double>> system)
      : system_(std::move(system)),
        work_(system_->make_workspace()),
        active_{std::vector<bool>(system_->signature().fields(Role::parameter).size(), true), true} {
    for (Numbers* n : {&value_, &rate_, &bar_}) {
      n->x.reserve(system_->state_size()), n->y.reserve(system_->state_size());
      n->u.reserve(system_->control_size() + 1), n->p.reserve(system_->parameter_size() + 1);
    }
  }

  void step(const double* x, const double* u, const double* p, double* y) {
    load(x, u, p, value_);
    system_->step({}, value_.inputs(), value_.y.data(), nullptr, *work_);
    for (std::int64_t i = 0; i < states(); ++i) y[i] = value_.y.data()[i * system_->lanes()];
  }
  void step(const Dual<double>* x, const Dual<double>* u, const Dual<double>* p, Dual<double>* y) {
    load(x, u, p, value_), load_tangents(x, u, p);
    system_->step_jvp({}, value_.inputs(), rate_.inputs(), value_.y.data(), rate_.y.data(), *work_);
    for (std::int64_t i = 0; i < states(); ++i) {
      const std::int64_t at = i * system_->lanes();
      y[i] = {value_.y.data()[at], rate_.y.data()[at]};
    }
  }
  // Adds to x_bar, u_bar and, where it is not null, p_bar.
  void step_vjp(const double* x, const double* u, const double* p, const double* y_bar, double* x_bar,
                double* u_bar, double* p_bar) {
    load(x, u, p, value_);
    const auto clear = [](AlignedBuffer<double>& b) { std::fill(b.data(), b.data() + b.capacity(), 0.0); };
    clear(bar_.y), clear(bar_.u), clear(bar_.p);
    for (std::int64_t i = 0; i < states(); ++i) bar_.y.data()[i * system_->lanes()] = y_bar[i];
    system_->step_vjp({}, value_.inputs(), nullptr, bar_.y.data(),
                      {bar_.x.data(), bar_.u.data(), p_bar ? bar_.p.data() : nullptr}, active_, *work_);
    const auto add = [&](const AlignedBuffer<double>& from, double* to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) to[i] += from.data()[i * system_->lanes()];
    };
    add(bar_.x, x_bar, states()), add(bar_.u, u_bar, system_->signature().controls());
    if (p_bar) add(bar_.p, p_bar, system_->signature().parameters());
  }

 private:
  struct Numbers {
    AlignedBuffer<double> x, u, p, y;
    Inputs<double> inputs() const { return {x.data(), u.data(), p.data()}; }
  };
  std::int64_t states() const { return system_->signature().states(); }
  template <class T, class Read>
  void spread(const T* from, std::int64_t count, AlignedBuffer<double>& to, const Read& read) const {
    const int lanes = system_->lanes();
    for (std::int64_t i = 0; i < count; ++i) std::fill_n(to.data() + i * lanes, lanes, read(from[i]));
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
  void load_tangents(const Dual<double>* x, const Dual<double>* u, const Dual<double>* p) {
    spread(x, u, p, rate_, [](const Dual<double>& v) { return v.d[0]; });
  }

  std::shared_ptr<const System<double>> system_;
  std::unique_ptr<Workspace> work_;
  Activity active_;
  Numbers value_, rate_, bar_;
};

}  // namespace costate::coupled
