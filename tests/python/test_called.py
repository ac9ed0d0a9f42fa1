"""Functions that run in Python because their path depends on values: solutions as SciPy's, derivatives as those of what can be recorded."""
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.sparse

import costate

METHODS = ["RK45", "DOP853", "Radau", "BDF", "LSODA"]
TIGHT = dict(rtol=1e-9, atol=1e-11)


def bends(t, y, k, c):
    """A spring that is stiffer on one side, and dry friction that saturates."""
    x, v = y
    force = -k * x if x > 0 else -3 * k * x
    return [v, force - c * max(-1.0, min(1.0, v))]


def bends_recorded(t, y, k, c):
    x, v = y
    return [v, costate.where(x > 0, -k * x, -3 * k * x) - c * np.clip(v, -1, 1)]


def turns(t, y, k, c):
    """Two paths that meet smoothly: steps do not depend on rounding at a kink."""
    x, v = y
    force = -k * x - x**3 if x > 0 else -(k * x + x**3)
    return [v, force - c * max(-10.0, min(10.0, v))]


def turns_recorded(t, y, k, c):
    x, v = y
    return [v, costate.where(x > 0, -k * x - x**3, -(k * x + x**3)) - c * np.clip(v, -10, 10)]


def apex(t, y, k, c):
    return y[1] if y[0] > -100 else 1.0


def apex_recorded(t, y, k, c):
    return y[1]


Y0, ARGS = [0.7, 1.5], (2.0, 0.3)


@pytest.mark.parametrize("method", METHODS)
def test_the_solution_and_its_gradient_are_those_of_the_recorded_function(method):
    options = dict(method=method, args=ARGS, t_eval=np.linspace(0, 5, 11), **TIGHT)
    called = costate.solve_ivp(turns, (0, 5), Y0, events=apex, **options)
    recorded = costate.solve_ivp(turns_recorded, (0, 5), Y0, events=apex_recorded, record=True, **options)
    np.testing.assert_allclose(called.y, recorded.y, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(called.t_events[0], recorded.t_events[0], rtol=1e-10)
    bar = dict(y=np.cos(called.y), final=[0.3, 1.0], t_events=[np.sin(called.t_events[0])])
    ours, expected = called.gradient(**bar), recorded.gradient(**bar)
    np.testing.assert_allclose(ours.y0, expected.y0, rtol=1e-9)
    np.testing.assert_allclose(ours.args, expected.args, rtol=1e-9)
    np.testing.assert_allclose(ours.t_span, expected.t_span, rtol=1e-8, atol=1e-10)
    assert ours.report.label.startswith("piecewise") and expected.report.label.startswith("exact")
    assert any("costate.where" in advice for advice in ours.report.advice)


@pytest.mark.parametrize("method", METHODS)
def test_the_gradient_is_the_difference_of_solutions(method):
    def loss(y0, args):
        return costate.solve_ivp(turns, (0, 1.2), y0, method=method, args=args, rtol=1e-11, atol=1e-13).y[:, -1] @ [1.0, 0.5]

    grad = costate.solve_ivp(turns, (0, 1.2), Y0, method=method, args=ARGS, rtol=1e-11, atol=1e-13).gradient(final=[1.0, 0.5])
    h = 1e-5
    for i in range(2):
        e = h * np.eye(2)[i]
        assert grad.y0[i] == pytest.approx((loss(Y0 + e, ARGS) - loss(Y0 - e, ARGS)) / (2 * h), rel=2e-5)
        assert float(grad.args[i]) == pytest.approx((loss(Y0, tuple(ARGS + e)) - loss(Y0, tuple(ARGS - e))) / (2 * h), rel=2e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fun, event", [(bends, apex), (bends_recorded, apex_recorded)], ids=["called", "recorded"])
def test_sensitivities_are_the_transpose_of_the_gradient(fun, event, method):
    s = costate.solve_ivp(fun, (0, 4), Y0, method=method, args=ARGS, events=event, t_eval=[0.5, 1.7, 4.0], **TIGHT)
    rng = np.random.default_rng(5)
    y, final, times = rng.standard_normal((2, 3)), rng.standard_normal(2), [rng.standard_normal(s.t_events[0].size)]
    grad = s.gradient(y, final=final, t_events=times)
    of_y, of_final, (of_time,) = s.sensitivities(), s.sensitivities("final"), s.sensitivities("t_events")
    assert of_y.y0.shape == (2, 3, 2) and of_y.args[0].shape == (2, 3) and of_time.y0.shape == (s.t_events[0].size, 2)

    def pulled(get):
        return (np.tensordot(y, get(of_y), ((0, 1), (0, 1))) + np.tensordot(final, get(of_final), (0, 0))
                + np.tensordot(times[0], get(of_time), (0, 0)))

    np.testing.assert_allclose(pulled(lambda of: of.y0), grad.y0, rtol=1e-9)
    np.testing.assert_allclose(pulled(lambda of: of.t_span), grad.t_span, rtol=1e-8, atol=1e-9)
    for i in range(2):
        assert pulled(lambda of: of.args[i]) == pytest.approx(float(grad.args[i]), rel=1e-9)


def test_sensitivities_keep_the_shapes_of_arguments():
    matrix, drive = np.array([[-1.0, 2.0], [-2.0, -0.5]]), np.array([0.3, -0.1])
    s = costate.solve_ivp(lambda t, y, a, b: a @ y + b, (0, 2), [1.0, 0.0], args=(matrix, drive), t_eval=[1.0, 2.0], **TIGHT)
    of = s.sensitivities()
    assert of.args[0].shape == (2, 2, 2, 2) and of.args[1].shape == (2, 2, 2)
    grad = s.gradient(np.array([[0.0, 0.0], [1.0, 0.0]]))  # of y[1] at t = 1
    np.testing.assert_allclose(of.args[0][1, 0], grad.args[0], rtol=1e-10)
    np.testing.assert_allclose(of.args[1][1, 0], grad.args[1], rtol=1e-10)


def looks_around(t, y, table):
    """Loops, indices, masks, sorting: all by values."""
    total = 0.0 * y[0]
    for _ in range(1 + int(3 * abs(y[0]))):
        total = total + 0.1 * y[1]
    where = np.searchsorted([0.0, 0.5], y[0])
    largest = y[np.argmax(np.abs(y))]
    above = y[y > 0.2]
    return [table[where] * y[1] + np.sum(above), total - largest + np.sort(y)[0], -y[2] * y[int(t < 0.5)]]


@pytest.mark.parametrize("method", ["RK45", "BDF"])
def test_whatever_depends_on_values_is_followed(method):
    # Fixed paths between jumps: the gradient is that of the path, so compare with differences on a short span without a jump.
    y0, args = np.array([0.12, -0.6, 0.45]), (np.array([0.5, -1.0, 0.2]),)
    solve = lambda y0, table: costate.solve_ivp(looks_around, (0, 0.02), y0, method=method, args=(table,), rtol=1e-11, atol=1e-13)
    s = solve(y0, *args)
    expected = scipy.integrate.solve_ivp(looks_around, (0, 0.02), y0, args=args, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(s.y[:, -1], expected.y[:, -1], rtol=1e-8)
    grad = s.gradient(final=[1.0, 0.4, -0.3])
    h = 1e-5
    for i in range(3):
        e = h * np.eye(3)[i]
        difference = (solve(y0 + e, args[0]).y[:, -1] - solve(y0 - e, args[0]).y[:, -1]) @ [1.0, 0.4, -0.3] / (2 * h)
        assert grad.y0[i] == pytest.approx(difference, rel=1e-6)
        difference = (solve(y0, args[0] + e).y[:, -1] - solve(y0, args[0] - e).y[:, -1]) @ [1.0, 0.4, -0.3] / (2 * h)
        assert grad.args[0][i] == pytest.approx(difference, rel=1e-6, abs=1e-12)


def test_recording_can_be_insisted_on_and_forgone():
    with pytest.raises(costate.Error, match="costate.where"):
        costate.solve_ivp(bends, (0, 1), Y0, args=ARGS, record=True)
    with pytest.raises(costate.Error, match="costate.where"):
        costate.solve_ivp(bends_recorded, (0, 1), Y0, args=ARGS, events=apex, record=True)
    with pytest.raises(costate.Error, match="record = 3"):
        costate.solve_ivp(bends, (0, 1), Y0, args=ARGS, record=3)
    calls = []

    def counts(t, y):
        calls.append(t)
        return -y

    s = costate.solve_ivp(counts, (0, 1), [1.0], record=False)
    assert len(calls) == s.nfev and all(type(t) is float for t in calls)
    assert s.gradient(final=[1.0]).y0[0] == pytest.approx(np.exp(-1), rel=1e-3)


def test_what_leaves_numpy_has_values_and_no_gradient():
    leaves = lambda t, y, k: [math.sin(k * y[0])]
    for method in METHODS:
        s = costate.solve_ivp(leaves, (0, 1), [1.0], method=method, args=(2.0,), rtol=1e-8, atol=1e-10)
        theirs = scipy.integrate.solve_ivp(leaves, (0, 1), [1.0], args=(2.0,), rtol=1e-9, atol=1e-11)
        assert s.y[0, -1] == pytest.approx(theirs.y[0, -1], rel=1e-6)
        for ask in (lambda: s.gradient(final=[1.0]), lambda: s.sensitivities("final")):
            with pytest.raises(costate.Error, match="np.sin"):
                ask()


def test_mistakes_of_a_function_are_its_own():
    def stops(t, y):
        if t > 0.5:
            raise LookupError("beyond the table")
        return -y

    with pytest.raises(LookupError, match="beyond the table"):
        costate.solve_ivp(stops, (0, 1), [1.0])
    with pytest.raises(NameError):
        costate.solve_ivp(lambda t, y: undefined * y, (0, 1), [1.0])  # noqa: F821
    with pytest.raises(costate.Error, match="returns 1 numbers instead of 2"):
        costate.solve_ivp(lambda t, y: [1.0], (0, 1), [1.0, 2.0], record=False)


def stiff(t, y):
    return [-0.04 * y[0] + 1e4 * y[1] * y[2], 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2]


def stiff_jacobian(t, y):
    return np.array([[-0.04, 1e4 * y[2], 1e4 * y[1]], [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]], [0, 6e7 * y[1], 0]])


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("record", [True, False])
def test_a_jacobian_is_used_and_counted(method, record):
    calls = []

    def jac(t, y):
        calls.append(t)
        return scipy.sparse.csc_matrix(stiff_jacobian(t, y))

    options = dict(method=method, rtol=1e-6, atol=[1e-8, 1e-12, 1e-8], record=record)
    with_jac, without = (costate.solve_ivp(stiff, (0, 100), [1.0, 0, 0], jac=j, **options) for j in (jac, None))
    assert len(calls) == with_jac.njev > 0
    np.testing.assert_allclose(with_jac.y[:, -1], without.y[:, -1], rtol=1e-4)
    # Gradients use the exact derivatives, whatever a Jacobian for Newton says.
    wrong = costate.solve_ivp(stiff, (0, 1), [1.0, 0, 0], jac=lambda t, y: 1.1 * stiff_jacobian(t, y), **options).gradient(final=[0, 0, 1.0])
    right = costate.solve_ivp(stiff, (0, 1), [1.0, 0, 0], **options).gradient(final=[0, 0, 1.0])
    np.testing.assert_allclose(wrong.y0[0], right.y0[0], rtol=1e-3)
    with pytest.raises(ValueError, match="`jac` is expected to have shape"):
        costate.solve_ivp(stiff, (0, 1), [1.0, 0, 0], jac=np.eye(2), **options)


def test_a_sparsity_saves_differences():
    calls = []

    def diffusion(t, y):
        calls.append(t)
        out = np.empty(y.size)  # cannot be recorded
        out[1:-1] = y[2:] - 2 * y[1:-1] + y[:-2]
        out[0] = out[-1] = 0
        return out

    n = 40
    pattern = scipy.sparse.diags([1, 1, 1], [-1, 0, 1], (n, n))
    y0 = np.sin(np.linspace(0, 3, n))
    dense = costate.solve_ivp(diffusion, (0, 5), y0, method="BDF")
    many = len(calls)
    calls.clear()
    sparse = costate.solve_ivp(diffusion, (0, 5), y0, method="BDF", jac_sparsity=pattern)
    assert len(calls) < many - 30
    np.testing.assert_allclose(sparse.y[:, -1], dense.y[:, -1], rtol=1e-4)


def test_a_function_that_has_changed_anywhere_on_the_way_is_refused():
    table = np.linspace(1.0, 2.0, 11)

    def looks_up(t, y):
        return [-table[min(int(10 * t), 10)] * y[0]]

    s = costate.solve_ivp(looks_up, (0, 1), [1.0], rtol=1e-9, atol=1e-9)
    assert s.gradient(final=[1.0]).y0[0] == pytest.approx(s.y[0, -1], rel=1e-6)
    table[5] = 50.0  # neither the first nor the latest evaluation looks there
    with pytest.raises(costate.Error, match="looks_up has changed since the solution was computed: at t = 0.[56]"):
        s.gradient(final=[1.0])


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA"])
def test_a_function_may_return_the_same_array_every_time(method):
    calls, kept = [0], np.empty(2)

    def stiff(t, y):
        calls[0] += 1
        kept[0] = -1e4 * (y[0] - math.cos(t))
        kept[1] = y[0] - y[1]
        return kept

    ours = costate.solve_ivp(stiff, (0, 2), [0.0, 0.0], method=method, rtol=1e-6, atol=1e-8)
    number, calls[0] = calls[0], 0
    fresh = costate.solve_ivp(lambda t, y: stiff(t, y).copy(), (0, 2), [0.0, 0.0], method=method, rtol=1e-6, atol=1e-8)
    assert number == calls[0] < 2000  # Newton's matrix comes from differences of two values
    np.testing.assert_array_equal(ours.y, fresh.y)
