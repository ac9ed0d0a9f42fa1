"""The first half hour, step by step: docs/tutorial.md tells it, examples/notebooks/tutorial.ipynb is the same as a notebook."""
# [gradient]
import numpy as np

import costate

cart_pole = costate.load("cart_pole.xml")  # comes with the package; an MJCF or URDF file of yours works the same
sim = cart_pole.rollout(steps=50, active=["body/*/mass", "gravity"])
leaning = {"q": [0.0, 0.1]}  # the cart in the middle, the pole 0.1 rad off
value, grad = sim.value_and_grad(leaning, loss=costate.loss.final_value("q", 1))  # the angle after 50 steps

print("angle", value)
print("d angle / d angle at the start", grad.x0[1])
print("d angle / d mass of the pole", grad.parameters["body/pole/mass"])
print(grad.report)
# [/gradient]


# [physics]
@costate.system(states=["angle", "rate"], controls=["torque"], parameters={"length": 1.0, "damping": 0.1}, dt=0.01)
def pendulum(angle, rate, torque, length, damping):
    return [rate, torque - 9.81 / length * np.sin(angle) - damping * rate]


sim = pendulum.rollout(steps=300, keep=1)
run = sim.simulate([1.0, 0.0])
print(run.t[-1], run["angle"][-1])
# [/physics]

# [fit]
sim = pendulum.rollout(steps=300, keep=10)  # 31 states, one every 0.1 s
truth = sim.simulate([1.0, 0.0], p={"length": 0.8, "damping": 0.2})
measured = truth["angle"] + 0.01 * np.random.default_rng(0).standard_normal((31, 1))

found = costate.fit(sim, {"angle": measured}, {"length": 1.0, "damping": 0.1, "angle": 0.9}, sigma=0.01)
print(found)
# [/fit]

# [steer]
sim = pendulum.rollout(steps=400, hold=10, keep=4, active=[])  # 40 torques, each for 0.1 s
loss = costate.loss.expression("10*(1 + cos(angle)) + rate^2") + costate.loss.effort(1e-4)


def objective(torques):
    value, grad = sim.value_and_grad([0.0, 0.0], torques, loss=loss)
    return value, grad.controls


first_guess = 0.1 * np.ones((40, 1))
best = costate.minimize(objective, first_guess, lower=-4.0, upper=4.0)
swing = sim.simulate([0.0, 0.0], best.x)
print(best.reason)
print("cosine of the angle at the end, -1 upright:", np.cos(swing["angle"][-1]))
# [/steer]

# [check]
for result in sim.check([0.0, 0.0], first_guess, loss=loss):
    print(result)
for trust in sim.trust([0.0, 0.0], first_guess, loss=loss):
    print(trust)
# [/check]
