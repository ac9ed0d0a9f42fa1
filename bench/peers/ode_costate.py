"""This engine from Python on the Lotka-Volterra problem of the others, for a comparison in one run: PYTHONPATH=build/python python ode_costate.py.
At the tolerance of the others, and for DOP853 also at the one where its error comes below theirs."""
import numpy as np

import costate
from ode_common import LV_DP, LV_DU0, LV_G, best, emit, relative_error, timed

P = (1.5, 1.0, 3.0, 1.0)


def lotka_volterra(t, u, a, b, c, d):
    x, y = u
    return [a * x - b * x * y, -c * y + d * x * y]


def measure(method, tolerance):
    def forward():
        return costate.solve_ivp(lotka_volterra, (0, 10), [1.0, 1.0], args=P, method=method, rtol=tolerance, atol=tolerance, t_eval=[10.0])

    def gradient():
        solution = forward()
        error = solution.y[:, -1] - 1
        return 0.5 * np.sum(error**2), solution.gradient(final=error)

    task = f"lotka-volterra {method} solve_ivp tol={tolerance:g}"
    seconds, (g, bars) = timed(gradient)
    emit("costate", task, "first gradient", seconds, "s")
    emit("costate", task, "forward", 1e6 * best(forward), "us")
    emit("costate", task, "gradient", 1e6 * best(gradient), "us")
    emit("costate", task, "relative error of g", relative_error([g], [LV_G]), "1")
    emit("costate", task, "worst relative error of dg/d(u0,p)", relative_error([*bars.y0, *bars.args], [*LV_DU0, *LV_DP]), "1")


if __name__ == "__main__":
    for method, tolerance in ("tsit5", 1e-9), ("RK45", 1e-9), ("DOP853", 1e-9), ("DOP853", 3e-10):
        measure(method, tolerance)
