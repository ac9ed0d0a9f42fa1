"""Crocoddyl: time of one iteration of its solver on problems that can be rebuilt, one thread, float64.

usage: python control_crocoddyl.py [--seconds N]
"""
import argparse
import json
import time

import crocoddyl
import numpy as np


def say(task, metric, value, unit, **more):
    print(json.dumps(dict(peer="crocoddyl", version=crocoddyl.__version__, task=task, metric=metric,
                          value=round(float(value), 4), unit=unit, **more)), flush=True)


def iteration(problem, seconds, most):
    """Best mean time of an iteration, in ms, over solves from the same start."""
    problem.nthreads = 1  # its threads wait busily for each other: on a machine with other work they cost more than they do
    best, end, count = float("inf"), time.perf_counter() + seconds, 0
    while count < 5 or time.perf_counter() < end:
        solver = crocoddyl.SolverFDDP(problem)
        solver.th_stop = 1e-300
        start = time.perf_counter()
        solver.solve([], [], most)
        best, count = min(best, (time.perf_counter() - start) / (solver.iter + 1)), count + 1
    return best * 1e3


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


if __name__ == "__main__":
    main()
