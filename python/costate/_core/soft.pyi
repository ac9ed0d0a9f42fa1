"""Masses and springs."""

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
