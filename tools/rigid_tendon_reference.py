#!/usr/bin/env python3
"""Numbers of MuJoCo for tests/rigid/dynamics/tendon_test.cpp: lengths and Jacobians of tendons, accelerations and rollouts from random states.

usage: tools/rigid_tendon_reference.py MODEL.xml... [--states 120] [--steps 50]

Needs the PyPI packages mujoco and numpy. Writes MODEL.json beside each model. States in which a tendon is about to take another way around a geom
are left out: there the two engines may decide differently, by rounding."""
import argparse
import json
import pathlib

import mujoco
import numpy as np

from rigid_reference import INTEGRATORS, numbers, random_state, rollout


def ways(m, d):
    """Where tendons touch geoms: what changes when one takes another way."""
    return d.wrap_obj.ravel().copy(), d.ten_wrapnum.copy()


def settled(m, d, x, rng):
    """Whether small changes of the configuration leave the ways as they are."""
    def at(q):
        d.qpos[:] = q
        mujoco.mj_forward(m, d)
        return [a.tolist() for a in ways(m, d)], d.ten_length.copy()
    here, length = at(x[0])
    for _ in range(6):
        q = x[0].copy()
        mujoco.mj_integratePos(m, q, rng.normal(size=m.nv), 1e-5)
        there, moved = at(q)
        if there != here or np.abs(moved - length).max() > 1e-3:
            return False
    return True


def moments(m, d):
    """Jacobians of all tendons, dense."""
    full = np.zeros((m.ntendon, m.nv))
    for t in range(m.ntendon):
        for k in range(m.ten_J_rownnz[t]):
            full[t, m.ten_J_colind[m.ten_J_rowadr[t] + k]] = d.ten_J.ravel()[m.ten_J_rowadr[t] + k]
    return full


def reference(path, states, steps):
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.solver, m.opt.iterations, m.opt.ls_iterations = mujoco.mjtSolver.mjSOL_NEWTON, 200, 100
    m.opt.tolerance, m.opt.ls_tolerance = 1e-16, 1e-6
    own = {int(value): label for label, value in INTEGRATORS.items()}[int(m.opt.integrator)]
    d, rng, out = mujoco.MjData(m), np.random.default_rng(11), []
    while len(out) < states:
        random_state(m, d, rng)
        x = [a.copy() for a in (d.qpos, d.qvel, d.act, d.ctrl)]
        if not settled(m, d, x, rng):
            continue
        d.qpos[:], d.qvel[:], d.act[:], d.ctrl[:] = x
        mujoco.mj_forward(m, d)
        item = dict(q=numbers(x[0]), v=numbers(x[1]), act=numbers(x[2]), ctrl=numbers(x[3]), length=numbers(d.ten_length),
                    jacobian=numbers(moments(m, d)), qacc_smooth=numbers(d.qacc_smooth), qacc=numbers(d.qacc))
        for label in {"euler", "rk4", own}:
            m.opt.integrator = INTEGRATORS[label]
            item["step_" + label] = rollout(m, d, x, 1)
            if len(out) < 10:
                item["rollout_" + label] = rollout(m, d, x, steps)
        m.opt.integrator = INTEGRATORS[own]
        out.append(item)
    model = dict(length=numbers(m.tendon_length0), springlength=numbers(m.tendon_lengthspring),
                 invweight=numbers(m.tendon_invweight0))
    return dict(mujoco=mujoco.__version__, steps=steps, model=model, states=out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--states", type=int, default=120)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    for path in options.models:
        path.with_suffix(".json").write_text(json.dumps(reference(path, options.states, options.steps)))
