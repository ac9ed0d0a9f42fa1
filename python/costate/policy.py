"""A system and what controls it, as one System: gradients go through physics and policy together.

    balanced = costate.closed_loop(cart_pole, observe=lambda q, v: [q[0], np.sin(q[1]), np.cos(q[1]), *v], hidden=(32, 32),
                                   controls="range")
    own = costate.closed_loop(cart_pole, policy=lambda q, v, p: [-p.gain @ np.concatenate([q, v])], parameters={"gain": np.zeros(4)})

Weights are parameters by name. They can be given per world, minimised as a dict of arrays, and stored:

    weights = {name: value for name, value in balanced.parameters.items() if name.startswith("policy/")}
    np.savez("weights.npz", **weights)
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._recipe import remembered
from .error import Error
from .trace import record

_recorded_loop = remembered(_core._recorded_loop, __name__)  # type: ignore[attr-defined]
_network_loop = remembered(_core._network_loop, __name__)  # type: ignore[attr-defined]


def closed_loop(plant: _core.System, *, observe: Sequence[str] | Callable[..., Any] | None = None, hidden: int | Sequence[int] = 16,
                controls: str | tuple[npt.ArrayLike, npt.ArrayLike] = "unit", waves: int = 0, omega: float = 2 * np.pi, seed: int = 0,
                policy: Callable[..., Any] | None = None, parameters: Mapping[str, npt.ArrayLike] | None = None) -> _core.System:
    """A system and the network that controls it, as one System whose weights are parameters 'policy/...'.

    observe     globs (or one) of the states that the network sees, or a function of fields by name (or x, t) that returns a list of numbers; None: all
    hidden      numbers of a layer, or a list of them for several layers; tanh between them
    controls    'unit': between -1 and 1; 'range': between the limits of each actuator; or (lower, upper)
    waves       sines of time that it sees besides, at omega rad/s (one layer, controls='unit')
    policy      instead of a network: a function of fields by name (or x, p, t, k) that returns the controls, recorded like a
                system. `parameters`, {name: default}, are its own
    """
    if policy is not None:
        if observe is not None or waves or not isinstance(controls, str) or controls != "unit" or hidden != 16:
            raise Error("observe, hidden, controls and waves are of a network; a policy of your own says all that itself")
        return _of_function(plant, policy, dict(parameters or {}))
    if parameters is not None:
        raise Error("parameters are those of a policy of your own: give policy=, too")
    simple = isinstance(hidden, int) and not callable(observe) and isinstance(controls, str) and controls == "unit"
    if simple:
        return _network_loop(plant, [observe] if isinstance(observe, str) else observe, hidden, waves, omega, seed)
    if waves:
        raise Error("waves are seen by a network of one layer with controls='unit'; give observe=lambda q, t: [np.sin(t), ...] instead")
    return _of_function(plant, *_network(plant, observe, hidden, controls, seed))


def _of_function(plant, policy, parameters, hybrid=False):
    weights = _core.build_signature([], None, parameters)
    signature = _core._policy_signature(plant, weights)  # type: ignore[attr-defined]
    shapes = {name: np.shape(value) for name, value in parameters.items()}
    program = record(policy, signature, shapes=shapes, outputs=plant.signature.controls)
    return _recorded_loop(plant, weights, program, {name: shape for name, shape in shapes.items() if len(shape) > 1}, hybrid)


def _observer(plant, observe):
    """(numbers that are seen, the function of x and t that sees them)."""
    fields = {f.name: f for f in plant.signature.states}
    if not callable(observe):
        globs = ["**"] if observe is None else [observe] if isinstance(observe, str) else list(observe)
        names = _core._matching_states(plant, globs)  # type: ignore[attr-defined]
        return sum(fields[name].size for name in names), lambda x, t: np.concatenate([np.reshape(x[name], (-1,)) for name in names])
    wanted = list(inspect.signature(observe).parameters)
    for name in wanted:
        if name not in fields and name not in ("x", "t"):
            raise Error(f"what is the argument '{name}' of observe? It takes x, t, or states by name: {', '.join(fields)}")

    def see(x: Any, t: Any) -> Any:
        given: dict[str, Any] = {name: t if name == "t" and "t" not in fields else x if name == "x" and "x" not in fields else x[name] for name in wanted}
        seen: Any = observe(**given)
        parts = seen if isinstance(seen, (list, tuple)) else [seen]
        return np.concatenate([np.reshape(part, (-1,)) for part in parts])

    start = plant.initial_state
    example = {name: start[f.offset:f.offset + f.size] if f.size > 1 else start[f.offset] for name, f in fields.items()}
    values: dict[str, Any] = {name: 0.0 if name == "t" and "t" not in fields else start if name == "x" and "x" not in fields else example[name]
              for name in wanted}
    seen: Any = observe(**values)
    return sum(np.size(part) for part in (seen if isinstance(seen, (list, tuple)) else [seen])), see


def _network(plant, observe, hidden, controls, seed):
    """(policy, parameters) of a network with tanh after every layer, its last outputs spread over the range of the controls."""
    inputs, see = _observer(plant, observe)
    layers = [hidden] if isinstance(hidden, int) else [int(n) for n in hidden]
    if not layers or min(layers) < 1:
        raise Error(f"hidden = {hidden}: a network needs at least one layer with at least one number")
    count = plant.signature.control_size
    if isinstance(controls, str):
        if controls not in ("unit", "range"):
            raise Error(f"controls = '{controls}': use 'unit', 'range' or (lower, upper)")
        lower, upper = (-np.ones(count), np.ones(count)) if controls == "unit" else _core.rigid.control_range(plant)
    else:
        lower, upper = (np.broadcast_to(np.asarray(bound, dtype=float), (count,)) for bound in controls)
    if not (np.all(np.isfinite(lower)) and np.all(np.isfinite(upper)) and np.all(lower <= upper)):
        raise Error("not every control has a range: give controls=(lower, upper)")
    middle, half = (upper + lower) / 2, (upper - lower) / 2
    rng = np.random.default_rng(seed)
    sizes, parameters = [inputs, *layers, count], {}
    for i, (n, m) in enumerate(zip(sizes, sizes[1:]), 1):
        parameters[f"policy/w{i}"] = rng.standard_normal((m, n)) / np.sqrt(n)
        parameters[f"policy/b{i}"] = np.zeros(m) if m > 1 else 0.0

    def network(x, p, t):
        h = see(x, t)
        for i in range(1, len(sizes)):
            h = np.tanh(np.reshape(p[f"policy/w{i}"] @ h, (-1,)) + p[f"policy/b{i}"])
        return middle + half * h

    timed = "dt" in plant.parameters
    return (network if timed else lambda x, p: network(x, p, 0.0)), parameters
