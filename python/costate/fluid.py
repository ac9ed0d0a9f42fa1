"""Incompressible flow in two and three dimensions: walls, inflows, obstacles, and what the flow carries along."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._recipe import remembered
from .error import Error

__all__ = ["Collocated", "cell_places", "flow", "graded_widths", "mesh_depths", "mesh_depths_vjp", "outline_depths", "outline_depths_vjp", "shape_scatter",
           "spline_corners", "spline_corners_vjp"]

flow = remembered(_core.fluid.flow, "costate.fluid")


def graded_widths(at: npt.ArrayLike, cells: int = 0) -> np.ndarray:
    """Widths of the cells along an axis, from pairs of a place and how wide cells are there.

    With a number of cells only ratios of widths count; with 0, cells are as wide as told but for what whole cells take.
    """
    return np.array(_core.fluid._graded_widths(at, cells))  # type: ignore[attr-defined]


def _middles(n: int, width: Any) -> np.ndarray:
    w = np.asarray(width, dtype=float)
    if w.ndim == 0:
        return (np.arange(n) + 0.5) * w
    w = graded_widths(w, n) if w.ndim == 2 else w
    return np.cumsum(w) - w / 2


def cell_places(cells: Sequence[int], width: Any) -> np.ndarray:
    """The middles of all cells, x fastest: (cells, 2) or (cells, 3). The width is what `flow` is given."""
    per_axis = [width] * len(cells) if np.isscalar(width) else width
    axes = np.meshgrid(*(_middles(n, w) for n, w in zip(cells[::-1], list(per_axis)[::-1])), indexing="ij")
    return np.stack([a.ravel() for a in axes[::-1]], axis=1)


def outline_depths(places: npt.ArrayLike, corners: npt.ArrayLike) -> np.ndarray:
    """How deep places lie inside a closed polygon of corners (x, y): the `size` of an obstacle of the shape 'level'."""
    return np.array(_core.fluid._outline_depths(places, np.ravel(corners)))  # type: ignore[attr-defined]


def outline_depths_vjp(places: npt.ArrayLike, corners: npt.ArrayLike, depths_bar: npt.ArrayLike) -> np.ndarray:
    """The cotangents of the corners, given those of the depths."""
    shape = np.shape(corners)
    return np.array(_core.fluid._outline_depths_vjp(places, np.ravel(corners), np.ravel(depths_bar))).reshape(shape)  # type: ignore[attr-defined]


def spline_corners(control: npt.ArrayLike, per: int = 8) -> np.ndarray:
    """Corners along the closed cubic B-spline of control points (x, y), `per` of them for every point."""
    return np.array(_core.fluid._spline_corners(np.ravel(control), per)).reshape(-1, 2)  # type: ignore[attr-defined]


def spline_corners_vjp(control: npt.ArrayLike, corners_bar: npt.ArrayLike, per: int = 8) -> np.ndarray:
    """The cotangents of the control points, given those of the corners."""
    shape = np.shape(control)
    return np.array(_core.fluid._spline_corners_vjp(int(np.prod(shape)), per, np.ravel(corners_bar))).reshape(shape)  # type: ignore[attr-defined]


def mesh_depths(places: npt.ArrayLike, vertices: npt.ArrayLike, triangles: npt.ArrayLike) -> np.ndarray:
    """How deep places lie inside a closed surface of triangles."""
    return np.array(_core.fluid._mesh_depths(places, np.ravel(vertices), np.ravel(triangles).tolist()))  # type: ignore[attr-defined]


def mesh_depths_vjp(places: npt.ArrayLike, vertices: npt.ArrayLike, triangles: npt.ArrayLike, depths_bar: npt.ArrayLike) -> np.ndarray:
    """The cotangents of the vertices, given those of the depths."""
    bar = _core.fluid._mesh_depths_vjp(places, np.ravel(vertices), np.ravel(triangles).tolist(), np.ravel(depths_bar))  # type: ignore[attr-defined]
    return np.array(bar).reshape(np.shape(vertices))


def shape_scatter(sim: _core.Rollout, obstacle: str, *, width: npt.ArrayLike, loss: Any, x0: Any = None, u: Any = None,
                  p: Mapping[str, npt.ArrayLike] | None = None, places: int = 4) -> dict[str, Any]:
    """How much the derivative with respect to an obstacle's shape depends on where it lies between the cells.

    The obstacle is moved by fractions of a cell (`width`), 1/places at a time, and the gradient is computed in each place; it needs
    `obstacle/size` among the active parameters. Returns the derivatives in all places, their mean, and `scatter`: the largest
    distance from the mean, relative to it. What is larger than a few percent is the grid's, not the body's: take finer cells.
    """
    field = next((f for f in sim.system.signature.parameters if f.name == f"{obstacle}/center"), None)
    if field is None:
        raise Error(f"there is no obstacle '{obstacle}'")
    given = dict(p or {})
    center = np.broadcast_to(np.asarray(given.get(field.name, field.defaults), dtype=float), (field.size,))
    h = np.broadcast_to(np.asarray(width, dtype=float), center.shape)
    found = []
    for k in range(places):
        shift = np.array([k, (3 * k) % places, k][:len(center)]) / places
        _, gradient = sim.value_and_grad(x0, u, {**given, field.name: center + shift * h}, loss=loss)
        found.append(np.atleast_1d(gradient.parameters[f"{obstacle}/size"]))
    derivatives = np.array(found)
    mean = derivatives.mean(axis=0)
    scatter = float(np.linalg.norm(derivatives - mean, axis=1).max() / np.linalg.norm(mean))
    return {"derivatives": derivatives, "mean": mean, "scatter": scatter}


class Collocated:
    """A flow in a periodic box as functions of arrays in the middle of cells: `apply` and its transpose, as harnesses that compare
    solvers want them.

        solver = Collocated((64, 64), width=2*np.pi/64, dt=0.01, viscosity=0.01, steps=100)
        v = solver.apply({"velocity": v0})["velocity"]                            # (2, 64, 64): components, y, x
        bars = solver.vjp({"velocity": v0}, ["velocity", "viscosity"], {"velocity": v_bar})

    inputs    "velocity", and where they are given "viscosity" (one number, or one per cell), "force", "dt"
    Between the middles and the faces of cells fields are shifted by half a cell in Fourier space, which is exact for what a grid
    resolves; a mean of neighbours would damp it.
    """

    def __init__(self, cells: Sequence[int], *, steps: int, dtype: str = "float64", checkpoints: Any = None, **options: Any):
        if options.get("sides"):
            raise Error("a collocated flow is periodic", advice="leave out the sides, or use costate.fluid.flow")
        self.cells = tuple(cells)
        self._system = flow(self.cells, **options)
        names = ["viscosity", "force", "dt"]
        extra = {} if checkpoints is None else {"checkpoints": checkpoints}
        self._sim = self._system.rollout(steps, active=names, dtype=dtype, **extra)
        self._count = len(self.cells) * int(np.prod(self.cells))

    def _shifted(self, fields: npt.ArrayLike, to_faces: bool) -> np.ndarray:
        """Component a by half a cell along axis a. The transpose of a shift is the shift back."""
        dim, result = len(self.cells), []
        for a, field in enumerate(np.asarray(fields, dtype=float)):
            axis = dim - 1 - a
            k = 2 * np.pi * np.fft.fftfreq(self.cells[a])
            factor = np.exp((-0.5j if to_faces else 0.5j) * k)
            if self.cells[a] % 2 == 0:
                factor[self.cells[a] // 2] = 0  # half a cell of the shortest wave cannot be told from less of it
            shape = [1] * dim
            shape[axis] = -1
            result.append(np.fft.ifft(np.fft.fft(field, axis=axis) * factor.reshape(shape), axis=axis).real)
        return np.stack(result)

    def _arguments(self, inputs: Mapping[str, npt.ArrayLike]) -> tuple[np.ndarray, dict[str, Any]]:
        p: dict[str, Any] = {}
        for name, value in inputs.items():
            if name == "viscosity":
                p[name] = np.broadcast_to(np.ravel(value), (int(np.prod(self.cells)),))
            elif name in ("force", "dt"):
                p[name] = value
            elif name != "velocity":
                raise Error(f"there is no input '{name}'", advice="there is velocity, viscosity, force, dt")
        x0 = np.zeros(self._system.signature.state_size)
        x0[:self._count] = self._shifted(inputs["velocity"], True).ravel()
        return x0, p

    def apply(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, np.ndarray]:
        """The velocity after all steps."""
        x0, p = self._arguments(inputs)
        final = np.asarray(self._sim.simulate(x0, p=p).final_state, dtype=float)
        return {"velocity": self._shifted(final[:self._count].reshape(len(self.cells), *self.cells[::-1]), False)}

    def vjp(self, inputs: Mapping[str, npt.ArrayLike], of: Sequence[str], bars: Mapping[str, npt.ArrayLike]) -> dict[str, np.ndarray]:
        """Cotangents of the inputs `of`, given the one of the velocity after all steps."""
        x0, p = self._arguments(inputs)
        x_bar = np.zeros_like(x0)
        x_bar[:self._count] = self._shifted(bars["velocity"], True).ravel()
        gradient = self._sim.pull_back(x0, p=p, final_state=x_bar)
        found: dict[str, np.ndarray] = {}
        for name in of:
            if name == "velocity":
                faces = np.asarray(gradient.x0, dtype=float)[:self._count].reshape(len(self.cells), *self.cells[::-1])
                found[name] = self._shifted(faces, False)
            elif name == "viscosity" and np.size(inputs.get(name, 0)) == 1:
                found[name] = np.sum(gradient.parameters[name])
            elif name in ("viscosity", "force", "dt"):
                found[name] = np.asarray(gradient.parameters[name])
            else:
                raise Error(f"there is no input '{name}'", advice="there is velocity, viscosity, force, dt")
        return found
