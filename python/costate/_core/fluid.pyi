"""Incompressible flow."""

from collections.abc import Sequence
import os

import numpy.typing

import costate._core


def flow(cells: Sequence[int], *, width: object = 1.0, dt: float = 0.01, viscosity: numpy.typing.ArrayLike = 0.01, force: object | None = None, sides: dict = {}, obstacles: list = [], scalars: list = [], push: bool = False, scheme: str = 'rk3', pressure: bool = False, resistance: numpy.typing.ArrayLike = 0.0, smagorinsky: float = 0.0, implicit: bool = False, limited: bool = False, tracers: list = [], probes: list = [], dissipation: bool = False, reactions: list = [], model: str | os.PathLike | None = None, keyframe: str | None = None, density: float = 1000.0, geoms: Sequence[str] = []) -> costate._core.System:
    """
    Incompressible flow in a box of cells = (nx, ny) or (nx, ny, nz), on a staggered grid.

    width      of a cell: one number, or one per axis; on a stretched grid, for an axis, one per cell, or pairs
               of a place and how wide cells are there: [[0, 4], [0.15, 1], [0.35, 1], [2.2, 8]]
    viscosity  one number, or one per cell; force: one number per axis
    sides      {'west': {'velocity': [u, v], 'driven': False}, 'east': 'outflow', 'south': 'wall', 'north': 'slip'};
               others are periodic. A component is one number, or one per face. Driven: a control
    obstacles  [{'name': 'body', 'shape': 'ball', 'center': [x, y], 'size': r, 'angle': 0, 'velocity': [0, 0], 'spin': 0,
               'driven': False, 'moves': False, 'mask': 1, 'core': 'firm'}]; core: firm, soft, surface; shapes: ball (radius), ellipsoid (semi-axes), fourier (r_0, a_1, b_1, ...), box (half edges),
               capsule (radius, half length), level (the depth inside of every cell: outline, spline, mesh).
               'free': {'mass': m, 'inertia': I, 'gravity': [0, -9.8], 'spring': [0, 0, k], 'damper': ..., 'axes': [True, True, True]}:
               the flow moves it; mass and inertia beyond the fluid it displaces
    scalars    [{'name': 'c', 'diffusivity': 0.01, 'buoyancy': [0, 0], 'source': 0, 'sides': {'south': 1},
               'carried': 'central'}]; or 'limited': upwind without ripples; 'semi_lagrangian', 'mac_cormack': with the scheme 'semi_lagrangian'
    reactions  [{'name': 'burning', 'rate': 1.0, 'takes': {'A': 1, 'B': 2}, 'makes': {'C': 1}}] of scalars: rate A B^2 per second
    push       a force on every face is a control
    scheme     'rk3', 'euler', for smoke 'semi_lagrangian'; 'stokes': a step leads to the steady creeping flow
    pressure   the state has 'p' of every cell, over density
    resistance of 'stokes', one number or one per cell: of a porous medium
    smagorinsky  constant of the viscosity of eddies that the grid does not resolve, about 0.1; 0: none
    implicit   viscosity does not limit dt
    limited    speeds are carried by limited upwind fluxes, without ripples
    tracers    [{'name': 'seeds', 'count': 10}]: points that the flow carries along; the state has x, y (and z) of each in turn
    probes     [{'name': 'inlet', 'place': [x, y], 'minus': [x, y]}]: the state has 'inlet/velocity', 'inlet/T' of every scalar, with pressure 'inlet/p'; with minus how much they differ from there
    dissipation  the state has 'dissipation', by viscosity; a scalar with 'mix_norm': True has '<scalar>/mix_norm_squared'
    model      a file of rigid bodies (MJCF, URDF) that swim in two dimensions, from `keyframe` on: the state has
               'model/q', 'model/v', its actuators are controls, its `geoms` (all of what can move) obstacles; density:
               of the fluid, times the depth of the model

    state      'u', 'v', 'w' on faces, x fastest, nx + 1 per row of 'u' where x does not wrap; scalars in cells;
               '<obstacle>/force', '<obstacle>/torque' of the last step; '<obstacle>/moved', '<obstacle>/turned' of one that moves, '<obstacle>/rate' of a free one
    parameter  'viscosity' per cell, 'force', 'dt', 'west/u', ..., '<scalar>/diffusivity', '<reaction>/rate', '<obstacle>/center', ...
    """
