"""Minimisation of functions of an array, or of arrays by name.

    best = costate.minimize(lambda p: loss_and_gradient(p), {"length": 1.0, "damping": [0.1, 0.1]})
    best.x["length"]
    fitted = costate.least_squares(residuals_and_jacobian, {"length": 1.0})
    fitted.standard_deviation["length"]
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from .error import Error

Point = npt.ArrayLike | Mapping[str, npt.ArrayLike]


# Settings that only some methods have.
ONLY = {"rate": ("lbfgs", "adam", "gradient_descent"), "decay": ("adam",), "momentum": ("gradient_descent",), "memory": ("lbfgs",),
        "sigma": ("cma_es",), "population": ("cma_es",), "seed": ("cma_es",)}


def _refuse_without_effect(method: str, given: Mapping[str, bool]):
    known = {m for methods in ONLY.values() for m in methods}
    for name in (n for n, is_given in given.items() if is_given and method in known and method not in ONLY[n]):
        of = " and ".join(f"'{m}'" for m in ONLY[name])
        raise Error(f"{name} with method = '{method}': {'only ' if len(ONLY[name]) == 1 else ''}{of} {'has' if len(ONLY[name]) == 1 else 'have'} "
                    f"a {name}")


def _real(values, what):
    try:
        if np.iscomplexobj(values):
            raise Error(f"{what} has complex numbers: give real and imaginary parts")
        return np.asarray(values, dtype=float)
    except (ValueError, TypeError) as error:
        raise Error(f"{what} is not an array of numbers: {error}") from None


class Pack:
    """Arrays by name as one vector, and back. An array without a name is left as it is."""

    def __init__(self, point: Point):
        values = dict(point) if isinstance(point, Mapping) else {"x": point}
        self.named = isinstance(point, Mapping)
        if not values:
            raise Error("there is nothing to vary: the dict of variables is empty")
        self.arrays = {name: _real(value, f"x0 of '{name}'" if self.named else "x0") for name, value in values.items()}
        ends = np.cumsum([a.size for a in self.arrays.values()])
        self.places = {name: slice(end - a.size, end) for (name, a), end in zip(self.arrays.items(), ends)}
        self.size = int(ends[-1])

    def vector(self, point: Point, what: str) -> np.ndarray:
        """A point, a gradient or bounds of the same names and shapes, as one vector. What is flat already may stay so."""
        if not self.named:
            return self._flat(point, self.arrays["x"], what)
        if not isinstance(point, Mapping):
            raise Error(f"{what} is a dict like x0: {{{', '.join(map(repr, self.arrays))}: ...}}")
        missing, unknown = self.arrays.keys() - point.keys(), point.keys() - self.arrays.keys()
        if missing or unknown:
            raise Error(f"{what} has " + " and ".join(
                [f"no {', '.join(sorted(missing))}"] * bool(missing) + [f"{', '.join(map(str, unknown))}, which x0 has not"] * bool(unknown)))
        parts = []
        for name, start in self.arrays.items():
            parts.append(self._flat(point[name], start, f"{what} of '{name}'"))
        return np.concatenate(parts)

    @staticmethod
    def _flat(values: Any, start: np.ndarray, what: str) -> np.ndarray:
        part = _real(values, what)
        if part.shape not in (start.shape, (start.size,)) and (part.size, start.size) != (1, 1):
            raise Error(f"{what} has the shape {part.shape} instead of {start.shape}")
        return part.ravel()

    def bounds(self, given, what: str):
        """Of all numbers; an array that is left out has none, and one number stands for a whole array."""
        if given is None:
            return None
        if not self.named:
            flat = np.shape(given) == (self.size,)
            return np.broadcast_to(given, (self.size,) if flat else self.arrays["x"].shape).astype(float).ravel()
        unknown = given.keys() - self.arrays.keys()
        if unknown:
            raise Error(f"{what} names {', '.join(map(str, unknown))}, which x0 has not")
        none = -np.inf if what == "lower" else np.inf
        return np.concatenate([np.broadcast_to(np.asarray(given.get(name, none), dtype=float), start.shape).ravel()
                               for name, start in self.arrays.items()])

    def scale(self, given) -> np.ndarray | None:
        """Of all numbers, each the unit that it is varied in."""
        if given is None:
            return None
        vector = np.full(self.size, float(given)) if np.ndim(given) == 0 and not isinstance(given, Mapping) else self.vector(given, "scale")
        if not np.all((vector > 0) & np.isfinite(vector)):
            raise Error("scale is how large changes of x usually are: positive numbers")
        return vector

    def point(self, vector: np.ndarray):
        if not self.named:
            return vector.reshape(np.shape(self.arrays["x"])) if np.ndim(self.arrays["x"]) > 1 else vector
        return {name: vector[self.places[name]].reshape(a.shape) for name, a in self.arrays.items()}

    def labels(self) -> list[str]:
        names = []
        for name, a in self.arrays.items():
            names += [name] if a.ndim == 0 else [f"{name}[{', '.join(map(str, i))}]" for i in np.ndindex(a.shape)]
        return names


@dataclasses.dataclass(repr=False)
class Optimum:
    """What an optimiser found."""
    x: Any  #: The best point seen: an array, or a dict of arrays as x0 was.
    value: float  #: There.
    gradient_norm: float  #: Largest component of the gradient that can still be followed, at the last point.
    iterations: int
    evaluations: int
    reason: str  #: Why it stopped, in words.
    converged: bool

    def __repr__(self):
        return f"{type(self).__name__}: value {self.value:.6g} after {self.iterations} iterations ({self.reason})\n{_shown(self.x)}"


def _shown(x, most=12):
    """x in a few lines."""
    with np.printoptions(threshold=most, edgeitems=3, precision=6):
        if not isinstance(x, dict):
            return f"  x = {np.asarray(x)}"
        lines = [f"  {name} = {np.asarray(value)}" for name, value in x.items()]
    return "\n".join(lines[:most] + [f"  ... and {len(lines) - most} more"] * (len(lines) > most))


@dataclasses.dataclass(repr=False)
class LeastSquares(Optimum):
    """The best fit: residuals and their Jacobian there, and how well the data determine it."""
    residuals: np.ndarray = dataclasses.field(default_factory=lambda: np.empty(0))
    jacobian: np.ndarray = dataclasses.field(default_factory=lambda: np.empty((0, 0)))  #: (residuals, numbers of x)
    names: list[str] = dataclasses.field(default_factory=list)  #: Of the numbers of x.
    scaled: bool = True  #: Whether the spread of the residuals says how exact the data are; otherwise they are in units of it.
    held: np.ndarray = dataclasses.field(default_factory=lambda: np.empty(0, dtype=bool))  #: Numbers of x at a bound.
    curvature: np.ndarray | None = None  #: What the Hessian of 1/2 |r|^2 has beside J'J: the sum of r times d2 r / dx2.

    @property
    def covariance(self) -> np.ndarray:
        """Of the numbers of x: the inverse of J'J, times the variance of the residuals where `scaled`. A number that is held at a
        bound has none. Infinite where the data do not determine x."""
        half = self._half()
        return self._of_free(np.inf if half is None else half @ half.T)

    @property
    def laplace_covariance(self) -> np.ndarray:
        """The same from the whole Hessian J'J + curvature (Laplace's approximation): infinite also where that is not the Hessian of a
        minimum. For a fit that was made with laplace=True."""
        if self.curvature is None:
            raise Error("this fit knows no second derivatives: make it with laplace=True")
        half = self._half()
        if half is None:
            return self._of_free(np.inf)
        free = ~self.held
        relative, directions = np.linalg.eigh(np.eye(half.shape[1]) + half.T @ self.curvature[np.ix_(free, free)] @ half)
        if half.shape[1] and relative[0] <= 0:
            return self._of_free(np.inf)
        half = half @ directions / np.sqrt(relative)
        return self._of_free(half @ half.T)

    def _half(self) -> np.ndarray | None:
        """H with (J'J)^-1 = H H', over the numbers that are not held; None where it does not exist."""
        free = ~self.held
        n, m = int(free.sum()), len(self.residuals)
        scale = np.linalg.norm(self.jacobian[:, free], axis=0)
        if n and (self.scaled and m <= n or m < n or np.any(scale == 0)):
            return None
        _, s, v = np.linalg.svd(self.jacobian[:, free] / scale, full_matrices=False)
        return None if n and s[-1] <= s[0] * 1e-13 else v.T / s / scale[:, None]

    def _of_free(self, inverse) -> np.ndarray:
        """Zero where a number is held, and times the variance of the residuals where `scaled`."""
        free = ~self.held
        found = np.zeros((len(free), len(free)))
        variance = self.residuals @ self.residuals / max(1, len(self.residuals) - int(free.sum())) if self.scaled else 1.0
        found[np.ix_(free, free)] = np.inf if np.ndim(inverse) == 0 else variance * inverse
        return found

    @property
    def standard_deviation(self):
        """Of x, in its shape: the roots of the covariance's diagonal."""
        return self._pack.point(np.sqrt(np.diag(self.covariance)))

    @property
    def correlation(self) -> np.ndarray:
        """The covariance in units of the standard deviations."""
        covariance = self.covariance
        sd = np.sqrt(np.diag(covariance))
        with np.errstate(invalid="ignore", divide="ignore"):
            return covariance / np.outer(sd, sd)

    @property
    def _pack(self):
        return Pack(self.x)

    def __repr__(self):
        values, sd = self._pack.vector(self.x, "x"), np.sqrt(np.diag(self.covariance))
        width = max(len(name) for name in self.names)
        rows = [f"  {name:{width}}  {number:12.6g} +- {error:.2g}{' (at a bound)' if held else ''}"
                for name, number, error, held in zip(self.names, values, sd, self.held)]
        most = 30
        rows = rows[:most] + [f"  ... and {len(rows) - most} more"] * (len(rows) > most)
        head = f"{type(self).__name__}: {len(self.residuals)} residuals, 1/2 |r|^2 = {self.value:.6g} after {self.iterations} iterations"
        return f"{head} ({self.reason})\n" + "\n".join(rows)


def minimize(fun: Callable, x0: Point, method: str = "lbfgs", *, lower: Point | None = None, upper: Point | None = None,
             iterations: int = 1000, tolerance: float = 1e-8, value_tolerance: float | None = None, target: float | None = None,
             clip: float | None = None, rate: float | None = None, decay: float = 1.0, momentum: float = 0.0, memory: int = 10,
             sigma: float | None = None, scale: Point | None = None, population: int = 0, seed: int = 1, batched: bool = False,
             callback: Callable[[_core.Progress], bool | None] | None = None) -> Optimum:
    """The minimum of a function that returns (value, gradient), or, for 'cma_es', the value alone.

    x0              an array, or {name: array}: then the function gets such a dict and returns a gradient of the same names
    method          'lbfgs', 'adam' or 'gradient_descent'; 'cma_es' needs no gradient
    lower, upper    bounds of x, like x0 (one number stands for an array; what is left out has none); None: none
    tolerance       of the largest component of the gradient
    value_tolerance of the relative decrease of the value in one iteration (lbfgs: 1e-13; otherwise 0, off)
    target          a value that is good enough
    clip            (adam, gradient_descent) gradients longer than this are shortened to it
    rate            step (adam, gradient_descent: 0.01), first step (lbfgs: 1); decay (adam), momentum (gradient_descent), memory (lbfgs)
    scale           how large changes of x usually are, like x0 or one number (1): x is varied in units of it, and rate, clip and the
                    tolerance are about a gradient with respect to x / scale. Give it where x is very large or small in your units
    sigma           (cma_es: 0.3) first width of the cloud of points, about a third of how far the minimum may lie, in units of `scale`
    population      (cma_es) points of a generation, which is an iteration; 0: 4 + 3 log n
    batched         (cma_es) the function takes a generation, (points, n), and returns its values, (points,): as Rollout.values does
    callback        called with a Progress after each iteration; False stops
    Ctrl-C stops too and returns the best point so far.
    """
    _refuse_without_effect(method, {"rate": rate is not None, "decay": decay != 1, "momentum": momentum != 0, "memory": memory != 10,
                                    "sigma": sigma is not None, "population": population != 0,
                                    "seed": seed != 1})
    pack = Pack(x0)
    if clip is not None and method not in ("adam", "gradient_descent"):
        raise Error(f"clip with method = '{method}': a line search needs the gradient as it is; use 'adam' or 'gradient_descent'")
    if clip is not None and not clip > 0:
        raise Error(f"clip = {clip}: the length that a gradient may have is positive")
    if batched and pack.named:
        raise Error("batched = True takes points as rows of an array: give x0 as an array")

    units = pack.scale(scale)
    unit = np.ones(pack.size) if units is None or method == "cma_es" else units  # cma_es knows its scale itself

    def on_vectors(vector):
        result = fun(pack.point(vector * unit))
        if not (isinstance(result, tuple) and len(result) == 2):
            return result
        gradient = pack.vector(result[1], "the gradient") * unit
        if clip is not None:
            length = np.linalg.norm(gradient)
            if length > clip:
                gradient = gradient * (clip / length)
        return result[0], gradient

    if value_tolerance is None:
        value_tolerance = 1e-13 if method == "lbfgs" else 0.0
    low, high = pack.bounds(lower, "lower"), pack.bounds(upper, "upper")
    found = _core._minimize(  # type: ignore[attr-defined]
        fun if batched else on_vectors, pack.vector(x0, "x0") / unit, method, lower=None if low is None else low / unit,
        upper=None if high is None else high / unit, iterations=iterations, tolerance=tolerance, value_tolerance=value_tolerance,
        target=target, rate=rate, decay=decay, momentum=momentum, memory=memory, sigma=sigma,
        scale=units if method == "cma_es" else None, population=population, seed=seed, batched=batched,
        callback=callback)
    return Optimum(pack.point(found.x * unit), *_facts(found))


def _facts(found):
    return (found.value, found.gradient_norm, found.iterations, found.evaluations, found.reason, found.converged)


def least_squares(fun: Callable, x0: Point, *, lower: Point | None = None, upper: Point | None = None, iterations: int = 100,
                  tolerance: float = 1e-10, scaled: bool = True,
                  callback: Callable[[_core.Progress], bool | None] | None = None) -> LeastSquares:
    """The least 1/2 |r|^2 of a function that returns (residuals, jacobian), by Levenberg-Marquardt, with residuals, Jacobian,
    covariance and standard deviations at the best point.

    x0       an array, or {name: array}: then the function gets such a dict, and returns a Jacobian {name: (residuals, *shape)}
    lower, upper   as of minimize
    scaled   True: how exact the data are is read off the residuals. False: they are already in units of their standard deviation
    """
    pack = Pack(x0)
    last = {}

    def on_vectors(vector):
        result = fun(pack.point(vector))
        if not (isinstance(result, tuple) and len(result) == 2):
            raise Error("the function returns (residuals, jacobian)")
        residuals, jacobian = _real(result[0], "the residuals").flatten(), result[1]  # a copy: the caller may use its array again
        if pack.named:
            if not isinstance(jacobian, Mapping) or set(jacobian) != set(pack.arrays):
                raise Error(f"the Jacobian is a dict like x0: {{{', '.join(map(repr, pack.arrays))}: (residuals, *shape)}}")
            rows = []
            for name, start in pack.arrays.items():
                part = _real(jacobian[name], f"the Jacobian of '{name}'")
                if part.shape != residuals.shape + start.shape:
                    raise Error(f"the Jacobian of '{name}' has the shape {part.shape} instead of {residuals.shape + start.shape}")
                rows.append(part.reshape(len(residuals), -1))
            jacobian = np.concatenate(rows, axis=1)
        else:
            jacobian = np.array(_real(jacobian, "the Jacobian"))
        last[vector.tobytes()] = residuals, jacobian
        while len(last) > 64:
            del last[next(iter(last))]
        return residuals, jacobian

    low, high = pack.bounds(lower, "lower"), pack.bounds(upper, "upper")
    found = _core._least_squares(  # type: ignore[attr-defined]
        on_vectors, pack.vector(x0, "x0"), lower=low, upper=high, iterations=iterations, tolerance=tolerance, callback=callback)
    residuals, jacobian = last.get(found.x.tobytes()) or on_vectors(found.x)
    jacobian = np.asarray(jacobian, dtype=float).reshape(len(residuals), pack.size)
    held = np.zeros(pack.size, dtype=bool)
    for bound in (low, high):
        if bound is not None:
            held |= found.x == bound
    value, norm, count, evaluations, reason, converged = _facts(found)
    return LeastSquares(pack.point(found.x), value, norm, count, evaluations, reason, converged, residuals, jacobian, pack.labels(),
                        scaled, held)
