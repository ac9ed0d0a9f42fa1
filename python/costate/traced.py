"""Arrays of a function that is being recorded: NumPy's operators and ufuncs on numbers that are not known yet.

An Array holds objects: plain numbers (known while recording), truth values, and _core.Traced (not known yet). Every ufunc that is listed here
means what it means in NumPy, with all its keywords; whatever is not listed, or is asked for in a way that is not, is an Error. Functions of
arrays: traced_functions.py. Tests: tests/python/test_recorder.py compares all of it with NumPy.
"""
# Array stands in for NumPy's through NumPy's own protocols, which its type stubs do not know.
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
import contextlib
import threading

import numpy as np

from . import _core
from .error import Error, not_recorded
from .traced_in_place import numbers_stay_as_they_are
from .traced_truth import alike, is_truth, number, on_truth, refuse_numbers, refuse_truth, truth

_op = _core.operations


def object_array(value):
    """Values as an array of objects: numbers, truth values and _core.Traced."""
    if isinstance(value, Array):
        return value._values if value.ndim else value._values.copy()
    if isinstance(value, (_core.Traced, bool, int, float, np.generic)):
        array = np.empty((), dtype=object)
        if isinstance(value, (bool, np.bool_)):
            array[()] = bool(value)
        elif isinstance(value, (complex, np.complexfloating)):
            raise Error("complex numbers cannot be recorded: compute with real and imaginary parts")
        else:
            array[()] = value if isinstance(value, _core.Traced) else float(value)
        return array
    if isinstance(value, np.ndarray) and value.dtype != object:
        if value.dtype.kind == "c":
            raise Error("complex numbers cannot be recorded: compute with real and imaginary parts")
        return value.astype(object) if value.dtype.kind == "b" else value.astype(np.float64).astype(object)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return object_array(value[()])
    if isinstance(value, (list, tuple, np.ndarray)):
        parts = [object_array(part) for part in value]
        return alike(np.stack(parts)) if parts else np.empty(0, dtype=object)
    if getattr(value, "dtype", None) == np.complex128:
        raise Error("complex numbers cannot be recorded here: compute with real and imaginary parts")
    raise Error(f"{type(value).__name__} cannot be recorded: use numbers and arrays of numbers")


def wrap(values):
    if not isinstance(values, np.ndarray):
        values = object_array(values)
    return Array(values)


def values_at(array, name):
    """The numbers themselves, where they are known: plain ones, or those of a function that is recorded at given inputs (called.py)."""
    numbers = np.empty(array.shape)
    for index, value in np.ndenumerate(object_array(array)):
        if isinstance(value, _core.Traced) and not value.evaluated:
            raise Error(f"{name} cannot be recorded: it depends on values, which are not known yet")
        numbers[index] = value.at if isinstance(value, _core.Traced) else value
    return numbers


# --- ufuncs, number by number -----------------------------------------------------------------------------------------

def elementwise(function, count):
    """function of `count` numbers, over arrays."""
    over_arrays = np.frompyfunc(function, count, 1)

    def apply(*inputs):
        arrays = [object_array(a) for a in inputs]
        if all(a.ndim == 0 for a in arrays):
            return wrap(function(*(a[()] for a in arrays)))
        return wrap(over_arrays(*arrays))

    return apply


def _known(value):
    return not isinstance(value, _core.Traced)


def select(condition, a, b):
    if _known(condition):
        return a if condition else b
    chosen = _op["select"](condition, a, b)
    return _op["ne"](chosen, 0.0) if is_truth(a) and is_truth(b) and not is_truth(chosen) else chosen


def _xor(a, b):
    return _op["ne"](_op["ne"](a, 0.0), _op["ne"](b, 0.0))


def _ignoring_nan(function):
    def apply(a, b):
        return select(_op["ne"](a, a), b, select(_op["ne"](b, b), a, function(a, b)))
    return apply


def _divmod(a, b):
    """Floor of the quotient, and the rest with the sign of b, as Python: 1.0 // 0.1 is 9 although 1.0 / 0.1 is 10."""
    quotient = _op["floor"](_op["div"](a, b))
    rest = select(_infinite(a), np.nan, select(_infinite(b), a, _op["fnma"](quotient, b, a)))
    quotient = select(_op["and"](_infinite(a), _op["ne"](b, 0.0)), np.nan, quotient)
    beyond = _op["and"](_op["ne"](rest, 0.0), _op["ne"](_op["lt"](rest, 0.0), _op["lt"](b, 0.0)))
    return select(beyond, _op["sub"](quotient, 1.0), quotient), select(beyond, _op["add"](rest, b), rest)


def _infinite(a):
    return _op["eq"](_op["abs"](a), np.inf)


def _hypot(a, b):
    """Scaled, so that squares neither overflow nor vanish. One choice takes both: max and min would share a tie, and its slopes, otherwise."""
    a, b = _op["abs"](a), _op["abs"](b)
    less = _op["lt"](a, b)
    larger, smaller = select(less, b, a), select(less, a, b)
    ratio = _op["div"](smaller, select(_op["gt"](larger, 0.0), larger, 1.0))
    length = _op["mul"](larger, _op["sqrt"](_op["fma"](ratio, ratio, 1.0)))
    return select(_op["or"](_infinite(a), _infinite(b)), np.inf, length)


_UNARY = {"sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p",
          "cbrt": "cbrt", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
          "fabs": "abs", "sign": "sign", "floor": "floor", "logical_not": "not"}
_BINARY = {"divide": "div", "arctan2": "atan2", "power": "pow", "float_power": "pow", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
           "logical_and": "and", "logical_or": "or"}

# ufunc -> what it records
_UFUNCS = {getattr(np, name): elementwise(_op[op], 1) for name, op in _UNARY.items()}
_UFUNCS.update({getattr(np, name): elementwise(_op[op], 2) for name, op in _BINARY.items()})
_add, _multiply = on_truth(_op["add"], _op["or"]), on_truth(_op["mul"], _op["and"])
_min, _max = on_truth(_op["min"], _op["and"]), on_truth(_op["max"], _op["or"])
_subtract = refuse_truth(_op["sub"], "subtract", "use np.logical_xor, or 1.0 * a - b")
_UFUNCS.update({
    np.add: elementwise(_add, 2),
    np.multiply: elementwise(_multiply, 2),
    np.subtract: elementwise(_subtract, 2),
    np.negative: elementwise(refuse_truth(_op["neg"], "negative", "use ~a or np.logical_not"), 1),
    np.invert: elementwise(refuse_numbers(_op["not"], "invert_not"), 1),
    np.bitwise_and: elementwise(refuse_numbers(_op["and"], "bitwise_and"), 2),
    np.bitwise_or: elementwise(refuse_numbers(_op["or"], "bitwise_or"), 2),
    np.bitwise_xor: elementwise(refuse_numbers(_xor, "bitwise_xor"), 2),
    np.logical_xor: elementwise(_xor, 2),
    np.minimum: elementwise(_min, 2),
    np.maximum: elementwise(_max, 2),
    np.fmin: elementwise(on_truth(_ignoring_nan(_op["min"]), _op["and"]), 2),
    np.fmax: elementwise(on_truth(_ignoring_nan(_op["max"]), _op["or"]), 2),
    np.absolute: elementwise(lambda a: a if is_truth(a) else _op["abs"](a), 1),
    np.floor_divide: elementwise(lambda a, b: _divmod(a, b)[0], 2),
    np.remainder: elementwise(lambda a, b: _divmod(a, b)[1], 2),
    np.hypot: elementwise(_hypot, 2),
    np.isnan: elementwise(lambda a: _op["ne"](a, a), 1),
    np.isfinite: elementwise(lambda a: _op["lt"](_op["abs"](a), np.inf), 1),
    np.isinf: elementwise(_infinite, 1),
    np.positive: lambda a: a.copy(),
    np.square: elementwise(lambda a: _op["mul"](a, a), 1),
    np.reciprocal: lambda a: 1.0 / a,
    np.exp2: lambda a: np.exp(a * np.log(2.0)),
    np.log2: lambda a: np.log(a) * (1 / np.log(2.0)),
    np.log10: lambda a: np.log(a) * (1 / np.log(10.0)),
    np.ceil: lambda a: -np.floor(-a),
    np.trunc: lambda a: where(a < 0, -np.floor(-a), np.floor(a)),
    np.deg2rad: lambda a: a * (np.pi / 180), np.radians: lambda a: a * (np.pi / 180),
    np.rad2deg: lambda a: a * (180 / np.pi), np.degrees: lambda a: a * (180 / np.pi),
    np.copysign: lambda a, b: where((b < 0) | (1.0 / b < 0), -np.fabs(a), np.fabs(a)),
    np.heaviside: lambda a, b: where(a < 0, 0.0, where(a > 0, 1.0, where(a == 0, b, a))),
    np.logaddexp: lambda a, b: _log_of_sum(a, b),
    np.matmul: lambda a, b: matmul(np.matmul, a, b),
})


def _log_of_sum(a, b):
    """log(e^a + e^b). Each side is smooth where they meet, at a = b: the slopes there are a half each."""
    sides = where(a < b, b + np.log1p(np.exp(np.minimum(a - b, 0.0))), a + np.log1p(np.exp(np.minimum(b - a, 0.0))))
    return where((a == b) & np.isinf(a), a, sides)


def _area_hyperbolic_sine(a):
    """log(a + sqrt(1 + a^2)) without cancellation, smooth at zero; beyond 1e8 the one under the root no longer counts."""
    near = np.clip(a, -1e8, 1e8)
    grown = near * near / (1 + np.sqrt(near * near + 1))
    close = where(a < 0, -np.log1p(-near + grown), np.log1p(near + grown))
    return where(np.abs(a) > 1e8, np.sign(a) * (np.log(np.abs(a)) + np.log(2.0)), close)


def _area_hyperbolic_cosine(a):
    above = np.minimum(a, 1e8) - 1
    close = np.log1p(above + np.sqrt(above) * np.sqrt(above + 2))
    return where(a > 1e8, np.log(a) + np.log(2.0), close)


_UFUNCS[np.arcsinh] = _area_hyperbolic_sine
_UFUNCS[np.arccosh] = _area_hyperbolic_cosine
_UFUNCS[np.arctanh] = lambda a: 0.5 * (np.log1p(a) - np.log1p(-a))

# What can be reduced over an axis: the value of nothing, or None where there is none.
_REDUCTIONS = {np.add: 0.0, np.multiply: 1.0, np.minimum: None, np.maximum: None, np.fmin: None, np.fmax: None, np.logical_and: True,
               np.logical_or: False}
_COUNTED = {np.add: elementwise(_op["add"], 2), np.multiply: elementwise(_op["mul"], 2)}  # sums of truth values count


# --- products ---------------------------------------------------------------------------------------------------------

class _Element:
    """A number with operators, for NumPy's own loops over objects (matmul, tensordot, cross, ...)."""
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return _Element(_add(self.v, other.v))

    def __sub__(self, other):
        return _Element(_subtract(self.v, other.v))

    def __mul__(self, other):
        return _Element(_multiply(self.v, other.v))


_box = np.frompyfunc(_Element, 1, 1)
_unbox = np.frompyfunc(lambda e: e.v, 1, 1)

# A product of so many elements is recorded as one operation. (A program without a layer many times as large is written out again:
# costate/system/program/layered_system.cpp.)
_DENSE = 64
_recording = threading.local()  # .tracer: what products of the function that is being recorded go to, or None


@contextlib.contextmanager
def products_recorded_by(tracer):
    """Products with matrices of parameters become operations of this tracer; None: they are written out."""
    outer, _recording.tracer = getattr(_recording, "tracer", None), tracer
    try:
        yield
    finally:
        _recording.tracer = outer


def _dense(a, b):
    """a @ b as one operation, where one of them is a matrix of parameters and large enough; otherwise None."""
    tracer = getattr(_recording, "tracer", None)
    if tracer is None or {a.ndim, b.ndim} != {1, 2} or max(a.size, b.size) < _DENSE:
        return None
    matrix, vector = (a, b) if a.ndim == 2 else (b.T, a)
    if matrix.shape[1] != vector.size or not isinstance(matrix[0, 0], _core.Traced):
        return None
    result = tracer.product(list(matrix.ravel()), matrix.shape[0], list(vector))
    return None if result is None else wrap(object_array(result))


def matmul(function, a, b):
    result = _dense(object_array(a), object_array(b))
    return product(function, a, b) if result is None else result


def product(function, *arrays, **options):
    boxed = function(*(_box(object_array(a)) for a in arrays), **options)
    return wrap(boxed.v if isinstance(boxed, _Element) else _unbox(boxed))


# --- reductions -------------------------------------------------------------------------------------------------------

def _axes(axis, ndim):
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    for a in axes:
        if not -ndim <= a < ndim:
            raise Error(f"axis {a} of an array with {ndim} axes")
    return tuple(a % ndim for a in axes)


def _rows(values, axes):
    """The slices along `axes`, in NumPy's order, and the axes that remain."""
    rest = tuple(a for a in range(values.ndim) if a not in axes)
    shape = tuple(values.shape[a] for a in rest)
    return [Array(np.asarray(row, dtype=object)) for row in values.transpose(axes + rest).reshape((-1,) + shape)], shape


def reduce(ufunc, array, axis, keepdims=False, initial=None, mask=True):
    """ufunc.reduce. Where `mask` is not true, an element counts as `initial` (or as what changes nothing)."""
    step, nothing = _COUNTED.get(ufunc, _UFUNCS[ufunc]), _REDUCTIONS[ufunc]
    values = object_array(array)
    axes = _axes(axis, values.ndim)
    if mask is not True:
        neutral = nothing if nothing is not None else initial
        if neutral is None:
            raise Error(f"np.{ufunc.__name__}.reduce with where= needs initial=")
        values = object_array(where(wrap(mask), wrap(values), neutral))
    rows, shape = _rows(values, axes)
    if ufunc not in _COUNTED and _known_number(initial) and all(is_truth(v) for v in values.flat):
        initial = bool(initial)  # NumPy compares it as one of them
    result = None if initial is None else wrap(np.full(shape, initial if isinstance(initial, bool) else float(initial)).astype(object)) if _known_number(initial) else wrap(
        np.broadcast_to(object_array(initial), shape))
    for row in rows:
        result = row.copy() if result is None else step(result, row)
    if result is None:
        if nothing is None:
            raise Error(f"np.{ufunc.__name__} of nothing: give initial=")
        result = wrap(np.full(shape, nothing).astype(object))
    if len(rows) == 1 and initial is None and ufunc in _COUNTED:
        result = step(result, nothing)  # a number, even where it was a truth value
    if keepdims:
        result = result.reshape(tuple(1 if a in axes else n for a, n in enumerate(values.shape)))
    return result


def _known_number(value):
    return isinstance(value, (bool, int, float, np.generic))


def accumulate(ufunc, array, axis):
    """ufunc.accumulate: every partial result along one axis."""
    values = object_array(array)
    (axis,) = _axes(axis, values.ndim)
    step = _COUNTED.get(ufunc, _UFUNCS[ufunc])
    rows, _ = _rows(values, (axis,))
    sums = [step(row, _REDUCTIONS[ufunc]) if ufunc in _COUNTED else row for row in rows[:1]]
    for row in rows[1:]:
        sums.append(step(sums[-1], row))
    if not sums:
        return wrap(values.copy())
    return wrap(np.stack([object_array(s) for s in sums], axis=axis))


# --- the array --------------------------------------------------------------------------------------------------------

_NO_EFFECT = {"casting", "order", "subok"}  # keywords of ufuncs that change no number


def _refuse(name, options):
    if options:
        raise Error(f"np.{name} is not recorded with {', '.join(f'{key}=' for key in options)}")


def _take_dtype(name, options):
    dtype = options.pop("dtype", None)
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise Error(f"np.{name} is recorded in float64, not in {np.dtype(dtype).name}")


def _known_index(index):
    """Recorded masks and places, as plain ones."""
    if isinstance(index, tuple):
        return tuple(_known_index(i) for i in index)
    if not isinstance(index, Array):
        return index
    numbers = values_at(index, "an index")
    return numbers.astype(bool) if all(is_truth(v) for v in object_array(index).flat) else numbers.astype(int)


class Array(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of recorded numbers. Slices are views, as in NumPy. A single number is an array without axes, and nobody changes it: what is
    made of it is new, and `a = k; a *= q` leaves k as it is."""
    __slots__ = ("_values",)
    __array_priority__ = 1000

    def __init__(self, values):
        self._values = values

    shape = property(lambda self: self._values.shape)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)
    T = property(lambda self: Array(object_array(self).T))
    flat = property(lambda self: iter(self.ravel()))
    real = property(lambda self: self)
    dtype = np.dtype(np.float64)

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return (wrap(v) for v in self._values)

    def __getitem__(self, index):
        if self.ndim == 0 and isinstance(index, (int, slice, np.integer)):
            raise Error(f"[{index}] of a single number: a field or argument of one number is that number, not an array")
        return wrap(object_array(self)[_known_index(index)])

    def __setitem__(self, index, value):
        kind = truth if self.size and all(is_truth(v) for v in self._values.flat) else number  # NumPy's arrays have one
        value = kind(object_array(value))
        self._values[_known_index(index)] = value[()] if value.ndim == 0 else value

    def _only(self, what):
        if self.size != 1:
            raise Error(f"{what} of an array of {self.size} numbers: which one?")
        return self._values.flat[0]

    def __bool__(self):
        return bool(self._only("the truth"))

    def __float__(self):
        return float(self._only("the value"))

    def __int__(self):
        return int(self._only("the value"))

    def __index__(self):
        value = self._only("the value")
        number = value.at if isinstance(value, _core.Traced) and value.evaluated else float(value)
        if not number.is_integer():
            raise Error(f"{number} is not an index")
        return int(number)

    def item(self):
        return wrap(self._only("the value"))

    def __repr__(self):
        return f"<recorded array {self.shape}>" if self.ndim else "<recorded number>"

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, where=True, **options):
        from .traced_complex import complex_ufunc, is_complex

        if any(is_complex(i) for i in inputs):
            return complex_ufunc(ufunc, method, inputs, dict(options, out=out, where=where))
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        options = {key: value for key, value in options.items() if key not in _NO_EFFECT}
        _take_dtype(name, options)
        if method == "reduce" and ufunc in _REDUCTIONS:
            result = reduce(ufunc, inputs[0], options.pop("axis", 0), options.pop("keepdims", False), options.pop("initial", None),
                            where)
            where = True
        elif method == "accumulate" and ufunc in _REDUCTIONS:
            result = accumulate(ufunc, inputs[0], options.pop("axis", 0))
        elif method == "outer" and ufunc in _UFUNCS:
            a, b = (wrap(object_array(i)) for i in inputs)
            result = _UFUNCS[ufunc](a.reshape(a.shape + (1,) * b.ndim), b)
        elif method == "__call__" and ufunc in _UFUNCS:
            result = _UFUNCS[ufunc](*(a if isinstance(a, Array) else wrap(object_array(a)) for a in inputs))
        else:
            raise Error(not_recorded(f"np.{name}" if hasattr(np, ufunc.__name__) else name))
        _refuse(name, options)
        return _written(result, None if out is None else out[0], where, name)

    def __array_function__(self, function, types, args, kwargs):
        from .traced_functions import call

        return call(function, args, kwargs)

    # Methods are NumPy's functions.
    def reshape(self, *shape, order="C"):
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes):
        return np.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def astype(self, dtype):
        if np.dtype(dtype) != np.float64:
            raise Error(f"numbers are recorded in float64, not in {np.dtype(dtype).name}")
        return Array(number(self._values).copy())

    def tolist(self):
        return [part.tolist() if part.ndim else part for part in self] if self.ndim else self

    def fill(self, value):
        self[...] = value


numbers_stay_as_they_are(Array)

# A few of NumPy's methods are functions of the same name.
for _name in ("ravel", "copy", "squeeze", "swapaxes", "repeat", "take", "diagonal", "trace", "sum", "prod", "mean", "var",
              "std", "min", "max", "any", "all", "cumsum", "cumprod", "dot"):
    setattr(Array, _name, lambda self, *args, _f=getattr(np, _name), **options: _f(self, *args, **options))
setattr(Array, "clip", lambda self, min=None, max=None, out=None: np.clip(self, min, max, out=out))
setattr(Array, "flatten", lambda self, order="C": np.ravel(self, order).copy())
# An array of objects, such as np.array([x[0], x[1]]) makes, asks its elements for these.
for _name in ("sin", "cos", "tan", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "square", "sinh", "cosh",
              "tanh", "arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh", "fabs", "floor", "ceil", "trunc",
              "hypot", "exp2", "deg2rad", "rad2deg", "radians", "degrees"):
    setattr(Array, _name, lambda self, *rest, _f=getattr(np, _name): _f(self, *rest))


def _written(result, out, mask, name):
    """The result of a ufunc, in `out` where that is given, and only where `mask` is true."""
    if mask is not True and out is None:
        raise Error(f"np.{name} with where= leaves other elements undefined: give out=np.zeros_like(x), or use costate.where")
    if out is None:
        return result
    if not isinstance(out, Array):
        raise Error("a recorded value cannot be written into an array of plain numbers: start from np.zeros_like(x), or collect "
                    "values in a list")
    out[...] = result if mask is True else where(wrap(mask), result, out.copy())
    return out


_choose = elementwise(select, 3)


def where(condition, a, b):
    """a where the condition holds, else b: the choice that a recorded function can make. Both are computed; only the one taken
    contributes to a gradient."""
    if not any(isinstance(v, (Array, _core.Traced)) for v in (condition, a, b)):
        return np.where(condition, a, b)
    return Array(alike(_choose(condition, a, b)._values))
