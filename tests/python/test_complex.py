"""Complex states of solve_ivp: solutions as SciPy's, and gradients; recorded complex numbers against NumPy's."""
import numpy as np
import pytest
import scipy.integrate

import costate
from costate.called import SplitComplex, program
from costate.ivp import _shapes_of

Z = np.array([0.3 - 0.7j, 1.2 + 0.4j, -0.8 + 0.1j, 0.5 + 0.9j])
W = 0.6 - 0.35j
CALLS = {
    "arithmetic": lambda z: (z + W) * (z - 2) / (1j * z - 3) + 2 * z - z / W,
    "real operand": lambda z: z.real * z + z.imag / W,
    "powers": lambda z: z**3 + z**-2 + z**0 + z**2.0 + z**0.4,
    "conjugate": lambda z: np.conj(z) * z + z.conj(),
    "absolute": lambda z: np.abs(z) * z + abs(z),
    "functions": lambda z: np.exp(z) + np.log(z) + np.sqrt(z) + np.sin(z) * np.cos(z) - np.sinh(z) * np.cosh(z),
    "square": lambda z: np.square(z) - np.reciprocal(z),
    "parts": lambda z: np.real(z) + 1j * np.imag(z) ** 2 + np.angle(z),
    "matmul": lambda z: np.array([[1, 2j, 0, 1], [0, 1, W, 0], [1j, 0, 1, 3], [2, 2, 2, 2j]]) @ z,
    "dot": lambda z: z * np.dot(z, z) + np.vdot(z, z) + np.linalg.norm(z),
    "sum": lambda z: z * np.sum(z) + z.mean() + np.cumsum(z),
    "moves": lambda z: np.concatenate([np.roll(z, 1)[:2], np.flip(z)[2:]]) + np.stack([z[0], z[3], z[1], z[2]]),
    "array of numbers": lambda z: np.array([z[0] * W, z[1], 1.0, z[3] * z[2]]),
    "list": lambda z: [z[0] * W, z[1].conj(), 1.0, 2j * z[2]],
    "filled": lambda z: _filled(z),
    "reduce": lambda z: z * np.add.reduce(z),
}


def _filled(z):
    out = np.zeros_like(z)
    out[1:] = 1j * z[:-1]
    out[0] = 2.0
    return out


@pytest.mark.parametrize("name", CALLS)
def test_recorded_functions_are_numpys(name):
    recorded = program(SplitComplex(lambda t, z: CALLS[name](z)), 8, _shapes_of(()), 8).expand()
    values = recorded([0.0], np.concatenate([Z.real, Z.imag]), [])
    np.testing.assert_allclose(values[:4] + 1j * values[4:], np.asarray(CALLS[name](Z)), rtol=1e-13)


def test_what_is_not_recorded_says_so():
    for f, message in ((np.tan, "np.tan of complex numbers"), (lambda z: np.max(z), "np.max of complex numbers"),
                       (lambda z: np.where(z.real > 0, z, 0), "complex numbers cannot be recorded")):
        with pytest.raises(costate.Error, match=message):
            program(SplitComplex(lambda t, z: f(z)), 8, _shapes_of(()), 8)


def spins(t, y, w):
    return [1j * w * y[0] + 0.1 * y[1], -0.3 * y[1] * np.conj(y[0])]


def crosses(t, y, w):
    return y[0].real - 0.2


def branches(t, y, w):
    return spins(t, y, w) if abs(y[0]) > 1e-3 else [0j, 0j]


@pytest.mark.parametrize("method", ["RK45", "Radau", "BDF"])
@pytest.mark.parametrize("fun", [spins, branches])
def test_solutions_are_scipys(fun, method):
    options = dict(args=(2.0,), t_eval=np.linspace(0, 3, 7), rtol=1e-8, atol=1e-10, events=crosses, dense_output=True)
    ours = costate.solve_ivp(fun, (0, 3), [1.0 + 0.5j, 0.2j], method=method, **options)
    theirs = scipy.integrate.solve_ivp(fun, (0, 3), [1.0 + 0.5j, 0.2j], **options)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-5)
    np.testing.assert_allclose(ours.t_events[0], theirs.t_events[0], rtol=1e-5)
    np.testing.assert_allclose(ours.y_events[0], theirs.y_events[0], rtol=1e-5)
    np.testing.assert_allclose(ours.sol(1.3), theirs.sol(1.3), rtol=1e-5)


@pytest.mark.parametrize("method", ["RK45", "BDF"])
@pytest.mark.parametrize("fun", [spins, branches])
def test_gradients_are_differences_of_solutions(fun, method):
    y0, w, target = np.array([1.0 + 0.5j, 0.2j]), 2.0, np.array([0.3, 0.1j])
    solve = lambda y0, w: costate.solve_ivp(fun, (0, 1.5), y0, method=method, args=(w,), rtol=1e-10, atol=1e-12)
    loss = lambda y0, w: 0.5 * np.sum(np.abs(solve(y0, w).y[:, -1] - target) ** 2)
    solution = solve(y0, w)
    grad = solution.gradient(final=solution.y[:, -1] - target)
    h = 1e-5
    for i in range(2):
        e = h * np.eye(2)[i]
        assert grad.y0[i].real == pytest.approx((loss(y0 + e, w) - loss(y0 - e, w)) / (2 * h), rel=1e-5)
        assert grad.y0[i].imag == pytest.approx((loss(y0 + 1j * e, w) - loss(y0 - 1j * e, w)) / (2 * h), rel=1e-5)
    assert float(grad.args[0]) == pytest.approx((loss(y0, w + h) - loss(y0, w - h)) / (2 * h), rel=1e-5)
    with pytest.raises(costate.Error, match="complex states"):
        solution.sensitivities()


MATRIX = np.array([[-0.3 + 1j, 0.2], [0.5j, -0.1 - 2j]])


def driven(t, y, matrix, detuning, force):
    return matrix @ y + 1j * detuning * y + force * np.cos(2 * t)


def driven_with_a_branch(t, y, *args):
    return driven(t, y, *args) if t < 10 else 0 * y


@pytest.mark.parametrize("fun", [driven, driven_with_a_branch])
def test_complex_arguments_have_gradients(fun):
    args = (MATRIX, 0.7 - 0.2j, np.array([1.0, -0.5]))
    y0, weight = np.array([1.0 + 0.5j, 0.2j]), np.array([0.3 - 1j, 0.4j])
    solve = lambda args: costate.solve_ivp(fun, (0, 1.5), y0, method="DOP853", args=args, rtol=1e-10, atol=1e-12)
    solution = solve(args)
    theirs = scipy.integrate.solve_ivp(fun, (0, 1.5), y0, method="DOP853", args=args, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(solution.y[:, -1], theirs.y[:, -1], rtol=1e-8)
    grad = solution.gradient(final=weight)
    assert [np.shape(g) for g in grad.args] == [(2, 2), (), (2,)] and not np.iscomplexobj(grad.args[2])
    loss = lambda args: np.sum((np.conj(weight) * solve(args).y[:, -1]).real)
    h = 1e-5
    for which, index, direction in ((0, (0, 1), 1), (0, (1, 1), 1j), (1, (), 1), (1, (), 1j), (2, (1,), 1)):
        def moved(by):
            there = [np.array(a) for a in args]
            there[which][index] += by * direction
            return tuple(there)
        slope = (loss(moved(h)) - loss(moved(-h))) / (2 * h)
        found = np.asarray(grad.args[which])[index]
        assert (found.imag if direction == 1j else found.real) == pytest.approx(slope, rel=1e-6)


def test_a_complex_argument_of_real_states():
    decays = lambda t, y, z: -np.abs(z) * y
    solution = costate.solve_ivp(decays, (0, 1), [1.0], args=(3 + 4j,), rtol=1e-9, atol=1e-12)
    assert solution.y[0, -1] == pytest.approx(np.exp(-5), rel=1e-7)
    grad = solution.gradient(final=[1.0])
    assert grad.args[0] == pytest.approx(-np.exp(-5) * (0.6 + 0.8j), rel=1e-6)
    assert solution.sensitivities("final").args[0][0] == pytest.approx(grad.args[0], rel=1e-9)


def test_complex_numbers_from_real_states_are_not_cut_off():
    with pytest.raises(costate.Error, match="returns complex numbers, and y0 is real"):
        costate.solve_ivp(lambda t, y, z: z * y, (0, 1), [1.0], args=(1j,))
    with pytest.raises(costate.Error, match=r"args\[0\] is not finite"):
        costate.solve_ivp(lambda t, y, z: z * y, (0, 1), [1j], args=(complex(0, np.inf),))
