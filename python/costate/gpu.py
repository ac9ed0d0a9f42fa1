"""Rollouts on arrays that stay on a GPU: whatever has __cuda_array_interface__ or DLPack goes in, and results lie beside it.

    sim = system.rollout(100, dtype="float32", device="cuda:0", on_divergence="mask_world")
    final = costate.gpu.simulate(sim, x0, u).final_state            # x0: an array of CuPy, PyTorch, JAX, Numba ... on that GPU
    torch.as_tensor(final, device="cuda")                           # shares its memory

Nothing is copied to the host. With on_divergence="mask_world" nothing waits, either: a world that diverges has numbers that are not
finite, and cotangents that are zero. With "stop" a call waits for its end, to say which world diverged. costate.torch and
costate.jax do this by themselves where their arrays are on the GPU of the rollout.
"""
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _core
from .error import Error


class Final(NamedTuple):
    """final_state (*batch, states); states (kept, *batch, states), or None."""
    final_state: Any
    states: Any


class Cotangents(NamedTuple):
    """In the shapes of the inputs; those of the active parameters by name."""
    x0: Any
    controls: Any
    parameters: dict[str, Any]


class Input(NamedTuple):
    """An array that was given: where it lies and how many numbers of what it has."""
    address: int
    shape: tuple[int, ...]
    dtype: str
    owner: Any  # kept alive


def on_gpu(array: Any) -> bool:
    """Whether an array lies on a GPU."""
    if hasattr(array, "__cuda_array_interface__"):
        return True
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and int(device()[0]) == 2


def read(array: Any, what: str) -> Input:
    """Looks at an array on a GPU without touching its numbers."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        if not on_gpu(array):
            raise Error(f"{what} is not on a GPU: give arrays of the GPU for all inputs, or of the host for all")
        array = _core.gpu_view(array)
        interface = array.__cuda_array_interface__
    shape, dtype = tuple(interface["shape"]), {"<f4": "float32", "<f8": "float64"}.get(interface["typestr"])
    if dtype is None:
        raise Error(f"{what} has numbers of type {interface['typestr']}: rollouts have float32 or float64")
    strides, step = interface.get("strides"), int(interface["typestr"][2:])
    for size, stride in zip(reversed(shape), reversed(strides or ())):
        if size > 1 and stride != step:
            raise Error(f"{what} is not contiguous: make a copy of it first")
        step *= size
    return Input(interface["data"][0], shape, dtype, array)


class _Call:
    """The arrays of one call: which worlds they are of, and how the rollout reads them."""

    def __init__(self, sim, x0, u, p):
        self.sim = sim
        signature = sim.system.signature
        self.sizes = {f.name: f.size for f in signature.parameters}
        if x0 is None:
            raise Error("x0 is missing: give the initial states as an array of the GPU")
        self.x0, self.u = self.array(x0, "x0"), None if u is None else self.array(u, "u")
        self.p = {name: self.array(value, name) for name, value in (p or {}).items()}
        self.batch: tuple[int, ...] = ()
        rows: list[tuple[str, Input, tuple[int, ...]]] = [("x0", self.x0, (signature.state_size,))]
        if self.u:
            rows.append(("u", self.u, (sim.knots, signature.control_size)))
        for name, given in self.p.items():
            if name not in self.sizes:
                signature.match([name])  # raises, with near misses
            size = self.sizes[name]
            own = (size,) if given.shape[-1:] == (size,) else ()
            rows.append((name, given, own if size == 1 or own else (size,)))
        self.rows = {name: self.split(name, given.shape, row) for name, given, row in rows}
        self.worlds = 1
        for n in self.batch:
            self.worlds *= n

    def array(self, value, what):
        given = read(value, what)
        if given.dtype != self.sim.dtype:
            raise Error(f"{what} has numbers of type {given.dtype}, the rollout {self.sim.dtype}")
        return given

    def split(self, name, shape, row):
        """Whether all worlds share these numbers."""
        if shape[len(shape) - len(row):] != row:
            raise Error(f"{name} has the shape {shape} instead of (*batch, {', '.join(map(str, row))})")
        batch = shape[:len(shape) - len(row)]
        if batch and self.batch and batch != self.batch:
            raise Error(f"{name} is given for worlds {batch}, another input for {self.batch}")
        self.batch = batch or self.batch
        return not batch

    def pointers(self):
        none = (0, True)
        return (self.worlds, (self.x0.address, self.rows["x0"]), (self.u.address, self.rows["u"]) if self.u else none,
                {name: (given.address, self.rows[name]) for name, given in self.p.items()})

    def kept(self):
        return (self.sim.steps // self.sim.keep + 1,) if self.sim.keep else ()

    def states(self):
        return (*self.batch, self.sim.system.signature.state_size)


def _address(array):
    return 0 if array is None else array.__cuda_array_interface__["data"][0]


def _make(sim, make):
    return make or (lambda shape: _core.GpuArray(sim.device, list(shape), sim.dtype))


def simulate(sim: _core.Rollout, x0: Any, u: Any = None, p: Mapping[str, Any] | None = None, *, stream: int = 0,
             make: Any = None) -> Final:
    """The final states, and the kept ones.

    x0      (*batch, states);  u: (*batch, knots, controls), None: zero;  p: {name: (*batch, size) or (size,)}
    stream  in whose order the arrays were written and the results will be read; 0: the default one
    make    a function of a shape that makes an array for results; None: GpuArray
    """
    call, empty = _Call(sim, x0, u, p), _make(sim, make)
    final = empty(call.states())
    states = empty((*call.kept(), *call.states())) if sim.keep else None
    sim._simulate_there(*call.pointers(), _address(final), _address(states), stream)  # type: ignore[attr-defined]
    return Final(final, states)


def pull_back(sim: _core.Rollout, x0: Any, u: Any = None, p: Mapping[str, Any] | None = None, *, final_state: Any = None,
              states: Any = None, stream: int = 0, make: Any = None) -> Cotangents:
    """The cotangents of the inputs, given those of final_state and of the kept states. Runs the rollout again, then back."""
    call, empty = _Call(sim, x0, u, p), _make(sim, make)
    bars = []
    for what, bar, shape in (("final_state", final_state, call.states()), ("states", states, (*call.kept(), *call.states()))):
        given = None if bar is None else call.array(bar, f"the cotangent of {what}")
        if given and given.shape != shape:
            raise Error(f"the cotangent of {what} has the shape {given.shape} instead of {shape}")
        bars.append(given)
    x0_bar, u_bar = empty(call.x0.shape), empty(call.u.shape) if call.u else None
    p_bar = {name: empty(call.p[name].shape) for name in sim.active if name in call.p}
    given_bars = [bar.address if bar else 0 for bar in bars]
    sim._pull_back_there(*call.pointers(), *given_bars, _address(x0_bar), _address(u_bar),  # type: ignore[attr-defined]
                         {name: _address(bar) for name, bar in p_bar.items()}, stream)
    return Cotangents(x0_bar, u_bar, p_bar)
