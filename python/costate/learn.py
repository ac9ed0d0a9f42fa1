"""Policies that learn a task: SHAC, with gradients through the physics, and PPO and CMA-ES, without.

    task = costate.learn.twin("Hopper-v5")                                  # or Task(...) of your own
    learner = costate.learn.Learner(task, worlds=64, horizon=32, steps=300_000, seed=1)
    policy = learner.train("hopper.npz")                                    # shows progress; Ctrl-C and call again: it goes on
    controls = policy(observations)                                         # (..., observations) -> (..., controls)

The same seed gives the same policy, bit for bit, for any number of threads, and whether it was interrupted or not.
"""
from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core, rigid
from .error import Error
from .trace import record


@dataclasses.dataclass
class Task:
    """What a policy is to learn.

    plant      a system with controls
    observe    function of states by name: the numbers that the policy sees
    reward     function of states after a decision by name ('q'), before it ('last_q'), controls ('ctrl') and `alive` (1, or 0 where the episode
               ends): one number
    alive      function of states by name: where it is not positive, the episode ends there; None: never
    hold       steps of the plant per decision
    decisions  after which an episode is cut off
    start      a state; None: the plant's own
    uniform    half widths around it, per state or one for all; normal: standard deviations
    lower, upper   of the controls; None: the limits of the plant's actuators
    vary       {parameter, as a glob: part of itself by which it differs, up and down, from episode to episode}
    """
    plant: _core.System
    observe: Callable[..., Any]
    reward: Callable[..., Any]
    alive: Callable[..., Any] | None = None
    hold: int = 1
    decisions: int = 1000
    start: npt.ArrayLike | None = None
    uniform: npt.ArrayLike = 0.0
    normal: npt.ArrayLike = 0.0
    lower: npt.ArrayLike | None = None
    upper: npt.ArrayLike | None = None
    vary: dict[str, float] = dataclasses.field(default_factory=dict)


def _logistic(a):
    return (1 + np.tanh(a / 2)) / 2


class Policy:
    """A trained policy: observations (..., n) to controls (..., m). `save` and `load` are exact.

    One with a memory takes and returns that too, zeros when an episode begins: controls, memory = policy(observations, memory)."""

    def __init__(self, sizes, parameters, mean, deviation, lower, upper, memory=0):
        self.sizes, self.memory = [int(size) for size in sizes], int(memory)
        self.parameters, self.mean, self.deviation, self.lower, self.upper = (
            np.asarray(part, dtype=float) for part in (parameters, mean, deviation, lower, upper))

    def __call__(self, observations: npt.ArrayLike, memory: npt.ArrayLike | None = None) -> Any:
        seen = np.asarray(observations, dtype=float)
        if seen.shape[-1:] != self.mean.shape:
            raise Error(f"the observations have the shape {seen.shape} instead of (..., {self.mean.size})")
        h, at = (seen - self.mean) / self.deviation, 0
        if self.memory:
            if memory is None:
                raise Error(f"this policy remembers {self.memory} numbers: controls, memory = policy(observations, memory), which is zeros "
                            f"(..., {self.memory}) when an episode begins")
            memory = self._remember(h, np.asarray(memory, dtype=float))
            h = np.concatenate([h, memory], axis=-1)
        for n, m in zip(self.sizes, self.sizes[1:]):
            h = h @ self.parameters[at:at + m * n].reshape(m, n).T + self.parameters[at + m * n:at + m * n + m]
            at += m * n + m
            h = np.tanh(h)  # of the last layer too: between the bounds
        controls = (self.upper + self.lower) / 2 + (self.upper - self.lower) / 2 * h
        return (controls, memory) if self.memory else controls

    def _remember(self, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        """The gated recurrent layer of costate/learn/gru.h, whose weights come last."""
        n, m = x.shape[-1], self.memory
        w = self.parameters[-(3 * m * (n + m + 1) + m):]
        W, U, b, d = np.split(w, np.cumsum([3 * m * n, 3 * m * m, 3 * m]))
        a, g = np.split(x @ W.reshape(3 * m, n).T + b, 3, axis=-1), np.split(h @ U.reshape(3 * m, m).T, 3, axis=-1)
        z = _logistic(a[1] + g[1])
        return (1 - z) * np.tanh(a[2] + _logistic(a[0] + g[0]) * (g[2] + d)) + z * h

    def save(self, file: str | os.PathLike[str]) -> None:
        with open(file, "wb") as out:  # of a name alone, NumPy makes another one
            np.savez(out, **{"memory_size" if name == "memory" else name: part for name, part in self.__dict__.items()})

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Policy:
        with np.load(file) as stored:
            names = ("sizes", "parameters", "mean", "deviation", "lower", "upper")
            if not set(names) <= set(stored):
                raise Error(f"{file} is not a policy: it lacks {', '.join(sorted(set(names) - set(stored)))}")
            return cls(**{name: stored[name] for name in names}, memory=stored["memory_size"] if "memory_size" in stored else 0)


def _spreads(vary):
    """{name: part} with numbers as they must be."""
    for name, by in vary.items():
        if not isinstance(name, str) or not isinstance(by, (int, float, np.integer, np.floating)):
            raise Error(f"vary has {name!r}: {by!r}; give names of parameters and numbers, vary={{'body/*/mass': 0.2}}")
    return {name: float(by) for name, by in vary.items()}


def _programs(task):
    """(observe, reward, alive) as Programs of the names that a task may use."""
    plant = task.plant.signature
    sizes = {f.name: f.size for f in plant.states}
    names = _core.build_signature({**sizes, **{f"last_{name}": size for name, size in sizes.items()}},
                                  {f.name: f.size for f in plant.controls}, {"alive": 1.0})
    start = np.asarray(task.plant.initial_state if task.start is None else task.start, dtype=float)
    example = {f.name: start[f.offset:f.offset + f.size] if f.size > 1 else start[f.offset] for f in plant.states}

    def seen(**given):
        values = task.observe(**given)
        parts = values if isinstance(values, (list, tuple)) else [values]
        return np.concatenate([np.reshape(part, (-1,)) for part in parts])

    import inspect

    wanted = list(inspect.signature(task.observe).parameters)
    unknown = [name for name in wanted if name not in example]
    if unknown:
        raise Error(f"what is the argument '{unknown[0]}' of observe? It takes states by name: {', '.join(example)}")
    count = len(seen(**{name: example[name] for name in wanted}))
    seen.__signature__ = inspect.signature(task.observe)  # type: ignore[attr-defined]
    outputs = _core.build_signature({"value": count}, None, None).states
    return (record(seen, names, outputs=outputs), record(task.reward, names, one_output=True),
            None if task.alive is None else record(task.alive, names, one_output=True))


class Learner:
    """A policy that gets better, iteration by iteration.

    method            'shac': gradients through the physics over `horizon` decisions, a critic for what comes after; 'ppo': without gradients;
                      'cma_es': the weights of a small network, hidden=[8], by scores of whole episodes
    steps             decisions of all worlds together
    worlds, horizon   64 and 32: an iteration takes worlds x horizon decisions
    shortest, longest horizons between which it adapts to how stiff the physics is ('shac'): shorter where a decision stretches cotangents by
                      more than `stretch` (1.1), with the rate dual_rate (0.1)
    hidden, critic    hidden layers of the two networks, [64, 64]
    memory            0: numbers that the policy remembers, in a gated recurrent layer, where it does not see everything ('shac', 'cma_es')
    discount, lambda_ 0.99 and 0.95
    rate, critic_rate, last_rate   of Adam, and the part of them that is left at the end
    edge              0: how wide, in units of `alive`, the edge at which episodes end is for gradients, which do not see it otherwise ('shac')
    gradient_limit    1: longer gradients are scaled down; adjoint_limit: so are cotangents of single states (0: not)
    noise             first standard deviation of the policy; of 'cma_es': of its weights
    critic_passes, critic_batches, target   of the critic: 16, 4, and how much of itself the critic that follows keeps (0.2)
    passes, batches, clip   of ppo: 10, 8, 0.2
    population        of cma_es: policies per generation, of which each plays worlds/population episodes; 0: 4 + 3 log(weights)
    seed              of everything that is drawn
    """

    def __init__(self, task: Task, **options: Any):
        low, high = rigid.control_range(task.plant) if task.lower is None or task.upper is None else (task.lower, task.upper)
        count, controls = task.plant.signature.state_size, task.plant.signature.control_size
        lower, upper = (np.broadcast_to(np.asarray(bound, dtype=float), (controls,)) for bound in (low, high))
        if not (np.all(np.isfinite(lower)) and np.all(np.isfinite(upper))):
            raise Error("not every control has limits: give lower and upper")
        spread = [np.broadcast_to(np.asarray(width, dtype=float), (count,)) for width in (task.uniform, task.normal)]
        start = task.plant.initial_state if task.start is None else task.start
        self.task, self.options = task, dict(options)
        self.history: list[Any] = []
        settings = {name: list(v) if isinstance(v, tuple) else v for name, v in options.items()}
        self._learner = _core._make_learner(  # type: ignore[attr-defined]
            task.plant, task.hold, task.decisions, *_programs(task), start, *spread, lower, upper, _spreads(task.vary), settings)

    @property
    def policy(self) -> Policy:
        return Policy(**self._learner.policy)

    @property
    def done(self) -> bool:
        return self._learner.done

    def iterate(self) -> dict[str, float]:
        """One iteration; what it came to."""
        self.history.append(self._learner.iterate())
        return self.history[-1]

    def evaluate(self, worlds: int = 100, seed: int = 12345) -> tuple[np.ndarray, np.ndarray]:
        """(returns, lengths) of one episode of each world, without noise."""
        return self._learner.evaluate(worlds, seed)

    def save(self, file: str | os.PathLike[str]) -> None:
        """All that it knows, to go on from: written beside the old file first, so that an interruption loses nothing."""
        kept = {"memory": self._learner.memory(), "history": json.dumps(self.history), "options": json.dumps(self.options, default=str)}
        beside = f"{file}.new.npz"
        policy = self._learner.policy
        np.savez(beside, **{**policy, **kept}, memory_size=policy["memory"])
        os.replace(beside, file)

    def restore(self, file: str | os.PathLike[str]) -> None:
        with np.load(file) as stored:
            if "memory" not in stored or json.loads(str(stored["options"])) != json.loads(json.dumps(self.options, default=str)):
                raise Error(f"{file} was written with other options: give the same, or another file")
            self._learner.restore(stored["memory"])
            self.history = json.loads(str(stored["history"]))

    def train(self, file: str | os.PathLike[str] | None = None, progress: bool = True, every: float = 5.0) -> Policy:
        """All iterations. `file` is written every few seconds and read first where it exists."""
        if file is not None and os.path.exists(file):
            self.restore(file)
        begun, shown, first = time.monotonic(), time.monotonic(), len(self.history)
        while not self.done:
            now = self.iterate()
            if time.monotonic() - shown > every or self.done:
                shown = time.monotonic()
                if file is not None:
                    self.save(file)
                if progress:
                    left = (shown - begun) / (len(self.history) - first) * (self._learner.iterations - len(self.history))
                    print(f"{now['steps']:>10} steps  return {now['mean_return']:8.1f}  length {now['mean_length']:6.1f}  "
                          f"critic off by {now['critic_error']:.2g}  {left:.0f} s left", flush=True)
        return self.policy


def _walker(twin, alive=None):
    def observe(q, v):
        return [q[twin.hidden:], np.minimum(np.maximum(v, -10), 10) if np.isfinite(twin.clip) else v]

    def reward(q, last_q, ctrl, alive):
        return (q[0] - last_q[0]) / twin.dt + twin.alive * alive - twin.effort * np.sum(ctrl * ctrl)

    return observe, reward, alive


def _ant(twin):
    return (lambda q, v: [q[2:], v], lambda q, last_q, ctrl, alive: (q[0] - last_q[0]) / twin.dt + alive - 0.5 * np.sum(ctrl * ctrl),
            lambda q: np.minimum(q[2] - 0.2, 1.0 - q[2]))


def twin(name: str) -> Task:
    """The task of a Gymnasium environment whose observation is a function of q and v: 'Hopper-v5', 'HalfCheetah-v5', 'Walker2d-v5',
    'Swimmer-v5', 'InvertedPendulum-v5'.

    'Ant-v5' without the forces of contact: the policy sees the first 27 of Gymnasium's 105 numbers, `policy(observation[:27])`, and learns without
    the price of contact, which is at most 0.04 per decision."""
    from .gym import physics_of

    twin: Any = physics_of(name)
    functions = {
        "Hopper": lambda: _walker(twin, lambda q: np.minimum(q[1] - 0.7, 0.2 - np.abs(q[2]))),
        "Walker2d": lambda: _walker(twin, lambda q: np.minimum(np.minimum(q[1] - 0.8, 2.0 - q[1]), 1.0 - np.abs(q[2]))),
        "HalfCheetah": lambda: _walker(twin),
        "Swimmer": lambda: _walker(twin),
        "Ant": lambda: _ant(twin),
        "InvertedPendulum": lambda: (lambda q, v: [q, v], lambda alive: alive * 1.0, lambda q: 0.2 - np.abs(q[1])),
    }
    kind = name.partition("-")[0]
    if kind not in functions:
        raise Error(f"the observation of '{name}' is more than q and v: there are {', '.join(f'{known}-v5' for known in functions)}")
    observe, reward, alive = functions[kind]()
    wide = np.full(twin.states, twin.noise_scale)
    still = np.zeros(twin.states)
    uniform, normal = wide.copy(), still.copy()
    if twin.normal_velocity:
        uniform[twin.v:], normal[twin.v:] = 0, twin.noise_scale
    return Task(twin.system, observe, reward, alive, hold=twin.frame_skip, decisions=twin.steps, uniform=uniform, normal=normal)
