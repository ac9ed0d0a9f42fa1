#include "costate/io/scene/sections/flow_picture.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "costate/fluid/flow_places.h"

namespace costate::io {

std::vector<std::string> FlowPicture::names(const fluid::FlowOptions& o) {
  std::vector<std::string> names;
  for (const fluid::Scalar& s : o.scalars) names.push_back(s.name);
  names.insert(names.end(), {"speed", "vorticity"});
  if (o.pressure) names.emplace_back("p");
  return names;
}

FlowPicture::FlowPicture(const fluid::FlowOptions& o, const Signature& signature, const std::string& show)
    : options_(o), signature_(signature), dim_(o.cells.size()), names_(names(o)) {
  for (std::size_t c = 0; c < dim_; ++c) {
    n_[c] = o.cells[c];
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
    return (middle(high) - middle(low)) / (double(high[along] - low[along]) * options_.width[along]);
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

// The slice across an axis, in the middle of it.
void FlowPicture::draw(Image& image, const std::vector<double>& state, std::size_t across) const {
  const std::size_t a = across == 0 ? 1 : 0, b = across == 2 ? 1 : 2;
  const bool turns = image.name == "vorticity", moves = image.name == "speed";
  const std::int64_t field = turns || moves ? 0 : signature_.find(Role::state, image.name).offset;
  Cell at{};
  at[across] = n_[across] / 2;
  for (at[b] = 0; at[b] < n_[b]; ++at[b])
    for (at[a] = 0; at[a] < n_[a]; ++at[a])
      image.values.push_back(
          float(turns   ? vorticity(state, at, across)
                : moves ? speed(state, at)
                        : state[std::size_t(field + (at[2] * n_[1] + at[1]) * n_[0] + at[0])]));
}

Body FlowPicture::body(const fluid::Obstacle& o, const std::vector<double>& p) const {
  const auto numbers = [&](const char* name) {
    const Field& f = signature_.find(Role::parameter, o.name + "/" + name);
    return p.data() + f.offset;
  };
  const double *center = numbers("center"), *size = numbers("size");
  Body body{.name = o.name, .color = 0x6f6a62};
  body.poses = {{0, 0, 0, 1, 0, 0, 0}};
  Pose& pose = body.poses[0];
  for (std::size_t a = 0; a < dim_; ++a) pose[a] = float(center[a]);
  // In front of the image.
  if (dim_ == 2) pose[2] = float(0.002 * double(n_[0]) * options_.width[0]);
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
    case Kind::fourier: {
      turn();
      constexpr std::uint32_t kCorners = 96;
      body.shape = {.kind = Shape::Kind::mesh, .vertices = {0, 0, 0}};
      for (std::uint32_t i = 0; i < kCorners; ++i) {
        const double t = 2 * std::numbers::pi * i / kCorners;
        double r = size[0];
        for (std::size_t k = 1; 2 * k < o.size.size(); ++k)
          r += size[2 * k - 1] * std::cos(double(k) * t) + size[2 * k] * std::sin(double(k) * t);
        body.shape.vertices.insert(body.shape.vertices.end(),
                                   {float(r * std::cos(t)), float(r * std::sin(t)), 0});
        body.shape.triangles.insert(body.shape.triangles.end(), {0, 1 + i, 1 + (i + 1) % kCorners});
      }
    }
  }
  return body;
}

void FlowPicture::begin(const study::Inputs& inputs) {
  recording_ = {};
  recording_.up = dim_ == 2 ? 'y' : 'z';
  std::array<float, 3> length{};
  for (std::size_t a = 0; a < dim_; ++a) length[a] = float(double(n_[a]) * options_.width[a]);
  for (const std::string& name : names_) {
    for (std::size_t across = dim_ == 2 ? 2 : 0; across < 3; ++across) {
      const std::size_t a = across == 0 ? 1 : 0, b = across == 2 ? 1 : 2;
      Image image{.name = name, .unit = "", .columns = std::uint32_t(n_[a]), .rows = std::uint32_t(n_[b])};
      image.unit = name == "speed" ? "m/s" : name == "vorticity" ? "1/s" : name == "p" ? "m²/s²" : "";
      image.about_zero = name == "vorticity" || name == "p";
      image.along = image.across = {};
      image.along[a] = length[a], image.across[b] = length[b];
      if (dim_ == 3) image.corner[across] = 0.5F * length[across];
      recording_.images.push_back(std::move(image));
    }
  }
  for (const fluid::Obstacle& o : options_.obstacles) recording_.bodies.push_back(body(o, inputs.p));
}

void FlowPicture::frame(double, const std::vector<double>& state) {
  for (Image& image : recording_.images)
    draw(image, state, image.along[0] == 0 ? 0 : image.across[1] == 0 ? 1 : 2);
  for (std::size_t b = 0; b < recording_.bodies.size(); ++b)
    if (options_.obstacles[b].moves) move(recording_.bodies[b], options_.obstacles[b], state);
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

Recording FlowPicture::finish() {
  for (Body& body : recording_.bodies)
    if (body.poses.size() > 1) body.poses.erase(body.poses.begin());
  return std::move(recording_);
}

}  // namespace costate::io
