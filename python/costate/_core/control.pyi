"""Planning, control and estimation."""

from collections.abc import Callable, Mapping

import numpy
import numpy.typing

import costate._core


class Regulator:
    """A linear-quadratic regulator: u = -K x."""

    @property
    def K(self) -> numpy.ndarray:
        """(controls, states)"""

    @property
    def P(self) -> numpy.ndarray:
        """(states, states): the cost to go is x'Px / 2."""

    @property
    def radius(self) -> float:
        """By which factor the slowest mode shrinks per step."""

    def vjp(self, P: numpy.typing.ArrayLike | None = None, K: numpy.typing.ArrayLike | None = None) -> dict:
        """Cotangents of A, B, Q, R and S from those of P and K, as a dict."""

def lqr(A: numpy.typing.ArrayLike, B: numpy.typing.ArrayLike, Q: numpy.typing.ArrayLike, R: numpy.typing.ArrayLike, S: numpy.typing.ArrayLike | None = None) -> Regulator:
    """
    The regulator of x+ = A x + B u with the least sum of (x'Qx + 2 u'Sx + u'Ru) / 2.
    """

class LinearQuadratic:
    """
    The solution of a linear-quadratic problem, or of a batch of them; vjp differentiates through it.
    """

    @property
    def x(self) -> numpy.ndarray:
        """(*batch, steps + 1, states)"""

    @property
    def u(self) -> numpy.ndarray:
        """(*batch, steps, controls)"""

    @property
    def K(self) -> numpy.ndarray:
        """(*batch, steps, controls, states): u moves by K times what x moves."""

    @property
    def costate(self) -> numpy.ndarray:
        """
        (*batch, steps + 1, states): derivative of the cost with respect to the state.
        """

    @property
    def value(self) -> numpy.ndarray:
        """(*batch,)"""

    def vjp(self, x: numpy.typing.ArrayLike | None = None, u: numpy.typing.ArrayLike | None = None, value: numpy.typing.ArrayLike | None = None) -> dict:
        """
        Cotangents of all parts that were given, as a dict, from those of x, u and value. What the batch shares gets the sum.
        """

def linear_quadratic(steps: int, **parts) -> LinearQuadratic:
    """
    The controls with the least cost over `steps` steps of x+ = A x + B u + c, lower <= u <= upper:
    sum of x'Qx/2 + u'Sx + u'Ru/2 + q'x + r'u, plus x'Qf x/2 + qf'x at the end.

    A, B, Q, R, x0 are needed; c, S, q, r, Qf, qf, lower, upper are not. Each may have a leading axis of `steps`.
    x0 (batch, states) solves a batch that shares the rest.
    """

class Plan:
    """
    Controls, the states they lead to, and the feedback that keeps to them.
    """

    @property
    def u(self) -> numpy.ndarray:
        """(steps, controls)"""

    @property
    def x(self) -> numpy.ndarray:
        """(steps + 1, states)"""

    @property
    def K(self) -> numpy.ndarray:
        """
        (steps, controls, tangents): u moves by K times what the state moves. None of sampling: no rows.
        """

    @property
    def value(self) -> float:
        """Of the loss."""

    @property
    def gradient_norm(self) -> float:
        """Largest component with respect to a control that could still move."""

    @property
    def violation(self) -> float:
        """Of the constraints, the largest."""

    @property
    def iterations(self) -> int: ...

    @property
    def converged(self) -> bool: ...

    @property
    def reason(self) -> str:
        """Why it stopped, in words."""

    def __repr__(self) -> str: ...

def plan(system: costate._core.System, loss: costate._core.Loss | Callable, steps: int, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, method: str = 'ilqr', lower: numpy.typing.ArrayLike | None = None, upper: numpy.typing.ArrayLike | None = None, goal: numpy.typing.ArrayLike | None = None, zero: list = [], below: list = [], states: numpy.typing.ArrayLike | None = None, iterations: int = 200, tolerance: float = 1e-08, constraint_tolerance: float = 1e-08, budget: float = 0.0, samples: int = 256, sigma: numpy.typing.ArrayLike = 1.0, temperature: float = 1.0, elites: float = 0.1, hold: int = 1, seed: int = 0) -> Plan:
    """
    The controls of `steps` steps that make a loss least, from x0 and from the controls u (steps, controls).

    method   'ilqr', 'ddp' (needs second derivatives); 'mppi', 'predictive', 'cem' (without derivatives)
    lower, upper   of the controls, (controls,) or one number
    goal     the final state, which must be met; zero, below: losses that must be zero, or not positive
    states   (steps + 1, states) to start from: multiple shooting
    budget   seconds; 0: none
    samples, sigma, temperature (mppi), elites (cem), hold, seed: of the methods without derivatives
    """

class Mpc:
    """Model predictive control: plans again from the latest state."""

    def update(self, x: numpy.typing.ArrayLike, shift: int = 1) -> Plan:
        """Plans from x, `shift` steps after the last update; returns the Plan."""

    def control(self, x: numpy.typing.ArrayLike, ahead: int = 0) -> numpy.ndarray:
        """
        The control of the latest plan `ahead` steps after its start, with feedback from x.
        """

    @property
    def late(self) -> int:
        """Updates that took longer than the budget."""

def mpc(system: costate._core.System, loss: costate._core.Loss | Callable, steps: int, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, method: str = 'ilqr', lower: numpy.typing.ArrayLike | None = None, upper: numpy.typing.ArrayLike | None = None, iterations: int = 5, tolerance: float = 1e-08, budget: float = 0.0) -> Mpc:
    """A controller that looks `steps` steps ahead. Arguments as of plan()."""

class Estimate:
    """
    States and their covariances; row k is after the measurement of step k.
    """

    @property
    def x(self) -> numpy.ndarray:
        """(steps + 1, states)"""

    @property
    def P(self) -> numpy.ndarray:
        """(steps + 1, tangents, tangents)"""

    @property
    def innovation(self) -> numpy.ndarray:
        """What was measured less what was expected, (steps + 1, measured)."""

    @property
    def surprise(self) -> numpy.ndarray:
        """
        (steps + 1,): about the number of measured numbers where the model is right.
        """

    @property
    def log_likelihood(self) -> float: ...

def filter(system: costate._core.System, y: numpy.typing.ArrayLike, measured: list, process_noise: numpy.typing.ArrayLike, measurement_noise: numpy.typing.ArrayLike, x0: numpy.typing.ArrayLike, P0: numpy.typing.ArrayLike, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, method: str = 'extended') -> Estimate:
    """
    A Kalman filter over the measurements y (steps + 1, measured); a row of NaN was not measured.

    measured            losses of the final state, one per measured number: [costate.loss.expression('angle')]
    process_noise       covariance that a step adds; measurement_noise: of a measurement
    x0, P0              mean and covariance before the first measurement
    method              'extended' or 'unscented'
    """

def smooth(system: costate._core.System, y: numpy.typing.ArrayLike, measured: list, process_noise: numpy.typing.ArrayLike, measurement_noise: numpy.typing.ArrayLike, x0: numpy.typing.ArrayLike, P0: numpy.typing.ArrayLike, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, method: str = 'extended') -> Estimate:
    """The same from all measurements, also those that come later."""

def likelihood(system: costate._core.System, y: numpy.typing.ArrayLike, measured: list, process_noise: numpy.typing.ArrayLike, measurement_noise: numpy.typing.ArrayLike, x0: numpy.typing.ArrayLike, P0: numpy.typing.ArrayLike, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, method: str = 'extended') -> tuple[float, dict]:
    """
    The logarithm of the likelihood of y, and its gradient: a dict of parameters (by name), process_noise, measurement_noise, x0 and P0.
    """
