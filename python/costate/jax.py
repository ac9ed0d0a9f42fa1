"""Rollouts as JAX functions: jit, vmap, grad, jvp and scan, by a custom call of XLA without Python in between.

    simulate = costate.jax.rollout(system.rollout(steps=100))
    final = simulate(x0, u, {"geom/foot/friction": 0.8})
    jax.jit(jax.grad(lambda p: loss(simulate(x0, u, p))))({"geom/foot/friction": 0.8})

Reverse mode runs the rollout again and then backwards: nothing is kept between the two passes but the inputs.

Where JAX has its arrays on a GPU, so must the rollout: system.rollout(steps, device="cuda:0"). Arrays stay there, and calls go in the order
of XLA's stream; forward mode and kept states are the CPU's alone.
"""
import functools
from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _core, control
from .error import Error

if not hasattr(_core, "xla"):
    raise Error("costate was built without the headers of XLA: install jaxlib, then costate, or build with both in one environment")

for _name in ("forward", "tangent", "backward"):
    jax.ffi.register_ffi_target(f"costate_rollout_{_name}", getattr(_core.xla, _name)(), platform="cpu")
for _name in ("forward", "backward"):
    jax.ffi.register_ffi_target(f"costate_rollout_{_name}", getattr(_core.xla, f"{_name}_there")(), platform="CUDA")


class _Calls:
    """A rollout whose calls give the parameters `names`. Shapes are those of one world; calls have batch axes in front."""

    def __init__(self, sim, names):
        signature = sim.system.signature
        self.handle = np.int64(_core.xla.register_rollout(sim, list(names)))
        self.dtype = np.dtype(sim.dtype)
        sizes = {f.name: f.size for f in signature.parameters}
        self.inputs = [(signature.state_size,), (sim.knots, signature.control_size), *((sizes[name],) for name in names)]
        self.outputs = [self.inputs[0]]
        if sim.keep:
            self.outputs.append((sim.steps // sim.keep + 1, signature.state_size))

    def run(self, *inputs):
        return _forward.bind(*inputs, calls=self)


# Three operations, each the transpose or the derivative of another:
#   forward (inputs) -> outputs        its jvp is tangent
#   tangent (inputs; dots) -> rates    linear in the dots; its transpose is backward
#   backward (inputs; bars) -> cotangents of the inputs
def _operation(name, shapes):
    """shapes(calls): of the results, for one world."""
    operation = Primitive(f"costate_rollout_{name}")
    operation.multiple_results = True

    def results(calls, first):
        return [(first.shape[:-1] + shape, calls.dtype) for shape in shapes(calls)]

    def run(*arrays, calls):
        if name == "tangent" and len(calls.outputs) > 1:
            raise Error("forward mode of kept states is not available: make the rollout with keep=0")
        wanted = [jax.ShapeDtypeStruct(*result) for result in results(calls, arrays[0])]
        return jax.ffi.ffi_call(operation.name, wanted)(*arrays, handle=calls.handle)

    def batched(arrays, axes, calls):
        size = next(a.shape[axis] for a, axis in zip(arrays, axes) if axis is not batching.not_mapped)
        in_front = [jnp.broadcast_to(a, (size, *a.shape)) if axis is batching.not_mapped else jnp.moveaxis(a, axis, 0)
                    for a, axis in zip(arrays, axes)]
        found = operation.bind(*in_front, calls=calls)
        return found, [0] * len(found)

    operation.def_impl(run)
    operation.def_abstract_eval(lambda first, *_, calls: [ShapedArray(*result) for result in results(calls, first)])
    mlir.register_lowering(operation, mlir.lower_fun(run, multiple_results=True))
    batching.primitive_batchers[operation] = cast(Any, batched)
    return operation


_forward = _operation("forward", lambda calls: calls.outputs)
_tangent = _operation("tangent", lambda calls: calls.outputs)
_backward = _operation("backward", lambda calls: calls.inputs)


def _jvp(inputs, dots, calls):
    return _forward.bind(*inputs, calls=calls), _tangent.bind(*inputs, *map(ad.instantiate_zeros, dots), calls=calls)


def _transpose(bars, *arrays, calls):
    inputs, dots = arrays[:len(calls.inputs)], arrays[len(calls.inputs):]
    found = _backward.bind(*inputs, *map(ad.instantiate_zeros, bars), calls=calls)
    return [None] * len(inputs) + [bar if ad.is_undefined_primal(dot) else None for bar, dot in zip(found, dots)]


def _linear_jvp(operation):
    """Of tangent and backward, which are linear in all but the inputs of the rollout."""
    def rule(arrays, rates, calls):
        count = len(calls.inputs)
        if not all(isinstance(rate, ad.Zero) for rate in rates[:count]):
            raise Error("second derivatives do not go through JAX: Rollout.hessian_vector has them")
        moved = operation.bind(*arrays[:count], *map(ad.instantiate_zeros, rates[count:]), calls=calls)
        return operation.bind(*arrays, calls=calls), moved
    return rule


def _transpose_backward(dots, *arrays, calls):
    inputs = arrays[:len(calls.inputs)]
    return [None] * len(inputs) + list(_tangent.bind(*inputs, *map(ad.instantiate_zeros, dots), calls=calls))


ad.primitive_jvps[_forward] = _jvp
ad.primitive_jvps[_tangent], ad.primitive_jvps[_backward] = _linear_jvp(_tangent), _linear_jvp(_backward)
ad.primitive_transposes[_tangent], ad.primitive_transposes[_backward] = _transpose, _transpose_backward


def rollout(sim: _core.Rollout) -> Callable[..., Any]:
    """A JAX function of (x0, u, p) that returns the final state, or (final state, states) if the rollout keeps states.

    x0   (*batch, states)            None: the system's initial state
    u    (*batch, knots, controls)   None: zero
    p    {name or glob: number or (*batch, size)}, of a parameter with a shape also (*batch, *shape); None: defaults
    states is (*batch, kept, states). Differentiable by all three, in reverse mode, and in forward mode
    where no states are kept.
    """
    signature = sim.system.signature
    sizes = {f.name: f.size for f in signature.parameters}
    shapes = {name: default.shape for name, default in sim.system.parameters.items() if default.ndim > 1}
    dtype = np.dtype(sim.dtype)
    if dtype == np.float64 and not getattr(jax.config, "jax_enable_x64"):
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
                elif name in shapes and value.shape[-len(shapes[name]):] == shapes[name]:
                    value = value.reshape((*value.shape[:-len(shapes[name])], size))
                elif value.size == size and (name not in shapes or value.ndim == 1):
                    value = value.reshape(size)
                elif name in shapes and value.shape[-1] != size:
                    raise Error(f"{name} has the shape {value.shape} instead of (*batch, {', '.join(map(str, shapes[name]))})")
                values[name] = value
        return values

    def simulate(x0=None, u=None, p=None):
        parameters = expand(p)
        names = tuple(sorted(parameters))
        x0 = jnp.asarray(start if x0 is None else x0, dtype)
        u = jnp.zeros((sim.knots, signature.control_size), dtype) if u is None else jnp.asarray(u, dtype)
        arrays = [x0, u, *(parameters[name] for name in names)]
        call = calls(names)
        ranks = [len(shape) for shape in call.inputs]
        for name, array, expected in zip(("x0", "u", *names), arrays, call.inputs):
            if array.shape[array.ndim - len(expected):] != expected:
                raise Error(f"{name} has the shape {array.shape} instead of (*batch, {', '.join(map(str, expected))})")
        run = call.run
        batch = [a.ndim - r for a, r in zip(arrays, ranks)]
        for depth in range(1, max(batch) + 1):  # innermost axis first; who has fewer is shared along the outer ones
            run = jax.vmap(run, in_axes=tuple(0 if n >= depth else None for n in batch))
        result = run(*arrays)
        return tuple(result) if sim.keep else result[0]

    return simulate


_RANKS = {"A": 2, "B": 2, "c": 1, "Q": 2, "R": 2, "S": 2, "q": 1, "r": 1, "Qf": 2, "qf": 1, "x0": 1,
          "lower": 1, "upper": 1, "x_lower": 1, "x_upper": 1}
_ONCE = ("Qf", "qf", "x0")  # not of each step


class _LinearQuadratic:
    """Calls of control.linear_quadratic on arrays to which vmap may have added axes in front."""

    def __init__(self, steps, names, ranks):
        self.steps, self.names, self.ranks = steps, names, ranks
        self.batched = any(rank == _RANKS[n] + (1 if n in _ONCE else 2) for n, rank in zip(names, ranks))

    def worlds(self, arrays):
        """The shape of the axes in front, and the problems along them: one call for all where the problem itself is not a batch."""
        arrays = [np.asarray(a, np.float64) for a in arrays]
        shape = arrays[0].shape[:arrays[0].ndim - self.ranks[0]]
        if not shape:
            return shape, [arrays]
        count = int(np.prod(shape))
        flat = [a.reshape((count, *a.shape[len(shape):])) for a in arrays]
        if self.batched:
            return shape, [list(row) for row in zip(*flat)]
        return shape, [[a[:, None] if n not in _ONCE and rank == _RANKS[n] else a for n, rank, a in zip(self.names, self.ranks, flat)]]

    def solve(self, arrays):
        return control.linear_quadratic(self.steps, **dict(zip(self.names, arrays)))

    def forward(self, *arrays):
        shape, problems = self.worlds(arrays)
        found = [[s.x, s.u, s.value] for s in map(self.solve, problems)]
        return self.gathered(shape, found, arrays[0].dtype)

    def gathered(self, shape, found, dtype):
        columns = list(zip(*found))
        if not shape:
            return tuple(np.asarray(c[0], dtype) for c in columns)
        join = np.stack if self.batched else (lambda c: c[0])
        return tuple(np.asarray(j, dtype).reshape((*shape, *j.shape[1:])) for j in map(join, columns))

    def backward(self, *arrays):
        count = len(self.names)
        shape, problems = self.worlds(arrays[:count])
        bars = [np.asarray(b, np.float64) for b in arrays[count:]]
        if shape and self.batched:
            rows = list(zip(*(b.reshape((len(problems), *b.shape[len(shape):])) for b in bars)))
        else:
            rows = [bars]
        found = []
        for problem, (x, u, value) in zip(problems, rows):
            bar = self.solve(problem).vjp(x=x, u=u, value=value)
            found.append([bar[name] for name in self.names])
        parts = self.gathered(shape, found, arrays[0].dtype)
        return tuple(p.reshape(np.shape(a)) for p, a in zip(parts, arrays))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _linear_quadratic(calls, *arrays):
    steps, first = calls.steps, dict(zip(calls.names, arrays))
    n, m = first["B"].shape[-2:]
    batch = next((a.shape[:1] for name, a in first.items() if a.ndim == _RANKS[name] + (1 if name in _ONCE else 2)), ())
    shapes = [(*batch, steps + 1, n), (*batch, steps, m), batch]
    wanted = tuple(jax.ShapeDtypeStruct(shape, arrays[0].dtype) for shape in shapes)
    return jax.pure_callback(calls.forward, wanted, *arrays, vmap_method="broadcast_all")


def _linear_quadratic_backward(calls, arrays, bars):
    wanted = tuple(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays)
    return jax.pure_callback(calls.backward, wanted, *arrays, *bars, vmap_method="broadcast_all")


_linear_quadratic.defvjp(lambda calls, *arrays: (_linear_quadratic(calls, *arrays), arrays), _linear_quadratic_backward)


def linear_quadratic(steps, **parts):
    """(x, u, value) of a linear MPC problem with bounds, as a layer: the arrays of costate.control.linear_quadratic.

        x, u, value = costate.jax.linear_quadratic(20, A=A, B=B, Q=Q, R=R, x0=x0, lower=-limit, upper=limit)

    Works under jit, grad and vmap, in reverse mode and once. A vmap, and parts with a batch axis, are one call on all threads. The
    transpose solves again: nothing but the inputs is kept between the passes.
    """
    names = tuple(sorted(name for name, value in parts.items() if value is not None))
    for name in names:
        if name not in _RANKS:
            raise Error(f"a linear-quadratic problem has no part '{name}': its parts are {', '.join(_RANKS)}")
    for name in ("A", "B", "Q", "R", "x0"):
        if name not in names:
            raise Error(f"a linear-quadratic problem needs {name}")
    arrays = [jnp.asarray(parts[name], float) for name in names]
    return _linear_quadratic(_LinearQuadratic(int(steps), names, tuple(a.ndim for a in arrays)), *arrays)
