"""Crocoddyl: time of one iteration of its solver on problems that can be rebuilt, one thread, float64.

usage: python control_crocoddyl.py [--seconds N]
"""
import argparse
import json
import time

import crocoddyl
import numpy as np
import pinocchio as pin


def say(task, metric, value, unit, **more):
    print(json.dumps(dict(peer="crocoddyl", version=crocoddyl.__version__, task=task, metric=metric,
                          value=round(float(value), 4), unit=unit, **more)), flush=True)


def iteration(problem, seconds, most, u=None):
    """Least time of an iteration, in ms, over solves from the same start: the first state, and controls u, in every step. As many iterations as
    take a step: where the line search fails, an iteration is many more passes than one, and no measure of the solver."""
    problem.nthreads = 1  # its threads wait busily for each other: on a machine with other work they cost more than they do

    def solve(count):
        solver = crocoddyl.SolverFDDP(problem)
        solver.th_stop = 1e-300
        start = time.perf_counter()
        solver.solve([] if u is None else [problem.x0] * (problem.T + 1), [] if u is None else [u] * problem.T, count)
        return solver, time.perf_counter() - start

    while most > 1 and solve(most)[0].stepLength < 0.01:
        most -= 1
    best, end, count = float("inf"), time.perf_counter() + seconds, 0
    while count < 5 or time.perf_counter() < end:
        solver, spent = solve(most)
        best, count = min(best, spent / max(solver.iter, 1)), count + 1
    return best * 1e3


def chain(joints):
    """Links on hinges about alternating axes, each with a motor."""
    model, parent = pin.Model(), 0
    for i in range(joints):
        joint = pin.JointModelRZ() if i % 2 else pin.JointModelRY()
        place = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.3 if i else 0.0]))
        parent = model.addJoint(parent, joint, place, f"joint{i}")
        model.appendBodyToJoint(parent, pin.Inertia(3.0, np.array([0.0, 0.02, 0.15]), np.diag([0.03, 0.03, 0.01])), pin.SE3.Identity())
    state = crocoddyl.StateMultibody(model)
    return state, crocoddyl.ActuationModelFull(state)


def quadrotor():
    """A free body with four thrusters: mass and inertia of scenes/quadrotor.xml, nearly."""
    model = pin.Model()
    root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    model.appendBodyToJoint(root, pin.Inertia(0.8, np.zeros(3), np.diag([4e-3, 4e-3, 8e-3])), pin.SE3.Identity())
    state = crocoddyl.StateMultibody(model)
    turns = [crocoddyl.ThrusterType.CCW, crocoddyl.ThrusterType.CW] * 2
    thrusters = [crocoddyl.Thruster(pin.SE3(np.eye(3), np.array([x, y, 0.02])), 0.015, turn)
                 for (x, y), turn in zip([(0.12, -0.12), (-0.12, -0.12), (-0.12, 0.12), (0.12, 0.12)], turns)]
    return state, crocoddyl.ActuationModelFloatingBaseThrusters(state, thrusters)


def reach(state, actuation, steps, dt, moved, bent):
    """From all joints bent that far to a pose 0.1 off in the first `moved` numbers: weights on the state and on the controls, in every step and
    at the end."""
    start = state.zero()
    start[:moved] += bent
    goal = start.copy()
    goal[:moved] += 0.1
    costs = crocoddyl.CostModelSum(state, actuation.nu)
    weights = crocoddyl.ActivationModelWeightedQuad(np.r_[np.ones(state.nv), 1e-3 * np.ones(state.nv)])
    costs.addCost("pose", crocoddyl.CostModelResidual(state, weights, crocoddyl.ResidualModelState(state, goal, actuation.nu)), 1.0)
    costs.addCost("effort", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, actuation.nu)), 1e-3)
    step = crocoddyl.IntegratedActionModelEuler(crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs), dt)
    return crocoddyl.ShootingProblem(start, [step] * steps, step)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3)
    seconds = parser.parse_args().seconds
    unicycle = crocoddyl.ActionModelUnicycle()
    unicycle.costWeights = np.array([10.0, 1.0])
    problem = crocoddyl.ShootingProblem(np.array([-1.0, -1.0, 1.0]), [unicycle] * 200, unicycle)
    say("unicycle, 200 steps", "iteration", iteration(problem, seconds, 5), "ms")
    lqr = crocoddyl.ActionModelLQR.Random(37, 12)
    problem = crocoddyl.ShootingProblem(np.ones(37), [lqr] * 100, lqr)
    say("LQR, 37 states, 12 controls, 100 steps", "iteration", iteration(problem, seconds, 1), "ms")
    hover = 0.2 * 9.81
    for task, physics, steps, dt, moved, bent, u in (("double pendulum", chain(2), 100, 0.01, 2, 0.2, 0.0),
                                                     ("arm of 7 joints", chain(7), 100, 0.01, 7, 0.2, 0.0),
                                                     ("quadrotor", quadrotor(), 33, 0.03, 3, 0.0, hover)):
        problem = reach(*physics, steps, dt, moved, bent)
        say(f"{task}, {steps} steps", "iteration", iteration(problem, seconds, 5, np.full(physics[1].nu, u)), "ms")


if __name__ == "__main__":
    main()
