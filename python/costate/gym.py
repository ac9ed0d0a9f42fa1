"""Gymnasium environments: twins of Gymnasium's MuJoCo tasks ('costate/Hopper-v5', gym_twins.py), and costate's own scenes.

    env = gymnasium.make("costate/CartPole-v0", render_mode="rgb_array")
    env = gymnasium.make_vec("costate/Hopper-v5", num_envs=64)       # all worlds in one call of compiled code
    value, gradient = costate.gym.rollout_value_and_grad(env, weights)

In costate's own scenes ('-v0') an action is scaled from (-1, 1) to the range of each control. The reward of a step is (forward speed) - 0.1
|action|^2 + 1 for the walkers, and closeness to upright for pendulums; an episode of a walker ends when its torso falls.
"""
import dataclasses
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode

from . import _core, loss, picture, rigid
from .error import Error
from .files import scene_file
from .gym_twins import TWINS
from .policy import closed_loop


@dataclasses.dataclass(frozen=True)
class Task:
    """What an environment rewards."""
    file: str
    frame_skip: int = 4            # steps of the physics in one of the environment
    forward: int = 0               # number of v that is the forward speed; used where speed_weight is not 0
    speed_weight: float = 1.0
    alive: float = 1.0
    upright: tuple = ()            # (number of q, +1 where angle 0 stands, -1 where it hangs)
    effort: float = 0.1
    height: tuple = ()             # (number of q, lowest, highest): outside, the episode ends
    hidden: tuple = (0,)           # numbers of q that an observation leaves out: where it is along the track
    steps: int = 1000


TASKS = {
    "Pendulum": Task("pendulum.xml", speed_weight=0, alive=0, upright=(0, -1), hidden=(), effort=0.01, steps=200),
    "CartPole": Task("cart_pole.xml", speed_weight=0, alive=0, upright=(1, 1), hidden=(), effort=0.01, steps=500),
    "Hopper": Task("hopper.xml", height=(1, 0.7, 10.0)),
    "HalfCheetah": Task("half_cheetah.xml", alive=0.0),
    "Walker": Task("walker.xml", height=(1, 0.7, 10.0)),
    "Ant": Task("ant.xml", height=(2, 0.2, 1.5), hidden=(0, 1), effort=0.05),
    "Humanoid": Task("humanoid.xml", height=(2, 0.7, 2.5), hidden=(0, 1), effort=0.05, alive=5.0),
}


class Physics:
    """A task for a number of worlds: states (worlds, states) in, states and rewards out."""

    def __init__(self, task, worlds=1, dtype="float64", system=None):
        if isinstance(task, str):
            if task not in TASKS:
                raise Error(f"there is no task '{task}': there are {', '.join(TASKS)}")
            task = TASKS[task]
        self.task: Task = task
        self.worlds, self.dtype = worlds, np.dtype(dtype)
        self.system = system or rigid.load(scene_file(task.file))
        self.sim = self.system.rollout(task.frame_skip, worlds=worlds, hold=task.frame_skip, dtype=dtype, active=[])
        fields = {f.name: f for f in self.system.signature.states}
        self.nq, self.v = fields["q"].size, fields["v"].offset
        lower, upper = rigid.control_range(self.system)
        unlimited = ~(np.isfinite(lower) & np.isfinite(upper))
        lower, upper = np.where(unlimited, -1.0, lower), np.where(unlimited, 1.0, upper)
        self.centre, self.half = ((upper + lower) / 2).astype(dtype), ((upper - lower) / 2).astype(dtype)
        shown = [i for i in range(self.nq) if i not in task.hidden]
        self.observed = np.r_[shown, self.v:self.system.signature.state_size].astype(int)
        self.dt = float(self.system.parameters["dt"]) * task.frame_skip

    @property
    def actions(self):
        return len(self.half)

    def start(self, rng, noise=0.01):
        """The state of one world."""
        return (self.system.initial_state + noise * rng.standard_normal(self.system.signature.state_size)).astype(self.dtype)

    def observation(self, x):
        return x[:, self.observed]

    def step(self, x, action):
        """(next state, reward (worlds,), fallen (worlds,))."""
        action = np.clip(np.asarray(action, self.dtype).reshape(self.worlds, self.actions), -1, 1)
        u = (self.centre + self.half * action)[:, None, :]
        y = self.sim.simulate(x, u).final_state
        task = self.task
        reward = task.alive - task.effort * np.sum(action**2, axis=1)
        if task.speed_weight:
            reward = reward + task.speed_weight * y[:, self.v + task.forward]
        if task.upright:
            i, sign = task.upright
            reward = reward + sign * np.cos(y[:, i])
        fallen = np.zeros(self.worlds, dtype=bool)
        if task.height:
            i, lowest, highest = task.height
            fallen = (y[:, i] < lowest) | (y[:, i] > highest)
        return y, reward, fallen

    def observation_space(self):
        return spaces.Box(-np.inf, np.inf, (len(self.observed),), np.float64)

    def action_space(self):
        return spaces.Box(-1.0, 1.0, (self.actions,), np.float32)


def physics_of(task, worlds=1, **options):
    """The task of a name: 'Hopper-v5' is Gymnasium's, 'Hopper' or 'Hopper-v0' costate's own."""
    if isinstance(task, str):
        name, _, version = task.partition("-")
        if version == "v5":
            if name not in TWINS:
                raise Error(f"there is no twin '{task}': there are {', '.join(f'{known}-v5' for known in TWINS)}")
            return TWINS[name](worlds, **options)
        task = name if version == "v0" else task
    return Physics(task, worlds, **options)


class Screen:
    """Pictures of a world, by the render modes of Gymnasium."""
    MODES = ["rgb_array", "human"]

    def __init__(self, physics, mode):
        if mode is not None and mode not in self.MODES:
            raise Error(f"render_mode = '{mode}': use {' or '.join(map(repr, self.MODES))}, or None")
        self.physics, self.mode, self.window = physics, mode, None

    def frame(self, x):
        """(height, width, 3) of one state, the camera beside it."""
        x = np.asarray(x, dtype=float)[:self.physics.system.signature.state_size]
        return picture.image(rigid.record(self.physics.system, x[None]))

    def show(self, x):
        """In a window of matplotlib."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise Error("render_mode='human' shows a window of matplotlib: pip install matplotlib") from None
        pixels = self.frame(x)
        if self.window is None:
            figure, axes = plt.subplots(figsize=(pixels.shape[1] / 80, pixels.shape[0] / 80), num=f"costate: {self.physics.task.file}")
            axes.set_axis_off()
            figure.subplots_adjust(0, 0, 1, 1)
            self.window = axes.imshow(pixels)
        self.window.set_data(pixels)
        plt.pause(0.001)

    def render(self, x):
        if self.mode is None:
            raise Error("nothing is drawn without a render_mode: gymnasium.make(..., render_mode='rgb_array')")
        return self.frame(x) if self.mode == "rgb_array" else self.show(x)

    def close(self):
        if self.window is not None:
            import matplotlib.pyplot as plt

            plt.close(cast(Any, self.window.figure))
            self.window = None


def _frames_per_second(physics):
    return int(round(1 / physics.dt))


class Env(gymnasium.Env):
    """One world. `state` is its state, with what a task remembers of the last step behind it."""
    metadata = {"render_modes": Screen.MODES, "render_fps": 50}

    def __init__(self, task="CartPole", render_mode=None, **options):
        self.physics = physics_of(task, **options)
        self.metadata = {**self.metadata, "render_fps": _frames_per_second(self.physics)}
        self.render_mode, self.screen = render_mode, Screen(self.physics, render_mode)
        self.observation_space, self.action_space = self.physics.observation_space(), self.physics.action_space()
        self.state = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.physics.start(self.np_random)[None]
        self.elapsed = 0
        return self._observation(), {}

    def step(self, action):
        self.state, reward, fallen = self.physics.step(self.state, action)
        self.elapsed += 1
        if self.render_mode == "human":
            self.render()
        return (self._observation(), float(reward[0]), bool(fallen[0]), self.elapsed >= self.physics.task.steps, {})

    def render(self):
        if self.state is None:
            raise Error("there is nothing to draw before reset()")
        return self.screen.render(self.state[0])

    def close(self):
        self.screen.close()

    def _observation(self):
        assert self.state is not None
        return self.physics.observation(self.state)[0].astype(np.float64)


class VectorEnv(gymnasium.vector.VectorEnv):
    """Many worlds, stepped in one call.

    Seeds and starts again are those of Gymnasium's SyncVectorEnv: world i of reset(seed=s) is seeded with s + i, and `autoreset_mode` says what
    happens to a world that ended: AutoresetMode.NEXT_STEP (the next step starts it), SAME_STEP (it starts at once; info['final_obs'] has where
    it ended) or DISABLED (reset(options={'reset_mask': ended}) starts it).
    """

    def __init__(self, task="CartPole", num_envs=16, render_mode=None, autoreset_mode=AutoresetMode.NEXT_STEP, **options):
        self.physics = physics_of(task, num_envs, **options)
        self.num_envs, self.autoreset_mode = num_envs, AutoresetMode(autoreset_mode)
        self.render_mode, self.screen = render_mode, Screen(self.physics, render_mode)
        self.single_observation_space, self.single_action_space = self.physics.observation_space(), self.physics.action_space()
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": Screen.MODES, "render_fps": _frames_per_second(self.physics)}
        self.generators: list = [None] * num_envs
        self.elapsed, self.ended = np.zeros(num_envs, dtype=int), np.zeros(num_envs, dtype=bool)

    def reset(self, *, seed=None, options=None):
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool)))
        if mask.dtype != bool or mask.shape != (self.num_envs,):
            raise Error(f"reset_mask is an array of {self.num_envs} truth values, not {mask.dtype} of shape {mask.shape}")
        seeds = [None if seed is None else seed + i for i in range(self.num_envs)] if seed is None or np.ndim(seed) == 0 else list(cast(Any, seed))
        if len(seeds) != self.num_envs:
            raise Error(f"{len(seeds)} seeds for {self.num_envs} worlds: give one number, or one per world")
        for i in np.flatnonzero(mask):
            if seeds[i] is not None or self.generators[i] is None:
                self.generators[i] = seeding.np_random(seeds[i])[0]
        self._start(mask)
        self.ended = self.ended & ~mask
        return self._observation(), {}

    def step(self, actions):
        fresh = self.ended
        if self.autoreset_mode == AutoresetMode.DISABLED and fresh.any():
            raise Error("a world has ended and was not started again: reset(options={'reset_mask': ended}), or another autoreset_mode")
        self.state, reward, fallen = self.physics.step(self.state, actions)
        self.elapsed += 1
        if self.autoreset_mode == AutoresetMode.NEXT_STEP and fresh.any():
            self._start(fresh)
            reward[fresh], fallen[fresh] = 0.0, False
        truncated = self.elapsed >= self.physics.task.steps
        self.ended, info = fallen | truncated, {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self.ended.any():
            last = np.empty(self.num_envs, dtype=object)
            last[:] = [o if e else None for o, e in zip(self._observation(), self.ended)]
            info = {"final_obs": last, "_final_obs": self.ended}
            self._start(self.ended)
            self.ended = np.zeros(self.num_envs, dtype=bool)
        return self._observation(), reward, fallen, truncated, info

    def _start(self, mask):
        starts = [self.physics.start(self.generators[i]) for i in np.flatnonzero(mask)]
        if mask.all():
            self.state = np.stack(starts)
        elif starts:
            self.state[mask] = starts
        self.elapsed[mask] = 0

    def _observation(self):
        return self.physics.observation(self.state).astype(np.float64)

    def render(self):
        """The pictures of all worlds, (num_envs, height, width, 3) with 'rgb_array'; 'human' shows the first."""
        if self.render_mode == "human":
            return self.screen.render(self.state[0])
        return tuple(self.screen.render(x) for x in self.state)

    def close_extras(self, **_):
        self.screen.close()

    def rollout_value_and_grad(self, weights=None, steps=100, hidden=32, seed=0):
        """The loss of a policy, and its gradient through the physics by the policy's weights: analytic policy gradients.

        The policy is a network with one hidden layer from states to controls (costate.closed_loop); weights: {name: array} of the
        parameters 'policy/...', None: as they are drawn from `seed`. All worlds start where reset() put them. The loss is the negative
        mean of the task's final forward speed or uprightness.
        """
        key = (steps, hidden, seed)
        if getattr(self, "_key", None) != key:
            system = closed_loop(self.physics.system, hidden=hidden, seed=seed)
            self._sim, self._key = system.rollout(steps * self.physics.task.frame_skip, active=["policy/**"],
                                                  checkpoints=_core.segments(), dtype=self.physics.dtype), key
        task = self.physics.task
        if task.upright:
            i, sign = task.upright
            goal = loss.expression(f"{-sign}*cos({'q' if self.physics.nq == 1 else f'q[{i}]'})")
        else:
            goal = loss.final_value("v", task.forward, -1.0)
        x = np.ascontiguousarray(self.state[:, :self.physics.system.signature.state_size])
        value, gradient = self._sim.value_and_grad(x, p=weights, loss=goal)
        found = PolicyGradient({name: g / self.num_envs for name, g in gradient.parameters.items()})
        found.report = gradient.report
        return value / self.num_envs, found


class PolicyGradient(dict):
    """{name: derivative with respect to these weights}; `report` says what it is worth."""
    report: _core.GradientReport

    def __repr__(self):
        sizes = ", ".join(f"{name} {np.shape(values)}" for name, values in self.items())
        return f"PolicyGradient: {sizes}\n{self.report!r}"


def rollout_value_and_grad(env, weights=None, **options):
    return env.rollout_value_and_grad(weights, **options)


for _name in [f"{_task}-v0" for _task in TASKS] + [f"{_task}-v5" for _task in TWINS]:
    if f"costate/{_name}" not in gymnasium.registry:
        gymnasium.register(f"costate/{_name}", entry_point="costate.gym:Env", vector_entry_point="costate.gym:VectorEnv",
                           kwargs={"task": _name})
