"""Recorded functions against the same functions run by NumPy and differentiated by JAX."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import costate
import pendulum
from costate.trace import record

RNG = np.random.default_rng(5)

# Each is a function of an array (n,) and of the module that provides the functions.
FUNCTIONS = {
    "arithmetic": lambda x, m: 2 * x[0] - x[1] / 3 + x[2] ** 2 - (-x[0]) + x[1] ** -1 + 2.0 ** x[0],
    "in place": lambda x, m: (lambda y: y + 1)(x[0] * 1) * 2,
    "trigonometry": lambda x, m: m.sin(x[0]) + m.cos(x[1]) * m.tan(x[2]) + m.arctan2(x[0], x[1]) + m.arcsin(x[0] / 9),
    "arcs": lambda x, m: m.arccos(x[0] / 9) + m.arctan(x[1]) + m.arcsinh(x[2]) + m.arccosh(x[1] + 2) + m.arctanh(x[0] / 5),
    "exponentials": lambda x, m: m.exp(x[0]) + m.expm1(x[1]) + m.log(x[2] + 3) + m.log1p(x[1]) + m.exp2(x[0]) + m.log10(x[2]),
    "hyperbolic": lambda x, m: m.sinh(x[0]) + m.cosh(x[1]) + m.tanh(x[2]) + m.logaddexp(x[0], x[2]),
    "roots": lambda x, m: m.sqrt(x[0]) + m.cbrt(x[1]) + m.hypot(x[1], x[2]) + m.square(x[0]) + m.reciprocal(x[2]),
    "kinks": lambda x, m: m.abs(x[0] - 1) + m.sign(x[1]) + m.minimum(x[0], x[1]) + m.maximum(x[1], x[2]) + m.floor(x[0] * 3),
    "clip": lambda x, m: m.sum(m.clip(x, 0.6, 1.0)) + x[0] % 0.3,
    "sums": lambda x, m: m.sum(x) * m.prod(x) + m.mean(x) + x.sum() + x.max() - m.min(x),
    "products": lambda x, m: m.dot(x, A_VECTOR) + x @ x + m.sum(MATRIX @ x) + m.sum(x @ MATRIX) + m.sum(m.outer(x, x)),
    "cross": lambda x, m: m.sum(m.cross(x, A_VECTOR) * A_VECTOR[::-1]) + m.linalg.norm(x),
    "stacks": lambda x, m: m.sum(m.stack([x, 2 * x])[1] * m.concatenate([x[1:], x[:1]])) + m.sum(m.roll(x, 1) * x),
    "broadcast": lambda x, m: m.sum(x[:, None] * x[None, :] * MATRIX) + m.sum(m.tanh(MATRIX @ x + A_VECTOR)),
    "slices": lambda x, m: m.sum(x[::2]) - x[-1] + m.sum(m.reshape(x, (3, 1)) * MATRIX),
    "constants": lambda x, m: m.sin(0.3) * x[0] + m.zeros_like(x)[1] + m.ones_like(x)[2] * x[2],
}
MATRIX = RNG.standard_normal((3, 3))
A_VECTOR = RNG.standard_normal(3)


def recorded(f):
    signature = costate._core.build_signature({"x": 3}, None, None)
    return record(lambda x: f(x, np), signature, one_output=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_numpys_values_and_jaxs_gradients(name):
    f = FUNCTIONS[name]
    x = np.array([0.83, 0.47, 1.21])
    assert recorded(f)(x)[0] == pytest.approx(float(f(x, np)), rel=1e-13)
    sim = costate.equations({"x": 3}, "; ".join(f"x_next[{i}] = x[{i}]" for i in range(3)), method="next").rollout(1)
    value, grad = sim.value_and_grad(x, loss=costate.loss.function(lambda x: f(x, np)))
    assert value == pytest.approx(float(f(x, np)), rel=1e-13)
    np.testing.assert_allclose(grad.x0, jax.grad(lambda x: f(x, jnp))(jnp.asarray(x)), rtol=1e-11, atol=1e-12)


def test_conditions():
    f = lambda x, m: m.where((x[0] > 0) & ~(x[1] > 1) | (x[2] == 5), x[0] * 2, m.where(x[2] <= 0, 1.0, x[1]))
    program = recorded(lambda x, m: f(x, m) if m is not np else costate.where(
        (x[0] > 0) & ~(x[1] > 1) | (x[2] == 5), x[0] * 2, costate.where(x[2] <= 0, 1.0, x[1])))
    for x in ([1, 0.5, 0], [1, 2, 3], [-1, 0, -1], [-1, 2, 5], [-3, 7, 1]):
        x = np.array(x, dtype=float)
        assert program(x)[0] == f(x, jnp)


def test_where_works_on_plain_arrays_too():
    np.testing.assert_array_equal(costate.where(np.array([True, False]), 1, 2), [1, 2])


def step(x, u, p):
    q, v = x
    return [v, u.torque - p.g / p.l * np.sin(q) - p.c * v]


def by_names(q, v, torque, g, l, c):
    return {"v": torque - g / l * np.sin(q) - c * v, "q": v}


@pytest.mark.parametrize("function", [step, by_names])
def test_a_recorded_system_is_the_one_given_as_text(function):
    made = costate.system(function, states=["q", "v"], controls=["torque"], parameters=pendulum.PARAMETERS, dt=pendulum.DT)
    x0, u = np.array([0.5, 0.1]), RNG.standard_normal((30, 1))
    loss = costate.loss.final("q")
    a, b = (s.rollout(30).value_and_grad(x0, u, loss=loss)[1] for s in (made, pendulum.system()))
    np.testing.assert_allclose(a.x0, b.x0, rtol=1e-14)
    np.testing.assert_allclose(a.parameters["l"], b.parameters["l"], rtol=1e-13)


def test_a_decorated_function_with_time_and_matrices():
    weights = 0.3 * RNG.standard_normal((4, 2))

    @costate.system(states={"z": 2}, parameters={"w": weights, "out": weights.T, "f": 2.0}, dt=0.05)
    def network(z, w, p, t):
        return p.out @ np.tanh(w @ z) + np.sin(p.f * t)

    assert network.name == "network" and [f.size for f in network.signature.parameters][:2] == [8, 8]
    sim = network.rollout(20)
    z0 = np.array([0.2, -0.4])
    value, grad = sim.value_and_grad(z0, p={"w": weights}, loss=costate.loss.final("z"))

    def reference(z0, w):
        def rate(z, t):
            return weights.T @ jnp.tanh(w @ z) + jnp.sin(2.0 * t)

        z, h = z0, 0.05
        for k in range(20):
            t = k * h
            k1 = rate(z, t)
            k2 = rate(z + h / 2 * k1, t + h / 2)
            k3 = rate(z + h / 2 * k2, t + h / 2)
            z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(z + h * k3, t + h))
        return 0.5 * jnp.sum(z**2)

    expected, (z_bar, w_bar) = jax.value_and_grad(reference, argnums=(0, 1))(jnp.asarray(z0), jnp.asarray(weights))
    assert value == pytest.approx(float(expected), rel=1e-12)
    np.testing.assert_allclose(grad.x0, z_bar, rtol=1e-11)
    np.testing.assert_allclose(grad.parameters["w"], w_bar, rtol=1e-10)  # in the shape that was given


def make(function, **options):
    return costate.system(function, **dict({"states": ["q", "v"], "parameters": {"g": 1.0}}, **options))


@pytest.mark.parametrize("function, message", [
    (lambda x: [x[1], -x[0]] if x[0] > 0 else x, "costate.where"),
    (lambda x: [x[1], max(x[0], 0.0)], "costate.where"),
    (lambda x: [x[1], float(x[0])], "recorded, not run"),
    (lambda x: [x[1]], "returns 1 numbers instead of 2"),
    (lambda x: [x[1], np.frexp(x[0])[0]], "np.frexp cannot be recorded"),
    (lambda x: [x[1], np.sort(x)[0]], "np.sort cannot be recorded"),
    (lambda x, speed: [x[1], speed], "what is the argument 'speed'"),
    (lambda x, p: [x[1], p.mass], "there is no 'mass': there are g"),
    (lambda x: [x[1], "a"], "str cannot be recorded"),
    (lambda x: x.__setitem__(0, 1.0), "never written to"),
])
def test_what_cannot_be_recorded_is_an_error_that_says_what_to_do(function, message):
    with pytest.raises(costate.Error, match=message):
        make(function)


def test_filling_an_array():
    def fill(x):
        rate = np.zeros_like(x)
        rate[0] = x[1]
        rate[1] -= x[0]
        return rate

    def refuse(x):
        rate = np.zeros(2)
        rate[0] = x[1]
        return rate

    np.testing.assert_allclose(make(fill).rollout(10).simulate([1.0, 0.0]).final_state, [np.cos(0.1), -np.sin(0.1)], rtol=1e-9)
    with pytest.raises(costate.Error, match="np.zeros_like"):
        make(refuse)


def test_values_of_two_recordings_do_not_mix():
    kept = []
    make(lambda x: kept.append(x) or [x[1], -x[0]])
    with pytest.raises(costate.Error, match="recording"):
        make(lambda x: [x[1], kept[0][0]])


def test_a_program_can_be_read():
    program = recorded(FUNCTIONS["arithmetic"])
    assert program.inputs == {"x": 3} and program.outputs == {"value": 1} and len(program) > 5
    assert "input" in repr(program) or "x" in repr(program)
    assert "template" in program.cpp("f")


@pytest.mark.parametrize("stored", ["rows", "columns"])
def test_a_large_network_has_jaxs_gradients_and_runs_as_products(stored):
    sizes, parameters = (3, 32, 32, 2), {}
    for i, (n, m) in enumerate(zip(sizes, sizes[1:])):
        w = RNG.standard_normal((m, n)) / np.sqrt(n)
        parameters[f"w{i}"], parameters[f"b{i}"] = (w if stored == "rows" else w.T.copy()), 0.1 * RNG.standard_normal(m)

    def field(u, t, p, m):
        h = m.stack([u[0], u[1], m.sin(t)])
        for i in range(3):
            h = (p[f"w{i}"] @ h if stored == "rows" else h @ p[f"w{i}"]) + p[f"b{i}"]
            h = m.tanh(h) if i < 2 else h
        return h

    signature = costate._core.build_signature({"u": 2}, None, parameters)
    shapes = {name: value.shape for name, value in parameters.items()}
    program = record(lambda u, t, p: field(u, t, p, np), signature, shapes=shapes, layered=True)
    assert [product[1:] for product in program.products] == [(32, 3), (32, 32), (2, 32)]

    network = costate.system(lambda u, t, p: field(u, t, p, np), states={"u": 2}, parameters=parameters, dt=0.1, name="network")
    x0 = RNG.standard_normal((5, 2))

    def reference(x, p):
        x = jnp.asarray(x)
        for k in range(8):
            t, h = 0.1 * k, 0.1
            k1 = field(x, t, p, jnp)
            k2 = field(x + h / 2 * k1, t + h / 2, p, jnp)
            k3 = field(x + h / 2 * k2, t + h / 2, p, jnp)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + field(x + h * k3, t + h, p, jnp))
        return 0.5 * jnp.sum(x ** 2)

    total = lambda x, p: jnp.sum(jax.vmap(lambda x: reference(x, p))(x))
    value, (x_bar, p_bar) = jax.value_and_grad(total, (0, 1))(x0, {k: jnp.asarray(v) for k, v in parameters.items()})
    for worlds in (None, 5):  # one world after the other, and all at once
        parts = [x0] if worlds else x0
        found = [network.rollout(8).value_and_grad(part, loss=costate.loss.final("u"))[1] for part in parts]
        assert sum(g.value for g in found) == pytest.approx(float(value), rel=1e-12)
        for name, bar in p_bar.items():
            ours = sum(g.parameters[name] for g in found)
            np.testing.assert_allclose(ours, np.asarray(bar), rtol=1e-9, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(np.concatenate([np.atleast_2d(g.x0) for g in found]), x_bar, rtol=1e-9, atol=1e-12)


def test_methods_by_name_agree_and_say_what_there_is():
    def pendulum_by(method, dt):
        f = lambda q, v, t: [v, -np.sin(q) + 0.1 * np.cos(t)]
        return costate.system(f, states=["q", "v"], method=method, dt=dt).rollout(round(2 / dt))

    exact = pendulum_by("dop853", 0.05).pull_back([1.0, 0.3], final_state=[1.0, 0.0]).x0
    for method, error in {"euler": 1e-1, "midpoint": 1e-3, "heun": 1e-3, "rk4": 1e-6, "bs3": 1e-4, "RK45": 1e-8, "tsit5": 1e-8}.items():
        got = pendulum_by(method, 0.05).pull_back([1.0, 0.3], final_state=[1.0, 0.0]).x0
        assert 0 < np.abs(got - exact).max() < error, method
    with pytest.raises(costate.Error, match="'dopri5'.*solve_ivp"):
        pendulum_by("Radau", 0.1)


def test_functions_that_return_nothing_or_use_what_is_not_recorded_say_so():
    with pytest.raises(costate.Error, match="returns nothing: return the derivative .* of q, v"):
        costate.system(lambda q, v: None, states=["q", "v"])
    with pytest.raises(costate.Error, match="np.linalg.inv cannot be recorded"):
        costate.system(lambda q: np.linalg.inv(q.reshape(2, 2)).ravel(), states={"q": 4})


def test_a_loss_sees_parameters_in_their_shapes():
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])

    @costate.system(states={"q": 2}, parameters={"w": weights}, dt=0.1)
    def turning(q, w):
        return w @ q

    def first_row(q, w):
        return np.sum(w[0] * q)

    sim, x0 = turning.rollout(3), np.array([0.3, -0.2])
    end = sim.simulate(x0).final_state
    for loss in (first_row, costate.loss.function(lambda q, p: np.sum(p.w[0] * q)), costate.loss.function(first_row) + costate.loss.final("q", weight=0.0)):
        value, gradient = sim.value_and_grad(x0, loss=loss)
        assert value == pytest.approx(weights[0] @ end, rel=1e-14)
        assert gradient.parameters["w"].shape == (2, 2)
