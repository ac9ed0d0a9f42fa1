"""Arrays of a function that is being recorded: NumPy's operators and functions on numbers that are not known yet.

An ordinary function runs once on such arrays; every operation is written down, and what comes of it is a Program, which runs for many
worlds in SIMD strips, and is differentiated exactly. What the function does with plain numbers happens while it is recorded and
becomes a constant. A choice between values is costate.where(condition, a, b): an `if` would be decided while recording, and is an error.
"""
import contextlib
import inspect
import threading

import numpy as np

from . import _core
from .error import Error

_op = _core.operations


def _object_array(value):
    """Values as an array of objects: numbers and _core.Traced."""
    if isinstance(value, Array):
        return value._values
    if isinstance(value, (_core.Traced, bool, int, float, np.generic)):
        array = np.empty((), dtype=object)
        array[()] = value if isinstance(value, _core.Traced) else float(value)
        return array
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.astype(np.float64).astype(object)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return _object_array(value[()])
    if isinstance(value, (list, tuple, np.ndarray)):
        parts = [_object_array(part) for part in value]
        if not parts:
            return np.empty(0, dtype=object)
        return np.stack(parts)
    raise Error(f"{type(value).__name__} cannot be recorded: use numbers and arrays of numbers")


def _wrap(values):
    if not isinstance(values, np.ndarray):
        values = _object_array(values)
    return Array(values)


def _elementwise(function, count):
    """function of `count` scalars, over arrays."""
    over_arrays = np.frompyfunc(function, count, 1)

    def apply(*inputs):
        arrays = [_object_array(a) for a in inputs]
        if all(a.ndim == 0 for a in arrays):
            return _wrap(function(*(a[()] for a in arrays)))
        return _wrap(over_arrays(*arrays))

    return apply


_UNARY = {"negative": "neg", "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "exp": "exp", "expm1": "expm1",
          "log": "log", "log1p": "log1p", "cbrt": "cbrt", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsin": "asin",
          "arccos": "acos", "arctan": "atan", "absolute": "abs", "fabs": "abs", "sign": "sign", "floor": "floor",
          "logical_not": "not", "invert": "not"}
_BINARY = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "arctan2": "atan2", "power": "pow",
           "float_power": "pow", "minimum": "min", "maximum": "max", "fmin": "min", "fmax": "max", "less": "lt",
           "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
           "logical_and": "and", "logical_or": "or", "logical_xor": "ne", "bitwise_and": "and", "bitwise_or": "or",
           "bitwise_xor": "ne"}
_select = _elementwise(_op["select"], 3)

# ufunc -> what it records
_UFUNCS = {getattr(np, name): _elementwise(_op[op], 1) for name, op in _UNARY.items()}
_UFUNCS.update({getattr(np, name): _elementwise(_op[op], 2) for name, op in _BINARY.items()})
_UFUNCS.update({
    np.positive: lambda a: a,
    np.square: lambda a: a * a,
    np.reciprocal: lambda a: 1.0 / a,
    np.exp2: lambda a: np.exp(a * np.log(2.0)),
    np.log2: lambda a: np.log(a) * (1 / np.log(2.0)),
    np.log10: lambda a: np.log(a) * (1 / np.log(10.0)),
    np.arcsinh: lambda a: np.sign(a) * np.log(np.abs(a) + np.sqrt(a * a + 1)),
    np.arccosh: lambda a: np.log(a + np.sqrt(a * a - 1)),
    np.arctanh: lambda a: 0.5 * (np.log1p(a) - np.log1p(-a)),
    np.ceil: lambda a: -np.floor(-a),
    np.trunc: lambda a: where(a < 0, -np.floor(-a), np.floor(a)),
    np.deg2rad: lambda a: a * (np.pi / 180), np.radians: lambda a: a * (np.pi / 180),
    np.rad2deg: lambda a: a * (180 / np.pi), np.degrees: lambda a: a * (180 / np.pi),
    np.hypot: lambda a, b: np.sqrt(a * a + b * b),
    np.copysign: lambda a, b: where(b < 0, -np.abs(a), np.abs(a)),
    np.heaviside: lambda a, b: where(a < 0, 0.0, where(a > 0, 1.0, b)),
    np.floor_divide: lambda a, b: np.floor(a / b),
    np.remainder: lambda a, b: a - np.floor(a / b) * b,
    np.logaddexp: lambda a, b: np.maximum(a, b) + np.log1p(np.exp(-np.abs(a - b))),
    np.matmul: lambda a, b: _matmul(np.matmul, a, b),
})
_REDUCTIONS = {np.add: 0.0, np.multiply: 1.0, np.minimum: None, np.maximum: None, np.logical_and: None, np.logical_or: None}


class _Element:
    """A scalar with operators, for NumPy's own loops over objects (matmul, tensordot, cross, ...)."""
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return _Element(_op["add"](self.v, other.v))

    def __sub__(self, other):
        return _Element(_op["sub"](self.v, other.v))

    def __mul__(self, other):
        return _Element(_op["mul"](self.v, other.v))


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
    return None if result is None else _wrap(_object_array(result))


def _matmul(function, a, b):
    result = _dense(_object_array(a), _object_array(b))
    return _product(function, a, b) if result is None else result


def _product(function, *arrays, **options):
    boxed = function(*(_box(_object_array(a)) for a in arrays), **options)
    return _wrap(boxed.v if isinstance(boxed, _Element) else _unbox(boxed))


def _reduce(ufunc, array, axis, keepdims):
    values = _object_array(array)
    if axis is None:
        axes = tuple(range(values.ndim))
    else:
        axes = tuple(a % values.ndim for a in (axis if isinstance(axis, tuple) else (axis,)))
    rest = tuple(a for a in range(values.ndim) if a not in axes)
    shape = tuple(values.shape[a] for a in rest)
    rows = values.transpose(axes + rest).reshape((-1,) + shape)
    result = None
    for row in rows:
        result = Array(np.asarray(row, dtype=object)) if result is None else _UFUNCS[ufunc](result, Array(np.asarray(row, dtype=object)))
    if result is None:
        if _REDUCTIONS[ufunc] is None:
            raise Error(f"{ufunc.__name__} of nothing")
        result = _wrap(np.full(shape, _REDUCTIONS[ufunc]).astype(object))
    if keepdims:
        result = result.reshape(tuple(1 if a in axes else n for a, n in enumerate(values.shape)))
    return result


class Array(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of recorded numbers. Slices are views, as in NumPy; a single number is an array without axes."""
    __slots__ = ("_values",)
    __array_priority__ = 1000

    def __init__(self, values):
        self._values = values

    shape = property(lambda self: self._values.shape)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)
    T = property(lambda self: Array(self._values.T))
    dtype = np.dtype(np.float64)

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return (_wrap(v) for v in self._values)

    def __getitem__(self, index):
        return _wrap(self._values[index])

    def __setitem__(self, index, value):
        value = _object_array(value)
        self._values[index] = value[()] if value.ndim == 0 else value

    def __bool__(self):
        return bool(self._values[()]) if self.ndim == 0 else bool(self._values.flat[0])

    def __float__(self):
        return float(self._values[()]) if self.ndim == 0 else float(self._values.flat[0])

    __int__ = __index__ = __float__

    def __repr__(self):
        return f"<recorded array {self.shape}>" if self.ndim else "<recorded number>"

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if method == "reduce" and ufunc in _REDUCTIONS:
            result = _reduce(ufunc, inputs[0], options.get("axis", 0), options.get("keepdims", False))
        elif method == "__call__" and ufunc in _UFUNCS:
            result = _UFUNCS[ufunc](*(a if isinstance(a, Array) else _wrap(_object_array(a)) for a in inputs))
        else:
            name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
            raise Error(f"np.{name} cannot be recorded; see docs/python.md for what can")
        if out is None:
            return result
        target = out[0]
        if not isinstance(target, Array):
            raise Error("a recorded value cannot be written into an array of plain numbers: "
                              "start from np.zeros_like(x), or collect values in a list")
        target[...] = result
        return target

    def __array_function__(self, function, types, args, kwargs):
        if function not in _FUNCTIONS:
            module = "np.linalg" if "linalg" in function.__module__ else "np"
            raise Error(f"{module}.{function.__name__} cannot be recorded; see docs/python.md for what can")
        return _FUNCTIONS[function](*args, **kwargs)

    def reshape(self, *shape):
        return Array(self._values.reshape(*shape))

    def ravel(self):
        return Array(self._values.ravel())

    flatten = ravel

    def copy(self):
        return Array(self._values.copy())

    def transpose(self, *axes):
        return Array(self._values.transpose(*axes))

    def sum(self, axis=None, keepdims=False):
        return _reduce(np.add, self, axis, keepdims)

    def prod(self, axis=None, keepdims=False):
        return _reduce(np.multiply, self, axis, keepdims)

    def mean(self, axis=None, keepdims=False):
        total = self.sum(axis, keepdims)
        return total * (total.size / self.size)

    def min(self, axis=None, keepdims=False):
        return _reduce(np.minimum, self, axis, keepdims)

    def max(self, axis=None, keepdims=False):
        return _reduce(np.maximum, self, axis, keepdims)

    def dot(self, other):
        return _matmul(np.dot, self, other)


# An array of objects, such as np.array([x[0], x[1]]) makes, asks its elements for these.
for _name in ("sin", "cos", "tan", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "square", "sinh", "cosh",
              "tanh", "arcsin", "arccos", "arctan", "arctan2", "fabs", "floor", "ceil", "hypot"):
    setattr(Array, _name, lambda self, *rest, _f=getattr(np, _name): _f(self, *rest))


def where(condition, a, b):
    """a where the condition holds, else b: the choice that a recorded function can make. Both are computed; only the one taken
    contributes to a gradient."""
    if not any(isinstance(v, (Array, _core.Traced)) for v in (condition, a, b)):
        return np.where(condition, a, b)
    return _select(condition, a, b)


def _rearranged(function):
    """A function that only moves numbers around."""
    def apply(*args, **kwargs):
        args = [_object_array(a) if isinstance(a, (Array, list)) or (isinstance(a, tuple) and any(
            isinstance(v, Array) for v in a)) else a for a in args]
        return _wrap(function(*args, **kwargs))
    return apply


def _joined(function):
    return lambda arrays, *args, **kwargs: _wrap(function([_object_array(a) for a in arrays], *args, **kwargs))


def _norm(x, ord=None, axis=None, keepdims=False):
    if ord not in (None, 2):
        raise Error("np.linalg.norm is recorded for ord=None and 2")
    return np.sqrt(_reduce(np.add, _wrap(x) * _wrap(x), axis, keepdims))


_FUNCTIONS = {
    np.where: where,
    np.sum: lambda a, axis=None, keepdims=False: _reduce(np.add, a, axis, keepdims),
    np.prod: lambda a, axis=None, keepdims=False: _reduce(np.multiply, a, axis, keepdims),
    np.mean: lambda a, axis=None, keepdims=False: a.mean(axis, keepdims),
    np.min: lambda a, axis=None, keepdims=False: _reduce(np.minimum, a, axis, keepdims),
    np.max: lambda a, axis=None, keepdims=False: _reduce(np.maximum, a, axis, keepdims),
    np.clip: lambda a, lower, upper: np.minimum(np.maximum(a, lower), upper),
    np.dot: lambda a, b: _matmul(np.dot, a, b),
    np.inner: lambda a, b: _product(np.inner, a, b),
    np.outer: lambda a, b: _product(np.outer, a, b),
    np.vdot: lambda a, b: _product(np.dot, _wrap(a).ravel(), _wrap(b).ravel()),
    np.tensordot: lambda a, b, axes=2: _product(np.tensordot, a, b, axes=axes),
    np.cross: lambda a, b: _product(np.cross, a, b),
    np.linalg.norm: _norm,
    np.concatenate: _joined(np.concatenate), np.stack: _joined(np.stack), np.hstack: _joined(np.hstack),
    np.vstack: _joined(np.vstack), np.column_stack: _joined(np.column_stack),
    np.zeros_like: lambda a, **_: _wrap(np.zeros(a.shape).astype(object)),
    np.ones_like: lambda a, **_: _wrap(np.ones(a.shape).astype(object)),
    np.empty_like: lambda a, **_: _wrap(np.zeros(a.shape).astype(object)),
    np.full_like: lambda a, value, **_: np.zeros_like(a) + value,
    np.ndim: lambda a: a.ndim, np.shape: lambda a: a.shape, np.size: lambda a: a.size,
    np.diff: lambda a: a[1:] - a[:-1],
}
_FUNCTIONS[np.amin] = _FUNCTIONS[np.min]
_FUNCTIONS[np.amax] = _FUNCTIONS[np.max]
for _function in (np.reshape, np.ravel, np.transpose, np.squeeze, np.roll, np.flip, np.tile, np.repeat, np.atleast_1d,
                  np.broadcast_to, np.moveaxis, np.swapaxes, np.expand_dims, np.copy, np.diagonal, np.take):
    _FUNCTIONS[_function] = _rearranged(_function)


def _shape_of(field, shapes):
    return shapes.get(field.name, () if field.size == 1 else (field.size,))


class Fields(Array):
    """All numbers of a role in one array, and each field by its name: p.mass, p["mass"], p[0]."""
    __slots__ = ("_fields", "_shapes")

    def __init__(self, fields, values, shapes):
        """fields: the signature's; values: {name: list of Traced}; shapes: {name: shape}, of those that are not flat."""
        parts = [_object_array(values[f.name]) for f in fields if f.size > 0]
        super().__init__(np.concatenate(parts) if parts else np.empty(0, dtype=object))
        self._fields = {f.name: f for f in fields}
        self._shapes = shapes

    def __getitem__(self, index):
        if not isinstance(index, str):
            return super().__getitem__(index)
        if index not in self._fields:
            raise Error(f"there is no '{index}': there are {', '.join(self._fields) or 'none'}")
        field = self._fields[index]
        part = self._values[field.offset:field.offset + field.size]
        return Array(part.reshape(_shape_of(field, self._shapes)))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __setitem__(self, index, value):
        raise Error("the inputs of a step are never written to: copy them first")


def _outputs(result, fields, name):
    """What a function returned, as a list of numbers, one for each of the fields'."""
    if result is None:
        raise Error(f"{name} returns nothing: return the derivative (or the next value) of {', '.join(f.name for f in fields)}")
    if isinstance(result, dict):
        unknown = [key for key in result if key not in {f.name for f in fields}]
        missing = [f.name for f in fields if f.name not in result]
        if unknown or missing:
            raise Error(f"{name} returns {', '.join(map(str, result))}; expected {', '.join(f.name for f in fields)}")
        parts = [_object_array(result[f.name]).ravel() for f in fields]
        for f, part in zip(fields, parts):
            if part.size != f.size:
                raise Error(f"{name} returns {part.size} numbers for '{f.name}' instead of {f.size}")
        values = np.concatenate(parts)
    elif isinstance(result, (list, tuple)):
        values = np.concatenate([_object_array(part).ravel() for part in result])
    else:
        values = _object_array(result).ravel()
    total = sum(f.size for f in fields)
    if values.size != total:
        raise Error(f"{name} returns {values.size} numbers instead of {total}, one for each state")
    return list(values)


def record(function, signature, one_output=False, shapes={}, layered=False):
    """The Program of a function of (x, u, p, t, k) or of fields by name, in any order and leaving out what it does not need.
    layered: a LayeredProgram instead, in which products with large matrices of parameters are operations of their own."""
    recording = _core.Tracer()
    roles = {"x": signature.states, "u": signature.controls, "p": signature.parameters}
    by_name = {f.name: f for fields in roles.values() for f in fields}
    weights = {f.name for f in signature.parameters}
    values, arguments = {}, {}

    def value_of(field):
        if field.name not in values:
            values[field.name] = recording.input(field.name, field.size, weights=field.name in weights)
        return values[field.name]

    for name in inspect.signature(function).parameters:
        if name in by_name:
            field = by_name[name]
            arguments[name] = Array(_object_array(value_of(field)).reshape(_shape_of(field, shapes)))
        elif name in roles:
            for field in roles[name]:
                value_of(field)
            arguments[name] = Fields(roles[name], values, shapes)
        elif name in ("t", "k"):
            arguments[name] = _wrap(recording.input(name, 1)[0])
        else:
            raise Error(f"what is the argument '{name}' of {function.__name__}? A function of a system takes x, u, p, t, k, "
                              f"or fields by name: {', '.join(by_name)}")
    with products_recorded_by(recording if layered else None):
        result = function(**arguments)
    fields = signature.states
    if one_output:
        single = _object_array(result).ravel()
        if single.size != 1:
            raise Error(f"{function.__name__} returns {single.size} numbers; a loss is one number")
        recording.output("value", [single[0]])
    else:
        recording.output("value", _outputs(result, fields, function.__name__))
    return recording.finish() if layered else recording.finish().expand()


def system(function=None, *, states, controls=None, parameters=None, method="rk4", dt=0.01, initial=None, name=None):
    """A System from an ordinary Python function, recorded once. Use as a decorator.

        @costate.system(states=["q", "v"], controls=["torque"], parameters={"g": 9.81, "l": 1.0}, dt=0.01)
        def pendulum(x, u, p):
            q, v = x
            return [v, u.torque - p.g / p.l * np.sin(q)]

    function    of x, u, p, t (in any order, leaving out what it does not need) or of fields by name. Returns the derivative of every state
                (a list, an array, or {state: derivative}), or the next state if method='next'
    states, controls    {name: size} or a list of names
    parameters  {name: default}; an array is a field of several numbers, and keeps its shape inside the function
    method      'rk4', 'euler', 'midpoint', 'heun', 'bs3', 'dopri5', 'tsit5' or 'dop853' in steps of the parameter 'dt', or 'next'. A method of
                higher order takes fewer evaluations of an expensive function to the same error: 'dopri5' with five times the step of 'rk4'
    initial     where rollouts start unless told otherwise, (states,)
    """
    def make(f):
        signature = _core.build_signature(states, controls, parameters)
        shapes = {key: np.shape(value) for key, value in (parameters or {}).items()}
        return _core.recorded_system(signature, record(f, signature, shapes=shapes, layered=True), method, dt, name or f.__name__, initial)

    return make if function is None else make(function)
