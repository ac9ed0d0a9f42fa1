#include "costate/soft/contact/pair_derivatives.h"

#include "costate/ad/dual_functions.h"
#include "costate/soft/elements/small_matrix.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;

template <class S>
Vec3<S> constant(const V& v) {
  return {S(v.x), S(v.y), S(v.z)};
}
template <class S>
Vec3<S> variable(const V& v, int i) {
  return {S::variable(v.x, i), S::variable(v.y, i + 1), S::variable(v.z, i + 2)};
}

// Without its negative part, but for a mollified pair: b'' > 0 along the gradient of the distance, and b' < 0
// across, where distances curve upwards. False: the pair is mollified.
bool steepest(const TouchingPair& pair, const Four& z, const PairNumbers<double>& p, double* H) {
  const PairState<double> s = pair_state(pair.edges, pair.kind, z.x, p.parallel);
  if (s.m.active) return false;
  const double curve = p.stiffness * barrier(s.d, p.reach).curve / (s.d * s.d);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j) H[12 * i + j] = curve * s.w[i / 3] * s.w[j / 3] * s.c[i % 3] * s.c[j % 3];
  return true;
}

}  // namespace

void pair_matrix(const TouchingPair& pair, const Four& z, const PairNumbers<double>& p, bool convex,
                 double* H) {
  if (convex && steepest(pair, z, p, H)) return;
  using D12 = Dual<double, 12>;
  Vec3<D12> x[4], g[4];
  for (int i = 0; i < 4; ++i) x[i] = variable<D12>(z.x[i], 3 * i);
  pair_gradient(pair.edges, pair.kind, x, PairNumbers<D12>{p.stiffness, p.reach, p.parallel}, g);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j) H[12 * i + j] = 0.5 * (g[i / 3][i % 3].d[j] + g[j / 3][j % 3].d[i]);
  if (convex) make_positive<12>(H);
}

void numbers_of_touch(const TouchingPair& pair, const Four& z, const PairNumbers<double>& p,
                      Vec3<D3> (&g)[4]) {
  Vec3<D3> x[4];
  for (int i = 0; i < 4; ++i) x[i] = constant<D3>(z.x[i]);
  pair_gradient(pair.edges, pair.kind, x,
                {D3::variable(p.stiffness, 0), D3::variable(p.reach, 1), D3::variable(p.parallel, 2)}, g);
}

void numbers_of_friction(const TouchingPair& pair, const Four& z, const Four& x, const PairNumbers<double>& p,
                         double friction, double e, Vec3<D17> (&r)[4]) {
  Vec3<D17> start[4], moved[4];
  for (int i = 0; i < 4; ++i) {
    start[i] = variable<D17>(x.x[i], 3 * i);
    moved[i] = constant<D17>(z.x[i]) - start[i];
  }
  const PairLag<D17> lag =
      pair_lag(pair.edges, pair.kind, start,
               {D17::variable(p.stiffness, 12), D17::variable(p.reach, 13), D17::variable(p.parallel, 14)});
  const Vec3<D17> u = pair_slip(lag, moved);
  const D17 k = D17::variable(friction, 15) * lag.force * slip(norm(u), D17::variable(e, 16)).over;
  for (int i = 0; i < 4; ++i) r[i] = (k * lag.w[i]) * u;
}

}  // namespace costate::soft
