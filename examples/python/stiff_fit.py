"""Two rates of a stiff reactor from noisy measurements. A valve opens above a temperature: an `if`, which runs in Python and is followed by
the derivatives. Gauss-Newton takes its Jacobian from solution.sensitivities().

    python stiff_fit.py --picture stiff_fit.png
"""
import numpy as np

import costate
from picture import arguments, figure

TRUTH = {"rate": 3.0, "cooling": 40.0}
TIMES = np.linspace(0.05, 2.0, 40)


# [reactor]
def reactor(t, y, rate, cooling):
    fuel, heat = y
    burns = rate * fuel * np.exp(-1 / heat)
    if heat > 1.2:  # the valve opens
        cooled = 100 * cooling * (heat - 1.2)
    else:
        cooled = 0.0
    return [-burns, 50 * burns - cooled - 0.5 * (heat - 1)]


def solve(p):
    return costate.solve_ivp(reactor, (0, 2), [1.0, 1.0], method="BDF", t_eval=TIMES, args=tuple(p), rtol=1e-7, atol=1e-9)


def fit(data, sigma, p, steps=8):
    for _ in range(steps):
        solution = solve(p)
        residual = ((solution.y - data) / sigma[:, None]).ravel()
        by = solution.sensitivities().args
        jacobian = np.stack([(d / sigma[:, None]).ravel() for d in by], axis=1)
        p = p - np.linalg.lstsq(jacobian, residual, rcond=None)[0]
    deviation = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    return p, deviation
# [/reactor]


def main(options):
    sigma = np.array([0.005, 1e-5])  # of fuel and of heat, which the valve holds near 1.2
    clean = solve(TRUTH.values()).y
    data = clean + sigma[:, None] * np.random.default_rng(1).standard_normal(clean.shape)
    p, deviation = fit(data, sigma, np.array([2.0, 30.0]))
    for name, value, error in zip(TRUTH, p, deviation):
        print(f"{name:8} {value:8.4f} +- {error:.4f}   (true {TRUTH[name]})")
    if options.picture:
        page, panes = figure()
        fitted = solve(p).y
        for axes, measured, curve, label in zip(panes, data, fitted, ("fuel", "heat")):
            axes.plot(TIMES, measured, ".", label="measured")
            axes.plot(TIMES, curve, label="fitted")
            axes.set(xlabel="t", ylabel=label)
            axes.legend()
        page.savefig(options.picture, dpi=150)
    return dict(zip(TRUTH, p)), TRUTH


if __name__ == "__main__":
    main(arguments(__doc__))
