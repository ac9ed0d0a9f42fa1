// What a device computes for a rollout, as the host calls it. All pointers are the device's; nothing waits.
//
//   DeviceKernels   a physics: steps and transposes   lane_kernels.h, stencil_kernels.h, program_kernels.h
//   BlockKernels    what all physics share: layouts, terms of an objective, sums      block_kernels.h
#pragma once

#include <memory>
#include <string>

#include "costate/cuda/device.h"
#include "costate/cuda/lane_thread.h"
#include "costate/system/objective.h"

namespace costate::cuda {

template <class Real>
class DeviceKernels {
 public:
  virtual ~DeviceKernels() = default;
  virtual int segment() const { return 1; }             // a tape keeps every segment-th state
  virtual bool samples_norms() const { return false; }  // reverse() writes DeviceCotangents::norms

  // For the report: what a user should know of how this runs. Empty: nothing.
  virtual std::string note() const { return {}; }

  virtual std::int64_t scratch_numbers() const { return 0; }  // memory of its own
  // Per step and world, that record() can leave on the tape besides the state so that reverse() is faster.
  virtual std::int64_t tape_numbers() const { return 0; }

  // Parameters, before anything else is asked for: on the host, null if worlds differ in them, and on the
  // device.
  virtual void load(const Real* /*p_host*/, const Real* /*p_device*/) {}
  // `to` may be `from`. Worlds whose state is not finite are marked in `diverged`.
  virtual void advance(const DeviceRun<Real>& run, const Real* from, Real* to, char* diverged) = 0;
  virtual void record(const DeviceRun<Real>& run, const Real* from, Real* to, const DeviceTape<Real>& tape,
                      char* diverged) = 0;
  virtual void reverse(const DeviceRun<Real>& run, const DeviceTape<Real>& tape,
                       const DeviceCotangents<Real>& bar) = 0;
  // One step back in place, and the energy of each world: where the System has them.
  virtual void step_back(const DeviceRun<Real>&, Real* /*state*/) {}
  virtual void energy(const DeviceRun<Real>&, const Real* /*state*/, Real* /*value*/) {}
};

// Sums over the worlds come as kPartials numbers each, to be added up in their order.
inline constexpr std::int64_t kPartials = 1024;
// Threads that share the terms and norms of one large world.
inline constexpr std::int64_t kParts = 1 << 16;

template <class Real>
class BlockKernels {
 public:
  virtual ~BlockKernels() = default;
  // Rows of `row` numbers per world, or one row for all, to [index][world]; and back.
  virtual void to_columns(const Real* rows, std::int64_t row, bool shared, std::int64_t worlds, Real* to) = 0;
  virtual void to_rows(const Real* columns, std::int64_t row, std::int64_t worlds, Real* to) = 0;
  virtual void add(Real* to, const Real* from, std::int64_t count) = 0;
  virtual void narrow(float* to, const Real* from, std::int64_t count) = 0;
  virtual void widen(Real* to, const float* from, std::int64_t count) = 0;
  // A term whose target lies on the device; z: its part of the state, or the controls, with their strides.
  struct Numbers {
    const Real* z;
    std::int64_t index_stride, world_stride, worlds;
  };
  virtual void value(const PlainTerm<Real>& term, const Numbers& numbers, double* loss) = 0;
  virtual void vjp(const PlainTerm<Real>& term, const Numbers& numbers, Real* bar) = 0;
  // |column|^2 of each world; of one world alone in kParts parts.
  virtual void norms(const Real* columns, std::int64_t row, std::int64_t worlds, double* to) = 0;
  // rows x kPartials numbers: of the worlds that have not diverged.
  virtual void sums(const Real* columns, std::int64_t rows, std::int64_t worlds, const char* diverged,
                    double* partials) = 0;
  // to[row]: the sum of its kPartials numbers.
  virtual void add_up(const double* partials, std::int64_t rows, Real* to) = 0;
  // Zeros for the worlds that have diverged.
  virtual void forget(Real* columns, std::int64_t row, std::int64_t worlds, const char* diverged) = 0;
  virtual void sums_of_norms(const double* norms, std::int64_t rows, std::int64_t worlds,
                             const char* diverged, double* partials) = 0;
  // Largest |after - before| / |before| of the worlds that have not diverged.
  virtual void drift(const Real* before, const Real* after, std::int64_t worlds, const char* diverged,
                     double* partials) = 0;
};

}  // namespace costate::cuda
