#include "costate/system/tangents.h"

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/system/ranges.h"
#include "costate/system/step_columns.h"

namespace costate {
namespace {

template <class Real>
void check(const System<Real>& system, const TangentOptions& o, const Arguments<Real>& at,
           const std::vector<Arguments<Real>>& directions) {
  const Signature& s = system.signature();
  if (!system.capabilities().jvp) throw Error("this system has no tangents");
  if (o.steps < 1 || o.hold < 1 || o.keep < 1) throw Error("steps, hold and keep are 1 or more");
  check_ranges(s, at.parameters);
  const std::int64_t controls = (o.steps + o.hold - 1) / o.hold * s.controls();
  const auto fits = [&](const Arguments<Real>& a, bool may_be_empty) {
    const auto right = [&](const std::vector<Real>& v, std::int64_t size) {
      return std::int64_t(v.size()) == size || (may_be_empty && v.empty());
    };
    if (!right(a.x0, s.states()) || !right(a.controls, controls))
      throw Error("one world has " + std::to_string(s.states()) + " states and " + std::to_string(controls) +
                  " numbers of control, not " + std::to_string(a.x0.size()) + " and " +
                  std::to_string(a.controls.size()));
    if (a.parameters.worlds() != 1) throw Error("tangents are those of one world");
  };
  fits(at, false);
  for (const Arguments<Real>& d : directions) fits(d, true);
}

// Numbers of one world into all lanes, or into one.
template <class Real>
void spread(const Real* from, std::int64_t size, int lanes, Real* to) {
  for (std::int64_t i = 0; i < size; ++i) std::fill_n(to + i * lanes, lanes, from[i]);
}
template <class Real>
void put_lane(const Real* from, std::int64_t size, int lanes, int lane, Real* to) {
  for (std::int64_t i = 0; i < size; ++i) to[i * lanes + lane] = from[i];
}

// A world of a trajectory, [index][lane], and the rates of all directions.
template <class Real>
struct Walk {
  const System<Real>& system;
  const Signature& s = system.signature();
  int lanes = system.lanes();
  AlignedBuffer<Real> x, u, p, y, x_dot, u_dot, p_dot, y_dot;
  std::vector<std::vector<Real>> rate, next;

  Walk(const System<Real>& of, const Arguments<Real>& at, const std::vector<Arguments<Real>>& directions)
      : system(of) {
    for (auto* b : {&x, &y, &x_dot, &y_dot}) b->reserve(s.states() * lanes);
    for (auto* b : {&u, &u_dot}) b->reserve(std::max<std::int64_t>(1, s.controls() * lanes));
    for (auto* b : {&p, &p_dot}) b->reserve(std::max<std::int64_t>(1, s.parameters() * lanes));
    spread(at.x0.data(), s.states(), lanes, x.data());
    const auto& fields = s.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f)
      spread(at.parameters.values(f).data(), fields[f].size, lanes, p.data() + fields[f].offset * lanes);
    for (const Arguments<Real>& d : directions)
      rate.push_back(d.x0.empty() ? std::vector<Real>(std::size_t(s.states()), Real(0)) : d.x0);
    next = rate;
  }
  void set(const Arguments<Real>& d, std::int64_t knot, const std::vector<Real>& dx, int lane) {
    put_lane(dx.data(), s.states(), lanes, lane, x_dot.data());
    if (!d.controls.empty())
      put_lane(d.controls.data() + knot * s.controls(), s.controls(), lanes, lane, u_dot.data());
    const auto& fields = s.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f)
      put_lane(d.parameters.values(f).data(), fields[f].size, lanes, lane,
               p_dot.data() + fields[f].offset * lanes);
  }
};

}  // namespace

template <class Real>
Tangents<Real> tangents(const System<Real>& system, const TangentOptions& o, const Arguments<Real>& at,
                        const std::vector<Arguments<Real>>& directions) {
  check(system, o, at, directions);
  Walk<Real> w(system, at, directions);
  const Signature& s = w.s;
  const auto n = std::int64_t(s.states());
  const auto work = system.make_workspace();
  const Activity nothing{std::vector<bool>(s.fields(Role::parameter).size(), false), true};
  system.begin_run(w.p.data(), nullptr, nothing, *work);
  Tangents<Real> out;
  int copies = w.lanes;  // that are the same world
  for (std::int64_t k = 0; k < o.steps; ++k) {
    stop_if_interrupted();
    const std::int64_t knot = k / o.hold;
    if (s.controls() > 0) spread(at.controls.data() + knot * s.controls(), s.controls(), w.lanes, w.u.data());
    const Inputs<Real> in{w.x.data(), w.u.data(), w.p.data()};
    if (directions.empty() || (k == 0 && w.lanes > 1)) system.step({k, 0, 0}, in, w.y.data(), nullptr, *work);
    if (k == 0 && w.lanes > 1 && !same_in_all_lanes(w.y.data(), n, w.lanes)) copies = 1;  // noise
    step_columns<Real>(
        system, {k, 0, 0}, in, {w.x_dot.data(), w.u_dot.data(), w.p_dot.data()},
        std::int64_t(directions.size()), copies, w.y.data(), w.y_dot.data(), *work,
        [&](std::int64_t c, int l) { w.set(directions[std::size_t(c)], knot, w.rate[std::size_t(c)], l); },
        [&](std::int64_t c, int l) {
          take_lane(w.y_dot.data(), n, w.lanes, l, w.next[std::size_t(c)].data());
        });
    w.rate.swap(w.next);
    copy(w.x.data(), w.y.data(), n * w.lanes);
    if ((k + 1) % o.keep != 0) continue;
    out.kept.push_back(k + 1);
    out.states.resize(out.states.size() + std::size_t(n));
    take_lane(w.x.data(), n, w.lanes, 0, out.states.data() + out.states.size() - std::size_t(n));
    for (const auto& rate : w.rate) out.rates.insert(out.rates.end(), rate.begin(), rate.end());
  }
  system.end_run(w.p.data(), nullptr, nothing, *work);
  return out;
}

template Tangents<float> tangents(const System<float>&, const TangentOptions&, const Arguments<float>&,
                                  const std::vector<Arguments<float>>&);
template Tangents<double> tangents(const System<double>&, const TangentOptions&, const Arguments<double>&,
                                   const std::vector<Arguments<double>>&);

}  // namespace costate
