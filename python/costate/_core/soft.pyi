"""Masses and springs; soft bodies and cloth."""

from collections.abc import Sequence
import os

import numpy
import numpy.typing

import costate._core


def mass_spring(x: numpy.typing.ArrayLike, masses: numpy.typing.ArrayLike, springs: list, *, v: numpy.typing.ArrayLike | None = None, gravity: numpy.typing.ArrayLike | None = None, drag: float = 0.0, planes: list = [], contact: str = 'split', softening: float = 0.0001, dt: float = 0.001) -> costate._core.System:
    """
    Masses joined by springs, some of them muscles, above planes with friction.

    x          where they start, (masses, 2) or (masses, 3); v: how fast
    masses     one number, or one for each
    springs    [{'a': 0, 'b': 1, 'rest_length': 1.0, 'stiffness': 100.0, 'damping': 0.0, 'muscle': 0, 'strength': 0.1}, ...]
    planes     [{'normal': [0, 1], 'offset': 0.0, 'friction': 0.5}, ...]: masses stay where normal.x >= offset
    contact    'split' cuts a step at the time of impact, 'end_of_step' does not
    state 'x', 'v'; control 'actuation', one number a muscle; parameters 'mass', 'spring/stiffness', 'plane/friction', ...
    """

def bodies(rest: numpy.typing.ArrayLike, parts: list, materials: list, *, holds: list = [], x: numpy.typing.ArrayLike | None = None, v: numpy.typing.ArrayLike | None = None, gravity: numpy.typing.ArrayLike | None = None, drag: float = 0.0, wind: numpy.typing.ArrayLike | None = None, wind_drag: float = 0.0, wind_driven: bool = False, dt: float = 0.01, integrator: str = 'euler', tolerance: float = 1e-09, max_iterations: int = 100, obstacles: list = [], contact: object | None = None, model: str | os.PathLike | None = None, keyframe: str | None = None) -> costate._core.System:
    """
    Soft bodies and cloth: implicit steps with exact derivatives.

    rest        (vertices, 3), the shape without stress; x, v: where the bodies start, how fast
    parts       [{'name': 'flag', 'cells': 'triangles', 'vertices': (cells, 3), 'material': 0}, ...]; cells: tetrahedra,
                quadratic_tetrahedra, hexahedra, triangles, rods
    materials   [{'name': 'cotton', 'law': 'stvk', 'E': 1e5, 'nu': 0.3, 'density': 0.2, 'thickness': 1e-3, 'bending': 1e-5}, ...];
                'yield_curvature': 30 makes triangles keep creases where they are bent further
                laws of solids: neo_hookean, neo_hookean_j, neo_hookean_simple, neo_hookean_stable, fixed_corotated,
                corotated, arap, stvk, hencky, mooney_rivlin (c1, c2, bulk), fung (c, b1, b2, bulk); of triangles: stvk,
                neo_hookean, arap, limited (limit, stiffness), orthotropic (E1, E2, nu, G) and baraff_witkin (stretch_u, stretch_v, shear) along
                'warp'; of rods: rod (E, nu, a, b), rod_stiffness. fibre (k1, k2) and muscle (stiffness, contraction) lie along (ax, ay, az), in cells that
                another part has too. density is per volume, of triangles per area, of rods per length; 'driven': 'contraction' makes a number
                a control as well
    holds       [{'name': 'corner', 'vertices': [0, 5], 'driven': True, 'turns': True}, ...]: driven ones have a velocity
                as a control, turning ones a spin. A part with 'material': -1 is an obstacle: all its vertices are held
    obstacles   [{'name': 'floor', 'shape': 'plane', 'place': [0, 0, 0], 'normal': [0, 0, 1], 'friction': 0.3}, ...]; or
                'shape': 'ball' with a 'radius'
    contact     {'self': True, 'distance': 1e-3, 'stiffness': 1e4, 'friction': 0.3, 'slip_speed': 0.01,
                'area_weighted': True}: barriers count by their area, and stiffness is in Pa/m
    integrator  'euler', 'bdf2', 'midpoint', or 'still': a step goes to the state of rest
    tolerance   of the residual of a step, relative to the forces: about the error of a gradient
    model       a file of rigid bodies (MJCF, URDF), which starts at `keyframe`: a hold with 'body': 'finger' rides on
                that body, which feels what it feels

    state 'x', 'v'; control 'hold/<name>/velocity', 'drive/wind'; parameters 'rest', 'gravity', 'material/<name>/E', ...
    """

def cloth_mesh(size: Sequence[float], count: Sequence[int]) -> tuple[list[list[float]], list[list[int]]]:
    """
    Vertices and triangles of a rectangle with a corner at the origin, in the plane of x and y.
    """

def block_mesh(size: Sequence[float], count: Sequence[int], cells: str = 'tetrahedra') -> tuple[list[list[float]], list[list[int]]]:
    """Vertices and cells of a block with a corner at the origin."""

def ball_mesh(radius: float, count: int) -> tuple[list[list[float]], list[list[int]]]:
    """
    Vertices and triangles of a sphere around the origin: 4 count^2 + 2 vertices.
    """

def shirt_mesh(width: float, count: int, depth: float) -> tuple[list[list[float]], list[list[int]]]:
    """
    Vertices and triangles of a shirt: two panels sewn at shoulders, sides and sleeves, upright, its hem at z = 0.
    count: squares per fifth of the width (4: 1390 vertices); depth: how far each panel bulges.
    """

def rod_mesh(points: numpy.typing.ArrayLike, towards: Sequence[float], beside: float, closed: bool = False) -> tuple[list[list[float]], list[list[int]]]:
    """
    Vertices and segments of a rod through points (n, 3): the points first, then a frame point per segment,
    `beside` from its middle; a segment is (end, end, frame point). The first frame point lies `towards` that
    direction, the others follow without a twist.
    """

def tube_mesh(points: numpy.typing.ArrayLike, radii: Sequence[float], count: Sequence[int]) -> tuple[list[list[float]], list[list[int]]]:
    """
    Vertices and triangles of a tube along points (n, 3) with a radius at each; 0 at an end closes it.
    count: cells around, cells along.
    """

def read_mesh(path: str) -> dict:
    """
    Vertices and cells of a file: {'vertices': (n, 3), and 'triangles', 'tetrahedra',
    'quadratic_tetrahedra' or 'hexahedra'}. OBJ, PLY, STL; MSH of Gmsh (text, 2.2 and 4.1).
    """

def write_mesh(path: str, vertices: numpy.typing.ArrayLike, cells: numpy.typing.ArrayLike, kind: str = 'triangles') -> None:
    """
    Cells of one kind to a file: .obj, .ply, .stl (triangles), or .msh of Gmsh (all kinds).
    """

def contact_surface(rest: numpy.typing.ArrayLike, triangles: numpy.typing.ArrayLike, x: numpy.typing.ArrayLike | None = None, *, distance: float = 0.001, stiffness: float = 1.0, area_weighted: bool = False) -> dict:
    """
    The barriers of all pairs of a surface that touch at positions x (n, 3): {'energy', 'gradient' (n, 3),
    'pairs': their number}. rest: the shape without stress, which areas and nearly parallel edges are of.
    """

def contact_pair(points: numpy.typing.ArrayLike, *, edges: bool = False, distance: float = 0.001, stiffness: float = 1.0, parallel: float = 0.0) -> dict:
    """
    The barrier between a point and a triangle (points: the point, three corners), or between two edges
    (points: the ends of one, the ends of the other), as contact uses it: {'distance', 'weights',
    'energy', 'gradient' (4, 3), 'hessian' (12, 12), 'normal_force'}.

    distance    where the barrier begins, m; stiffness: J/m^2
    parallel    of edges: below this |a x b|^2 the barrier is taken away, m^4; contact takes
                1e-3 |a|^2 |b|^2 of the rest shape
    """

def contact_friction(points: numpy.typing.ArrayLike, displacements: numpy.typing.ArrayLike, friction: float, slip: float, *, edges: bool = False, distance: float = 0.001, stiffness: float = 1.0, parallel: float = 0.0) -> numpy.ndarray:
    """
    Forces of friction (4, 3) on the points of a pair that moved by `displacements` in a step that began at
    `points`. Below a length `slip` (slip_speed dt) friction sticks.
    """
