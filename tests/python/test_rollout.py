"""Rollouts against the same equations written in JAX, differentiated by JAX."""
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import costate
import pendulum

STEPS = 40
RNG = np.random.default_rng(7)
X0 = np.array([0.7, -0.2])
U = 0.3 * RNG.standard_normal((STEPS, 1))
P = dict(pendulum.PARAMETERS, l=1.1)
TARGET = np.array([0.4])
LOSS = costate.loss.final("q", TARGET)


def loss_of(x0, u, p):
    return 0.5 * (pendulum.reference(x0, u, p)[0] - TARGET[0]) ** 2


@pytest.fixture
def sim():
    return pendulum.system().rollout(STEPS)


def test_signature_has_names_sizes_and_defaults():
    s = pendulum.system()
    assert [f.name for f in s.signature.states] == ["q", "v"]
    assert [f.name for f in s.signature.controls] == ["torque"]
    assert s.signature.state_size == 2 and s.signature.control_size == 1
    assert {n: float(v) for n, v in s.parameters.items()} == dict(pendulum.PARAMETERS, dt=pendulum.DT)
    assert s.signature.match(["?"]) == ["g", "l", "c"]
    assert "torque" in repr(s)


def test_final_state_is_that_of_the_reference(sim):
    np.testing.assert_allclose(sim.simulate(X0, U, P).final_state, pendulum.reference(X0, U, P), rtol=1e-13)


def test_gradient_is_that_of_jax(sim):
    value, grad = sim.value_and_grad(X0, U, P, loss=LOSS)
    expected_value, (x_bar, u_bar, p_bar) = jax.value_and_grad(loss_of, argnums=(0, 1, 2))(X0, U, P)
    assert value == pytest.approx(float(expected_value), rel=1e-12)
    np.testing.assert_allclose(grad.x0, x_bar, rtol=1e-11)
    np.testing.assert_allclose(grad.controls, u_bar, rtol=1e-11)
    for name, expected in p_bar.items():
        np.testing.assert_allclose(grad.parameters[name], expected, rtol=1e-11)
        assert grad.parameters[name].shape == ()
    assert grad.report.label == "exact" and grad.report.steps == STEPS
    assert "pathwise" in repr(grad.report) and grad.report._repr_html_().startswith("<pre>")


def test_forward_then_backward_with_cotangents_is_a_vjp(sim):
    end = sim.forward(X0, U, P).final_state
    bar = np.array([0.3, -1.7])
    grad = sim.backward(bar)
    final, vjp = jax.vjp(pendulum.reference, X0, U, P)
    x_bar, u_bar, p_bar = vjp(jnp.asarray(bar))
    np.testing.assert_allclose(end, final, rtol=1e-13)
    np.testing.assert_allclose(grad.x0, x_bar, rtol=1e-11)
    np.testing.assert_allclose(grad.controls, u_bar, rtol=1e-11)
    np.testing.assert_allclose(grad.parameters["l"], p_bar["l"], rtol=1e-11)
    with pytest.raises(costate.Error, match="without a forward"):
        sim.backward(bar)


def test_pull_back_is_forward_and_backward(sim):
    bar = np.array([0.3, -1.7])
    sim.forward(X0, U, P)
    np.testing.assert_array_equal(sim.pull_back(X0, U, P, final_state=bar).x0, sim.backward(bar).x0)


def test_cotangents_of_kept_states():
    sim = pendulum.system().rollout(STEPS, keep=10)
    trajectory = sim.forward(X0, U, P)
    assert trajectory.states.shape == (5, 2)
    assert trajectory.steps.tolist() == [0, 10, 20, 30, 40]
    bar = RNG.standard_normal((5, 2))
    grad = sim.backward(states=bar)

    def weighted(x0):
        return sum(bar[j] @ pendulum.reference(x0, U[:10 * j], P) for j in range(5))

    np.testing.assert_allclose(grad.x0, jax.grad(weighted)(X0), rtol=1e-11)
    np.testing.assert_array_equal(trajectory["q"], trajectory.states[..., :1])
    assert trajectory["q"].base is not None  # a view


def test_forward_mode_and_jacobian(sim):
    x_dot, u_dot = RNG.standard_normal(2), RNG.standard_normal((STEPS, 1))
    final, dot = sim.jvp(X0, U, P, x_dot, u_dot, {"l": 0.5})
    expected = jax.jvp(pendulum.reference, (X0, U, P), (x_dot, u_dot, {"g": 0.0, "l": 0.5, "c": 0.0}))
    np.testing.assert_allclose(final, expected[0], rtol=1e-13)
    np.testing.assert_allclose(dot, expected[1], rtol=1e-11)
    jacobian = pendulum.system().rollout(STEPS, active=["l"]).jacobian(X0, U, P)
    np.testing.assert_allclose(jacobian.x0, jax.jacobian(pendulum.reference)(X0, U, P), rtol=1e-11)
    np.testing.assert_allclose(jacobian.controls, jax.jacobian(pendulum.reference, 1)(X0, U, P), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(jacobian.parameters["l"], jax.jacobian(pendulum.reference, 2)(X0, U, P)["l"], rtol=1e-11)


def test_hessian_vector_product(sim):
    direction = np.array([0.4, 1.0])
    grad, product = sim.hessian_vector(X0, U, P, direction, loss=LOSS)
    hessian = jax.hessian(loss_of)(jnp.asarray(X0), U, P)
    np.testing.assert_allclose(grad.x0, jax.grad(loss_of)(X0, U, P), rtol=1e-11)
    np.testing.assert_allclose(product.x0, hessian @ direction, rtol=1e-10)


def test_batches_are_leading_axes(sim):
    x0 = X0 + 0.1 * RNG.standard_normal((3, 5, 2))
    lengths = 1 + 0.1 * RNG.random((3, 5))
    bar = RNG.standard_normal((3, 5, 2))
    p = dict(P, l=lengths)
    grad = sim.pull_back(x0, U, p, final_state=bar)
    assert sim.simulate(x0, U, p).final_state.shape == (3, 5, 2)

    def total(x0, u, p):
        one = jax.vmap(lambda x, l: pendulum.reference(x, u, dict(p, l=l)))
        return jnp.sum(bar.reshape(15, 2) * one(x0.reshape(15, 2), p["l"].reshape(15)))

    x_bar, u_bar, p_bar = jax.grad(total, argnums=(0, 1, 2))(x0, U, {k: jnp.asarray(v) for k, v in p.items()})
    np.testing.assert_allclose(grad.x0, x_bar, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(grad.controls, u_bar, rtol=1e-10, atol=1e-13)  # shared: the sum over worlds
    np.testing.assert_allclose(grad.parameters["l"], p_bar["l"], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(grad.parameters["g"], p_bar["g"], rtol=1e-10)


def test_each_world_gets_the_same_numbers_alone_and_in_a_batch(sim):
    x0 = X0 + 0.1 * RNG.standard_normal((37, 2))
    together = sim.simulate(x0, U, P).final_state
    for w in (0, 17, 36):
        np.testing.assert_array_equal(sim.simulate(x0[w], U, P).final_state, together[w])


def test_single_precision(sim):
    single = pendulum.system().rollout(STEPS, dtype=np.float32)
    value, grad = single.value_and_grad(X0.astype(np.float32), U, P, loss=LOSS)
    assert grad.x0.dtype == np.float32
    expected, exact = sim.value_and_grad(X0, U, P, loss=LOSS)
    assert value == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(grad.x0, exact.x0, rtol=1e-4)


@pytest.mark.parametrize("schedule", [costate.segments(), costate.segments(7), costate.binomial(3), costate.binomial(8)])
def test_every_exact_schedule_gives_the_same_bits(sim, schedule):
    other = pendulum.system().rollout(STEPS, checkpoints=schedule)
    a, b = (s.value_and_grad(X0, U, P, loss=LOSS)[1] for s in (sim, other))
    np.testing.assert_array_equal(a.x0, b.x0)
    np.testing.assert_array_equal(a.controls, b.controls)
    np.testing.assert_array_equal(a.parameters["l"], b.parameters["l"])
    assert repr(schedule) == b.report.schedule


def test_a_truncated_gradient_is_labelled():
    sim = pendulum.system().rollout(STEPS, checkpoints=costate.store_all().truncated(10))
    assert sim.value_and_grad(X0, U, P, loss=LOSS)[1].report.label.startswith("biased")


def test_globs_choose_and_set_parameters(sim):
    some = pendulum.system().rollout(STEPS, active=["g", "d*"])
    grad = some.value_and_grad(X0, U, P, loss=LOSS)[1]
    assert list(grad.parameters) == ["g", "dt"] == some.active
    np.testing.assert_array_equal(sim.simulate(X0, U, {"?": 2.0}).final_state,
                                  sim.simulate(X0, U, {"g": 2.0, "l": 2.0, "c": 2.0}).final_state)


def test_parameters_go_back_to_their_defaults_in_the_next_call(sim):
    before = sim.simulate(X0, U).final_state
    sim.simulate(X0, U, {"l": 3.0})
    np.testing.assert_array_equal(sim.simulate(X0, U).final_state, before)


def test_inputs_by_field(sim):
    np.testing.assert_array_equal(sim.simulate({"q": 0.7, "v": -0.2}, {"torque": U}, P).final_state,
                                  sim.simulate(X0, U, P).final_state)
    batch = sim.simulate({"q": [[0.1], [0.2]]}).final_state
    np.testing.assert_array_equal(batch[1], sim.simulate([0.2, 0.0]).final_state)
    views = sim.system.split(np.arange(6.0).reshape(3, 2))
    assert views["v"].ravel().tolist() == [1, 3, 5]


def test_any_array_goes_in(sim):
    expected = sim.simulate(X0, U, P).final_state
    strided = np.stack([X0, X0], axis=1)[:, 0]
    for x0 in (list(X0), strided, jnp.asarray(X0), X0.astype(">f8")):
        np.testing.assert_array_equal(sim.simulate(x0, U, P).final_state, expected)


def test_inputs_are_left_alone(sim):
    x0, u = X0.copy(), U.copy()
    sim.value_and_grad(x0, u, P, loss=LOSS)
    np.testing.assert_array_equal(x0, X0)
    np.testing.assert_array_equal(u, U)


def test_losses_add_up(sim):
    effort = costate.loss.effort(0.1)
    both = sim.value(X0, U, P, loss=LOSS + effort)
    assert both == pytest.approx(sim.value(X0, U, P, loss=LOSS) + 0.05 * np.sum(U**2), rel=1e-12)
    text = costate.loss.expression("0.5*(q - 0.4)^2")
    assert sim.value(X0, U, P, loss=text) == pytest.approx(sim.value(X0, U, P, loss=LOSS), rel=1e-14)
    track = costate.loss.track("q", [0, STEPS], [[0.7], [0.4]])
    assert sim.value(X0, U, P, loss=track) == pytest.approx(sim.value(X0, U, P, loss=LOSS), rel=1e-14)


def test_checks_pass(sim):
    results = sim.check(X0, U, P, loss=LOSS)
    assert [r.name for r in results] and all(results)
    assert all(r.error <= r.gate for r in results)


@pytest.mark.parametrize("call, message", [
    (lambda s: s.simulate(np.zeros(3)), r"x0 has the shape \(3,\) instead of \(\.\.\., 2\)"),
    (lambda s: s.simulate(X0, np.zeros((3, 1))), r"u has the shape \(3, 1\) instead of \(\.\.\., 40, 1\)"),
    (lambda s: s.simulate(X0, None, {"length": 1.0}), "no parameter is named 'length'"),
    (lambda s: s.simulate(X0, None, {"x*": 1.0}), "x\\*"),
    (lambda s: s.simulate(np.zeros((4, 2)), None, {"l": np.ones(3)}), r"\(3,\), another input for \(4,\)"),
    (lambda s: s.simulate("abc"), "an array of texts, not of numbers"),
    (lambda s: s.simulate({"angle": 1.0}), "no state is named 'angle'"),
    (lambda s: s.value(X0, loss=costate.loss.final("w")), "no state is named 'w'"),
    (lambda s: s.simulate([np.nan, 0.0]), "the initial state is not finite: q is nan"),
])
def test_mistakes_are_errors_that_say_what_is_wrong(sim, call, message):
    with pytest.raises(costate.Error, match=message):
        call(sim)
    assert np.all(np.isfinite(sim.simulate(X0, U, P).final_state))  # and nothing is broken


def test_divergence_names_step_field_and_world():
    grow = costate.equations({"x": 1}, "x_next = x*x", method="next")
    with pytest.raises(costate.Error) as caught:
        grow.rollout(20).simulate([[0.5], [10.0]])
    assert caught.value.kind == "numerics" and "world 1" in caught.value.where and "x" in caught.value.what
    masked = grow.rollout(20, on_divergence="mask_world").simulate([[0.5], [10.0]])
    assert masked.diverged.tolist() == [1]


def test_threads_share_a_rollout(sim):
    expected = sim.simulate(X0, U, P).final_state
    wrong = []

    def work(i):
        for _ in range(200):
            p = dict(P, g=9.81 if i % 2 else 5.0)
            same = np.array_equal(sim.simulate(X0, U, p).final_state, expected)
            if same != bool(i % 2):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_a_plain_function_is_a_loss_of_the_final_state():
    sim = pendulum.system().rollout(10)
    f = lambda q, v: (q - 1) ** 2 + 0.1 * v**2
    value, grad = sim.value_and_grad([0.7, -0.2], loss=f)
    assert value == sim.value([0.7, -0.2], loss=costate.loss.function(f))
    assert sim.value_and_grad([0.7, -0.2], None, None, f)[0] == value == sim.values([0.7, -0.2], loss=f)
    with pytest.raises(costate.Error, match="there is no loss"):
        sim.value_and_grad([0.7, -0.2])
    with pytest.raises(costate.Error, match="a float is no loss"):
        sim.value([0.7, -0.2], loss=1.0)
