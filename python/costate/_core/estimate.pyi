"""Gradients of averages over noise."""

from collections.abc import Callable, Mapping, Sequence

import numpy.typing

import costate._core


def gradient(system: costate._core.System, loss: costate._core.Loss | Callable, steps: int, *, method: str = 'automatic', samples: int = 4096, parameters: str | Sequence[str] = '**', seed: int = 0, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, baseline: str = 'mean', every: int = 0, difference: float = 0.001, sigma: float = 0.01, reference: Sequence[tuple[str, Sequence[float]]] = [], checkpoints: object | None = None) -> dict:
    """
    The derivative of the average loss of one world with respect to its parameters (docs/estimators.md).

    method      automatic, pathwise, forward, girsanov, reinforce, reweighting, implicit, differences, continuous, first_order, zeroth_order, mixed_order
    samples     worlds, each with noise of its own
    parameters  with respect to which: a glob, or a list of globs
    baseline    of girsanov: none, mean or optimal
    every       of reinforce and reweighting: also states every so many steps of the second half
    difference  of differences: the step, relative to the numbers
    sigma       of the last three methods: how far the parameters are smoothed, relative to their size
    reference   of reweighting: [('double_well/b', [0.1])], where the samples are drawn
    checkpoints of pathwise: costate.store_all(), binomial(slots), reversible(), ...
    Returns a dictionary: value, gradient and the standard errors of both, method, label, reason,
    growth_rate (of adjoints per step), memory_bytes (that grow with the steps), ...
    """

def free_energy(system: costate._core.System, from_parameters: Sequence[tuple[str, Sequence[float]]], to_parameters: Sequence[tuple[str, Sequence[float]]], steps: int, *, method: str = 'acceptance', samples: int = 4096, every: int = 0, points: int = 5, parameters: Sequence[str] = [], seed: int = 0, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None) -> dict:
    """
    The difference of free energy between two sets of parameters, with its gradient (docs/estimators.md).

    from_parameters, to_parameters  [('double_well/b', [0.4])]: the numbers that differ
    method      integration, perturbation, acceptance (Bennett)
    samples     worlds at every point; every: also states on the way
    Returns a dictionary: value, error, gradient, standard_error, at_from, at_to, overlap.
    """

def first_passage(system: costate._core.System, steps: int, *, level: float = 0.0, before: float | None = None, field: str = 'x', index: int = 0, upwards: bool = True, samples: int = 4096, parameters: str | Sequence[str], seed: int = 0, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None) -> dict:
    """
    The mean time until number `index` of the state `field` first reaches `level`, with its derivative by the path score (docs/estimators.md).

    before      then instead the committor: the chance to reach `level` before this other level
    upwards     from which side
    steps       enough of them for nearly all samples to arrive; the advice says where they were not
    Returns a dictionary as gradient does.
    """
