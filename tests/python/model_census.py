"""Steps every model of robosuite, gymnasium-robotics, gymnasium and dm_control here and in MuJoCo, from the same jittered start.

    pip install mujoco robosuite gymnasium-robotics gymnasium dm_control
    PYTHONPATH=build/python:tests/python python -m model_census [part of a path ...]

prints one line per model: what came of it, the largest difference after 20 steps, the first step at which it
exceeds 1e-5, and what MuJoCo's own difference is when its start moves by 1e-10. test_models.py keeps the verdicts."""
import importlib.util
import json
import pathlib
import sys

import numpy as np

import costate

PACKAGES = ["robosuite", "gymnasium_robotics", "gymnasium", "dm_control"]
STEPS, CLOSE, NEAR = 20, 1e-5, 1e-3


def folders():
    """Where the packages are, without importing them (robosuite writes logs when it is)."""
    found = {}
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec and spec.submodule_search_locations:
            found[name] = pathlib.Path(list(spec.submodule_search_locations)[0])
    return found


def models(parts=()):
    """(name, file, model) of every file that MuJoCo loads by itself and that has something to move."""
    import mujoco
    for package, folder in folders().items():
        for file in sorted(folder.rglob("*.xml")):
            name = f"{package}/{file.relative_to(folder)}"
            if parts and not any(part in name for part in parts):
                continue
            try:
                model = mujoco.MjModel.from_xml_path(str(file))
            except ValueError:  # a part of another file, or not a model
                continue
            if model.nv > 0:
                yield name, file, model


def start_of(model, seed=0):
    """A jittered start and random controls: positions by .02 along every dof, velocities .1, controls within their range."""
    import mujoco
    rng = np.random.default_rng(seed)
    q = model.qpos0.copy()
    mujoco.mj_integratePos(model, q, rng.standard_normal(model.nv), 0.02)
    v = 0.1 * rng.standard_normal(model.nv)
    limited = model.actuator_ctrllimited.astype(bool)
    low = np.where(limited, model.actuator_ctrlrange[:, 0], -1.0)
    high = np.where(limited, model.actuator_ctrlrange[:, 1], 1.0)
    return q, v, rng.uniform(low, high, (STEPS, model.nu))


def mujocos(model, q, v, u):
    """States after each step, or None where MuJoCo found them bad (it starts again from qpos0 then)."""
    import mujoco
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    states = []
    for control in u:
        data.ctrl[:] = control
        mujoco.mj_step(model, data)
        states.append(np.concatenate([data.qpos, data.qvel, data.act]))
    bad = [mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC]
    return None if any(data.warning[w].number for w in bad) else np.array(states)


def own_spread(model, q, v, u):
    """How far apart MuJoCo's own first steps are from starts within 1e-12."""
    import mujoco
    here, worst = mujocos(model, q, v, u[:1]), 0.0
    for seed in range(12):
        near = q.copy()
        mujoco.mj_integratePos(model, near, np.random.default_rng(seed).standard_normal(model.nv), 1e-12)
        there = mujocos(model, near, v, u[:1])
        worst = max(worst, np.inf if there is None else distance(there, here)[0])
    return worst


def distance(a, b):
    """Per step, relative where numbers are large."""
    return np.max(np.abs(a - b) / (1 + np.abs(b)), axis=1)


def census(file, model, seed=0):
    """What became of a model: verdict and numbers."""
    # What is compared is the problem, not where an iteration stops: ours are solved to rounding.
    model.opt.solver, model.opt.iterations, model.opt.tolerance, model.opt.ls_tolerance = 2, 200, 1e-14, 1e-4
    model.opt.noslip_tolerance, model.opt.ccd_tolerance, model.opt.ccd_iterations = 0, 1e-14, 1000
    q, v, u = start_of(model, seed)
    theirs = mujocos(model, q, v, u)
    try:
        system = costate.rigid.load(str(file), onset="none")
    except costate.Error as error:
        return {"verdict": "refused", "why": str(error).replace(str(file), "").splitlines()[0]}
    try:
        ours = system.rollout(STEPS, keep=1).simulate(np.concatenate([q, v, np.zeros(model.na)]), u).states[1:]
    except costate.Error as error:
        return {"verdict": "diverges in both" if theirs is None else "diverges", "why": str(error).splitlines()[0]}
    if theirs is None:
        return {"verdict": "diverges in MuJoCo"}
    apart = distance(ours, theirs)
    moved = mujocos(model, q, v + 1e-10, u)
    chaos = np.inf if moved is None else distance(moved, theirs)[-1]
    first = int(np.argmax(apart > CLOSE)) if np.any(apart > CLOSE) else -1
    # Chaos explains what begins with rounding; a difference in the first step only if MuJoCo's own is as large.
    chaotic = chaos > CLOSE and (apart[0] < 1e-9 or apart[0] < own_spread(model, q, v, u))
    verdict = "same" if first < 0 else "chaotic" if chaotic else "near" if apart.max() < NEAR else "different"
    return {"verdict": verdict, "difference": float(apart.max()), "first": first, "step 1": float(apart[0]), "chaos": float(chaos)}


if __name__ == "__main__":
    table = {}
    for name, file, model in models(sys.argv[1:]):
        table[name] = census(file, model)
        print(name, json.dumps(table[name]), flush=True)
    counts = {}
    for row in table.values():
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    print(len(table), "models:", counts)
