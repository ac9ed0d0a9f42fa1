"""Bouncing ball: h0 = 50, v0 = 0, g = 9.8, restitution 0.8, height at t = 15 (after three bounces), and its gradient
with respect to (h0, g, e). The count of bounces is not given to the solver.
    python ode_events.py [diffrax] [torchdiffeq]"""
import inspect
import sys

from ode_common import BALL_DE, BALL_DG, BALL_DH0, best, emit, relative_error, timed

EXACT = (BALL_DH0, BALL_DG, BALL_DE)
T_END, MOST_BOUNCES = 15.0, 6


def diffrax_ball():
    import diffrax as dfx
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    jax.config.update("jax_enable_x64", True)

    def height(p):
        h0, g, e = p
        fall = dfx.ODETerm(lambda t, y, g: jnp.stack([y[1], -g]))
        event = dfx.Event(lambda t, y, args, **kw: y[0], optx.Newton(1e-12, 1e-12), direction=False)
        t, y = 0.0, jnp.stack([h0, jnp.zeros(())])
        for _ in range(MOST_BOUNCES):  # a reverse-mode loop must have a bound; after T_END a segment is empty
            s = dfx.diffeqsolve(fall, dfx.Tsit5(), t, T_END, 0.1, y, g, event=event, max_steps=256,
                                stepsize_controller=dfx.PIDController(rtol=1e-9, atol=1e-9))
            hit = s.event_mask & (s.ts[-1] < T_END)
            t, y = s.ts[-1], jnp.where(hit, jnp.stack([jnp.zeros(()), -e * s.ys[-1][1]]), s.ys[-1])
        return y[0]

    p = jnp.array([50.0, 9.8, 0.8])
    gradient = jax.jit(jax.grad(height))
    return height, (lambda: gradient(p).block_until_ready())


def torchdiffeq_ball(interface="odeint"):
    import torch
    import torchdiffeq

    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    solve = getattr(torchdiffeq, interface)
    p = torch.tensor([50.0, 9.8, 0.8], requires_grad=True)

    class Fall(torch.nn.Module):
        def __init__(self, g):
            super().__init__()
            self.g = g

        def forward(self, t, y):
            return torch.stack([y[1], -self.g + 0 * y[1]])

    def height(p):
        h0, g, e = p
        fall = Fall(torch.nn.Parameter(g.detach())) if interface == "odeint_adjoint" else Fall(g)
        height.g = fall.g
        tolerances = dict(rtol=1e-9, atol=1e-9)
        t, y = torch.tensor(0.0), torch.stack([h0, torch.tensor(0.0)])
        while True:
            t_hit, ys = torchdiffeq.odeint_event(fall, y, t, event_fn=lambda t, y: y[0], odeint_interface=solve, **tolerances)
            if t_hit >= T_END:
                break
            t, y = t_hit, torch.stack([1e-12 + 0 * ys[-1][0], -e * ys[-1][1]])  # off the ground, or it fires at once
        return solve(fall, y, torch.stack([t, torch.tensor(T_END)]), **tolerances)[-1][0]

    def gradient():
        p.grad = None
        height(p).backward()
        d = p.grad.clone()
        if interface == "odeint_adjoint":  # only parameters of the module are differentiated
            d[1] = height.g.grad
        return d

    return height, gradient


if __name__ == "__main__":
    cases = [("diffrax", "Tsit5 Event Newton", diffrax_ball), ("torchdiffeq", "odeint_event odeint", torchdiffeq_ball),
             ("torchdiffeq", "odeint_event odeint_adjoint", lambda: torchdiffeq_ball("odeint_adjoint"))]
    for peer, note, make in [case for case in cases if case[0] in sys.argv[1:] or not sys.argv[1:]]:
        task = f"bouncing ball, {note}, tol=1e-9"
        try:
            height, gradient = make()
            seconds, d = timed(gradient)
            d = [float(x) for x in d]
            emit(peer, task, "first gradient", seconds, "s")
            emit(peer, task, "dh/d(h0,g,e)", d, "1")
            emit(peer, task, "worst relative error", relative_error(d, EXACT), "1")
            emit(peer, task, "gradient", 1e6 * best(gradient), "us")
            emit(peer, task, "lines of user code of height(p)", len(inspect.getsource(height).splitlines()), "lines")
        except Exception as error:
            emit(peer, task, "failed", f"{type(error).__name__}: {error}"[:300], "text")
