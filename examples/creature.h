// A soft creature that learns to move: its muscles follow sine waves of one period, whose amplitudes come
// from the gradient of how far it gets.
//
//   actuation_m(t) = tanh(sum_w z_mw sin(2 pi (t / period + w / 4))),   w = 0 .. 3
//
// The controller of DiffTaichi's diffmpm (Hu et al., ICLR 2020, section 4).
#pragma once

#include <costate/costate.h>

#include <string>
#include <vector>

namespace creature {

// Fills a box with muscle of one actuator.
void add_muscle(costate::mpm::Model& model, const costate::mpm::Vector& half,
                const costate::mpm::Vector& centre, double spacing, int material, int actuator);

struct Task {
  costate::mpm::Model model = {};
  int axis = 0;  // along which the particles of `counted` materials should get far
  std::vector<int> counted = {0};
  std::int64_t steps = 400, hold = 5;
  double period = 0.2;  // [s]
  double rate = 0.2;    // of Adam
  int iterations = 10;
};
struct Result {
  double first, best;               // distance of the mean [m], before and after learning
  std::vector<float> start, after;  // positions, at the start and at the end
};
Result learn(const Task& task);

// Start and end beside each other, seen along the last axis; a colour for each material.
void draw(const Task& task, const Result& result, const std::string& path);

}  // namespace creature
