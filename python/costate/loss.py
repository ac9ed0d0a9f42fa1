"""Objectives: what is differentiated. A sum of terms of single states, one value per world; losses can be added.

    costate.loss.final("q", target) + costate.loss.effort(1e-3)
    costate.loss.function(lambda q, torque: (q - 1) ** 2 + 0.01 * torque ** 2, when="each_step")

A plain function given as loss= is a loss of the final state: function(f).
"""
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from . import _core
from .error import Error
from ._recipe import remembered

__all__ = ["effort", "expression", "final", "final_value", "function", "sum", "track"]

effort = remembered(_core.loss.effort, "costate.loss")
expression = remembered(_core.loss.expression, "costate.loss")
final = remembered(_core.loss.final, "costate.loss")
final_value = remembered(_core.loss.final_value, "costate.loss")
sum = remembered(_core.loss.sum, "costate.loss")
track = remembered(_core.loss.track, "costate.loss")


def function(f: Callable[..., Any], when: str | Iterable[int] = "end"):
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
    return _core.recorded_loss(lambda signature, shapes: record(f, signature, one_output=True, shapes=shapes), when, steps)


function = remembered(function, __name__)


_known: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # function -> the Loss made of it


def _of(loss):
    """What was given as loss= and is no Loss."""
    if not callable(loss):
        what = "there is no loss" if loss is None else f"a {type(loss).__name__} is no loss"
        raise Error(f"{what}: give loss=costate.loss.final(field, target), another of costate.loss, a sum of them, or a function "
                    "of fields by name that returns one number")
    try:
        if loss not in _known:
            _known[loss] = function(loss)
        return _known[loss]
    except TypeError:  # what cannot be referred to weakly is recorded each time
        return function(loss)
