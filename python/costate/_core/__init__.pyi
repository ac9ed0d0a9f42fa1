"""The compiled part of costate."""

from collections.abc import Callable, Mapping, Sequence
import os
from typing import overload

import numpy
import numpy.typing

from costate._core import (
    control as control,
    estimate as estimate,
    fluid as fluid,
    grid as grid,
    loss as loss,
    md as md,
    mpm as mpm,
    rigid as rigid,
    soft as soft,
    xla as xla
)
import costate.linearise


def set_thread_count(threads: int) -> None:
    """Threads that the engine may use in this process; 0: one per core."""

def thread_count() -> int:
    """Threads that the engine uses."""

def command_line(arguments: Sequence[str]) -> int:
    """
    Runs the command-line tool with these arguments, the first of which is its own name. Returns the exit code.
    """

def simd_bytes() -> int:
    """
    Width of the registers that this module was built for: 32 (AVX2) or 64 (AVX-512).
    """

class Field:
    """One named array among the numbers of a role."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int:
        """Numbers in it."""

    @property
    def offset(self) -> int:
        """Of its first number among those of its role."""

    @property
    def unit(self) -> str: ...

    @property
    def defaults(self) -> list[float]:
        """Of a parameter; one value stands for all."""

    def __repr__(self) -> str: ...

class Signature:
    """The names and sizes of everything a step reads and writes."""

    def __copy__(self) -> object: ...

    def __deepcopy__(self, memo: object) -> object: ...

    @property
    def states(self) -> list[Field]:
        """Fields of the state."""

    @property
    def controls(self) -> list[Field]:
        """Fields of the control."""

    @property
    def parameters(self) -> list[Field]:
        """Fields of the parameters."""

    @property
    def state_size(self) -> int:
        """Numbers of the state."""

    @property
    def control_size(self) -> int:
        """Numbers of the control of one step."""

    @property
    def parameter_size(self) -> int:
        """Numbers of all parameters."""

    def match(self, globs: Sequence[str]) -> list[str]:
        """
        Names of the parameters that match: '*' within a part, '**' across parts.
        """

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    def __repr__(self) -> str: ...

class GradientReport:
    """What a gradient is worth: print it to read it."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    @property
    def estimator(self) -> str:
        """How the gradient was made."""

    @property
    def label(self) -> str:
        """
        'exact', 'exact up to rounding ...', 'time grid', 'tie', 'grazing', 'biased: ...' or some of these.
        """

    @property
    def schedule(self) -> str:
        """Checkpoint schedule."""

    @property
    def steps(self) -> int: ...

    @property
    def worlds(self) -> int: ...

    @property
    def advances(self) -> int:
        """Steps taken again."""

    @property
    def memory_bytes(self) -> int: ...

    @property
    def sampled_steps(self) -> list[int]: ...

    @property
    def adjoint_norm(self) -> list[float]:
        """|lambda| at the sampled steps."""

    @property
    def growth_rate(self) -> float:
        """Of |lambda|, per step, backwards in time."""

    @property
    def growth_per_time(self) -> float | None:
        """The same per unit of time, of solutions whose steps differ in length."""

    @property
    def largest_growth(self) -> float: ...

    @property
    def signal_horizon(self) -> int:
        """Steps from the end that carry signal."""

    @property
    def mode_switches(self) -> list[int]:
        """Steps where a contact pattern changed."""

    @property
    def adjoint_residual(self) -> float: ...

    @property
    def reconstruction_error(self) -> float | None:
        """Relative, of a start that was computed backwards in time."""

    @property
    def energy_drift(self) -> float | None: ...

    @property
    def spot_check(self) -> float | None:
        """Relative error of one directional difference."""

    @property
    def masked_worlds(self) -> list[int]:
        """Worlds that diverged and were left out."""

    @property
    def advice(self) -> list[str]: ...

    def __repr__(self) -> str: ...

class Check:
    """One check of a gradient; true if it passed."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def error(self) -> float:
        """Relative."""

    @property
    def gate(self) -> float:
        """Passes up to this."""

    @property
    def detail(self) -> str: ...

    @property
    def skipped(self) -> bool:
        """There was nothing to measure."""

    @property
    def passed(self) -> bool: ...

    def __bool__(self) -> bool: ...

    def __repr__(self) -> str: ...

class Trust:
    """How far the gradient of one group of inputs can be followed."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    @property
    def inputs(self) -> str:
        """'initial state', 'controls', 'parameters' or 'variables'."""

    @property
    def along_gradient(self) -> float:
        """The radius downhill; 0: over no change that can be told from rounding."""

    @property
    def random(self) -> float:
        """The smallest radius over the random directions."""

    @property
    def longest(self) -> float:
        """That was tried: a radius that is as large may be larger."""

    def __repr__(self) -> str: ...

class Loss:
    """
    What is differentiated: a sum of terms of single states. Losses can be added.
    """

    def __reduce__(self) -> tuple: ...

    def __copy__(self) -> object: ...

    def __deepcopy__(self, memo: object) -> object: ...

    def __repr__(self) -> str: ...

    def __add__(self, arg: Loss, /) -> Loss: ...

class Checkpoints:
    """How a rollout is reversed in bounded memory."""

    def in_single_precision(self) -> Checkpoints:
        """Snapshots of half the bytes."""

    def truncated(self, steps: int) -> Checkpoints:
        """Drops the cotangent every so many steps: biased."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple[int, int, int, bool], /) -> None: ...

    def __repr__(self) -> str: ...

def store_all() -> Checkpoints:
    """Every state is kept: no step is taken twice."""

def segments(length: int = 0) -> Checkpoints:
    """A snapshot every `length` steps (0: sqrt of the steps)."""

def binomial(slots: int) -> Checkpoints:
    """So many snapshots, with the fewest steps taken again."""

def reversible() -> Checkpoints:
    """States are reconstructed by inverse steps."""

class System:
    """A physics: a step, its derivatives, and the names of its numbers."""

    def __reduce__(self) -> tuple: ...

    def __copy__(self) -> object: ...

    def __deepcopy__(self, memo: object) -> object: ...

    @property
    def name(self) -> str: ...

    @property
    def signature(self) -> Signature: ...

    @property
    def initial_state(self) -> numpy.ndarray:
        """
        Where a rollout starts unless told otherwise, (states,), to be read. Another start is given to a call: x0 = system.initial_state.copy(); x0[0] = 3; sim.simulate(x0).
        """

    @property
    def parameters(self) -> dict[str, numpy.ndarray]:
        """
        Default of every parameter, by name, to be read. Other values are given to a call: p={name: value}.
        """

    @property
    def second_order(self) -> bool:
        """Whether hessian_vector() is available."""

    def rollout(self, steps: int, *, worlds: int | None = None, active: str | Sequence[str] = '**', checkpoints: object | None = None, hold: int = 1, keep: int = 0, dtype: object = 'float64', seed: int = 0, on_divergence: str = 'stop', spot_check: bool = False, device: str = 'cpu') -> Rollout:
        """
        A Rollout of `steps` steps.

        worlds        how many; None: what the arrays of a call say
        active        globs (or one) of the parameters whose gradient is wanted; [] for none
        checkpoints   costate.store_all(), segments(), binomial(slots), reversible()
        hold          steps that share a row of u
        keep          every keep-th state is returned by forward(); 0: only the last
        dtype         float64 or float32
        on_divergence 'stop' or 'mask_world'
        spot_check    compare each gradient with one directional difference
        device        'cpu', 'cuda:0', ...: costate.devices() lists them; 'ranks:2' splits one large world
        """

    def split(self, x: numpy.typing.ArrayLike) -> dict:
        """Views of a state by field: {'q': (..., size), ...}."""

    def split_controls(self, u: numpy.typing.ArrayLike) -> dict:
        """Views of controls by field."""

    def __repr__(self) -> str: ...

def devices() -> list[dict[str, str | int]]:
    """
    Where a rollout can run: what its argument `device` may be, what that is, and its memory.
    """

def equations(states: object, text: str, controls: object | None = None, parameters: object | None = None, method: str = 'rk4', dt: float = 0.01, name: str = 'equations') -> System:
    """
    A System from equations such as 'q_dot = v; v_dot = -g/l*sin(q)'.

    states, controls   {name: size} or a list of names
    parameters         {name: default}
    method             'rk4', 'euler', 'midpoint', 'heun', 'bs3', 'dopri5', 'tsit5', 'dop853' in fixed steps of dt,
                       or 'next' for equations q_next = ...
    """

class Trajectory:
    """The states of a rollout; trajectory['q'] is the field q of them."""

    @property
    def final_state(self) -> numpy.ndarray:
        """(*batch, states)"""

    @property
    def states(self) -> numpy.ndarray:
        """Every keep-th state, (kept, *batch, states); None if keep = 0."""

    @property
    def steps(self) -> numpy.ndarray:
        """Of the kept states, (kept,)."""

    @property
    def t(self) -> numpy.ndarray:
        """
        Times of the kept states, (kept,): steps * dt. None where the system has no dt; (kept, *batch) where worlds differ in it.
        """

    @property
    def fields(self) -> list[str]:
        """Names of the states' fields."""

    @property
    def diverged(self) -> numpy.ndarray:
        """Worlds that diverged, with on_divergence='mask_world'."""

    def __getitem__(self, name: str) -> numpy.ndarray:
        """
        A view of one field: of the kept states, or of the final one if none were kept.
        """

    def __repr__(self) -> str: ...

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

class Gradient:
    """A gradient; each part has the shape of what it is the gradient of."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    @property
    def value(self) -> float:
        """Of the loss, summed over worlds (nan after backward())."""

    @property
    def values(self) -> numpy.ndarray:
        """Of each world, (*batch,)."""

    @property
    def x0(self) -> numpy.ndarray: ...

    @property
    def controls(self) -> numpy.ndarray: ...

    @property
    def parameters(self) -> dict:
        """By name, of the active parameters."""

    @property
    def report(self) -> GradientReport: ...

    def __getitem__(self, name: str) -> object:
        """With respect to one of the active parameters."""

    def __repr__(self) -> str: ...

class Rollout:
    """
    Steps of a system, forward and back. Made by system.rollout(steps, ...).

    x0 (*batch, states), or a dict by field; None: the system's initial state.
    u  (*batch, knots, controls), or a dict by field; None: zero.
    p  {name or glob: number, (size,) or (*batch, size)}; None: defaults.
    What has no batch axes is shared by all worlds; its gradient is the sum over them.
    """

    def forward(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None) -> Trajectory:
        """Runs, keeping what backward() needs. Returns a Trajectory."""

    def simulate(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None) -> Trajectory:
        """Runs without keeping anything for a gradient. Returns a Trajectory."""

    @overload
    def backward(self, loss: Loss) -> Gradient:
        """Gradient of a loss along the latest forward()."""

    @overload
    def backward(self, final_state: numpy.typing.ArrayLike | None = None, states: numpy.typing.ArrayLike | None = None) -> Gradient:
        """
        The same for cotangents of the outputs: d loss / d final_state, d loss / d states.
        """

    def value(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, loss: Loss | Callable | None = None) -> float:
        """The loss, summed over worlds."""

    def values(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, loss: Loss | Callable | None = None) -> numpy.ndarray:
        """
        The loss of each world, (*batch,), without a gradient; nan of a world that is masked. What minimize(method='cma_es', batched=True) ranks.
        """

    def value_and_grad(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, loss: Loss | Callable | None = None) -> tuple[float, Gradient]:
        """
        (value, Gradient): forward and back, block by block, in the memory of one block per thread.
        """

    def pull_back(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, final_state: numpy.typing.ArrayLike | None = None, states: numpy.typing.ArrayLike | None = None) -> Gradient:
        """
        Gradient of <final_state, x_T> + <states, x_k>: forward and back with given cotangents.
        """

    def jvp(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, x0_dot: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u_dot: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p_dot: Mapping[str, numpy.typing.ArrayLike] | None = None) -> tuple[numpy.ndarray, numpy.ndarray]:
        """(final_state, final_state_dot): forward mode along a direction."""

    def hessian_vector(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, x0_dot: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u_dot: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p_dot: Mapping[str, numpy.typing.ArrayLike] | None = None, *, loss: Loss) -> tuple[Gradient, Gradient]:
        """(Gradient, its rate of change along the direction)."""

    def pull_back_tangent(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, x0_dot: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u_dot: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p_dot: Mapping[str, numpy.typing.ArrayLike] | None = None, *, final_state: numpy.typing.ArrayLike | None = None, states: numpy.typing.ArrayLike | None = None) -> tuple[Gradient, Gradient]:
        """
        pull_back() and its rate of change along the direction, the cotangents held.
        """

    def linearize(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: dict[str, numpy.typing.ArrayLike] | None = None) -> costate.linearise.Linearization:
        """
        The steps of one world as linear maps along its trajectory, exact: A, B and, of active parameters, C.
        """

    def jacobian(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: dict[str, numpy.typing.ArrayLike] | None = None) -> costate.linearise.Jacobian:
        """
        Derivatives of one world's final state, or of its kept states (keep > 0), with respect to x0, controls and active parameters.
        """

    def check(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, loss: Loss | None = None, seed: int = 1, step: float = 0.001) -> list[Check]:
        """
        Is this gradient right? Dot-product test and, with a loss, stencil and Taylor tests: a list of Check.

        step: the longest of the stencil, in units of each input's scale; it is shortened where differences of several lengths disagree, or where contacts change within it. A failure names the worst field.
        """

    def trust(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, loss: Loss | Callable, tolerance: float = 0.1, longest: float = 1.0, directions: int = 4, seed: int = 1) -> list[Trust]:
        """
        How far can this gradient be followed? A list of Trust, for the initial state, the controls and the active parameters: the largest change over which the loss keeps to the gradient's straight line, within `tolerance` of the predicted change. Of one world.

        longest     the largest change that is tried, in units of max(1, |value|) of each number
        directions  how many random directions are tried beside the gradient's own
        """

    def smoothed_gradient(self, x0: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, u: numpy.typing.ArrayLike | Mapping[str, numpy.typing.ArrayLike] | None = None, p: Mapping[str, numpy.typing.ArrayLike] | None = None, *, loss: Loss | Callable, sigma: float = 0.01, samples: int = 256, order: str = 'mixed', perturb: str = 'controls', parameters: Sequence[str] = [], seed: int = 0) -> tuple[Gradient, dict]:
        """
        (Gradient, statistics) of the loss smoothed by normal noise of size sigma, of one world.

        order       'first' (mean of gradients), 'zeroth' (differences of values) or 'mixed' (of least variance)
        perturb     'controls', 'x0', 'both' or 'none'; parameters: globs of those to perturb
        statistics  standard_error (relative), first_order_share, disagreement (above 3: the loss jumps)
        """

    @property
    def device(self) -> str: ...

    @property
    def steps(self) -> int: ...

    @property
    def hold(self) -> int: ...

    @property
    def keep(self) -> int: ...

    @property
    def knots(self) -> int:
        """Rows of u."""

    @property
    def dtype(self) -> str: ...

    @property
    def active(self) -> list[str]:
        """Names of the parameters whose gradient is computed."""

    @property
    def system(self) -> System: ...

    def __reduce__(self) -> tuple: ...

    def __repr__(self) -> str: ...

class GpuArray:
    """
    Numbers in the memory of a GPU. torch.as_tensor, cupy.asarray and whatever else reads __cuda_array_interface__ or DLPack shares them without a copy.
    """

    def __init__(self, device: str, shape: Sequence[int], dtype: str = 'float64') -> None:
        """Not initialised."""

    @property
    def device(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> str: ...

    @property
    def __cuda_array_interface__(self) -> dict[str, object]: ...

    def __dlpack__(self, **kwargs: object) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

    def __repr__(self) -> str: ...

def gpu_view(array: object) -> GpuArray:
    """The same numbers as a GpuArray, from whatever has __dlpack__."""

def load_plugin(path: str | os.PathLike) -> System:
    """
    A System from a shared library that was built with costate's C++ headers (costate/system/plugin.h).
    """

class Traced:
    """A number of a function that is being recorded."""

    def __init__(self, arg: float, /) -> None: ...

    @property
    def truth(self) -> bool: ...

    @property
    def evaluated(self) -> bool:
        """Whether `at` is known: the function is recorded at given inputs."""

    @property
    def at(self) -> float: ...

    def __bool__(self) -> bool: ...

    def __float__(self) -> float: ...

    def __int__(self) -> int: ...

    def __repr__(self) -> str: ...

operations: dict = ...

class Tracer:
    """A function on its way to become a Program."""

    def __init__(self) -> None: ...

    def input(self, name: str, size: int, weights: bool = False, values: Sequence[float] = []) -> list[Traced]: ...

    def product(self, matrix: Sequence[Traced], rows: int, vector: Sequence[Traced]) -> list[Traced] | None: ...

    def output(self, name: str, elements: Sequence[Traced]) -> None: ...

    def finish(self) -> LayeredProgram: ...

class LayeredProgram:
    """A Program with its large matrix products taken out."""

    def __copy__(self) -> object: ...

    def __deepcopy__(self, memo: object) -> object: ...

    @property
    def products(self) -> list: ...

    def expand(self) -> Program:
        """The plain Program."""

    def key(self) -> bytes:
        """Equal for equal programs."""

    def __getstate__(self) -> bytes: ...

    def __setstate__(self, arg: bytes, /) -> None: ...

class Program:
    """Straight-line code recorded from a function."""

    def __copy__(self) -> object: ...

    def __deepcopy__(self, memo: object) -> object: ...

    @property
    def inputs(self) -> dict: ...

    @property
    def outputs(self) -> dict: ...

    def __len__(self) -> int: ...

    def __call__(self, *inputs) -> numpy.ndarray:
        """All outputs one after the other, (outputs,)."""

    def cpp(self, name: str) -> str:
        """The program as a C++ template."""

    def __getstate__(self) -> bytes: ...

    def __setstate__(self, arg: bytes, /) -> None: ...

    def __repr__(self) -> str: ...

def build_signature(states: object, controls: object | None, parameters: object | None) -> Signature: ...

def recorded_system(signature: Signature, program: LayeredProgram, method: str, dt: float, name: str, initial: object | None, shapes: Mapping[str, Sequence[int]] = {}) -> System: ...

def recorded_loss(record: object, when: str, steps: Sequence[int]) -> Loss: ...

class Equations:
    """The right-hand side of an initial value problem, with derivatives."""

    @overload
    def __init__(self, program: LayeredProgram) -> None: ...

    @overload
    def __init__(self, recorded: Equations | None, source: object, states: int, parameters: int) -> None: ...

    def jacobian(self, t: float, x: object, p: object) -> numpy.ndarray:
        """
        Derivatives of the right-hand side with respect to x, (states, states).
        """

class Event:
    @overload
    def __init__(self, guard: Program, direction: int, terminal: int) -> None: ...

    @overload
    def __init__(self, source: object, states: int, parameters: int, direction: int, terminal: int) -> None: ...

class Solution:
    @property
    def t(self) -> numpy.ndarray: ...

    @property
    def y(self) -> numpy.ndarray: ...

    @property
    def end_time(self) -> float: ...

    @property
    def final_state(self) -> numpy.ndarray: ...

    @property
    def terminated(self) -> bool: ...

    @property
    def message(self) -> str: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def accepted(self) -> int: ...

    @property
    def nfev(self) -> int: ...

    @property
    def njev(self) -> int: ...

    @property
    def nlu(self) -> int: ...

    def events(self, event: int) -> tuple: ...

    @property
    def event_order(self) -> list[int]: ...

    @property
    def called(self) -> bool: ...

    def sensitivities(self, sample_times: object, directions: Sequence[object]) -> tuple: ...

    def at(self, t: object) -> numpy.ndarray: ...

    def gradient(self, final: object | None, sample_times: object | None, samples: object | None, end_time: float, event_times: object | None, adjoint: str, rtol: float, atol: float) -> tuple: ...

def solve(equations: Equations, t0: float, t1: float, y0: object, p: object, method: str, rtol: object, atol: object, dt: float, first_step: float, max_step: float, max_steps: int, t_eval: object | None, events: Sequence[Event], carry_newton: bool = False) -> Solution: ...

def method_names() -> list[str]: ...

class Progress:
    """How far an optimisation has come."""

    @property
    def iteration(self) -> int: ...

    @property
    def value(self) -> float: ...

    @property
    def gradient_norm(self) -> float: ...

    @property
    def step(self) -> float:
        """Largest change of a variable."""

    @property
    def evaluations(self) -> int: ...

class Recording:
    """What a run looked like: frames at equal intervals of time."""

    def __init__(self) -> None: ...

    def __reduce__(self) -> tuple: ...

    @property
    def title(self) -> str: ...

    @title.setter
    def title(self, arg: str, /) -> None: ...

    @property
    def caption(self) -> str: ...

    @caption.setter
    def caption(self, arg: str, /) -> None: ...

    @property
    def frame_interval(self) -> float:
        """s"""

    @frame_interval.setter
    def frame_interval(self, arg: float, /) -> None: ...

    @property
    def ground(self) -> float:
        """Height of the floor that is drawn."""

    @ground.setter
    def ground(self, arg: float, /) -> None: ...

    @property
    def frames(self) -> int: ...

    @property
    def positions(self) -> numpy.ndarray:
        """Of particles, (frames, particles, 3)."""

    @property
    def bodies(self) -> list[str]: ...

    @property
    def meshes(self) -> list[str]: ...

    def mesh(self, name: str) -> tuple[numpy.ndarray, numpy.ndarray]:
        """
        Of a surface: (triangles (n, 3), positions of its vertices (frames, vertices, 3)).
        """

    @property
    def up(self) -> str:
        """The axis away from gravity: 'y' or 'z'."""

    def shape(self, index: int) -> dict:
        """
        Of a body by its number: {'kind', 'size', 'colour' (red, green, blue; 0 to 255), 'poses'}.
        """

    def poses(self, body: str) -> numpy.ndarray:
        """(frames or 1, 7): position, unit quaternion (w, x, y, z)."""

    def set_particles(self, positions: numpy.typing.ArrayLike, radius: float = 0.009999999776482582, material: numpy.typing.ArrayLike | None = None, speeds: numpy.typing.ArrayLike | None = None) -> None: ...

    def add_body(self, name: str, shape: str, size: Sequence[float], poses: numpy.typing.ArrayLike, color: int = 12106946, opacity: float = 1.0) -> None:
        """
        shape: sphere, box, cylinder, capsule or plane; poses (7,) or (frames, 7).
        """

    def add_curve(self, name: str, x: numpy.typing.ArrayLike, y: numpy.typing.ArrayLike, x_name: str = 'iteration') -> None: ...

    def write(self, path: str) -> None: ...

    def write_html(self, path: str) -> None:
        """A page that shows the recording, without network or server."""

    def write_png(self, path: str, time: float | None = None, width: int = 1280, height: int = 800) -> None:
        """A picture at a time (s; None: the end), drawn by Chromium."""

    def write_mp4(self, path: str, width: int = 1280, height: int = 800) -> None:
        """A film, drawn by Chromium and packed by ffmpeg."""

    def __repr__(self) -> str: ...

def read_recording(path: str) -> Recording: ...

def write_replay(path: str, recordings: Sequence[Recording], title: str = '', notes: Sequence[str] = []) -> None:
    """Recordings side by side on one page, with one camera and one clock."""

class Run:
    """What a run came to. run['h'] is the state h of equations over time."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    @property
    def loss(self) -> float: ...

    @property
    def terms(self) -> dict:
        """Every part of the loss."""

    @property
    def fractions(self) -> dict:
        """Of the points inside the region of each in_region, at its last time."""

    @property
    def recording(self) -> Recording:
        """What it looked like; no frames where there is no picture."""

    @property
    def columns(self) -> list[str]:
        """Equations: 't', the states, the controls."""

    @property
    def t(self) -> numpy.ndarray:
        """(times,)"""

    @property
    def events(self) -> list:
        """[(name, time), ...]"""

    @property
    def message(self) -> str:
        """How it ended."""

    @property
    def notes(self) -> list[str]: ...

    def __getitem__(self, name: str) -> numpy.ndarray: ...

    def __repr__(self) -> str: ...

class Study:
    """
    A physics, what should happen in it, and what may be changed: one file.
    """

    def __reduce__(self) -> tuple: ...

    @property
    def title(self) -> str: ...

    @property
    def steps(self) -> int:
        """0: chosen by a solver."""

    @property
    def facts(self) -> list:
        """What was understood of the file: [(what, value), ...]."""

    @property
    def variables(self) -> list[str]:
        """Names of what an optimiser may change."""

    @property
    def start(self) -> numpy.ndarray:
        """Their values in the file, (variables,)."""

    @property
    def scale(self) -> numpy.ndarray:
        """Changes of the variables that mean equally much, (variables,)."""

    def run(self, x: numpy.typing.ArrayLike | None = None, dense: int = 0) -> Run:
        """
        A Run at values x of the variables. dense: equations at so many equally spaced times.
        """

    def value_and_grad(self, x: numpy.typing.ArrayLike | None = None) -> tuple[float, numpy.ndarray]:
        """(loss, d loss / d x)."""

    def gradient(self, adjoint: str = 'discrete') -> tuple[float, dict]:
        """
        (loss, {input: derivative}) with respect to every input, by name.
        adjoint, of equations: 'discrete', 'forward', 'interpolating', 'backsolve' or 'cvodes'.
        """

    def residuals(self, x: numpy.typing.ArrayLike | None = None) -> tuple[numpy.ndarray, numpy.ndarray]:
        """
        Of [fit]: (residuals, d residuals / d x), in standard deviations of the measurements.
        """

    @property
    def sigma_given(self) -> bool:
        """
        Whether [fit] says how exact its measurements are: error bars take it at its word then.
        """

    @property
    def report(self) -> GradientReport:
        """Of the latest value_and_grad."""

    def optimize(self, state_file: str = '', resume: bool = False, progress: object | None = None) -> dict:
        """
        As [optimize] or [fit] says: {'x', 'variables', 'loss', 'start_loss', 'losses', 'reason', ...}.
        progress(iteration, value, best): False stops. With a state file a run can be resumed.
        """

    def check(self, steps: int = 200, seed: int = 1, budget: float | None = None) -> list[Check]:
        """
        Is the gradient right, over the first steps? A list of checks. budget: seconds, about, that it may take; then over fewer steps, where there is no time for all.
        """

    def trust(self, x: numpy.typing.ArrayLike | None = None, *, tolerance: float = 0.1, longest: float = 1.0, directions: int = 4, seed: int = 1) -> Trust:
        """
        How far can the gradient at x be followed? The largest change of the variables, in units of their scales, over which it predicts the loss.
        """

    def __repr__(self) -> str: ...

def load_study(path: str, settings: object | None = None, start_from: str = '') -> Study: ...

def parse_study(text: str, name: str = 'text', settings: object | None = None) -> Study: ...
