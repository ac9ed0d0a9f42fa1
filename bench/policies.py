"""Policies that learn on costate's twins of Gymnasium's tasks, scored by gymnasium.make on MuJoCo.

usage: python bench/policies.py Hopper-v5 [--seeds 1 2 3] [--steps N] [--set edge=0.05 horizon=16] [--peer ppo|sac]

Needs gymnasium[mujoco]; --peer also stable-baselines3, whose PPO or SAC learns in the same fast worlds (costate.gym.VectorEnv). Learning runs on
one thread and is timed in seconds of processor time, building included; a score is the mean return of 100 episodes without noise. One line of
JSON per seed, and the median last.
"""
import argparse
import json
import statistics
import time

import gymnasium
import numpy as np

import costate
import costate.gym

# What docs/learning.md reports. Observations of Ant-v5 begin with those that its task here sees.
SETTINGS = {
    "Hopper-v5": dict(worlds=32, horizon=8, steps=300_000, edge=0.03, noise=0.7),
    "HalfCheetah-v5": dict(worlds=64, horizon=4, steps=600_000),
    "Ant-v5": dict(worlds=64, horizon=4, steps=600_000, edge=0.03),
}


def score(name, act, episodes):
    """Returns and lengths on MuJoCo, in as many environments as there are episodes."""
    envs = [gymnasium.make(name) for _ in range(episodes)]
    seen = np.stack([env.reset(seed=1000 + i)[0] for i, env in enumerate(envs)])
    returns, lengths, running = np.zeros(episodes), np.zeros(episodes), np.ones(episodes, dtype=bool)
    while running.any():
        controls = act(seen).astype(np.float32)
        for i in np.flatnonzero(running):
            seen[i], reward, ended, cut, _ = envs[i].step(controls[i])
            returns[i] += reward
            lengths[i] += 1
            running[i] = not (ended or cut)
    return returns, lengths


def learned(name, seed, settings):
    """(what acts, processor time, more to report) of a policy that learned here."""
    task = costate.learn.twin(name)
    begun = time.process_time()
    learner = costate.learn.Learner(task, seed=seed, **settings)
    curve = []
    while not learner.done:
        now = learner.iterate()
        if not curve or now["steps"] - curve[-1][0] >= settings["steps"] / 10:
            curve.append((now["steps"], round(now["mean_return"], 1)))
    spent = time.process_time() - begun
    policy = learner.policy
    count = policy.mean.size
    return lambda seen: policy(seen[:, :count]), spent, {"here": round(float(np.mean(learner.evaluate(100)[0])), 1), "curve": curve}


def of_a_peer(name, seed, settings, method):
    import stable_baselines3
    import torch
    from stable_baselines3.common.vec_env import VecEnv

    class Worlds(VecEnv):
        """costate.gym.VectorEnv as Stable-Baselines3 calls it."""

        def __init__(self, count):
            self.envs = costate.gym.VectorEnv(name, num_envs=count, autoreset_mode="SameStep")
            super().__init__(count, self.envs.single_observation_space, self.envs.single_action_space)

        def reset(self):
            return self.envs.reset(seed=seed)[0]

        def step_async(self, actions):
            self.actions = actions

        def step_wait(self):
            seen, rewards, ended, cut, info = self.envs.step(self.actions)
            infos = [{"TimeLimit.truncated": bool(c and not e)} for c, e in zip(cut, ended)]
            for i in np.flatnonzero(ended | cut):
                infos[i]["terminal_observation"] = info["final_obs"][i]
            return seen, rewards, ended | cut, infos

        def close(self):
            self.envs.close()

        def get_attr(self, attr_name, indices=None):
            return [None] * self.num_envs

        def set_attr(self, attr_name, value, indices=None):
            raise NotImplementedError

        def env_method(self, method_name, *args, indices=None, **kwargs):
            raise NotImplementedError

        def env_is_wrapped(self, wrapper_class, indices=None):
            return [False] * self.num_envs

    torch.set_num_threads(1)
    begun = time.process_time()
    if method == "ppo":
        from stable_baselines3.common.vec_env import VecNormalize

        worlds = VecNormalize(Worlds(8))
        model = stable_baselines3.PPO("MlpPolicy", worlds, n_steps=256, batch_size=64, seed=seed, device="cpu").learn(settings["steps"])
        normal = worlds.normalize_obs
    else:
        model = stable_baselines3.SAC("MlpPolicy", Worlds(1), seed=seed, device="cpu").learn(settings["steps"])
        normal = np.asarray
    spent = time.process_time() - begun
    peer = {"peer": f"stable-baselines3 {stable_baselines3.__version__} {method}"}
    return lambda seen: model.predict(normal(seen), deterministic=True)[0], spent, peer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=SETTINGS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--peer", choices=["ppo", "sac"])
    given = parser.parse_args()
    settings = dict(SETTINGS[given.task])
    settings.update({name: json.loads(value) for name, value in (one.split("=", 1) for one in given.set)})
    settings["steps"] = given.steps or settings["steps"]
    costate.set_thread_count(1)
    scores = []
    for seed in given.seeds:
        act, spent, more = of_a_peer(given.task, seed, settings, given.peer) if given.peer else learned(given.task, seed, settings)
        returns, lengths = score(given.task, act, given.episodes)
        scores.append(float(np.mean(returns)))
        print(json.dumps({"task": given.task, "seed": seed, "return": round(scores[-1], 1), "deviation": round(float(np.std(returns)), 1),
                          "length": round(float(np.mean(lengths)), 1), "cpu_s": round(spent, 1), **more}), flush=True)
    print(json.dumps({"task": given.task, "median": round(statistics.median(scores), 1), "settings": settings}), flush=True)


if __name__ == "__main__":
    main()
