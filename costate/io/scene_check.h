// check: is the gradient of this scene right? In double precision, over its first steps.
//
//   dot product   <J v, w> = <v, J' w> of the physics, over controls, parameters and initial state: forward and reverse are transposes
//   stencil       gradient along random directions of the variables against a six-point difference of the loss
//   Taylor        |L(x + h d) - L(x) - h <g, d>| falls like h^2
//
// Liquids that splash and touch walls have kinks where contact begins and ends: a difference that steps over one is off, the gradient is
// not. Directions are short (1e-5 of the scales) for that reason, and the gate of the stencil is 1e-5 rather than that of a smooth system.
//
// Rigid bodies say in which steps their contacts change (GradientReport::mode_switches). Steps are shortened until these are the same at every
// point of the stencil; a direction in which they never are is not comparable, and the result says so instead of failing. Where differences converge
// like h only, as they do at the corner between two geoms of equal softness, their limit is compared.
// Tests: tests/io/scene_check_test.cpp.
#pragma once

#include "costate/io/check.h"
#include "costate/io/scene.h"

namespace costate::io {

// The scene cut off after so many steps, its losses moved to the new end where they lay beyond it.
Scene shortened(const Scene& scene, std::int64_t steps);

// Of a scene in double precision.
std::vector<CheckResult> check(SceneFunction& problem, std::uint64_t seed = 1);

std::vector<CheckResult> check(const Scene& scene, std::int64_t steps = 200, std::uint64_t seed = 1);

}  // namespace costate::io
