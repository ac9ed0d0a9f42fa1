// Design: the numbers of a model that its designer turns, with everything that the compiler derives from
// them.
//
//   z  ->  edit  ->  Spec  ->  compile  ->  p(z), every parameter of the system
//
// The length of a link moves its mass, centre and inertia, the frame of the next link, the box that a fluid
// sees and the inverse weights that scale constraints. The gradient of a rollout with respect to parameters
// goes back to the design:
//
//   z_bar = (dp/dz)' p_bar
//
// dp/dz is a six-point stencil of edit and compile, at most 3e-3 of a number's size wide: an error of about
// 1e-12 where the edit is smooth. A quaternion counts up to its sign.
// Tests: tests/rigid/compile/design_test.cpp.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/parameters.h"

namespace costate::rigid {

class Design {
 public:
  using Edit = std::function<void(std::span<const double> z, Spec& spec)>;

  // `start`: the design to begin with; its sizes also scale the stencil (0 counts as 1). `options` are those
  // of the system whose parameters are meant.
  Design(Spec spec, std::vector<double> start, Edit edit, SystemOptions options = {});

  const std::vector<double>& start() const { return start_; }
  Model model(std::span<const double> z) const;

  // Writes p(z) into the parameters of a system of model(start()), or of one that has more, such as those of
  // a policy. z: one design for all worlds, or one per world. Error where a design has other parameters than
  // the first: a joint that lost its limit.
  void write(std::span<const double> z, Parameters<double>& to) const;
  // z_bar, of the same shape as z, from a gradient with respect to the parameters that were written. z may
  // be the designs of the first worlds alone.
  std::vector<double> gradient(std::span<const double> z, const Parameters<double>& p_bar) const;

 private:
  Parameters<double> parameters(std::span<const double> z) const;
  std::size_t designs(std::span<const double> z) const;

  Spec spec_;
  std::vector<double> start_;
  Edit edit_;
  SystemOptions options_;
  Signature signature_;
};

}  // namespace costate::rigid
