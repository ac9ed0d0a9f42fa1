#include "costate/view/replay.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/view/pack_frames.h"
#include "tests/expect_error.h"
#include "tests/view/sample_recordings.h"

namespace costate::view {
namespace {

using costate::test::expect_error;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

TEST(PackFrames, Base64AsInRfc4648) {
  const char text[] = "foobar";
  const char* expected[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t n = 0; n <= 6; ++n) EXPECT_EQ(base64(text, n), expected[n]);
}

TEST(PackFrames, PositionsComeBackWithinHalfAStep) {
  const std::vector<float> points = test::fountain("f", 1, 100, 4).particles.positions;
  const Box box = bounding_box(points);
  const std::vector<std::uint16_t> packed = quantise(points, box);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double edge = double(box.high[i % 3]) - box.low[i % 3];
    EXPECT_NEAR(box.low[i % 3] + edge * packed[i] / 65535, points[i], 0.501 * edge / 65535);
  }
}

TEST(PackFrames, APlaneHasABoxThatCanBeDividedBy) {
  const std::vector<float> flat = {1, 2, 100, 3, 4, 100};
  const Box box = bounding_box(flat);
  EXPECT_GT(box.high[2], box.low[2]);
  EXPECT_EQ(quantise(flat, box), (std::vector<std::uint16_t>{0, 0, 0, 65535, 65535, 0}));
}

TEST(Replay, IsOneFileThatAsksForNothing) {
  const std::string page =
      replay_page({test::fountain("before", 0.5, 100, 5), test::fountain("after", 1, 100, 5)});
  EXPECT_EQ(page.find("<!DOCTYPE html>"), 0U);
  EXPECT_EQ(count(page, "<link"), 0U);
  EXPECT_EQ(count(page, " src=\""), 0U);
  EXPECT_EQ(count(page, "@import"), 0U);
  EXPECT_NE(page.find("WebGLRenderer"), std::string::npos);
  EXPECT_EQ(count(page, "\"name\":\"loss\""), 1U);  // both bring the same curve
}

TEST(Replay, TextCannotEndAScript) {
  io::Recording r = test::fountain("</script><b>", 1, 10, 2);
  r.caption = "a < b & c";
  const std::string page = replay_page({r});
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>"), std::string::npos);
  EXPECT_NE(page.find("<title>&lt;/script>"), std::string::npos);
}

TEST(Replay, StaysBelowItsSizeByShowingEveryNthParticle) {
  const io::Recording r = test::fountain("many", 1, 5000, 20);
  const std::size_t all = replay_page({r}).size(), packed = std::size_t(5000) * 20 * 7;
  const std::string small = replay_page({r}, {.max_bytes = packed / 4});
  EXPECT_LT(double(small.size()), double(all) - 0.7 * 4 / 3 * double(packed));
  EXPECT_NE(small.find("\"count\":1250,\"of\":5000"), std::string::npos);
}

TEST(Replay, StaysBelowItsSizeByShowingEveryNthCell) {
  const std::string small = replay_page({test::puff(20)}, {.max_bytes = 2 * 48 * 24 * 20 / 4});
  EXPECT_EQ(count(small, "\"columns\":24,\"rows\":12"), 2U);
}

TEST(Replay, ImagesOfOneNameShareTheirColours) {
  io::Recording faint = test::puff(3), strong = faint;
  for (float& v : strong.images[0].values) v *= 5;
  const std::string page = replay_page({faint, strong});
  const std::size_t at = page.find("\"low\":");
  const std::string range = page.substr(at, page.find(",\"values\"", at) - at);
  EXPECT_EQ(count(page, range), 2U) << range;
}

TEST(Replay, RefusesRecordingsThatDoNotFitTogether) {
  io::Recording r = test::fountain("f", 1, 10, 2);
  r.particles.positions.pop_back();
  expect_error([&] { return replay_page({r}); },
               "recording f: particles: there must be frames x particles x 3 positions");
  r = test::puff(2);
  r.images[1].values.pop_back();
  expect_error([&] { return replay_page({r}); },
               "recording A puff: image slope: there must be frames x rows x columns values");
  expect_error([&] { return replay_page({}); }, "a replay needs at least one recording");
  expect_error([&] { return write_replay("/no/such/folder/page.html", {test::tumble(2)}); },
               "/no/such/folder/page.html: the file cannot be written", "does its folder exist?");
}

}  // namespace
}  // namespace costate::view
