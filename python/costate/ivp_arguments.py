"""The arguments of solve_ivp, checked as SciPy checks them: the same mistakes are the same exceptions."""
import inspect
import warnings

import numpy as np

from . import _core
from .error import Error

# SciPy's name -> ours
METHODS = {"RK23": "bs3", "RK45": "dopri5", "DOP853": "dop853", "Radau": "radau5", "BDF": "bdf", "LSODA": "switching"}
_NAMES = frozenset(_core.method_names())
_IMPLICIT = {"Radau", "BDF", "LSODA", "radau5", "bdf", "switching"}
_SMALLEST_RTOL = 100 * np.finfo(float).eps


def method_of(method):
    """The name as it was given, and ours."""
    if inspect.isclass(method):
        if method.__name__ not in METHODS or not method.__module__.startswith("scipy.integrate"):
            raise ValueError(f"`method` must be one of {list(METHODS)} or SciPy's classes of these names: the steps of "
                             f"{method.__name__} have no derivatives")
        method = method.__name__
    name = METHODS.get(method, method)
    if name not in _NAMES:
        raise ValueError(f"`method` must be one of {list(METHODS)} or {_core.method_names()}, not {method!r}")
    return method, name


def arguments_of(args):
    if args is None:
        return ()
    try:
        args = tuple(args)
    except TypeError as error:
        raise TypeError("Supplied 'args' cannot be unpacked. Please supply `args` as a tuple (e.g. `args=(1,)`)") from error
    for i, a in enumerate(args):
        a = np.asarray(a)
        if a.dtype.kind in "fc" and not np.all(np.isfinite(a)):
            raise Error(f"args[{i}] is not finite")
    return args


def start_of(y0):
    y0 = np.asarray(y0)
    if y0.dtype.kind not in "cfiub":
        raise Error(f"y0 is an array of {y0.dtype.name}, not of numbers")
    if y0.ndim == 0:
        y0 = y0.reshape(1)
    if y0.ndim != 1:
        raise ValueError(f"`y0` must be 1-dimensional, not of the shape {y0.shape}.")
    if not np.all(np.isfinite(y0)):
        raise ValueError("All components of the initial state `y0` must be finite.")
    return y0.astype(np.complex128 if y0.dtype.kind == "c" else np.float64)


def times_of(t_eval, t0, t1):
    if t_eval is None:
        return None
    t_eval = np.asarray(t_eval, dtype=np.float64)
    if t_eval.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    if np.any(t_eval < min(t0, t1)) or np.any(t_eval > max(t0, t1)):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    steps = np.diff(t_eval)
    if np.any(steps <= 0 if t1 > t0 else steps >= 0):
        raise ValueError("Values in `t_eval` are not properly sorted.")
    return t_eval


def tolerances_of(rtol, atol, states):
    rtol, atol = np.asarray(rtol, dtype=np.float64), np.asarray(atol, dtype=np.float64)
    if np.any(rtol < _SMALLEST_RTOL):
        warnings.warn("At least one element of `rtol` is too small. "
                      f"Setting `rtol = np.maximum(rtol, {_SMALLEST_RTOL})`.", stacklevel=3)
        rtol = np.maximum(rtol, _SMALLEST_RTOL)
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value.ndim > 0 and value.shape != (states,):
            raise ValueError(f"`{name}` has wrong shape.")
        if not np.all(value >= 0):
            raise ValueError(f"`{name}` must be positive.")
    return np.atleast_1d(rtol), np.atleast_1d(atol)


def check_steps(first_step, max_step, dt, t0, t1):
    if max_step <= 0:
        raise ValueError("`max_step` must be positive.")
    if first_step is not None and first_step <= 0:
        raise ValueError("`first_step` must be positive.")
    if first_step is not None and first_step > abs(t1 - t0):
        raise ValueError("`first_step` exceeds bounds.")
    if dt is not None and not dt > 0:
        raise ValueError("`dt` must be positive.")


def warn_without_effect(method, **given):
    idle = [name for name, value in given.items() if value is not None]
    if idle and method not in _IMPLICIT:
        names = ", ".join(f"`{name}`" for name in idle)
        warnings.warn(f"The following arguments have no effect for a chosen solver: {names}.", stacklevel=3)


def event_settings(event):
    """Its direction, and how often it happens before the solution ends; 0: it does not end it."""
    terminal = getattr(event, "terminal", None)
    if terminal is None or terminal == 0:
        count = 0
    elif int(terminal) == terminal and terminal > 0:
        count = int(terminal)
    else:
        raise ValueError("The `terminal` attribute of each event must be a boolean or positive integer.")
    return int(np.sign(getattr(event, "direction", 0))), count
