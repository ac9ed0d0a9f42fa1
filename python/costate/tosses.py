"""Recorded tosses of a body, and what their free flight says.

    tosses = costate.tosses.load("cube_tosses.npz")          # or a folder with a file for each toss
    print(costate.tosses.survey(tosses, half_width=0.0524))  # do lengths and times agree with gravity and with the body?
    flight = costate.tosses.flight(tosses[0], half_width=0.0524)
    flight.state                                             # q and v at the last frame before the touch, for a model with a free joint

Until it touches something, a body of isotropic inertia (a cube, a ball) flies as

    x(t) = x0 + v0 t + g t^2 / 2,    R(t) = exp(t [w]) R0

so that least squares over the frames of the flight give its state without a simulator, and more exactly than differences of two
frames. Formats: examples/python/toss_identify.py and docs/sim_and_real.md say where recordings come from.
"""
from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .error import Error

__all__ = ["Flight", "Survey", "Toss", "flight", "load", "survey"]

#: Columns of a row: where the quaternion (w x y z) and the position lie. ContactNets' own files measure in half widths of the cube.
_COLUMNS = {"pll": (slice(0, 4), slice(4, 7)), "contactnets": (slice(3, 7), slice(0, 3))}


@dataclasses.dataclass(repr=False)
class Toss:
    """Poses of one toss."""
    time: np.ndarray  #: (frames,) in s, from 0
    position: np.ndarray  #: (frames, 3) of the centre, in m
    quaternion: np.ndarray  #: (frames, 4) w x y z, body to world, without jumps of sign

    def __repr__(self):
        return f"Toss: {len(self.time)} frames in {self.time[-1]:.2f} s"

    def scaled(self, factor: float) -> Toss:
        """The same with lengths times `factor`."""
        return dataclasses.replace(self, position=factor * self.position)

    def lowest(self, half_width: float) -> np.ndarray:
        """The height of the lowest corner of a cube, (frames,)."""
        w, x, y, z = self.quaternion.T
        up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
        return self.position[:, 2] - half_width * np.abs(up).sum(axis=0)


@dataclasses.dataclass(repr=False)
class Flight:
    """The free flight at the beginning of a toss."""
    frame: int  #: The last one before the touch.
    state: np.ndarray  #: (13,) there: position, quaternion, velocity in the world, spin in the body, as the free joint of a model
    gravity: float  #: m/s^2, downwards
    noise: float  #: m, of a coordinate: what the parabola leaves


@dataclasses.dataclass(repr=False)
class Survey:
    """What flights and rests say of the units of a recording; every number with its standard error. Print it."""
    flights: int
    gravity: tuple[float, float]  #: m/s^2
    half_width: tuple[float, float]  #: m, from the height at which the cube rests
    noise: float  #: m

    def __repr__(self):
        return (f"{self.flights} flights: gravity {self.gravity[0]:.3f} +- {self.gravity[1]:.3f} m/s^2, poses to {1e6 * self.noise:.0f} um\n"
                f"at rest: half width {1e3 * self.half_width[0]:.3f} +- {1e3 * self.half_width[1]:.3f} mm")


def load(path: str | os.PathLike, *, rate: float = 148.0, half_width: float = 0.0524, columns: str | None = None) -> list[Toss]:
    """Tosses from a file or a folder.

    path        an .npz file with `rows`, `start` (toss i is rows[start[i]:start[i + 1]]) and perhaps `rate`; or a folder with one .npy,
                .csv or .pt (PyTorch) file for each toss, taken in the order of the numbers in their names
    rate        frames per second, where the file does not say
    columns     "pll": quaternion w x y z, position in m, then anything; "contactnets": position in half widths, quaternion, then
                anything. None: where the unit quaternion is
    half_width  m, of the cube whose half widths "contactnets" counts in
    """
    path = Path(path)
    if not rate > 0 or not half_width > 0:
        raise Error(f"rate = {rate}, half_width = {half_width}: both are positive")
    if columns is not None and columns not in _COLUMNS:
        raise Error(f"columns = '{columns}': there are 'pll' and 'contactnets'")
    if not path.exists():
        raise Error(f"{path}: there is no such file or folder")
    if path.is_dir():
        files = sorted((f for f in path.iterdir() if f.suffix in (".npy", ".csv", ".pt")), key=_numbers_in)
        if not files:
            raise Error(f"{path}: no .npy, .csv or .pt file lies there; one for each toss is wanted")
        named = [(str(f), _rows_of(f)) for f in files]
    else:
        named, rate = _archive(path, rate)
    return [_toss(name, rows, rate, half_width, columns) for name, rows in named]


def _numbers_in(file: Path):
    return [int(n) for n in re.findall(r"\d+", file.stem)], file.name


def _rows_of(file: Path) -> np.ndarray:
    try:
        if file.suffix == ".npy":
            return np.load(file)
        if file.suffix == ".csv":
            return np.loadtxt(file, delimiter=",", ndmin=2)
        import torch

        return torch.load(file, weights_only=True).numpy()
    except ImportError:
        raise Error(f"{file}: .pt files are read by PyTorch: pip install torch") from None
    except Exception as problem:  # whatever NumPy or PyTorch raise for what is not theirs
        raise Error(f"{file}: cannot be read as a table of numbers: {problem}") from None


def _archive(path: Path, rate: float):
    try:
        with np.load(path) as data:
            missing = [name for name in ("rows", "start") if name not in data]
            if missing:
                raise Error(f"{path}: holds {', '.join(data.files) or 'nothing'}, but not {' and '.join(missing)}")
            rows, start = data["rows"], np.asarray(data["start"], dtype=int)
            rate = float(data["rate"]) if "rate" in data else rate
    except (OSError, ValueError, AttributeError) as problem:
        raise Error(f"{path}: is not an .npz file: {problem}") from None
    if start.ndim != 1 or len(start) < 2 or start[0] < 0 or start[-1] > len(rows) or np.any(np.diff(start) <= 0):
        raise Error(f"{path}: `start` must rise from 0 to the number of rows, {len(rows)}")
    return [(f"{path}, toss {i}", rows[a:b]) for i, (a, b) in enumerate(zip(start[:-1], start[1:]))], rate


def _toss(name: str, rows: np.ndarray, rate: float, half_width: float, columns: str | None) -> Toss:
    rows = np.asarray(rows, dtype=float)
    if rows.ndim != 2 or rows.shape[1] < 7 or len(rows) < 2:
        raise Error(f"{name}: has the shape {rows.shape}; at least two frames of seven numbers are wanted")
    if not np.isfinite(rows).all():
        raise Error(f"{name}: frame {int(np.argmin(np.isfinite(rows).all(axis=1)))} is not finite")
    fits = [c for c, (q, _) in _COLUMNS.items() if np.all(np.abs(np.linalg.norm(rows[:, q], axis=1) - 1) < 1e-3)]
    if columns is None and len(fits) != 1:
        raise Error(f"{name}: {'both' if fits else 'neither'} of columns 1-4 and 4-7 are unit quaternions: say columns='pll' or 'contactnets'")
    columns = columns or fits[0]
    if columns not in fits:
        raise Error(f"{name}: has no unit quaternions where '{columns}' has them")
    where_q, where_x = _COLUMNS[columns]
    q = rows[:, where_q] / np.linalg.norm(rows[:, where_q], axis=1, keepdims=True)
    return Toss(np.arange(len(rows)) / rate, rows[:, where_x] * (half_width if columns == "contactnets" else 1.0), _without_jumps(q))


def _without_jumps(q: np.ndarray) -> np.ndarray:
    turns = np.where(np.sum(q[1:] * q[:-1], axis=1) < 0, -1.0, 1.0)
    return q * np.concatenate([[1.0], np.cumprod(turns)])[:, None]


def flight(toss: Toss, half_width: float, *, clearance: float = 0.003, at_least: int = 8, gravity: float | None = None) -> Flight | None:
    """The flight before the lowest corner comes within `clearance` of the floor at height 0; None if it has fewer than `at_least`
    frames. gravity: m/s^2, where it is known; else it is found."""
    low = toss.lowest(half_width) <= clearance
    frames = int(np.argmax(low)) if low.any() else len(low)
    if frames < max(4, at_least):
        return None
    t, x = toss.time[:frames] - toss.time[frames - 1], toss.position[:frames]
    powers = np.stack([np.ones_like(t), t], axis=1)
    fall = np.column_stack([powers, -0.5 * t * t]) if gravity is None else powers
    across, *_ = np.linalg.lstsq(powers, x[:, :2], rcond=None)
    down, *_ = np.linalg.lstsq(fall, x[:, 2] + (0 if gravity is None else 0.5 * gravity * t * t), rcond=None)
    left = np.concatenate([(x[:, :2] - powers @ across).ravel(), x[:, 2] - fall @ down + (0 if gravity is None else 0.5 * gravity * t * t)])
    q, spin = _turning(t, toss.quaternion[:frames])
    state = np.concatenate([across[0], down[:1], q, across[1], down[1:2], _turned_back(q, spin)])
    freedom = 3 * frames - 4 - fall.shape[1]
    return Flight(frames - 1, state, float(down[2]) if gravity is None else gravity, float(np.sqrt(left @ left / freedom)))


def _turning(t, q):
    """q0 and w of R(t) = exp(t [w]) R0, by Gauss and Newton: the rotations that are left are first order in both."""
    q0, w = q[-1], np.zeros(3)
    powers = np.stack([np.ones_like(t), t], axis=1)
    for _ in range(20):
        left = _rotation_vector(_product(q, _conjugate(_product(_quaternion(t[:, None] * w), q0))))
        change, *_ = np.linalg.lstsq(powers, left, rcond=None)
        q0, w = _product(_quaternion(change[0]), q0), w + change[1]
        if np.abs(change).max() < 1e-12:
            break
    return q0 / np.linalg.norm(q0), w


def _product(a, b):
    (aw, ax, ay, az), (bw, bx, by, bz) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack([aw * bw - ax * bx - ay * by - az * bz, aw * bx + ax * bw + ay * bz - az * by,
                     aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw], axis=-1)


def _conjugate(q):
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def _quaternion(r):
    """Of a rotation vector."""
    angle = np.linalg.norm(r, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2), 0.5 * np.sinc(angle / (2 * np.pi)) * r], axis=-1)


def _rotation_vector(q):
    q = q * np.where(q[..., :1] < 0, -1.0, 1.0)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    return 2 * q[..., 1:] * np.where(sine > 1e-12, np.arctan2(sine, q[..., :1]) / np.where(sine > 1e-12, sine, 1.0), 1.0)


def _turned_back(q, v):
    return _product(_product(_conjugate(q), np.concatenate([[0.0], v])), q)[1:]


def survey(tosses: Sequence[Toss], half_width: float, *, clearance: float = 0.003) -> Survey:
    """Gravity by the flights and the half width by the rests of a cube. Lengths that are a factor too short make both too small by
    that factor, a wrong rate changes gravity alone, and a wrong body the half width alone."""
    flights = [f for f in (flight(t, half_width, clearance=clearance) for t in tosses) if f is not None]
    if len(flights) < 2:
        raise Error(f"{len(flights)} of {len(tosses)} tosses fly for eight frames and more before they touch: two are needed")
    found = np.array([f.gravity for f in flights])
    heights = np.array([t.position[-1, 2] for t in tosses if np.ptp(t.position[-5:], axis=0).max() < 1e-3])
    if len(heights) < 2:
        raise Error("fewer than two tosses end at rest: half_width cannot be seen")
    of = lambda x: (float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))))
    return Survey(len(flights), of(found), of(heights), float(np.median([f.noise for f in flights])))
