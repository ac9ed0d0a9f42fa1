"""Gradients of averages over noise: pathwise, path score, REINFORCE, reweighting and more, behind one call.

    g = costate.estimate.gradient(system, loss, steps=60, method="girsanov", parameters=["double_well/a"])
    g["gradient"]["double_well/a"], g["standard_error"]["double_well/a"], g["label"]
"""
from . import _core

__all__ = ["first_passage", "free_energy", "gradient"]

gradient = _core.estimate.gradient
free_energy = _core.estimate.free_energy
first_passage = _core.estimate.first_passage
