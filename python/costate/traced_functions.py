"""NumPy's functions of arrays that are being recorded (traced.py): each with NumPy's own arguments, or an Error.

A function is listed with the arguments that are recorded; any other argument is refused by name. Tests: tests/python/test_recorder.py.
"""
# Array stands in for NumPy's through NumPy's own protocols, which its type stubs do not know.
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
import inspect

import numpy as np

from .error import Error, not_recorded
from .traced import Array, accumulate, matmul, object_array, product, reduce, values_at, where, wrap
from .traced_truth import alike, is_truth, number, truth

_FUNCTIONS: dict = {}  # NumPy's function -> (ours, its signature)


def call(function, args, kwargs):
    name = f"{'np.linalg' if 'linalg' in function.__module__ else 'np'}.{function.__name__}"
    if function not in _FUNCTIONS:
        raise Error(not_recorded(name))
    ours, signature = _FUNCTIONS[function]
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise Error(f"{name}: {error}; recorded is {name}{signature}") from None
    return ours(*args, **kwargs)


def _records(*functions):
    def keep(ours):
        for function in functions:
            _FUNCTIONS[function] = (ours, inspect.signature(ours))
        return ours
    return keep


def _into(result, out):
    if out is None:
        return result
    if not isinstance(out, Array):
        raise Error("a recorded value cannot be written into an array of plain numbers: start from np.zeros_like(x)")
    out[...] = result
    return out


# --- sums and the like ------------------------------------------------------------------------------------------------

def _reduction(ufunc, *functions):
    @_records(*functions)
    def apply(a, axis=None, out=None, keepdims=False, initial=None, where=True):
        return _into(reduce(ufunc, a, axis, keepdims, initial, where), out)


_reduction(np.add, np.sum)
_reduction(np.multiply, np.prod)
_reduction(np.minimum, np.min, np.amin)
_reduction(np.maximum, np.max, np.amax)


def _of_truths(ufunc, *functions):
    @_records(*functions)
    def apply(a, axis=None, out=None, keepdims=False, where=True):
        return _into(reduce(ufunc, wrap(a) != 0, axis, keepdims, None, where), out)


_of_truths(np.logical_or, np.any)
_of_truths(np.logical_and, np.all)


def _count(a, axis, keepdims, mask):
    ones = np.ones(np.shape(a))
    return reduce(np.add, ones, axis, keepdims, None, mask) if mask is not True else np.sum(ones, axis=axis, keepdims=keepdims)


@_records(np.mean)
def _mean(a, axis=None, out=None, keepdims=False, where=True):
    return _into(reduce(np.add, a, axis, keepdims, None, where) / _count(a, axis, keepdims, where), out)


@_records(np.var)
def _var(a, axis=None, out=None, ddof=0, keepdims=False, where=True):
    apart = wrap(a) - _mean(a, axis, None, True, where)
    return _into(reduce(np.add, apart * apart, axis, keepdims, None, where) / (_count(a, axis, keepdims, where) - ddof), out)


@_records(np.std)
def _std(a, axis=None, out=None, ddof=0, keepdims=False, where=True):
    return _into(np.sqrt(_var(a, axis, None, ddof, keepdims, where)), out)


def _running(ufunc, function):
    @_records(function)
    def apply(a, axis=None, out=None):
        return _into(accumulate(ufunc, wrap(a).ravel() if axis is None else a, 0 if axis is None else axis), out)


_running(np.add, np.cumsum)
_running(np.multiply, np.cumprod)


# --- products ---------------------------------------------------------------------------------------------------------

@_records(np.dot)
def _dot(a, b, out=None):
    return _into(matmul(np.dot, a, b), out)


@_records(np.inner)
def _inner(a, b):
    return product(np.inner, a, b)


@_records(np.outer)
def _outer(a, b, out=None):
    return _into(product(np.outer, a, b), out)


@_records(np.vdot)
def _vdot(a, b):
    return product(np.dot, wrap(a).ravel(), wrap(b).ravel())


@_records(np.tensordot)
def _tensordot(a, b, axes=2):
    return product(np.tensordot, a, b, axes=axes)


@_records(np.cross)
def _cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    return product(np.cross, a, b, axisa=axisa, axisb=axisb, axisc=axisc, axis=axis)


@_records(np.einsum)
def _einsum(subscripts, *operands):
    if not isinstance(subscripts, str):
        raise Error("np.einsum is recorded with subscripts as text: np.einsum('ij,j->i', a, b)")
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if "." in inputs or len(terms) != len(operands):
        raise Error(f"np.einsum('{subscripts}') of {len(operands)} arrays: one letter for each axis, no ellipsis")
    if not arrow:
        output = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    letters = output + "".join(sorted(set(inputs) - {","} - set(output)))
    result = None
    for term, operand in zip(terms, operands):
        values = object_array(operand)
        if values.ndim != len(term):
            raise Error(f"np.einsum('{subscripts}'): '{term}' for an array with {values.ndim} axes")
        for letter in set(term):  # a letter twice: the diagonal
            while term.count(letter) > 1:
                first = term.index(letter)
                second = term.index(letter, first + 1)
                values = np.diagonal(values, axis1=first, axis2=second)
                term = term[:first] + term[first + 1:second] + term[second + 1:] + letter
        there = [c for c in letters if c in term]
        values = values.transpose([term.index(c) for c in there])
        part = wrap(values.reshape([values.shape[there.index(c)] if c in there else 1 for c in letters]))
        result = part if result is None else result * part
    if len(letters) == len(output):
        return result
    added = np.logical_or if all(is_truth(v) for v in object_array(result).flat) else np.add
    return reduce(added, result, tuple(range(len(output), len(letters))))


@_records(np.trace)
def _trace(a, offset=0, axis1=0, axis2=1):
    return reduce(np.add, _rearranged_diagonal(a, offset, axis1, axis2), -1)


@_records(np.linalg.norm)
def _norm(x, ord=None, axis=None, keepdims=False):
    x = wrap(object_array(x))
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if ord is None or (ord == 2 and len(axes) == 1) or (ord == "fro" and len(axes) == 2):
        return np.sqrt(reduce(np.add, x * x, axes, keepdims))
    if len(axes) != 1:
        raise Error(f"np.linalg.norm(ord={ord!r}) of a matrix is not recorded: use ord=None, the root of the sum of squares")
    if ord in (np.inf, -np.inf):
        return reduce(np.maximum if ord > 0 else np.minimum, np.abs(x), axes, keepdims)
    if ord == 1:
        return reduce(np.add, np.abs(x), axes, keepdims)
    if ord == 0:
        return reduce(np.add, x != 0, axes, keepdims)
    if isinstance(ord, str):
        raise Error(f"np.linalg.norm(ord={ord!r}) of a vector")
    return reduce(np.add, np.abs(x) ** ord, axes, keepdims) ** (1 / ord)


# --- choices ----------------------------------------------------------------------------------------------------------

_NO_ARGUMENT = object()


@_records(np.where)
def _where(condition, x=_NO_ARGUMENT, y=_NO_ARGUMENT):
    if x is _NO_ARGUMENT or y is _NO_ARGUMENT:
        raise Error("np.where(condition) alone gives indices, which are not known while recording: use np.where(condition, a, b)")
    return where(condition, x, y)


@_records(np.clip)
def _clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    lower, upper = a_min if min is None else min, a_max if max is None else max
    result = wrap(object_array(a).copy())
    if lower is not None:
        result = np.maximum(result, lower)
    if upper is not None:
        result = np.minimum(result, upper)
    return _into(result, out)


@_records(np.interp)
def _interp(x, xp, fp, left=None, right=None):
    """Straight lines between known places; the values there may be recorded."""
    if isinstance(xp, Array):
        raise Error("np.interp is recorded for known places xp: give an array of plain numbers")
    xp, fp, x = np.asarray(xp, dtype=float), wrap(number(object_array(fp))), wrap(object_array(x))
    if xp.ndim != 1 or xp.size == 0 or fp.shape != xp.shape or np.any(np.diff(xp) <= 0):
        raise Error("np.interp needs increasing places xp, and one value of fp for each")
    result = fp[-1] if right is None else wrap(right)
    result = where(x <= xp[-1], fp[-1], result)
    for i in range(xp.size - 2, -1, -1):
        line = fp[i] + (fp[i + 1] - fp[i]) * ((x - xp[i]) * (1 / (xp[i + 1] - xp[i])))
        result = where(x < xp[i + 1], line, result)
    return where(x < xp[0], fp[0] if left is None else left, where(x == x, result, x))


# --- arrays out of others ---------------------------------------------------------------------------------------------

def _filled(a, value, shape, dtype):
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise Error(f"numbers are recorded in float64, not in {np.dtype(dtype).name}")
    values = np.empty(np.shape(a) if shape is None else shape, dtype=object)
    of_truths = dtype is None and all(is_truth(v) for v in object_array(a).flat)
    filled = (truth if of_truths and np.size(a) else number)(object_array(value))
    values[...] = filled[()] if filled.ndim == 0 else filled
    return wrap(values)


@_records(np.zeros_like, np.empty_like)
def _zeros_like(a, dtype=None, order="K", subok=True, shape=None):
    return _filled(a, 0.0, shape, dtype)


@_records(np.ones_like)
def _ones_like(a, dtype=None, order="K", subok=True, shape=None):
    return _filled(a, 1.0, shape, dtype)


@_records(np.full_like)
def _full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None):
    return _filled(a, fill_value, shape, dtype)


@_records(np.ndim)
def _ndim(a):
    return a.ndim


@_records(np.shape)
def _shape(a):
    return a.shape


@_records(np.size)
def _size(a, axis=None):
    return a.size if axis is None else a.shape[axis]


@_records(np.diff)
def _diff(a, n=1, axis=-1):
    a = wrap(object_array(a))
    if n < 0:
        raise Error(f"np.diff of order {n}")
    at = [slice(None)] * a.ndim
    for _ in range(n):
        upper, lower = list(at), list(at)
        upper[axis], lower[axis] = slice(1, None), slice(None, -1)
        a = a[tuple(upper)] - a[tuple(lower)]
    return a


@_records(np.concatenate)
def _concatenate(arrays, axis=0):
    return wrap(alike(np.concatenate([object_array(a) for a in arrays], axis=axis)))


@_records(np.stack)
def _stack(arrays, axis=0):
    return wrap(alike(np.stack([object_array(a) for a in arrays], axis=axis)))


@_records(np.append)
def _append(arr, values, axis=None):
    if axis is None:
        arr, values, axis = wrap(arr).ravel(), wrap(values).ravel(), 0
    return np.concatenate([wrap(arr), wrap(values)], axis=axis)


@_records(np.select)
def _select(condlist, choicelist, default=0):
    result = wrap(default)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        result = where(condition, choice, result)
    return result


@_records(np.hstack)
def _hstack(tup):
    return wrap(alike(np.hstack([object_array(a) for a in tup])))


@_records(np.vstack)
def _vstack(tup):
    return wrap(alike(np.vstack([object_array(a) for a in tup])))


@_records(np.column_stack)
def _column_stack(tup):
    return wrap(alike(np.column_stack([object_array(a) for a in tup])))


def _moves_numbers(function, ours):
    """A function that only moves numbers around: NumPy's own, on objects. `ours` has the arguments that are passed on."""
    signature = inspect.signature(ours)

    def apply(*args, **kwargs):
        bound = signature.bind(*args, **kwargs).arguments
        first = next(iter(bound))
        bound[first] = object_array(bound[first])
        for key, value in bound.items():
            if key != first and isinstance(value, Array):
                raise Error(f"np.{function.__name__}({key}=...) must be known while recording")
        result = function(**bound)
        return [wrap(part) for part in result] if isinstance(result, list) else wrap(result)

    _FUNCTIONS[function] = (apply, signature)
    return apply


@_records(np.reshape)
def _reshape(a, shape=None, order="C", newshape=None):
    wanted = newshape if shape is None else shape
    wanted = tuple(int(n) for n in wanted) if isinstance(wanted, (tuple, list)) else int(wanted)
    if order not in ("C", "F"):
        raise Error("np.reshape is recorded with order='C' or 'F'")
    return wrap(object_array(a).reshape(wanted, order=order))


@_records(np.transpose)
def _transpose(a, axes=None, *more):
    values = object_array(a)
    if more:
        axes = (axes, *more)
    return wrap(values.transpose(axes) if axes is not None else values.T)


@_records(np.atleast_1d)
def _atleast_1d(*arrays):
    made = [wrap(np.atleast_1d(object_array(a))) for a in arrays]
    return made[0] if len(made) == 1 else made


@_records(np.take)
def _take(a, indices, axis=None, out=None, mode="raise"):
    if isinstance(indices, Array):
        raise Error("np.take needs indices that are known while recording")
    return _into(wrap(np.take(object_array(a), np.asarray(indices), axis=axis, mode=mode)), out)


_moves_numbers(np.ravel, lambda a, order="C": ...)
_moves_numbers(np.squeeze, lambda a, axis=None: ...)
_moves_numbers(np.roll, lambda a, shift, axis=None: ...)
_moves_numbers(np.flip, lambda m, axis=None: ...)
_moves_numbers(np.tile, lambda A, reps: ...)
_moves_numbers(np.repeat, lambda a, repeats, axis=None: ...)
_moves_numbers(np.broadcast_to, lambda array, shape: ...)
_moves_numbers(np.moveaxis, lambda a, source, destination: ...)
_moves_numbers(np.swapaxes, lambda a, axis1, axis2: ...)
_moves_numbers(np.expand_dims, lambda a, axis: ...)
_moves_numbers(np.copy, lambda a, order="K": ...)
_moves_numbers(np.split, lambda ary, indices_or_sections, axis=0: ...)
_moves_numbers(np.array_split, lambda ary, indices_or_sections, axis=0: ...)
_rearranged_diagonal = _moves_numbers(np.diagonal, lambda a, offset=0, axis1=0, axis2=1: ...)


@_records(np.diag)
def _diag(v, k=0):
    values = object_array(v)
    if values.ndim == 2:
        return _rearranged_diagonal(values, k)
    if values.ndim != 1:
        raise Error("np.diag of an array with more than two axes")
    made = np.full((values.size + abs(k),) * 2, 0.0, dtype=object)
    for i, value in enumerate(values):
        made[(i, i + k) if k >= 0 else (i - k, i)] = value
    return wrap(truth(made) if values.size and all(is_truth(v) for v in values) else made)


# --- what depends on values: only where a function is recorded at given inputs -----------------------------------------

@_records(np.argmax)
def _argmax(a, axis=None):
    return np.argmax(values_at(wrap(a), "np.argmax"), axis=axis)


@_records(np.argmin)
def _argmin(a, axis=None):
    return np.argmin(values_at(wrap(a), "np.argmin"), axis=axis)


@_records(np.argsort)
def _argsort(a, axis=-1, kind=None):
    return np.argsort(values_at(wrap(a), "np.argsort"), axis=axis, kind=kind)


@_records(np.sort)
def _sort(a, axis=-1, kind=None):
    a = wrap(a)
    order = np.argsort(values_at(a, "np.sort"), axis=axis, kind=kind)
    return wrap(np.take_along_axis(object_array(a), order, axis=axis))


@_records(np.nonzero)
def _nonzero(a):
    return np.nonzero(values_at(wrap(a), "np.nonzero"))


@_records(np.flatnonzero)
def _flatnonzero(a):
    return np.flatnonzero(values_at(wrap(a), "np.flatnonzero"))


@_records(np.count_nonzero)
def _count_nonzero(a, axis=None):
    return np.count_nonzero(values_at(wrap(a), "np.count_nonzero"), axis=axis)


@_records(np.searchsorted)
def _searchsorted(a, v, side="left"):
    return np.searchsorted(values_at(wrap(a), "np.searchsorted"), values_at(wrap(v), "np.searchsorted"), side=side)
