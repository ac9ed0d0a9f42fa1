"""Rollouts as PyTorch functions, and as a Module whose parameters are physical.

    simulate = costate.torch.rollout(system.rollout(steps=100))
    final = simulate(x0, u, {"l": length})        # length.requires_grad: final.backward() works
    pendulum = costate.torch.Module(system.rollout(steps=100), learn={"l": 1.0})

Batches are leading axes, as everywhere in costate; torch.vmap is not needed for them, and an error that says so (a rollout is one call
of compiled code, which needs to see the whole batch). Second derivatives exist where the system has them (system.second_order).
torch.compile works around a rollout: it is one call between the graphs before and after it.
"""
import copy

import torch

from .error import Error


class _Forward(torch.autograd.Function):
    """final_state of (x0, u, parameters)."""

    @staticmethod
    def forward(ctx, sim, names, x0, u, *values):
        ctx.sim, ctx.names = sim, names
        ctx.save_for_backward(x0, u, *values)
        result = sim.simulate(_numbers(x0), _numbers(u), _dict(names, values))
        if sim.keep:
            return torch.from_numpy(result.final_state), torch.from_numpy(result.states)
        return torch.from_numpy(result.final_state)

    @staticmethod
    def backward(ctx, final_bar, states_bar=None):
        if torch.is_grad_enabled():  # the gradient is itself to be differentiated
            return (None, None, *_PullBack.apply(ctx.sim, ctx.names, final_bar, states_bar, *ctx.saved_tensors))
        return (None, None, *_pull_back(ctx.sim, ctx.names, final_bar, states_bar, *ctx.saved_tensors))


class _PullBack(torch.autograd.Function):
    """The cotangents of (x0, u, parameters), given that of the outputs."""

    @staticmethod
    def forward(ctx, sim, names, final_bar, states_bar, x0, u, *values):
        ctx.sim, ctx.names = sim, names
        ctx.keeps = states_bar is not None
        ctx.save_for_backward(final_bar, x0, u, *values)
        return _pull_back(sim, names, final_bar, states_bar, x0, u, *values)

    @staticmethod
    def backward(ctx, x0_dot, u_dot, *dots):
        # <dots, pull_back(inputs, bar)> = <jvp(inputs; dots), bar>: by bar that is the jvp, by the inputs a Hessian-vector product.
        if ctx.keeps:
            raise Error("second derivatives of kept states are not available: make the rollout with keep=0")
        final_bar, x0, u, *values = ctx.saved_tensors
        at = _numbers(x0), _numbers(u), _dict(ctx.names, values)
        along = (_given(x0_dot), _given(u_dot),
                 {name: _numbers(dot) for name, dot in zip(ctx.names, dots) if dot is not None})
        _, final_dot = ctx.sim.jvp(*at, *along)
        if not ctx.sim.system.second_order:
            raise Error(f"{ctx.sim.system.name} has no second derivatives: take differences of gradients")
        _, product = ctx.sim.pull_back_tangent(*at, *along, final_state=_numbers(final_bar))
        found = product.parameters
        return (None, None, torch.from_numpy(final_dot), None, torch.from_numpy(product.x0),
                torch.from_numpy(product.controls), *(torch.from_numpy(found[name]) for name in ctx.names))


def _pull_back(sim, names, final_bar, states_bar, x0, u, *values):
    gradient = sim.pull_back(_numbers(x0), _numbers(u), _dict(names, values), final_state=_numbers(final_bar),
                             states=_given(states_bar))
    found = gradient.parameters
    return (torch.from_numpy(gradient.x0), torch.from_numpy(gradient.controls),
            *(torch.from_numpy(found[name]) for name in names))


def _numbers(tensor):
    return tensor.detach().numpy()


def _given(tensor):
    return None if tensor is None else _numbers(tensor)


def _dict(names, values):
    return {name: _numbers(value) for name, value in zip(names, values)}


def rollout(sim):
    """A function of tensors (x0, u, p) that returns final_state, or (final_state, states) if the rollout keeps states.

    x0   (*batch, states)            None: the system's initial state
    u    (*batch, knots, controls)   None: zero
    p    {name: tensor or number}; None: defaults
    Tensors have the rollout's precision and live on the CPU. Differentiable by all of them.
    """
    signature = sim.system.signature
    dtype = torch.float32 if sim.dtype == "float32" else torch.float64
    start = torch.as_tensor(sim.system.initial_state, dtype=dtype)
    zero = torch.zeros((sim.knots, signature.control_size), dtype=dtype)
    active = set(sim.active)

    def simulate(x0=None, u=None, p=None):
        names = tuple(p) if p else ()
        values = []
        for name in names:
            value = p[name]
            if not isinstance(value, torch.Tensor):
                value = torch.as_tensor(value, dtype=dtype)
            elif value.requires_grad and name not in active:
                raise Error(f"'{name}' needs a gradient but is not active in this rollout: make it with active=['{name}', ...]"
                                  if name in sim.system.parameters else f"no parameter is named '{name}'")
            values.append(value)
        try:
            return _Forward.apply(sim, names, start if x0 is None else x0, zero if u is None else u, *values)
        except RuntimeError as error:
            if "vmap" not in str(error):
                raise
            raise Error("torch.vmap and the other transforms of torch.func cannot see into a rollout, which is one call of compiled code: "
                        "give the batch as leading axes of x0, u and the parameters, and use backward()") from None

    return simulate


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
            value = torch.as_tensor(value, dtype=dtype)
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
