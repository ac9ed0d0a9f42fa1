// GatheredLoss: any loss of a split world, and whoever watches it. At the steps that count, the first rank
// gathers the whole state, does there what a Rollout does on one machine, and hands the cotangents back.
//
//   see   rank r > 0  its piece of x -> rank 0        rank 0  loss += l_k(x)
//   vjp   rank r > 0  its pieces of x and x_bar, its u_bar -> rank 0
//         rank 0      x_bar += dl_k/dx, u_bar += dl_k/du of each rank; back to rank r
//
// So the bits are those of one machine. Losses that are sums over elements need no gathering: split_terms.h.
// Tests: tests/cluster/ranks_test.cpp.
#pragma once

#include <functional>

#include "costate/cluster/world/split_pass.h"

namespace costate::cluster {

// What the first rank does with whole states.
template <class Real>
struct WholeLoss {
  std::function<void(std::int64_t k, const Real* x)> look;
  // Adds to x_bar, and to u_bar, which is null at the end.
  std::function<void(std::int64_t k, const Real* x, Real* x_bar, Real* u_bar)> pull;
  // Adds to u_bar alone: that of another rank.
  std::function<void(std::int64_t k, const Real* x, Real* u_bar)> pull_controls;
};

template <class Real>
class GatheredLoss final : public SplitLoss<Real> {
 public:
  // visits: the steps whose states are looked at, in order. On ranks other than the first, `whole` is null.
  GatheredLoss(const SplitSystem<Real>& world, std::int64_t steps, std::vector<std::int64_t> visits,
               std::shared_ptr<const WholeLoss<Real>> whole);
  // The steps that have cotangents: before the way back.
  void set_terms(std::vector<std::int64_t> terms) { terms_ = std::move(terms); }

  void see(std::int64_t k, const Piece<Real>& x, const Real* u) override;
  void vjp(std::int64_t k, const Piece<Real>& x, const Real* u, Piece<Real>& x_bar, Real* u_bar) override;

  // Whole on the first rank; empty on the others. By all ranks together.
  std::vector<Real> gather(const Piece<Real>& piece);
  // On the first rank: squares of the norms of the adjoint at the sampled steps (system/block.h).
  std::vector<double> adjoint_norm2;

 private:
  bool first() const { return world_.channel().rank() == 0; }
  void watch(std::int64_t k, const Piece<Real>& x) const;
  // The numbers that this rank owns, field after field.
  std::string numbers_of(const Piece<Real>& piece) const;
  void read_numbers(const std::string& bytes, Piece<Real>& piece) const;
  void scatter(Piece<Real>& piece, const std::vector<Real>& whole);
  void add_controls(std::int64_t k, const std::vector<Real>& x, bool reads_controls, Real* u_bar);
  void sample(std::int64_t k, const Piece<Real>& x_bar);

  const SplitSystem<Real>& world_;
  std::int64_t steps_;
  std::vector<std::int64_t> visits_, terms_;
  std::shared_ptr<const WholeLoss<Real>> whole_;
  std::vector<std::vector<std::int64_t>> elements_;  // of each rank, at the latest gather()
};

// Messages of any length.
void send_long(Channel& channel, int to, const std::string& bytes);
std::string receive_long(Channel& channel, int from);

extern template class GatheredLoss<float>;
extern template class GatheredLoss<double>;

}  // namespace costate::cluster
