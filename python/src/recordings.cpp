// Recordings and replays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "costate/io/recording.h"
#include "costate/view/film.h"
#include "costate/view/replay.h"
#include "module.h"
#include "pickles.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using io::Recording;

void set_particles(Recording& r, const ArrayLike& positions, float radius, const ArrayLike& material,
                   const ArrayLike& speeds) {
  const auto array = as_array<float>(positions, "positions");
  if (array.ndim() != 3 || array.shape(2) != 3)
    throw Error("positions have the shape (frames, particles, 3)");
  r.frames = static_cast<std::int64_t>(array.shape(0));
  r.particles.radius = radius;
  r.particles.positions.assign(array.data(), array.data() + array.size());
  if (material.is_none()) {
    r.particles.material.assign(array.shape(1), 0);
  } else {
    const auto indices = to_vector<double>(material, "material");
    r.particles.material.assign(indices.begin(), indices.end());
  }
  if (r.materials.empty()) r.materials.push_back({.name = "particles"});
  if (speeds.is_none())
    r.particles.speeds.clear();
  else
    r.particles.speeds = to_vector<float>(speeds, "speeds");
}

void add_body(Recording& r, const std::string& name, const std::string& shape, const std::vector<float>& size,
              const ArrayLike& poses, std::uint32_t color, float opacity) {
  static const std::pair<const char*, io::Shape::Kind> kinds[] = {{"sphere", io::Shape::Kind::sphere},
                                                                  {"box", io::Shape::Kind::box},
                                                                  {"cylinder", io::Shape::Kind::cylinder},
                                                                  {"capsule", io::Shape::Kind::capsule},
                                                                  {"plane", io::Shape::Kind::plane}};
  io::Body body;
  body.name = name;
  body.color = color;
  body.opacity = opacity;
  bool known = false;
  for (const auto& [word, kind] : kinds) {
    if (shape == word) {
      body.shape.kind = kind;
      known = true;
    }
  }
  if (!known) throw Error({"shape = '" + shape + "'", {}, "use sphere, box, cylinder, capsule or plane"});
  body.shape.size = size;
  const auto array = as_array<float>(poses, "poses");
  if (array.ndim() < 1 || array.shape(array.ndim() - 1) != 7)
    throw Error("poses have the shape (7,) or (frames, 7): position, unit quaternion (w, x, y, z)");
  const std::size_t count = array.size() / 7;
  body.poses.resize(count);
  for (std::size_t k = 0; k < count; ++k) std::copy_n(array.data() + 7 * k, 7, body.poses[k].begin());
  if (count > 1) r.frames = static_cast<std::int64_t>(count);
  r.bodies.push_back(std::move(body));
}

void add_curve(Recording& r, const std::string& name, const ArrayLike& x, const ArrayLike& y,
               const std::string& x_name) {
  r.curves.push_back({name, x_name, to_vector<double>(x, "x"), to_vector<double>(y, "y")});
}

Array positions(const Recording& r) {
  const std::size_t frames = static_cast<std::size_t>(r.frames), count = r.particles.material.size();
  return to_numpy(std::vector<float>(r.particles.positions), {frames, count, 3});
}

Array poses(const Recording& r, const std::string& name) {
  for (const io::Body& body : r.bodies) {
    if (body.name != name) continue;
    std::vector<float> values;
    for (const io::Pose& pose : body.poses) values.insert(values.end(), pose.begin(), pose.end());
    return to_numpy(std::move(values), {body.poses.size(), 7});
  }
  throw Error("the recording has no body named '" + name + "'");
}

// (triangles (n, 3), positions of their vertices (frames, vertices, 3)) of a surface that changes its shape.
std::pair<Array, Array> mesh(const Recording& r, const std::string& name) {
  for (const io::Mesh& m : r.meshes) {
    if (m.name != name) continue;
    const auto frames = static_cast<std::size_t>(std::max<std::int64_t>(r.frames, 1));
    std::vector<std::int64_t> triangles(m.triangles.begin(), m.triangles.end());
    return {to_numpy(std::move(triangles), {m.triangles.size() / 3, 3}),
            to_numpy(std::vector<float>(m.vertices), {frames, m.vertices.size() / 3 / frames, 3})};
  }
  throw Error("the recording has no mesh named '" + name + "'");
}

// What body number i looks like: kind, size (a mesh: of the ellipsoid with its extents), colour, poses.
nb::dict shape(const Recording& r, std::size_t i) {
  if (i >= r.bodies.size()) throw Error("the recording has " + std::to_string(r.bodies.size()) + " bodies");
  const io::Body& body = r.bodies[i];
  const io::Shape& s = body.shape;
  std::vector<double> size(s.size.begin(), s.size.end());
  const auto widen = [&](const std::vector<float>& points, std::size_t width) {
    size.assign(3, 1e-3);
    for (std::size_t k = 0; k < points.size(); ++k)
      size[k % width] = std::max(size[k % width], double(std::abs(points[k])));
  };
  if (s.kind == io::Shape::Kind::mesh) widen(s.vertices, 3);
  if (s.kind == io::Shape::Kind::revolution) {
    widen(s.profile, 2);
    size = {size[0], size[0], size[1]};
  }
  std::vector<float> values;
  for (const io::Pose& pose : body.poses) values.insert(values.end(), pose.begin(), pose.end());
  nb::dict found;
  found["kind"] = geometry::traits(s.kind).name;
  found["size"] = to_numpy(std::move(size));
  found["colour"] = to_numpy(std::vector<double>{double(body.color >> 16 & 255),
                                                 double(body.color >> 8 & 255), double(body.color & 255)});
  found["poses"] = to_numpy(std::move(values), {body.poses.size(), 7});
  return found;
}

std::string in_a_frame(const Recording& r) {
  std::string page;
  for (const char c : view::replay_page({r}))
    page += c == '"' ? "&quot;" : c == '&' ? "&amp;" : std::string(1, c);
  return "<iframe style=\"width:100%;height:480px;border:0\" srcdoc=\"" + page + "\"></iframe>";
}

}  // namespace

void bind_recordings(nb::module_& m) {
  nb::class_<Recording> recording(m, "Recording",
                                  "What a run looked like: frames at equal intervals of time.");
  pickle_by(recording, "reduce_recording");
  recording.def(nb::init<>())
      .def_rw("title", &Recording::title)
      .def_rw("caption", &Recording::caption)
      .def_rw("frame_interval", &Recording::frame_interval, "s")
      .def_rw("ground", &Recording::ground, "Height of the floor that is drawn.")
      .def_ro("frames", &Recording::frames)
      .def_prop_ro("positions", &positions, "Of particles, (frames, particles, 3).")
      .def_prop_ro("bodies",
                   [](const Recording& r) {
                     std::vector<std::string> names;
                     for (const auto& b : r.bodies) names.push_back(b.name);
                     return names;
                   })
      .def_prop_ro("meshes",
                   [](const Recording& r) {
                     std::vector<std::string> names;
                     for (const auto& one : r.meshes) names.push_back(one.name);
                     return names;
                   })
      .def("mesh", &mesh, "name"_a,
           "Of a surface: (triangles (n, 3), positions of its vertices (frames, vertices, 3)).")
      .def_prop_ro(
          "up", [](const Recording& r) { return std::string(1, r.up); },
          "The axis away from gravity: 'y' or 'z'.")
      .def("shape", &shape, "index"_a,
           "Of a body by its number: {'kind', 'size', 'colour' (red, green, blue; 0 to 255), 'poses'}.")
      .def("poses", &poses, "body"_a, "(frames or 1, 7): position, unit quaternion (w, x, y, z).")
      .def("set_particles", &set_particles, "positions"_a, "radius"_a = 0.01F, "material"_a = nb::none(),
           "speeds"_a = nb::none())
      .def("add_body", &add_body, "name"_a, "shape"_a, "size"_a, "poses"_a, "color"_a = 0xb8bcc2,
           "opacity"_a = 1.0F, "shape: sphere, box, cylinder, capsule or plane; poses (7,) or (frames, 7).")
      .def("add_curve", &add_curve, "name"_a, "x"_a, "y"_a, "x_name"_a = "iteration")
      .def(
          "write", [](const Recording& r, const std::string& path) { io::write_recording(path, r); },
          "path"_a)
      .def(
          "write_html", [](const Recording& r, const std::string& path) { view::write_replay(path, {r}); },
          "path"_a, "A page that shows the recording, without network or server.")
      .def(
          "write_png",
          [](const Recording& r, const std::string& path, std::optional<double> time, int width, int height) {
            const double end = r.frame_interval * double(r.frames - 1);
            view::write_png(path, {r}, time.value_or(end), {}, {.width = width, .height = height});
          },
          "path"_a, "time"_a = nb::none(), "width"_a = 1280, "height"_a = 800,
          nb::call_guard<nb::gil_scoped_release>(),
          "A picture at a time (s; None: the end), drawn by Chromium.")
      .def(
          "write_mp4",
          [](const Recording& r, const std::string& path, int width, int height) {
            view::write_mp4(path, {r}, {}, {.width = width, .height = height});
          },
          "path"_a, "width"_a = 1280, "height"_a = 800, nb::call_guard<nb::gil_scoped_release>(),
          "A film, drawn by Chromium and packed by ffmpeg.")
      .def("_repr_html_", &in_a_frame)
      .def("__repr__", [](const Recording& r) {
        return "Recording '" + r.title + "': " + std::to_string(r.frames) + " frames, " +
               std::to_string(r.particles.material.size()) + " particles, " +
               std::to_string(r.bodies.size()) + " bodies";
      });
  m.def("read_recording", &io::read_recording, "path"_a);
  m.def(
      "write_replay",
      [](const std::string& path, const std::vector<Recording>& recordings, const std::string& title,
         const std::vector<std::string>& notes) {
        view::write_replay(path, recordings, {.title = title, .notes = notes});
      },
      "path"_a, "recordings"_a, "title"_a = "", "notes"_a = std::vector<std::string>{},
      "Recordings side by side on one page, with one camera and one clock.");
}

}  // namespace costate::python
