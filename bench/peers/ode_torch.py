"""torchdiffeq: Lotka-Volterra, one trajectory, gradient with respect to (u0, p)."""
import torch
import torchdiffeq

from ode_common import LV_DP, LV_DU0, LV_G, best, emit, relative_error, timed

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)  # two numbers per state: more threads only cost


class LotkaVolterra(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.p = torch.nn.Parameter(torch.tensor([1.5, 1.0, 3.0, 1.0]))
        self.evaluations = 0

    def forward(self, t, u):
        self.evaluations += 1
        x, y = u[..., 0], u[..., 1]
        p = self.p
        return torch.stack([p[0] * x - p[1] * x * y, -p[2] * y + p[3] * x * y], dim=-1)


def report(peer, task, field, u0, solve):
    def loss():
        return 0.5 * ((1 - solve(u0)) ** 2).sum()

    def gradient():
        u0.grad = field.p.grad = None
        g = loss()
        g.backward()
        return g.detach()

    field.evaluations = 0
    seconds, g = timed(gradient)
    emit(peer, task, "first gradient", seconds, "s")
    emit(peer, task, "evaluations of the right-hand side, fwd+bwd", field.evaluations, "1")
    emit(peer, task, "relative error of g", relative_error([g], [LV_G]), "1")
    error = relative_error([*u0.grad.flatten(), *field.p.grad], [*LV_DU0, *LV_DP])
    emit(peer, task, "worst relative error of dg/d(u0,p)", error, "1")
    with torch.no_grad():
        emit(peer, task, "forward", 1e6 * best(loss), "us")
    emit(peer, task, "gradient", 1e6 * best(gradient), "us")


def torchdiffeq_lotka_volterra(method, interface, tolerance=1e-9):
    field, u0, t = LotkaVolterra(), torch.ones(2, requires_grad=True), torch.tensor([0.0, 10.0])
    odeint = getattr(torchdiffeq, interface)
    report("torchdiffeq", f"lotka-volterra {method} {interface} tol={tolerance:g}", field, u0,
           lambda u: odeint(field, u, t, rtol=tolerance, atol=tolerance, method=method)[-1])


if __name__ == "__main__":
    for method in "dopri5", "dopri8":
        for interface in "odeint", "odeint_adjoint":
            torchdiffeq_lotka_volterra(method, interface)
