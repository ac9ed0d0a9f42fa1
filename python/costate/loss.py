"""Objectives: what is differentiated. A sum of terms of single states, one value per world; losses can be added.

    costate.loss.final("q", target) + costate.loss.effort(1e-3)
    costate.loss.function(lambda q, torque: (q - 1) ** 2 + 0.01 * torque ** 2, when="each_step")
"""
from . import _core
from .error import Error
from ._core.loss import effort, expression, final, final_value, sum, track

__all__ = ["effort", "expression", "final", "final_value", "function", "sum", "track"]


def function(f, when="end"):
    """A function of x, u, p, t, k or of fields by name that returns one number; recorded like a system (costate.system).

    when: 'end', 'each_step' (before each step, where u is known) or a list of steps.
    """
    from .trace import record

    if isinstance(when, str):
        if when not in ("end", "each_step"):
            raise Error(f"when = '{when}': use 'end', 'each_step' or a list of steps")
        steps = []
    else:
        when, steps = "steps", [int(k) for k in when]
    return _core.recorded_loss(lambda signature: record(f, signature, one_output=True), when, steps)
