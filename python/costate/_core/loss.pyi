"""Objectives of a rollout."""

from collections.abc import Sequence

import numpy.typing

import costate._core


def final(field: str, target: numpy.typing.ArrayLike | None = None, weight: float = 1.0) -> costate._core.Loss:
    """
    1/2 weight |field - target|^2 of the final state. target: (size,) shared, or (worlds, size); None: zero.
    """

def track(field: str, steps: Sequence[int], targets: numpy.typing.ArrayLike, weight: float = 1.0) -> costate._core.Loss:
    """
    1/2 weight sum_j |field(step_j) - target_j|^2. targets: (steps, size), or (worlds, steps, size).
    """

def final_value(field: str, index: int = 0, weight: float = 1.0) -> costate._core.Loss:
    """weight * field[index] of the final state."""

def effort(weight: float = 1.0) -> costate._core.Loss:
    """1/2 weight sum_k |u_k|^2."""

def expression(text: str, when: object = 'end') -> costate._core.Loss:
    """
    A formula in the names of states, controls and parameters (arrays as name[i]), k and t, such as
    '0.5*(q - 1)^2 + 0.01*torque^2'. when: 'end', 'each_step' (before each step) or a list of steps.
    """

def sum(terms: Sequence[costate._core.Loss]) -> costate._core.Loss:
    """The sum of losses."""
