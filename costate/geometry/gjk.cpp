#include "costate/geometry/gjk.h"

#include <algorithm>
#include <initializer_list>

namespace costate::geometry {

namespace {

constexpr int kIterations = 64, kMaxVertices = 160, kMaxFaces = 2 * kMaxVertices;

struct Vertex {
  Vec3<double> v, p1, p2;  // v = p2 - p1
};

struct Simplex {
  Vertex vertex[4] = {};
  double weight[4] = {};
  int count = 0;

  Vec3<double> nearest() const {
    Vec3<double> r = Vec3<double>::zero();
    for (int i = 0; i < count; ++i) r += weight[i] * vertex[i].v;
    return r;
  }
  void keep(std::initializer_list<int> which, std::initializer_list<double> weights) {
    Vertex old[4];
    for (int i = 0; i < count; ++i) old[i] = vertex[i];
    count = 0;
    for (int i : which) vertex[count++] = old[i];
    int k = 0;
    for (double w : weights) weight[k++] = w;
  }
};

Vertex support(ConvexBody& first, ConvexBody& second, const Vec3<double>& d) {
  Vertex r;
  r.p1 = first.support(-d);
  r.p2 = second.support(d);
  r.v = r.p2 - r.p1;
  return r;
}

// Reductions of a simplex to the part nearest the origin [Ericson 2005, 5.1].
void reduce_segment(Simplex& s) {
  const Vec3<double>&a = s.vertex[0].v, &b = s.vertex[1].v;
  const Vec3<double> ab = b - a;
  const double t = -dot(a, ab), length = squared_norm(ab);
  if (t <= 0 || length <= 0)
    s.keep({0}, {1});
  else if (t >= length)
    s.keep({1}, {1});
  else
    s.keep({0, 1}, {1 - t / length, t / length});
}

void reduce_triangle(Simplex& s) {
  const Vec3<double>&a = s.vertex[0].v, &b = s.vertex[1].v, &c = s.vertex[2].v;
  const Vec3<double> ab = b - a, ac = c - a;
  const double d1 = -dot(ab, a), d2 = -dot(ac, a);
  if (d1 <= 0 && d2 <= 0) return s.keep({0}, {1});
  const double d3 = -dot(ab, b), d4 = -dot(ac, b);
  if (d3 >= 0 && d4 <= d3) return s.keep({1}, {1});
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0 && d1 - d3 > 0)
    return s.keep({0, 1}, {1 - d1 / (d1 - d3), d1 / (d1 - d3)});
  const double d5 = -dot(ab, c), d6 = -dot(ac, c);
  if (d6 >= 0 && d5 <= d6) return s.keep({2}, {1});
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0 && d2 - d6 > 0)
    return s.keep({0, 2}, {1 - d2 / (d2 - d6), d2 / (d2 - d6)});
  const double va = d3 * d6 - d5 * d4, e = d4 - d3, f = d5 - d6;
  if (va <= 0 && e >= 0 && f >= 0 && e + f > 0) return s.keep({1, 2}, {1 - e / (e + f), e / (e + f)});
  const double sum = va + vb + vc;
  if (sum <= 0) return s.keep({0, 1}, {0.5, 0.5});
  s.keep({0, 1, 2}, {1 - vb / sum - vc / sum, vb / sum, vc / sum});
}

// False when the origin is inside.
bool reduce_tetrahedron(Simplex& s) {
  constexpr int faces[4][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {1, 3, 2, 0}};
  Simplex best;
  double least = 1e300;
  bool outside = false;
  for (const auto& f : faces) {
    const Vec3<double>&a = s.vertex[f[0]].v, &b = s.vertex[f[1]].v, &c = s.vertex[f[2]].v,
          &d = s.vertex[f[3]].v;
    const Vec3<double> n = cross(b - a, c - a);
    const double origin_side = -dot(n, a), inner_side = dot(n, d - a);
    // On the inner side of this face. A tetrahedron without volume has no inner side.
    const double thickness = inner_side * inner_side / (squared_norm(n) * squared_norm(d - a) + 1e-300);
    if (origin_side * inner_side > 0 && thickness > 1e-20) continue;
    outside = true;
    Simplex t;
    t.count = 3;
    for (int k = 0; k < 3; ++k) t.vertex[k] = s.vertex[f[k]];
    reduce_triangle(t);
    const double square = squared_norm(t.nearest());
    if (square < least) {
      least = square;
      best = t;
    }
  }
  if (outside) s = best;
  return outside;
}

// False when the origin is inside the simplex.
bool reduce(Simplex& s) {
  if (s.count == 1) s.weight[0] = 1;
  if (s.count == 2) reduce_segment(s);
  if (s.count == 3) reduce_triangle(s);
  if (s.count == 4) return reduce_tetrahedron(s);
  return true;
}

Closest from_simplex(const Simplex& s) {
  Closest r;
  r.w1 = r.w2 = Vec3<double>::zero();
  for (int i = 0; i < s.count; ++i) {
    r.w1 += s.weight[i] * s.vertex[i].p1;
    r.w2 += s.weight[i] * s.vertex[i].p2;
  }
  const Vec3<double> d = r.w2 - r.w1;
  r.dist = std::sqrt(squared_norm(d));
  r.n = (1 / r.dist) * d;
  r.found = true;
  return r;
}

struct Face {
  int v[3];
  Vec3<double> n;
  double dist;
  bool alive;
};

class Polytope {
 public:
  Polytope(ConvexBody& first, ConvexBody& second, double scale, double tolerance)
      : first_(first), second_(second), scale_(scale), tolerance_(tolerance) {}

  // Grows from a simplex that holds the origin; false where the bodies' difference is flat.
  bool start(const Simplex& s) {
    for (int i = 0; i < s.count; ++i) vertex_[vertices_++] = s.vertex[i];
    if (!complete()) return false;
    constexpr int faces[4][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {1, 3, 2, 0}};
    for (const auto& f : faces) {
      const Vec3<double> n = cross(vertex_[f[1]].v - vertex_[f[0]].v, vertex_[f[2]].v - vertex_[f[0]].v);
      const bool outward = dot(n, vertex_[f[3]].v - vertex_[f[0]].v) < 0;
      add_face(f[0], outward ? f[1] : f[2], outward ? f[2] : f[1]);
    }
    return true;
  }

  Closest grow() {
    int best = nearest();
    while (vertices_ < kMaxVertices) {
      const Vertex v = support(first_, second_, face_[best].n);
      if (dot(v.v, face_[best].n) - face_[best].dist < tolerance_ * scale_) break;
      vertex_[vertices_] = v;
      if (!insert(vertices_)) break;
      ++vertices_;
      best = nearest();
    }
    return witness(face_[best]);
  }

 private:
  // Adds support points until there are four that span space.
  bool complete() {
    const double flat = 1e-9 * scale_;
    const Vec3<double> axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int k = 0; vertices_ == 1 && k < 6; ++k) {
      const Vertex v = support(first_, second_, (k < 3 ? 1.0 : -1.0) * axes[k % 3]);
      if (squared_norm(v.v - vertex_[0].v) > flat * flat) vertex_[vertices_++] = v;
    }
    if (vertices_ < 2) return false;
    for (int k = 0; vertices_ == 2 && k < 6; ++k) {
      const Vec3<double> line = vertex_[1].v - vertex_[0].v;
      const Vec3<double> d = (k < 3 ? 1.0 : -1.0) * cross(line, axes[k % 3]);
      if (squared_norm(d) < 1e-6 * squared_norm(line)) continue;
      const Vertex v = support(first_, second_, d);
      if (squared_norm(cross(v.v - vertex_[0].v, line)) > flat * flat * squared_norm(line))
        vertex_[vertices_++] = v;
    }
    if (vertices_ < 3) return false;
    for (int k = 0; vertices_ == 3 && k < 2; ++k) {
      const Vec3<double> n = normalized(cross(vertex_[1].v - vertex_[0].v, vertex_[2].v - vertex_[0].v));
      const Vertex v = support(first_, second_, (k == 0 ? 1.0 : -1.0) * n);
      if (std::abs(dot(n, v.v - vertex_[0].v)) > flat) vertex_[vertices_++] = v;
    }
    return vertices_ == 4;
  }

  bool add_face(int a, int b, int c) {
    if (faces_ == kMaxFaces) {
      int gap = 0;
      while (gap < faces_ && face_[gap].alive) ++gap;
      if (gap == faces_) return false;
      return set_face(gap, a, b, c);
    }
    return set_face(faces_++, a, b, c);
  }
  bool set_face(int at, int a, int b, int c) {
    const Vec3<double> n = cross(vertex_[b].v - vertex_[a].v, vertex_[c].v - vertex_[a].v);
    const double length = std::sqrt(squared_norm(n));
    // A sliver has no direction: it is kept out of the search by an infinite distance.
    face_[at] = {{a, b, c}, length > 0 ? (1 / length) * n : n, 0, true};
    face_[at].dist = length > 0 ? dot(face_[at].n, vertex_[a].v) : 1e300;
    return true;
  }
  int nearest() const {
    int best = -1;
    for (int i = 0; i < faces_; ++i)
      if (face_[i].alive && (best < 0 || face_[i].dist < face_[best].dist)) best = i;
    return best;
  }
  // Replaces the faces that the new vertex sees.
  bool insert(int v) {
    int edges[kMaxFaces][2], count = 0;
    for (int i = 0; i < faces_; ++i) {
      Face& f = face_[i];
      if (!f.alive || f.dist > 1e299 || dot(f.n, vertex_[v].v) - f.dist <= 1e-13 * scale_) continue;
      f.alive = false;
      for (int k = 0; k < 3; ++k) {
        const int a = f.v[k], b = f.v[(k + 1) % 3];
        bool inner = false;  // an edge of two seen faces is no edge of the hole
        for (int e = 0; e < count; ++e)
          if (edges[e][0] == b && edges[e][1] == a) {
            edges[e][0] = edges[count - 1][0];
            edges[e][1] = edges[count - 1][1];
            --count;
            inner = true;
            break;
          }
        if (inner) continue;
        if (count == kMaxFaces) return false;
        edges[count][0] = a;
        edges[count][1] = b;
        ++count;
      }
    }
    if (count < 3) return false;
    for (int e = 0; e < count; ++e)
      if (!add_face(edges[e][0], edges[e][1], v)) return false;
    return true;
  }
  Closest witness(const Face& f) const {
    Simplex s;
    s.count = 3;
    for (int k = 0; k < 3; ++k) {
      s.vertex[k] = vertex_[f.v[k]];
      s.vertex[k].v -= f.dist * f.n;  // the origin's projection is now the origin
    }
    reduce_triangle(s);
    Closest r;
    r.w1 = r.w2 = Vec3<double>::zero();
    for (int i = 0; i < s.count; ++i) {
      r.w1 += s.weight[i] * s.vertex[i].p1;
      r.w2 += s.weight[i] * s.vertex[i].p2;
    }
    // The difference reaches f.dist beyond the origin along f.n: that far the second must go back.
    r.n = -f.n;
    r.dist = -f.dist;
    r.found = true;
    return r;
  }

  ConvexBody &first_, &second_;
  double scale_, tolerance_;
  Vertex vertex_[kMaxVertices + 1];
  Face face_[kMaxFaces];
  int vertices_ = 0, faces_ = 0;
};

}  // namespace

namespace {

enum class Walk { apart, far, inside, stuck };

// GJK from a direction. Rounding in a thin simplex can leave it with nowhere to go: stuck, and the caller
// starts elsewhere.
Walk walk(ConvexBody& first, ConvexBody& second, double farthest, double scale, const Vec3<double>& direction,
          Simplex& s) {
  s.count = 0;
  s.vertex[s.count++] = support(first, second, direction);
  s.weight[0] = 1;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const Vec3<double> near = s.nearest();
    const double square = squared_norm(near);
    if (square < 1e-20 * scale * scale) return Walk::inside;
    const Vertex v = support(first, second, -near);
    const double bound = dot(near, v.v);  // |near| times a lower bound of the distance
    if (bound > 0 && bound * bound > farthest * farthest * square) return Walk::far;
    if (square - bound < 1e-11 * square) return Walk::apart;
    bool again = false;
    for (int i = 0; i < s.count; ++i) again |= squared_norm(v.v - s.vertex[i].v) < 1e-28 * scale * scale;
    if (again) return square - bound < 1e-6 * square ? Walk::apart : Walk::stuck;
    s.vertex[s.count++] = v;
    if (!reduce(s)) return Walk::inside;
  }
  // Smooth bodies close in on the answer slowly; the rest is Newton's.
  const Vec3<double> near = s.nearest();
  const double square = squared_norm(near);
  return square - dot(near, support(first, second, -near).v) < 1e-4 * square ? Walk::apart : Walk::stuck;
}

}  // namespace

Closest closest_points(ConvexBody& first, ConvexBody& second, double farthest, int attempt) {
  const Vec3<double> starts[] = {
      {1, 0.13, 0.27}, {-0.31, 1, 0.19}, {0.23, -0.37, 1}, {-1, -0.7, 0.4}, {0.5, -1, -0.8}};
  double scale = 1e-12;
  for (int k = 0; k < 3; ++k) {
    Vec3<double> axis = Vec3<double>::zero();
    axis[k] = 1;
    scale = std::max(scale, dot(axis, support(first, second, axis).v - support(first, second, -axis).v));
  }
  Vec3<double> direction = first.shape.x - second.shape.x;
  if (attempt > 0 || squared_norm(direction) < 1e-20 * scale * scale) direction = starts[attempt % 5];
  Simplex s;
  Walk end = walk(first, second, farthest, scale, direction, s);
  for (const Vec3<double>& start : starts)
    if (end == Walk::stuck) end = walk(first, second, farthest, scale, start, s);
  if (end == Walk::far) return {};
  if (end == Walk::apart) return from_simplex(s);
  // Newton needs a neighbourhood only; where that was not enough the next attempt looks closer.
  Polytope polytope(first, second, scale, attempt == 0 ? 1e-6 : 1e-8);
  if (!polytope.start(s)) return {};
  return polytope.grow();
}

}  // namespace costate::geometry
