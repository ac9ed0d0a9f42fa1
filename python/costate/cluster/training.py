"""pool.train: whole trainings as blocks. What a worker returns is the policy, as numbers."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..error import Error
from ..learn import Learner, Policy, Task
from .jobs import _Blocks
from .pool import Trained

_PARTS = ("sizes", "parameters", "mean", "deviation", "lower", "upper")


class TrainJob(_Blocks):
    """A run per point; its number is theta."""
    worlds = block = 1

    def __init__(self, task: Task | Callable[[], Task], runs: Sequence[Mapping[str, Any]], folder, episodes):
        if isinstance(runs, Mapping) or not len(runs):
            raise Error("train needs a list of options, one dict for each run: [dict(seed=1), dict(seed=2)]")
        if not (isinstance(task, Task) or callable(task)):
            raise Error(f"train needs a Task or a function that returns one, not a {type(task).__name__}")
        self.task, self.runs, self.episodes = task, [dict(run) for run in runs], int(episodes)
        self.folder = None if folder is None else os.fspath(folder)

    def _part(self, theta, first, count, gradient):
        run = int(theta["run"])
        learner = Learner(self.task if isinstance(self.task, Task) else self.task(), **self.runs[run])
        if self.folder is not None:
            os.makedirs(self.folder, exist_ok=True)
        learner.train(None if self.folder is None else os.path.join(self.folder, f"run_{run}.npz"), progress=False)
        returns, lengths = learner.evaluate(self.episodes)
        policy = learner.policy
        arrays = [np.ravel(np.asarray(getattr(policy, part), dtype=float)) for part in _PARTS]
        sums = np.concatenate([[float(np.mean(lengths))], [float(len(array)) for array in arrays], *arrays])
        return _core._cluster_part(float(np.mean(returns)), sums, None, [], first, count)  # type: ignore[attr-defined]


def trained(options, value, sums) -> Trained:
    ends = len(_PARTS) + 1 + np.cumsum(sums[1:len(_PARTS) + 1].astype(int))
    arrays = {part: sums[end - int(size):end] for part, size, end in zip(_PARTS, sums[1:], ends)}
    return Trained(dict(options), Policy(**arrays), float(value), float(sums[0]))
