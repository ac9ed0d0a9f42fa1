// Recordings with a bit of everything, from closed forms: what the tests show and write.
#pragma once

#include <cmath>

#include "costate/core/philox.h"
#include "costate/io/recording.h"

namespace costate::view::test {

// Drops that leave a nozzle, fly a parabola and end in a glass (`aim` 1) or beside it (aim < 1).
inline io::Recording fountain(const std::string& title, double aim, int particles = 3000, int frames = 60) {
  io::Recording r;
  r.title = title;
  r.caption = "aim " + std::to_string(int(100 * aim)) + " %";
  r.frames = frames;
  r.materials = {{"coffee", 0x5b3620}, {"milk", 0xf1e6d2}};
  r.particles.radius = 0.012F;
  for (int i = 0; i < particles; ++i) r.particles.material.push_back(i % 7 == 0);
  for (int f = 0; f < frames; ++f) {
    for (int i = 0; i < particles; ++i) {
      const auto random = [&](unsigned k) { return uniform<double>(7, std::uint32_t(i), 0, k) - 0.5; };
      const double left = 1.4 * i / particles, t = std::max(0.0, f * r.frame_interval - left);
      const double vx = 1.0 * aim + 0.08 * random(0), vy = 0.08 * random(1), vz = 2.2 + 0.1 * random(2);
      const double landing = 0.53;  // s
      const double s = std::min(t, landing);
      double x = -0.5 + vx * s, y = vy * s, z = 0.25 + vz * s - 0.5 * 9.81 * s * s;
      if (t >= landing)
        z = std::max(0.02, z * 0.0 + 0.02 + 0.25 * std::abs(random(3)) * (i / double(particles)));
      for (const double v : {x, y, z}) r.particles.positions.push_back(float(v));
      r.particles.speeds.push_back(t > 0 && t < landing ? float(std::hypot(vx, vz - 9.81 * s)) : 0.0F);
    }
  }
  io::Body glass{.name = "glass", .color = 0xcfe0e6, .opacity = 0.35F};
  glass.shape.kind = io::Shape::Kind::revolution;
  glass.shape.profile = {0.0F, 0.0F, 0.12F, 0.0F, 0.15F, 0.32F, 0.138F, 0.32F, 0.11F, 0.015F, 0.0F, 0.015F};
  glass.poses = {{0.03F, 0, 0, 1, 0, 0, 0}};
  r.bodies.push_back(glass);
  io::Body nozzle{.name = "nozzle", .color = 0x5f6b73};
  nozzle.shape = {.kind = io::Shape::Kind::cylinder, .size = {0.04F, 0.12F}};
  nozzle.poses = {{-0.5F, 0, 0.12F, 1, 0, 0, 0}};
  r.bodies.push_back(nozzle);
  r.curves = {{.name = "loss", .x = {0, 1, 2, 3, 4, 5, 6}, .y = {9.1, 6.0, 2.2, 0.8, 0.31, 0.12, 0.1}}};
  return r;
}

// A box, a capsule and a ball that turn, over a cloth that waves.
inline io::Recording tumble(int frames = 40) {
  io::Recording r;
  r.title = "Bodies and a cloth";
  r.frames = frames;
  const io::Shape shapes[] = {{.kind = io::Shape::Kind::box, .size = {0.12F, 0.08F, 0.05F}},
                              {.kind = io::Shape::Kind::capsule, .size = {0.05F, 0.1F}},
                              {.kind = io::Shape::Kind::sphere, .size = {0.08F}}};
  const io::Color colors[] = {0xb5562b, 0x3f6f8f, 0x6a8f4e};
  for (int b = 0; b < 3; ++b) {
    io::Body body{.name = b == 0   ? "box"
                          : b == 1 ? "capsule"
                                   : "ball",
                  .shape = shapes[b],
                  .color = colors[b],
                  .poses = {}};
    for (int f = 0; f < frames; ++f) {
      const float a = 0.08F * float(f) + float(b);
      body.poses.push_back({0.35F * float(b - 1), 0, 0.45F + 0.1F * std::sin(a), std::cos(a),
                            0.6F * std::sin(a), 0.8F * std::sin(a), 0});
    }
    r.bodies.push_back(body);
  }
  io::Mesh cloth{.name = "cloth", .color = 0xe2c9a6};
  constexpr int n = 24;
  for (std::uint32_t i = 0; i + 1 < n; ++i) {
    for (std::uint32_t j = 0; j + 1 < n; ++j) {
      const std::uint32_t a = i * n + j;
      cloth.triangles.insert(cloth.triangles.end(), {a, a + n, a + 1, a + 1, a + n, a + n + 1});
    }
  }
  for (int f = 0; f < frames; ++f) {
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        const float x = 1.2F * (float(i) / (n - 1) - 0.5F), y = 0.8F * (float(j) / (n - 1) - 0.5F);
        cloth.vertices.insert(cloth.vertices.end(),
                              {x, y, 0.12F + 0.05F * std::sin(8 * x + 0.2F * float(f)) * std::cos(6 * y)});
      }
    }
  }
  r.meshes.push_back(cloth);
  return r;
}

// A puff that drifts past a disc and its slope, in two dimensions.
inline io::Recording puff(int frames = 20) {
  io::Recording r;
  r.title = "A puff";
  r.frames = frames;
  r.up = 'y';
  for (const bool slope : {false, true}) {
    io::Image image{.name = slope ? "slope" : "puff", .unit = "kg", .columns = 48, .rows = 24};
    image.along = {2, 0, 0}, image.across = {0, 1, 0};
    image.about_zero = slope;
    for (int f = 0; f < frames; ++f) {
      for (int j = 0; j < 24; ++j) {
        for (int i = 0; i < 48; ++i) {
          const double x = (i + 0.5) / 24 - 0.4 - 0.9 * f / frames, y = (j + 0.5) / 24 - 0.4;
          const double c = std::exp(-20 * (x * x + y * y));
          image.values.push_back(float(slope ? -40 * x * c : c));
        }
      }
    }
    r.images.push_back(image);
  }
  io::Body disc{
      .name = "disc", .shape = {.kind = io::Shape::Kind::sphere, .size = {0.12F}}, .color = 0x6f6a62};
  disc.poses = {{1.2F, 0.6F, 0.004F, 1, 0, 0, 0}};
  r.bodies.push_back(disc);
  return r;
}

}  // namespace costate::view::test
