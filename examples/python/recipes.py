"""Short answers to common questions; docs/recipes.md shows them, tests/python/test_recipes.py runs them."""
import numpy as np

import costate


def fit_with_uncertainty():
    # [fit]
    @costate.system(states=["angle", "rate"], parameters={"length": 1.0, "damping": 0.0}, dt=0.01)
    def pendulum(angle, rate, length, damping):
        return [rate, -9.81 / length * np.sin(angle) - damping * rate]

    sim = pendulum.rollout(steps=500, keep=10)                     # measurement i belongs to kept state i
    truth = sim.simulate([1.0, 0.0], p={"length": 0.8, "damping": 0.1})
    measured = truth["angle"] + 0.01 * np.random.default_rng(0).standard_normal((51, 1))

    found = costate.fit(sim, {"angle": measured}, {"length": 1.0, "damping": 0.0, "angle": 0.9}, sigma=0.01)
    print(found)                                                   # each estimate +- its standard deviation
    found.x["length"], found.standard_deviation["length"], found.covariance, found.predictions["angle"]
    # [/fit]
    return found


def linearise():
    # [linearise]
    cart_pole = costate.rigid.load("cart_pole.xml")
    along = cart_pole.rollout(steps=1).linearize(np.zeros(4))      # upright, at rest: dx[k+1] = A dx[k] + B du[k]
    A, B = along.A[0], along.B[0]

    cost, gain = np.eye(4), None                                   # LQR by iterating its Riccati equation
    for _ in range(2000):
        gain = np.linalg.solve(0.1 * np.eye(1) + B.T @ cost @ B, B.T @ cost @ A)
        cost = np.eye(4) + A.T @ cost @ (A - B @ gain)

    x = np.array([0.0, 0.1, 0.0, 0.0])                             # leaning by 0.1 rad
    step = cart_pole.rollout(steps=1)
    for _ in range(600):
        x = step.simulate(x, -(gain @ x)[None]).final_state
    # [/linearise]
    return A, B, x


def domain_randomisation():
    # [randomise]
    cart_pole = costate.rigid.load("cart_pole.xml")
    sim = cart_pole.rollout(steps=100, hold=10, active=[])
    rng = np.random.default_rng(0)
    worlds = 64
    x0 = cart_pole.initial_state + 0.05 * rng.standard_normal((worlds, 4))
    masses = {"body/pole/mass": rng.uniform(0.05, 0.3, worlds), "body/cart/mass": rng.uniform(0.8, 1.2, worlds)}
    upright = costate.loss.function(lambda q, v: (q[0] ** 2 + q[1] ** 2 + 0.1 * (v[0] ** 2 + v[1] ** 2)) / worlds)

    def mean_loss(u):                                              # one u for all worlds: its gradient is the sum over them
        value, gradient = sim.value_and_grad(x0, u, masses, loss=upright)
        return value, gradient.controls

    best = costate.minimize(mean_loss, np.zeros((10, 1)), iterations=30)
    # [/randomise]
    return mean_loss(np.zeros((10, 1)))[0], best


def many_policies(steps=150, policies=32, iterations=40):
    # [policies]
    cart_pole = costate.rigid.load("cart_pole.xml")
    policy = costate.closed_loop(cart_pole, hidden=16)
    sim = policy.rollout(steps, active=["policy/*"], checkpoints=costate.segments())
    near = np.array([0.0, 0.3, 0.0, 0.0])                          # leaning: the pole must be caught
    loss = costate.loss.expression("q[0]^2 + 10*q[1]^2 + 0.1*(v[0]^2 + v[1]^2)", when=range(0, steps, 5))

    rng = np.random.default_rng(1)                                 # every world has weights of its own
    weights = {name: w + 0.3 * rng.standard_normal((policies, *w.shape))
               for name, w in policy.parameters.items() if name.startswith("policy/")}
    moments = {name: (np.zeros_like(w), np.zeros_like(w)) for name, w in weights.items()}
    history = []
    for i in range(1, iterations + 1):
        _, gradient = sim.value_and_grad(np.tile(near, (policies, 1)), p=weights, loss=loss)
        history.append(gradient.values)                            # (policies,): the loss of each
        for name, (m, s) in moments.items():                       # Adam, for all of them at once
            g = gradient.parameters[name]
            m += 0.1 * (g - m)
            s += 0.01 * (g * g - s)
            weights[name] = weights[name] - 0.03 * (m / (1 - 0.9 ** i)) / (np.sqrt(s / (1 - 0.99 ** i)) + 1e-12)
    best = int(np.argmin(history[-1]))
    np.savez("policy.npz", **{name.replace("/", "."): w[best] for name, w in weights.items()})
    # [/policies]
    return np.array(history)


def land_softly(iterations=40):
    # [land]
    hopper = costate.rigid.load("hopper.xml", onset="none")
    start = hopper.initial_state + [0, 0.05, *np.zeros(10)]                            # 5 cm above the floor
    sim = hopper.rollout(steps=150, keep=1)
    felt = {"load": "body/foot/contact", "knee": "actuator/knee", "torso": "body/torso/proper_acceleration"}

    def peak(u):                                                                       # N
        x = sim.simulate(start, u).states[:-1]                                         # a force belongs to a step: x[k] and u[k]
        return costate.rigid.observe(hopper, felt, x, u)["load"][:, 2].max()

    loss = costate.rigid.observed(hopper, felt, costate.loss.expression("1e-7*load[2]^2 + 1e-4*knee^2", when="each_step"))

    def objective(u):
        value, gradient = sim.value_and_grad(start, u, loss=loss)
        return value, gradient.controls

    best = costate.minimize(objective, np.zeros((150, 3)), lower=-1, upper=1, iterations=iterations)
    before, after = peak(np.zeros((150, 3))), peak(best.x)
    # [/land]
    return before, after


def policy_in_torch(iterations=15):
    # [torch]
    import torch

    import costate.torch

    cart_pole = costate.rigid.load("cart_pole.xml")
    simulate = costate.torch.rollout(cart_pole.rollout(steps=5, hold=5, active=[]))    # five steps of physics per decision
    torch.manual_seed(0)
    policy = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1), torch.nn.Tanh()).double()
    optimiser = torch.optim.Adam(policy.parameters(), lr=0.01)
    start = torch.tensor(np.random.default_rng(0).normal(0, 0.1, (32, 4)))             # 32 worlds
    losses = []
    for _ in range(iterations):
        x, loss = start, torch.tensor(0.0)
        for _ in range(20):
            x = simulate(x, policy(x)[:, None, :])                                     # (worlds, knots, controls), in the range of the actuator
            loss = loss + (x**2).sum(dim=1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    # [/torch]
    return losses


def swing_up_in_torch(policies=64, iterations=100):
    # [swing_up]
    import torch

    import costate.torch

    cart_pole = costate.rigid.load("cart_pole.xml", keyframe="hanging")
    simulate = costate.torch.rollout(cart_pole.rollout(steps=5, hold=5, active=[]))    # five steps of physics per decision
    hanging, upright = torch.tensor(cart_pole.initial_state.copy()), torch.zeros(4, dtype=torch.double)
    torch.manual_seed(0)
    weights = [0.5 * torch.randn(policies, 5, 16, dtype=torch.double), torch.zeros(policies, 1, 16, dtype=torch.double),
               0.5 * torch.randn(policies, 16, 1, dtype=torch.double)]                 # every policy has its own
    optimiser = torch.optim.Adam([w.requires_grad_() for w in weights], lr=0.03)
    slower = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.01, iterations)

    def starts(state, spread, worlds=1):
        return state + spread * torch.randn(policies, worlds, 4, dtype=torch.double)

    def policy(x):                                                                     # (policies, worlds, states)
        seen = torch.stack([x[..., 0], torch.sin(x[..., 1]), torch.cos(x[..., 1]), x[..., 2], x[..., 3]], -1)
        return torch.tanh(torch.tanh(seen @ weights[0] + weights[1]) @ weights[2])

    for _ in range(iterations):
        x = torch.cat([starts(hanging, 0.05), starts(upright, 0.15)], 1)               # one world hangs, one must stay up
        loss = torch.zeros(policies, dtype=torch.double)
        for k in range(60):                                                            # 3 s
            x = simulate(x, policy(x)[..., None, :])
            cost = 1 - torch.cos(x[..., 1]) + 0.1 * x[..., 0] ** 2 + 0.01 * (x[..., 2:] ** 2).sum(-1)
            loss = loss + cost[:, 1] / 60 + (cost[:, 0] / 30 if k >= 30 else 0)        # 1.5 s to come up
        gradients = torch.autograd.grad(loss.sum(), weights)
        length = torch.stack([g.square().sum((1, 2)) for g in gradients]).sum(0).sqrt()
        for w, g in zip(weights, gradients):
            w.grad = g / length.clamp(min=1)[:, None, None]                            # no step follows a long gradient
        optimiser.step()
        slower.step()

    x = starts(hanging, 0.05, worlds=8)                                                # try every policy from eight starts
    with torch.no_grad():
        for _ in range(200):                                                           # 10 s
            x = simulate(x, policy(x)[..., None, :])
    stands = (torch.cos(x[..., 1]) > 0.95).double().mean(1)                            # the share of starts from which it stands
    best = int((stands - 0.1 * loss).argmax())
    up = float(stands[best])
    # [/swing_up]
    return float(loss.min()), up


def policy_in_jax(iterations=15):
    # [jax]
    import jax
    import jax.numpy as jnp

    import costate.jax

    jax.config.update("jax_enable_x64", True)                      # or make the rollout with dtype="float32"
    cart_pole = costate.rigid.load("cart_pole.xml")
    simulate = costate.jax.rollout(cart_pole.rollout(steps=5, hold=5, active=[]))

    def policy(w, x):
        return jnp.tanh(jnp.tanh(x @ w["w1"] + w["b1"]) @ w["w2"])            # -1 to 1, the range of the actuator

    def loss(w, start):
        def decide(x, _):
            x = simulate(x, policy(w, x)[:, None, :])
            return x, jnp.mean(jnp.sum(x**2, axis=1))
        return jnp.sum(jax.lax.scan(decide, start, None, length=20)[1])

    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    w = {"w1": 0.5 * jax.random.normal(keys[0], (4, 32)), "b1": jnp.zeros(32), "w2": 0.2 * jax.random.normal(keys[1], (32, 1))}
    start = 0.1 * jax.random.normal(keys[2], (32, 4))
    descend = jax.jit(jax.value_and_grad(loss))
    losses = []
    for _ in range(iterations):
        value, gradient = descend(w, start)
        w = jax.tree_util.tree_map(lambda a, g: a - 0.01 * g / (1 + jnp.linalg.norm(g)), w, gradient)
        losses.append(float(value))
    # [/jax]
    return losses


def which_onset():
    # [onset]
    hopper = {onset: costate.rigid.load("hopper.xml", onset=onset) for onset in ("split", "none")}
    for onset, model in hopper.items():
        _, gradient = model.rollout(steps=400, active=[]).value_and_grad(loss=costate.loss.final("q"))
        print(f"{onset:10} |dL/du| {np.linalg.norm(gradient.controls):8.2e}  {gradient.report.label}")
    # [/onset]
    return hopper


if __name__ == "__main__":
    for recipe in (fit_with_uncertainty, linearise, domain_randomisation, many_policies, which_onset):
        recipe()
