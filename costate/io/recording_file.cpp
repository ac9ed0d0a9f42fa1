// The file format of recording.h.
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "costate/core/error.h"
#include "costate/io/recording.h"

namespace costate::io {
namespace {

using Json = nlohmann::ordered_json;
static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

constexpr char kMagic[] = "costate-record-1";
constexpr std::size_t kMagicSize = 16, kPreamble = kMagicSize + 8;
constexpr std::uint64_t kMaxHeader = std::uint64_t{16} << 20, kMaxFile = std::uint64_t{8} << 30;
constexpr int kMaxDepth = 16;

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, float>) return "f4";
  if constexpr (std::is_same_v<T, double>) return "f8";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "u1";
  return "u4";
}

// Collects the arrays while the header is made.
class Writer {
 public:
  template <class T>
  Json array(const std::vector<T>& values) {
    const Json entry = {{"type", type_name<T>()}, {"count", values.size()}, {"offset", bytes_.size()}};
    append(values.data(), values.size() * sizeof(T));
    return entry;
  }
  Json array(const std::vector<Pose>& poses) {
    const Json entry = {{"type", "f4"}, {"count", 7 * poses.size()}, {"offset", bytes_.size()}};
    append(poses.data(), poses.size() * sizeof(Pose));
    return entry;
  }
  const std::vector<char>& bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t size) {
    const std::size_t begin = bytes_.size();
    bytes_.resize((begin + size + 7) / 8 * 8);
    if (size > 0) std::memcpy(bytes_.data() + begin, data, size);
  }
  std::vector<char> bytes_;
};

class Reader {
 public:
  Reader(const std::string& path, const std::vector<char>& bytes) : path_(path), bytes_(bytes) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error({"this is not a valid recording: " + what, path_,
                 "make it again with costate run or costate optimize"});
  }
  const Json& at(const Json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) fail(std::string("there is no \"") + key + "\"");
    return object[key];
  }
  double number(const Json& object, const char* key) const {
    const Json& v = at(object, key);
    if (!v.is_number()) fail(std::string("\"") + key + "\" is not a number");
    return v.get<double>();
  }
  std::uint64_t whole(const Json& object, const char* key, std::uint64_t largest) const {
    const Json& v = at(object, key);
    if (!v.is_number_unsigned() || v.get<std::uint64_t>() > largest)
      fail(std::string("\"") + key + "\" is not a whole number that is small enough");
    return v.get<std::uint64_t>();
  }
  std::string text(const Json& object, const char* key) const {
    const Json& v = at(object, key);
    if (!v.is_string()) fail(std::string("\"") + key + "\" is not a string");
    return v.get<std::string>();
  }
  const Json& list(const Json& object, const char* key) const {
    const Json& v = at(object, key);
    if (!v.is_array()) fail(std::string("\"") + key + "\" is not a list");
    return v;
  }
  Color color(const Json& object) const { return Color(whole(object, "color", 0xffffff)); }

  template <class T>
  std::vector<T> array(const Json& object, const char* key) const {
    const auto [data, count] = span(object, key, type_name<T>(), sizeof(T));
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), data, count * sizeof(T));
    return values;
  }
  std::vector<Pose> poses(const Json& object) const {
    const auto [data, count] = span(object, "poses", "f4", sizeof(float));
    if (count % 7 != 0) fail("poses have seven numbers each");
    std::vector<Pose> values(count / 7);
    if (count > 0) std::memcpy(values.data(), data, count * sizeof(float));
    return values;
  }

 private:
  struct Span {
    const char* data;
    std::uint64_t count;
  };
  Span span(const Json& object, const char* key, const char* type, std::uint64_t size) const {
    const Json& entry = at(object, key);
    if (text(entry, "type") != type) fail(std::string("\"") + key + "\" has the wrong type");
    const std::uint64_t count = whole(entry, "count", bytes_.size() / size),
                        offset = whole(entry, "offset", bytes_.size());
    if (count * size > bytes_.size() - offset)
      fail(std::string("\"") + key + "\" reaches past the end of the file");
    return {bytes_.data() + offset, count};
  }
  const std::string& path_;
  const std::vector<char>& bytes_;
};

std::array<float, 3> triple(const Reader& in, const Json& object, const char* key) {
  const Json& v = in.list(object, key);
  if (v.size() != 3 || !v[0].is_number() || !v[1].is_number() || !v[2].is_number())
    in.fail(std::string("\"") + key + "\" is not three numbers");
  return {v[0].get<float>(), v[1].get<float>(), v[2].get<float>()};
}

Shape read_shape(const Reader& in, const Json& j) {
  const std::string kind = in.text(j, "kind");
  Shape::Kind found = {};
  if (!geometry::find_shape(kind, found) || found == Shape::Kind::heightfield ||
      found == Shape::Kind::sampled)
    in.fail("there is no shape \"" + kind + "\"");
  return {.kind = found,
          .size = in.array<float>(j, "size"),
          .profile = in.array<float>(j, "profile"),
          .vertices = in.array<float>(j, "vertices"),
          .triangles = in.array<std::uint32_t>(j, "triangles")};
}

Image read_image(const Reader& in, const Json& j) {
  const Json& about_zero = in.at(j, "about_zero");
  if (!about_zero.is_boolean()) in.fail("\"about_zero\" is neither true nor false");
  return {.name = in.text(j, "name"),
          .unit = in.text(j, "unit"),
          .columns = std::uint32_t(in.whole(j, "columns", UINT32_MAX)),
          .rows = std::uint32_t(in.whole(j, "rows", UINT32_MAX)),
          .corner = triple(in, j, "corner"),
          .along = triple(in, j, "along"),
          .across = triple(in, j, "across"),
          .about_zero = about_zero.get<bool>(),
          .values = in.array<float>(j, "values")};
}

Json header_of(const Recording& r, Writer& out) {
  Json j = {{"title", r.title},
            {"caption", r.caption},
            {"up", std::string(1, r.up)},
            {"ground", r.ground},
            {"frame_interval", r.frame_interval},
            {"frames", r.frames},
            {"camera",
             {{"eye", r.camera.eye}, {"target", r.camera.target}, {"field_of_view", r.camera.field_of_view}}},
            {"materials", Json::array()},
            {"particles",
             {{"radius", r.particles.radius},
              {"material", out.array(r.particles.material)},
              {"positions", out.array(r.particles.positions)},
              {"speeds", out.array(r.particles.speeds)}}},
            {"bodies", Json::array()},
            {"meshes", Json::array()},
            {"images", Json::array()},
            {"curves", Json::array()}};
  for (const Material& m : r.materials) j["materials"].push_back({{"name", m.name}, {"color", m.color}});
  for (const Body& b : r.bodies) {
    const Shape& s = b.shape;
    j["bodies"].push_back({{"name", b.name},
                           {"color", b.color},
                           {"opacity", b.opacity},
                           {"shape",
                            {{"kind", geometry::traits(s.kind).name},
                             {"size", out.array(s.size)},
                             {"profile", out.array(s.profile)},
                             {"vertices", out.array(s.vertices)},
                             {"triangles", out.array(s.triangles)}}},
                           {"poses", out.array(b.poses)}});
  }
  for (const Mesh& m : r.meshes)
    j["meshes"].push_back({{"name", m.name},
                           {"color", m.color},
                           {"opacity", m.opacity},
                           {"triangles", out.array(m.triangles)},
                           {"vertices", out.array(m.vertices)}});
  for (const Image& i : r.images)
    j["images"].push_back({{"name", i.name},
                           {"unit", i.unit},
                           {"columns", i.columns},
                           {"rows", i.rows},
                           {"corner", i.corner},
                           {"along", i.along},
                           {"across", i.across},
                           {"about_zero", i.about_zero},
                           {"values", out.array(i.values)}});
  for (const Curve& c : r.curves)
    j["curves"].push_back(
        {{"name", c.name}, {"x_name", c.x_name}, {"x", out.array(c.x)}, {"y", out.array(c.y)}});
  return j;
}

Recording recording_of(const Reader& in, const Json& j) {
  Recording r;
  r.title = in.text(j, "title");
  r.caption = in.text(j, "caption");
  const std::string up = in.text(j, "up");
  r.up = up.size() == 1 ? up[0] : '?';
  r.ground = float(in.number(j, "ground"));
  r.frame_interval = in.number(j, "frame_interval");
  r.frames = std::int64_t(in.whole(j, "frames", INT64_MAX));
  const Json& camera = in.at(j, "camera");
  r.camera = {triple(in, camera, "eye"), triple(in, camera, "target"),
              float(in.number(camera, "field_of_view"))};
  for (const Json& m : in.list(j, "materials")) r.materials.push_back({in.text(m, "name"), in.color(m)});
  const Json& p = in.at(j, "particles");
  r.particles = {.radius = float(in.number(p, "radius")),
                 .material = in.array<std::uint8_t>(p, "material"),
                 .positions = in.array<float>(p, "positions"),
                 .speeds = in.array<float>(p, "speeds")};
  for (const Json& b : in.list(j, "bodies"))
    r.bodies.push_back({.name = in.text(b, "name"),
                        .shape = read_shape(in, in.at(b, "shape")),
                        .color = in.color(b),
                        .opacity = float(in.number(b, "opacity")),
                        .poses = in.poses(b)});
  for (const Json& m : in.list(j, "meshes"))
    r.meshes.push_back({.name = in.text(m, "name"),
                        .color = in.color(m),
                        .opacity = float(in.number(m, "opacity")),
                        .triangles = in.array<std::uint32_t>(m, "triangles"),
                        .vertices = in.array<float>(m, "vertices")});
  if (j.contains("images"))  // recordings that are older have none
    for (const Json& i : in.list(j, "images")) r.images.push_back(read_image(in, i));
  for (const Json& c : in.list(j, "curves"))
    r.curves.push_back({.name = in.text(c, "name"),
                        .x_name = in.text(c, "x_name"),
                        .x = in.array<double>(c, "x"),
                        .y = in.array<double>(c, "y")});
  return r;
}

// Null where the text is not JSON, or nested more deeply than any header is.
Json parse_header(const char* begin, const char* end) {
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  Json json = Json::parse(begin, end, watch, false);
  return too_deep || json.is_discarded() ? Json() : json;
}

}  // namespace

void write_recording(const std::string& path, const Recording& recording) {
  check_recording(recording, path);
  Writer arrays;
  std::string header = header_of(recording, arrays).dump(-1, ' ', false, Json::error_handler_t::replace);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(kMagic, kMagicSize);
  file.write(reinterpret_cast<const char*>(&length), 8);
  file.write(header.data(), std::streamsize(header.size()));
  file.write(arrays.bytes().data(), std::streamsize(arrays.bytes().size()));
  file.close();
  if (!file) throw Error({"the file cannot be written", path, "is there room, and does its folder exist?"});
}

Recording read_recording(const std::string& path) {
  std::error_code trouble;
  const bool regular = std::filesystem::is_regular_file(path, trouble);
  const std::uint64_t size = regular ? std::filesystem::file_size(path, trouble) : 0;
  std::ifstream file(path, std::ios::binary);
  if (!regular || trouble || !file) throw Error({"there is no such file, or it cannot be read", path, ""});
  std::vector<char> bytes;
  const Reader head(path, bytes);
  if (size < kPreamble || size > kMaxFile) head.fail("its size is wrong");
  char preamble[kPreamble];
  file.read(preamble, kPreamble);
  std::uint64_t length = 0;
  std::memcpy(&length, preamble + kMagicSize, 8);
  if (!file || std::memcmp(preamble, kMagic, kMagicSize) != 0) head.fail("it does not begin like one");
  if (length > kMaxHeader || length > size - kPreamble) head.fail("the header is too long");
  std::string header(length, '\0');
  file.read(header.data(), std::streamsize(length));
  bytes.resize(size - kPreamble - length);
  file.read(bytes.data(), std::streamsize(bytes.size()));
  if (!file) head.fail("it ends early");
  const Json json = parse_header(header.data(), header.data() + header.size());
  if (!json.is_object()) head.fail("the header is not a JSON object");
  Recording recording = recording_of(head, json);
  check_recording(recording, path);
  return recording;
}

}  // namespace costate::io
