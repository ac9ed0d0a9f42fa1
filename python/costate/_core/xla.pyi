"""Custom calls for costate.jax."""

from collections.abc import Sequence

import costate._core


forward: PyCapsule = ...

backward: PyCapsule = ...

def register_rollout(rollout: costate._core.Rollout, parameters: Sequence[str]) -> int:
    """
    The number under which calls find a rollout. It stays: compiled functions may use it at any time.
    """
