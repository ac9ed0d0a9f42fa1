"""Rollouts as JAX functions: jit, vmap, grad and scan, on the CPU, by a custom call of XLA without Python in between.

    simulate = costate.jax.rollout(system.rollout(steps=100))
    final = simulate(x0, u, {"geom/foot/friction": 0.8})
    jax.jit(jax.grad(lambda p: loss(simulate(x0, u, p))))({"geom/foot/friction": 0.8})

Reverse mode runs the rollout again and then backwards: nothing is kept between the two passes but the inputs.
"""
import functools

import jax
import jax.numpy as jnp
import numpy as np

from . import _core
from .error import Error

if not hasattr(_core, "xla"):
    raise Error("costate was built without the headers of XLA: install jaxlib, then costate, or build with both in one environment")

jax.ffi.register_ffi_target("costate_rollout_forward", _core.xla.forward(), platform="cpu")
jax.ffi.register_ffi_target("costate_rollout_backward", _core.xla.backward(), platform="cpu")


class _Calls:
    """A rollout whose calls give the parameters `names`: one world; batches come from vmap."""

    def __init__(self, sim, names):
        signature = sim.system.signature
        self.handle = np.int64(_core.xla.register_rollout(sim, list(names)))
        self.dtype = np.dtype(sim.dtype)
        sizes = {f.name: f.size for f in signature.parameters}
        self.inputs = [jax.ShapeDtypeStruct((signature.state_size,), self.dtype),
                       jax.ShapeDtypeStruct((sim.knots, signature.control_size), self.dtype),
                       *(jax.ShapeDtypeStruct((sizes[name],), self.dtype) for name in names)]
        self.outputs = [self.inputs[0]]
        if sim.keep:
            self.outputs.append(jax.ShapeDtypeStruct((sim.steps // sim.keep + 1, signature.state_size), self.dtype))

        @jax.custom_vjp
        def run(*inputs):
            return jax.ffi.ffi_call("costate_rollout_forward", self.outputs, vmap_method="broadcast_all")(
                *inputs, handle=self.handle)

        def pull_back(inputs, bars):
            return tuple(jax.ffi.ffi_call("costate_rollout_backward", self.inputs, vmap_method="broadcast_all")(
                *inputs, *bars, handle=self.handle))

        run.defvjp(lambda *inputs: (run(*inputs), inputs), pull_back)
        self.run = run


def rollout(sim):
    """A JAX function of (x0, u, p) that returns the final state, or (final state, states) if the rollout keeps states.

    x0   (*batch, states)            None: the system's initial state
    u    (*batch, knots, controls)   None: zero
    p    {name or glob: number or (*batch, size)}; None: defaults
    states is (*batch, kept, states). Differentiable by all three, in reverse mode.
    """
    signature = sim.system.signature
    sizes = {f.name: f.size for f in signature.parameters}
    dtype = np.dtype(sim.dtype)
    if dtype == np.float64 and not jax.config.jax_enable_x64:
        raise Error("a float64 rollout needs jax.config.update('jax_enable_x64', True); or make it with dtype='float32'")
    start = np.asarray(sim.system.initial_state, dtype=dtype)
    calls = functools.lru_cache(maxsize=None)(lambda names: _Calls(sim, names))

    def expand(p):
        values = {}
        for key, value in (p or {}).items():
            for name in signature.match([key]) if any(c in key for c in "*?") else [key]:
                if name not in sizes:
                    signature.match([key])  # raises, with near misses
                value = jnp.asarray(value, dtype)
                size = sizes[name]
                if value.ndim == 0:
                    value = jnp.broadcast_to(value, (size,))
                elif size == 1 and value.shape[-1] != 1:
                    value = value[..., None]
                elif value.size == size:
                    value = value.reshape(size)
                values[name] = value
        return values

    def simulate(x0=None, u=None, p=None):
        parameters = expand(p)
        names = tuple(sorted(parameters))
        x0 = jnp.asarray(start if x0 is None else x0, dtype)
        u = jnp.zeros((sim.knots, signature.control_size), dtype) if u is None else jnp.asarray(u, dtype)
        arrays = [x0, u, *(parameters[name] for name in names)]
        call = calls(names)
        ranks = [len(s.shape) for s in call.inputs]
        for name, array, expected in zip(("x0", "u", *names), arrays, call.inputs):
            if array.shape[array.ndim - len(expected.shape):] != expected.shape:
                raise Error(f"{name} has the shape {array.shape} instead of (*batch, {', '.join(map(str, expected.shape))})")
        run = call.run
        batch = [a.ndim - r for a, r in zip(arrays, ranks)]
        for depth in range(1, max(batch) + 1):  # innermost axis first; who has fewer is shared along the outer ones
            run = jax.vmap(run, in_axes=tuple(0 if n >= depth else None for n in batch))
        result = run(*arrays)
        return tuple(result) if sim.keep else result[0]

    return simulate
