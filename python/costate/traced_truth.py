"""Truth values among the numbers that are being recorded (traced.py): NumPy's arrays of bool.

The elements of an Array are all truth values or all numbers, as NumPy's arrays have one dtype. That decides what an operator
means: True + True is True, but 1.0 + 1.0 is 2.0. Tests: tests/python/test_recorder.py.
"""
import numpy as np

from . import _core
from .error import Error

_op = _core.operations


def is_truth(value):
    return isinstance(value, bool) or (isinstance(value, _core.Traced) and value.truth)


def _number(value):
    return value if not is_truth(value) else float(value) if isinstance(value, bool) else _op["add"](value, 0.0)


def _truth(value):
    return value if is_truth(value) else _op["ne"](value, 0.0) if isinstance(value, _core.Traced) else bool(value)


_numbers, _truths = np.frompyfunc(_number, 1, 1), np.frompyfunc(_truth, 1, 1)


def number(values):
    """An array of objects as NumPy's astype(float) makes it: 1 for True."""
    return np.asarray(_numbers(values), dtype=object) if any(is_truth(v) for v in values.flat) else values


def truth(values):
    """An array of objects as NumPy's astype(bool) makes it: what is not zero is True."""
    return np.asarray(_truths(values), dtype=object)


def alike(values):
    """Elements of one kind: a number among truth values makes all of them numbers."""
    found = {is_truth(v) for v in values.flat}
    return number(values) if len(found) == 2 else values


def refuse_truth(function, name, advice):
    """NumPy has no such operation on truth values."""
    def apply(*values):
        if all(is_truth(v) for v in values):
            raise Error(f"np.{name} of truth values: {advice}")
        return function(*values)
    return apply


def refuse_numbers(function, name):
    def apply(*values):
        if not all(is_truth(v) for v in values):
            raise Error(f"np.{name} of numbers that are not truth values: compare them first, or use np.logical_{name.split('_')[-1]}")
        return function(*values)
    return apply


def on_truth(numbers, truths):
    """Another operation where both operands are truth values."""
    return lambda a, b: truths(a, b) if is_truth(a) and is_truth(b) else numbers(a, b)
