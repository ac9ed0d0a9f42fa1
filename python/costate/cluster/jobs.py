"""Jobs: sums over many worlds, cut into blocks that can be computed anywhere."""
from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core, loss as _losses
from .._recipe import _model_of
from ..error import Error


class _Blocks:
    """What every job has."""

    worlds: int
    block: int
    model = ""  #: Fingerprint of the model, which driver and workers must agree about.

    def _check(self):
        if self.worlds < 1 or self.block < 1:
            raise Error(f"a job of {self.worlds} worlds in blocks of {self.block}: both are at least 1")

    @property
    def blocks(self) -> int:
        return -(-self.worlds // self.block)

    def worlds_of(self, number: int) -> tuple[int, int]:
        """The first world of a block, and how many it has."""
        first = number * self.block
        return first, min(self.block, self.worlds - first)

    def _part(self, theta, first: int, count: int, gradient: bool) -> bytes:
        raise NotImplementedError

    def part(self, theta: Mapping[str, np.ndarray], number: int, gradient: bool) -> bytes:
        """A block, ready to travel. What goes wrong in it travels too."""
        first, count = self.worlds_of(number)
        try:
            return self._part(theta, first, count, gradient)
        except Error as error:
            what, where, advice, numerics = error.what, error.where, error.advice, error.kind == "numerics"
        except Exception as error:
            what, where, advice, numerics = f"{type(error).__name__}: {error}", "", "", False
        place = f"block {number} (worlds {first} to {first + count - 1})"
        return _core._cluster_failure(what, f"{place}, {where}" if where else place, advice, numerics, first)  # type: ignore[attr-defined]

    def _identity(self) -> str:
        """Equal for two jobs whose blocks are interchangeable."""
        try:
            return _core._fingerprint(pickle.dumps(self))  # type: ignore[attr-defined]
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise Error(f"this job cannot be sent to another process: {error}; define its functions in a module, "
                        "not inside another function") from None


class Job(_Blocks):
    """A rollout of many worlds.

    sim      a Rollout; its steps, its settings and its active parameters are the job's, its number of worlds is not
    loss     as of sim.value_and_grad; targets of (worlds, ...) are one per world
    worlds   of the whole job, computed `block` at a time
    seed     of the noise, which depends on the number of a world and not on its block
    x0, u, p as of sim.value_and_grad: what is not in theta. Arrays with `worlds` rows are one row per world

    theta maps names of parameters to values that all worlds share; 'x0' and 'u' may be among them.
    """

    def __init__(self, sim: _core.Rollout, loss: _core.Loss | Callable, *, worlds: int, block: int = 256, seed: int | None = None,
                 x0: npt.ArrayLike | None = None, u: npt.ArrayLike | None = None, p: Mapping[str, npt.ArrayLike] | None = None):
        self.worlds, self.block = int(worlds), int(block)
        self._check()
        _, (self._system, self._steps, options) = sim.__reduce__()  # type: ignore[misc]
        self._options = dict(options) | ({} if seed is None else {"seed": seed})
        del self._options["worlds"]
        self._loss = loss if isinstance(loss, _core.Loss) else _losses.function(loss)
        self._x0, self._u = self._rows(x0, 1), self._rows(u, 2)
        self._p = {name: np.array(value, dtype=float) for name, value in (p or {}).items()}
        self.model = _model_of(self._system)
        self._ready = threading.local()

    @staticmethod
    def _rows(array, shared):
        if array is None:
            return None, False
        array = np.array(array, dtype=float)
        return array, array.ndim > shared

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_ready"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._ready = threading.local()

    def _of(self, count):
        """A rollout of so many worlds, and the place that says which: of this thread."""
        made = self._ready.__dict__.setdefault("made", {})
        if count not in made:
            first = _core._FirstWorld()  # type: ignore[attr-defined]
            system = _core._shifted_system(self._system, first)  # type: ignore[attr-defined]
            loss = _core._shifted_loss(self._loss, first, self.worlds)  # type: ignore[attr-defined]
            made[count] = first, system.rollout(self._steps, worlds=count, **self._options), loss
        return made[count]

    def _shared(self, name, value):
        """Whether these are the numbers of one parameter, and not rows of several worlds: by its size, since a block may have as
        many worlds as the parameter has numbers."""
        fields = self._system.signature.parameters
        names = set(self._system.signature.match([name]))
        return value.size == 1 or any(f.size == value.size for f in fields if f.name in names)

    def _arguments(self, theta, first, count):
        def rows(array, by_world):
            if by_world and len(array) != self.worlds:
                raise Error(f"an array of the job has {len(array)} rows for {self.worlds} worlds")
            return array[first:first + count] if by_world else array

        p = {name: rows(value, not self._shared(name, value)) for name, value in self._p.items()}
        shared = {name: np.asarray(value, dtype=float) for name, value in theta.items()}
        for name, value in shared.items():
            if name not in ("x0", "u") and not self._shared(name, value):
                raise Error(f"theta['{name}'] has the shape {value.shape}, and its values are shared by all worlds; what differs is p of the job")
        x0 = shared.pop("x0", None) if "x0" in shared else rows(*self._x0)
        u = shared.pop("u", None) if "u" in shared else rows(*self._u)
        return x0, u, p | shared

    def _part(self, theta, first, count, gradient):
        place, sim, loss = self._of(count)
        place.value = first
        x0, u, p = self._arguments(theta, first, count)
        if not gradient:
            values = np.atleast_1d(sim.values(x0, u, p, loss=loss))
            # Not a number: a world that is masked, or a loss that is not a number in a world that did not diverge.
            masked = sim.simulate(x0, u, p).diverged if np.isnan(values).any() else np.array([], dtype=int)
            return _core._cluster_part(float(np.sum(np.delete(values, masked))), [], None, masked.tolist(), first, count)  # type: ignore[attr-defined]
        value, g = sim.value_and_grad(x0, u, p, loss=loss)
        found = {**g.parameters, "x0": g.x0, "u": g.controls}
        for name in theta:
            if name not in found:
                raise Error(f"theta has '{name}', which is not an active parameter of the rollout; name it in active=")
        sums = np.concatenate([np.asarray(found[name], dtype=float).ravel() for name in theta])
        masked = list(g.report.masked_worlds)
        return _core._cluster_part(0.0 if len(masked) == count else value, sums, g.report, masked, first, count)  # type: ignore[attr-defined]


class FunctionJob(_Blocks):
    """A sum over worlds of what a function computes: fun(theta, first, count) returns (value, gradient), the gradient a dict like
    theta. For other processes the function is defined in a module, where they find it by its name."""

    def __init__(self, fun: Callable, *, worlds: int, block: int = 1):
        self.fun, self.worlds, self.block = fun, int(worlds), int(block)
        self._check()

    def _part(self, theta, first, count, gradient):
        value, found = self.fun(theta, first, count)
        sums = np.concatenate([np.asarray(found[name], dtype=float).ravel() for name in theta])
        return _core._cluster_part(float(value), sums, None, [], first, count)  # type: ignore[attr-defined]


class ResidualJob(_Blocks):
    """Least squares over worlds, of recordings for example: fun(theta, first, count) returns the residuals of these worlds and
    their Jacobian, (residuals, numbers of theta) or a dict like theta. For pool.least_squares.

    sigma_given   the residuals are in standard deviations of the measurements. Otherwise how exact the measurements are is read off
                  what the best fit leaves
    """

    def __init__(self, fun: Callable, *, worlds: int, block: int = 1, sigma_given: bool = False):
        self.fun, self.worlds, self.block, self._sigma_given = fun, int(worlds), int(block), bool(sigma_given)
        self._check()

    @property
    def sigma_given(self) -> bool:
        return self._sigma_given

    def _part(self, theta, first, count, gradient):
        r, jacobian = self.fun(theta, first, count)
        r = np.asarray(r, dtype=float).ravel()
        if isinstance(jacobian, Mapping):
            jacobian = np.concatenate([np.asarray(jacobian[name], dtype=float).reshape(len(r), -1) for name in theta], axis=1)
        J = np.asarray(jacobian, dtype=float).reshape(len(r), -1)
        upper = np.triu_indices(J.shape[1])
        sums = np.concatenate([J.T @ r, (J.T @ J)[upper], [float(len(r))]])
        return _core._cluster_part(0.5 * float(r @ r), sums, None, [], first, count)  # type: ignore[attr-defined]


class SceneJob(ResidualJob):
    """Identification from scene files, one recording each: the same variables, found from all of them together. For pool.least_squares.

    files      scenes with [fit]. They travel as text; recordings that they name are read where the workers are
    settings   values beside the files, as of costate.load_study
    block      files that a worker takes at a time

    theta maps names of the files' variables to values. A file that has no such variable says nothing about it.
    """

    def __init__(self, files: Sequence[str | os.PathLike[str]], *, settings: Mapping[str, Any] | None = None, block: int = 1):
        if isinstance(files, (str, os.PathLike)) or not len(files):
            raise Error("a SceneJob needs a list of scene files")
        self._scenes = _Scenes([os.path.abspath(file) for file in files], dict(settings or {}))
        super().__init__(self._scenes, worlds=len(files), block=block)

    @property
    def sigma_given(self) -> bool:
        """Whether a file says how exact its measurements are."""
        return any(self._scenes.study(number).sigma_given for number in range(self.worlds))

    @property
    def start(self) -> dict[str, float]:
        """The variables of the first file, with their values there: a theta to begin with."""
        study = self._scenes.study(0)
        return dict(zip(study.variables, study.start.tolist()))


class _Scenes:
    """Residuals of some of the files."""

    def __init__(self, files, settings):
        self.files, self.settings, self._open = files, settings, threading.local()
        self.texts = []
        for file in files:
            try:
                with open(file, encoding="utf-8") as scene:
                    self.texts.append(scene.read())  # what travels
            except OSError as error:
                raise Error(f"{file} cannot be read: {error.strerror}") from None

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_open"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._open = threading.local()

    def study(self, number):
        known = self._open.__dict__.setdefault("studies", {})
        if number not in known:
            known[number] = _core.parse_study(self.texts[number], self.files[number], self.settings or None)
        return known[number]

    def __call__(self, theta, first, count):
        residuals, rows = [], []
        for number in range(first, first + count):
            study = self.study(number)
            names = list(study.variables)
            x = np.array(study.start)
            for name in theta.keys() & set(names):
                x[names.index(name)] = float(theta[name])
            r, J = study.residuals(x)
            nothing = np.zeros(len(r))
            residuals.append(r)
            rows.append(np.stack([J[:, names.index(name)] if name in names else nothing for name in theta], axis=1))
        return np.concatenate(residuals), np.concatenate(rows)
