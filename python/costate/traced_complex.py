"""Complex numbers of a function that is being recorded: pairs of recorded arrays, real and imaginary parts.

What is linear and moves numbers around is done with either part; products, quotients and elementary functions by their formulas. Whatever is
not listed is an Error. Tests: tests/python/test_complex.py compares all of it with NumPy.
"""
# Array stands in for NumPy's through NumPy's own protocols, which its type stubs do not know.
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false
import numpy as np

from .error import Error
from .traced import Array, object_array, wrap
from .traced_in_place import numbers_stay_as_they_are


def is_complex(value):
    if isinstance(value, ComplexArray):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "c" or (value.dtype == object and any(is_complex(v) for v in value.flat))
    if isinstance(value, (list, tuple)):
        return any(is_complex(v) for v in value)
    return isinstance(value, (complex, np.complexfloating))


def parts(value):
    """Real and imaginary part, as recorded arrays."""
    if isinstance(value, ComplexArray):
        return value.real, value.imag
    if isinstance(value, np.ndarray) and value.dtype != object:
        return wrap(object_array(np.ascontiguousarray(value.real))), wrap(object_array(np.ascontiguousarray(value.imag)))
    if isinstance(value, (complex, np.complexfloating)):
        return wrap(value.real), wrap(value.imag)
    if is_complex(value):  # a list, or NumPy's array of objects
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return parts(value[()])
        each = [parts(v) for v in value]
        return np.stack([re for re, _ in each]), np.stack([im for _, im in each])
    real = value if isinstance(value, Array) else wrap(object_array(value))
    return real, np.zeros_like(real)


def _multiply(a, b):
    (a, b), (c, d) = parts(a), parts(b)
    return ComplexArray(a * c - b * d, a * d + b * c)


def _divide(a, b):
    (a, b), (c, d) = parts(a), parts(b)
    size = c * c + d * d
    return ComplexArray((a * c + b * d) / size, (b * c - a * d) / size)


def _exp(a):
    a, b = parts(a)
    return ComplexArray(np.exp(a) * np.cos(b), np.exp(a) * np.sin(b))


def _log(a):
    a, b = parts(a)
    return ComplexArray(np.log(np.hypot(a, b)), np.arctan2(b, a))


def _power(a, exponent):
    if not isinstance(exponent, (int, np.integer)):
        if isinstance(exponent, float) and exponent.is_integer():
            return _power(a, int(exponent))
        return _exp(_multiply(exponent, _log(a)))
    if exponent < 0:
        return _divide(1.0, _power(a, -exponent))
    result = ComplexArray(*parts(np.ones(a.shape)))
    for _ in range(exponent):
        result = _multiply(result, a)
    return result


def _matmul(a, b):
    (a, b), (c, d) = parts(a), parts(b)
    return ComplexArray(a @ c - b @ d, a @ d + b @ c)


def _each_part(function):
    return lambda a: ComplexArray(*(function(p) for p in parts(a)))


_UFUNCS = {
    np.add: lambda a, b: ComplexArray(*(x + y for x, y in zip(parts(a), parts(b)))),
    np.subtract: lambda a, b: ComplexArray(*(x - y for x, y in zip(parts(a), parts(b)))),
    np.multiply: _multiply, np.divide: _divide, np.power: _power, np.float_power: _power, np.matmul: _matmul,
    np.negative: _each_part(np.negative), np.positive: _each_part(np.positive),
    np.conjugate: lambda a: ComplexArray(parts(a)[0].copy(), -parts(a)[1]),
    np.absolute: lambda a: np.hypot(*parts(a)),
    np.square: lambda a: _multiply(a, a), np.reciprocal: lambda a: _divide(1.0, a),
    np.exp: _exp, np.log: _log,
    np.sqrt: lambda a: _exp(_multiply(0.5, _log(a))),
    np.sin: lambda a: ComplexArray(np.sin(parts(a)[0]) * np.cosh(parts(a)[1]), np.cos(parts(a)[0]) * np.sinh(parts(a)[1])),
    np.cos: lambda a: ComplexArray(np.cos(parts(a)[0]) * np.cosh(parts(a)[1]), -np.sin(parts(a)[0]) * np.sinh(parts(a)[1])),
    np.sinh: lambda a: ComplexArray(np.sinh(parts(a)[0]) * np.cos(parts(a)[1]), np.cosh(parts(a)[0]) * np.sin(parts(a)[1])),
    np.cosh: lambda a: ComplexArray(np.cosh(parts(a)[0]) * np.cos(parts(a)[1]), np.sinh(parts(a)[0]) * np.sin(parts(a)[1])),
}
# Linear, and the same for both parts. The first argument is an array, or a sequence of arrays.
_LINEAR = {np.sum, np.mean, np.cumsum, np.diff, np.ravel, np.reshape, np.transpose, np.squeeze, np.roll, np.flip, np.tile, np.repeat,
           np.take, np.diag, np.diagonal, np.trace, np.expand_dims, np.swapaxes, np.moveaxis, np.broadcast_to, np.copy, np.atleast_1d}
_OF_SEVERAL = {np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack}
_FUNCTIONS = {
    np.real: lambda a: parts(a)[0], np.imag: lambda a: parts(a)[1], np.angle: lambda a: np.arctan2(parts(a)[1], parts(a)[0]),
    np.dot: lambda a, b: _matmul(a, b) if np.ndim(a) and np.ndim(b) else _multiply(a, b),
    np.vdot: lambda a, b: _matmul(np.conjugate(np.ravel(a)), np.ravel(b)),
    np.linalg.norm: lambda a: np.sqrt(np.sum(parts(a)[0] ** 2 + parts(a)[1] ** 2)),
    np.zeros_like: lambda a: ComplexArray(*(np.zeros_like(p) for p in parts(a))),
    np.ones_like: lambda a: ComplexArray(np.ones_like(parts(a)[0]), np.zeros_like(parts(a)[1])),
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: lambda a: a.size,
}


def complex_ufunc(ufunc, method, inputs, options):
    options = {key: value for key, value in options.items() if value is not None and value is not True}
    if method == "reduce" and ufunc is np.add:
        return np.sum(ComplexArray(*parts(inputs[0])), axis=options.get("axis", 0))
    if method != "__call__" or ufunc not in _UFUNCS or set(options) - {"casting", "order", "subok"}:
        raise Error(f"np.{ufunc.__name__} of complex numbers cannot be recorded{' with ' + ', '.join(options) if options else ''}: "
                    "compute with real and imaginary parts")
    return _UFUNCS[ufunc](*inputs)


class ComplexArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of recorded complex numbers."""
    __slots__ = ("real", "imag")
    __array_priority__ = 2000
    dtype = np.dtype(np.complex128)

    def __init__(self, real, imag):
        self.real, self.imag = real, imag

    shape = property(lambda self: self.real.shape)
    ndim = property(lambda self: self.real.ndim)
    size = property(lambda self: self.real.size)
    T = property(lambda self: ComplexArray(self.real.T, self.imag.T))

    def __len__(self):
        return len(self.real)

    def __iter__(self):
        return (ComplexArray(re, im) for re, im in zip(self.real, self.imag))

    def __getitem__(self, index):
        return ComplexArray(self.real[index], self.imag[index])

    def __setitem__(self, index, value):
        self.real[index], self.imag[index] = parts(value)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return complex_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function, types, args, kwargs):
        if function in _LINEAR:
            return ComplexArray(*(function(p, *args[1:], **kwargs) for p in parts(args[0])))
        if function in _OF_SEVERAL:
            each = [parts(a) for a in args[0]]
            return ComplexArray(*(function([pair[i] for pair in each], *args[1:], **kwargs) for i in (0, 1)))
        if function in _FUNCTIONS and not kwargs:
            return _FUNCTIONS[function](*args)
        raise Error(f"np.{function.__name__} of complex numbers cannot be recorded: compute with real and imaginary parts")

    def conj(self):
        return np.conjugate(self)

    conjugate = conj

    def __abs__(self):
        return np.absolute(self)

    def __complex__(self):
        return complex(float(self.real), float(self.imag))

    def __repr__(self):
        return f"<recorded complex array {self.shape}>"


for _name in ("sum", "mean", "ravel", "reshape", "copy", "transpose", "squeeze", "dot"):
    setattr(ComplexArray, _name, lambda self, *args, _f=getattr(np, _name), **options: _f(self, *args, **options))
numbers_stay_as_they_are(ComplexArray)
# An array of objects asks its elements for these.
for _name in ("exp", "log", "sqrt", "sin", "cos", "sinh", "cosh", "square"):
    setattr(ComplexArray, _name, lambda self, _f=getattr(np, _name): _f(self))
