// SplitPoints: a world of material points over ranks. A rank owns a slab of the grid, whole rows of blocks
// along the first axis (particle_order.h), and the particles in it. The bits are those of MaterialPoints.
//
// A node's sum has one order in the whole world: colours 0 and 1 (even rows of blocks) before 2 and 3 (odd
// ones). Slabs begin with an even row, so the order survives the cut A between a rank and the next one:
//
//   next rank   scatters its even rows, A among them, and sends A's first H = taps - 1 rows of nodes down
//   this rank   puts them in place, scatters its odd rows, A - 1 among them, onto them, and sends the sums up
//
// Both then hold the same nodes, and everything after it is local: a halo costs 2 H rows of nodes for each
// scatter and cut, and no particle is computed twice. Sums over particles and nodes (cotangents of the
// parameters) are kept by pencil, gathered, and added in the order of the whole world.
//
// A particle that leaves a slab goes to the neighbour at the end of the step: the last one takes its place,
// and those that come are appended (Piece). Cotangents go back the same way. Where particles that share a
// pencil are sorted, their names decide and not their places.
// Tests: tests/cluster/split_test.cpp.
#pragma once

#include "costate/mpm/split_cuts.h"
#include "costate/mpm/system_step.h"
#include "costate/mpm/system_vjp.h"
#include "costate/system/split_system.h"

namespace costate::mpm {

template <class Real, int D, int kTaps>
class SplitPoints final : public SplitSystem<Real> {
  using Points = MaterialPoints<Real, D, kTaps>;
  using Mode = Values<Real>;
  using Pencil = ParticleOrder::Pencil;
  using NodePencil = ParticleOrder::NodePencil;
  using Index = std::int64_t;

 public:
  SplitPoints(const Points& whole, Channel& channel)
      : SplitSystem<Real>(whole.layout_.signature, whole.layout_.particles, channel),
        points_(whole.model_),
        whole_(whole.layout_),
        work_(points_) {
    check_split(whole.model_);
    std::vector<Index> rows(std::size_t(work_.order.block_rows()), 0);
    const std::vector<double>& x = whole.model_.particles.x;
    for (Index i = 0; i < whole_.particles; ++i) ++rows[std::size_t(block_row(Real(x[std::size_t(i * D)])))];
    const auto cuts = split_cuts(rows, channel.ranks());
    begin_ = cuts[std::size_t(channel.rank())], end_ = cuts[std::size_t(channel.rank()) + 1];
    points_.model_.particles = {};  // not read by a step
    const auto same = [](const auto& v) {
      return std::all_of(v.begin(), v.end(), [&](auto a) { return a == v[0]; });
    };
    alike_ = same(whole_.material) && same(whole_.actuator) && points_.constants_.same_volume;
    for (const Layout::MaterialNumbers& m : whole_.materials)
      for (const Layout::Place& n : m.numbers) per_particle_ |= n.per_particle;
  }

  bool owns(Index, const Real* row) const override {
    const std::int32_t at = block_row(row[0]);
    return at >= begin_ && at < end_;
  }
  Piece<Real> piece(std::vector<Index> elements, const std::vector<Real>& rows) const override {
    Piece<Real> p;
    p.room = Index(elements.size()) * 17 / 16 + 256;
    p.numbers.resize(std::size_t(p.room * this->fields.total));
    for (Index i = 0; i < Index(elements.size()); ++i)
      this->fields.write(rows.data() + i * this->fields.total, p, i);
    p.elements = std::move(elements);
    return p;
  }

  void begin(const Real* p, const Activity&) override {
    p_.assign(p, p + this->signature().parameters());
    p_bar_.assign(p_.size(), Real(0));
  }

  void step(const StepContext& at, const Real* u, const Piece<Real>& x, Piece<Real>& y,
            std::vector<Real>* tape) override;
  void step_vjp(const StepContext& at, const Real* u, const Piece<Real>& x, const Piece<Real>& y,
                const std::vector<Real>* tape, Piece<Real>& y_bar, Piece<Real>& x_bar, Real* u_bar) override;
  void end(Real* u_bar, Index knots, Real* p_bar) override;

 private:
  bool has_lower() const { return this->channel().rank() > 0; }
  bool has_upper() const { return this->channel().rank() + 1 < this->channel().ranks(); }
  int lower() const { return this->channel().rank() - 1; }
  int upper() const { return this->channel().rank() + 1; }

  // As ParticleOrder computes it, to the last bit. Outside the grid the nearest: its owner says so.
  std::int32_t block_row(Real x) const {
    const Real first = std::fma(x, points_.constants_.inverse_dx, -points_.constants_.shift[0]);
    const Real last = Real(work_.order.block_rows() * ParticleOrder::kBlock - 1);
    return std::int32_t(first >= Real(0) ? std::min(first, last) : Real(0)) / ParticleOrder::kBlock;
  }

  // The step's stages read the places and the constants of the particles that are here now.
  void adopt(const Piece<Real>& x);
  // body(pencil) adds to the nodes of `grid`; then they hold the sums of all ranks.
  template <class Body>
  void scatter(Real* grid, const Body& body);
  void sort(const StepContext& at, const Piece<Real>& x);
  void write_tape(const Real* grid, std::vector<Real>& tape) const;
  void hand_over(Piece<Real>& y);
  void hand_over_vjp(const Piece<Real>& x, const Piece<Real>& y, Piece<Real>& y_bar);
  void append(const std::string& message, Piece<Real>& y, Index& came);
  void add_sums(const Inputs<Real>& in, const Cotangents<Real>& bar);
  // body(place of a number among the parameters) for each that this particle has of its own.
  template <class Body>
  void for_own_numbers(Index element, const Body& body) const {
    const std::size_t e = std::size_t(element);
    for (const Layout::Place& n : whole_.materials[std::size_t(whole_.material[e])].numbers)
      if (n.per_particle) body(n.offset + whole_.index_in_material[e]);
  }

  Points points_;  // with the particles that are here, in their places of a Piece
  Layout whole_;
  typename Points::Scratch work_;
  std::int32_t begin_ = 0, end_ = 0;  // rows of blocks
  bool alike_ = true, per_particle_ = false;
  std::vector<Real> p_, p_bar_;
  std::vector<Index> first_elements_;  // after the transposes: those that are here at the start
};

}  // namespace costate::mpm

#include "costate/mpm/split_points_step.h"
