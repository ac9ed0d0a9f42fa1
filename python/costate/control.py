"""Planning, control and estimation over any system: docs/control.md.

    plan = costate.control.plan(system, loss, steps=100, x0=x0, method="ddp", lower=-1, upper=1)
    u = plan.u[k] + plan.K[k] @ (x - plan.x[k])
"""
from ._core.control import (Estimate, LinearQuadratic, Mpc, Plan, Regulator, filter, likelihood, linear_quadratic, lqr, mpc, plan,
                            smooth)

__all__ = ["Estimate", "LinearQuadratic", "Mpc", "Plan", "Regulator", "filter", "likelihood", "linear_quadratic", "lqr", "mpc", "plan",
           "smooth"]
