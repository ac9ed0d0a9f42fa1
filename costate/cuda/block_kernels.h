// BlockKernelsOn: what all physics share on a device, one thread per number. `Exec` launches: see
// lane_kernels.h. Tests: tests/cuda/device_rollout_test.cpp.
#pragma once

#include "costate/cuda/kernels.h"

namespace costate::cuda {
namespace thread {

template <class S>
struct ToColumns {
  const S* rows;
  std::int64_t row, row_stride, worlds;
  S* to;
  COSTATE_HD void operator()(std::int64_t at) const { to[at] = rows[at % worlds * row_stride + at / worlds]; }
};
template <class S>
struct ToRows {
  const S* columns;
  std::int64_t row, worlds;
  S* to;
  COSTATE_HD void operator()(std::int64_t at) const { to[at] = columns[at % row * worlds + at / row]; }
};
template <class S>
struct Add {
  S* to;
  const S* from;
  COSTATE_HD void operator()(std::int64_t at) const { to[at] += from[at]; }
};
template <class To, class From>
struct Convert {
  To* to;
  const From* from;
  COSTATE_HD void operator()(std::int64_t at) const { to[at] = To(from[at]); }
};

// What a PlainTerm sees of number i of a world.
template <class S>
struct TermAt {
  PlainTerm<S> term;
  typename BlockKernels<S>::Numbers numbers;
  COSTATE_HD S z(std::int64_t i, std::int64_t world) const {
    return numbers.z[i * numbers.index_stride + world * numbers.world_stride];
  }
  COSTATE_HD double target(std::int64_t i, std::int64_t world) const {
    if (term.target != nullptr) return double(term.target[world * term.world_stride + i]);
    return term.kind == PlainTerm<S>::Kind::linear ? 1.0 : 0.0;
  }
};
// The term of one world, or of one world's part.
template <class S>
struct TermValue {
  TermAt<S> at;
  double* loss;
  std::int64_t parts;  // of each world
  COSTATE_HD void operator()(std::int64_t index) const {
    const std::int64_t world = index / parts;
    double sum = 0;
    for (std::int64_t i = index % parts; i < at.term.size; i += parts) {
      const double z = double(at.z(i, world)), target = at.target(i, world);
      sum += at.term.kind == PlainTerm<S>::Kind::linear ? z * target : 0.5 * (z - target) * (z - target);
    }
    loss[index] += at.term.weight * sum;
  }
};
template <class S>
struct TermVjp {
  TermAt<S> at;
  S* bar;
  COSTATE_HD void operator()(std::int64_t index) const {
    const std::int64_t worlds = at.numbers.worlds, world = index % worlds, i = index / worlds;
    const double target = at.target(i, world);
    const double slope =
        at.term.kind == PlainTerm<S>::Kind::linear ? target : double(at.z(i, world)) - target;
    bar[index] += S(at.term.weight) * S(slope);
  }
};

template <class S>
struct Norm {
  const S* columns;
  std::int64_t row, worlds, parts;
  double* to;
  COSTATE_HD void operator()(std::int64_t index) const {
    const std::int64_t world = index / parts;
    double sum = 0;
    for (std::int64_t i = index % parts; i < row; i += parts) {
      const double x = double(columns[i * worlds + world]);
      sum += x * x;
    }
    to[index] = sum;
  }
};
template <class S>
struct Sum {
  const S* columns;
  std::int64_t worlds;
  const char* diverged;
  double* partials;
  COSTATE_HD void operator()(std::int64_t index) const {
    const S* column = columns + index / kPartials * worlds;
    double sum = 0;
    for (std::int64_t w = index % kPartials; w < worlds; w += kPartials)
      if (diverged == nullptr || !diverged[w]) sum += double(column[w]);
    partials[index] = sum;
  }
};
template <class S>
struct AddUp {
  const double* partials;
  S* to;
  COSTATE_HD void operator()(std::int64_t row) const {
    double sum = 0;
    for (std::int64_t i = 0; i < kPartials; ++i) sum += partials[row * kPartials + i];
    to[row] = S(sum);
  }
};
template <class S>
struct Forget {
  S* columns;
  std::int64_t worlds;
  const char* diverged;
  COSTATE_HD void operator()(std::int64_t at) const {
    if (diverged[at % worlds]) columns[at] = S(0);
  }
};
template <class S>
struct Drift {
  const S *before, *after;
  std::int64_t worlds;
  const char* diverged;
  double* partials;
  COSTATE_HD void operator()(std::int64_t index) const {
    double most = 0;
    for (std::int64_t w = index; w < worlds; w += kPartials) {
      const double e0 = double(before[w]), e1 = double(after[w]);
      if (diverged[w] || e0 == 0) continue;
      const double ratio = (e1 - e0) / e0, size = ratio < 0 ? -ratio : ratio;
      most = size > most ? size : most;
    }
    partials[index] = most;
  }
};

}  // namespace thread

template <class Real, class Exec>
class BlockKernelsOn final : public BlockKernels<Real> {
 public:
  using typename BlockKernels<Real>::Numbers;
  explicit BlockKernelsOn(const Exec& exec) : exec_(exec) {}

  void to_columns(const Real* rows, std::int64_t row, bool shared, std::int64_t worlds, Real* to) override {
    exec_.launch(row * worlds, thread::ToColumns<Real>{rows, row, shared ? 0 : row, worlds, to});
  }
  void to_rows(const Real* columns, std::int64_t row, std::int64_t worlds, Real* to) override {
    exec_.launch(row * worlds, thread::ToRows<Real>{columns, row, worlds, to});
  }
  void add(Real* to, const Real* from, std::int64_t count) override {
    exec_.launch(count, thread::Add<Real>{to, from});
  }
  void narrow(float* to, const Real* from, std::int64_t count) override {
    exec_.launch(count, thread::Convert<float, Real>{to, from});
  }
  void widen(Real* to, const float* from, std::int64_t count) override {
    exec_.launch(count, thread::Convert<Real, float>{to, from});
  }
  void value(const PlainTerm<Real>& term, const Numbers& numbers, double* loss) override {
    const std::int64_t parts = parts_of(numbers.worlds);
    exec_.launch(numbers.worlds * parts, thread::TermValue<Real>{{term, numbers}, loss, parts});
  }
  void vjp(const PlainTerm<Real>& term, const Numbers& numbers, Real* bar) override {
    exec_.launch(term.size * numbers.worlds, thread::TermVjp<Real>{{term, numbers}, bar});
  }
  void norms(const Real* columns, std::int64_t row, std::int64_t worlds, double* to) override {
    const std::int64_t parts = parts_of(worlds);
    exec_.launch(worlds * parts, thread::Norm<Real>{columns, row, worlds, parts, to});
  }
  void sums(const Real* columns, std::int64_t rows, std::int64_t worlds, const char* diverged,
            double* partials) override {
    exec_.launch(rows * kPartials, thread::Sum<Real>{columns, worlds, diverged, partials});
  }
  void add_up(const double* partials, std::int64_t rows, Real* to) override {
    exec_.launch(rows, thread::AddUp<Real>{partials, to});
  }
  void forget(Real* columns, std::int64_t row, std::int64_t worlds, const char* diverged) override {
    exec_.launch(row * worlds, thread::Forget<Real>{columns, worlds, diverged});
  }
  void sums_of_norms(const double* norms, std::int64_t rows, std::int64_t worlds, const char* diverged,
                     double* partials) override {
    exec_.launch(rows * kPartials, thread::Sum<double>{norms, worlds, diverged, partials});
  }
  void drift(const Real* before, const Real* after, std::int64_t worlds, const char* diverged,
             double* partials) override {
    exec_.launch(kPartials, thread::Drift<Real>{before, after, worlds, diverged, partials});
  }

 private:
  // One large world is cut into parts; many worlds have one each.
  static std::int64_t parts_of(std::int64_t worlds) { return worlds == 1 ? kParts : 1; }
  Exec exec_;
};

}  // namespace costate::cuda
