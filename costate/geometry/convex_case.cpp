#include "costate/geometry/convex_case.h"

#include <algorithm>

#include "costate/geometry/gjk.h"

namespace costate::geometry {

namespace {

// Newton from a guess; true where it converges to a contact that lies on the features and is the shapes'
// support.
bool converge(ConvexCase& c, ConvexBody& first, ConvexBody& second, const Closest& guess, double scale) {
  Unknowns<double>& z = c.z;
  z.n = guess.n;
  z.d = guess.dist;
  const auto start = [](const Feature& f, const Shape<double>& s, const Vec3<double>& w, double* t) {
    const Vec3<double> p = transpose_times(s.R, w - s.x);
    for (int j = 0; j < 2; ++j) {
      t[j] = 0;
      if (j >= f.flats) continue;
      for (int i = 0; i < 3; ++i)
        t[j] += f.flat[j][i] * (p[i] - f.fixed[i] - f.multiple[i] * s.size[f.which[i]]);
    }
  };
  start(c.f1, first.shape, guess.w1, z.t1);
  start(c.f2, second.shape, guess.w2, z.t2);
  double J[kMaxUnknowns][kMaxUnknowns], F[kMaxUnknowns];
  double error = 1e300;
  for (int iteration = 0; iteration < 12; ++iteration) {
    jacobian(c, first.shape, second.shape, z, J);
    bool solved;
    z = newton_step(c, first.shape, second.shape, z, J, solved);
    if (!solved || !(squared_norm(z.n) < 4) || !(squared_norm(z.n) > 0.25)) return false;
    residual(c, first.shape, second.shape, z, F);
    double now = 0;
    for (int i = 0; i < c.unknowns(); ++i) now = std::max(now, std::abs(F[i]));
    if (now < 1e-15 * scale || (iteration > 2 && now >= error)) break;
    error = now;
  }
  residual(c, first.shape, second.shape, z, F);
  for (int i = 0; i < c.unknowns(); ++i)
    if (!(std::abs(F[i]) < 1e-11 * std::max(1.0, scale))) return false;
  const double slack = 1e-8 * scale;
  if (dot(z.n, guess.n) < 0.9 || std::abs(z.d - guess.dist) > 1e-4 * scale) return false;
  if (beyond(first, c.f1, z.t1) > slack || beyond(second, c.f2, z.t2) > slack) return false;
  const Vec3<double> w1 = place(c.f1, first.shape, z.t1, z.n), w2 = place(c.f2, second.shape, z.t2, -z.n);
  return dot(z.n, first.support(z.n) - w1) < slack && dot(z.n, w2 - second.support(-z.n)) < slack;
}

// The features that fit what the search found; the flattest pair first.
bool fit_features(ConvexBody& one, ConvexBody& two, const Closest& guess, double scale, ConvexCase& fitting) {
  Feature list1[kMaxFeatures], list2[kMaxFeatures];
  const int count1 = features_towards(one, guess.n, list1), count2 = features_towards(two, -guess.n, list2);
  for (int flats = 2; flats >= 0; --flats)
    for (int i = 0; i < count1; ++i)
      for (int j = 0; j < count2; ++j) {
        if (list1[i].flats + list2[j].flats != flats) continue;
        fitting.f1 = list1[i];
        fitting.f2 = list2[j];
        if (converge(fitting, one, two, guess, scale)) return true;
      }
  return false;
}

bool is_polyhedron(const ConvexBody& body) {
  return body.type == ShapeType::box || body.type == ShapeType::mesh;
}

// The faces first, the one that looks along m most before the others.
void nearest_face_first(const ConvexBody& body, const Vec3<double>& m, Feature* list, int count) {
  const Vec3<double> u = transpose_times(body.shape.R, m);
  const auto away = [&](const Feature& f) {
    if (f.flats < 2) return 2.0;
    const double a = dot(u, f.flat[0]), b = dot(u, f.flat[1]);
    return a * a + b * b;
  };
  std::stable_sort(list, list + count, [&](const Feature& f, const Feature& g) { return away(f) < away(g); });
}

// Two faces that lie along each other near the contact, or a line of one along a face of the other; in
// MuJoCo's order of preference.
bool lies_along(ConvexBody& one, ConvexBody& two, const Vec3<double>& n, double margin, ClipCase& clip) {
  Feature list1[kMaxFeatures], list2[kMaxFeatures];
  const int count1 = features_towards(one, n, list1), count2 = features_towards(two, -n, list2);
  if (is_polyhedron(one) && is_polyhedron(two)) {
    nearest_face_first(one, n, list1, count1);
    nearest_face_first(two, -n, list2, count2);
  }
  for (bool face_wanted : {true, false}) {
    if (!face_wanted)
      for (int j = 0; j < count2; ++j)
        if (list2[j].flats == 2 && clip_case(one, two, false, list2[j], false, margin, clip)) return true;
    for (int i = 0; i < count1; ++i)
      if (list1[i].flats == 2 && clip_case(one, two, true, list1[i], face_wanted, margin, clip)) return true;
  }
  return false;
}

}  // namespace

ConvexCase convex_case(ConvexBody& one, ConvexBody& two, int slots, double margin) {
  ConvexCase c;
  const double reach = margin + one.radius() + two.radius();
  double scale = 0;
  for (int k = 0; k < 3; ++k) {
    Vec3<double> axis = Vec3<double>::zero();
    axis[k] = 1;
    scale = std::max({scale, dot(axis, one.support(axis) - one.support(-axis)),
                      dot(axis, two.support(axis) - two.support(-axis))});
  }
  Closest guess;
  for (int attempt = 0; attempt < 4; ++attempt) {
    guess = closest_points(one, two, reach, attempt);
    if (!guess.found) return c;
    if (!fit_features(one, two, guess, scale, c)) continue;
    c.kind = c.z.d > reach ? ConvexCase::apart : ConvexCase::smooth;
    if (c.kind != ConvexCase::smooth || slots == 1) return c;
    const Vec3<double> w1 = place(c.f1, one.shape, c.z.t1, c.z.n),
                       w2 = place(c.f2, two.shape, c.z.t2, -c.z.n);
    if (is_polyhedron(one) && is_polyhedron(two) && face_pair_case(one, two, c.z.n, w1, w2, margin, c.pair))
      c.kind = ConvexCase::faces;
    else if (lies_along(one, two, c.z.n, margin, c.clip))
      c.kind = ConvexCase::clipped;
    return c;
  }
  if (guess.dist > reach) return c;
  c.kind = ConvexCase::held;
  c.z.n = guess.n;
  c.p1 = transpose_times(one.shape.R, guess.w1 - one.shape.x);
  c.p2 = transpose_times(two.shape.R, guess.w2 - two.shape.x);
  return c;
}

}  // namespace costate::geometry
