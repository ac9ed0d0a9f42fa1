#include "costate/soft/contact/self_contact.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/soft/contact/pair_derivatives.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;
using M = Mat3<double>;

double distance(bool edges, const V (&x)[4]) {
  const PairState<double> s = pair_state(edges, closest_of(edges, x), x, 0.0);
  return s.d;
}
void add(const V& v, double* y, int vertex) {
  y[3 * vertex] += v.x, y[3 * vertex + 1] += v.y, y[3 * vertex + 2] += v.z;
}
std::string in_words(const TouchingPair& pair) {
  const auto n = [&](int i) { return std::to_string(pair.v[i]); };
  return pair.edges ? "the edges of vertices " + n(0) + ", " + n(1) + " and " + n(2) + ", " + n(3)
                    : "vertex " + n(0) + " and the triangle of vertices " + n(1) + ", " + n(2) + ", " + n(3);
}

// Slip of a pair since the start of the step, and what friction is per coefficient and slip of vertex i: the
// force on it is -friction f w_i u.
struct Slide {
  V u;
  double f;
};
Slide slide(const TouchingPair& pair, const PairLag<double>& lag, const At& at, double e) {
  Four y = four(pair, at.z);
  const Four x = four(pair, at.x);
  for (int i = 0; i < 4; ++i) y.x[i] -= x.x[i];
  const V u = pair_slip(lag, y.x);
  return {u, lag.force * slip(norm(u), e).over};
}

}  // namespace

SelfContact::SelfContact(std::vector<char> free, std::vector<int> triangles, std::vector<int> segments,
                         std::span<const double> rest, double reach, const SelfContactPlaces& places,
                         const ContactAreas* areas)
    : vertices_(int(free.size())),
      free_(std::move(free)),
      triangles_(std::move(triangles)),
      at_(places),
      areas_(areas) {
  points_ = triangles_;
  points_.insert(points_.end(), segments.begin(), segments.end());
  std::sort(points_.begin(), points_.end());
  points_.erase(std::unique(points_.begin(), points_.end()), points_.end());
  std::set<std::pair<int, int>> seen;
  for (std::size_t t = 0; t < triangles_.size(); t += 3)
    for (std::size_t k = 0; k < 3; ++k) {
      const auto edge = std::minmax(triangles_[t + k], triangles_[t + (k + 1) % 3]);
      if (seen.insert(edge).second) edges_.insert(edges_.end(), {edge.first, edge.second});
    }
  for (std::size_t e = 0; e < segments.size(); e += 2) {
    const auto edge = std::minmax(segments[e], segments[e + 1]);
    if (seen.insert(edge).second) edges_.insert(edges_.end(), {edge.first, edge.second});
  }
  for (std::size_t e = 0; e < edges_.size(); e += 2) {
    const double *a = rest.data() + 3 * edges_[e], *b = rest.data() + 3 * edges_[e + 1];
    edge_ += 2 * norm(V{a[0] - b[0], a[1] - b[1], a[2] - b[2]}) / double(edges_.size());
  }
  Scratch s;
  std::vector<double> p(std::size_t(std::max({at_.rest + 3 * vertices_, at_.stiffness + 1, at_.reach + 1})),
                        0.0);
  p[std::size_t(at_.reach)] = reach;
  find(rest.data(), nullptr, p.data(), s);
  for (const TouchingPair& pair : s.candidates) {
    const Four x = four(pair, rest.data());
    const double d = distance(pair.edges, x.x);
    if (d < reach)
      throw Error({in_words(pair) + " are " + number(d) +
                       " apart at rest, closer than the contact distance " + number(reach),
                   {},
                   "use a contact distance below " + number(d) + ", or a coarser mesh there"});
  }
}

double SelfContact::parallel(const TouchingPair& pair, const double* rest) const {
  if (!pair.edges) return 0;
  const Four X = four(pair, rest);
  return 1e-3 * squared_norm(X.x[1] - X.x[0]) * squared_norm(X.x[3] - X.x[2]);
}

// Of the areas, their tangents alike: it is linear in them.
double SelfContact::weight(const TouchingPair& pair, const double* areas) const {
  if (!pair.edges) return 0.25 * areas[pair.v[0]];
  return 0.25 * (areas[areas_->edge(pair.v[0], pair.v[1])] + areas[areas_->edge(pair.v[2], pair.v[3])]);
}

PairNumbers<double> SelfContact::numbers(const TouchingPair& pair, const At& at) const {
  const double stiffness = at.p[at_.stiffness];
  return {areas_ ? stiffness * weight(pair, at.areas) : stiffness, at.p[at_.reach],
          parallel(pair, at.p + at_.rest)};
}

void SelfContact::lag(const At& at, double ahead, Scratch& s) const {
  find(at.x, nullptr, at.p, s, ahead);
  At there = at;
  there.z = at.x;
  touch(there, s);
  s.lagged.clear(), s.lags.clear();
  for (const TouchingPair& pair : s.touching) {
    const Four x = four(pair, at.x);
    const PairLag<double> lag = pair_lag(pair.edges, pair.kind, x.x, numbers(pair, at));
    if (!std::isfinite(lag.force))
      throw Error({in_words(pair) + " meet at the start of a step",
                   {},
                   "start from a shape that does not touch itself"},
                  Error::Kind::numerics);
    s.lagged.push_back(pair);
    s.lags.push_back(lag);
  }
}

double SelfContact::energy(const At& at, Scratch& s) const {
  touch(at, s);
  double sum = 0;
  for (const TouchingPair& pair : s.touching) {
    const Four z = four(pair, at.z);
    sum += pair_energy(pair.edges, pair.kind, z.x, numbers(pair, at));
  }
  if (std::isnan(sum)) return std::numeric_limits<double>::infinity();
  const double friction = at.p[at_.friction], e = at.p[at_.slip_speed] * at.p[at_.dt];
  for (std::size_t k = 0; at.rate != 0 && friction > 0 && k < s.lagged.size(); ++k) {
    Four y = four(s.lagged[k], at.z);
    const Four x = four(s.lagged[k], at.x);
    for (int i = 0; i < 4; ++i) y.x[i] -= x.x[i];
    sum += friction * s.lags[k].force * slip(norm(pair_slip(s.lags[k], y.x)), e).value;
  }
  return sum;
}

double SelfContact::residual(const At& at, double* r, Scratch& s) const {
  touch(at, s);
  double squares = 0;
  for (const TouchingPair& pair : s.touching) {
    const Four z = four(pair, at.z);
    V g[4];
    pair_gradient(pair.edges, pair.kind, z.x, numbers(pair, at), g);
    for (int i = 0; i < 4; ++i) add(g[i], r, pair.v[i]), squares += squared_norm(g[i]);
  }
  const double friction = at.p[at_.friction], e = at.p[at_.slip_speed] * at.p[at_.dt];
  for (std::size_t k = 0; at.rate != 0 && friction > 0 && k < s.lagged.size(); ++k) {
    const Slide on = slide(s.lagged[k], s.lags[k], at, e);
    for (int i = 0; i < 4; ++i) {
      const V g = (friction * on.f * s.lags[k].w[i]) * on.u;
      add(g, r, s.lagged[k].v[i]), squares += squared_norm(g);
    }
  }
  return squares;
}

void SelfContact::matrix(const At& at, Scratch& s) const {
  touch(at, s);
  const double friction = at.rate != 0 ? at.p[at_.friction] : 0, e = at.p[at_.slip_speed] * at.p[at_.dt];
  s.pairs.clear();
  const auto join = [&](const TouchingPair& pair) {
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < a; ++b)
        s.pairs.push_back({std::max(pair.v[a], pair.v[b]), std::min(pair.v[a], pair.v[b])});
  };
  for (const TouchingPair& pair : s.touching) join(pair);
  if (friction > 0)
    for (const TouchingPair& pair : s.lagged) join(pair);
  std::sort(s.pairs.begin(), s.pairs.end());
  s.pairs.erase(std::unique(s.pairs.begin(), s.pairs.end()), s.pairs.end());
  s.blocks.assign(9 * (s.pairs.size() + std::size_t(vertices_)), 0.0);
  const auto put = [&](int i, int j, const M& m) {  // row i, column j, where i >= j
    const std::size_t k =
        i == j
            ? s.pairs.size() + std::size_t(i)
            : std::size_t(std::lower_bound(s.pairs.begin(), s.pairs.end(), solve::BlockCholesky::Pair{i, j}) -
                          s.pairs.begin());
    for (int c = 0; c < 9; ++c) s.blocks[9 * k + std::size_t(c)] += m.e[c / 3][c % 3];
  };
  for (const TouchingPair& pair : s.touching) {
    const Four z = four(pair, at.z);
    double H[144];
    pair_matrix(pair, z, numbers(pair, at), at.convex, H);
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b) {
        if (pair.v[a] < pair.v[b]) continue;
        M m;
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) m(i, j) = H[12 * (3 * a + i) + 3 * b + j];
        put(pair.v[a], pair.v[b], m);
      }
  }
  for (std::size_t k = 0; friction > 0 && k < s.lagged.size(); ++k) {
    const PairLag<double>& lag = s.lags[k];
    Four y = four(s.lagged[k], at.z);
    const Four x = four(s.lagged[k], at.x);
    for (int i = 0; i < 4; ++i) y.x[i] -= x.x[i];
    const V u = pair_slip(lag, y.x);
    const Slip<double> f = slip(norm(u), e);
    const M H = (friction * lag.force) *
                (f.over * (M::identity() - outer(lag.n, lag.n)) + f.over_slope * outer(u, u));
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b)
        if (s.lagged[k].v[a] >= s.lagged[k].v[b])
          put(s.lagged[k].v[a], s.lagged[k].v[b], (lag.w[a] * lag.w[b]) * H);
  }
}

double SelfContact::longest(const At& at, const double* step, const Scratch& s) const {
  constexpr double kKeep = 0.1;  // of its distance, each pair keeps at least this
  double longest = 1;
  for (const TouchingPair& pair : s.candidates) {
    Four x = four(pair, at.z);
    const Four p = four(pair, step);
    const double speed = pair.edges
                             ? std::max(norm(p.x[0]), norm(p.x[1])) + std::max(norm(p.x[2]), norm(p.x[3]))
                             : norm(p.x[0]) + std::max({norm(p.x[1]), norm(p.x[2]), norm(p.x[3])});
    if (far_apart(pair.edges, x, longest * speed / (1 - kKeep))) continue;
    const double start = distance(pair.edges, x.x);
    if (longest * speed <= (1 - kKeep) * start) continue;
    double t = 0, d = start;
    for (int rounds = 0; rounds < 1000; ++rounds) {
      const double ahead = (1 - kKeep) * d / speed;
      if (t + ahead >= longest) {
        t = longest;
        break;
      }
      for (int i = 0; i < 4; ++i) x.x[i] += ahead * p.x[i];
      d = distance(pair.edges, x.x);
      if (d < kKeep * start) break;
      t += ahead;
    }
    longest = std::min(longest, t);
  }
  return longest;
}

void SelfContact::residual_jvp(const At& at, const AtDot& dot, double* r_dot, Scratch& s) const {
  touch(at, s);
  const auto rates = [&](const TouchingPair& pair, double(&rate)[3]) {
    rate[0] = rate[1] = rate[2] = 0;
    if (!dot.p) return;
    rate[0] = dot.p[at_.stiffness], rate[1] = dot.p[at_.reach];
    if (areas_) rate[0] = rate[0] * weight(pair, at.areas) + at.p[at_.stiffness] * weight(pair, dot.areas);
    if (!pair.edges) return;
    const Four X = four(pair, at.p + at_.rest), X_dot = four(pair, dot.p + at_.rest);
    for (const int i : {0, 2}) {
      const V edge = X.x[i + 1] - X.x[i];
      rate[2] += 2 * parallel(pair, at.p + at_.rest) / squared_norm(edge) *
                 costate::dot(edge, X_dot.x[i + 1] - X_dot.x[i]);
    }
  };
  for (const TouchingPair& pair : s.touching) {
    double rate[3];
    rates(pair, rate);
    Vec3<D3> g[4];
    numbers_of_touch(pair, four(pair, at.z), numbers(pair, at), g);
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 3; ++k) add(rate[k] * V{g[i].x.d[k], g[i].y.d[k], g[i].z.d[k]}, r_dot, pair.v[i]);
  }
  if (at.rate == 0) return;
  const double e = at.p[at_.slip_speed] * at.p[at_.dt];
  if (at.p[at_.friction] == 0) {  // in proportion to friction, and cheap without it
    const double friction_dot = dot.p ? dot.p[at_.friction] : 0;
    for (std::size_t k = 0; friction_dot != 0 && k < s.lagged.size(); ++k) {
      const Slide on = slide(s.lagged[k], s.lags[k], at, e);
      for (int i = 0; i < 4; ++i) add((friction_dot * on.f * s.lags[k].w[i]) * on.u, r_dot, s.lagged[k].v[i]);
    }
    return;
  }
  for (const TouchingPair& pair : s.lagged) {
    double rate[17] = {}, three[3];
    rates(pair, three);
    for (int k = 0; k < 3; ++k) rate[12 + k] = three[k];
    if (dot.x)
      for (int i = 0; i < 12; ++i) rate[i] = dot.x[3 * pair.v[i / 3] + i % 3];
    if (dot.p) {
      rate[15] = dot.p[at_.friction];
      rate[16] = dot.p[at_.slip_speed] * at.p[at_.dt] + at.p[at_.slip_speed] * dot.p[at_.dt];
    }
    Vec3<D17> r[4];
    numbers_of_friction(pair, four(pair, at.z), four(pair, at.x), numbers(pair, at), at.p[at_.friction], e,
                        r);
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 17; ++k) add(rate[k] * V{r[i].x.d[k], r[i].y.d[k], r[i].z.d[k]}, r_dot, pair.v[i]);
  }
}

void SelfContact::residual_vjp(const At& at, const double* mu, double* x_bar, double* rest_bar,
                               double* areas_bar, double* p_bar, Scratch& s) const {
  touch(at, s);
  const auto receive = [&](const TouchingPair& pair, double stiffness, double reach, double parallel_bar) {
    p_bar[at_.stiffness] += areas_ ? stiffness * weight(pair, at.areas) : stiffness;
    p_bar[at_.reach] += reach;
    const double share = 0.25 * at.p[at_.stiffness] * stiffness;
    if (areas_ && !pair.edges) areas_bar[pair.v[0]] += share;
    if (!pair.edges) return;
    for (const int i : {0, 2})
      if (areas_) areas_bar[areas_->edge(pair.v[i], pair.v[i + 1])] += share;
    const Four X = four(pair, at.p + at_.rest);
    for (const int i : {0, 2}) {
      const V edge = X.x[i + 1] - X.x[i];
      const V by = (2 * parallel_bar * parallel(pair, at.p + at_.rest) / squared_norm(edge)) * edge;
      add(by, rest_bar, pair.v[i + 1]), add(-by, rest_bar, pair.v[i]);
    }
  };
  for (const TouchingPair& pair : s.touching) {
    Vec3<D3> g[4];
    numbers_of_touch(pair, four(pair, at.z), numbers(pair, at), g);
    const Four m = four(pair, mu);
    double bar[3] = {};
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 3; ++k)
        bar[k] += m.x[i].x * g[i].x.d[k] + m.x[i].y * g[i].y.d[k] + m.x[i].z * g[i].z.d[k];
    receive(pair, bar[0], bar[1], bar[2]);
  }
  if (at.rate == 0) return;
  const double e = at.p[at_.slip_speed] * at.p[at_.dt];
  if (at.p[at_.friction] == 0) {
    for (std::size_t k = 0; k < s.lagged.size(); ++k) {
      const Slide on = slide(s.lagged[k], s.lags[k], at, e);
      const Four m = four(s.lagged[k], mu);
      for (int i = 0; i < 4; ++i) p_bar[at_.friction] += on.f * s.lags[k].w[i] * costate::dot(m.x[i], on.u);
    }
    return;
  }
  for (const TouchingPair& pair : s.lagged) {
    Vec3<D17> r[4];
    numbers_of_friction(pair, four(pair, at.z), four(pair, at.x), numbers(pair, at), at.p[at_.friction], e,
                        r);
    const Four m = four(pair, mu);
    double bar[17] = {};
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 17; ++k)
        bar[k] += m.x[i].x * r[i].x.d[k] + m.x[i].y * r[i].y.d[k] + m.x[i].z * r[i].z.d[k];
    for (int i = 0; i < 12; ++i) x_bar[3 * pair.v[i / 3] + i % 3] += bar[i];
    receive(pair, bar[12], bar[13], bar[14]);
    p_bar[at_.friction] += bar[15];
    p_bar[at_.slip_speed] += at.p[at_.dt] * bar[16];
    p_bar[at_.dt] += at.p[at_.slip_speed] * bar[16];
  }
}

}  // namespace costate::soft
