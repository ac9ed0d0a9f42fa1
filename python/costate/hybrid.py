"""Hybrid physics: the laws of a model, and a network for what they leave out, trained through rollouts.

    fitted = costate.hybrid.Hybrid(pendulum, observe=lambda angle, rate: [np.sin(angle), np.cos(angle), rate], hidden=(32, 32))
    fitted.train(states, controls, window=50, penalty=1e-3)     # recordings: (runs, times, states) and (runs, times - 1, controls)
    fitted.share(states, controls, window=50)                   # how much of the motion the network carries
    fitted.system                                               # a System like any other; fitted.weights are parameters of it

The network adds to the controls of the plant: y = step(x, u + residual(x), p). Where these are torques, it is a torque.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core, loss
from .error import Error
from .optimise import minimize
from .policy import _network, _of_function


class Hybrid:
    """A plant and a residual.

    plant     a system with controls
    observe   what the network sees: globs of states, or a function of states by name that returns a list; None: all states
    hidden    numbers of the layers between
    limit     the largest residual, one number or one per control: outside the data it cannot run away
    weights   {name: array} of the network's parameters. At first its last layer is zero, and the hybrid is the plant
    """

    def __init__(self, plant: _core.System, *, observe: Sequence[str] | Callable[..., Any] | None = None, hidden: int | Sequence[int] = (32, 32),
                 limit: npt.ArrayLike = 1.0, seed: int = 0):
        bound = np.broadcast_to(np.asarray(limit, dtype=float), (plant.signature.control_size,))
        self._function, self.weights = _network(plant, observe, hidden, (-bound, bound), seed)
        last = max((name for name in self.weights if name.startswith("policy/w")), key=lambda name: int(name.removeprefix("policy/w")))
        self.weights[last] = np.zeros_like(self.weights[last])
        self.plant, self.system = plant, _of_function(plant, self._function, self.weights, hybrid=True)

    def train(self, states: npt.ArrayLike, controls: npt.ArrayLike, *, window: int, every: int | None = None, penalty: float = 1e-3,
              iterations: int = 300, rate: float = 3e-3, parameters: Mapping[str, npt.ArrayLike] | None = None) -> float:
        """Trains through rollouts that begin at measured states; the loss at the end.

        states, controls   (runs, times, states) and (runs, times - 1, controls), one row per step of the plant
        window, every      steps of a rollout, and from one start to the next (window)
        penalty            price of the mean squared residual: what the laws can explain, they keep
        parameters         {name: value} of the plant, other than its own

        The loss is the mean squared error of every field, in units of how much it changes over a window, plus the price.
        """
        x0, u, after = self._windows(states, controls, window, every or window)
        count = len(x0) * window
        terms = [self._price(2 * penalty / count)]
        for field, scale in zip(self.plant.signature.states, self._scales(x0, after)):
            targets = after[:, :, field.offset:field.offset + field.size]
            terms.append(loss.track(field.name, range(1, window + 1), targets, 2 / (count * field.size * scale**2)))
        sim, goal = self.system.rollout(window, worlds=len(x0), active=list(self.weights)), loss.sum(terms)

        def value_and_gradient(weights):
            value, gradient = sim.value_and_grad(x0, u, p={**(parameters or {}), **weights}, loss=goal)
            return value, {name: gradient.parameters[name] for name in weights}

        found = minimize(value_and_gradient, self.weights, "adam", iterations=iterations, rate=rate, decay=0.99, clip=1.0)
        self.weights = dict(found.x)
        return float(found.value)

    def errors(self, states: npt.ArrayLike, controls: npt.ArrayLike, *, window: int, every: int | None = None,
               parameters: Mapping[str, npt.ArrayLike] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Root mean squared error of every state after `window` steps from measured states: of the plant alone, and of the hybrid."""
        x0, u, after = self._windows(states, controls, window, every or window)
        ends = self._ends(x0, u, window, parameters)
        return tuple(np.sqrt(np.mean((end - after[:, -1])**2, axis=0)) for end in ends)  # type: ignore[return-value]

    def share(self, states: npt.ArrayLike, controls: npt.ArrayLike, *, window: int, every: int | None = None,
              parameters: Mapping[str, npt.ArrayLike] | None = None) -> float:
        """How much of the motion the network carries: how far it takes the plant off its own way over a window, in parts of how far the state
        goes. Fields are measured in units of how much they change."""
        x0, u, after = self._windows(states, controls, window, every or window)
        alone, both = self._ends(x0, u, window, parameters)
        scale = np.concatenate([np.full(f.size, s) for f, s in zip(self.plant.signature.states, self._scales(x0, after))])
        return float(np.sqrt(np.mean(((both - alone) / scale)**2) / np.mean(((both - x0) / scale)**2)))

    def _ends(self, x0, u, window, parameters):
        alone = self.plant.rollout(window, worlds=len(x0), active=[]).simulate(x0, u, dict(parameters or {})).final_state
        both = self.system.rollout(window, worlds=len(x0), active=[]).simulate(x0, u, {**(parameters or {}), **self.weights}).final_state
        return alone, both

    def _price(self, weight):
        function, shapes = self._function, {name: np.shape(value) for name, value in self.weights.items()}

        def price(x, p, *t):
            squares = np.square(function(x, {name: np.reshape(p[name], shape) if shape else p[name] for name, shape in shapes.items()}, *t))
            return 0.5 * weight * np.sum(squares)

        timed = "dt" in self.plant.parameters
        return loss.function((lambda x, p, t: price(x, p, t)) if timed else (lambda x, p: price(x, p)), when="each_step")

    def _scales(self, x0, after):
        for field in self.plant.signature.states:
            part = slice(field.offset, field.offset + field.size)
            yield float(np.sqrt(np.mean((after[:, -1, part] - x0[:, part])**2))) or 1.0

    def _windows(self, states, controls, window, every):
        x, u = np.asarray(states, dtype=float), np.asarray(controls, dtype=float)
        n, m = self.plant.signature.state_size, self.plant.signature.control_size
        if x.ndim != 3 or x.shape[2] != n:
            raise Error(f"states are (runs, times, {n}), not {x.shape}")
        if u.shape != (x.shape[0], x.shape[1] - 1, m):
            raise Error(f"controls are (runs, times - 1, {m}), here {(x.shape[0], x.shape[1] - 1, m)}, not {u.shape}")
        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(u))):
            raise Error("a recording has numbers that are not finite: leave out the runs, or the pieces, that have them")
        starts = range(0, x.shape[1] - window, every)
        if not len(starts):
            raise Error(f"a window of {window} steps does not fit into runs of {x.shape[1] - 1}")
        cut = [(r, k) for r in range(len(x)) for k in starts]
        return (np.stack([x[r, k] for r, k in cut]), np.stack([u[r, k:k + window] for r, k in cut]),
                np.stack([x[r, k + 1:k + 1 + window] for r, k in cut]))
