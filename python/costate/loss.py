"""Objectives: what is differentiated. A sum of terms of single states, one value per world; losses can be added.

    costate.loss.final("q", target) + costate.loss.effort(1e-3)
"""
from ._core.loss import effort, expression, final, final_value, sum, track

__all__ = ["effort", "expression", "final", "final_value", "sum", "track"]
