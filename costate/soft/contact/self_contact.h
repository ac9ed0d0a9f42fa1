// Contact of surfaces and rods with themselves and with each other: all pairs of a point and a triangle, and
// of two edges, that share no vertex. A segment of a rod is an edge, and its ends are points.
//
//   energy, residual, Newton matrix, longest step without a collision, tangent and transpose, as a Term has
// them;
//   but which pairs touch changes all the time, so its sums are made one pair after the other, sorted.
//
// Candidates are pairs whose boxes, grown by the way they go and by the reach of the barrier, meet
// (candidates.cpp). The longest step is found by conservative advancement: as long as no pair of points can
// have come closer than a tenth of its distance [2].
// [1] Li et al.: Incremental Potential Contact, ACM TOG 39 (2020). [2] Li, Kaufman, Jiang: Codimensional
// Incremental Potential Contact, ACM TOG 40 (2021), algorithm 1. Tests: tests/soft/contact_test.cpp.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "costate/soft/contact/contact_areas.h"
#include "costate/soft/contact/pair.h"
#include "costate/soft/elements/term.h"
#include "costate/solve/block_cholesky.h"

namespace costate::soft {

struct SelfContactPlaces {
  std::int64_t rest = 0, stiffness = 0, reach = 0, friction = 0, slip_speed = 0, dt = 0;
};

class SelfContact {
 public:
  struct Scratch {
    std::vector<TouchingPair> candidates, touching, lagged;  // touching: at z; lagged: at x, with friction
    std::vector<TouchingPair>
        wide;  // those that can be candidates within `margin` of `base` (candidates.cpp)
    std::vector<double> base;
    std::vector<char> chosen;
    double margin = 0, reach = 0;
    std::vector<double> touched;  // where `touching` was looked up, and with which reach
    double touched_reach = 0;
    std::vector<PairLag<double>> lags;
    struct Box {
      double low[3], high[3];
      int id;
    };
    std::vector<Box> points, triangles, edges;
    std::vector<solve::BlockCholesky::Pair> pairs;  // of vertices, sorted
    std::vector<double> blocks;                     // 9 numbers for each of them, then for each vertex
  };

  // Error where a pair that shares no vertex is closer than the reach at rest. Pairs without a free vertex
  // are none. areas: that barriers count by; null: each of them counts once.
  SelfContact(std::vector<char> free, std::vector<int> triangles, std::vector<int> segments,
              std::span<const double> rest, double reach, const SelfContactPlaces& places,
              const ContactAreas* areas = nullptr);

  // Pairs that come within reach anywhere between z and z + step (null: at z). A guess how far vertices will
  // go from z saves a second lookup.
  void find(const double* z, const double* step, const double* p, Scratch& s, double ahead = 0) const;
  // The pairs that touch at x, for friction. Error where two of them meet.
  void lag(const At& at, double ahead, Scratch& s) const;

  double energy(const At& at, Scratch& s) const;
  // Adds to r; returns the sum of squares of what was added.
  double residual(const At& at, double* r, Scratch& s) const;
  // s.pairs and s.blocks.
  void matrix(const At& at, Scratch& s) const;
  double longest(const At& at, const double* step, const Scratch& s) const;

  // Adds to r_dot.
  void residual_jvp(const At& at, const AtDot& dot, double* r_dot, Scratch& s) const;
  // Adds to arrays of vertices: x_bar, rest_bar; to those of areas, where there are any; and to p_bar.
  void residual_vjp(const At& at, const double* mu, double* x_bar, double* rest_bar, double* areas_bar,
                    double* p_bar, Scratch& s) const;

 private:
  template <class S>
  struct Inputs;
  double parallel(const TouchingPair& pair, const double* rest) const;
  double weight(const TouchingPair& pair, const double* areas) const;
  PairNumbers<double> numbers(const TouchingPair& pair, const At& at) const;
  void touch(const At& at, Scratch& s) const;
  void look_around(const double* z, const double* step, double grow, Scratch& s) const;
  static void boxes(const double* z, const double* step, double grow, std::span<const int> members, int nodes,
                    std::vector<Scratch::Box>& boxes);
  static void sort_boxes(std::vector<Scratch::Box>& boxes, int axis);

  int vertices_;
  std::vector<char> free_;  // per vertex
  std::vector<int> points_, triangles_, edges_;
  double edge_ = 0;  // mean length of an edge at rest, m
  SelfContactPlaces at_;
  const ContactAreas* areas_;
};

}  // namespace costate::soft
