"""solve_ivp with SciPy's arguments and SciPy's result, plus the gradient of whatever is computed from it.

    solution = costate.solve_ivp(lotka_volterra, (0, 10), [1.0, 1.0], args=(1.5, 1.0, 3.0, 1.0), t_eval=times, rtol=1e-8)
    grad = solution.gradient(solution.y - data)        # of 1/2 |y - data|^2
    grad.y0, grad.args, grad.t_span

The right-hand side and the events are recorded for every call, because they may refer to what has changed since: globals, closures,
arrays. What was made of an equal recording, derivatives and machine code, is kept. A function whose path depends on its inputs runs in
Python: called.py.
"""
import collections
import functools
import math

import numpy as np

from . import _core
from .called import Called, SplitComplex, complex_of, program, split_jacobian
from .error import Error
from .ivp_arguments import (arguments_of, check_steps, event_settings, method_of, start_of, times_of, tolerances_of,
                            warn_without_effect)
from .ivp_result import DenseOutput, apart, joined, make_result

_MESSAGES = {0: "The solver successfully reached the end of the integration interval.", 1: "A termination event occurred."}
_known: collections.OrderedDict = collections.OrderedDict()  # (kind, key of the program) -> what was made of it; the latest last
_KEPT = 64


class _Shapes:
    """args as one array of numbers, and back. A complex one is its real parts, then its imaginary parts."""

    def __init__(self, shapes, complex_ones):
        self.shapes, self.complex_ones = shapes, complex_ones
        self.sizes = [math.prod(shape) * (2 if is_complex else 1) for shape, is_complex in zip(shapes, complex_ones)]
        self.scalars = not any(self.shapes) and not any(complex_ones)

    def flat(self, args):
        if self.scalars:
            return np.array(args, dtype=np.float64)
        parts = []
        for a, is_complex in zip(args, self.complex_ones):
            a = np.asarray(a, dtype=np.complex128 if is_complex else np.float64).ravel()
            parts += [a.real, a.imag] if is_complex else [a]
        return np.concatenate(parts) if parts else np.empty(0)

    def apart(self, flat, make=lambda a: a):
        """flat: numbers along its first axis."""
        if self.scalars:
            return tuple([make(flat[i, ...]) for i in range(len(flat))])
        parts, start = [], 0
        for shape, size, is_complex in zip(self.shapes, self.sizes, self.complex_ones):
            part = flat[start:start + size].reshape(((2,) if is_complex else ()) + shape + flat.shape[1:])
            parts.append(complex_of(make(part[0, ...]), make(part[1, ...])) if is_complex else make(part))
            start += size
        return tuple(parts)


_known_shapes = functools.lru_cache(maxsize=256)(_Shapes)


def _shapes_of(args):
    return _known_shapes(tuple([() if type(a) is float else np.shape(a) for a in args]),
                         tuple([type(a) is not float and np.iscomplexobj(a) for a in args]))


def _made(kind, recorded, make):
    """make(recorded), unless that of an equal program is known."""
    key = (kind, recorded.key())
    if key in _known:
        _known.move_to_end(key)
    else:
        _known[key] = make(recorded)
        if len(_known) > _KEPT:
            _known.popitem(last=False)
    return _known[key]


def _recorded(function, states, shapes, outputs, record):
    """The program of a function; None where it has to run in Python."""
    if record is False:
        return None
    try:
        return program(function, states, shapes, outputs)
    except Exception:
        # Whatever the function does with numbers that are not known yet. Its own mistakes come back when it runs.
        if record is True:
            raise
        return None


def _right_hand_side(fun, states, shapes, jac, jac_sparsity, record):
    """(Equations, the functions that run in Python)"""
    recorded = _recorded(fun, states, shapes, states, record)
    inner = None if recorded is None else _made("rhs", recorded, _core.Equations)
    if inner is not None and jac is None:
        return inner, []
    called = Called(fun, states, shapes, states, _made)
    called.use_jacobian(jac, jac_sparsity)
    return _core.Equations(inner, called, states, sum(shapes.sizes)), [] if inner else [called]


def _guard(event, states, shapes, record):
    direction, terminal = event_settings(event)
    recorded = _recorded(event, states, shapes, 1, record)
    if recorded is not None:
        return _made(("event", direction, terminal), recorded, lambda p: _core.Event(p.expand(), direction, terminal)), None
    called = Called(event, states, shapes, 1, _made)
    return _core.Event(called, states, sum(shapes.sizes), direction, terminal), called


class _Nothing:
    """The solution for no states."""
    nfev = njev = nlu = 0
    terminated = called = False
    event_order = ()

    def __init__(self, t0, t1, p):
        self.t = np.array([t0, t1])
        self.y = np.empty((2, 0))
        self.p = p

    def at(self, t):
        return np.empty((len(t), 0))

    def events(self, i):
        return np.empty(0), np.empty((0, 0))

    def gradient(self, *_):
        return np.empty(0), np.zeros(self.p.size), 0.0, 0.0, None


def solve_ivp(fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False, args=None,
              *, rtol=1e-3, atol=1e-6, first_step=None, max_step=np.inf, dt=None, max_steps=100_000, jac=None,
              jac_sparsity=None, record="auto"):
    """Solves y' = fun(t, y, *args) from y0 over t_span. Arguments and result are those of scipy.integrate.solve_ivp.

    fun      NumPy's operators and functions; costate.where instead of `if` is faster
    y0       (states,); complex numbers are solved as real and imaginary parts
    args     numbers and arrays, real or complex; each has a gradient
    method   'RK23', 'RK45', 'DOP853', 'Radau', 'BDF', 'LSODA', SciPy's classes of these names, or a name from costate.ode_methods().
             'LSODA' switches between 'RK45' and 'BDF'
    events   functions of (t, y, *args) with the attributes terminal and direction
    dt       steps of this length instead of error control; the last may be shorter
    jac      for the Newton iterations of 'Radau', 'BDF' and 'LSODA': a matrix, or a function of (t, y, *args). Not needed: without it,
             derivatives of fun are exact. Gradients never use it
    jac_sparsity    which elements of jac are not zero, for a fun that can only be differenced
    record   True: fun and events must be recorded; False: they run in Python as they are; 'auto': recorded if possible
    vectorized    fun takes y as a column, (states, 1)

    The result also has gradient(y=dL/dy, ...), which returns dL/dy0, dL/dargs and dL/dt_span, and sensitivities(). The gradient with
    respect to t_span scales all steps along, with dt too: it is not the derivative of a call that holds dt and cuts the last step.
    """
    if record not in (True, False, "auto"):
        raise Error(f"record = {record!r}: use True, False or 'auto'")
    method, name = method_of(method)
    args, y0 = arguments_of(args), start_of(y0)
    t0, t1 = map(float, t_span)
    times = times_of(t_eval, t0, t1)
    check_steps(first_step, max_step, dt, t0, t1)
    rtol, atol = tolerances_of(rtol, atol, y0.size)
    warn_without_effect(method, jac=jac, jac_sparsity=jac_sparsity)
    functions = () if events is None else (events,) if callable(events) else tuple(events)
    if vectorized:
        of_columns = fun
        fun = lambda t, y, *args: of_columns(t, y[:, None], *args)
    is_complex = y0.dtype.kind == "c"
    if is_complex:
        y0, fun, jac = apart(y0), SplitComplex(fun), split_jacobian(jac)
        if jac_sparsity is not None:
            jac_sparsity = np.kron(np.ones((2, 2)), jac_sparsity.toarray() if hasattr(jac_sparsity, "toarray") else jac_sparsity)
        guards = [SplitComplex(event, False) for event in functions]
        for guard, event in zip(guards, functions):
            setattr(guard, "terminal", getattr(event, "terminal", None))
            setattr(guard, "direction", getattr(event, "direction", 0))
        functions = tuple(guards)
        rtol, atol = (np.tile(tolerance, 2) if tolerance.size > 1 else tolerance for tolerance in (rtol, atol))
    states, shapes = y0.size, _shapes_of(args)

    in_python = []
    if states == 0:
        solution = _Nothing(t0, t1, shapes.flat(args))
    else:
        equations, in_python = _right_hand_side(fun, states, shapes, jac, jac_sparsity, record)
        guards = []
        for event in functions:
            guard, called = _guard(event, states, shapes, record)
            guards.append(guard)
            in_python += [called] if called else []
        solution = _core.solve(equations, t0, t1, y0, shapes.flat(args), name, rtol, atol, dt or 0.0, first_step or 0.0,
                               0.0 if max_step == np.inf else max_step, max_steps, times if times is not None and times.size else None,
                               guards, carry_newton=method == "Radau" and dt is None)
    return _result(solution, shapes, in_python, is_complex, dense_output, times, len(functions))


def _result(solution, shapes, in_python, is_complex, dense_output, times, event_count):
    tables = [solution.events(i) for i in range(event_count)]
    status = 1 if solution.terminated else 0
    t, y = solution.t, joined(solution.y.T, is_complex)
    if times is not None and solution.y.shape[1] == 0:
        t, y = times, np.empty((0, times.size))
    elif times is not None and times.size == 0:
        t, y = np.empty(0), y[:, :0]
    return make_result(
        dict(_solution=solution, _shapes=shapes, _called=in_python, _complex=is_complex),
        t=t, y=np.ascontiguousarray(y), sol=DenseOutput(solution, is_complex) if dense_output else None,
        t_events=[t for t, _ in tables] if event_count else None,
        y_events=[joined(y.T, is_complex).T if t.size else np.empty(0) for t, y in tables] if event_count else None,
        nfev=solution.nfev, njev=solution.njev, nlu=solution.nlu, status=status, message=_MESSAGES[status], success=True)
