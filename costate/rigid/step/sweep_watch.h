// Flat faces and straight sides that roll on round bodies: a box, a mesh, a cylinder or a capsule against
// a larger sphere, capsule or ellipsoid has one contact point, which runs over the face or along the side,
// from end to end, far faster than the bodies move. Where it passes an edge, a corner or the end of the
// side its path has a kink that no step is cut at, and the error of the gradient is of first order in dt:
// 0.83 at dt = 0.002, 0.21 at 0.0005 and 0.03 at 0.0001 in the toss of a box of 0.2 m onto a sphere of 2
// m, and 7.3, 0.22 and 0.15 in that of a capsule, through more impacts. The report says so where the point
// runs farther in a step than kSweep times the size of the flat body (step_report.h). Of a capsule and a
// cylinder it must pass from one region to another, too: side, end, rim.
//
// Transposes see steps from the last to the first: where the point was in the step after is kept.
// Tests: tests/rigid/contact/every_pair_test.cpp, label_test.cpp.
#pragma once

#include <vector>

#include "costate/rigid/constraints/constraint_rows.h"
#include "costate/rigid/step/step.h"

namespace costate::rigid {

inline constexpr double kSweep = 0.004;

template <class S>
class SweepWatch {
 public:
  explicit SweepWatch(const Stepper& stepper) {
    const Constraints& cons = stepper.constraints;
    const auto type = [&](int geom) { return stepper.tree.geoms[std::size_t(geom)].type; };
    const auto rimmed = [&](int geom) { return type(geom) == GeomType::cylinder; };
    const auto straight = [&](int geom) { return type(geom) == GeomType::capsule || rimmed(geom); };
    const auto flat = [&](int geom) {
      return type(geom) == GeomType::box || type(geom) == GeomType::mesh || straight(geom);
    };
    const auto round = [&](int geom) {
      return type(geom) == GeomType::sphere || type(geom) == GeomType::capsule ||
             type(geom) == GeomType::ellipsoid;
    };
    for (std::size_t i = 0; stepper.split && i < cons.pairs.size(); ++i) {
      const GeomPair& geoms = cons.pairs[i].geoms;
      if (!cons.pairs[i].splittable) continue;
      if (flat(geoms.first) && round(geoms.second))
        watched_.push_back({int(i), geoms.first, geoms.second, straight(geoms.first), rimmed(geoms.first)});
      if (round(geoms.first) && flat(geoms.second))
        watched_.push_back({int(i), geoms.second, geoms.first, straight(geoms.second), rimmed(geoms.second)});
    }
    forget();
  }

  struct Watched {
    int pair, flat, round;  // geoms
    bool straight, rimmed;  // the flat one is a capsule or a cylinder; a cylinder
    S touched = S(0);
    Vec3<S> at = Vec3<S>::zero();  // in the frame of the flat one
    S region = S(0);               // region(), there
    std::int64_t count = 0;        // of steps
  };

  void forget() {
    for (Watched& w : watched_) {
      w.touched = S(0);
      w.count = 0;
    }
  }

  // After the transpose of a step of `worlds`, with c where the step begins.
  void see(const mask_t<S>& worlds, const Constraints& cons, const ConstraintData<S>& c) {
    using T = value_t<S>;
    for (Watched& w : watched_) {
      const TouchingPair& pair = cons.pairs[std::size_t(w.pair)];
      S touches(0);
      for (const int i : c.active)
        if (i == pair.group)
          touches = select(c.D[std::size_t(cons.groups[std::size_t(i)].row)] > S(0), S(1), S(0));
      if (!any(worlds & ((touches > S(0)) | (w.touched > S(0))))) continue;
      const geometry::Shape<S>& shape = c.contact.shapes[std::size_t(w.flat)];
      const Vec3<S> at = transpose_times(shape.R, c.contact.points[std::size_t(pair.point)].point - shape.x),
                    way = at - w.at;
      const S region_now = region(w, shape, at, c.contact.points[std::size_t(pair.point)].dist);
      const S size = c.contact.reach[std::size_t(w.flat)];
      const mask_t<S> sweeps = worlds & (touches > S(0)) & (w.touched > S(0)) &
                               (dot(way, way) > S(T(kSweep * kSweep)) * size * size) &
                               (w.straight ? region_now != w.region : mask_t<S>(true)) &
                               (c.contact.reach[std::size_t(w.round)] > size);
      const S one = select(sweeps, S(1), S(0));
      for (int l = 0; l < lanes_of<S>; ++l) w.count += lane(one, l) > 0;
      w.touched = select(worlds, touches, w.touched);
      w.region = select(worlds, region_now, w.region);
      w.at = {select(worlds, at.x, w.at.x), select(worlds, at.y, w.at.y), select(worlds, at.z, w.at.z)};
    }
  }

  // Where on the flat body the point lies: on which end, and whether on the side of it; points lie halfway
  // between the bodies. The kinks of a capsule and a cylinder are where that changes.
  static S region(const Watched& w, const geometry::Shape<S>& shape, const Vec3<S>& at, const S& dist) {
    if (!w.straight) return S(0);
    const S half = shape.size[1] - (w.rimmed ? abs(dist) : S(0)), radius = shape.size[0] - abs(dist);
    const S end = select(abs(at.z) > half, select(at.z > S(0), S(1), S(2)), S(0));
    if (!w.rimmed) return end;
    return end + select(at.x * at.x + at.y * at.y > radius * radius, S(4), S(0));
  }

  const std::vector<Watched>& watched() const { return watched_; }

 private:
  std::vector<Watched> watched_;
};

}  // namespace costate::rigid
