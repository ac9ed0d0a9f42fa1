// ParticleOrder: particles sorted by where they are, for one state. The caller's order of particles never
// changes.
//
// Cells form blocks of four in each direction; a pencil is the blocks along the last axis. Particles are
// counting-sorted by (pencil, material, block), stable in their index: a pure function of the positions. A
// pencil then is the unit of parallel work; all particles of one material in it are a run, so that a pack of
// them obeys one law.
//
// A particle in pencil (a, b) touches node columns of the pencils (a..a+1, b..b+1). Pencils whose a and b
// have the same parity touch nothing in common: four colours (two in 2-D) scatter without conflicts. A node
// pencil is live where one of the (up to four) cell pencils that reach it holds a particle; only these are
// cleared and updated, over the range of the last axis that is reached.
// Tests: tests/mpm/transfer_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "costate/mpm/transfer/node_row.h"

namespace costate::mpm {

class ParticleOrder {
 public:
  static constexpr int kBlock = 4;
  static constexpr int kColours = 4;

  struct Run {  // particles order()[begin, end) of one material
    std::int32_t begin, end;
    std::int32_t material;
  };
  struct Pencil {
    std::int32_t a, b;                 // block coordinates along the first axes (b = 0 in 2-D)
    std::int32_t first_run, last_run;  // runs()[first_run, last_run)
    std::int32_t begin, end;           // particles of all its runs
  };
  struct NodePencil {
    std::int32_t a, b;
    std::int32_t low, high;  // nodes [low, high) of the last axis
  };

  ParticleOrder(int dimension, std::array<int, 3> nodes, int taps, std::int64_t particles, int materials);

  // From now on the particles are so many, and particle p is called names[p]: ties are broken by name, and
  // errors tell it. Of a world that is split; otherwise a particle's name is its index.
  void rename(const std::vector<std::int64_t>& names);
  // After a sort: the node pencils of block row a are live over their whole length, because another rank
  // scatters to them, too.
  void enliven(std::int32_t a);

  // x in cells is (x - origin) / dx. Throws an Error that names the first particle whose stencil leaves the
  // grid.
  template <class Real>
  void sort(const Real* x, const std::array<double, 3>& origin, double dx, const std::int32_t* material,
            std::int64_t step);

  const std::int32_t* order() const { return order_.data(); }
  const std::vector<Run>& runs() const { return runs_; }
  const std::vector<Pencil>& pencils(int colour) const { return pencils_[colour]; }
  const std::vector<NodePencil>& node_pencils() const { return node_pencils_; }
  std::int64_t name(std::int64_t p) const { return names_ ? names_[p] : p; }
  std::int32_t block_rows() const { return blocks_a_; }
  std::int64_t pencil_count() const { return pencil_count_; }  // upper bound
  std::int64_t pencil_index(const Pencil& p) const { return p.a * blocks_b_ + p.b; }

 private:
  template <class Real, int D>
  void count(const Real* x, const std::array<double, 3>& origin, double dx, const std::int32_t* material,
             std::int64_t step);
  void resize(std::int64_t particles);
  void place();
  void sort_by_name();
  void list_pencils();

  int dimension_, taps_, materials_;
  std::array<int, 3> nodes_;
  std::int64_t particles_, chunk_, chunks_;
  const std::int64_t* names_ = nullptr;
  std::int32_t blocks_a_, blocks_b_, blocks_c_;  // along the first, second (3-D) and last axis
  std::int64_t pencil_count_, keys_;
  std::vector<std::int32_t> key_;     // of each particle
  std::vector<std::int32_t> counts_;  // chunks x keys, then the first place of each
  std::vector<std::int32_t> starts_;  // keys + 1
  std::vector<std::int32_t> order_;
  std::vector<std::int64_t> outside_;  // per chunk: the first particle outside, or -1
  std::vector<Run> runs_;
  std::array<std::vector<Pencil>, kColours> pencils_;
  std::vector<NodePencil> node_pencils_;
  std::vector<std::int32_t> low_, high_;  // per pencil: blocks [low, high) that hold particles
};

}  // namespace costate::mpm
