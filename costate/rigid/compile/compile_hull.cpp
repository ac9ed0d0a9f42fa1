#include "costate/rigid/compile/compile_hull.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>

#include "costate/core/error.h"

namespace costate::rigid {
namespace {

using Point = Vec3<double>;

struct Face {
  Triangle corner;
  Point normal;
  double offset = 0;
  std::vector<int> outside;  // points above this face and no earlier one
  bool alive = true;
};

[[noreturn]] void flat() {
  throw Error({"the points lie in one plane, so their convex hull has no inside",
               {},
               "give the mesh some thickness"});
}

class Hull {
 public:
  explicit Hull(const std::vector<Point>& points) : points_(points) {
    double extent = 0;
    for (const Point& p : points) extent = std::max({extent, std::abs(p.x), std::abs(p.y), std::abs(p.z)});
    tolerance_ = 1e-10 * extent;
    start();
    for (std::size_t f = 0; f < faces_.size(); ++f) {
      if (faces_[f].alive && !faces_[f].outside.empty()) grow(f);
    }
  }

  std::vector<Triangle> triangles() const {
    std::vector<Triangle> result;
    for (const Face& f : faces_) {
      if (f.alive) result.push_back(f.corner);
    }
    return result;
  }

 private:
  const Point& at(int i) const { return points_[i]; }
  double height(const Face& f, int i) const { return dot(f.normal, at(i)) - f.offset; }
  static std::uint64_t edge(int a, int b) {
    return (std::uint64_t(std::uint32_t(a)) << 32) | std::uint32_t(b);
  }

  // The index with the largest measure, and that measure.
  template <class Measure>
  std::pair<int, double> farthest(const Measure& measure) const {
    std::pair<int, double> best{-1, -1};
    for (int i = 0; i < int(points_.size()); ++i) {
      const double value = measure(at(i));
      if (value > best.second) best = {i, value};
    }
    return best;
  }

  // A sliver whose points are nearly in a line has no normal; its zero normal lets nobody see it.
  void add(int a, int b, int c) {
    Face f{.corner = {a, b, c}, .normal = normalized(cross(at(b) - at(a), at(c) - at(a))), .outside = {}};
    f.offset = dot(f.normal, at(a));
    for (int k = 0; k < 3; ++k) face_at_[edge(f.corner[k], f.corner[(k + 1) % 3])] = faces_.size();
    faces_.push_back(std::move(f));
  }

  void start() {
    if (points_.size() < 4) flat();
    const int a = farthest([&](const Point& p) { return squared_norm(p - at(0)); }).first;
    const auto [b, ab] = farthest([&](const Point& p) { return squared_norm(p - at(a)); });
    if (ab <= tolerance_ * tolerance_) flat();
    const Point line = normalized(at(b) - at(a));
    const auto [c, to_line] = farthest([&](const Point& p) { return norm(cross(line, p - at(a))); });
    if (to_line <= tolerance_) flat();
    const Point plane = normalized(cross(at(b) - at(a), at(c) - at(a)));
    const auto [d, to_plane] = farthest([&](const Point& p) { return std::abs(dot(plane, p - at(a))); });
    if (to_plane <= 10 * tolerance_) flat();
    const bool above = dot(plane, at(d) - at(a)) > 0;
    const int p = a, q = above ? c : b, r = above ? b : c;  // d lies below (p, q, r)
    add(p, q, r);
    add(q, p, d);
    add(r, q, d);
    add(p, r, d);
    std::vector<int> all(points_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = int(i);
    share_out(all, 0);
  }

  // Gives every point to the first of the faces from `first` on that it is above.
  void share_out(const std::vector<int>& candidates, std::size_t first) {
    for (const int i : candidates) {
      for (std::size_t f = first; f < faces_.size(); ++f) {
        if (height(faces_[f], i) > tolerance_) {
          faces_[f].outside.push_back(i);
          break;
        }
      }
    }
  }

  void grow(std::size_t start_face) {
    const std::vector<int>& above = faces_[start_face].outside;
    const int top = *std::max_element(above.begin(), above.end(), [&](int i, int j) {
      return height(faces_[start_face], i) < height(faces_[start_face], j);
    });
    // The faces that `top` sees hang together; where they end is the horizon.
    std::vector<std::size_t> visible{start_face};
    std::vector<std::array<int, 2>> horizon;
    std::vector<int> orphans;
    faces_[start_face].alive = false;
    for (std::size_t v = 0; v < visible.size(); ++v) {
      const Face& f = faces_[visible[v]];
      orphans.insert(orphans.end(), f.outside.begin(), f.outside.end());
      for (std::size_t k = 0; k < 3; ++k) {
        const int a = f.corner[k], b = f.corner[(k + 1) % 3];
        const std::size_t neighbour = face_at_.at(edge(b, a));
        if (!faces_[neighbour].alive) continue;
        if (height(faces_[neighbour], top) > tolerance_) {
          faces_[neighbour].alive = false;
          visible.push_back(neighbour);
        }
      }
    }
    for (const std::size_t v : visible) {
      for (std::size_t k = 0; k < 3; ++k) {
        const int a = faces_[v].corner[k], b = faces_[v].corner[(k + 1) % 3];
        if (faces_[face_at_.at(edge(b, a))].alive) horizon.push_back({a, b});
      }
    }
    const std::size_t first = faces_.size();
    for (const auto& [a, b] : horizon) add(a, b, top);
    orphans.erase(std::remove(orphans.begin(), orphans.end(), top), orphans.end());
    share_out(orphans, first);
    for (const std::size_t v : visible) std::vector<int>().swap(faces_[v].outside);
  }

  const std::vector<Point>& points_;
  double tolerance_ = 0;
  std::vector<Face> faces_;
  std::unordered_map<std::uint64_t, std::size_t> face_at_;  // directed edge -> the living face on its left
};

}  // namespace

std::vector<Triangle> convex_hull(const std::vector<Vec3<double>>& points) {
  return Hull(points).triangles();
}

}  // namespace costate::rigid
