"""MuJoCo C on the CPU: forward steps per second and finite-difference Jacobians.

usage: python rigid_mujoco.py [--seconds N] [--models ant,humanoid,half_cheetah,hopper] [--folder ASSETS]
MuJoCo computes in float64. Controls are uniform random in [-1, 1], contact is on,
every setting is the one in gymnasium's own XML (or those of --folder) unless the task name says otherwise.
"""
import argparse
import json
import pathlib
import time

import gymnasium
import mujoco
import numpy as np
from mujoco import rollout



def say(task, metric, value, unit, **more):
    print(json.dumps(dict(peer="mujoco-c", version=mujoco.__version__, task=task, metric=metric,
                          value=round(float(value), 4), unit=unit, **more)), flush=True)


def best(call, seconds, least=3):
    """Shortest wall time and shortest CPU time of one call, at least `least` repeats after a warm-up."""
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        start, cpu = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    return tuple(min(t) for t in zip(*times))


def measure(folder, name, seconds, variant):
    model = mujoco.MjModel.from_xml_path(str(folder / f"{name}.xml"))
    if variant == "euler":
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    task = f"{name}/{variant}"
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    worlds, steps = 256, 100
    ctrl = rng.uniform(-1, 1, (worlds, steps, model.nu))
    contacts = []
    for i in range(600):                      # fall to the floor first: every timed step starts there
        data.ctrl[:] = ctrl[0, i % steps]
        mujoco.mj_step(model, data)
        contacts.append(data.ncon)
    ncon = float(np.mean(contacts[-100:]))
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.zeros(mujoco.mj_stateSize(model, spec))
    mujoco.mj_getState(model, data, state, spec)
    start = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states = np.tile(start, (worlds, 1))
    for threads in (1, 2):
        datas = [mujoco.MjData(model) for _ in range(threads)]
        with rollout.Rollout(nthread=threads if threads > 1 else 0) as roll:
            took, cpu = best(lambda: roll.rollout(model, datas, states, ctrl), seconds)
        say(task, f"forward {threads} thread(s) rollout {worlds}x{steps}", worlds * steps / took, "steps/s",
            per_cpu_second=round(worlds * steps / cpu), mean_ncon=ncon)

    def single():
        mujoco.mj_setState(model, data, state, spec)
        for i in range(200):
            data.ctrl[:] = ctrl[i % worlds, i % steps]
            mujoco.mj_step(model, data)

    took, cpu = best(single, seconds)
    say(task, "forward 1 thread mj_step loop in Python", 200 / took, "steps/s", per_cpu_second=round(200 / cpu))

    mujoco.mj_setState(model, data, state, spec)
    while data.ncon == 0:                     # differentiate a state that touches the floor
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    n = 2 * model.nv + model.na
    A, B = np.zeros((n, n)), np.zeros((n, model.nu))
    for centred in (True, False):
        def jacobian():
            for _ in range(10):
                mujoco.mjd_transitionFD(model, data, 1e-6, centred, A, B, None, None)
        try:
            took, _ = best(jacobian, seconds)
            say(task, "mjd_transitionFD " + ("centred" if centred else "forward"), took * 1e5, "us",
                nv=model.nv, nu=model.nu, ncon=int(data.ncon), nefc=int(data.nefc))
        except Exception as error:
            say(task, "mjd_transitionFD failed", float("nan"), type(error).__name__ + ": " + str(error)[:120])


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=float, default=2.0, help="time per measurement")
    ap.add_argument("--models", default="ant,humanoid,half_cheetah,hopper")
    ap.add_argument("--folder", type=pathlib.Path,
                    default=pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets")
    args = ap.parse_args()
    for model_name in args.models.split(","):
        for kind in ("xml", "euler"):
            measure(args.folder, model_name, args.seconds, kind)
