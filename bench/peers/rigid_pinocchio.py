"""Pinocchio: calls per second of the rigid-body algorithms, one thread, float64.

usage: python rigid_pinocchio.py [--seconds N]
The loop is in Python, so the cost of a trivial bound call (neutral Python->C++ overhead)
is reported next to it; subtract it for an estimate of the bare algorithm.
"""
import argparse
import json
import time

import numpy as np
import pinocchio as pin


def say(task, metric, value, unit, **more):
    print(json.dumps(dict(peer="pinocchio", version=pin.__version__, task=task, metric=metric,
                          value=round(float(value), 4), unit=unit, **more)), flush=True)


def per_call(call, seconds, inner=2000):
    """Best mean over `inner` calls, in microseconds."""
    for _ in range(inner):
        call()
    best, end, count = float("inf"), time.perf_counter() + seconds, 0
    while count < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(inner):
            call()
        best, count = min(best, (time.perf_counter() - start) / inner), count + 1
    return best * 1e6


def arm(joints=7):
    """A serial chain of revolute joints about alternating axes, full link inertias."""
    model, parent = pin.Model(), 0
    axes = [pin.JointModelRZ, pin.JointModelRY]
    for i in range(joints):
        place = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.3 if i else 0.0]))
        parent = model.addJoint(parent, axes[i % 2](), place, f"joint{i}")
        inertia = pin.Inertia(3.0, np.array([0.0, 0.02, 0.15]), np.diag([0.03, 0.03, 0.01]))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    return model


def measure(task, model, seconds):
    data = model.createData()
    q = pin.neutral(model) if model.nq != model.nv else np.linspace(-1, 1, model.nq)
    rng = np.random.default_rng(0)
    if model.nq != model.nv:
        q = pin.integrate(model, q, rng.uniform(-0.5, 0.5, model.nv))
    v, a, tau = (rng.uniform(-1, 1, model.nv) for _ in range(3))
    calls = {
        "pin.neutral (a call that only returns a vector)": lambda: pin.neutral(model),
        "RNEA": lambda: pin.rnea(model, data, q, v, a),
        "CRBA": lambda: pin.crba(model, data, q),
        "ABA": lambda: pin.aba(model, data, q, v, tau),
        "computeRNEADerivatives": lambda: pin.computeRNEADerivatives(model, data, q, v, a),
        "computeABADerivatives": lambda: pin.computeABADerivatives(model, data, q, v, tau),
    }
    for name, call in calls.items():
        say(task, name, 1e6 / per_call(call, seconds), "1/s", nv=model.nv)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=float, default=2.0, help="time per measurement")
    args = ap.parse_args()

    class Empty:
        def call(self):
            return None
    say("python", "empty Python method call in the same loop", per_call(Empty().call, args.seconds), "us")
    inertia = pin.Inertia.Identity()
    say("python", "trivial bound getter (Inertia.mass)", per_call(lambda: inertia.mass, args.seconds), "us")
    measure("arm 7 revolute", arm(), args.seconds)
    measure("humanoid sample (buildSampleModelHumanoidRandom)",
            pin.buildSampleModelHumanoidRandom(), args.seconds)
