"""Functions that cannot be recorded once for all inputs: `if`, `min`, loops whose path depends on values.

Such a function runs in Python as it is. Where derivatives are needed, it is recorded at the inputs in question: there its path is known,
and the derivatives are exact on it. What cannot be recorded even so (math.sin, filling an array of plain numbers) has values only.
"""
import collections
import contextlib
from typing import Any, cast

import numpy as np

from . import _core
from .error import Error
from .traced import Array, object_array, products_recorded_by, wrap
from .traced_complex import ComplexArray, parts


def numbers_of(result):
    """What a function returned, as one array of objects: recorded or plain numbers."""
    if isinstance(result, (list, tuple)):
        return np.concatenate([object_array(part).ravel() for part in result]) if len(result) else np.empty(0, dtype=object)
    return object_array(result).ravel()


@contextlib.contextmanager
def what_failed(function):
    """NumPy's own complaints about recorded numbers say little to a user: an Error instead."""
    try:
        yield
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        if isinstance(error.__cause__, Error):  # NumPy asked for plain numbers
            raise error.__cause__
        line = error.__traceback__
        assert line is not None
        while line.tb_next and line.tb_frame.f_code is not getattr(function, "__code__", None):
            line = line.tb_next
        raise Error(f"{getattr(function, '__name__', 'the function')} cannot be recorded, at line {line.tb_lineno}: "
                    f"{type(error).__name__}: {error}\n  NumPy's functions are recorded for arrays, not for lists of recorded numbers: "
                    "np.stack([a, b]) makes an array of them") from error


def program(function, states, shapes, outputs, pad=0, at=None):
    """A LayeredProgram: products with large matrices among the arguments are operations of their own.
    at: (t, x, p), where the path of the function is to be followed. pad: zeros after the outputs."""
    recording = _core.Tracer()
    t_at, x_at, p_at = ([], [], []) if at is None else ([float(at[0])], list(map(float, at[1])), list(map(float, at[2])))
    t = wrap(recording.input("t", 1, values=t_at)[0])
    y = Array(object_array(recording.input("x", states, values=x_at)))
    p = object_array(recording.input("p", sum(shapes.sizes), weights=True, values=p_at))
    with products_recorded_by(recording if at is None else None), what_failed(function):
        values = numbers_of(function(t, y, *shapes.apart(p, Array)))
    if values.size != outputs:
        raise Error(f"{getattr(function, '__name__', 'the function')} returns {values.size} numbers instead of {outputs}")
    recording.output("value", list(values) + [0.0] * pad)
    return recording.finish()


def column_groups(sparsity):
    """Columns that have no row in common, together: one difference serves all of a group."""
    rows_taken, groups = [], []
    for column in range(sparsity.shape[1]):
        rows = frozenset(np.flatnonzero(sparsity[:, column]))
        for taken, group in zip(rows_taken, groups):
            if not taken & rows:
                taken |= rows
                group.append(column)
                break
        else:
            rows_taken.append(set(rows))
            groups.append([column])
    return groups


_RECENT = 32  # stages of a step
_MOST_SEEN = 1 << 18  # evaluations whose values are remembered: 50 MB


def _hash_of(t, x, p):
    return hash((t, x.tobytes(), p.tobytes()))


class Called:
    """What a solution asks of a function: see python/src/called_field.h."""

    def __init__(self, function, states, shapes, outputs, made):
        self._function, self._states, self._shapes, self._outputs, self._made = function, states, shapes, outputs, made
        self._jac = self._sparsity = self._groups = None
        self._recent = collections.OrderedDict()  # inputs -> what was recorded there: a pass over a step asks for them again and again
        self._recordable = True
        self._seen = {}  # (t, x) -> value, as hashes: of the solution
        self._last = None  # the latest of them, and its inputs
        self.strict = False  # no differences: exact derivatives, or an Error
        self.constant_jacobian = False

    def value(self, t, x, p):
        inputs = t, x.copy(), p.copy()
        result = self._value(t, x, p)
        if len(self._seen) < _MOST_SEEN:
            self._seen[_hash_of(*inputs)] = hash(result.tobytes())
        self._last = inputs, result
        return result

    def refuse_changes(self):
        """A derivative is taken of the function as it is now: it must be the one that was solved. Here the latest evaluation says so,
        recorded() asks at every place that it comes by."""
        if self._last is not None:
            (t, x, p), was = self._last
            if not np.array_equal(self._value(t, x.copy(), p), was, equal_nan=True):
                self._refuse_change(t)

    def _refuse_change(self, t):
        raise Error(f"{getattr(self._function, '__name__', 'the function')} has changed since the solution was computed: at t = {t:g} "
                    "it returns other numbers for the same inputs\n  solve again; or give what it refers to as args")

    def _value(self, t, x, p):
        result = np.asarray(self._function(t, x, *self._shapes.apart(p, _plain))).ravel()
        if np.iscomplexobj(result) and np.any(result.imag):
            raise Error(f"{getattr(self._function, '__name__', 'the function')} returns complex numbers, and y0 is real: "
                        "start from complex numbers, np.asarray(y0, dtype=complex)")
        result = np.array(np.real(result), dtype=np.float64)  # a copy: the function may use its array again
        if result.size != self._outputs:
            raise Error(f"{getattr(self._function, '__name__', 'the function')} returns {result.size} numbers instead of {self._outputs}")
        return result

    def recorded(self, t, x, p):
        key = (t, x.tobytes(), p.tobytes())
        if key not in self._recent:
            was = self._seen.get(_hash_of(t, x, p))
            if was is not None and was != hash(self._value(t, x.copy(), p).tobytes()):
                self._refuse_change(t)
            made = program(self._function, self._states, self._shapes, self._outputs, self._states - self._outputs, (t, x, p))
            self._recent[key] = self._made("path", made, _core.Equations)
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return self._recent[key]

    def differs(self, t, x, p):
        """Whether a difference has to serve, for want of a recording."""
        if self.strict:
            return False
        if self._recordable:
            try:
                self.recorded(t, x, p)
            except Exception:  # whatever a function does with numbers it does not expect
                self._recordable = False
        return not self._recordable

    # --- Newton's matrix ---------------------------------------------------------------------------------------------

    def use_jacobian(self, jac, jac_sparsity):
        """jac: None, a matrix (dense or sparse), or a function of (t, y, *args) that returns one."""
        n = self._states
        if jac is not None and not callable(jac):
            self._jac, self.constant_jacobian = self._checked(jac), True
        elif jac is not None:
            self._jac = jac
        elif jac_sparsity is not None:
            self._sparsity = _dense(jac_sparsity) != 0
            if self._sparsity.shape != (n, n):
                raise ValueError(f"`jac_sparsity` is expected to have shape {(n, n)}, but actually has {self._sparsity.shape}.")
            self._groups = column_groups(self._sparsity)

    def _checked(self, matrix):
        matrix = _dense(matrix)
        if matrix.ndim < 2:
            matrix = np.atleast_2d(matrix)
        if matrix.shape != (self._states, self._states):
            raise ValueError(f"`jac` is expected to have shape {(self._states, self._states)}, but actually has {matrix.shape}.")
        return np.ascontiguousarray(matrix, dtype=np.float64)

    def newton_jacobian(self, t, x, p):
        if self.constant_jacobian:
            return self._jac
        if self._jac is not None:
            return self._checked(cast(Any, self._jac)(t, x, *self._shapes.apart(p, _plain)))
        if self._groups is None and not self.differs(t, x, p):
            return self.recorded(t, x, p).jacobian(t, x, p)
        return self._differences(t, x, p)

    def _differences(self, t, x, p):
        """Forward differences, a group of columns at a time. Newton's iteration needs no more."""
        start = self.value(t, x, p)
        step = np.sqrt(np.finfo(float).eps) * np.maximum(np.abs(x), 1e-3 * max(1e-3, np.max(np.abs(x))))
        matrix = np.zeros((x.size, x.size))
        for group in self._groups or [[j] for j in range(x.size)]:
            moved = x.copy()
            moved[group] += step[group]
            change = self.value(t, moved, p) - start
            for j in group:
                column = change / (moved[j] - x[j])
                matrix[:, j] = column if self._sparsity is None else np.where(self._sparsity[:, j], column, 0.0)
        return matrix


def _plain(part):
    return part[()] if part.ndim == 0 else part


def _dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


class SplitComplex:
    """A function of complex states as one of twice as many real ones: real parts, then imaginary parts."""

    def __init__(self, function, outputs_complex=True):
        self._function, self._outputs_complex = function, outputs_complex
        self.__name__ = getattr(function, "__name__", "the function")

    def __call__(self, t, z, *args):
        n = z.shape[0] // 2
        result = self._function(t, complex_of(z[:n], z[n:]), *args)
        if not self._outputs_complex:
            return result
        if isinstance(z, Array):
            return np.concatenate([np.ravel(part) for part in parts(result)])
        result = np.ravel(result)
        return np.concatenate([result.real, result.imag])


def complex_of(real, imaginary):
    return ComplexArray(real, imaginary) if isinstance(real, Array) else real + 1j * imaginary


def split_jacobian(jac):
    """That of SplitComplex."""
    def blocks(matrix):
        matrix = np.atleast_2d(_dense(matrix))
        return np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]])

    if jac is None or not callable(jac):
        return None if jac is None else blocks(jac)
    return lambda t, z, *args: blocks(jac(t, z[:z.size // 2] + 1j * z[z.size // 2:], *args))
