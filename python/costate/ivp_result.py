"""What solve_ivp returns: SciPy's OdeResult, with gradient() and sensitivities()."""
import contextlib
import copy
import functools
import sys

import numpy as np

from .error import Error


class Gradient:
    """Derivatives of a scalar with respect to what went into a solution: y0 (states,), args (as they were given), t_span (2,)."""

    def __init__(self, y0, args, t_span, report):
        self.y0, self.args, self.t_span, self.report = y0, args, t_span, report

    def __repr__(self):
        return f"Gradient with respect to y0 {self.y0.shape}, {len(self.args)} args, t_span\n{self.report!r}"


class Sensitivities:
    """Derivatives of an output with respect to y0, each of args, and t_span: the axes of the output first, then those of the input."""

    def __init__(self, y0, args, t_span):
        self.y0, self.args, self.t_span = y0, args, t_span

    def __repr__(self):
        return f"Sensitivities: y0 {self.y0.shape}, args {', '.join(str(a.shape) for a in self.args) or 'none'}, t_span {self.t_span.shape}"


class DenseOutput:
    """The solution as a function of time, as SciPy's OdeSolution: (states,) for one time, (states, times) for several. Beyond the ends
    of the solution the interpolants there go on."""

    def __init__(self, solution, complex_states):
        self._solution, self._complex = solution, complex_states
        self.ts = solution.t
        self.t_min, self.t_max = (float(np.min(self.ts)), float(np.max(self.ts))) if self.ts.size else (None, None)

    def __call__(self, t):
        t = np.asarray(t, dtype=np.float64)
        if t.ndim > 1:
            raise ValueError("`t` must be a float or a 1-D array.")
        values = joined(self._solution.at(np.atleast_1d(t)).T, self._complex)
        return np.ascontiguousarray(values) if t.ndim else values[:, 0]


def joined(rows, complex_states):
    # Rows of states: where they are complex, real parts come first.
    half = len(rows) // 2
    return rows[:half] + 1j * rows[half:] if complex_states else rows


def apart(rows):
    return np.concatenate([np.real(rows), np.imag(rows)])


def _in_order(given, times, order):
    """Cotangents of the times of events, in the order of their happening."""
    if times is None:
        raise Error("t_events is given, but the solution has no events")
    rows = [np.asarray(row, dtype=np.float64) for row in given]
    if [row.shape for row in rows] != [t.shape for t in times]:
        raise Error(f"t_events has the shapes {[row.shape for row in rows]} instead of {[t.shape for t in times]}")
    left = [iter(row) for row in rows]
    return np.array([next(left[i]) for i in order])


def _finite(name, value):
    if value is not None and not np.all(np.isfinite(value)):
        raise Error(f"{name} is not finite: a gradient of it would not be, either")


def _need_steps(result):
    if "_solution" not in vars(result):
        raise Error("this solution came out of a pickle, which does not hold its steps: solve again for derivatives")


@contextlib.contextmanager
def _exactly(result):
    """No derivative by differences, and none of another function."""
    for called in result._called:
        called.refuse_changes()
        called.strict = True
    try:
        yield
    finally:
        for called in result._called:
            called.strict = False


def gradient(self, y=None, *, final=None, end_time=0.0, t_events=None, adjoint="discrete", rtol=1e-8, atol=1e-8):
    """Gradient of L, given how L depends on what was returned.

    y          dL/dy, the shape of .y: (states, times). Of complex states: dL/dRe(y) + i dL/dIm(y); so is what comes back for a complex
               y0 and for complex args
    final      dL/dy at the end of t_span, (states,)
    end_time   dL/dt at the end: of t_span, or of the time of a terminal event
    t_events   dL/dt_events, the shapes of .t_events
    adjoint    'discrete' (exact for the steps taken), 'interpolating' or 'backsolve' (to rtol, atol)
    """
    _need_steps(self)
    if y is None and final is None and t_events is None and not end_time:
        raise Error("there is nothing to differentiate: say how your loss depends on the solution, "
                    "solution.gradient(final=dL/dy at the end) or solution.gradient(y=dL/dy at every time)")
    times = samples = event_bar = None
    for name, value in (("y", y), ("final", final), ("end_time", end_time)):
        _finite(name, value)
    if y is not None:
        y = np.asarray(y)
        if y.shape != self.y.shape:
            raise Error(f"y has the shape {y.shape} instead of that of the solution, {self.y.shape}")
        times, samples = self.t, np.ascontiguousarray((apart(y) if self._complex else y.astype(np.float64)).T)
    if t_events is not None:
        event_bar = _in_order(t_events, self.t_events, self._solution.event_order)
        _finite("t_events", event_bar)
    if final is not None:
        if np.shape(final) != (len(self.y),):
            raise Error(f"final has the shape {np.shape(final)} instead of {(len(self.y),)}, one number for each state")
        final = apart(np.asarray(final)) if self._complex else final
    with _exactly(self):
        y0, p, t0, t1, report = self._solution.gradient(final, times, samples, end_time, event_bar, adjoint, rtol, atol)
    return Gradient(joined(y0, self._complex), self._shapes.apart(p), np.array([t0, t1]), report)


def sensitivities(self, of="y"):
    """Derivatives of an output with respect to all inputs, by forward mode: for few inputs, or many outputs.

    of    'y': at the times of .t, (states, times, ...); 'final': (states, ...); 't_events': one of (events, ...) for each event function
    """
    _need_steps(self)
    if of not in ("y", "final", "t_events"):
        raise Error(f"of = {of!r}: use 'y', 'final' or 't_events'")
    if self._complex:
        raise Error("sensitivities of complex states are not returned: use gradient(), or split the states into real and imaginary parts")
    if of == "t_events" and self.t_events is None:
        raise Error("the solution has no events")
    states, arguments = len(self.y), sum(self._shapes.sizes)
    with _exactly(self):
        y, final, events, _ = self._solution.sensitivities(self.t if of == "y" else [], list(np.eye(states + arguments + 2)))

    def by_input(columns):  # (outputs..., inputs)
        args = self._shapes.apart(np.moveaxis(columns[..., states:-2], -1, 0))
        return Sensitivities(columns[..., :states], tuple(np.moveaxis(a, list(range(a.ndim - columns.ndim + 1)),
                             list(range(columns.ndim - 1, a.ndim))) for a in args), columns[..., -2:])

    if of == "y":
        return by_input(np.moveaxis(y, (0, 1, 2), (2, 1, 0)))
    if of == "final":
        return by_input(final.T)
    order = np.array(self._solution.event_order, dtype=int)
    return [by_input(events[:, order == i].T) for i in range(len(self.t_events))]


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
        """SciPy's OdeResult, with gradient() and sensitivities()."""

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            return super().__getattr__(name)

        def __copy__(self):
            return make_result(vars(self), **self)

        def __deepcopy__(self, memo):
            return make_result(vars(self), **copy.deepcopy({**self, "sol": None}, memo) | {"sol": self.sol})

        def __reduce__(self):
            return _without_derivatives, ({**self, "sol": None},)

    OdeResult.gradient, OdeResult.sensitivities = gradient, sensitivities
    return OdeResult


def _without_derivatives(values):
    """What a pickle brings back."""
    return make_result({}, **values)


def make_result(hidden, **values):
    # SciPy's class where SciPy is in use; importing it takes longer than most solutions.
    scipy = sys.modules.get("scipy.integrate._ivp.ivp")
    result = _result_class(scipy.OdeResult if scipy else _Bunch)(**values)
    for name, value in hidden.items():
        object.__setattr__(result, name, value)
    return result
