#include "costate/view/replay.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "costate/core/error.h"
#include "costate/view/pack_frames.h"
#include "costate/view/page.h"

namespace costate::view {
namespace {

using Json = nlohmann::ordered_json;

// Packed arrays, each in an element of its own so that the browser's JSON parser never sees them.
class Blobs {
 public:
  template <class T>
  int add(const std::vector<T>& values) {
    html_ += "<script type=\"text/plain\" id=\"blob" + std::to_string(count_) + "\">" +
             base64(values.data(), values.size() * sizeof(T)) + "</script>\n";
    return count_++;
  }
  const std::string& html() const { return html_; }

 private:
  std::string html_;
  int count_ = 0;
};

// Every stride-th particle of every frame; `width` numbers each.
std::vector<float> thinned(const std::vector<float>& values, std::size_t particles, std::size_t width,
                           std::size_t stride) {
  if (stride == 1 || particles == 0) return values;
  std::vector<float> kept;
  for (std::size_t frame = 0; frame < values.size() / (particles * width); ++frame) {
    for (std::size_t i = 0; i < particles; i += stride) {
      const auto begin = values.begin() + std::ptrdiff_t((frame * particles + i) * width);
      kept.insert(kept.end(), begin, begin + std::ptrdiff_t(width));
    }
  }
  return kept;
}

Json particles_json(const io::Recording& r, std::size_t stride, Blobs& blobs) {
  const io::Particles& p = r.particles;
  const std::size_t count = p.material.size();
  std::vector<std::uint8_t> material;
  for (std::size_t i = 0; i < count; i += stride) material.push_back(p.material[i]);
  const std::vector<float> positions = thinned(p.positions, count, 3, stride);
  const Box box = bounding_box(positions);
  Json j = {{"count", material.size()},
            {"of", count},
            {"radius", p.radius * std::cbrt(double(stride))},
            {"low", box.low},
            {"high", box.high},
            {"material", blobs.add(material)},
            {"positions", blobs.add(quantise(positions, box))}};
  if (!p.speeds.empty()) {
    // The fastest hundredth would leave everything else dark.
    std::vector<float> speeds = thinned(p.speeds, count, 1, stride), sorted = speeds;
    const auto high = sorted.begin() + std::ptrdiff_t(sorted.size() - 1 - sorted.size() / 100);
    std::nth_element(sorted.begin(), high, sorted.end());
    j["speed_scale"] = *high;
    j["speeds"] = blobs.add(quantise(speeds, *high));
  }
  return j;
}

// The numbers between which the colours of images lie, the same in all recordings. The outermost
// two-hundredths would leave everything else in one colour: next to a body vorticity has no bounds.
struct Range {
  float low = 0, high = 0;
  bool about_zero = false;
};
using Ranges = std::map<std::string, Range>;
Ranges image_ranges(const std::vector<io::Recording>& recordings) {
  std::map<std::string, std::vector<float>> all;
  Ranges ranges;
  for (const io::Recording& r : recordings) {
    for (const io::Image& image : r.images) {
      std::vector<float>& values = all[image.name];
      values.insert(values.end(), image.values.begin(), image.values.end());
      ranges[image.name].about_zero = image.about_zero;
    }
  }
  for (auto& [name, values] : all) {
    Range& range = ranges[name];
    const auto quantile = [&, &sorted = values](double share) {
      const auto at = sorted.begin() + std::ptrdiff_t(share * double(sorted.size() - 1));
      std::nth_element(sorted.begin(), at, sorted.end());
      return *at;
    };
    range.low = quantile(0.005), range.high = quantile(0.995);
    if (std::abs(range.low) < 0.02F * range.high) range.low = 0;  // a bar that begins at 0 is easier to read
    if (range.about_zero) range.high = std::max(std::abs(range.low), std::abs(range.high));
    if (range.about_zero) range.low = -range.high;
    if (!(range.high > range.low)) range.high = range.low + std::max(1e-6F, 1e-6F * std::abs(range.low));
  }
  return ranges;
}

// Every step-th cell of every row and column.
Json image_json(const io::Image& image, const Range& range, std::uint32_t step, Blobs& blobs) {
  const std::uint32_t columns = (image.columns + step - 1) / step, rows = (image.rows + step - 1) / step;
  const std::size_t cells = std::size_t(image.columns) * image.rows;
  std::vector<float> shares;
  for (std::size_t frame = 0; frame * cells < image.values.size(); ++frame)
    for (std::uint32_t j = 0; j < image.rows; j += step)
      for (std::uint32_t i = 0; i < image.columns; i += step)
        shares.push_back((image.values[frame * cells + std::size_t(j) * image.columns + i] - range.low) /
                         (range.high - range.low));
  return {{"name", image.name},
          {"unit", image.unit},
          {"columns", columns},
          {"rows", rows},
          {"corner", image.corner},
          {"along", image.along},
          {"across", image.across},
          {"about_zero", image.about_zero},
          {"low", range.low},
          {"high", range.high},
          {"values", blobs.add(quantise(shares, 1.0F))}};
}

Json recording_json(const io::Recording& r, std::size_t stride, const Ranges& ranges, std::uint32_t step,
                    Blobs& blobs) {
  Json j = {{"title", r.title},
            {"caption", r.caption},
            {"up", std::string(1, r.up)},
            {"ground", r.ground},
            {"interval", r.frame_interval},
            {"frames", r.frames},
            {"camera", {{"eye", r.camera.eye}, {"target", r.camera.target}, {"fov", r.camera.field_of_view}}},
            {"materials", Json::array()},
            {"bodies", Json::array()},
            {"meshes", Json::array()},
            {"images", Json::array()}};
  for (const io::Material& m : r.materials) j["materials"].push_back({{"name", m.name}, {"color", m.color}});
  if (!r.particles.material.empty()) j["particles"] = particles_json(r, stride, blobs);
  for (const io::Body& b : r.bodies) {
    Json shape = {{"kind", geometry::traits(b.shape.kind).name}, {"size", b.shape.size}};
    if (!b.shape.profile.empty()) shape["profile"] = b.shape.profile;
    if (b.shape.kind == io::Shape::Kind::mesh) {
      shape["vertices"] = blobs.add(b.shape.vertices);
      shape["triangles"] = blobs.add(b.shape.triangles);
    }
    j["bodies"].push_back({{"name", b.name},
                           {"color", b.color},
                           {"opacity", b.opacity},
                           {"shape", shape},
                           {"poses", blobs.add(b.poses)}});
  }
  for (const io::Mesh& m : r.meshes) {
    const Box box = bounding_box(m.vertices);
    j["meshes"].push_back({{"name", m.name},
                           {"color", m.color},
                           {"opacity", m.opacity},
                           {"low", box.low},
                           {"high", box.high},
                           {"triangles", blobs.add(m.triangles)},
                           {"vertices", blobs.add(quantise(m.vertices, box))}});
  }
  for (const io::Image& image : r.images)
    j["images"].push_back(image_json(image, ranges.at(image.name), step, blobs));
  return j;
}

// Inside <script>, nothing may look like its end.
std::string in_script(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace), safe;
  for (const char c : text) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

std::string in_html(const std::string& text) {
  std::string safe;
  for (const char c : text) c == '<' ? safe += "&lt;" : c == '&' ? safe += "&amp;" : safe += c;
  return safe;
}

}  // namespace

std::string replay_page(const std::vector<io::Recording>& recordings, const ReplayOptions& options) {
  if (recordings.empty()) throw Error("a replay needs at least one recording");
  std::size_t bytes = 0, pixels = 0;
  for (const io::Recording& r : recordings) {
    io::check_recording(r, r.title.empty() ? "recording" : "recording " + r.title);
    bytes += 2 * r.particles.positions.size() + r.particles.speeds.size();
    for (const io::Image& image : r.images) pixels += image.values.size();
  }
  const std::size_t stride =
      std::max<std::size_t>(1, (bytes + options.max_bytes - 1) / std::max<std::size_t>(1, options.max_bytes));

  const auto step = std::uint32_t(
      std::ceil(std::sqrt(double(pixels) / double(std::max<std::size_t>(1, options.max_bytes)))));
  const Ranges ranges = image_ranges(recordings);

  Blobs blobs;
  const std::string title = options.title.empty() ? recordings[0].title : options.title;
  Json replay = {
      {"title", title}, {"notes", options.notes}, {"recordings", Json::array()}, {"curves", Json::array()}};
  for (const io::Recording& r : recordings) {
    replay["recordings"].push_back(recording_json(r, stride, ranges, std::max(1U, step), blobs));
    for (const io::Curve& c : r.curves) {
      const Json curve = {{"name", c.name}, {"x_name", c.x_name}, {"x", c.x}, {"y", c.y}};
      Json& all = replay["curves"];  // recordings of one optimisation bring the same curve
      if (!c.x.empty() && std::find(all.begin(), all.end(), curve) == all.end()) all.push_back(curve);
    }
  }
  const Page page = page_parts();
  std::string html;
  html += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += "<title>" + in_html(title) + "</title>\n<style>\n";
  html.append(page.style).append("</style>\n</head>\n<body>\n").append(page.body);
  html +=
      "<script type=\"application/json\" id=\"replay\">" + in_script(replay) + "</script>\n" + blobs.html();
  html.append("<script>\n").append(page.three).append("\n</script>\n<script>\n").append(page.viewer);
  html += "\n</script>\n</body>\n</html>\n";
  return html;
}

void write_replay(const std::string& path, const std::vector<io::Recording>& recordings,
                  const ReplayOptions& options) {
  const std::string page = replay_page(recordings, options);
  std::ofstream file(path, std::ios::binary);
  file.write(page.data(), std::streamsize(page.size()));
  file.close();
  if (!file) throw Error({"the file cannot be written", path, "is there room, and does its folder exist?"});
}

}  // namespace costate::view
