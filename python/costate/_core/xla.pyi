"""Custom calls for costate.jax."""

from collections.abc import Sequence

from typing_extensions import CapsuleType

import costate._core


def forward() -> CapsuleType: ...

def tangent() -> CapsuleType: ...

def backward() -> CapsuleType: ...

def forward_there() -> CapsuleType: ...

def backward_there() -> CapsuleType: ...

def register_rollout(rollout: costate._core.Rollout, parameters: Sequence[str]) -> int:
    """
    The number under which calls find a rollout. It stays: compiled functions may use it at any time.
    """
