// The large stages of a step, declared before their definitions so that a GPU's compiler compiles each once and
// calls it, instead of writing it out wherever it is used. A step is long: a call costs nothing beside it, and
// the kernels compile in a third of the time. Never included on the host.
#pragma once

#include "costate/core/vec3.h"

namespace costate::rigid {

struct Tree;
struct TreeDof;
struct Constraints;
struct Wanted;
struct Stepper;
enum class Implicit;
template <class S>
struct Data;
template <class S>
struct ConstraintData;
template <class S>
struct StateIn;
template <class S>
struct StateBar;
template <class S>
struct RneaBar;
template <class S>
struct ConstraintBar;
template <class S>
struct StepWork;

#define COSTATE_STAGE \
  template <class S>  \
  __noinline__
COSTATE_STAGE void crba(const Tree&, const S*, S*, Data<S>&);
COSTATE_STAGE void factor(const std::vector<TreeDof>&, S*, S*);
COSTATE_STAGE void solve_factored_block(const std::vector<TreeDof>&, int, int, const S*, const S*, S*);
COSTATE_STAGE void multiply_mass(const Tree&, const S*, const S*, S*);
COSTATE_STAGE void body_inertias(const Tree&, const S*, Data<S>&);
COSTATE_STAGE void rnea_forward(const Tree&, const Vec3<S>&, const S*, const S*, Data<S>&);
COSTATE_STAGE void virtual_velocities(const Tree&, const S*, Data<S>&);
COSTATE_STAGE void rnea_vjp(const Tree&, const S*, const S*, const S*, const S*, const S*, bool,
                            const Wanted&, const RneaBar<S>&, Data<S>&);
COSTATE_STAGE void tendon_lengths(const Tree&, const S*, const S*, Data<S>&);
COSTATE_STAGE void make_rows(const Tree&, const Constraints&, const S*, const S*, const S*, const Data<S>&,
                             ConstraintData<S>&);
COSTATE_STAGE void factor_in_pairs(const std::vector<TreeDof>&, S*, S*);
COSTATE_STAGE void factor_newton_matrix(const Constraints&, ConstraintData<S>&);
COSTATE_STAGE void solve_constraints(const Tree&, const Constraints&, const S*, const S*, const S*,
                                     ConstraintData<S>&);
COSTATE_STAGE void constraint_vjp(const Tree&, const Constraints&, const S*, const S*, const S*, const S*,
                                  const Wanted&, const ConstraintBar<S>&, Data<S>&, ConstraintData<S>&);
COSTATE_STAGE void solve_acceleration(const Tree&, const Constraints&, Implicit, const S*, const StateIn<S>&,
                                      Data<S>&, ConstraintData<S>&);
COSTATE_STAGE void prepare_acceleration_vjp(const Tree&, const Constraints&, const S*, const StateIn<S>&,
                                            const S*, const Wanted&, Data<S>&, ConstraintData<S>&);
COSTATE_STAGE void prepared_acceleration_vjp(const Tree&, const Constraints&, Implicit, const S*,
                                             const StateIn<S>&, const S*, const Wanted&, const StateBar<S>&,
                                             Data<S>&, ConstraintData<S>&);
COSTATE_STAGE void evaluate(const Stepper&, const S*, const StateIn<S>&, S*, StepWork<S>&);
COSTATE_STAGE void evaluate_vjp(const Stepper&, const StateIn<S>&, const S*, const Wanted&, S*, S*, S*,
                                StepWork<S>&);
COSTATE_STAGE void step(const Stepper&, StepWork<S>&, bool);
COSTATE_STAGE void step_vjp(const Stepper&, StepWork<S>&, const Wanted&);
#undef COSTATE_STAGE

}  // namespace costate::rigid
