"""Recording of functions: an ordinary function becomes a Program.

The function runs once on arrays of numbers that are not known yet (traced.py); every operation is written down, and what comes of it is a
Program, which runs for many worlds in SIMD strips, and is differentiated exactly. What the function does with plain numbers happens while
it is recorded and becomes a constant. A choice between values is costate.where(condition, a, b): an `if` would be decided while recording, and is an error.
"""
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from . import _core
from .called import what_failed
from .error import Error
from ._recipe import remembered
from .traced import Array, object_array, products_recorded_by, wrap

recorded_system = remembered(_core.recorded_system, __name__)


def _shape_of(field, shapes):
    return shapes.get(field.name, () if field.size == 1 else (field.size,))


class Fields(Array):
    """All numbers of a role in one array, and each field by its name: p.mass, p["mass"], p[0]."""
    __slots__ = ("_fields", "_shapes")

    def __init__(self, fields, values, shapes):
        """fields: the signature's; values: {name: list of Traced}; shapes: {name: shape}, of those that are not flat."""
        parts = [object_array(values[f.name]) for f in fields if f.size > 0]
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
        parts = [object_array(result[f.name]).ravel() for f in fields]
        for f, part in zip(fields, parts):
            if part.size != f.size:
                raise Error(f"{name} returns {part.size} numbers for '{f.name}' instead of {f.size}")
        values = np.concatenate(parts)
    elif isinstance(result, (list, tuple)):
        values = np.concatenate([object_array(part).ravel() for part in result])
    else:
        values = object_array(result).ravel()
    total = sum(f.size for f in fields)
    if values.size != total:
        raise Error(f"{name} returns {values.size} numbers instead of {total}, one for each state")
    return list(values)


def record(function, signature, one_output=False, shapes={}, layered=False, outputs=None):
    """The Program of a function of (x, u, p, t, k) or of fields by name, in any order and leaving out what it does not need.
    layered: a LayeredProgram instead, in which products with large matrices of parameters are operations of their own. outputs: the fields of
    what it returns; None: the states."""
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
            arguments[name] = Array(object_array(value_of(field)).reshape(_shape_of(field, shapes)))
        elif name in roles:
            for field in roles[name]:
                value_of(field)
            arguments[name] = Fields(roles[name], values, shapes)
        elif name in ("t", "k"):
            arguments[name] = wrap(recording.input(name, 1)[0])
        else:
            raise Error(f"what is the argument '{name}' of {function.__name__}? A function of a system takes x, u, p, t, k, "
                              f"or fields by name: {', '.join(by_name)}")
    with products_recorded_by(recording if layered else None), what_failed(function):
        result = function(**arguments)
    fields = signature.states if outputs is None else outputs
    if one_output:
        single = object_array(result).ravel()
        if single.size != 1:
            raise Error(f"{function.__name__} returns {single.size} numbers; a loss is one number")
        recording.output("value", [single[0]])
    else:
        recording.output("value", _outputs(result, fields, function.__name__))
    return recording.finish() if layered else recording.finish().expand()


Names = Mapping[str, int] | Sequence[str] | str


@overload
def system(function: None = None, *, states: Names, controls: Names | None = None,
           parameters: Mapping[str, npt.ArrayLike] | None = None, method: str = "rk4", dt: float = 0.01,
           initial: npt.ArrayLike | None = None, name: str | None = None) -> Callable[[Callable[..., Any]], _core.System]: ...


@overload
def system(function: Callable[..., Any], *, states: Names, controls: Names | None = None,
           parameters: Mapping[str, npt.ArrayLike] | None = None, method: str = "rk4", dt: float = 0.01,
           initial: npt.ArrayLike | None = None, name: str | None = None) -> _core.System: ...


def system(function: Callable[..., Any] | None = None, *, states: Names, controls: Names | None = None,
           parameters: Mapping[str, npt.ArrayLike] | None = None, method: str = "rk4", dt: float = 0.01,
           initial: npt.ArrayLike | None = None, name: str | None = None) -> Any:
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
    if not len(states):
        raise Error("there are no states: name what the function gives the derivatives of, states=['angle', 'rate']")

    def make(f):
        signature = _core.build_signature(states, controls, parameters)
        shapes = {key: np.shape(value) for key, value in (parameters or {}).items()}
        program = record(f, signature, shapes=shapes, layered=True)
        matrices = {key: shape for key, shape in shapes.items() if len(shape) > 1}
        return recorded_system(signature, cast(_core.LayeredProgram, program), method, dt, name or f.__name__, initial, matrices)

    return make if function is None else make(function)
