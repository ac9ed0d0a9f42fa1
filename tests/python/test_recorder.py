"""Every NumPy function that can be recorded, with every keyword, against plain NumPy; what cannot is an Error."""
import math

import numpy as np
import pytest

import costate
from costate.trace import record
from costate.traced import wrap

X = np.array([0.3, -0.7, 1.2, 0.05, -1.4, 0.9])
MASK = np.array([True, False, True, True, False, False])
M = lambda x: x.reshape(2, 3)


def recorded(f, x=X):
    """What the function gives when it is recorded and then run."""
    size = np.asarray(f(x.copy()), dtype=float).size
    signature = costate._core.build_signature({"x": x.size, "rest": max(size - x.size, 0) + 1}, None, None)

    def padded(x):  # to the number of states, which a recording must return
        values = list(np.ravel(wrap(f(x))))
        return values + [0.0] * (signature.states[-1].offset + signature.states[-1].size - len(values))

    return record(padded, signature)(x)[:size]


UNARY = ["sqrt", "sin", "cos", "tan", "exp", "expm1", "log", "log1p", "cbrt", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan",
         "absolute", "fabs", "sign", "floor", "ceil", "trunc", "negative", "positive", "square", "reciprocal", "exp2", "log2", "log10",
         "arcsinh", "arccosh", "arctanh", "deg2rad", "rad2deg", "radians", "degrees", "isnan", "isfinite", "isinf", "logical_not"]
BINARY = ["add", "subtract", "multiply", "divide", "arctan2", "power", "float_power", "minimum", "maximum", "fmin", "fmax", "less",
          "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "floor_divide",
          "remainder", "hypot", "copysign", "heaviside", "logaddexp"]
DOMAIN = {"arccosh": (1.0, 5.0), "log": (0.01, 5.0), "log2": (0.01, 5.0), "log10": (0.01, 5.0), "sqrt": (0.0, 5.0),
          "arcsin": (-1.0, 1.0), "arccos": (-1.0, 1.0), "arctanh": (-0.99, 0.99), "log1p": (-0.9, 5.0)}


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions(name):
    low, high = DOMAIN.get(name, (-3.0, 3.0))
    x = np.concatenate([np.random.default_rng(3).uniform(low, high, 20), [low, high, 0.5 * (low + high), 1e-9 + max(low, 0)]])
    np.testing.assert_allclose(recorded(getattr(np, name), x), getattr(np, name)(x), rtol=4e-15, atol=1e-300)


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions(name):
    rng = np.random.default_rng(4)
    a, b = rng.uniform(0.1, 3.0, 30), rng.uniform(0.1, 3.0, 30)
    if name not in ("power", "float_power"):
        a, b = a * rng.choice([-1.0, 1.0], 30), b * rng.choice([-1.0, 1.0], 30)
    a[:3], b[:3] = [1.0, 0.0, 2.0], [0.1, 0.5, 2.0]
    f = getattr(np, name)
    got = recorded(lambda x: f(x[:30], x[30:]), np.concatenate([a, b]))
    np.testing.assert_allclose(got, f(a, b), rtol=1e-14, atol=2e-16)
    np.testing.assert_allclose(recorded(lambda x: f(x, 0.7), a), f(a, 0.7), rtol=1e-14, atol=2e-16)
    np.testing.assert_allclose(recorded(lambda x: f(0.7, x), np.abs(a)), f(0.7, np.abs(a)), rtol=1e-14, atol=2e-16)


@pytest.mark.parametrize("f", [
    lambda x: np.hypot(x, x), lambda x: np.arcsinh(x), lambda x: np.fmax(x, np.nan), lambda x: np.fmin(np.nan, x),
], ids=["hypot", "arcsinh", "fmax", "fmin"])
@pytest.mark.parametrize("size", [1e-200, 1e-9, 1.0, 1e9, 1e200])
def test_extreme_numbers(f, size):
    np.testing.assert_allclose(recorded(f, size * X), f(size * X), rtol=4e-15)


SPECIAL = np.array([0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -3.0, 1e308])


@pytest.mark.parametrize("name", ["hypot", "logaddexp", "heaviside", "floor_divide", "remainder", "fmax", "maximum", "arctan2", "copysign"])
def test_pairs_of_numbers_that_are_not_finite(name):
    a, b = (side.ravel() for side in np.meshgrid(SPECIAL, np.delete(SPECIAL, 7)))
    f = getattr(np, name)
    if name in ("floor_divide", "remainder"):  # whose quotient must have a last whole digit
        a, b = a[np.abs(a) != 1e308], b[np.abs(a) != 1e308]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(recorded(lambda x: f(x[:a.size], x[a.size:]), np.concatenate([a, b])), f(a, b), rtol=1e-14)


def test_a_place_that_is_not_a_number_has_no_value_between():
    for f in (lambda x: np.interp(x, [0, 1, 2], [0, 1, 4], right=9.0), np.arccosh, np.arcsinh):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(recorded(f, SPECIAL), f(SPECIAL), rtol=1e-14)


@pytest.mark.parametrize("a, b", [(3.0, 3.0), (3.0, -3.0), (-2.0, 2.0), (0.0, 1.0), (2.0, 3.0)])
def test_smooth_functions_are_smooth_where_a_choice_inside_changes(a, b):
    """A choice between two equal numbers: its slopes are those of the whole function."""
    def slopes(f):
        made = costate.system(states={"x": 2}, method="next")(lambda x: [f(x[0], x[1]), 0.0])
        return made.rollout(1).pull_back([a, b], final_state=[1.0, 0.0]).x0

    np.testing.assert_allclose(slopes(np.hypot), np.array([a, b]) / np.hypot(a, b), rtol=1e-14)
    np.testing.assert_allclose(slopes(np.logaddexp), np.exp([a, b]) / np.sum(np.exp([a, b])), rtol=1e-14)


def twice(values):
    """Tells truth values from numbers: True + True is True."""
    return (values + values) * 1.0


def _filled_with(array, values):
    array[1:] = values[1:]
    array[0] = values[0]
    return array


CALLS = {
    # ufuncs with their keywords
    "divide where": lambda x: np.divide(1.0, x, out=np.zeros_like(x), where=x > 0),
    "divide where, known mask": lambda x: np.divide(1.0, x, out=np.zeros_like(x), where=MASK),
    "add where": lambda x: np.add(x, 1.0, out=x.copy(), where=MASK),
    "max of a list of numbers": lambda x: np.stack([x[0], x[1]]).max() + x.clip(max=0.5) + x.clip(0.1),
    "append": lambda x: np.append(x, x[0]) * np.append(1.0, x),
    "select": lambda x: np.select([x > 0.5, x < 0], [x, -x], default=2.0),
    "add out": lambda x: np.add(x, 1.0, out=np.empty_like(x)),
    "add.reduce": lambda x: np.add.reduce(M(x)),
    "add.reduce initial": lambda x: np.add.reduce(x, initial=5.0),
    "add.reduce where": lambda x: np.add.reduce(x, where=MASK),
    "add.reduce axis keepdims": lambda x: np.add.reduce(M(x), axis=1, keepdims=True),
    "multiply.reduce initial": lambda x: np.multiply.reduce(x, initial=5.0),
    "multiply.reduce where": lambda x: np.multiply.reduce(x, where=x > 0),
    "maximum.reduce where": lambda x: np.maximum.reduce(x, where=MASK, initial=-9.0),
    "minimum.reduce": lambda x: np.minimum.reduce(M(x), axis=None),
    "add.accumulate": lambda x: np.add.accumulate(M(x), axis=1),
    "subtract.outer": lambda x: np.subtract.outer(x[:2], x[2:]),
    "add dtype": lambda x: np.add(x, 1.0, dtype=np.float64),
    # truth values
    "bool + bool": lambda x: x * ((x > 0) + (x < 1)),
    "bool * bool": lambda x: x * np.logical_not((x > 0) * (x < 1)),
    "bool + known bool": lambda x: x * ((x > 0) + MASK),
    "sum of bools": lambda x: x * ((x > 0).sum() - 1),
    "sum of one bool": lambda x: x * ((x[:1] > 0).sum() + (x[:1] < 1).sum()),
    "1 - bool": lambda x: x * (1 - (x > 0)),
    "xor of numbers": lambda x: np.logical_xor(x, 2 * x) + np.logical_xor(x, 0.0),
    "bitwise": lambda x: x * (~(x > 0) & (x < 1) | (x == 3) ^ (x > -1)),
    "any, all": lambda x: np.stack([np.any(x > 1), np.all(x > -9), np.all(M(x) > -1, axis=1)[0], np.any(x)]) * 1.0,
    "products of bools": lambda x: x * np.stack([np.dot(x > 0, x < 9), np.inner(x > 0, x > -9), np.vdot(M(x) > 0, M(x) < 9),
                                                 np.einsum("i,i", x > 0, x < 9), np.tensordot(x > 0, x < 9, 1), (x > 0) @ MASK]),
    "products of bools and numbers": lambda x: np.stack([np.dot(x > 0, x), np.einsum("i,i", x > 0, x), np.vdot(x > 0, 2 * (x < 9))]),
    "min, max of bools": lambda x: x * (np.min(x > -9, initial=0.1) + 2 * np.max(x > 9, initial=0.1) + np.max(x > 9, initial=0)),
    "bools as numbers": lambda x: (x > 0).astype(float) + (x > 1).astype(float) + np.copysign(x > 0, x) + np.square(x > 0),
    "bools into numbers": lambda x: twice(_filled_with(x.copy(), x > 0)) + twice(np.greater(x, 0, out=np.zeros_like(x))),
    "numbers into bools": lambda x: twice(_filled_with(x > 0, 2 * x)),
    "bools beside numbers": lambda x: twice(np.concatenate([x > 0, x, np.stack([x[0] > 0, x[1]]), np.hstack([x > 0, x]),
                                                            np.append(x > 0, x), np.vstack([x > 0, x])[0],
                                                            np.column_stack([x > 0, x])[:, 0], np.where(MASK, x > 0, x)])),
    "like bools": lambda x: np.stack([twice(np.ones_like(x > 0)), (x > 0) + np.zeros_like(x > 0) + 0.0, twice(np.full_like(x > 0, 3.0)),
                                      twice(np.full_like(x, True)), np.diag(twice(np.diag(x > 0)))]),
    "extremes of bools": lambda x: twice(np.minimum(x > 0, x < 1)) + twice(np.fmax(x > 0, MASK)) + twice(np.max(x > 0)) + twice(
        np.abs(x > 0)) + twice(np.max(x > 0, where=x > 0, initial=False)) + twice(np.where(x > 0, x > 1, True)),
    "running sums of bools": lambda x: twice(np.cumsum(x > -1)) + twice(np.cumprod(x > -1)) + np.add.accumulate(x > -1),
    # sums and the like
    "sum": lambda x: np.sum(M(x), axis=0),
    "sum initial": lambda x: np.sum(x, initial=2.0),
    "sum where": lambda x: np.sum(M(x), axis=1, where=M(x) > 0, initial=1.0),
    "sum keepdims": lambda x: np.sum(M(x), keepdims=True),
    "sum axes": lambda x: np.sum(x.reshape(1, 2, 3), axis=(0, -1)),
    "x.sum": lambda x: M(x).sum(axis=1, initial=3.0),
    "prod": lambda x: np.prod(M(x), axis=1),
    "mean": lambda x: np.mean(M(x), axis=1),
    "mean where": lambda x: np.mean(x, where=MASK),
    "mean keepdims": lambda x: M(x) - M(x).mean(axis=1, keepdims=True),
    "var": lambda x: np.var(M(x), axis=1, ddof=1),
    "std": lambda x: M(x).std(axis=0, keepdims=True),
    "min initial": lambda x: np.min(x, initial=-5.0),
    "max where": lambda x: np.max(x, where=MASK, initial=-1.0),
    "amax axis": lambda x: np.amax(M(x), axis=(0, 1)),
    "cumsum": lambda x: np.cumsum(M(x), axis=0),
    "cumprod flat": lambda x: np.cumprod(M(x)),
    # products
    "dot": lambda x: np.dot(M(x), x[:3]),
    "matmul": lambda x: M(x) @ M(x).T,
    "inner": lambda x: np.inner(M(x), M(x)),
    "outer": lambda x: np.outer(x[:2], x),
    "vdot": lambda x: np.vdot(M(x), M(x)),
    "tensordot": lambda x: np.tensordot(M(x), M(x), axes=([0], [0])),
    "cross": lambda x: np.cross(M(x), x[:3]),
    "cross axis": lambda x: np.cross(M(x).T, M(x).T[::-1], axis=0),
    "einsum": lambda x: np.einsum("ij,kj->ki", M(x), M(x)),
    "einsum implicit": lambda x: np.einsum("ij,j", M(x), x[:3]),
    "einsum trace": lambda x: np.einsum("ii->i", np.outer(x, x)) + np.einsum("ii", np.outer(x, x)),
    "trace": lambda x: np.trace(np.outer(x, x), offset=1),
    "norm": lambda x: np.linalg.norm(x),
    "norm of a matrix": lambda x: np.linalg.norm(M(x)),
    "norm fro": lambda x: np.linalg.norm(M(x), "fro"),
    "norm 1": lambda x: np.linalg.norm(M(x), 1, axis=1),
    "norm inf": lambda x: np.linalg.norm(x, np.inf),
    "norm -inf": lambda x: np.linalg.norm(M(x), -np.inf, axis=0, keepdims=True),
    "norm 0": lambda x: np.linalg.norm(x, 0),
    "norm 3": lambda x: np.linalg.norm(x, 3),
    "norm 2 of rows": lambda x: np.linalg.norm(M(x), 2, axis=-1),
    # choices
    "where": lambda x: np.where(x > 0, x, -2 * x),
    "where known": lambda x: np.where(MASK, x, 0),
    "clip": lambda x: np.clip(x, -0.5, 0.5),
    "clip lower": lambda x: np.clip(x, None, 0.5),
    "clip names": lambda x: np.clip(x, a_min=-0.5, a_max=None),
    "x.clip": lambda x: x.clip(0.0, 1.0),
    "clip array": lambda x: np.clip(x, -0.1 * np.arange(6), 0.1 * np.arange(6)),
    "interp": lambda x: np.interp(x, [-1.0, 0.0, 0.5, 1.0], [2.0, 3.0, -1.0, 4.0]),
    "interp sides": lambda x: np.interp(x, [-0.5, 0.5], [1.0, 2.0], left=-7.0, right=9.0),
    # arrays out of others
    "zeros_like shape": lambda x: np.zeros_like(x, shape=(2,)) + np.ones_like(x, shape=(2,)),
    "ones_like": lambda x: np.ones_like(x) * x,
    "full_like": lambda x: np.full_like(x, 3.0) + np.full_like(x, 2.0, shape=(6,)),
    "empty_like": lambda x: np.empty_like(x) * 0,
    "diff": lambda x: np.diff(x),
    "diff of rows": lambda x: np.diff(np.outer(x[:3], x[:3])),
    "diff axis": lambda x: np.diff(M(x), axis=0),
    "diff n": lambda x: np.diff(x, 2),
    "concatenate": lambda x: np.concatenate([M(x), M(x)], axis=1),
    "concatenate None": lambda x: np.concatenate([M(x), x], axis=None),
    "stack": lambda x: np.stack([x, 2 * x], axis=-1),
    "hstack": lambda x: np.hstack([M(x), M(x)]),
    "vstack": lambda x: np.vstack([x, x]),
    "column_stack": lambda x: np.column_stack([x, x]),
    "reshape": lambda x: np.reshape(x, (3, -1)),
    "reshape F": lambda x: x.reshape(3, 2, order="F"),
    "ravel F": lambda x: np.ravel(M(x), order="F"),
    "flatten": lambda x: M(x).flatten(),
    "transpose": lambda x: np.transpose(x.reshape(1, 2, 3), (2, 0, 1)),
    "x.transpose": lambda x: x.reshape(1, 2, 3).transpose(2, 0, 1),
    "T": lambda x: M(x).T,
    "squeeze": lambda x: np.squeeze(x.reshape(1, 6, 1), axis=0),
    "roll": lambda x: np.roll(M(x), 1, axis=1),
    "flip": lambda x: np.flip(M(x), axis=0),
    "tile": lambda x: np.tile(x[:2], (2, 2)),
    "repeat": lambda x: np.repeat(M(x), 2, axis=1),
    "x.repeat": lambda x: x.repeat(2),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 6)),
    "moveaxis": lambda x: np.moveaxis(x.reshape(1, 2, 3), 0, 2),
    "swapaxes": lambda x: np.swapaxes(M(x), 0, 1),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "atleast_1d": lambda x: np.atleast_1d(x[0]),
    "diagonal": lambda x: np.diagonal(np.outer(x, x), offset=-1),
    "diag": lambda x: np.diag(x[:3]) + np.diag(np.outer(x[:3], x[:3])),
    "diag k": lambda x: np.diag(x[:2], -1),
    "take": lambda x: np.take(x, [0, 3, 1]),
    "take axis": lambda x: np.take(M(x), [2, 0], axis=1),
    "split": lambda x: np.split(x, 3)[1] * np.array_split(x, 3)[0],
    "list and object arrays": lambda x: np.array([x[0], x[1]]).sum() * x + np.linalg.norm(np.array([v for v in x])),
    "slices written": lambda x: _written(x.copy()),
}


def _written(y):
    y[1:3] = 7.0
    y.reshape(2, 3)[0, 0] = y[5]
    return y


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_numpys(name):
    want = np.asarray(CALLS[name](X.copy()), dtype=float)
    np.testing.assert_allclose(recorded(CALLS[name]), want.ravel(), rtol=2e-14, atol=1e-15)


@pytest.mark.parametrize("f, message", [
    (lambda x: np.add(x, 1.0, where=MASK), "give out="),
    (lambda x: np.maximum.reduce(x, where=MASK), "needs initial"),
    (lambda x: np.add(x, 1.0, dtype=np.float32), "float64"),
    (lambda x: np.sum(x, dtype=int), "dtype"),
    (lambda x: np.linalg.norm(M(x), 2), "of a matrix"),
    (lambda x: np.linalg.norm(M(x), "nuc"), "of a matrix"),
    (lambda x: (x > 0) - (x < 1), "logical_xor"),
    (lambda x: -(x > 0), "logical_not"),
    (lambda x: ~x, "truth values"),
    (lambda x: x & (x > 0), "truth values"),
    (lambda x: np.where(x > 0), "not known"),
    (lambda x: np.take(x, x), "known while recording"),
    (lambda x: np.sort(x), "np.sort cannot be recorded"),
    (lambda x: np.add.reduceat(x, [0, 2]), "np.add.reduceat cannot be recorded"),
    (lambda x: np.zeros_like(x, dtype=int), "float64"),
    (lambda x: np.diff(x, append=1.0), "append"),
    (lambda x: 1 if np.zeros_like(x) else 2, "which one"),
    (lambda x: float(np.zeros_like(x)), "which one"),
    (lambda x: x * 1j, "complex"),
    (lambda x: x[0][0], "of a single number"),
    (lambda x: np.mean([x[0], x[1]]), "not known yet"),
    (lambda x: math.sin(x[0]), "use np.sin and the like instead of math.sin"),
    (lambda x: np.linalg.solve(np.eye(6), x), "np.linalg.solve cannot be recorded; write it with functions that can"),
    (lambda x: x.nothing, "cannot be recorded, at line .*AttributeError"),
])
def test_what_is_not_recorded_is_an_error(f, message):
    signature = costate._core.build_signature({"x": 6}, None, None)
    with pytest.raises(costate.Error, match=message):
        record(lambda x: f(x), signature)


OPERATORS = ["+=", "-=", "*=", "/=", "//=", "%=", "**="]


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_single_number_stays_what_it_is(operator):
    """NumPy's scalars cannot be changed: `a = k; a *= q` makes a new a."""
    names = {}
    exec(f"def changed(a):\n    b = a\n    b {operator} 0.7\n    return [a, b]", names)
    for get in (lambda x: x[1], lambda x: np.sum(x), lambda x: np.max(x), lambda x: x[0] * x[1], lambda x: np.sin(x[2])):
        for start in (lambda a: a, lambda a: a.T, lambda a: np.abs(a)):
            f = lambda x: names["changed"](start(get(x)))
            np.testing.assert_allclose(recorded(f), f(X), rtol=1e-14)


@pytest.mark.parametrize("make", [np.atleast_1d, np.ravel, lambda a: np.reshape(a, (1,)), lambda a: np.expand_dims(a, 0),
                                  lambda a: a[None], lambda a: a.reshape(1), lambda a: np.stack([a])])
def test_an_array_that_is_made_of_a_single_number_is_its_own(make):
    def f(x):
        a = x[1]
        b = make(a)
        b[0] = 5.0
        return [a, b[0]]

    np.testing.assert_array_equal(recorded(f), f(X))


@pytest.mark.parametrize("make", [lambda x: np.max(x.reshape(1, 6), axis=0), lambda x: np.min(x.reshape(6, 1), axis=1),
                                  lambda x: np.clip(x, -9, 9), lambda x: x.copy(), lambda x: x.flatten(), lambda x: +x])
def test_what_numpy_copies_is_a_copy(make):
    def f(x):
        y = make(x)
        y[0] = 5.0
        return np.concatenate([x, y])

    np.testing.assert_array_equal(recorded(f), f(X.copy()))


def test_the_fields_of_a_system_are_left_as_they_are():
    def f(q, v, k):
        force = k
        force *= q
        return [v, -force + 0 * k, ]

    def with_p(x, p):
        k = p.k
        k *= x[0]
        return [x[1], -k + 0 * p.k]

    plain = lambda q, v, k: [v, -k * q]
    for function in (f, with_p):
        ends = [costate.system(g, states=["q", "v"], parameters={"k": 2.0}, dt=0.1).rollout(5).simulate([0.3, 0.2]).final_state
                for g in (function, plain)]
        np.testing.assert_array_equal(*ends)


def test_a_conjugate_is_a_copy():
    def f(t, y):
        w = np.conj(y)
        w[0] = 0.0
        return [1j * y[0], w[1]]

    end = costate.solve_ivp(f, (0, 1), [1.0 + 0j, 1j], rtol=1e-9, atol=1e-9).y[:, -1]
    np.testing.assert_allclose(end, [np.exp(1j), 1j * np.exp(-1)], rtol=1e-7)


def test_gradients_at_zero_of_functions_with_a_choice_inside():
    sim = costate.equations({"x": 1}, "x_next = x", method="next").rollout(1)
    for f, slope in ((np.arcsinh, 1.0), (np.arctanh, 1.0), (lambda x: np.interp(x, [-1.0, 1.0], [2.0, 6.0]), 2.0)):
        assert sim.value_and_grad([0.0], loss=lambda x: f(x))[1].x0[0] == pytest.approx(slope, rel=1e-14)


class TestWhatAFunctionRefersTo:
    """A recording is never older than what it was made of."""

    def test_globals_and_closures_of_the_right_hand_side(self):
        k = 1.0

        def f(t, y):
            return [-k * y[0]]

        assert costate.solve_ivp(f, (0, 1), [1.0], rtol=1e-9, atol=1e-9).y[0, -1] == pytest.approx(np.exp(-1), rel=1e-7)
        k = 2.0
        assert costate.solve_ivp(f, (0, 1), [1.0], rtol=1e-9, atol=1e-9).y[0, -1] == pytest.approx(np.exp(-2), rel=1e-7)

    def test_arrays_changed_in_place(self):
        k = np.array([1.0])
        f = lambda t, y: -k * y
        first = costate.solve_ivp(f, (0, 1), [1.0]).y[0, -1]
        k[0] = 2.0
        assert costate.solve_ivp(f, (0, 1), [1.0]).y[0, -1] < 0.5 * first

    def test_events(self):
        h = 0.5
        event = lambda t, y: y[0] - h
        solve = lambda: costate.solve_ivp(lambda t, y: [-1.0], (0, 1), [1.0], events=event).t_events[0][0]
        assert solve() == pytest.approx(0.5)
        h = 0.25
        assert solve() == pytest.approx(0.75)

    @pytest.mark.parametrize("wrap", [lambda f: f, costate.loss.function, lambda f: costate.loss.function(f) + costate.loss.final("x")])
    def test_losses(self, wrap):
        target = 1.0
        sim = costate.equations({"x": 1}, "x_next = x", method="next").rollout(1)
        loss = wrap(lambda x: (x - target) ** 2)
        value = lambda: sim.value([0.0], loss=loss)
        assert value() == 1.0
        target = 5.0
        assert value() == 25.0
        assert sim.value_and_grad([0.0], loss=loss)[1].x0[0] == -10.0

    def test_equal_recordings_share_what_was_made_of_them(self):
        from costate.ivp import _known

        solve = lambda: costate.solve_ivp(lambda t, y: -1.37 * y, (0, 1), [1.0])
        solve()
        count = len(_known)
        solve()
        assert len(_known) == count
