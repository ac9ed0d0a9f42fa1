"""A pendulum that is too weak to be lifted straight up: plan its swing, then hold it up while it is pushed.

    python plan_pendulum.py
"""
# [plan]
import numpy as np

import costate
from costate import control

pendulum = costate.equations(["angle", "rate"], "angle_dot = rate; rate_dot = torque - 9.81*sin(angle) - 0.1*rate",
                             controls=["torque"], dt=0.05)
near = "(angle - 3.141592653589793)^2 + 0.1*rate^2"
loss = costate.loss.expression(f"100*({near})") + costate.loss.expression("0.001*torque^2", "each_step")

plan = control.plan(pendulum, loss, steps=80, x0=[0, 0], method="ddp", lower=-4, upper=4)
print(f"planned: angle {plan.x[-1, 0]:.2f}, largest torque {abs(plan.u).max():.1f}")
# [/plan]

# [mpc]
loss = costate.loss.expression(near + " + 0.01*torque^2", "each_step") + costate.loss.expression(f"20*({near})")
mpc = control.mpc(pendulum, loss, steps=30, lower=-4, upper=4)
step = pendulum.rollout(steps=1)
x = plan.x[-1]
for k in range(100):
    mpc.update(x, shift=1 if k else 0)
    x = step.simulate(x, mpc.control(x)[None]).final_state
    if k == 20:
        x = x + [0, 0.5]  # a push
print(f"after a push and 4 s: angle {x[0]:.2f}")
# [/mpc]
assert abs(x[0] - np.pi) < 0.05
