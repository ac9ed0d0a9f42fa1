// Which pairs come near each other on a way.
//
// The pairs that can meet as long as no vertex leaves a box of `margin` around where it was are looked up
// once (boxes, sorted along the longest axis) and kept; each way picks its candidates from them. So the
// lookup, which is dear, is made about once per step. Which candidates touch does not depend on who else is
// one: a step is a function of its inputs.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "costate/core/parallel.h"
#include "costate/soft/contact/pair_derivatives.h"
#include "costate/soft/contact/self_contact.h"

namespace costate::soft {
namespace {

constexpr std::int64_t kGrain = 1024;

// Those of `from` that `test` is true of, in their order. `test` may change a pair of its own.
template <class F>
void select(std::vector<TouchingPair>& from, std::vector<TouchingPair>& to, std::vector<char>& chosen,
            const F& test) {
  chosen.resize(from.size());
  parallel_for(std::int64_t(from.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) chosen[std::size_t(k)] = test(from[std::size_t(k)]);
  });
  to.clear();
  for (std::size_t k = 0; k < from.size(); ++k)
    if (chosen[k]) to.push_back(from[k]);
}

}  // namespace

void SelfContact::boxes(const double* z, const double* step, double grow, std::span<const int> members,
                        int nodes, std::vector<Scratch::Box>& boxes) {
  boxes.resize(members.size() / std::size_t(nodes));
  for (std::size_t k = 0; k < boxes.size(); ++k) {
    Scratch::Box& box = boxes[k];
    box.id = int(k);
    for (int d = 0; d < 3; ++d) {
      box.low[d] = std::numeric_limits<double>::infinity(), box.high[d] = -box.low[d];
      for (int a = 0; a < nodes; ++a) {
        const int i = 3 * members[k * std::size_t(nodes) + std::size_t(a)] + d;
        const double here = z[i], there = step ? z[i] + step[i] : z[i];
        box.low[d] = std::min({box.low[d], here, there}), box.high[d] = std::max({box.high[d], here, there});
      }
      box.low[d] -= grow, box.high[d] += grow;
    }
  }
}

void SelfContact::sort_boxes(std::vector<Scratch::Box>& boxes, int axis) {
  std::sort(boxes.begin(), boxes.end(), [axis](const Scratch::Box& a, const Scratch::Box& b) {
    return a.low[axis] != b.low[axis] ? a.low[axis] < b.low[axis] : a.id < b.id;
  });
}

void SelfContact::look_around(const double* z, const double* step, double grow, Scratch& s) const {
  boxes(z, step, grow, points_, 1, s.points);
  boxes(z, step, grow, triangles_, 3, s.triangles);
  boxes(z, step, grow, edges_, 2, s.edges);
  double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300};
  for (const Scratch::Box& box : s.points)
    for (int d = 0; d < 3; ++d)
      low[d] = std::min(low[d], box.low[d]), high[d] = std::max(high[d], box.high[d]);
  int axis = 0;
  for (int d = 1; d < 3; ++d)
    if (high[d] - low[d] > high[axis] - low[axis]) axis = d;
  for (auto* all : {&s.points, &s.triangles, &s.edges}) sort_boxes(*all, axis);

  s.wide.clear();
  const int b = (axis + 1) % 3, c = (axis + 2) % 3;
  const auto meet = [&](const Scratch::Box& u, const Scratch::Box& v) {
    return u.low[b] <= v.high[b] && v.low[b] <= u.high[b] && u.low[c] <= v.high[c] && v.low[c] <= u.high[c];
  };
  const auto pair = [&](bool edges, std::array<int, 4> v) {
    const bool shared = edges ? v[0] == v[2] || v[0] == v[3] || v[1] == v[2] || v[1] == v[3]
                              : v[0] == v[1] || v[0] == v[2] || v[0] == v[3];
    bool moves = false;
    for (const int i : v) moves = moves || free_[std::size_t(i)];
    if (!shared && moves) s.wide.push_back({{v[0], v[1], v[2], v[3]}, edges, Closest::face});
  };
  const auto point_triangle = [&](const Scratch::Box& u, const Scratch::Box& v) {
    if (!meet(u, v)) return;
    const int* t = triangles_.data() + 3 * v.id;
    pair(false, {points_[std::size_t(u.id)], t[0], t[1], t[2]});
  };
  // Each point from the first triangle that reaches it on, and each triangle from the first point.
  for (std::size_t i = 0, j = 0; i < s.points.size() || j < s.triangles.size();) {
    const bool point =
        j == s.triangles.size() || (i < s.points.size() && s.points[i].low[axis] <= s.triangles[j].low[axis]);
    if (point) {
      for (std::size_t k = j; k < s.triangles.size() && s.triangles[k].low[axis] <= s.points[i].high[axis];
           ++k)
        point_triangle(s.points[i], s.triangles[k]);
      ++i;
    } else {
      for (std::size_t k = i; k < s.points.size() && s.points[k].low[axis] <= s.triangles[j].high[axis]; ++k)
        point_triangle(s.points[k], s.triangles[j]);
      ++j;
    }
  }
  for (std::size_t i = 0; i < s.edges.size(); ++i)
    for (std::size_t k = i + 1; k < s.edges.size() && s.edges[k].low[axis] <= s.edges[i].high[axis]; ++k) {
      if (!meet(s.edges[i], s.edges[k])) continue;
      const int first = 2 * std::min(s.edges[i].id, s.edges[k].id),
                second = 2 * std::max(s.edges[i].id, s.edges[k].id);
      pair(true, {edges_[std::size_t(first)], edges_[std::size_t(first) + 1], edges_[std::size_t(second)],
                  edges_[std::size_t(second) + 1]});
    }
  // One order, whatever the axis and the step.
  std::sort(s.wide.begin(), s.wide.end(), [](const TouchingPair& u, const TouchingPair& v) {
    if (u.edges != v.edges) return u.edges < v.edges;
    return std::lexicographical_compare(u.v, u.v + 4, v.v, v.v + 4);
  });
}

void SelfContact::find(const double* z, const double* step, const double* p, Scratch& s, double ahead) const {
  const double reach = p[at_.reach];
  const auto n3 = std::size_t(3 * vertices_);
  bool inside = s.base.size() == n3 && s.reach == reach;
  double way = 0;
  for (std::size_t k = 0; k < n3; ++k) {
    const double end = step ? z[k] + step[k] : z[k];
    way = std::max(way, std::abs(end - z[k]));
    inside = inside && std::abs(z[k] - s.base[k]) <= s.margin && std::abs(end - s.base[k]) <= s.margin;
  }
  if (!inside && way > edge_) {  // too far for boxes that all have the same margin
    s.base.clear();
    look_around(z, step, 0.5 * reach, s);
    s.candidates = s.wide;
    return;
  }
  if (!inside) {
    s.base.assign(z, z + n3);
    s.reach = reach;
    // Wide enough for what is to come, but not so wide that everything is near everything.
    s.margin = std::max(way, std::min(2 * std::max({way, reach, ahead}), 0.5 * edge_));
    look_around(z, nullptr, 0.5 * reach + s.margin, s);
  }
  select(s.wide, s.candidates, s.chosen, [&](TouchingPair& pair) {
    const Four x = four(pair, z);
    if (!step) return !far_apart(pair.edges, x, reach);
    // On its way each side stays within a box of its own motion.
    const Four y = four(pair, step);
    double furthest = 0;
    for (const Vec3<double>& v : y.x)
      furthest = std::max({furthest, std::abs(v.x), std::abs(v.y), std::abs(v.z)});
    return !far_apart(pair.edges, x, reach + 2 * furthest);
  });
}

// The candidates within reach at z.
void SelfContact::touch(const At& at, Scratch& s) const {
  const double reach = at.p[at_.reach];
  const std::span<const double> all(at.z, std::size_t(3 * vertices_));
  if (s.touched_reach == reach && std::equal(all.begin(), all.end(), s.touched.begin(), s.touched.end()))
    return;  // energy, residual and matrix ask one after the other
  s.touched.assign(all.begin(), all.end());
  s.touched_reach = reach;
  select(s.candidates, s.touching, s.chosen, [&](TouchingPair& pair) {
    const Four z = four(pair, at.z);
    if (far_apart(pair.edges, z, reach)) return false;
    pair.kind = closest_of(pair.edges, z.x);
    return pair_state(pair.edges, pair.kind, z.x, 0.0).d < reach;
  });
}

}  // namespace costate::soft
