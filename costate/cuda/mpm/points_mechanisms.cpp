#include "costate/cuda/mpm/points_mechanisms.h"

#include <algorithm>

#include "costate/cuda/mpm/points_push.h"
#include "costate/mpm/bodies/body_precision.h"

namespace costate::cuda {

template <class Real, int D>
PointsMechanisms<Real, D>::PointsMechanisms(const Device& device, const mpm::Layout& layout)
    : device_(device),
      gravity_(layout.gravity),
      dt_(layout.dt),
      poses_on_device_(device),
      sums_bar_on_device_(device) {
  for (const mpm::Layout::Moved& moved : layout.moved) {
    Each& e = each_.emplace_back();
    e.moved = moved;
    const Signature& own = moved.by->signature();
    const std::size_t shapes = moved.by->shapes().size();
    for (Work* w : {&e.values, &e.bar}) {
      w->x.resize(std::size_t(own.states())), w->y = w->x;
      w->u.resize(std::size_t(own.controls())), w->p.resize(std::size_t(own.parameters()));
      w->poses.resize(shapes), w->first.resize(shapes), w->sums.resize(shapes);
    }
    e.work = moved.by->make_workspace();
    poses_.resize(poses_.size() + shapes);
  }
  sums_bar_.resize(poses_.size());
}

template <class Real, int D>
void PointsMechanisms<Real, D>::load(const Real* p_host, const Real* p_device) {
  if (each_.empty()) return;
  const mpm::Layout::Moved& last = each_.back().moved;
  p_.resize(std::size_t(last.p + last.by->signature().parameters()));
  if (p_host)
    std::copy_n(p_host, p_.size(), p_.begin());
  else
    device_.download(p_.data(), p_device, std::int64_t(p_.size() * sizeof(Real)));
  for (Each& e : each_)
    for (std::size_t i = 0; i < e.values.p.size(); ++i)
      e.values.p[i] = double(p_[std::size_t(e.moved.p) + i]);
}

template <class Real, int D>
void PointsMechanisms<Real, D>::show(const std::vector<mpm::Pose<double>> Work::*which) {
  for (const Each& e : each_)
    for (std::size_t i = 0; i < e.values.poses.size(); ++i)
      poses_[e.moved.shape + i] = mpm::body_detail::pose_as<Real>((e.values.*which)[i]);
  poses_on_device_.upload(poses_.data(), shapes());
}

template <class Real, int D>
void PointsMechanisms<Real, D>::begin(const StepContext& at, const Real* x, const Real* u) {
  const auto fetch = [&](const Real* from, std::vector<double>& to) {
    std::vector<Real> numbers(to.size());
    if (!to.empty()) device_.download(numbers.data(), from, std::int64_t(to.size() * sizeof(Real)));
    std::ranges::copy(numbers, to.begin());
  };
  Vec3<double> gravity = Vec3<double>::zero();
  for (int a = 0; a < D; ++a) gravity[a] = double(p_[std::size_t(gravity_ + a)]);
  for (Each& e : each_) {
    Work& w = e.values;
    fetch(x + e.moved.x, w.x), fetch(u + e.moved.u, w.u);
    e.moved.by->begin({at, w.x.data(), w.u.data(), w.p.data(), gravity, double(p_[std::size_t(dt_)])}, D,
                      w.poses.data(), *e.work);
    w.first = w.poses;
  }
  show(&Work::poses);
}

template <class Real, int D>
std::vector<double> PointsMechanisms<Real, D>::read(const double* from, std::int64_t count) const {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  device_.download(numbers.data(), from, count * std::int64_t(sizeof(double)));
  return numbers;
}

template <class Real, int D>
void PointsMechanisms<Real, D>::read_sums(const double* from) {
  const std::vector<double> numbers = read(from, std::int64_t(shapes()) * kSumsOfBody);
  for (Each& e : each_) {
    for (std::size_t i = 0; i < e.values.sums.size(); ++i) {
      const double* number = numbers.data() + (e.moved.shape + i) * kSumsOfBody;
      for_sum_numbers(e.values.sums[i], [&](double& to) { to = *number++; });
    }
  }
}

template <class Real, int D>
void PointsMechanisms<Real, D>::predict(const double* sums) {
  read_sums(sums);
  for (Each& e : each_) e.moved.by->predict(e.values.sums.data(), e.values.poses.data(), *e.work);
  show(&Work::poses);
}

template <class Real, int D>
void PointsMechanisms<Real, D>::move(const double* sums, Real* y) {
  read_sums(sums);
  for (Each& e : each_) {
    e.moved.by->move(e.values.sums.data(), e.values.y.data(), *e.work);
    const std::vector<Real> next(e.values.y.begin(), e.values.y.end());
    device_.upload(y + e.moved.x, next.data(), std::int64_t(next.size() * sizeof(Real)));
  }
}

// --- transposes -------------------------------------------------------------------------------------------

template <class Real, int D>
void PointsMechanisms<Real, D>::move_vjp(const double* sums, const Real* bar, bool parameters) {
  read_sums(sums);
  for (Each& e : each_) {
    std::vector<Real> y_bar(e.bar.y.size());
    device_.download(y_bar.data(), bar + e.moved.x, std::int64_t(y_bar.size() * sizeof(Real)));
    std::ranges::copy(y_bar, e.bar.y.begin());
    e.moved.by->move_vjp(e.values.sums.data(), e.bar.y.data(), parameters, sums_bar_.data() + e.moved.shape,
                         *e.work);
  }
  sums_bar_on_device_.upload(sums_bar_.data(), shapes());
}

template <class Real, int D>
void PointsMechanisms<Real, D>::predict_vjp(const double* pose_bars) {
  const std::vector<double> numbers = read(pose_bars, std::int64_t(shapes()) * kPoseNumbers);
  for (Each& e : each_) {
    for (std::size_t i = 0; i < e.bar.poses.size(); ++i) {
      const double* number = numbers.data() + (e.moved.shape + i) * kPoseNumbers;
      for_pose_numbers(e.bar.poses[i], [&](double& to) { to = *number++; });
    }
    e.moved.by->predict_vjp(e.bar.poses.data(), sums_bar_.data() + e.moved.shape, *e.work);
  }
  sums_bar_on_device_.upload(sums_bar_.data(), shapes());
  show(&Work::first);
}

template <class Real, int D>
void PointsMechanisms<Real, D>::add(Real* to, const double* numbers, std::int64_t count) {
  std::vector<Real> sum(static_cast<std::size_t>(count));
  const auto bytes = count * std::int64_t(sizeof(Real));
  if (count == 0) return;
  device_.download(sum.data(), to, bytes);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += Real(numbers[i]);
  device_.upload(to, sum.data(), bytes);
}

template <class Real, int D>
void PointsMechanisms<Real, D>::begin_vjp(const double* pose_bars, Real* bar, Real* u_bar, Real* p_bar) {
  const std::vector<double> numbers = read(pose_bars, std::int64_t(shapes()) * kPoseNumbers);
  for (Each& e : each_) {
    Work& w = e.bar;
    for (std::size_t i = 0; i < w.poses.size(); ++i) {
      const double* number = numbers.data() + (e.moved.shape + i) * kPoseNumbers;
      for_pose_numbers(w.poses[i], [&](double& to) { to = *number++; });
    }
    std::ranges::fill(w.u, 0.0);
    std::ranges::fill(w.p, 0.0);
    mpm::MechanismBar to{w.x.data(), u_bar ? w.u.data() : nullptr, p_bar ? w.p.data() : nullptr,
                         Vec3<double>::zero(), 0.0};
    e.moved.by->begin_vjp(w.poses.data(), to, *e.work);
    const std::vector<Real> x_bar(w.x.begin(), w.x.end());
    device_.upload(bar + e.moved.x, x_bar.data(), std::int64_t(x_bar.size() * sizeof(Real)));
    if (u_bar) add(u_bar + e.moved.u, w.u.data(), std::int64_t(w.u.size()));
    if (!p_bar) continue;
    add(p_bar + e.moved.p, w.p.data(), std::int64_t(w.p.size()));
    const double gravity[3] = {to.gravity.x, to.gravity.y, to.gravity.z};
    add(p_bar + gravity_, gravity, D);
    add(p_bar + dt_, &to.dt, 1);
  }
}

template class PointsMechanisms<float, 2>;
template class PointsMechanisms<float, 3>;
template class PointsMechanisms<double, 2>;
template class PointsMechanisms<double, 3>;

}  // namespace costate::cuda
