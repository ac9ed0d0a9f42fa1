"""Ensemble of Lorenz systems, rho varied: RK4, dt = 0.01, 1000 steps. Forward, and d(mean x_end^2)/d(rho, x0).
    python ode_ensemble.py                       every case, each in its own process
    python ode_ensemble.py jax-scan 1024 f32     one case"""
import os
import subprocess
import sys

from ode_common import best, cap_memory, emit, peak_mib, timed

SIGMA, BETA, DT, STEPS = 10.0, 8.0 / 3.0, 0.01, 1000
PACKAGE = {"jax-scan": "jax", "jax-checkpoint": "jax", "diffrax": "diffrax", "torch-loop": "torch", "torchdiffeq": "torchdiffeq"}


def rk4(field, s, rho):
    k1 = field(s, rho)
    k2 = field(s + 0.5 * DT * k1, rho)
    k3 = field(s + 0.5 * DT * k2, rho)
    k4 = field(s + DT * k3, rho)
    return s + DT / 6 * (k1 + 2 * (k2 + k3) + k4)


def with_jax(peer, n, dtype):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", dtype == "f64")

    def field(s, rho):
        x, y, z = s
        return jnp.stack([SIGMA * (y - x), x * (rho - z) - y, x * y - BETA * z])

    def scan(s, rho):  # s is (3, n): one whole array per component
        step = lambda s, _: (rk4(field, s, rho), None)
        if peer == "jax-scan":
            return jax.lax.scan(step, s, None, length=STEPS)[0]
        block = jax.checkpoint(lambda s, _: (jax.lax.scan(step, s, None, length=25)[0], None))
        return jax.lax.scan(block, s, None, length=STEPS // 25)[0]

    def diffrax_solve(s, rho):
        import diffrax as dfx
        from ode_diffrax_rk4 import RK4

        solve = lambda s, rho: dfx.diffeqsolve(dfx.ODETerm(lambda t, s, rho: field(s, rho)), RK4(), 0.0, STEPS * DT, DT, s,
                                               rho, max_steps=STEPS, stepsize_controller=dfx.ConstantStepSize()).ys[-1]
        return jax.vmap(solve, in_axes=(1, 0), out_axes=1)(s, rho)

    roll = diffrax_solve if peer == "diffrax" else scan
    loss = lambda s, rho: jnp.mean(roll(s, rho)[0] ** 2)
    args = jnp.ones((3, n)), jnp.linspace(20.0, 28.0, n)
    forward, gradient = jax.jit(loss), jax.jit(jax.grad(loss, argnums=(0, 1)))
    scratch = gradient.lower(*args).compile().memory_analysis().temp_size_in_bytes / 2**30
    emit(PACKAGE[peer], f"lorenz {peer} N={n} {dtype}", "scratch memory of the compiled gradient", scratch, "GiB")
    if scratch > 12:
        raise MemoryError(f"XLA plans {scratch:.1f} GiB of scratch, not run")
    return (lambda: forward(*args).block_until_ready()), (lambda: jax.block_until_ready(gradient(*args)))


def with_torch(peer, n, dtype):
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.set_default_dtype(torch.float64 if dtype == "f64" else torch.float32)
    s0, rho = torch.ones(3, n, requires_grad=True), torch.linspace(20.0, 28.0, n, requires_grad=True)

    def field(s, rho):
        x, y, z = s
        return torch.stack([SIGMA * (y - x), x * (rho - z) - y, x * y - BETA * z])

    def roll():
        if peer == "torchdiffeq":
            from torchdiffeq import odeint
            times = torch.tensor([0.0, STEPS * DT])
            return odeint(lambda t, s: field(s, rho), s0, times, method="rk4", options=dict(step_size=DT))[-1]
        s = s0
        for _ in range(STEPS):
            s = rk4(field, s, rho)
        return s

    def forward():
        with torch.no_grad():
            return (roll()[0] ** 2).mean()

    def gradient():
        s0.grad = rho.grad = None
        (roll()[0] ** 2).mean().backward()

    return forward, gradient


def measure(peer, n, dtype):
    cap_memory(14)
    task, package = f"lorenz {peer} N={n} {dtype}", PACKAGE[peer]
    try:
        forward, gradient = (with_torch if "torch" in peer else with_jax)(peer, n, dtype)
        emit(package, task, "first forward", timed(forward)[0], "s")
        forward_s = best(forward, budget=1)
        emit(package, task, "forward", n * STEPS / forward_s, "trajectory-steps/s")
        emit(package, task, "first gradient", timed(gradient)[0], "s")
        gradient_s = best(gradient, budget=1)
        emit(package, task, "gradient", n * STEPS / gradient_s, "trajectory-steps/s")
        emit(package, task, "gradient / forward", gradient_s / forward_s, "1")
    except Exception as error:
        emit(package, task, "failed", f"{type(error).__name__}: {error}"[:200], "text")
    emit(package, task, "peak RSS", peak_mib(), "MiB")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        measure(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        for case in [(peer, n, d) for n in (1024, 16384, 131072) for d in ("f32", "f64") for peer in PACKAGE]:
            subprocess.run([sys.executable, __file__, *map(str, case)])
