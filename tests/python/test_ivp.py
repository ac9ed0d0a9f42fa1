"""costate.solve_ivp against scipy.integrate.solve_ivp, and its gradients against differences of SciPy's solutions."""
import numpy as np
import pytest
import scipy.integrate

import costate

ARGS = (1.5, 1.0, 3.0, 1.0)


def lotka_volterra(t, z, a, b, c, d):
    x, y = z
    return [a * x - b * x * y, -c * y + d * x * y]


def both(fun, *arguments, **options):
    return costate.solve_ivp(fun, *arguments, **options), scipy.integrate.solve_ivp(fun, *arguments, **options)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "RK23", "BDF", "LSODA"])
def test_scipys_solution_is_reproduced(method):
    t = np.linspace(0, 8, 41)
    ours, theirs = both(lotka_volterra, (0, 8), [1.0, 1.0], method=method, args=ARGS, t_eval=t, rtol=1e-8, atol=1e-10)
    assert isinstance(ours, scipy.integrate._ivp.ivp.OdeResult)
    assert set(theirs) <= set(ours) and ours.success and ours.status == 0 and ours.message == theirs.message
    np.testing.assert_array_equal(ours.t, theirs.t)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=3e-6)
    assert ours.nfev > 0


def test_dense_output_has_scipys_shapes():
    ours, theirs = both(lotka_volterra, (0, 5), [1.0, 1.0], args=ARGS, dense_output=True, rtol=1e-9, atol=1e-9)
    for t in (2.5, np.linspace(0, 5, 7)):
        assert ours.sol(t).shape == theirs.sol(t).shape
        np.testing.assert_allclose(ours.sol(t), theirs.sol(t), rtol=1e-5)


def falls(t, y, g):
    return [y[1], -g]


def ground(t, y, g):
    return y[0]


def test_an_event_that_is_zero_at_the_start_is_found_at_its_next_zero():
    """SciPy lists the start as well; here an event is where its function passes through zero."""
    ours, theirs = both(falls, (0, 2), [0.0, 5.0], args=(9.81,), events=lambda t, y, g: y[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.t_events[0], [2 * 5 / 9.81], rtol=1e-9)
    np.testing.assert_allclose(theirs.t_events[0], [0.0, 2 * 5 / 9.81], rtol=1e-6, atol=1e-9)
    (by,) = ours.sensitivities("t_events")
    np.testing.assert_allclose(by.y0, [[1 / 5.0, 2 / 9.81]], rtol=1e-8)
    np.testing.assert_allclose(by.args[0], [-2 * 5 / 9.81**2], rtol=1e-8)


ground.terminal, ground.direction = True, -1


def apex(t, y, g):
    return y[1]


def test_events_are_scipys():
    ours, theirs = both(falls, (0, 100), [10.0, 5.0], args=(9.81,), events=[ground, apex], rtol=1e-9, atol=1e-9)
    assert ours.status == theirs.status == 1
    for a, b in zip(ours.t_events, theirs.t_events):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    for a, b in zip(ours.y_events, theirs.y_events):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_gradient_of_the_time_of_impact_has_its_closed_form():
    h, v, g = 10.0, 5.0, 9.81
    s = costate.solve_ivp(falls, (0, 100), [h, v], args=(g,), events=ground, rtol=1e-9, atol=1e-9)
    grad = s.gradient(t_events=[[1.0]])
    root = np.sqrt(v**2 + 2 * g * h)  # t = (v + root) / g
    np.testing.assert_allclose(grad.y0, [1 / root, (1 + v / root) / g], rtol=1e-8)
    assert grad.args[0] == pytest.approx(h / (g * root) - (v + root) / g**2, rel=1e-8)


def test_gradient_agrees_with_differences_of_scipys_solution():
    t = np.linspace(0, 6, 25)
    data = 1 + 0.1 * np.random.default_rng(2).standard_normal((2, 25))
    solution = costate.solve_ivp(lotka_volterra, (0, 6), [1.0, 1.0], args=ARGS, t_eval=t, rtol=1e-10, atol=1e-12, method="DOP853")
    grad = solution.gradient(solution.y - data)

    def loss(y0, args):
        y = scipy.integrate.solve_ivp(lotka_volterra, (0, 6), y0, args=args, t_eval=t, rtol=1e-12, atol=1e-13, method="DOP853").y
        return 0.5 * np.sum((y - data) ** 2)

    h = 1e-5
    for i in range(2):
        e = h * np.eye(2)[i]
        assert grad.y0[i] == pytest.approx((loss(1 + e, ARGS) - loss(1 - e, ARGS)) / (2 * h), rel=1e-5)
    for i in range(4):
        e = h * np.eye(4)[i]
        difference = (loss(np.ones(2), tuple(ARGS + e)) - loss(np.ones(2), tuple(ARGS - e))) / (2 * h)
        assert float(grad.args[i]) == pytest.approx(difference, rel=1e-5)
    assert grad.report.steps > 10 and "discrete" in repr(grad)


@pytest.mark.parametrize("adjoint", ["interpolating", "backsolve"])
def test_continuous_adjoints_agree_with_the_discrete_one(adjoint):
    s = costate.solve_ivp(lotka_volterra, (0, 3), [1.0, 1.0], args=ARGS, rtol=1e-10, atol=1e-10)
    exact = s.gradient(final=[1.0, 0.5])
    other = s.gradient(final=[1.0, 0.5], adjoint=adjoint, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(other.y0, exact.y0, rtol=1e-6)
    np.testing.assert_allclose(other.args, exact.args, rtol=1e-6)


def test_arguments_may_be_arrays_and_keep_their_shapes():
    def linear(t, y, matrix, drive):
        return matrix @ y + drive * np.cos(t)

    matrix, drive = np.array([[-1.0, 2.0], [-2.0, -0.5]]), np.array([0.3, -0.1])
    ours, theirs = both(linear, (0, 2), [1.0, 0.0], args=(matrix, drive), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.y[:, -1], theirs.y[:, -1], rtol=1e-7)
    grad = ours.gradient(final=[1.0, 0.0])
    assert grad.args[0].shape == (2, 2) and grad.args[1].shape == (2,)
    h = 1e-6
    moved = [scipy.integrate.solve_ivp(linear, (0, 2), [1.0, 0.0], args=(matrix + s * h * np.eye(2), drive), rtol=1e-11,
                                       atol=1e-12).y[0, -1] for s in (1, -1)]
    assert np.trace(grad.args[0]) == pytest.approx((moved[0] - moved[1]) / (2 * h), rel=1e-6)
    # d x(t1) / d t1 is the velocity there
    assert grad.t_span[1] == pytest.approx((matrix @ ours.y[:, -1] + drive * np.cos(2))[0], rel=1e-5)


def test_a_function_is_recorded_for_every_call_and_compiled_once():
    calls, made = [], len(costate.ivp._known)

    def decay(t, y, k):
        calls.append(1)
        return -k * y

    for k in (1.0, 2.0):
        costate.solve_ivp(decay, (0, 1), [1.0], args=(k,))
    assert len(calls) == 2 and len(costate.ivp._known) == made + 1


@pytest.mark.parametrize("call, message", [
    (lambda: costate.solve_ivp(lambda t, y: [1.0], (0, 1), [1.0, 2.0]), "returns 1 numbers instead of 2"),
    (lambda: costate.solve_ivp(lambda t, y: y * y, (0, 2), [1.0], rtol=1e-6), "t = 1|max_steps|0.99|step"),
    (lambda: costate.solve_ivp(lambda t, y, k: k * y, (0, 2), [1.0], args=(np.nan,)), r"args\[0\] is not finite"),
    (lambda: costate.solve_ivp(lambda t, y: -y, (0, 2), [1.0, 2.0]).gradient(final=[np.nan, 0.0]), "final is not finite"),
    (lambda: costate.solve_ivp(lambda t, y: -y, (0, 2), [1.0]).sensitivities("x"), "of = 'x'"),
])
def test_mistakes_are_errors(call, message):
    with pytest.raises(costate.Error, match=message):
        call()


@pytest.mark.parametrize("settings", [
    dict(y0=[np.nan]), dict(y0=[[1.0]]), dict(y0=[1.0], max_step=-1.0), dict(y0=[1.0], first_step=-1.0), dict(y0=[1.0], first_step=3.0),
    dict(y0=[1.0], t_eval=[0.5, 2.0]), dict(y0=[1.0], t_eval=[0.5, 0.2]), dict(y0=[1.0], t_eval=[[0.5]]), dict(y0=[1.0], atol=-1.0),
    dict(y0=[1.0], atol=[1e-6, 1e-6]), dict(y0=[1.0], method="RK99"), dict(y0=[1.0], args=3.0)], ids=str)
def test_scipys_exceptions_are_raised_where_scipy_raises_them(settings):
    expected = None
    for module in (scipy.integrate, costate):
        with pytest.raises((ValueError, TypeError)) as raised:
            module.solve_ivp(lambda t, y, *args: -y, (0, 1), **settings)
        assert expected is None or raised.type is expected
        expected = raised.type


def test_vectorized_functions_take_columns():
    columns = lambda t, y: np.vstack([y[1, :], -y[0, :] * np.ones(y.shape[1])])
    for record in ("auto", False):
        ours = costate.solve_ivp(columns, (0, 1), [1.0, 0.0], vectorized=True, method="BDF", rtol=1e-6, record=record)
        theirs = scipy.integrate.solve_ivp(columns, (0, 1), [1.0, 0.0], vectorized=True, method="BDF", rtol=1e-6)
        np.testing.assert_allclose(ours.y[:, -1], theirs.y[:, -1], rtol=1e-5)
        assert ours.gradient(final=[1.0, 0.0]).y0[0] == pytest.approx(np.cos(1), rel=1e-4)


def test_no_times_asked_for_are_no_times():
    ours, theirs = both(lambda t, y: -y, (0, 1), [1.0, 2.0], t_eval=[])
    assert len(ours.t) == len(theirs.t) == 0 and ours.y.shape == (2, 0)
    assert ours.gradient(final=[1.0, 0.0]).y0[0] == pytest.approx(np.exp(-1), rel=1e-3)


def test_the_derivative_with_respect_to_the_span_scales_dt_along():
    """As documented: t1 = 5.0035 is no multiple of dt, and the last step is shorter."""
    solve = lambda t1: costate.solve_ivp(lambda t, y: [y[1], -np.sin(y[0])], (0, t1), [1.0, 0.0], method="euler", dt=0.01 * t1 / 5.0035)
    grad = solve(5.0035).gradient(final=[1.0, 0.0])
    h = 1e-4
    difference = (solve(5.0035 + h).y[0, -1] - solve(5.0035 - h).y[0, -1]) / (2 * h)
    assert grad.t_span[1] == pytest.approx(difference, rel=1e-6)


def test_dense_output_goes_on_beyond_the_ends_as_scipys():
    ours, theirs = both(falls, (0, 1), [10.0, 5.0], args=(9.81,), dense_output=True)
    for t in (-0.5, 1.5):
        np.testing.assert_allclose(ours.sol(t), theirs.sol(t), rtol=1e-6)


def network(t, y, w0, b0, w1, w2):
    return w2 @ np.tanh(w1 @ np.tanh(w0 @ y + b0)) - 0.1 * y * np.cos(t)


def test_a_network_in_the_equations_stays_one(monkeypatch):
    rng = np.random.default_rng(3)
    args = (rng.standard_normal((40, 2)), rng.standard_normal(40), rng.standard_normal((40, 40)) / 7, rng.standard_normal((2, 40)) / 7)
    y0, times = np.array([0.5, -0.3]), np.linspace(0, 2, 5)
    options = dict(t_eval=times, method="DOP853", rtol=1e-10, atol=1e-12, args=args)
    ours, theirs = costate.solve_ivp(network, (0, 2), y0, **options), scipy.integrate.solve_ivp(network, (0, 2), y0, **options)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-8)

    grad = ours.gradient(ours.y)
    # The same written out, which is another code.
    written_out = lambda t, y, *a: network(t, y, *a)
    monkeypatch.setattr(costate.traced, "_DENSE", 10**9)
    expected = costate.solve_ivp(written_out, (0, 2), y0, **options).gradient(ours.y)
    np.testing.assert_allclose(grad.y0, expected.y0, rtol=1e-9)
    for got, exact in zip(grad.args, expected.args):
        np.testing.assert_allclose(got, exact, rtol=1e-8, atol=1e-11)


def test_stiff_methods_take_networks_too():
    rng = np.random.default_rng(4)
    args = (rng.standard_normal((40, 2)), rng.standard_normal(40), rng.standard_normal((40, 40)) / 7, rng.standard_normal((2, 40)) / 7)
    a = costate.solve_ivp(network, (0, 2), [0.5, -0.3], method="Radau", rtol=1e-9, atol=1e-11, args=args)
    b = costate.solve_ivp(network, (0, 2), [0.5, -0.3], method="DOP853", rtol=1e-9, atol=1e-11, args=args)
    np.testing.assert_allclose(a.y[:, -1], b.y[:, -1], rtol=1e-7)
    np.testing.assert_allclose(a.gradient(final=[1.0, 0]).args[2], b.gradient(final=[1.0, 0]).args[2], rtol=1e-5, atol=1e-8)
