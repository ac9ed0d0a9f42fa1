// What moves the bodies of a model on a device: its Mechanisms, asked on the host with numbers that come down
// and go up again within a step. A few hundred bytes, and a wait for the device each time.
//
//   begin, predict, move                         a step, in this order: mpm/bodies/mechanism.h
//   move_vjp, predict_vjp, begin_vjp             its transpose, after begin and predict
//
// As mpm/system_bodies.h and system_bodies_vjp.h. Tests: tests/cuda/device_points_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "costate/cuda/device.h"
#include "costate/mpm/bodies/mechanism.h"
#include "costate/mpm/layout.h"

namespace costate::cuda {

template <class Real, int D>
class PointsMechanisms {
 public:
  PointsMechanisms(const Device& device, const mpm::Layout& layout);

  int shapes() const { return int(sums_bar_.size()); }
  // Parameters of the world: on the host, or null, and on the device.
  void load(const Real* p_host, const Real* p_device);

  // x: the state, u: the controls of the step; the device's, as all pointers here. Each leaves the poses that
  // the nodes see in poses().
  void begin(const StepContext& at, const Real* x, const Real* u);
  void predict(const double* sums);
  void move(const double* sums, Real* y);
  mpm::Pose<Real>* poses() { return poses_on_device_.data(); }

  // bar: cotangents of the state, whose part of the bodies is replaced at the end. sums: what move is given.
  // Each leaves the cotangents of what the nodes gave in sums_bar().
  void move_vjp(const double* sums, const Real* bar, bool parameters);
  void predict_vjp(const double* pose_bars);
  const mpm::BodySums<double>* sums_bar() const { return sums_bar_on_device_.data(); }
  // Null: not wanted.
  void begin_vjp(const double* pose_bars, Real* bar, Real* u_bar, Real* p_bar);

 private:
  struct Work {
    std::vector<double> x, u, p, y;
    std::vector<mpm::Pose<double>> poses, first;
    std::vector<mpm::BodySums<double>> sums;
  };
  struct Each {
    mpm::Layout::Moved moved;
    Work values, bar;
    std::unique_ptr<Workspace> work;
  };
  void show(const std::vector<mpm::Pose<double>> Work::*which);
  void read_sums(const double* from);
  std::vector<double> read(const double* from, std::int64_t count) const;
  void add(Real* to, const double* numbers, std::int64_t count);

  const Device& device_;
  std::int64_t gravity_, dt_;
  std::vector<Each> each_;
  std::vector<Real> p_;
  std::vector<mpm::Pose<Real>> poses_;
  std::vector<mpm::BodySums<double>> sums_bar_;
  DeviceArray<mpm::Pose<Real>> poses_on_device_;
  DeviceArray<mpm::BodySums<double>> sums_bar_on_device_;
};

extern template class PointsMechanisms<float, 2>;
extern template class PointsMechanisms<float, 3>;
extern template class PointsMechanisms<double, 2>;
extern template class PointsMechanisms<double, 3>;

}  // namespace costate::cuda
