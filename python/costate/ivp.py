"""solve_ivp with SciPy's arguments and SciPy's result, plus the gradient of whatever is computed from it.

    solution = costate.solve_ivp(lotka_volterra, (0, 10), [1.0, 1.0], args=(1.5, 1.0, 3.0, 1.0), t_eval=times, rtol=1e-8)
    grad = solution.gradient(solution.y - data)        # of 1/2 |y - data|^2
    grad.y0, grad.args, grad.t_span

The right-hand side and the events are recorded for every call, because they may refer to what has changed since: globals, closures,
arrays. What was made of an equal recording, derivatives and machine code, is kept.
"""
import collections
import functools
import math
import sys

import numpy as np

from . import _core
from .error import Error
from .traced import Array, object_array, products_recorded_by, wrap

_METHODS = {"RK23": "bs3", "RK45": "dopri5", "DOP853": "dop853", "Radau": "radau5"}
_NAMES = frozenset(_core.method_names())
_MESSAGES = {0: "The solver successfully reached the end of the integration interval.", 1: "A termination event occurred."}
_known: collections.OrderedDict = collections.OrderedDict()  # (kind, key of the program) -> what was made of it; the latest last
_KEPT = 64


class _Shapes:
    """args as one array of numbers, and back."""

    def __init__(self, shapes):
        self.shapes = shapes
        self.sizes = [math.prod(shape) for shape in self.shapes]
        self.scalars = not any(self.shapes)

    def flat(self, args):
        if self.scalars:
            return np.array(args, dtype=np.float64)
        parts = [np.asarray(a, dtype=np.float64).ravel() for a in args]
        return np.concatenate(parts) if parts else np.empty(0)

    def apart(self, flat, make=lambda a: a):
        if self.scalars:
            return tuple([make(flat[i, ...]) for i in range(len(flat))])
        parts, start = [], 0
        for shape, size in zip(self.shapes, self.sizes):
            parts.append(make(flat[start:start + size].reshape(shape)))
            start += size
        return tuple(parts)


_known_shapes = functools.lru_cache(maxsize=256)(_Shapes)


def _shapes_of(args):
    return _known_shapes(tuple([() if type(a) is float else np.shape(a) for a in args]))


def _program(function, states, shapes, outputs):
    """A LayeredProgram: products with large matrices among the arguments are operations of their own."""
    recording = _core.Tracer()
    t = wrap(recording.input("t", 1)[0])
    y = Array(object_array(recording.input("x", states)))
    p = object_array(recording.input("p", sum(shapes.sizes), weights=True))
    with products_recorded_by(recording):
        result = function(t, y, *shapes.apart(p, Array))
    if isinstance(result, (list, tuple)):
        values = np.concatenate([object_array(part).ravel() for part in result])
    else:
        values = object_array(result).ravel()
    if values.size != outputs:
        raise Error(f"{getattr(function, '__name__', 'the function')} returns {values.size} numbers instead of {outputs}")
    recording.output("value", list(values))
    return recording.finish()


def _made(kind, program, make):
    """make(program), unless that of an equal program is known."""
    key = (kind, program.key())
    if key in _known:
        _known.move_to_end(key)
    else:
        _known[key] = make(program)
        if len(_known) > _KEPT:
            _known.popitem(last=False)
    return _known[key]


class Gradient:
    """Derivatives of a scalar by what went into a solution: y0 (states,), args (as they were given), t_span (2,)."""

    def __init__(self, y0, args, t_span, report):
        self.y0, self.args, self.t_span, self.report = y0, args, t_span, report

    def __repr__(self):
        return f"Gradient by y0 {self.y0.shape}, {len(self.args)} args, t_span\n{self.report!r}"


class DenseOutput:
    """The solution as a function of time, as SciPy's OdeSolution: (states,) for one time, (states, times) for several."""

    def __init__(self, solution):
        self._solution = solution

    def __call__(self, t):
        t = np.asarray(t, dtype=np.float64)
        if t.ndim > 1:
            raise ValueError("`t` must be a float or a 1-D array.")
        return np.ascontiguousarray(self._solution.at(t).T) if t.ndim else self._solution.at([t])[0]


def _in_order(given, times, order):
    """Cotangents of the times of events, in the order of their happening."""
    if times is None:
        raise Error("t_events is given, but the solution has no events")
    rows = [np.asarray(row, dtype=np.float64) for row in given]
    if [row.shape for row in rows] != [t.shape for t in times]:
        raise Error(f"t_events has the shapes {[row.shape for row in rows]} instead of {[t.shape for t in times]}")
    left = [iter(row) for row in rows]
    return np.array([next(left[i]) for i in order])


def _gradient(self, y=None, *, final=None, end_time=0.0, t_events=None, adjoint="discrete", rtol=1e-8, atol=1e-8):
    """Gradient of L, given how L depends on what was returned.

    y          dL/dy, the shape of .y: (states, times)
    final      dL/dy at the end of t_span, (states,)
    end_time   dL/dt at the end: of t_span, or of the time of a terminal event
    t_events   dL/dt_events, the shapes of .t_events
    adjoint    'discrete' (exact for the steps taken), 'interpolating' or 'backsolve' (to rtol, atol)
    """
    times = samples = event_bar = None
    if y is not None:
        y = np.asarray(y, dtype=np.float64)
        if y.shape != self.y.shape:
            raise Error(f"y has the shape {y.shape} instead of that of the solution, {self.y.shape}")
        times, samples = self.t, np.ascontiguousarray(y.T)
    if t_events is not None:
        event_bar = _in_order(t_events, self.t_events, self._solution.event_order)
    if final is not None and np.shape(final) != (len(self.y),):
        raise Error(f"final has the shape {np.shape(final)} instead of {(len(self.y),)}, one number for each state")
    y0, p, t0, t1, report = self._solution.gradient(final, times, samples, end_time, event_bar, adjoint, rtol, atol)
    return Gradient(y0, self._shapes.apart(p), np.array([t0, t1]), report)


class _Bunch(dict):
    """A dict whose keys are attributes too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return "\n".join(f"{k:>10}: {v!r}" for k, v in self.items())


@functools.lru_cache(maxsize=None)
def _result_class(base):
    class OdeResult(base):
        """SciPy's OdeResult, and gradient()."""
        gradient = _gradient

        def __getattr__(self, name):
            if name in ("_solution", "_shapes"):
                raise AttributeError(name)
            return super().__getattr__(name)

    return OdeResult


def _result_base():
    """SciPy's class where SciPy is in use; importing it takes longer than most solutions."""
    scipy = sys.modules.get("scipy.integrate._ivp.ivp")
    return scipy.OdeResult if scipy else _Bunch


def _store(result, **hidden):
    for name, value in hidden.items():
        object.__setattr__(result, name, value)
    return result


def _start(y0):
    y0 = np.atleast_1d(np.asarray(y0))
    if y0.dtype.kind == "c":
        raise Error("complex states are not solved: split them into real and imaginary parts")
    if y0.dtype.kind not in "fiub":
        raise Error(f"y0 is an array of {y0.dtype.name}, not of numbers")
    if y0.ndim != 1:
        raise ValueError(f"`y0` must be 1-dimensional, not of the shape {y0.shape}")
    if not np.all(np.isfinite(y0)):
        raise ValueError("all components of `y0` must be finite")
    return y0


class _Nothing:
    """The solution for no states."""
    nfev = njev = nlu = 0
    terminated = False
    event_order = ()

    def __init__(self, t0, t1, t_eval, p):
        self.t = np.array([t0, t1]) if t_eval is None else np.asarray(t_eval, dtype=float)
        self.y = np.empty((self.t.size, 0))
        self.p = p

    def at(self, t):
        return np.empty((len(t), 0))

    def events(self, i):
        return np.empty(0), np.empty((0, 0))

    def gradient(self, *_):
        return np.empty(0), np.zeros(self.p.size), 0.0, 0.0, None


def solve_ivp(fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False, args=None,
              *, rtol=1e-3, atol=1e-6, first_step=None, max_step=np.inf, dt=None, max_steps=100_000, jac=None,
              jac_sparsity=None):
    """Solves y' = fun(t, y, *args) from y0 over t_span. Arguments and result are those of scipy.integrate.solve_ivp.

    fun      recorded: NumPy's operators and functions, costate.where instead of `if`
    y0       (states,)
    args     numbers and arrays; each has a gradient
    method   'RK23', 'RK45', 'DOP853', 'Radau', or a name from costate.ode_methods()
    events   functions of (t, y, *args) with the attributes terminal and direction
    dt       steps of this length instead of error control
    jac and jac_sparsity are accepted and not needed: derivatives are exact; vectorized means nothing here.

    The result also has gradient(y=dL/dy, ...), which returns dL/dy0, dL/dargs and dL/dt_span.
    """
    del vectorized, jac, jac_sparsity
    if args is None:
        args = ()
    elif not isinstance(args, (tuple, list)):
        raise TypeError("args is a tuple of the further arguments of fun: args=(value,) for one")
    y0 = _start(y0)
    states, shapes = y0.size, _shapes_of(args)
    functions = () if events is None else (events,) if callable(events) else tuple(events)

    equations = _made("rhs", _program(fun, states, shapes, states), _core.Equations)
    guards = []
    for event in functions:
        direction = int(np.sign(getattr(event, "direction", 0)))
        terminal = getattr(event, "terminal", False) or False
        if terminal is not True and int(terminal) > 1:
            raise Error("an event that ends the solution when it happens for the n-th time is not supported: terminal is True or False")
        guards.append(_made(("event", direction, bool(terminal)), _program(event, states, shapes, 1),
                            lambda program: _core.Event(program.expand(), direction, bool(terminal))))
    t0, t1 = map(float, t_span)
    if first_step is not None and (first_step <= 0 or first_step > abs(t1 - t0)):
        raise ValueError("`first_step` must be positive and within the span of time")
    if max_step <= 0:
        raise ValueError("`max_step` must be positive")
    name = _METHODS.get(method, method)
    if name not in _NAMES:
        raise Error(f"method = {method!r}: use one of SciPy's {', '.join(_METHODS)}, or {', '.join(_core.method_names())}. BDF and LSODA solve "
                    "stiff problems, as 'Radau' and 'rodas5p' do here")
    if states == 0:
        solution = _Nothing(t0, t1, t_eval, shapes.flat(args))
    else:
        solution = _core.solve(equations, t0, t1, y0, shapes.flat(args), name, rtol,
                               np.atleast_1d(atol), dt or 0.0, first_step or 0.0, 0.0 if max_step == np.inf else max_step,
                               max_steps, t_eval, guards)
    tables = [solution.events(i) for i in range(len(functions))]
    status = 1 if solution.terminated else 0
    result = _result_class(_result_base())(t=solution.t, y=np.ascontiguousarray(solution.y.T), sol=DenseOutput(solution) if dense_output else None,
                        t_events=[t for t, _ in tables] if functions else None,
                        y_events=[y for _, y in tables] if functions else None, nfev=solution.nfev, njev=solution.njev,
                        nlu=solution.nlu, status=status, message=_MESSAGES[status], success=True)
    return _store(result, _solution=solution, _shapes=shapes)
