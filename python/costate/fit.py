"""Parameters and starts of a simulation from measurements, with how well they are determined."""
from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from . import _core
from .error import Error
from .optimise import LeastSquares, least_squares


@dataclasses.dataclass(repr=False)
class Fit(LeastSquares):
    """The best fit. Print it for the estimates with their standard deviations."""
    predictions: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)  #: {field: as the data} of the best fit


def fit(sim: _core.Rollout, data: Mapping[str, npt.ArrayLike], variables: Mapping[str, npt.ArrayLike], *,
        x0: npt.ArrayLike | Mapping[str, npt.ArrayLike] | None = None, u: npt.ArrayLike | Mapping[str, npt.ArrayLike] | None = None,
        p: Mapping[str, npt.ArrayLike] | None = None, sigma: float | Mapping[str, npt.ArrayLike] | None = None,
        lower: Mapping[str, npt.ArrayLike] | None = None, upper: Mapping[str, npt.ArrayLike] | None = None,
        iterations: int = 100, tolerance: float = 1e-10, laplace: bool = False, callback=None) -> Fit:
    """Passes a rollout as near as possible to measurements, by least squares with exact Jacobians.

        sim = pendulum.rollout(500, keep=10)
        print(costate.fit(sim, {"angle": measured}, {"length": 1.0, "rate": 0.0}, x0=[0.8, 0.0], sigma=0.01))

    sim        a rollout that keeps states: measurement number i belongs to the i-th kept one
    data       {field of the state: (kept, size) or (kept, worlds, size)}; nan where nothing was measured. A field of one number may
               come without its axis
    variables  {name: first guess}: parameters of the system, and fields of the state, which mean the start (of every world)
    x0, u, p   everything else, as of sim.simulate; a batch of worlds is a batch of experiments with the same parameters
    sigma      standard deviation of a measurement, or {field: of its data}. None: all are equally exact, and how exact is read off the fit
    lower, upper   bounds of the variables, {name: value}
    laplace    True: Fit.laplace_covariance as well, from the whole Hessian, by exact second derivatives of the steps
    """
    problem = _Problem(sim, data, variables, x0, u, p, sigma)
    found = least_squares(problem.residuals, problem.guess, lower=lower, upper=upper, iterations=iterations, tolerance=tolerance,
                          scaled=sigma is None, callback=callback)
    facts = {f.name: getattr(found, f.name) for f in dataclasses.fields(LeastSquares)}
    if laplace:
        facts["curvature"] = problem.curvature(found.x)
    return Fit(**facts, predictions=problem.predictions(found.x))


class _Problem:
    def __init__(self, sim, data, variables, x0, u, p, sigma):
        if not sim.keep:
            raise Error("the rollout keeps no states to compare with the data: make it with keep=1 or more")
        system = sim.system
        self.fields = {f.name: f for f in system.signature.states}
        parameters = system.parameters
        for name in variables:
            if name not in parameters and name not in self.fields:
                raise Error(f"there is no parameter and no state '{name}' to vary: states are {', '.join(self.fields)}; parameters are in "
                            "system.signature")
        # Columns of what is not varied are not computed.
        options = copy.copy(sim).__reduce__()[1][2]
        self.sim = system.rollout(sim.steps, **{**options, "worlds": None, "active": [n for n in variables if n in parameters]})
        self.guess = {}
        for name, value in variables.items():
            shape = parameters[name].shape if name in parameters else ((self.fields[name].size,) if self.fields[name].size > 1 else ())
            value = np.asarray(value, dtype=float)
            if value.size != 1 and value.shape not in (shape, (int(np.prod(shape)),)):
                raise Error(f"the first guess of '{name}' has the shape {value.shape} instead of {shape}")
            self.guess[name] = np.broadcast_to(value, shape).copy() if value.size == 1 else value.reshape(shape)
        start = system.initial_state if x0 is None else x0
        if isinstance(start, Mapping):
            start = np.atleast_2d(self._joined(start, system))
        self.x0 = np.atleast_2d(np.asarray(start, dtype=float))
        self.u = None if u is None else self.sim_controls(u, system)
        self.p = {name: self._rows(np.asarray(value, dtype=float), parameters.get(name)) for name, value in (p or {}).items()}
        self.worlds = max(len(self.x0), 1 if self.u is None else len(self.u), *(len(rows) for rows in self.p.values()))
        for what, rows in (("x0", self.x0), ("u", self.u), *self.p.items()):
            if rows is not None and len(rows) not in (1, self.worlds):
                raise Error(f"{what} is given for {len(rows)} experiments, others for {self.worlds}")
        self.kept = sim.steps // sim.keep + 1
        self._take_data(data, sigma)

    @staticmethod
    def _rows(value, default):
        """A row for each experiment, or one for all."""
        shared = default is None or value.ndim == 0 or value.shape in (default.shape, (default.size,))
        return value[None] if shared else value

    @staticmethod
    def _joined(start, system):
        from ._fields import join

        return join(system.signature.states, start, system.initial_state)

    def sim_controls(self, u, system):
        if isinstance(u, Mapping):
            from ._fields import join

            u = join(system.signature.controls, u, np.zeros(system.signature.control_size))
        u = np.asarray(u, dtype=float)
        if u.ndim == 1:
            u = u[:, None]
        return u if u.ndim == 3 else u[None]

    def _take_data(self, data, sigma):
        if not data:
            raise Error("there are no data: give {field of the state: (kept, size)}")
        if isinstance(sigma, Mapping) and set(sigma) != set(data):
            raise Error(f"sigma is given for {', '.join(map(str, sigma)) or 'nothing'}, the data are of {', '.join(map(str, data))}")
        self.data, self.sigma, self.shapes = {}, {}, {}
        for name, values in data.items():
            if name not in self.fields:
                raise Error(f"there is no state '{name}' to compare with: states are {', '.join(self.fields)}")
            values = np.asarray(values, dtype=float)
            self.shapes[name] = values.shape
            size = self.fields[name].size
            wanted = [(self.kept, self.worlds, size)] + [(self.kept, size)] * (self.worlds == 1)
            wanted += [shape[:-1] for shape in wanted] if size == 1 else []
            if values.shape not in wanted:
                raise Error(f"the data of '{name}' have the shape {values.shape} instead of {' or '.join(map(str, wanted))}: one row for each "
                            f"kept state, of which the rollout has {self.kept}")
            self.data[name] = values.reshape(self.kept, self.worlds, size)
            spread = sigma[name] if isinstance(sigma, Mapping) else 1.0 if sigma is None else sigma
            spread = np.asarray(spread, dtype=float)
            if not np.all((spread > 0) & (spread < np.inf)):
                raise Error(f"sigma of '{name}' is not positive and finite")
            self.sigma[name] = np.broadcast_to(spread.reshape(self.data[name].shape) if spread.size == values.size else spread,
                                               self.data[name].shape)
        if all(np.isnan(d).all() for d in self.data.values()):
            raise Error("all of the data are nan")

    def _arguments(self, z, world):
        x0 = self.x0[world if len(self.x0) > 1 else 0].copy()
        for name, value in z.items():
            if name in self.fields:
                f = self.fields[name]
                x0[f.offset:f.offset + f.size] = value
        p = {name: rows[world if len(rows) > 1 else 0] for name, rows in self.p.items()}
        p.update({name: value for name, value in z.items() if name not in self.fields})
        return x0, None if self.u is None else self.u[world if len(self.u) > 1 else 0], p

    def predictions(self, z):
        states = np.stack([self.sim.simulate(*self._arguments(z, w)).states for w in range(self.worlds)], axis=1)
        return {name: states[..., f.offset:f.offset + f.size].reshape(self.shapes[name])
                for name, f in ((n, self.fields[n]) for n in self.data)}

    def curvature(self, z):
        """The sum of residuals times their second derivatives: a Hessian-vector product per number of z, with the residuals as cotangents
        that are held."""
        if not self.sim.system.second_order:
            raise Error("laplace=True needs second derivatives, which this system has not: leave it out")
        sizes = {name: np.size(value) for name, value in z.items()}
        total = np.zeros((sum(sizes.values()),) * 2)
        for world in range(self.worlds):
            x0, u, p = self._arguments(z, world)
            held = self._held(self.sim.simulate(x0, u, p).states, world)
            column = 0
            for name, size in sizes.items():
                for i in range(size):
                    unit = np.eye(1, size, i).reshape(np.shape(z[name]))
                    x0_dot, p_dot = np.zeros_like(x0), {}
                    if name in self.fields:
                        f = self.fields[name]
                        x0_dot[f.offset:f.offset + f.size] = unit
                    else:
                        p_dot = {name: unit}
                    _, rate = self.sim.pull_back_tangent(x0, u, p, x0_dot=x0_dot, p_dot=p_dot, states=held)
                    rates = {v: rate.x0[self.fields[v].offset:self.fields[v].offset + self.fields[v].size] if v in self.fields
                             else rate.parameters[v] for v in z}
                    total[:, column] += np.concatenate([np.ravel(rates[v]) for v in z])
                    column += 1
        return (total + total.T) / 2

    def _held(self, states, world):
        """The cotangents of the kept states: what was measured, its residual over sigma^2."""
        bars = np.zeros_like(states)
        for name, data in self.data.items():
            f = self.fields[name]
            measured = data[:, world]
            apart = (states[:, f.offset:f.offset + f.size] - measured) / self.sigma[name][:, world] ** 2
            bars[:, f.offset:f.offset + f.size] = np.where(np.isnan(measured), 0.0, apart)
        return bars

    def residuals(self, z):
        parts, rows = [], {name: [] for name in z}
        for world in range(self.worlds):
            arguments = self._arguments(z, world)
            states, jacobian = self.sim.simulate(*arguments).states, self.sim.jacobian(*arguments)
            for name, data in self.data.items():
                f = self.fields[name]
                here = slice(f.offset, f.offset + f.size)
                measured, sigma = data[:, world], self.sigma[name][:, world]
                there = ~np.isnan(measured)
                parts.append(((states[:, here] - measured) / sigma)[there])
                for variable, value in z.items():
                    if variable in self.fields:
                        v = self.fields[variable]
                        columns = jacobian.x0[:, here, v.offset:v.offset + v.size]
                    else:
                        columns = jacobian.parameters[variable][:, here]
                    columns = columns.reshape(columns.shape[:2] + np.shape(value))
                    rows[variable].append((columns / sigma.reshape(sigma.shape + (1,) * np.ndim(value)))[there])
        return np.concatenate(parts), {name: np.concatenate(part) for name, part in rows.items()}
