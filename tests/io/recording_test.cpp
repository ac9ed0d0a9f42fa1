#include "costate/io/recording.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include <unistd.h>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/view/sample_recordings.h"

namespace costate::io {
namespace {

using costate::test::expect_error;

class RecordingFile : public testing::Test {
 protected:
  RecordingFile()
      : path_((std::filesystem::temp_directory_path() / ("costate_recording_" + std::to_string(getpid())))
                  .string()) {}
  ~RecordingFile() override { std::filesystem::remove(path_); }

  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  std::string refusal() const {
    try {
      read_recording(path_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::string path_;
};

std::string with(std::string text, const std::string& old, const std::string& fresh) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  EXPECT_EQ(old.size(), fresh.size());
  return at == std::string::npos ? text : text.replace(at, old.size(), fresh);
}

TEST_F(RecordingFile, ComesBackAsItWas) {
  for (Recording r : {view::test::fountain("before \"quoted\" \xc3\xa9", 0.5, 50, 7), view::test::tumble(5),
                      view::test::puff(3)}) {
    write_recording(path_, r);
    const Recording back = read_recording(path_);
    EXPECT_EQ(back.title, r.title);
    EXPECT_EQ(back.frames, r.frames);
    EXPECT_EQ(back.frame_interval, r.frame_interval);
    EXPECT_EQ(back.particles.positions, r.particles.positions);
    EXPECT_EQ(back.particles.speeds, r.particles.speeds);
    EXPECT_EQ(back.particles.material, r.particles.material);
    ASSERT_EQ(back.bodies.size(), r.bodies.size());
    for (std::size_t i = 0; i < r.bodies.size(); ++i) {
      EXPECT_EQ(back.bodies[i].poses, r.bodies[i].poses);
      EXPECT_EQ(back.bodies[i].shape.kind, r.bodies[i].shape.kind);
      EXPECT_EQ(back.bodies[i].shape.profile, r.bodies[i].shape.profile);
      EXPECT_EQ(back.bodies[i].color, r.bodies[i].color);
    }
    ASSERT_EQ(back.meshes.size(), r.meshes.size());
    for (std::size_t i = 0; i < r.meshes.size(); ++i)
      EXPECT_EQ(back.meshes[i].vertices, r.meshes[i].vertices);
    ASSERT_EQ(back.images.size(), r.images.size());
    for (std::size_t i = 0; i < r.images.size(); ++i) {
      EXPECT_EQ(back.images[i].values, r.images[i].values);
      EXPECT_EQ(back.images[i].along, r.images[i].along);
      EXPECT_EQ(back.images[i].about_zero, r.images[i].about_zero);
    }
    ASSERT_EQ(back.curves.size(), r.curves.size());
    for (std::size_t i = 0; i < r.curves.size(); ++i) EXPECT_EQ(back.curves[i].y, r.curves[i].y);
  }
}

TEST_F(RecordingFile, ThatIsMissingOrSomethingElseIsRefused) {
  EXPECT_NE(refusal().find("no such file"), std::string::npos);
  put("");
  EXPECT_NE(refusal().find("size"), std::string::npos);
  put("[state]\nx = 1.0\n# some other file, long enough");
  EXPECT_NE(refusal().find("does not begin"), std::string::npos);
}

TEST_F(RecordingFile, WithAWrongNumberIsRefused) {
  write_recording(path_, view::test::fountain("f", 0.5, 50, 7));
  const std::string good = bytes();
  std::string long_header = good;
  long_header[22] = 1;  // 2^48 bytes
  put(long_header);
  EXPECT_NE(refusal().find("header is too long"), std::string::npos);
  put(with(good, "\"frames\":7", "\"frames\":8"));
  EXPECT_NE(refusal().find("frames x particles"), std::string::npos);
  put(with(good, "\"count\":1050", "\"count\":9050"));
  EXPECT_NE(refusal(), "");
  put(with(good, "revolution", "revolutiom"));
  EXPECT_NE(refusal().find("no shape"), std::string::npos);
  put(with(good, "\"up\":\"z\"", "\"up\":\"x\""));
  EXPECT_NE(refusal().find("up must be"), std::string::npos);
  put(good.substr(0, good.size() - 64));
  EXPECT_NE(refusal().find("past the end"), std::string::npos);
}

TEST_F(RecordingFile, NestedWithoutEndIsRefused) {
  const std::string header = std::string(400000, '[');
  const std::uint64_t length = header.size();
  put("costate-record-1" + std::string(reinterpret_cast<const char*>(&length), 8) + header);
  EXPECT_NE(refusal().find("not a JSON object"), std::string::npos);
}

TEST_F(RecordingFile, WithAnyByteChangedIsReadOrRefusedButNeverBreaks) {
  const costate::test::AllowFloatExceptions
      allow;  // bytes of a NaN are compared and converted on the way to the message
  write_recording(path_, view::test::tumble(2));
  const std::string good = bytes();
  int refused = 0;
  for (std::uint32_t trial = 0; trial < 300; ++trial) {
    std::string bad = good;
    for (std::uint32_t k = 0; k < 1 + trial % 3; ++k) {
      // Two changes in three fall into the header.
      const std::size_t range = trial % 3 ? 3000 : good.size();
      bad[std::size_t(uniform<double>(1, trial, k, 0) * double(range))] =
          char(int(uniform<double>(1, trial, k, 1) * 256));
    }
    put(bad);
    refused += !refusal().empty();
  }
  EXPECT_GT(refused, 30);
  EXPECT_LT(refused, 300);
}

TEST(Recording, MustFitTogether) {
  Recording r = view::test::fountain("f", 1, 10, 3);
  check_recording(r, "here");
  Recording wrong = r;
  wrong.particles.positions.pop_back();
  expect_error([&] { return check_recording(wrong, "here"); },
               "here: particles: there must be frames x particles x 3 positions");
  wrong = r;
  wrong.particles.material[3] = 2;
  expect_error([&] { return check_recording(wrong, "here"); },
               "here: particles: a material is not in the list");
  wrong = r;
  wrong.particles.positions[4] = std::numeric_limits<float>::infinity();
  expect_error([&] { return check_recording(wrong, "here"); },
               "here: positions holds a number that is not finite");
  wrong = r;
  wrong.bodies[0].poses.resize(2);
  expect_error([&] { return check_recording(wrong, "here"); }, "one pose, or one per frame");
  wrong = r;
  wrong.bodies[1].shape.size = {0.1F};
  expect_error([&] { return check_recording(wrong, "here"); }, "the shape has the wrong number of sizes");
  wrong = view::test::tumble(2);
  wrong.meshes[0].triangles[0] = 100000;
  expect_error([&] { return check_recording(wrong, "here"); }, "a triangle names a vertex that is not there");
}

}  // namespace
}  // namespace costate::io
