// A System as planners and filters use it: one world, one step, linearised in the tangent space.
//
//   d x+ = A dx + B du    n + m tangents of the step, as many at once as there are lanes
//   H(x, u) = second derivative of <lambda, x+>   n + m Hessian-vector products, the same way
//
// Every lane carries the same world and another direction. Where noise tells lanes apart, one lane is used.
// With `jacobians` all steps of a plan are linearised in one call instead: rigid::StepJacobian, whose lanes
// are time steps.
// Tests: tests/control/manifold_test.cpp, ddp_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "costate/control/state_space.h"
#include "costate/core/aligned_buffer.h"
#include "costate/system/objective.h"
#include "costate/system/parameters.h"
#include "costate/system/run/pool.h"
#include "costate/system/system.h"

namespace costate::rigid {
struct Model;
struct SystemOptions;
}  // namespace costate::rigid

namespace costate::control {

// A and B of many steps: x steps x states, u steps x controls, A steps x tangents x tangents, B steps x
// tangents x controls, row-major.
using Jacobians =
    std::function<void(std::int64_t steps, const double* x, const double* u, double* A, double* B)>;

// By rigid::StepJacobian, for models whose steps have one evaluation.
Jacobians rigid_jacobians(const rigid::Model& model, const rigid::SystemOptions& options,
                          const Parameters<double>& parameters);

class Plant {
 public:
  // Arrays of one block, [index][lane], and a workspace that is inside a run of these parameters.
  struct Block {
    explicit Block(const Plant& plant);
    std::unique_ptr<Workspace> work;
    AlignedBuffer<double> x, u, y, x_dot, u_dot, y_dot, x_bar, u_bar, x_bar_dot, u_bar_dot, y_bar, y_bar_dot;
    std::vector<double> state, tangent, loss;
  };

  // A space of no states: all of the system's are plain numbers. Error where the system has no controls, no
  // tangents, or more states than dense matrices are for.
  Plant(std::shared_ptr<const System<double>> system, const Parameters<double>& parameters, StateSpace space,
        std::uint64_t seed = 0);
  Plant(const Plant&) = delete;  // its blocks refer to it
  Plant& operator=(const Plant&) = delete;

  // Steps from here on are those of these parameters. No block may be out.
  void set_parameters(const Parameters<double>& parameters);

  const System<double>& system() const { return *system_; }
  const StateSpace& space() const { return space_; }
  int states() const { return space_.states(); }
  int tangents() const { return space_.tangents(); }
  int controls() const { return controls_; }
  int lanes() const { return lanes_; }
  int copies() const { return copies_; }  // lanes that are the same world
  const double* p() const { return p_.data(); }

  std::unique_ptr<Block> take() const { return pool_->take(); }
  void give_back(std::unique_ptr<Block> block) const { pool_->give_back(std::move(block)); }

  // block.y from block.x and block.u.
  void step(std::int64_t k, Block& block) const;
  // One world in every lane.
  void spread(const double* numbers, int count, AlignedBuffer<double>& to) const;
  void step(std::int64_t k, const double* x, const double* u, double* y, Block& block) const;

  void linearise(std::int64_t k, const double* x, const double* u, double* A, double* B, Block& block) const;
  // Adds the second derivative of <lambda, x+> to Q (tangents x tangents), S (controls x tangents) and R.
  void add_curvature(std::int64_t k, const double* x, const double* u, const double* y, const double* lambda,
                     double* Q, double* S, double* R, Block& block) const;

  // An objective's term at step k: its value, with gradient and Hessian added (null: not wanted) where they
  // are not null. u is null after the last step.
  struct Quadratic {
    double *q, *r, *Q, *S, *R;
  };
  double value(const Objective<double>& objective, std::int64_t k, std::int64_t steps, const double* x,
               const double* u, Block& block) const;
  void add_gradient(const Objective<double>& objective, std::int64_t k, std::int64_t steps, const double* x,
                    const double* u, double weight, const Quadratic& to, Block& block) const;
  // Error where the objective has no second derivative.
  void add_hessian(const Objective<double>& objective, std::int64_t k, std::int64_t steps, const double* x,
                   const double* u, double weight, const Quadratic& to, Block& block) const;

 private:
  Objective<double>::At at(std::int64_t k, std::int64_t steps, const Block& block, bool last) const;
  void set_direction(const double* x, int j, int lane, Block& block) const;
  // Lanes of x_dot and u_dot along the tangents and controls first, first + 1, ...; returns how many.
  int load_directions(const double* x, int first, bool controls, Block& block) const;
  void read_columns(const double* x, int first, int count, const Quadratic& to, double weight, bool controls,
                    Block& block) const;

  std::shared_ptr<const System<double>> system_;
  StateSpace space_;
  std::uint64_t seed_;
  int controls_, lanes_, copies_;
  Activity nothing_;
  AlignedBuffer<double> p_;
  std::unique_ptr<Pool<Block>> pool_;
};

}  // namespace costate::control
