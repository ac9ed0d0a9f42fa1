"""costate.jax against the same equations in JAX: jit, vmap, grad, scan."""
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import costate
import costate.jax
import lq_problem
import pendulum

STEPS = 20
RNG = np.random.default_rng(11)
X0, U, P = np.array([0.7, -0.2]), 0.3 * RNG.standard_normal((STEPS, 1)), dict(pendulum.PARAMETERS, l=1.1)
PJ = {k: jnp.asarray(v) for k, v in P.items()}
TOLERANCE = dict(rtol=1e-11, atol=1e-13)


@pytest.fixture(scope="module")
def simulate():
    return costate.jax.rollout(pendulum.system().rollout(STEPS))


def loss(f):
    return lambda x0, u, p: jnp.sum(jnp.sin(f(x0, u, p)) ** 2)


def assert_same(a, b):
    jax.tree_util.tree_map(lambda x, y: np.testing.assert_allclose(x, y, **TOLERANCE), a, b)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
def test_value_and_grad(simulate, transform):
    ours = transform(jax.value_and_grad(loss(simulate), argnums=(0, 1, 2)))(X0, U, PJ)
    theirs = jax.value_and_grad(loss(pendulum.reference), argnums=(0, 1, 2))(X0, U, PJ)
    assert_same(ours, theirs)


def test_vmap_in_every_combination_of_axes(simulate):
    x0, u = X0 + 0.1 * RNG.standard_normal((5, 2)), U + 0.1 * RNG.standard_normal((5, STEPS, 1))
    p = dict(PJ, l=jnp.linspace(1.0, 1.4, 5))
    for axes, inputs in [((0, None, None), (x0, U, PJ)), ((None, 0, None), (X0, u, PJ)),
                         ((0, 0, {"g": None, "l": 0, "c": None}), (x0, u, p))]:
        ours = jax.jit(jax.vmap(jax.grad(loss(simulate), argnums=(0, 1, 2)), axes))(*inputs)
        theirs = jax.vmap(jax.grad(loss(pendulum.reference), argnums=(0, 1, 2)), axes)(*inputs)
        assert_same(ours, theirs)


def test_gradient_of_a_vmapped_sum(simulate):
    x0 = X0 + 0.1 * RNG.standard_normal((4, 2))
    total = lambda f: lambda p: jnp.sum(jax.vmap(lambda x: loss(f)(x, U, p))(x0))
    assert_same(jax.grad(total(simulate))(PJ), jax.grad(total(pendulum.reference))(PJ))


def test_leading_axes_are_batches(simulate):
    x0 = X0 + 0.1 * RNG.standard_normal((3, 4, 2))
    u = U + 0.1 * RNG.standard_normal((4, STEPS, 1))
    result = simulate(x0, u, PJ)
    assert result.shape == (3, 4, 2)
    np.testing.assert_allclose(result[2, 1], pendulum.reference(x0[2, 1], u[1], PJ), **TOLERANCE)


def test_scan_over_single_steps():
    one = costate.jax.rollout(pendulum.system().rollout(1))

    def chained(x0, u, p):
        return jax.lax.scan(lambda x, row: (one(x, row[None], p), None), x0, u)[0]

    ours = jax.jit(jax.grad(loss(chained), argnums=(0, 1, 2)))(jnp.asarray(X0), jnp.asarray(U), PJ)
    assert_same(ours, jax.grad(loss(pendulum.reference), argnums=(0, 1, 2))(X0, U, PJ))


def test_kept_states_have_gradients():
    f = costate.jax.rollout(pendulum.system().rollout(STEPS, keep=5))
    final, states = f(X0, U, PJ)
    assert states.shape == (5, 2)
    weights = RNG.standard_normal((5, 2))

    def ours(x0):
        final, states = f(x0, U, PJ)
        return jnp.sum(weights * states) + final[0] ** 2

    def theirs(x0):
        states = jnp.stack([pendulum.reference(x0, U[:5 * j], PJ) for j in range(5)])
        return jnp.sum(weights * states) + states[-1, 0] ** 2

    x0 = X0 + 0.1 * RNG.standard_normal((3, 2))
    assert_same(jax.vmap(jax.grad(ours))(x0), jax.vmap(jax.grad(theirs))(x0))


def test_single_precision_and_globs():
    f = costate.jax.rollout(pendulum.system().rollout(STEPS, dtype="float32"))
    result = f(X0, U, {"?": 2.0})
    assert result.dtype == jnp.float32
    np.testing.assert_allclose(result, pendulum.reference(X0, U, {"g": 2.0, "l": 2.0, "c": 2.0}), rtol=1e-4)
    # One number for three parameters: its derivative is the sum of theirs.
    exact = jax.grad(loss(pendulum.reference), argnums=2)(X0, U, {k: jnp.asarray(2.0) for k in "glc"})
    assert float(jax.grad(lambda v: loss(f)(X0, U, {"?": v}))(2.0)) == pytest.approx(float(sum(exact.values())), rel=1e-3)


def test_models_from_files(scenes):
    sim = costate.rigid.load(str(scenes / "cart_pole.xml")).rollout(25)
    f = costate.jax.rollout(sim)
    u = 0.2 * RNG.standard_normal((25, 1))
    bar = RNG.standard_normal(4)
    x0 = sim.system.initial_state + 0.1
    expected = sim.pull_back(x0, u, final_state=bar)
    x_bar, u_bar = jax.grad(lambda x, u: jnp.dot(bar, f(x, u)), argnums=(0, 1))(x0, u)
    np.testing.assert_allclose(x_bar, expected.x0, rtol=1e-13)
    np.testing.assert_allclose(u_bar, expected.controls, rtol=1e-13)


def test_mistakes_are_errors(simulate):
    with pytest.raises(costate.Error, match="x0 has the shape"):
        simulate(np.zeros(3))
    with pytest.raises(costate.Error, match="length"):
        simulate(X0, U, {"length": 1.0})
    with pytest.raises(Exception, match="the initial state is not finite"):
        simulate(np.array([np.nan, 0.0])).block_until_ready()


def test_forward_mode(simulate):
    dots = np.array([0.3, -1.1]), 0.2 * RNG.standard_normal((STEPS, 1)), {"g": 0.4, "l": -0.2, "c": 0.1}
    directions = dots[0], dots[1], {k: jnp.asarray(v) for k, v in dots[2].items()}
    for transform in (lambda f: f, jax.jit):
        ours = transform(lambda x, u, p: jax.jvp(simulate, (x, u, p), directions))(X0, U, PJ)
        assert_same(ours, jax.jvp(pendulum.reference, (X0, U, PJ), directions))
    assert_same(jax.jacfwd(simulate)(jnp.asarray(X0), U, PJ), jax.jacrev(simulate)(jnp.asarray(X0), U, PJ))
    batch = X0 + 0.1 * RNG.standard_normal((3, 2))
    assert_same(jax.vmap(lambda x: jax.jvp(lambda y: simulate(y, U, PJ), (x,), (x,))[1])(batch),
                jax.vmap(lambda x: jax.jvp(lambda y: pendulum.reference(y, U, PJ), (x,), (x,))[1])(batch))


def test_forward_mode_of_kept_states_is_an_error():
    kept = costate.jax.rollout(pendulum.system().rollout(STEPS, keep=5))
    with pytest.raises(costate.Error, match="keep=0"):
        jax.jvp(lambda x: kept(x)[1], (jnp.asarray(X0),), (jnp.asarray(X0),))


def test_jaxs_own_check_in_both_modes():
    from jax.test_util import check_grads

    simulate = costate.jax.rollout(pendulum.system().rollout(8))
    x0, u = jnp.array([0.7, -0.2]), 0.1 * jnp.ones((8, 1))
    check_grads(lambda x0, u, l: simulate(x0, u, {"l": l}), (x0, u, jnp.asarray(1.1)), order=1, modes=("fwd", "rev"))
    check_grads(jax.jit(jax.vmap(lambda x0: simulate(x0, u))), (jnp.stack([x0, 2 * x0]),), order=1, modes=("fwd", "rev"))


def test_a_linear_solve_around_a_rollout(simulate):
    """A step of Newton's method towards a given end, solved with the tangent of the rollout and its transpose."""
    def solve(product, b):
        return jnp.linalg.solve(jax.jacobian(product)(jnp.zeros(2)), b)

    def step(end):
        product = lambda v: jax.jvp(lambda x: simulate(x, U, PJ), (jnp.asarray(X0),), (v,))[1]
        return jax.lax.custom_linear_solve(product, end, solve, solve)

    inverse = jnp.linalg.inv(jax.jacobian(simulate)(jnp.asarray(X0), U, PJ))
    end = jnp.array([0.3, -0.4])
    np.testing.assert_allclose(step(end), inverse @ end, rtol=1e-10)
    np.testing.assert_allclose(jax.jacrev(step)(end), inverse, rtol=1e-10)
    np.testing.assert_allclose(jax.jacfwd(step)(end), inverse, rtol=1e-10)


def test_second_derivatives_say_where_they_are(simulate):
    with pytest.raises(costate.Error, match="hessian_vector"):
        jax.hessian(lambda x: jnp.sum(simulate(x, U, PJ) ** 2))(jnp.asarray(X0))


def test_pmap_over_host_devices():
    program = """
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
import costate.jax, pendulum
simulate = costate.jax.rollout(pendulum.system().rollout(10))
x0 = jnp.asarray(np.random.default_rng(0).standard_normal((2, 3, 2)))
assert jax.device_count() == 2
found = jax.pmap(simulate)(x0)
np.testing.assert_array_equal(found, simulate(x0))
gradient = jax.pmap(jax.grad(lambda x: jnp.sum(simulate(x) ** 2)))(x0)
np.testing.assert_array_equal(gradient, jax.grad(lambda x: jnp.sum(simulate(x) ** 2))(x0))
"""
    folder = os.path.dirname(__file__)
    environment = dict(os.environ, XLA_FLAGS="--xla_force_host_platform_device_count=2",
                       PYTHONPATH=os.pathsep.join([os.path.dirname(os.path.dirname(costate.__file__)), folder]))
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=300)


def layer(**parts):
    return costate.jax.linear_quadratic(lq_problem.STEPS, **parts)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
def test_a_layer_of_linear_mpc_has_the_reference_gradient(transform):
    def loss(parts):
        return jnp.sum(layer(**parts)[1] ** 2) / 2

    value, bar = transform(jax.value_and_grad(loss))(lq_problem.PARTS)
    assert abs(value - lq_problem.LOSS) < 1e-12
    for name, expected in (("x0", lq_problem.X0_BAR), ("R", lq_problem.R_BAR), ("Qf", lq_problem.QF_BAR)):
        np.testing.assert_allclose(bar[name], expected, atol=1e-9)


def test_a_batch_of_layers_has_the_gradient_of_its_tangent():
    parts = lq_problem.batch(4)
    rng = np.random.default_rng(9)
    dots = {k: rng.standard_normal(v.shape) for k, v in parts.items()}
    solved = costate.control.linear_quadratic(lq_problem.STEPS, **parts)
    moved = solved.jvp(**dots)
    out, pull = jax.vjp(lambda p: layer(**p), parts)
    bars = tuple(rng.standard_normal(o.shape) for o in out)
    (found,) = pull(bars)
    left = sum(np.sum(moved[k] * b) for k, b in zip(("x", "u", "value"), bars))
    right = sum(np.sum(found[k] * d) for k, d in dots.items())
    assert abs(left - right) < 1e-11 * (1 + abs(left))


def test_vmap_of_a_layer_is_its_batch():
    parts = dict(lq_problem.PARTS)
    starts = lq_problem.batch(5)["x0"]
    both = jax.vmap(lambda x0: layer(**dict(parts, x0=x0)))(starts)
    together = layer(**dict(parts, x0=starts))
    for a, b in zip(both, together):
        np.testing.assert_array_equal(a, b)

    def loss(x0, R):
        return jnp.sum(layer(**dict(parts, x0=x0, R=R))[1] ** 2)

    grads = jax.jit(jax.vmap(jax.grad(loss, argnums=(0, 1)), in_axes=(0, None)))(starts, parts["R"])
    for i, x0 in enumerate(starts):
        assert_same((grads[0][i], grads[1][i]), jax.grad(loss, argnums=(0, 1))(x0, parts["R"]))
    nested = jax.vmap(lambda scale: layer(**dict(parts, x0=scale * starts))[1])(jnp.array([1.0, 0.5]))
    np.testing.assert_array_equal(nested[1], layer(**dict(parts, x0=0.5 * starts))[1])
    with pytest.raises(costate.Error, match="needs x0"):
        layer(A=parts["A"], B=parts["B"], Q=parts["Q"], R=parts["R"])


def test_a_parameter_with_a_shape_keeps_it():
    @costate.system(states={"x": 2}, parameters={"A": np.arange(6.0).reshape(2, 3)}, dt=0.1)
    def made(x, A):
        return A @ np.array([0.1, 0.2, 0.3]) - x
    sim, a = made.rollout(3), made.parameters["A"] + 0.1
    run = costate.jax.rollout(sim)
    loss = lambda a: jnp.sum(run(jnp.ones(2), None, {"A": a}) ** 2)
    expected = sim.pull_back(np.ones(2), p={"A": a}, final_state=2 * sim.simulate(np.ones(2), p={"A": a}).final_state)
    for given in (a, a.ravel()):
        np.testing.assert_allclose(jax.grad(loss)(jnp.asarray(given)), expected.parameters["A"].reshape(given.shape), rtol=1e-13)
    both = np.stack([a, 2 * a])
    np.testing.assert_array_equal(run(jnp.ones(2), None, {"A": both}), sim.simulate(np.ones((2, 2)), p={"A": both}).final_state)
    with pytest.raises(costate.Error, match=r"A has the shape \(3, 2\) instead of \(\*batch, 2, 3\)"):
        run(jnp.ones(2), None, {"A": a.T})
