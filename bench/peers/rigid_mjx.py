"""MJX (MuJoCo in JAX, float32) on the CPU: forward and reverse-mode rollouts.

usage: python rigid_mjx.py [--seconds N] [--model ant] [--setting xml|cheap|cheap1] [--what forward,grad]
                           [--batch 64] [--steps 32] [--settle 600] [--remat] [--folder ASSETS]
One process per row keeps peak memory honest.  Settings:
  xml    gymnasium's XML (or that of --folder) as it is (PGS, which MJX does not have, becomes Newton)
  cheap  Euler, Newton, iterations=4, ls_iterations=4
  cheap1 Euler, Newton, iterations=1, ls_iterations=4 (as the MJX documentation does)
"""
import time
START = time.perf_counter()
import argparse
import importlib.metadata
import json
import pathlib
import resource

import gymnasium
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from mujoco import mjx
IMPORT = time.perf_counter() - START

VERSION = importlib.metadata.version("mujoco-mjx")
ASSETS = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


def say(task, metric, value, unit, **more):
    print(json.dumps(dict(peer="mjx", version=VERSION, task=task, metric=metric,
                          value=round(float(value), 4), unit=unit, **more)), flush=True)


def load(folder, name, setting):
    model = mujoco.MjModel.from_xml_path(str(folder / f"{name}.xml"))
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    if setting != "xml":
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        model.opt.iterations = 1 if setting == "cheap1" else 4
        model.opt.ls_iterations = 4
    return model


def settled(model, steps=600, seed=0):
    """A state that MuJoCo C reached after randomly driven steps, mostly on the floor."""
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    for _ in range(steps):
        data.ctrl[:] = rng.uniform(-1, 1, model.nu)
        mujoco.mj_step(model, data)
    return data


def timed(call, seconds):
    start, cpu = time.perf_counter(), time.process_time()
    out = jax.block_until_ready(call())
    first = time.perf_counter() - start, time.process_time() - cpu
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start, cpu = time.perf_counter(), time.process_time()
        out = jax.block_until_ready(call())
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    return first, min(t[0] for t in times), min(t[1] for t in times), out


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seconds", type=float, default=5)
    ap.add_argument("--model", default="ant")
    ap.add_argument("--setting", default="cheap1")
    ap.add_argument("--what", default="forward,grad")
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--steps", type=int, default=32)
    ap.add_argument("--settle", type=int, default=600, help="steps of MuJoCo C first; 0 starts at qpos0")
    ap.add_argument("--remat", action="store_true", help="jax.checkpoint around every step")
    ap.add_argument("--folder", type=pathlib.Path, default=ASSETS)
    args = ap.parse_args()
    model = load(args.folder, args.model, args.setting)
    data = settled(model, args.settle)
    mx, d0 = mjx.put_model(model), mjx.put_data(model, data)
    task = f"{args.model}/{args.setting}/batch{args.batch}/steps{args.steps}" + ("/remat" * args.remat) + f"/settle{args.settle}"
    rng = np.random.default_rng(1)
    ctrl = jnp.asarray(rng.uniform(-1, 1, (args.batch, args.steps, model.nu)), jnp.float32)
    qpos = jnp.tile(jnp.asarray(data.qpos, jnp.float32), (args.batch, 1))

    def step(d, u):
        return mjx.step(mx, d.replace(ctrl=u)), None
    if args.remat:
        step = jax.checkpoint(step)

    def loss(q, us, start):
        d, _ = jax.lax.scan(step, start.replace(qpos=q), us)
        return jnp.sum(d.qpos ** 2)

    work, rate = args.batch * args.steps, {}
    if "forward" in args.what:
        f = jax.jit(jax.vmap(loss, (0, 0, None)))
        first, took, cpu, out = timed(lambda: f(qpos, ctrl, d0), args.seconds)
        rate["forward"] = work / took
        say(task, "forward", work / took, "steps/s", per_cpu_second=round(work / cpu), finite=bool(jnp.isfinite(out).all()))
        say(task, "forward first call (trace+compile+run)", first[0], "s", cpu_s=round(first[1], 1))
    if "grad" in args.what:
        g = jax.jit(jax.vmap(jax.value_and_grad(loss, argnums=(0, 1)), (0, 0, None)))
        try:
            first, took, cpu, out = timed(lambda: g(qpos, ctrl, d0), args.seconds)
        except Exception as error:
            say(task, "gradient raised", float("nan"), "", error=type(error).__name__ + ": " + str(error)[:300])
            return
        finite = [float(jnp.isfinite(a).mean()) for a in out[1]]
        say(task, "forward+gradient", work / took, "steps/s", per_cpu_second=round(work / cpu),
            finite_dq0=finite[0], finite_dctrl=finite[1],
            max_abs_dctrl=float(jnp.abs(out[1][1]).max()), mean_dq0=float(jnp.abs(out[1][0]).mean()))
        say(task, "gradient first call (trace+compile+run)", first[0], "s", cpu_s=round(first[1], 1), import_s=round(IMPORT, 2))
        if "forward" in rate:
            say(task, "forward+gradient time / forward time", rate["forward"] * took / work, "x")
    say(task, "peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB")


if __name__ == "__main__":
    main()
