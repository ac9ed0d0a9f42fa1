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
#include <string>
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

template <class S>
S& number(Shape<S>& s, int i) {
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
// The tangent of such a move.
inline void seed_move(Shape<Dual<double>>& s, const Shape<double>& plain, int move) {
  if (move < 3) {
    s.x[move].d[0] = 1;
  } else if (move < 6) {
    Vec3<double> w = Vec3<double>::zero();
    w[move - 3] = 1;
    const Mat3<double> turned = skew(w) * plain.R;
    for (int i = 0; i < 9; ++i) s.R.e[i / 3][i % 3].d[0] = turned.e[i / 3][i % 3];
  } else {
    s.size[move - 6].d[0] = 1;
  }
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

// One random scene after the other, through the four checks of the head.
class PairCheck {
 public:
  explicit PairCheck(const Gates& gates) : gates_(gates) {}

  void run(const Sampler& sample, int samples) {
    for (int n = 0; n < samples && !testing::Test::HasFatalFailure(); ++n) {
      SCOPED_TRACE("sample " + std::to_string(n));
      scene_ = sample(rng_);
      draw_cotangents();
      hand_ = transpose_of(scene_, bar_);
      scale_ = 1;
      for (ShapeBar<double> b : hand_.bar)
        for (int i = 0; i < kShapeNumbers; ++i) scale_ = std::max(scale_, std::abs(number(b, i)));
      for (int i = -1; i < 2 * kShapeNumbers; ++i) against_dual(i);
      for (int s = 0; s < 2; ++s)
        for (int move = 0; move < 9; ++move) against_stencil(s, move);
      second_order(n % 2, (n / 2) % 9);
    }
    EXPECT_GT(touching_, samples / 4);
    EXPECT_LE(skipped_, gates_.skipped * stencils_);
    EXPECT_LE(ill_conditioned_, 1e-3 * samples * 2 * kShapeNumbers);
  }

 private:
  void draw_cotangents() {
    const auto at = contacts(scene_, scene_.shapes[0], scene_.shapes[1]);
    bar_.assign(at.size(), ContactPoint<double>::zero());
    filled_.assign(at.size(), false);
    for (std::size_t k = 0; k < at.size(); ++k) {
      filled_[k] = present(at[k], scene_.margin);
      touching_ += filled_[k];
      ASSERT_TRUE(std::isfinite(at[k].dist));
      if (!filled_[k]) continue;
      ASSERT_NEAR(squared_norm(at[k].normal), 1, 1e-12);
      bar_[k].dist = gauss_(rng_);
      for (int i = 0; i < 3; ++i) {
        bar_[k].point[i] = gauss_(rng_);
        bar_[k].normal[i] = gauss_(rng_);
        bar_[k].tangent[i] = gauss_(rng_);
      }
    }
  }

  // Dual along one input or, for -1, along a random direction: the dot product.
  void against_dual(int input) {
    auto a = lifted<Dual<double>>(scene_.shapes[0]), b = lifted<Dual<double>>(scene_.shapes[1]);
    double expected = 0, size = 0;
    for (int j = 0; j < 2 * kShapeNumbers; ++j) {
      const double dot = input < 0 ? gauss_(rng_) : double(input == j);
      ShapeBar<double> hand_bar = hand_.bar[j / kShapeNumbers];
      expected += dot * number(hand_bar, j % kShapeNumbers);
      size += dot * dot;
      number(j < kShapeNumbers ? a : b, j % kShapeNumbers).d[0] = dot;
    }
    const auto along = [&] { return weighted(contacts(scene_, a, b), bar_, filled_).d[0]; };
    const double found = along();
    if (input < 0) {
      ASSERT_LE(std::abs(found - expected), gates_.dot * 30 * scale_ * std::sqrt(size)) << "dot product";
    } else if (std::abs(found - expected) > gates_.dual * scale_) {
      ++ill_conditioned_;
      ASSERT_NEAR(found, expected,
                  gates_.dual * scale_ + std::min(rounding(a, b, along), 10 * gates_.dual * scale_))
          << "Dual, input " << input;
    }
  }

  // Two stencils of half the width of one another, or nothing where they straddle a change of case.
  template <class F>
  bool smooth(const F& value, double gate, double& narrow) {
    const double wide = stencil(value, gates_.step);
    narrow = stencil(value, gates_.step / 2);
    return std::abs(wide - narrow) <= 1e-2 * gate * scale_;
  }

  void against_stencil(int shape, int move) {
    bool same_case = true;
    const auto value = [&](double h) {
      const Scene there = moved(scene_, shape, move, h);
      const auto c = contacts(there, there.shapes[0], there.shapes[1]);
      for (std::size_t k = 0; k < c.size(); ++k) same_case &= filled_[k] == present(c[k], scene_.margin);
      return weighted(c, bar_, filled_);
    };
    double narrow = 0;
    const bool usable = smooth(value, gates_.stencil, narrow) && same_case;
    ++stencils_;
    skipped_ += !usable;
    if (usable) {
      ASSERT_NEAR(narrow, slope(hand_, scene_, shape, move), gates_.stencil * scale_)
          << "stencil, shape " << shape << " move " << move;
    }
  }

  // The transpose of Dual along one move of one shape, against a stencil of the transpose.
  void second_order(int shape, int move) {
    auto a = lifted<Dual<double>>(scene_.shapes[0]), b = lifted<Dual<double>>(scene_.shapes[1]);
    seed_move(shape == 0 ? a : b, scene_.shapes[shape], move);
    std::vector<ContactPoint<Dual<double>>> dual_bar(bar_.size());
    for (std::size_t k = 0; k < bar_.size(); ++k) {
      dual_bar[k].dist = bar_[k].dist;
      for (int i = 0; i < 3; ++i) {
        dual_bar[k].point[i] = bar_[k].point[i];
        dual_bar[k].normal[i] = bar_[k].normal[i];
        dual_bar[k].tangent[i] = bar_[k].tangent[i];
      }
    }
    ShapeBar<Dual<double>> second[2] = {ShapeBar<Dual<double>>::zero(), ShapeBar<Dual<double>>::zero()};
    collide_vjp<Dual<double>>(scene_.types[0], scene_.types[1], a, b, Dual<double>(scene_.margin),
                              dual_bar.data(), second[0], second[1]);
    for (int j = 0; j < 2 * kShapeNumbers; ++j) {
      const auto value = [&](double h) {
        Transposed t = transpose_of(moved(scene_, shape, move, h), bar_);
        return number(t.bar[j / kShapeNumbers], j % kShapeNumbers);
      };
      double narrow = 0;
      const bool usable = smooth(value, gates_.second, narrow);
      ++stencils_;
      skipped_ += !usable;
      if (!usable) continue;
      const double found = number(second[j / kShapeNumbers], j % kShapeNumbers).d[0];
      ASSERT_NEAR(found, narrow, gates_.second * (scale_ + std::abs(narrow))) << "second order, input " << j;
    }
  }

  Gates gates_;
  std::mt19937 rng_{7};
  std::normal_distribution<double> gauss_;
  Scene scene_;
  std::vector<ContactPoint<double>> bar_;
  std::vector<bool> filled_;
  Transposed hand_;
  double scale_ = 1;
  int touching_ = 0, stencils_ = 0, skipped_ = 0, ill_conditioned_ = 0;
};

inline void expect_pair(const Sampler& sample, int samples = 200, const Gates& gates = {}) {
  PairCheck(gates).run(sample, samples);
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
