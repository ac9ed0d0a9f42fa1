"""Planning, control and estimation over any system: docs/control.md.

    plan = costate.control.plan(system, loss, steps=100, x0=x0, method="ddp", lower=-1, upper=1)
    u = plan.u[k] + plan.K[k] @ (x - plan.x[k])

linear_quadratic as a layer: costate.torch.linear_quadratic, costate.jax.linear_quadratic.
"""
from ._core.control import (Collocated, Estimate, Identified, LinearQuadratic, Mpc, Plan, Regulator, Twin, collocate, filter, has_ipopt, identify,
                            likelihood, linear_quadratic, lqr, mpc, plan, smooth)

__all__ = ["Collocated", "Estimate", "Identified", "LinearQuadratic", "Mpc", "Plan", "Regulator", "Twin", "collocate", "filter", "has_ipopt", "identify",
           "likelihood", "linear_quadratic", "lqr", "mpc", "plan", "smooth"]
