// A small physics with a network in it that several tests share.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "costate/ad/builder.h"
#include "costate/system/program/layered_system.h"

namespace costate::test {

inline constexpr int kHidden = 9;  // no multiple of a tile

// A damped spring pushed by a network: q' = v, v' = -q - c v + u + w2' tanh(w1 (q, v, cos t) + b), w1 stored
// transposed.
inline Signature fields() {
  std::vector<double> w1, w2, b;
  for (int i = 0; i < 3 * kHidden; ++i) w1.push_back(0.8 * std::sin(2.3 * i + 0.1));
  for (int i = 0; i < kHidden; ++i) w2.push_back(0.7 * std::cos(1.9 * i)), b.push_back(0.1 * std::sin(i));
  Signature s;
  s.state("q").state("v").control("push");
  s.parameter("c", 0.2).parameter("w1", w1).parameter("b", b).parameter("w2", w2);
  return s;
}

inline ad::LayeredProgram network() {
  ad::Builder f;
  const ad::Id q = f.input_field("q"), v = f.input_field("v"), u = f.input_field("push"),
               t = f.input_field("t");
  const ad::Id c = f.input_field("c"), b = f.input_field("b", kHidden);
  f.input_field("w1", 3 * kHidden);
  f.input_field("w2", kHidden);
  const std::vector<ad::Id> seen{q, v, f.unary(ad::Op::cos, t)};
  const ad::Id d0 = f.input_field(ad::product_field(0), kHidden);
  std::vector<ad::Id> hidden;
  for (int i = 0; i < kHidden; ++i)
    hidden.push_back(f.unary(ad::Op::tanh, f.binary(ad::Op::add, d0 + i, b + i)));
  const ad::Id d1 = f.input_field(ad::product_field(1), 1);
  const ad::Id known = f.binary(ad::Op::sub, f.binary(ad::Op::sub, u, q), f.binary(ad::Op::mul, c, v));
  f.output_field("value", std::vector<ad::Id>{v, f.binary(ad::Op::add, known, d1)});
  f.output_field(ad::vector_field(0), seen);
  f.output_field(ad::vector_field(1), hidden);
  return {f.finish(), {{"w1", kHidden, 3, 0, 1, kHidden}, {"w2", 1, kHidden, 0, 0, 1}}};
}

// However small its layers.
template <class Real>
std::shared_ptr<System<Real>> in_layers(const Signature& s, ad::LayeredProgram program, const Scheme& scheme,
                                        std::int64_t worlds) {
  return std::make_shared<LayeredSystem<Real>>(s, std::move(program), scheme, layered_lanes<Real>(worlds));
}

}  // namespace costate::test
