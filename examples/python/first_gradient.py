"""The first lines of the README: a robot that comes with the package, and the gradient of where it ends."""
# [example]
import costate

hopper = costate.load("hopper.xml")  # comes with the package; your own MJCF or URDF file works the same
sim = hopper.rollout(steps=100, active=["body/*/mass"])
value, grad = sim.value_and_grad(loss=costate.loss.final("q"))
print(f"loss {value:.5f}, d loss / d mass of the torso {grad['body/torso/mass']:.3e} per kg")
# [/example]
