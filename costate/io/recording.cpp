#include "costate/io/recording.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"

namespace costate::io {
namespace {

constexpr std::int64_t kMaxFrames = 1'000'000;

class Check {
 public:
  explicit Check(const std::string& where) : where_(where) {}

  void that(bool good, const std::string& what) const {
    if (!good) throw Error({what, where_, ""});
  }
  template <class Numbers>
  void finite(const Numbers& numbers, const std::string& what) const {
    that(std::all_of(numbers.begin(), numbers.end(), [](auto v) { return std::isfinite(v); }),
         what + " holds a number that is not finite");
  }
  // The product of two counts, which a hostile file may have chosen to overflow.
  std::uint64_t times(std::uint64_t a, std::uint64_t b, const std::string& what) const {
    that(b == 0 || a <= UINT64_MAX / b, what + " is too long");
    return a * b;
  }
  void triangles(const std::vector<std::uint32_t>& indices, std::uint64_t vertices,
                 const std::string& what) const {
    that(indices.size() % 3 == 0, what + ": triangles have three corners each");
    that(std::all_of(indices.begin(), indices.end(), [&](std::uint32_t i) { return i < vertices; }),
         what + ": a triangle names a vertex that is not there");
  }

 private:
  const std::string& where_;
};

std::size_t sizes_of(Shape::Kind kind) {
  return kind == Shape::Kind::plane ? 2 : geometry::traits(kind).sizes;
}

void check_shape(const Check& check, const Shape& s, const std::string& name) {
  check.that(s.size.size() == sizes_of(s.kind), name + ": the shape has the wrong number of sizes");
  check.finite(s.size, name);
  check.finite(s.profile, name);
  check.finite(s.vertices, name);
  check.that(std::all_of(s.size.begin(), s.size.end(), [](float v) { return v > 0; }),
             name + ": a size must be greater than zero");
  if (s.kind == Shape::Kind::revolution)
    check.that(s.profile.size() >= 4 && s.profile.size() % 2 == 0,
               name + ": a profile has at least two (r, z) pairs");
  check.that(s.vertices.size() % 3 == 0, name + ": vertices have three coordinates each");
  check.triangles(s.triangles, s.vertices.size() / 3, name);
}

}  // namespace

void check_recording(const Recording& r, const std::string& where) {
  const Check check(where);
  check.that(r.frames >= 1 && r.frames <= kMaxFrames, "a recording has 1 to 1000000 frames");
  check.that(std::isfinite(r.frame_interval) && r.frame_interval > 0,
             "frame_interval must be greater than zero");
  check.that(r.up == 'y' || r.up == 'z', "up must be y or z");
  check.that(std::isfinite(r.ground), "ground is not finite");
  check.finite(r.camera.eye, "camera");
  check.finite(r.camera.target, "camera");
  check.that(r.camera.field_of_view > 0 && r.camera.field_of_view < 180,
             "field_of_view must be between 0 and 180");
  const std::uint64_t frames = std::uint64_t(r.frames);

  const Particles& p = r.particles;
  const std::uint64_t count = p.material.size();
  check.that(count == 0 || (std::isfinite(p.radius) && p.radius > 0),
             "particles: radius must be greater than zero");
  check.that(p.positions.size() == check.times(frames, 3 * count, "positions"),
             "particles: there must be frames x particles x 3 positions");
  check.that(p.speeds.empty() || p.speeds.size() == frames * count,
             "particles: there must be frames x particles speeds");
  check.that(std::all_of(p.material.begin(), p.material.end(),
                         [&](std::uint8_t m) { return m < r.materials.size(); }),
             "particles: a material is not in the list");
  check.finite(p.positions, "positions");
  check.finite(p.speeds, "speeds");

  for (const Body& b : r.bodies) {
    check_shape(check, b.shape, "body " + b.name);
    check.that(b.poses.size() == 1 || b.poses.size() == frames,
               "body " + b.name + ": one pose, or one per frame");
    for (const Pose& pose : b.poses) check.finite(pose, "body " + b.name);
    check.that(b.opacity >= 0 && b.opacity <= 1, "body " + b.name + ": opacity must be between 0 and 1");
  }
  for (const Mesh& m : r.meshes) {
    check.that(m.vertices.size() % (3 * frames) == 0,
               "mesh " + m.name + ": there must be frames x vertices x 3 numbers");
    check.finite(m.vertices, "mesh " + m.name);
    check.triangles(m.triangles, m.vertices.size() / (3 * frames), "mesh " + m.name);
    check.that(m.opacity >= 0 && m.opacity <= 1, "mesh " + m.name + ": opacity must be between 0 and 1");
  }
  for (const Image& i : r.images) {
    check.that(i.columns > 0 && i.rows > 0, "image " + i.name + ": there are no cells");
    check.that(i.values.size() == check.times(frames, std::uint64_t(i.columns) * i.rows, "image " + i.name),
               "image " + i.name + ": there must be frames x rows x columns values");
    check.finite(i.values, "image " + i.name);
    for (const auto& v : {i.corner, i.along, i.across}) check.finite(v, "image " + i.name);
  }
  for (const Curve& c : r.curves) {
    check.that(c.x.size() == c.y.size(), "curve " + c.name + ": x and y differ in length");
    check.finite(c.x, "curve " + c.name);
    check.finite(c.y, "curve " + c.name);
  }
}

}  // namespace costate::io
