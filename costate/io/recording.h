// Recording: what a run looked like. Frames at equal intervals of time, plain numbers, no physics: any
// simulator can fill one, and the viewer (costate/view/replay.h) shows it.
//
//   particles   positions and speeds, a material for each
//   bodies      a rigid shape each, with one pose for the whole run or one per frame
//   meshes      triangles whose vertices move: soft bodies, cloth, height fields
//   images      a number per cell of a rectangle, as colours: smoke, pressure, a slice of a volume
//   curves      numbers worth a chart, such as the loss of every iteration
//
// On disk (write_recording, read_recording) a recording is
//
//   16 bytes    "costate-record-1"
//    8 bytes    length of the header, little-endian
//   header      JSON: everything below but the long arrays; each of these is {"type", "count", "offset"}
//   arrays      little-endian numbers of type f4, f8, u1 or u4, each at `offset` (a multiple of 8) after the
//               header
//
// Files are treated as hostile: every length is checked against the file's before anything is allocated,
// every number for being finite, every index for its range. Tests: tests/io/recording_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "costate/geometry/shape_type.h"

namespace costate::io {

using Color = std::uint32_t;  // 0xrrggbb

struct Material {
  std::string name;
  Color color = 0x4f86c6;
};

// A shape in its own coordinates. Cylinders, capsules and shapes of revolution stand along their z axis.
struct Shape {
  using Kind = geometry::ShapeType;
  Kind kind = Kind::sphere;
  // sphere: radius; box, ellipsoid: half extents; cylinder, capsule: radius, half length (without caps);
  // plane (z = 0): half extents x, y.
  std::vector<float> size = {};
  std::vector<float> profile = {};            // revolution: (r, z) pairs of a line turned about z
  std::vector<float> vertices = {};           // mesh: x, y, z
  std::vector<std::uint32_t> triangles = {};  // mesh: three vertices each, counter-clockwise from outside
};

using Pose = std::array<float, 7>;  // position, unit quaternion (w, x, y, z): body to world

struct Body {
  std::string name;
  Shape shape = {};
  Color color = 0xb8bcc2;
  float opacity = 1;
  std::vector<Pose> poses = {{0, 0, 0, 1, 0, 0, 0}};  // one, or one per frame
};

struct Mesh {
  std::string name;
  Color color = 0xd98b5f;
  float opacity = 1;
  std::vector<std::uint32_t> triangles = {};
  std::vector<float> vertices = {};  // frames x vertices x 3
};

// Images of one name are shown together: the slices of a volume. Of several names one is shown at a time.
struct Image {
  std::string name, unit;
  std::uint32_t columns = 0, rows = 0;
  std::array<float, 3> corner = {}, along = {1, 0, 0}, across = {0, 1, 0};  // the edges of the rectangle
  bool about_zero = false;         // colours tell positive from negative
  std::vector<float> values = {};  // frames x rows x columns; the first row lies at the corner
};

struct Particles {
  float radius = 0.01F;
  std::vector<std::uint8_t> material = {};  // index into materials, one per particle
  std::vector<float> positions = {};        // frames x particles x 3
  std::vector<float> speeds = {};           // frames x particles, or none
};

struct Curve {
  std::string name;
  std::string x_name = "iteration";
  std::vector<double> x = {}, y = {};
};

struct Camera {
  std::array<float, 3> eye = {}, target = {};
  float field_of_view = 35;  // degrees, vertical
};

struct Recording {
  std::string title, caption;
  char up = 'z';                     // the axis that points away from gravity: 'y' or 'z'
  float ground = 0;                  // height of the floor that is drawn
  double frame_interval = 1.0 / 30;  // s
  std::int64_t frames = 0;
  Camera camera = {};
  std::vector<Material> materials = {};
  Particles particles = {};
  std::vector<Body> bodies = {};
  std::vector<Mesh> meshes = {};
  std::vector<Image> images = {};
  std::vector<Curve> curves = {};
};

// Throws Error where lengths do not fit together, an index is out of range or a number is not finite. `where`
// is for the message.
void check_recording(const Recording& recording, const std::string& where);

// Throw Error if the file cannot be written or read, or holds no valid recording.
void write_recording(const std::string& path, const Recording& recording);
Recording read_recording(const std::string& path);

}  // namespace costate::io
