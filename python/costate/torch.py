"""Rollouts as PyTorch functions, and as a Module whose parameters are physical.

    simulate = costate.torch.rollout(system.rollout(steps=100))
    final = simulate(x0, u, {"l": length})        # length.requires_grad: final.backward() works
    pendulum = costate.torch.Module(system.rollout(steps=100), learn={"l": 1.0})

Batches are leading axes, as everywhere in costate. torch.func (PyTorch 2: vmap, jacrev, jacfwd, hessian) sees a rollout as one operation;
a vmap of it is one call for all worlds. Second derivatives exist where the system has them (system.second_order).
torch.compile works around a rollout: it is one call between the graphs before and after it.
"""
import contextlib
import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from . import _core, control, gpu
from .error import Error


_TRANSFORMS = hasattr(torch.autograd.Function, "setup_context")  # torch.func came with PyTorch 2


def _not_traced(function):
    """torch.compile goes around it: some versions of PyTorch fail over the properties of our classes (2.4 does). What
    torch.compiler.disable would do, without its second and a half for an import."""
    with contextlib.suppress(AttributeError):  # PyTorch 1
        torch._C._dynamo.eval_frame.skip_code(function.__code__)  # type: ignore[attr-defined]
    return function


def _operation(cls):
    """cls.run(sim, names, *tensors) and cls.remember(ctx, inputs, output) as PyTorch wants them: as two methods since 2.0, before
    that as one. Under torch.func.vmap, all tensors get the new axis in front and become a batch of one call."""
    _not_traced(cls.run)
    if not _TRANSFORMS:
        def forward(ctx, *inputs):
            output = cls.run(*inputs)
            cls.remember(ctx, inputs, output)
            return output

        cls.forward = staticmethod(forward)
        return cls

    def vmap(info, in_dims, sim, names, *tensors):
        count, dims = info.batch_size, in_dims[2:]
        if _one_world(sim, names, cls.bars, [None if t is None else t if d is None else t.select(d, 0) for t, d in zip(tensors, dims)]):
            axes = [cls.axis(k) for k in range(len(tensors))]
            whole = [None if t is None else t.movedim(d, axis) if d is not None else
                     t.unsqueeze(axis).expand(*t.shape[:axis], count, *t.shape[axis:]) for t, d, axis in zip(tensors, dims, axes)]
            output = cls.apply(sim, names, *(None if t is None else t.contiguous() for t in whole))
            return output, cls.out_dims(output)
        # Batches inside of batches: one call each.
        rows = [cls.apply(sim, names, *(t if d is None else t.select(d, i) for t, d in zip(tensors, dims))) for i in range(count)]
        if not isinstance(rows[0], tuple):
            return torch.stack(rows), 0
        return tuple(None if part[0] is None else torch.stack(part) for part in zip(*rows)), (0,) * len(rows[0])

    cls.forward, cls.setup_context, cls.vmap = staticmethod(cls.run), staticmethod(cls.remember), staticmethod(vmap)
    return cls


def _one_world(sim, names, bars, tensors):
    """Whether these are the tensors of a single world: cotangents, x0, u, then parameters."""
    sizes = {f.name: f.size for f in sim.system.signature.parameters}
    ranks = [1, 2][:bars] + [1, 2]
    return (all(t is None or t.ndim == rank for t, rank in zip(tensors, ranks))
            and all(t is None or t.numel() == sizes.get(n) for n, t in zip(names, tensors[len(ranks):])))


@_operation
class _Forward(torch.autograd.Function):
    """final_state of (x0, u, parameters)."""
    bars = 0

    @staticmethod
    def axis(k):
        return 0

    @staticmethod
    def out_dims(output):
        return (0, 1) if isinstance(output, tuple) else 0

    @staticmethod
    def run(sim, names, x0, u, *values):
        if x0.is_cuda:
            final, states = gpu.simulate(sim, *_there(x0, u, names, values), **_around(sim, x0))
            return (final, states) if sim.keep else final
        result = sim.simulate(_numbers(x0), _numbers(u), _dict(names, values))
        if sim.keep:
            return torch.from_numpy(result.final_state), torch.from_numpy(result.states)
        return torch.from_numpy(result.final_state)

    @staticmethod
    def remember(ctx, inputs, output):
        ctx.sim, ctx.names, *tensors = inputs
        ctx.save_for_backward(*tensors)
        if _TRANSFORMS:
            ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx, final_bar, states_bar=None):
        if torch.is_grad_enabled():  # the gradient is itself to be differentiated
            return (None, None, *_PullBack.apply(ctx.sim, ctx.names, final_bar, states_bar, *ctx.saved_tensors)[2:])
        return (None, None, *_PullBack.run(ctx.sim, ctx.names, final_bar, states_bar, *ctx.saved_tensors)[2:])

    @staticmethod
    def jvp(ctx, _, __, *dots):
        if ctx.sim.keep:
            raise Error("forward mode of kept states is not available: make the rollout with keep=0")
        return _Push.apply(ctx.sim, ctx.names, *ctx.saved_tensors, *dots)


@_operation
class _PullBack(torch.autograd.Function):
    """The cotangents of (x0, u, parameters), given those of the outputs: after two places for what those do not have."""
    bars = 2

    @staticmethod
    def axis(k):
        return 1 if k == 1 else 0  # states are (kept, *batch, states)

    @staticmethod
    def out_dims(output):
        return tuple(None if part is None else 0 for part in output)

    @staticmethod
    def run(sim, names, final_bar, states_bar, x0, u, *values):
        return (None, None, *_pull_back(sim, names, final_bar, states_bar, x0, u, *values))

    @staticmethod
    def remember(ctx, inputs, output):
        ctx.sim, ctx.names, final_bar, states_bar, *tensors = inputs
        ctx.keeps = states_bar is not None
        ctx.save_for_backward(final_bar, *tensors)

    @staticmethod
    def backward(ctx, _, __, *dots):
        # <dots, pull_back(inputs, bar)> = <jvp(inputs; dots), bar>: with respect to bar that is the jvp, with respect to the inputs a
        # Hessian-vector product.
        if ctx.keeps:
            raise Error("second derivatives of kept states are not available: make the rollout with keep=0")
        if not ctx.sim.system.second_order:
            raise Error(f"{ctx.sim.system.name} has no second derivatives: take differences of gradients")
        final_bar, *tensors = ctx.saved_tensors
        dots = [torch.zeros_like(t) if d is None else d for t, d in zip(tensors, dots)]
        final_dot, *products = _Second.apply(ctx.sim, ctx.names, final_bar, None, *tensors, *dots)
        return (None, None, final_dot, None, *products)


@_operation
class _Push(torch.autograd.Function):
    """final_state_dot of (inputs; dots)."""
    bars = 0

    @staticmethod
    def axis(k):
        return 0

    @staticmethod
    def out_dims(output):
        return 0

    @staticmethod
    def run(sim, names, *tensors):
        inputs, dots = tensors[:len(names) + 2], tensors[len(names) + 2:]
        along = [None if d is None else _numbers(d) for d in dots]
        return torch.from_numpy(sim.jvp(_numbers(inputs[0]), _numbers(inputs[1]), _dict(names, inputs[2:]), along[0], along[1],
                                        {n: d for n, d in zip(names, along[2:]) if d is not None})[1])

    @staticmethod
    def remember(ctx, inputs, output):
        pass


@_operation
class _Second(torch.autograd.Function):
    """final_state_dot, and the rate of change of the cotangents along the dots, that of the outputs held."""
    bars = 2

    @staticmethod
    def axis(k):
        return 0

    @staticmethod
    def out_dims(output):
        return (0,) * len(output)

    @staticmethod
    def run(sim, names, final_bar, _, *tensors):
        (x0, u, *values), (x0_dot, u_dot, *dots) = tensors[:len(names) + 2], tensors[len(names) + 2:]
        at = _numbers(x0), _numbers(u), _dict(names, values), _numbers(x0_dot), _numbers(u_dot), _dict(names, dots)
        _, final_dot = sim.jvp(*at)
        _, product = sim.pull_back_tangent(*at, final_state=_numbers(final_bar))
        found = product.parameters
        return (torch.from_numpy(final_dot), torch.from_numpy(product.x0), torch.from_numpy(product.controls),
                *(torch.from_numpy(found[name]) for name in names))

    @staticmethod
    def remember(ctx, inputs, output):
        pass


def _pull_back(sim, names, final_bar, states_bar, x0, u, *values):
    if x0.is_cuda:
        bars = {"final_state": final_bar.contiguous(), "states": None if states_bar is None else states_bar.contiguous()}
        found = gpu.pull_back(sim, *_there(x0, u, names, values), **bars, **_around(sim, x0))
        return found.x0, found.controls, *(found.parameters.get(name) for name in names)
    gradient = sim.pull_back(_numbers(x0), _numbers(u), _dict(names, values), final_state=_numbers(final_bar),
                             states=_given(states_bar))
    found = gradient.parameters
    return (torch.from_numpy(gradient.x0), torch.from_numpy(gradient.controls),
            *(torch.from_numpy(found[name]) for name in names))


def _there(x0, u, names, values):
    """Tensors of a GPU as costate.gpu reads them."""
    return x0.detach().contiguous(), u.detach().contiguous(), {n: v.detach().contiguous() for n, v in zip(names, values)}


def _around(sim, x0):
    """In which order, and where, a call on tensors of a GPU puts its results."""
    if sim.device.removesuffix("+host") != f"cuda:{x0.device.index}":
        raise Error(f"the tensors are on {x0.device}, the rollout on {sim.device}: make it with device='{x0.device}'")
    return {"stream": torch.cuda.current_stream(x0.device).cuda_stream,
            "make": lambda shape: torch.empty(shape, dtype=x0.dtype, device=x0.device)}


def _numbers(tensor):
    if tensor.is_cuda:
        raise Error("forward mode and second derivatives are not available on a GPU: move the tensors to the CPU, and make the rollout with "
                    "device='cpu'")
    return tensor.detach().numpy()


def _given(tensor):
    return None if tensor is None else _numbers(tensor)


def _dict(names, values):
    return {name: _numbers(value) for name, value in zip(names, values)}


def rollout(sim: _core.Rollout) -> Callable[..., Any]:
    """A function of tensors (x0, u, p) that returns final_state, or (final_state, states) if the rollout keeps states.

    x0   (*batch, states)            None: the system's initial state
    u    (*batch, knots, controls)   None: zero
    p    {name: tensor or number}; None: defaults
    Tensors have the rollout's precision. They live on the CPU, or all on the GPU of the rollout (device="cuda:0"): then nothing leaves it,
    and with on_divergence="mask_world" nothing waits. Differentiable by all of them.
    """
    signature = sim.system.signature
    dtype = torch.float32 if sim.dtype == "float32" else torch.float64
    start = torch.as_tensor(sim.system.initial_state.copy(), dtype=dtype)
    zero = torch.zeros((sim.knots, signature.control_size), dtype=dtype)
    active = set(sim.active)
    sizes = {f.name: f.size for f in signature.parameters}

    def simulate(x0=None, u=None, p=None):
        p = p or {}
        names = tuple(p)
        values = []
        place = next((t.device for t in (x0, u, *p.values()) if isinstance(t, torch.Tensor) and t.is_cuda), torch.device("cpu"))
        for name in names:
            value = p[name]
            if not isinstance(value, torch.Tensor):
                value = torch.as_tensor(value.copy() if isinstance(value, np.ndarray) else value, dtype=dtype, device=place)  # of arrays that are only read it warns
            elif value.requires_grad and name not in active:
                raise Error(f"'{name}' needs a gradient but is not active in this rollout: make it with active=['{name}', ...]"
                                  if name in sim.system.parameters else f"no parameter is named '{name}'")
            if value.is_cuda and value.ndim == 0 and sizes.get(name, 1) > 1:
                value = value.expand(sizes[name])  # one number for the whole field
            values.append(value)
        inputs = [start.to(place) if x0 is None else x0, zero.to(place) if u is None else u, *values]
        if any(t.device != place for t in inputs):
            raise Error(f"some tensors are on {place}, others are not: move all of them there")
        return _Forward.apply(sim, names, *inputs)

    return _not_traced(simulate)


class Module(torch.nn.Module):
    """A rollout as a layer: module(x0, u). What is learned are physical parameters, by name in module.physics.

    learn      {parameter: initial value}
    positive   names of those that must stay positive: their logarithm is what is learned
    """

    def __init__(self, sim, learn, positive=()):
        super().__init__()
        unknown = set(positive) - set(learn)
        if unknown:
            raise Error(f"positive names {', '.join(sorted(unknown))}, which is not learned")
        self.sim, self.positive = sim, frozenset(positive)
        self._simulate = rollout(sim)
        dtype = torch.float32 if sim.dtype == "float32" else torch.float64
        self.names = list(learn)
        self.values = torch.nn.ParameterList()
        for name, value in learn.items():
            value = torch.as_tensor(value.copy() if isinstance(value, np.ndarray) else value, dtype=dtype)
            self.values.append(torch.nn.Parameter(value.log() if name in self.positive else value.clone()))

    @property
    def physics(self):
        """The learned parameters in their own units: {name: tensor}."""
        return {name: value.exp() if name in self.positive else value for name, value in zip(self.names, self.values)}

    def forward(self, x0=None, u=None):
        return self._simulate(x0, u, self.physics)

    def __deepcopy__(self, memo):
        """A copy learns values of its own. The rollout is shared: nothing stays in it between calls."""
        memo[id(self.sim)] = self.sim
        made = memo[id(self)] = self.__class__.__new__(self.__class__)
        made.__setstate__(copy.deepcopy(self.__dict__, memo))
        return made

    def extra_repr(self):
        return f"{self.sim!r}, learns {', '.join(self.names)}"


class _LinearQuadratic(torch.autograd.Function):
    """(x, u, value) of the parts of a linear-quadratic problem."""

    @staticmethod
    def forward(ctx, steps, names, *tensors):
        ctx.solved, ctx.names = control.linear_quadratic(steps, **_dict(names, tensors)), names
        ctx.dtype = tensors[0].dtype
        return tuple(_LinearQuadratic.tensor(ctx, part) for part in (ctx.solved.x, ctx.solved.u, ctx.solved.value))

    @staticmethod
    def tensor(ctx, array):
        return torch.from_numpy(array).to(ctx.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, x_bar, u_bar, value_bar):
        found = ctx.solved.vjp(x=_numbers(x_bar), u=_numbers(u_bar), value=_numbers(value_bar))
        return (None, None, *(_LinearQuadratic.tensor(ctx, found[name]) for name in ctx.names))

    @staticmethod
    def jvp(ctx, _, __, *dots):
        moved = ctx.solved.jvp(**{name: _numbers(dot) for name, dot in zip(ctx.names, dots) if dot is not None})
        return tuple(_LinearQuadratic.tensor(ctx, moved[part]) for part in ("x", "u", "value"))


def linear_quadratic(steps, **parts):
    """(x, u, value) of a linear MPC problem with bounds, as a layer: the tensors of costate.control.linear_quadratic.

        x, u, value = costate.torch.linear_quadratic(20, A=A, B=B, Q=Q, R=R, x0=x0, lower=-limit, upper=limit)

    x0 (batch, states) is a batch that shares the other parts; those may be batches too: (batch, steps or 1, ...). Differentiable once, with
    respect to every part. Solved in float64 on all threads, whatever the tensors have.
    """
    names = tuple(name for name, value in parts.items() if value is not None)
    first = next((parts[name] for name in names if isinstance(parts[name], torch.Tensor)), None)
    dtype = torch.float64 if first is None else first.dtype
    return _LinearQuadratic.apply(steps, names, *(torch.as_tensor(parts[name], dtype=dtype) for name in names))
