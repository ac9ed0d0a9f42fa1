"""A rollout of one world as linear maps: what controllers start from, and the Jacobians of its states.

    along = sim.linearize(x0, u)         # dx[k+1] = along.A[k] dx[k] + along.B[k] du[k]
    jacobian = sim.jacobian(x0, u, p)    # of the final state, or of the kept states where the rollout keeps some
    jacobian.x0, jacobian.controls, jacobian.parameters["length"]
"""
from __future__ import annotations

import dataclasses

import numpy as np

from . import _core


@dataclasses.dataclass(repr=False)
class Linearization:
    """dx[k+1] = A[k] dx[k] + B[k] du[k] + sum over names of parameters[name][k] dp, along the states of a rollout."""
    states: np.ndarray  #: (steps + 1, states)
    A: np.ndarray  #: (steps, states, states)
    B: np.ndarray  #: (steps, states, controls)
    parameters: dict[str, np.ndarray]  #: {name: (steps, states, size)}, of the active ones

    def __repr__(self):
        return f"Linearization: A {self.A.shape}, B {self.B.shape}, {len(self.parameters)} parameters"


@dataclasses.dataclass(repr=False)
class Jacobian:
    """Derivatives of the final state, (states,), or of the kept states, (kept, states): those axes first, then those of the input."""
    x0: np.ndarray  #: (..., states)
    controls: np.ndarray  #: (..., knots, controls)
    parameters: dict[str, np.ndarray]  #: {name: (..., size)}; a parameter of one number has no axis of its own

    def __repr__(self):
        return (f"Jacobian: with respect to x0 {self.x0.shape}, controls {self.controls.shape}"
                + "".join(f", {name} {value.shape}" for name, value in list(self.parameters.items())[:8])
                + (", ..." if len(self.parameters) > 8 else ""))


def linearize(sim: _core.Rollout, x0=None, u=None, p=None) -> Linearization:
    """The steps of one world as linear maps along its trajectory, exact: A, B and, of active parameters, C."""
    states, a, b, c = sim._linearize(x0, u, p)  # type: ignore[attr-defined]
    sizes = {f.name: f.size for f in sim.system.signature.parameters}
    parameters, at = {}, 0
    for name in sim.active:
        parameters[name] = c[:, :, at:at + sizes[name]]
        at += sizes[name]
    return Linearization(states, a, b, parameters)


def jacobian(sim: _core.Rollout, x0=None, u=None, p=None) -> Jacobian:
    """Derivatives of one world's final state, or of its kept states (keep > 0), with respect to x0, controls and active parameters."""
    states, a, b, c = sim._linearize(x0, u, p)  # type: ignore[attr-defined]
    steps, n, m = len(a), a.shape[1], b.shape[2]
    kept = range(0, steps + 1, sim.keep) if sim.keep else [steps]
    rows = np.empty((len(kept), n, n + sim.knots * m + c.shape[2]), a.dtype)
    now = np.zeros(rows.shape[1:], a.dtype)  # d x_k / d (x0, controls, parameters)
    now[:, :n] = np.eye(n)
    ends = n + sim.knots * m
    for k in range(steps + 1):
        if k in kept:
            rows[kept.index(k)] = now
        if k == steps:
            break
        now = a[k] @ now
        knot = n + k // sim.hold * m
        now[:, knot:knot + m] += b[k]
        now[:, ends:] += c[k]
    if not sim.keep:
        rows = rows[0]
    lead = rows.shape[:-1]
    own = sim.system.parameters
    parameters, at = {}, ends
    for name in sim.active:
        parameters[name] = rows[..., at:at + own[name].size].reshape(lead + own[name].shape)
        at += own[name].size
    return Jacobian(rows[..., :n], rows[..., n:ends].reshape(lead + (sim.knots, m)), parameters)
