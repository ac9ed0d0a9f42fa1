// Small scenes for the tests: a few hundred particles, a few dozen steps.
#pragma once

#include <string>

namespace costate::io::test {

// A drop of water that a moving paddle pushes, with everything a scene can have.
inline std::string paddle_scene() {
  return R"(title = "paddle"
[domain]
low = [0.0, 0.0, 0.0]
high = [0.8, 0.8, 0.8]
dx = 0.1

[run]
duration = 0.12
dt = 0.004
precision = "double"

[walls]
floor = {friction = 0.2}

[[materials]]
name = "water"
kind = "liquid"
sound_speed = 8.0
viscosity = 0.5

[[colliders]]
name = "paddle"
shape = {kind = "sphere", radius = 0.15}
[colliders.motion]
pivot = [0.0, 0.05, 0.0]
axis = [0.0, 0.0, 1.0]
position = [[0.15, 0.3, 0.4], [0.2, 0.3, 0.4], [0.25, 0.32, 0.4], [0.3, 0.33, 0.4], [0.35, 0.33, 0.4]]
angle_deg = [0.0, 10.0, 30.0, 40.0]

[[fill]]
material = "water"
shape = {kind = "sphere", radius = 0.2}
position = [0.5, 0.3, 0.4]
particles_per_cell = 8
jitter = 0.5
seed = 7
velocity = [-0.5, 0.0, 0.0]

[[loss]]
name = "home"
kind = "in_region"
region = {kind = "sphere", centre = [0.7, 0.5, 0.4], radius = 0.1}
width = 0.05

[[loss]]
kind = "position"
of = "particles/mean"
target = [0.7, 0.5, 0.4]
from = 0.04
every = 0.04
axes = "xy"

[[loss]]
kind = "jerk"
of = "paddle"
weight = 1e-3

[[loss]]
kind = "overshoot"
of = "paddle.angle"
limit = 20.0

[optimize]
method = "adam"
iterations = 3
rate = 0.3
variables = [
  {name = "paddle.position", axes = "xy", scale = 0.05, fixed_first = 1},
  {name = "paddle.angle", scale = 10.0, upper = 90.0},
  {name = "parameters.gravity", scale = 1.0},
]

[view]
frames_per_second = 50
)";
}

}  // namespace costate::io::test
