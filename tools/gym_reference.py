#!/usr/bin/env python3
"""Writes tests/python/gym_reference.json: what Gymnasium's MuJoCo tasks answer, for the tests of their twins.

    pip install gymnasium mujoco && python tools/gym_reference.py"""
import json
import pathlib

import gymnasium
import mujoco
import numpy as np

TASKS = ["Hopper", "HalfCheetah", "Walker2d", "Ant", "Humanoid", "Swimmer", "Reacher", "InvertedPendulum", "InvertedDoublePendulum", "Pusher"]
STEPS = {"Reacher": 51, "Pusher": 15, "Humanoid": 8, "Ant": 12, "Hopper": 30, "Walker2d": 30, "HalfCheetah": 20, "Swimmer": 12}


def record(task, seed=3):
    env = gymnasium.make(f"{task}-v5")
    if task == "Humanoid":  # its file stops PGS after 50 iterations; the twin solves to the end
        env.unwrapped.model.opt.solver, env.unwrapped.model.opt.iterations, env.unwrapped.model.opt.tolerance = 2, 100, 1e-14
    rng, data = np.random.default_rng(1), env.unwrapped.data
    out = {"seed": seed, "start": env.reset(seed=seed)[0].tolist(), "steps": [], "mujoco": mujoco.__version__,
           "low": env.action_space.low.tolist(), "high": env.action_space.high.tolist()}
    for _ in range(STEPS.get(task, 20)):
        action = rng.uniform(env.action_space.low, env.action_space.high).astype(np.float32)
        step = {"state": [*data.qpos.tolist(), *data.qvel.tolist()], "action": action.tolist()}
        seen, reward, ended, cut, _ = env.step(action)
        step.update(seen=seen.tolist(), reward=float(reward), ended=bool(ended), cut=bool(cut))
        if ended or cut:
            step["next_start"] = env.reset()[0].tolist()
        out["steps"].append(step)
    return out


if __name__ == "__main__":
    known = {task: record(task) for task in TASKS}
    pathlib.Path(__file__).parents[1].joinpath("tests/python/gym_reference.json").write_text(json.dumps(known) + "\n")
