// Term: a part of the forces on vertices that comes from small groups of them (cells, hinges): value, Newton
// matrix, and both derivatives with respect to everything that is not the unknown z.
//
//   r(z; x, w, X, p)     force residual of the term: gradient of its energy at z, and its damping
//   z unknown, x positions at the start of the step, w what velocities are counted from: v = rate (z - w),
//   X rest positions, p parameters, u controls
//
// Nothing is scattered: a term writes one slot per vertex of each of its groups, and one per pair of these,
// and whoever owns a vertex adds its slots up in order (assembly.h). So the number of threads does not show.
// Slots of group e: 3 numbers for each of its `nodes` vertices; blocks: 9 numbers, row by row, for each pair
// (a, b) of its vertices with a <= b, in the order (0,0), (0,1), ..., (1,1), ...
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "costate/core/parallel.h"

namespace costate::soft {

struct Groups {
  int nodes = 0;
  std::vector<int> vertex = {};  // nodes per group
  std::int64_t count() const { return nodes ? std::int64_t(vertex.size()) / nodes : 0; }
  std::int64_t slots() const { return std::int64_t(vertex.size()); }
  std::int64_t blocks() const { return count() * nodes * (nodes + 1) / 2; }
};

// Where a residual is looked at; arrays of 3 numbers per vertex.
struct At {
  const double *z, *x, *w, *p, *u;
  double rate;          // 1/s
  const double* kept;   // by Term::keep, of all terms
  bool convex = false;  // the matrix without its negative part: a direction of descent, not the derivative
  const double* crease = nullptr;  // what terms remember from the step before: Term::remember, of all terms
  const double* areas = nullptr;   // of contact (contact_areas.h); null: contact is not weighted
};
// Tangents with z held; null: zero.
struct AtDot {
  const double *x, *w, *p, *u;
  double rate;
  const double *crease = nullptr, *areas = nullptr;
};
// Cotangents of (mu . r): slots of 3 numbers for x, w and X, and what is shared by many groups.
struct AtBar {
  double *x, *w, *rest;      // slots: written; rest null: not wanted
  double *p, *u;             // added to
  double rate;               // added to
  const double* mass;        // cotangent of the mass of each vertex; terms with a mass go on from there
  double* sums;              // room for sum_groups
  double* crease = nullptr;  // added to
  double* areas = nullptr;   // added to
};

// Groups in chunks of kGroupGrain, in parallel: visit(e, sums) adds to N numbers that all groups share.
// Chunks are added up in their order, in `room`, so that the number of threads does not show.
inline constexpr std::int64_t kGroupGrain = 64;
inline constexpr int kMostSums = 10;
template <int N, class Visit>
void sum_groups(std::int64_t count, double* room, double (&total)[N], const Visit& visit) {
  static_assert(N <= kMostSums);
  parallel_for(count, kGroupGrain, [&](std::int64_t begin, std::int64_t end) {
    double sums[N] = {};
    for (std::int64_t e = begin; e < end; ++e) visit(e, sums);
    std::copy(sums, sums + N, room + N * (begin / kGroupGrain));
  });
  for (std::int64_t c = 0; c * kGroupGrain < count; ++c)
    for (int k = 0; k < N; ++k) total[k] += room[N * c + k];
}

class Term {
 public:
  virtual ~Term() = default;
  const Groups& groups() const { return groups_; }

  // One number per group: the energy at z and half of what damping takes per unit of time; infinite where a
  // law has no value. Its slope along z is the residual.
  virtual void energy(const At& at, double* values) const = 0;
  virtual void residual(const At& at, double* slots) const = 0;
  virtual void matrix(const At& at, double* blocks) const = 0;
  virtual void residual_jvp(const At& at, const AtDot& dot, double* slots) const = 0;
  virtual void residual_vjp(const At& at, const double* mu, AtBar& bar) const = 0;

  // Numbers of the rest shape that are dear to compute: once per step, kept() of them in all. `kept` is the
  // array of all terms, where this one's begin at its own place.
  virtual std::int64_t kept() const { return 0; }
  virtual void keep(const double*, double*) const {}
  void keep_at(std::int64_t place) { kept_at_ = place; }

  // Numbers of the state that a term carries from one step to the next: what they are after a step that
  // ended at z, in the array of all terms. Of the transpose, bar.x are slots of z, and bar.w is not wanted.
  virtual void remember(const At&, double*) const {}
  virtual void remember_jvp(const At&, const AtDot&, const double*, double*) const {}
  virtual void remember_vjp(const At&, const double*, AtBar&) const {}

  // Mass of each vertex of each group: one number per slot. False: the term has none.
  virtual bool mass(const double*, double*) const { return false; }
  virtual bool mass_jvp(const double*, const double*, double*) const { return false; }

  // The first group whose law has no value there; -1: none.
  virtual std::int64_t undefined(const At&) const { return -1; }
  virtual std::string complaint(std::int64_t group) const {
    return "cell " + std::to_string(group) + " is inside out";
  }
  // How much of a step from z can be taken without passing through something; 1: all of it.
  virtual double longest(const At&, const double*) const { return 1; }

 protected:
  Groups groups_;
  std::int64_t kept_at_ = 0;
};

}  // namespace costate::soft
