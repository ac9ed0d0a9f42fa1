// What every pair of shapes must satisfy, at random places where the shapes are near each other:
//   transpose against Dual of the same code, every input (centre, nine numbers of R, sizes of both shapes)
//       1e-12
//   dot product of tangents and cotangents                                                              1e-13
//   transpose against a six-point stencil, with rotations of the shapes                                 1e-8
//   transpose of Dual (second order) against a stencil of the transpose                                 1e-6
//   a pack gives each lane what one world gives
// A stencil that straddles a change of case says so by disagreeing with one of half its width: such a sample
// is skipped, and few may be.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "costate/core/error.h"
#include "costate/geometry/collide.h"
#include "costate/geometry/scalars.h"

namespace costate::geometry::test {

constexpr int kShapeNumbers = 15;  // centre, R, sizes
constexpr int kMaxSlots = 64;

struct Scene {
  ShapeType types[2];
  Shape<double> shapes[2];
  double margin = 0;
};
using Sampler = std::function<Scene(std::mt19937&)>;

inline double uniform(std::mt19937& rng, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(rng);
}
inline Vec3<double> random_direction(std::mt19937& rng) {
  std::normal_distribution<double> g;
  Vec3<double> v = {g(rng), g(rng), g(rng)};
  return (1 / std::sqrt(squared_norm(v))) * v;
}
// Rotation by the vector w.
inline Mat3<double> rotation(const Vec3<double>& w) {
  const double angle = std::sqrt(squared_norm(w));
  if (angle == 0) return Mat3<double>::identity();
  const Mat3<double> k = skew((1 / angle) * w);
  return Mat3<double>::identity() + std::sin(angle) * k + (1 - std::cos(angle)) * (k * k);
}
inline Mat3<double> random_rotation(std::mt19937& rng) {
  return rotation(uniform(rng, 0, 3.1) * random_direction(rng));
}

inline double& number(Shape<double>& s, int i) {
  if (i < 3) return s.x[i];
  if (i < 12) return s.R.e[(i - 3) / 3][(i - 3) % 3];
  return s.size[i - 12];
}
template <class S>
S& number(ShapeBar<S>& s, int i) {
  if (i < 3) return s.x[i];
  if (i < 12) return s.R.e[(i - 3) / 3][(i - 3) % 3];
  return s.size[i - 12];
}
template <class S>
Shape<S> lifted(const Shape<double>& s) {
  Shape<S> r;
  for (int i = 0; i < 3; ++i) r.x[i] = S(value_t<S>(s.x[i]));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) r.R.e[i][j] = S(value_t<S>(s.R.e[i][j]));
  for (int i = 0; i < 3; ++i) r.size[i] = S(value_t<S>(s.size[i]));
  r.mesh = s.mesh;
  r.heights = s.heights;
  return r;
}

template <class S>
std::vector<ContactPoint<S>> contacts(const Scene& scene, const Shape<S>& a, const Shape<S>& b) {
  std::vector<ContactPoint<S>> out(static_cast<std::size_t>(contact_slots(scene.types[0], scene.types[1])),
                                   ContactPoint<S>::zero());
  collide<S>(scene.types[0], scene.types[1], a, b, S(value_t<S>(scene.margin)), out.data());
  return out;
}

inline bool present(const ContactPoint<double>& c, double margin) { return c.dist <= margin; }

// <bar, contacts>: a number made of everything that collision returns, over the slots within the margin.
template <class S>
S weighted(const std::vector<ContactPoint<S>>& c, const std::vector<ContactPoint<double>>& bar,
           const std::vector<bool>& filled) {
  S sum(0);
  for (std::size_t k = 0; k < c.size(); ++k) {
    if (!filled[k]) continue;
    sum += c[k].dist * bar[k].dist;
    for (int i = 0; i < 3; ++i)
      sum += c[k].point[i] * bar[k].point[i] + c[k].normal[i] * bar[k].normal[i] +
             c[k].tangent[i] * bar[k].tangent[i];
  }
  return sum;
}

struct Transposed {
  ShapeBar<double> bar[2];
};
inline Transposed transpose_of(const Scene& scene, const std::vector<ContactPoint<double>>& bar) {
  Transposed t = {{ShapeBar<double>::zero(), ShapeBar<double>::zero()}};
  collide_vjp<double>(scene.types[0], scene.types[1], scene.shapes[0], scene.shapes[1], scene.margin,
                      bar.data(), t.bar[0], t.bar[1]);
  return t;
}

// Moves of a shape: 0..2 its centre, 3..5 rotation about x, y, z, 6..8 sizes.
inline Scene moved(const Scene& scene, int shape, int move, double h) {
  Scene r = scene;
  Shape<double>& s = r.shapes[shape];
  if (move < 3)
    s.x[move] += h;
  else if (move < 6) {
    Vec3<double> w = Vec3<double>::zero();
    w[move - 3] = h;
    s.R = rotation(w) * s.R;
  } else
    s.size[move - 6] += h;
  return r;
}
inline double slope(const Transposed& t, const Scene& scene, int shape, int move) {
  if (move < 3) return t.bar[shape].x[move];
  if (move < 6) return turn(scene.shapes[shape].R, t.bar[shape].R)[move - 3];
  return t.bar[shape].size[move - 6];
}

template <class F>
double stencil(const F& f, double h) {
  return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h);
}

// How far a derivative moves when a coordinate changes by one rounding: no two ways of computing it need
// agree better. It counts where axes are nearly parallel, or points nearly coincide.
template <class S, class F>
double rounding(Shape<S>& a, Shape<S>& b, const F& derivative) {
  const double here = derivative();
  double moved = 0;
  for (Shape<S>* shape : {&a, &b})
    for (int i = 0; i < 3; ++i) {
      const S kept = shape->x[i];
      shape->x[i].v = std::nextafter(kept.v, 2 * kept.v);
      moved += std::abs(derivative() - here);
      shape->x[i] = kept;
    }
  return moved;
}

struct Gates {
  double dual = 1e-12, dot = 1e-13, stencil = 1e-8, second = 1e-6;
  double step = 2e-4;
  double skipped = 0.1;  // of all stencils
};

inline void expect_pair(const Sampler& sample, int samples = 200, const Gates& gates = {}) {
  std::mt19937 rng(7);
  std::normal_distribution<double> gauss;
  int touching = 0, stencils = 0, skipped = 0, ill_conditioned = 0;
  for (int n = 0; n < samples; ++n) {
    const Scene scene = sample(rng);
    const auto at = contacts(scene, scene.shapes[0], scene.shapes[1]);
    std::vector<ContactPoint<double>> bar(at.size());
    std::vector<bool> filled(at.size());
    double scale = 1;
    for (std::size_t k = 0; k < at.size(); ++k) {
      filled[k] = present(at[k], scene.margin);
      touching += filled[k];
      bar[k] = ContactPoint<double>::zero();
      ASSERT_TRUE(std::isfinite(at[k].dist));
      if (!filled[k]) continue;
      ASSERT_NEAR(squared_norm(at[k].normal), 1, 1e-12);
      bar[k].dist = gauss(rng);
      for (int i = 0; i < 3; ++i) {
        bar[k].point[i] = gauss(rng);
        bar[k].normal[i] = gauss(rng);
        bar[k].tangent[i] = gauss(rng);
      }
    }
    const Transposed hand = transpose_of(scene, bar);
    for (int s = 0; s < 2; ++s)
      for (int i = 0; i < kShapeNumbers; ++i) {
        ShapeBar<double> b = hand.bar[s];
        scale = std::max(scale, std::abs(number(b, i)));
      }

    // Dual, one input at a time, and one random direction for the dot product.
    for (int i = -1; i < 2 * kShapeNumbers; ++i) {
      Shape<Dual<double>> a = lifted<Dual<double>>(scene.shapes[0]),
                          b = lifted<Dual<double>>(scene.shapes[1]);
      double expected = 0, size = 0;
      for (int j = 0; j < 2 * kShapeNumbers; ++j) {
        const double dot = i < 0 ? gauss(rng) : double(i == j);
        ShapeBar<double> hand_bar = hand.bar[j / kShapeNumbers];
        expected += dot * number(hand_bar, j % kShapeNumbers);
        size += dot * dot;
        Shape<Dual<double>>& s = j < kShapeNumbers ? a : b;
        const int e = j % kShapeNumbers;
        (e < 3 ? s.x[e] : e < 12 ? s.R.e[(e - 3) / 3][(e - 3) % 3] : s.size[e - 12]).d[0] = dot;
      }
      const auto along = [&] { return weighted(contacts(scene, a, b), bar, filled).d[0]; };
      const double found = along();
      if (i < 0) {
        ASSERT_LE(std::abs(found - expected), gates.dot * 30 * scale * std::sqrt(size))
            << "dot product, sample " << n;
      } else if (std::abs(found - expected) > gates.dual * scale) {
        ++ill_conditioned;
        ASSERT_NEAR(found, expected,
                    gates.dual * scale + std::min(rounding(a, b, along), 10 * gates.dual * scale))
            << "Dual, input " << i << ", sample " << n;
      }
    }

    // Six-point stencil of values, and of the transpose for second order.
    for (int s = 0; s < 2; ++s)
      for (int move = 0; move < 9; ++move) {
        bool same_case = true;
        const auto value = [&](double h) {
          const Scene there = moved(scene, s, move, h);
          const auto c = contacts(there, there.shapes[0], there.shapes[1]);
          for (std::size_t k = 0; k < c.size(); ++k) same_case &= filled[k] == present(c[k], scene.margin);
          return weighted(c, bar, filled);
        };
        const double wide = stencil(value, gates.step), narrow = stencil(value, gates.step / 2);
        ++stencils;
        if (!same_case || std::abs(wide - narrow) > 1e-2 * gates.stencil * scale) {
          ++skipped;
          continue;
        }
        ASSERT_NEAR(narrow, slope(hand, scene, s, move), gates.stencil * scale)
            << "stencil, shape " << s << " move " << move << ", sample " << n;
      }
    {
      Shape<Dual<double>> a = lifted<Dual<double>>(scene.shapes[0]),
                          b = lifted<Dual<double>>(scene.shapes[1]);
      const int s = n % 2, move = (n / 2) % 9;
      Shape<Dual<double>>& seeded = s == 0 ? a : b;
      const Shape<double>& plain = scene.shapes[s];
      if (move < 3)
        seeded.x[move].d[0] = 1;
      else if (move < 6) {
        Vec3<double> w = Vec3<double>::zero();
        w[move - 3] = 1;
        const Mat3<double> turned = skew(w) * plain.R;
        for (int i = 0; i < 9; ++i) seeded.R.e[i / 3][i % 3].d[0] = turned.e[i / 3][i % 3];
      } else
        seeded.size[move - 6].d[0] = 1;
      std::vector<ContactPoint<Dual<double>>> dual_bar(bar.size());
      for (std::size_t k = 0; k < bar.size(); ++k) {
        dual_bar[k].dist = bar[k].dist;
        for (int i = 0; i < 3; ++i) {
          dual_bar[k].point[i] = bar[k].point[i];
          dual_bar[k].normal[i] = bar[k].normal[i];
          dual_bar[k].tangent[i] = bar[k].tangent[i];
        }
      }
      ShapeBar<Dual<double>> second[2] = {ShapeBar<Dual<double>>::zero(), ShapeBar<Dual<double>>::zero()};
      collide_vjp<Dual<double>>(scene.types[0], scene.types[1], a, b, Dual<double>(scene.margin),
                                dual_bar.data(), second[0], second[1]);
      for (int j = 0; j < 2 * kShapeNumbers; ++j) {
        const auto value = [&](double h) {
          Transposed t = transpose_of(moved(scene, s, move, h), bar);
          return number(t.bar[j / kShapeNumbers], j % kShapeNumbers);
        };
        const double wide = stencil(value, gates.step), narrow = stencil(value, gates.step / 2);
        ++stencils;
        if (std::abs(wide - narrow) > 1e-2 * gates.second * scale) {
          ++skipped;
          continue;
        }
        const double found = number(second[j / kShapeNumbers], j % kShapeNumbers).d[0];
        ASSERT_NEAR(found, narrow, gates.second * (scale + std::abs(narrow)))
            << "second order, input " << j << ", sample " << n;
      }
    }
  }
  EXPECT_GT(touching, samples / 4);
  EXPECT_LE(skipped, gates.skipped * stencils);
  EXPECT_LE(ill_conditioned, 1e-3 * samples * 2 * kShapeNumbers);
}

// Every lane of a pack holds another scene of the same pair; lanes must not see each other.
template <class T>
void expect_lanes(const Sampler& sample, double gate) {
  using S = NativePack<T>;
  std::mt19937 rng(11);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<Scene> scenes;
    Shape<S> a, b;
    for (int l = 0; l < lanes_of<S>; ++l) {
      scenes.push_back(sample(rng));
      for (int i = 0; i < kShapeNumbers; ++i)
        for (int s = 0; s < 2; ++s) {
          Shape<S>& shape = s == 0 ? a : b;
          S& to = i < 3 ? shape.x[i] : i < 12 ? shape.R.e[(i - 3) / 3][(i - 3) % 3] : shape.size[i - 12];
          to.set(l, T(number(scenes.back().shapes[s], i)));
        }
      a.mesh = scenes.back().shapes[0].mesh;
      a.heights = scenes.back().shapes[0].heights;
      b.mesh = scenes.back().shapes[1].mesh;
    }
    const Scene& any_scene = scenes[0];
    const auto packed = contacts(any_scene, a, b);
    std::vector<ContactPoint<S>> bar(packed.size(), ContactPoint<S>::zero());
    for (auto& c : bar) {
      c.dist = S(T(0.7));
      c.point = {S(T(0.3)), S(T(-0.4)), S(T(1.1))};
      c.normal = {S(T(-0.2)), S(T(0.9)), S(T(0.5))};
    }
    ShapeBar<S> a_bar = ShapeBar<S>::zero(), b_bar = ShapeBar<S>::zero();
    collide_vjp<S>(any_scene.types[0], any_scene.types[1], a, b, S(T(any_scene.margin)), bar.data(), a_bar,
                   b_bar);
    for (int l = 0; l < lanes_of<S>; ++l) {
      const Shape<T> one_a = lifted<T>(scenes[std::size_t(l)].shapes[0]),
                     one_b = lifted<T>(scenes[std::size_t(l)].shapes[1]);
      const auto one = contacts(any_scene, one_a, one_b);
      std::vector<ContactPoint<T>> one_bar(bar.size());
      for (std::size_t k = 0; k < one.size(); ++k) {
        one_bar[k] = {bar[k].dist[l],
                      {bar[k].point.x[l], bar[k].point.y[l], bar[k].point.z[l]},
                      {bar[k].normal.x[l], bar[k].normal.y[l], bar[k].normal.z[l]},
                      Vec3<T>::zero()};
        ASSERT_NEAR(packed[k].dist[l], one[k].dist, gate);
        if (one[k].dist > T(any_scene.margin)) continue;
        for (int i = 0; i < 3; ++i) {
          ASSERT_NEAR(packed[k].point[i][l], one[k].point[i], gate);
          ASSERT_NEAR(packed[k].normal[i][l], one[k].normal[i], gate);
        }
      }
      ShapeBar<T> one_a_bar = ShapeBar<T>::zero(), one_b_bar = ShapeBar<T>::zero();
      collide_vjp<T>(any_scene.types[0], any_scene.types[1], one_a, one_b, T(any_scene.margin),
                     one_bar.data(), one_a_bar, one_b_bar);
      // A ball about to touch a corner turns its normal fast: what is rounding there is large elsewhere.
      double size = 1;
      for (int i = 0; i < kShapeNumbers; ++i)
        size = std::max<double>(size, std::abs(number(one_a_bar, i)) + std::abs(number(one_b_bar, i)));
      for (int i = 0; i < kShapeNumbers; ++i) {
        ASSERT_NEAR(number(a_bar, i)[l], number(one_a_bar, i), 100 * gate * size);
        ASSERT_NEAR(number(b_bar, i)[l], number(one_b_bar, i), 100 * gate * size);
      }
    }
  }
}

}  // namespace costate::geometry::test
