"""A driven, damped pendulum: as a costate.System, and written once more for JAX."""
import jax
import jax.numpy as jnp

import costate

DT = 0.02
PARAMETERS = {"g": 9.81, "l": 1.3, "c": 0.1}


def system():
    return costate.equations({"q": 1, "v": 1}, "q_dot = v; v_dot = -g/l*sin(q) - c*v + torque", controls=["torque"],
                             parameters=PARAMETERS, method="rk4", dt=DT, name="pendulum")


def reference(x0, u, p, dt=DT):
    """Final state of RK4 steps, one per row of u."""
    def rate(x, torque):
        return jnp.array([x[1], -p["g"] / p["l"] * jnp.sin(x[0]) - p["c"] * x[1] + torque[0]])

    def step(x, torque):
        k1 = rate(x, torque)
        k2 = rate(x + dt / 2 * k1, torque)
        k3 = rate(x + dt / 2 * k2, torque)
        k4 = rate(x + dt * k3, torque)
        return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), x

    return jax.lax.scan(step, jnp.asarray(x0), jnp.asarray(u))[0]
