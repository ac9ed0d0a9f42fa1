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

    def __repr__(self) -> str: ...

def lqr(A: numpy.typing.ArrayLike, B: numpy.typing.ArrayLike, Q: numpy.typing.ArrayLike, R: numpy.typing.ArrayLike, S: numpy.typing.ArrayLike | None = None) -> Regulator:
    """
    The regulator of x+ = A x + B u with the least sum of (x'Qx + 2 u'Sx + u'Ru) / 2.
    """

class LinearQuadratic:
    """
    The solution of a linear-quadratic problem, or of a batch of them; jvp and vjp differentiate through it.
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

    def jvp(self, **parts) -> dict:
        """
        How x, u and value move, as a dict, when the parts that are given here move along these tangents.
        """

def linear_quadratic(steps: int, **parts) -> LinearQuadratic:
    """
    The controls with the least cost over `steps` steps of x+ = A x + B u + c, lower <= u <= upper,
    x_lower <= x <= x_upper after each step:
    sum of x'Qx/2 + u'Sx + u'Ru/2 + q'x + r'u, plus x'Qf x/2 + qf'x at the end.

    A, B, Q, R, x0 are needed; c, S, q, r, Qf, qf and the bounds are not. Of Q, R and Qf the symmetric part counts.
    Leading axes: (steps, ...) for numbers of each step, (batch, steps or 1, ...) for a batch; of Qf, qf and x0
    (batch, ...). What has no batch axis is shared by the batch. Batches are solved on all threads.
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

    def set_parameters(self, p: dict) -> None:
        """
        Plans from here on are for a system with these parameters, those that are not named at their defaults.
        """

    def start(self, plan: Plan) -> None:
        """Goes on from a plan that was kept."""

    @property
    def late(self) -> int:
        """Updates that took longer than the budget."""

    def __repr__(self) -> str: ...

def mpc(system: costate._core.System, loss: costate._core.Loss | Callable, steps: int, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, method: str = 'ilqr', lower: numpy.typing.ArrayLike | None = None, upper: numpy.typing.ArrayLike | None = None, iterations: int = 5, tolerance: float = 1e-08, budget: float = 0.0) -> Mpc:
    """A controller that looks `steps` steps ahead. Arguments as of plan()."""

class Collocated:
    """States and controls at the knots, and between them."""

    @property
    def x(self) -> numpy.ndarray:
        """(steps + 1, states)"""

    @property
    def u(self) -> numpy.ndarray:
        """(steps, controls); of a rule (steps + 1, controls)"""

    @property
    def x_mid(self) -> numpy.ndarray:
        """(steps, states), of hermite_simpson"""

    @property
    def u_mid(self) -> numpy.ndarray:
        """(steps, controls), of hermite_simpson"""

    @property
    def value(self) -> float:
        """Of the loss."""

    @property
    def violation(self) -> float:
        """Of the equations and constraints, the largest."""

    @property
    def iterations(self) -> int: ...

    @property
    def converged(self) -> bool: ...

    @property
    def reason(self) -> str:
        """Why it stopped, in words."""

    def __repr__(self) -> str: ...

def has_ipopt() -> bool:
    """Whether costate was built with Ipopt, which collocate needs."""

def collocate(system: costate._core.System, loss: costate._core.Loss | Callable, steps: int, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, scheme: str = 'steps', h: float = 0.0, lower: numpy.typing.ArrayLike | None = None, upper: numpy.typing.ArrayLike | None = None, x_lower: numpy.typing.ArrayLike | None = None, x_upper: numpy.typing.ArrayLike | None = None, x_last: numpy.typing.ArrayLike | None = None, zero: list = [], below: list = [], states: numpy.typing.ArrayLike | None = None, iterations: int = 1000, tolerance: float = 1e-10) -> Collocated:
    """
    The motion that makes a loss least, as one nonlinear program in states and controls, by Ipopt.

    scheme   'steps': the steps of any system are the equations. 'trapezoidal', 'hermite_simpson': rules for a field, a system whose step is x + f(x, u): equations with method='euler', dt=1
    h        of a rule: the time between knots; terms of the loss at steps are then rates
    lower, upper, x_lower, x_upper   of controls and of states after the first
    x_last   values that the last state must have; NaN: free
    zero, below   losses that must be zero, or not positive, at the knots
    states   (steps + 1, states) to start from
    """

class Identified:
    """Parameters from recordings. Print it for values with error bars."""

    @property
    def values(self) -> dict:
        """{name: number}"""

    @property
    def deviations(self) -> dict:
        """
        {name: standard deviation}; infinite where the data do not determine it.
        """

    @property
    def covariance(self) -> numpy.ndarray:
        """In the order of values."""

    @property
    def laplace_covariance(self) -> object:
        """
        With laplace=True: the inverse of the whole Hessian, where `covariance` is that of J'J. Infinite where x is not a minimum.
        """

    @property
    def x0(self) -> list:
        """Where each recording began."""

    @property
    def value(self) -> float:
        """Of the loss."""

    @property
    def residual_rms(self) -> float:
        """
        Of the measurements, in standard deviations: about 1 where sigma is right.
        """

    @property
    def unseen(self) -> list[str]:
        """What the data cannot see, in words."""

    @property
    def iterations(self) -> int: ...

    @property
    def converged(self) -> bool: ...

    @property
    def reason(self) -> str:
        """Why it stopped, in words."""

    def __repr__(self) -> str: ...

def identify(system: costate._core.System, recordings: list, measured: list, sigma: numpy.typing.ArrayLike, unknowns: dict, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, segment: int = 0, gap_sigma: float = 0.001, robust: str = 'none', robust_width: float = 2.0, iterations: int = 100, tolerance: float = 1e-08, laplace: bool = False) -> Identified:
    """
    Parameters of a system from recordings, by Gauss-Newton with exact Jacobians.

    recordings   dicts with y (steps + 1, measured), NaN where nothing was measured; x0; u; and x0_free=True
                 where x0 is a guess
    measured     losses of the final state, one per measured number: [costate.loss.expression('angle')]
    sigma        standard deviation of each measured number, or one for all
    unknowns     {parameter: None or dict(lower=, upper=, scale=, mean=, deviation=)}; the last two are a prior
    p            the other parameters, and where the search begins
    segment      steps of a piece (multiple shooting): from far away begin with short ones; 0: none
    robust       'huber' or 'cauchy': what is more than robust_width deviations off counts less
    laplace      True: laplace_covariance as well, by exact second derivatives of the steps
    """

class Twin:
    """
    State and parameters of a system from a stream of measurements, with error bars.
    """

    def __init__(self, system: costate._core.System, measured: list, x0: numpy.typing.ArrayLike, P0: numpy.typing.ArrayLike, process_noise: numpy.typing.ArrayLike, measurement_noise: numpy.typing.ArrayLike, tuned: dict, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, window: int = 0, iterations: int = 1) -> None:
        """
        measured            losses of the final state, one per measured number: [costate.loss.expression('angle')]
        x0, P0              mean and covariance of the state before the first measurement
        process_noise       covariance that a step adds
        measurement_noise   variance of each measured number
        tuned               {parameter: dict(deviation=, drift=, lower=, upper=)}: how far off its first value may be,
                            and by how much it may change per step
        window              steps that are estimated again after each measurement (moving horizon); 0: a Kalman filter
        """

    def measure(self, y: numpy.typing.ArrayLike) -> None:
        """What was measured before the first step; NaN: that number was not."""

    def step(self, u: numpy.typing.ArrayLike | None = None, y: numpy.typing.ArrayLike | None = None) -> None:
        """A step with the control u, and what was measured after it."""

    @property
    def x(self) -> numpy.ndarray: ...

    @property
    def values(self) -> dict:
        """{name: number}; as the argument p of a rollout or a plan."""

    @property
    def deviations(self) -> dict:
        """{name: standard deviation}"""

    @property
    def covariance(self) -> numpy.ndarray:
        """Of (tangents of x, tuned)."""

    @property
    def surprise(self) -> float:
        """
        Of the latest measurement: about 1 where the model and its noise are right.
        """

    def __repr__(self) -> str: ...

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

    def __repr__(self) -> str: ...

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
