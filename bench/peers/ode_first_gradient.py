"""What a newcomer waits for: from process start to the end of the import, and to the first gradient (x' = -k x).
    python ode_first_gradient.py jax diffrax"""
import subprocess
import sys
import time

from ode_common import emit

FIRST_GRADIENT = {
    "diffrax": """import jax, jax.numpy as jnp, diffrax as d
f = lambda k: d.diffeqsolve(d.ODETerm(lambda t, x, k: -k * x), d.Tsit5(), 0., 1., .1, jnp.ones(1), k,
                            stepsize_controller=d.PIDController(1e-6, 1e-6)).ys[-1][0]
print(jax.jit(jax.grad(f))(1.))""",
    "jax": """import jax
f = lambda k: jax.lax.scan(lambda x, _: (x * (1 - .01 * k), None), 1., None, length=100)[0]
print(jax.jit(jax.grad(f))(1.))""",
    "torchdiffeq": """import torch, torchdiffeq
k = torch.tensor(1., requires_grad=True)
torchdiffeq.odeint(lambda t, x: -k * x, torch.ones(1), torch.tensor([0., 1.]), rtol=1e-6, atol=1e-6)[-1].backward()
print(k.grad)""",
    "casadi": """import casadi as c
x, k, k0 = c.SX.sym('x'), c.SX.sym('k'), c.MX.sym('k')
F = c.integrator('F', 'cvodes', dict(x=x, p=k, ode=-k * x), 0, 1)
print(c.Function('g', [k0], [c.gradient(F(x0=1, p=k0)['xf'], k0)])(1.))""",
}


def seconds_of(program, repeats=3):
    least = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
        least = min(least, time.perf_counter() - start)
    return least


if __name__ == "__main__":
    for peer in sys.argv[1:]:
        emit(peer, "first gradient", "process start to end of import", seconds_of(f"import {peer}"), "s")
        emit(peer, "first gradient", "process start to first gradient", seconds_of(FIRST_GRADIENT[peer]), "s")
