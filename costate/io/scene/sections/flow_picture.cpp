#include "costate/io/scene/sections/flow_picture.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "costate/fluid/flow_places.h"
#include "costate/fluid/obstacles/linkage.h"

namespace costate::io {
namespace {

constexpr std::int64_t kLayers = 12;  // of a volume, along each axis, at most
const std::string kVolume = ", volume";

bool is_volume(const std::string& name) { return name.ends_with(kVolume); }
std::string field_of(const std::string& name) {
  return is_volume(name) ? name.substr(0, name.size() - kVolume.size()) : name;
}

constexpr std::size_t kMostPixels = 1024;  // along an axis of a stretched grid

// The cell that each pixel along an axis shows: the one that its middle lies in.
std::vector<std::int64_t> cells_of_pixels(const std::vector<double>& faces,
                                          const std::vector<double>& widths) {
  std::vector<std::int64_t> cells(faces.size() - 1);
  std::iota(cells.begin(), cells.end(), 0);
  if (widths.empty()) return cells;
  const double finest = *std::min_element(widths.begin(), widths.end());
  const std::size_t pixels =
      std::clamp(std::size_t(faces.back() / finest + 0.5), cells.size(), std::max(kMostPixels, cells.size()));
  cells.resize(pixels);
  for (std::size_t k = 0; k < pixels; ++k) {
    const double place = (double(k) + 0.5) / double(pixels) * faces.back();
    cells[k] = std::upper_bound(faces.begin() + 1, faces.end() - 1, place) - faces.begin() - 1;
  }
  return cells;
}

}  // namespace

std::vector<std::string> FlowPicture::names(const fluid::FlowOptions& o) {
  std::vector<std::string> names;
  for (const fluid::Scalar& s : o.scalars) names.push_back(s.name);
  names.insert(names.end(), {"speed", "vorticity"});
  if (o.pressure) names.emplace_back("p");
  if (o.cells.size() == 3)
    for (const fluid::Scalar& s : o.scalars) names.push_back(s.name + kVolume);
  return names;
}

FlowPicture::FlowPicture(const fluid::FlowOptions& o, const Signature& signature, const std::string& show)
    : options_(o), signature_(signature), dim_(o.cells.size()), names_(names(o)) {
  for (std::size_t c = 0; c < dim_; ++c) {
    n_[c] = o.cells[c];
    faces_[c] = fluid::face_lines(o, c);
    shown_[c] = cells_of_pixels(faces_[c], o.widths[c]);
    components_.push_back(
        {signature.find(Role::state, fluid::kComponents[c]).offset, fluid::face_counts(o, int(c))});
  }
  const auto first = std::ranges::find(names_, show);
  std::rotate(names_.begin(), first, first + 1);
}

// Faces beyond the last one are those where the axis begins again.
double FlowPicture::speed(const std::vector<double>& state, std::size_t c, Cell at) const {
  const Component& of = components_[c];
  for (std::size_t a = 0; a < dim_; ++a) at[a] = (at[a] + of.n[a]) % of.n[a];
  return state[std::size_t(of.offset + (at[2] * of.n[1] + at[1]) * of.n[0] + at[0])];
}

// In the middle of a cell: the mean of differences over two cells, one-sided at the ends.
double FlowPicture::vorticity(const std::vector<double>& state, Cell at, std::size_t across) const {
  const auto slope = [&](std::size_t c, std::size_t along) {
    Cell low = at, high = at;
    const bool wraps = options_.sides[2 * along].kind == fluid::Side::Kind::periodic;
    if (wraps || at[along] > 0) --low[along];
    if (wraps || at[along] + 1 < n_[along]) ++high[along];
    const auto middle = [&](Cell cell) {
      Cell next = cell;
      ++next[c];
      return (speed(state, c, cell) + speed(state, c, next)) / 2;
    };
    // Across a side that wraps the cells beyond are as wide as these.
    const auto width = [&](std::int64_t cell) {
      cell = (cell + n_[along]) % n_[along];
      return faces_[along][std::size_t(cell + 1)] - faces_[along][std::size_t(cell)];
    };
    double distance = 0;
    for (std::int64_t k = low[along]; k < high[along]; ++k) distance += (width(k) + width(k + 1)) / 2;
    return (middle(high) - middle(low)) / distance;
  };
  const std::size_t a = (across + 1) % 3, b = (across + 2) % 3;
  return slope(b, a) - slope(a, b);
}

// In the middle of a cell.
double FlowPicture::speed(const std::vector<double>& state, Cell at) const {
  double sum = 0;
  for (std::size_t c = 0; c < dim_; ++c) {
    Cell next = at;
    ++next[c];
    const double middle = (speed(state, c, at) + speed(state, c, next)) / 2;
    sum += middle * middle;
  }
  return std::sqrt(sum);
}

// The slice across an axis, where its corner lies.
void FlowPicture::draw(Image& image, const std::vector<double>& state, std::size_t across) const {
  const std::size_t a = across == 0 ? 1 : 0, b = across == 2 ? 1 : 2;
  const std::string name = field_of(image.name);
  const bool turns = name == "vorticity", moves = name == "speed";
  const std::int64_t field = turns || moves ? 0 : signature_.find(Role::state, name).offset;
  Cell at{};
  if (dim_ == 3) {  // the corner of cell n / 2 lies in the middle of the box
    const std::vector<double>& faces = faces_[across];
    const auto above = std::upper_bound(
        faces.begin(), faces.end(), double(image.corner[across]) + 1e-3 * faces.back() / double(n_[across]));
    at[across] = std::clamp<std::int64_t>(above - faces.begin() - 1, 0, n_[across] - 1);
  }
  for (const std::int64_t row : shown_[b])
    for (const std::int64_t column : shown_[a]) {
      at[b] = row, at[a] = column;
      image.values.push_back(
          float(turns   ? vorticity(state, at, across)
                : moves ? speed(state, at)
                        : state[std::size_t(field + (at[2] * n_[1] + at[1]) * n_[0] + at[0])]));
    }
}

// A flat shape around its middle; point(t), t from 0 to 2 pi.
template <class Point>
Shape fan(const Point& point) {
  constexpr std::uint32_t kCorners = 96;
  Shape shape{.kind = Shape::Kind::mesh, .vertices = {0, 0, 0}};
  for (std::uint32_t i = 0; i < kCorners; ++i) {
    const auto [x, y] = point(2 * std::numbers::pi * (i + 0.5) / kCorners);
    shape.vertices.insert(shape.vertices.end(), {float(x), float(y), 0});
    shape.triangles.insert(shape.triangles.end(), {0, 1 + i, 1 + (i + 1) % kCorners});
  }
  return shape;
}

// The inside of a level set. In two dimensions what is positive among four middles of cells, cut where it
// ends; in three dimensions the faces between cells inside and outside.
Shape FlowPicture::filled(const double* depth) const {
  Shape shape{.kind = Shape::Kind::mesh};
  const auto add = [&](const std::vector<std::array<double, 3>>& corners) {
    const auto first = std::uint32_t(shape.vertices.size() / 3);
    for (const auto& c : corners)
      shape.vertices.insert(shape.vertices.end(), {float(c[0]), float(c[1]), float(c[2])});
    for (std::uint32_t k = 2; k < corners.size(); ++k)
      shape.triangles.insert(shape.triangles.end(), {first, first + k - 1, first + k});
  };
  const auto at = [&](const Cell& c) { return depth[(c[2] * n_[1] + c[1]) * n_[0] + c[0]]; };
  Cell c{};
  for (c[2] = 0; dim_ == 2 && c[1] + 1 < n_[1]; ++c[1]) {
    for (c[0] = 0; c[0] + 1 < n_[0]; ++c[0]) {
      constexpr std::array<std::array<std::int64_t, 2>, 4> kAround = {{{0, 0}, {1, 0}, {1, 1}, {0, 1}}};
      std::vector<std::array<double, 3>> corners;
      for (std::size_t k = 0; k < 4; ++k) {
        const auto place = [&](std::size_t m) {
          const auto& d = kAround[m % 4];
          return Cell{c[0] + d[0], c[1] + d[1], 0};
        };
        const Cell p = place(k), q = place(k + 1);
        const auto between = [&](double t) {
          return std::array<double, 3>{(1 - t) * cell_middle(0, p[0]) + t * cell_middle(0, q[0]),
                                       (1 - t) * cell_middle(1, p[1]) + t * cell_middle(1, q[1]), 0};
        };
        if (at(p) > 0) corners.push_back(between(0));
        if ((at(p) > 0) != (at(q) > 0)) corners.push_back(between(at(p) / (at(p) - at(q))));
      }
      add(corners);
    }
  }
  for (c = {}; dim_ == 3 && c[2] < n_[2]; ++c[2])
    for (c[1] = 0; c[1] < n_[1]; ++c[1])
      for (c[0] = 0; c[0] < n_[0]; ++c[0])
        for (std::size_t a = 0; at(c) > 0 && a < 3; ++a)
          for (const int end : {0, 1}) {
            Cell next = c;
            next[a] += end ? 1 : -1;
            if (next[a] >= 0 && next[a] < n_[a] && at(next) > 0) continue;
            std::vector<std::array<double, 3>> corners;
            for (const auto& [s, t] : {std::pair{0, 0}, {1, 0}, {1, 1}, {0, 1}}) {
              std::array<double, 3> x{};
              const auto face = [&](std::size_t b, int step) { return faces_[b][std::size_t(c[b] + step)]; };
              x[a] = face(a, end);
              x[(a + 1) % 3] = face((a + 1) % 3, end ? s : t);
              x[(a + 2) % 3] = face((a + 2) % 3, end ? t : s);
              corners.push_back(x);
            }
            add(corners);
          }
  return shape;
}

Body FlowPicture::body(const fluid::Obstacle& o, const std::vector<double>& p) const {
  const auto numbers = [&](const char* name) {
    const Field& f = signature_.find(Role::parameter, o.name + "/" + name);
    return p.data() + f.offset;
  };
  const bool level = o.shape == fluid::Obstacle::Shape::level;
  const double *center = numbers("center"), *size = numbers(level ? "level" : "size");
  Body body{.name = o.name, .color = 0x6f6a62};
  body.poses = {{0, 0, 0, 1, 0, 0, 0}};
  Pose& pose = body.poses[0];
  for (std::size_t a = 0; a < dim_; ++a) pose[a] = float(center[a]);
  // In front of the image.
  if (dim_ == 2) pose[2] = float(0.002 * faces_[0].back());
  const auto turn = [&] {
    const double angle = *numbers("angle");
    pose[3] = float(std::cos(angle / 2)), pose[6] = float(std::sin(angle / 2));
  };
  using Kind = fluid::Obstacle::Shape;
  switch (o.shape) {
    case Kind::ball:
      body.shape = {.kind = Shape::Kind::sphere, .size = {float(size[0])}};
      break;
    case Kind::ellipsoid: {
      const double depth = dim_ == 3 ? size[2] : std::min(size[0], size[1]);
      body.shape = {.kind = Shape::Kind::ellipsoid, .size = {float(size[0]), float(size[1]), float(depth)}};
      if (dim_ == 2) turn();
      break;
    }
    case Kind::box: {
      const double depth = dim_ == 3 ? size[2] : std::min(size[0], size[1]);
      body.shape = {.kind = Shape::Kind::box, .size = {float(size[0]), float(size[1]), float(depth)}};
      if (dim_ == 2) turn();
      break;
    }
    case Kind::capsule:
      if (dim_ == 3) {
        body.shape = {.kind = Shape::Kind::capsule, .size = {float(size[0]), float(size[1])}};
        break;
      }
      turn();
      body.shape = fan([&](double t) {
        const double x = std::cos(t) > 0 ? size[1] : -size[1];
        return std::array<double, 2>{x + size[0] * std::cos(t), size[0] * std::sin(t)};
      });
      break;
    case Kind::fourier:
      turn();
      body.shape = fan([&](double t) {
        double r = size[0];
        for (std::size_t k = 1; 2 * k < o.size.size(); ++k)
          r += size[2 * k - 1] * std::cos(double(k) * t) + size[2 * k] * std::sin(double(k) * t);
        return std::array<double, 2>{r * std::cos(t), r * std::sin(t)};
      });
      break;
    case Kind::level:
      body.shape = filled(size);
      pose = {0, 0, pose[2], 1, 0, 0, 0};
      if (dim_ == 3) pose[2] = 0;
      break;
  }
  return body;
}

void FlowPicture::begin(const study::Inputs& inputs) {
  recording_ = {};
  recording_.up = dim_ == 2 ? 'y' : 'z';
  std::array<float, 3> length{};
  for (std::size_t a = 0; a < dim_; ++a) length[a] = float(faces_[a].back());
  for (const std::string& name : names_) {
    for (std::size_t across = dim_ == 2 ? 2 : 0; across < 3; ++across) {
      const std::size_t a = across == 0 ? 1 : 0, b = across == 2 ? 1 : 2;
      Image image{.name = name,
                  .unit = "",
                  .columns = std::uint32_t(shown_[a].size()),
                  .rows = std::uint32_t(shown_[b].size())};
      image.unit = name == "speed" ? "m/s" : name == "vorticity" ? "1/s" : name == "p" ? "m²/s²" : "";
      image.about_zero = name == "vorticity" || name == "p";
      image.along = image.across = {};
      image.along[a] = length[a], image.across[b] = length[b];
      const std::int64_t layers = is_volume(name) ? std::min(kLayers, n_[across]) : 1;
      for (std::int64_t layer = 0; layer < layers; ++layer) {
        if (dim_ == 3) image.corner[across] = float((double(layer) + 0.5) / double(layers)) * length[across];
        recording_.images.push_back(image);
      }
    }
  }
  constexpr std::array<Color, 4> kColors = {0x1f2933, 0xd1495b, 0x2a9d8f, 0x8a5cc4};
  for (std::size_t t = 0; t < options_.tracers.size(); ++t) {
    recording_.materials.push_back({options_.tracers[t].name, kColors[t % kColors.size()]});
    recording_.particles.material.insert(recording_.particles.material.end(),
                                         std::size_t(options_.tracers[t].count), std::uint8_t(t));
  }
  double pixel = faces_[0].back();
  for (std::size_t a = 0; a < dim_; ++a) pixel = std::min(pixel, faces_[a].back() / double(shown_[a].size()));
  recording_.particles.radius = float(0.25 * pixel);
  for (const fluid::Obstacle& o : options_.obstacles) recording_.bodies.push_back(body(o, inputs.p));
  if (options_.linkage)  // its parameters are the last ones
    linkage_p_.assign(inputs.p.end() - options_.linkage->signature().parameters(), inputs.p.end());
}

// Within the box.
void FlowPicture::draw_tracers(const std::vector<double>& state) {
  for (const fluid::Tracers& t : options_.tracers) {
    const auto at = std::size_t(signature_.find(Role::state, t.name).offset);
    for (std::size_t k = 0; k < std::size_t(t.count); ++k) {
      std::array<double, 3> x = {};
      for (std::size_t a = 0; a < dim_; ++a) {
        const double length = faces_[a].back();
        x[a] = state[at + dim_ * k + a];
        if (options_.sides[2 * a].kind == fluid::Side::Kind::periodic)
          x[a] -= length * std::floor(x[a] / length);
      }
      for (const double number : x) recording_.particles.positions.push_back(float(number));
    }
  }
}

void FlowPicture::frame(double, const std::vector<double>& state) {
  draw_tracers(state);
  for (Image& image : recording_.images)
    draw(image, state, image.along[0] == 0 ? 0 : image.across[1] == 0 ? 1 : 2);
  std::size_t shape = 0;  // of the linkage
  for (std::size_t b = 0; b < recording_.bodies.size(); ++b) {
    const fluid::Obstacle& o = options_.obstacles[b];
    if (o.moves || o.free) move(recording_.bodies[b], o, state);
    if (o.linked) carry(recording_.bodies[b], shape++, state);
  }
  ++recording_.frames;
}

// The first pose stays behind the others until the end: it is where the body was made.
void FlowPicture::move(Body& body, const fluid::Obstacle& o, const std::vector<double>& state) const {
  const auto at = std::size_t(signature_.find(Role::state, o.name + "/moved").offset);
  Pose pose = body.poses[0];
  for (std::size_t a = 0; a < dim_; ++a) pose[a] += float(state[at + a]);
  if (dim_ == 2) {
    const double angle = 2 * std::atan2(pose[6], pose[3]) + state[at + 2];
    pose[3] = float(std::cos(angle / 2)), pose[6] = float(std::sin(angle / 2));
  }
  body.poses.push_back(pose);
}

// The first pose is that of the shape in the frame of its body.
void FlowPicture::carry(Body& body, std::size_t shape, const std::vector<double>& state) const {
  Pose pose = body.poses[0];
  const double angle = 2 * std::atan2(pose[6], pose[3]);
  const auto at = std::size_t(signature_.find(Role::state, "model/q").offset);
  const fluid::Planar<double> there =
      options_.linkage->pose(shape, {pose[0], pose[1], angle}, state.data() + at, linkage_p_.data());
  pose[0] = float(there[0]), pose[1] = float(there[1]);
  pose[3] = float(std::cos(there[2] / 2)), pose[6] = float(std::sin(there[2] / 2));
  body.poses.push_back(pose);
}

Recording FlowPicture::finish() {
  for (Body& body : recording_.bodies)
    if (body.poses.size() > 1) body.poses.erase(body.poses.begin());
  return std::move(recording_);
}

}  // namespace costate::io
