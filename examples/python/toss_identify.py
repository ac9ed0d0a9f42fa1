"""Friction and restitution of a cube from recorded tosses, for three models of contact, and how far their predictions can be trusted.

    python toss_identify.py                                   a recording made by simulation, with noise
    python toss_identify.py --recording cube_tosses.npz       the recording of DAIR Lab's cube (docs/sim_and_real.md), or a folder of it

Flights give each toss its start, so that only numbers of contact are fitted: on some of the tosses, and judged on the others.
"""
import tempfile
from pathlib import Path

import numpy as np

import costate
from picture import arguments, figure, page_beside

HALF_WIDTH, CORNER = 0.0524, 0.006  # m; the corners are spheres, so that every model of contact sees the same body
FITTED = 30  # tosses of a long recording; the others judge
AFTER, PARTS = 10, 4  # frames after the last one in flight; steps per frame
REST = 0.2  # m/s: what would come back more slowly stays, so that a cube that settles has no hundreds of small impacts
HELD = np.array([0.005, 0.0001])  # spin and rolling do not act

FRICTIONS = (0.1, 0.15, 0.2, 0.3)
# What is fitted, and from where. The floor has priority: its numbers count.
RIGID = [{"geom/floor/friction": [mu, *HELD], "geom/floor/restitution": e} for mu in FRICTIONS for e in (0.05, 0.15, 0.25, 0.35, 0.5)]
FINE = [{"geom/floor/friction": [mu, *HELD], "geom/floor/restitution": e} for mu in np.arange(0.1, 0.3, 0.01) for e in np.arange(0, 0.5, 0.02)]
SOFT = [{"geom/floor/friction": [mu, *HELD], "geom/floor/solref": [time, ratio]}
        for mu in FRICTIONS for time in (0.005, 0.01, 0.02) for ratio in (0.2, 0.4, 0.8)]
MODELS = {"convex": SOFT, "event": FINE, "hard": RIGID}
TRUTH = {"friction": 0.15, "restitution": 0.25}  # of the recording that is made here


def cube(contact, folder):
    inset = HALF_WIDTH - CORNER
    corners = "".join(f"<geom type='sphere' size='{CORNER}' pos='{x} {y} {z}' mass='0'/>"
                      for x in (-inset, inset) for y in (-inset, inset) for z in (-inset, inset))
    file = Path(folder) / "cube.xml"
    file.write_text(f"<mujoco><option integrator='{'Euler' if contact == 'hard' else 'RK4'}' cone='elliptic'/><worldbody>"
                    "<geom name='floor' type='plane' size='1 1 1' priority='1'/><body name='cube'><freejoint/>"
                    f"<geom type='box' size='{HALF_WIDTH} {HALF_WIDTH} {HALF_WIDTH}' mass='0.37' contype='0' conaffinity='0'/>"
                    f"{corners}</body></worldbody></mujoco>")
    return costate.rigid.load(file, contact=contact, rest_speed=None if contact == "convex" else REST)


# [fit]
def starts_of(tosses):
    """The state at the last frame of each flight and the AFTER frames that follow, for those that have them."""
    x0, seen, first = [], [], []
    for toss in tosses:
        flight = costate.tosses.flight(toss, HALF_WIDTH, gravity=9.81)
        if flight is None or flight.frame + AFTER >= len(toss.time):
            continue
        x0.append(flight.state)
        frames = slice(flight.frame, flight.frame + AFTER + 1)
        sign = np.sign(toss.quaternion[flight.frame] @ flight.state[3:7])
        seen.append(np.hstack([toss.position[frames], sign * toss.quaternion[frames]]))
    return np.array(x0), np.array(seen)


def fit(system, rate, x0, seen, variables):
    sim = system.rollout(AFTER * PARTS, keep=PARTS, active=list(variables))
    # A rotation by a small angle a moves a corner by 1.4 a half widths, and the quaternion by a / 2.
    sigma = np.broadcast_to([1e-3] * 3 + [1e-3 / (2.8 * HALF_WIDTH)] * 4, seen.shape).swapaxes(0, 1)
    bounds = {name: np.array([0.0, *HELD]) if name.endswith("friction") else np.full(np.shape(v), 1e-3) for name, v in variables.items()}
    tops = {name: np.array([2.0, *HELD]) if name.endswith("friction") else np.full(np.shape(v), 1.0) for name, v in variables.items()}
    return costate.fit(sim, {"q": seen.swapaxes(0, 1)}, variables, x0=x0, p={"dt": 1 / rate / PARTS}, sigma={"q": sigma}, lower=bounds,
                       upper=tops, iterations=20, tolerance=1e-4)
# [/fit]


def misses(system, rate, x0, seen, p):
    """How far each toss is from what was seen after each frame, (tosses, frames): its place [m] and its turn [rad]."""
    sim = system.rollout(AFTER * PARTS, keep=PARTS, worlds=len(x0))
    states = sim.simulate(x0, None, {"dt": 1 / rate / PARTS, **p}).states
    q = states[..., :7] if states.shape[0] == len(x0) else states[..., :7].swapaxes(0, 1)
    place = np.linalg.norm(q[..., :3] - seen[..., :3], axis=-1)
    return place, 2 * np.arccos(np.minimum(1, np.abs(np.sum(q[..., 3:] * seen[..., 3:], axis=-1))))


def scan(system, rate, x0, seen, guesses):
    """The best of the guesses, and the standard deviation of that choice if other tosses had been thrown (bootstrap)."""
    costs = []
    for p in guesses:
        place, turn = misses(system, rate, x0, seen, p)
        costs.append((place ** 2 + (1.4 * HALF_WIDTH * turn) ** 2).sum(axis=1))
    costs, random = np.array(costs), np.random.default_rng(0)
    picks = [np.argmin(costs[:, random.integers(len(x0), size=len(x0))].sum(axis=1)) for _ in range(200)]
    numbers = np.array([np.concatenate([np.ravel(v) for v in p.values()]) for p in guesses])
    return guesses[int(np.argmin(costs.sum(axis=1)))], numbers[picks].std(axis=0)


def spread(found, tosses):
    """Standard deviations of the fitted numbers from how much tosses differ: what is left of a fit is the model's error, which is the
    same through all frames of a toss, and not noise."""
    free = ~found.held & (np.abs(found.jacobian).max(axis=0) > 0)
    J = found.jacobian[:, free]
    pulls = np.einsum("tri,tr->ti", J.reshape(tosses, -1, J.shape[1]), found.residuals.reshape(tosses, -1))
    inverse = np.linalg.inv(J.T @ J)
    deviation = np.zeros(len(free))
    deviation[free] = np.sqrt(np.diag(inverse @ (pulls.T @ pulls) @ inverse))
    return deviation


def parts_of(point, numbers):
    """The parts of `numbers` that belong to each entry of a point."""
    return np.split(numbers, np.cumsum([np.size(v) for v in point.values()])[:-1])


def made(folder, count):
    """A recording by simulation, in the format of the real one: hard contact, and 0.05 mm of noise."""
    system, rate, random = cube("hard", folder), 148.0, np.random.default_rng(0)
    x0 = np.zeros((count, 13))
    x0[:, 2] = 0.2
    x0[:, 3:7] = random.normal(size=(count, 4))
    x0[:, 3:7] /= np.linalg.norm(x0[:, 3:7], axis=1, keepdims=True)
    x0[:, 7:] = random.normal(size=(count, 6)) * [0.5, 0.5, 0.2, 3, 3, 3]
    sim = system.rollout(60 * PARTS, keep=PARTS, worlds=count)
    states = sim.simulate(x0, None, {"dt": 1 / rate / PARTS, "geom/floor/friction": [TRUTH["friction"], *HELD],
                                     "geom/floor/restitution": TRUTH["restitution"]}).states
    poses = states[..., :7] if states.shape[0] == count else states[..., :7].swapaxes(0, 1)
    rows = np.concatenate([poses[..., 3:], poses[..., :3] + 5e-5 * random.normal(size=poses.shape[:-1] + (3,))], axis=-1)
    path = Path(folder) / "tosses.npz"
    np.savez(path, rows=rows.reshape(-1, 7), start=np.arange(count + 1) * rows.shape[1], rate=rate)
    return path


def film(title, poses, rate):
    recording = costate.Recording()
    recording.title, recording.frame_interval = title, 1 / rate
    recording.add_body("cube", "box", [HALF_WIDTH] * 3, poses, color=0x4F86C6)
    return recording


def films(tosses, rate, results, folder):
    """One toss from its flight on: as it was recorded, and what each model makes of it."""
    flights = ((toss, costate.tosses.flight(toss, HALF_WIDTH, gravity=9.81)) for toss in tosses)
    toss, flight = next((toss, flight) for toss, flight in flights if flight is not None and flight.frame + AFTER < len(toss.time))
    frames = len(toss.time) - flight.frame
    shown = [film("as recorded", np.hstack([toss.position, toss.quaternion])[flight.frame:], rate)]
    for contact, p in results.items():
        sim = cube(contact, folder).rollout((frames - 1) * PARTS, keep=PARTS)
        states = sim.simulate(flight.state, None, {"dt": 1 / rate / PARTS, **p}).states
        shown.append(film(contact, states[:, :7], rate))
    return shown


def main(options):
    with tempfile.TemporaryDirectory() as folder:
        recording = getattr(options, "recording", None)
        tosses = costate.tosses.load(recording or made(folder, 8 if options.quick else 24))
        rate = 1 / tosses[0].time[1]
        if recording:
            found = costate.tosses.survey(tosses, HALF_WIDTH)
            print(found)
            # Free fall and rest agree that lengths are too short by one factor.
            tosses = [toss.scaled(HALF_WIDTH / found.half_width[0]) for toss in tosses]
            print(costate.tosses.survey(tosses, HALF_WIDTH))
        x0, seen = starts_of(tosses)
        train = np.zeros(len(x0), dtype=bool)
        train[::max(2, len(x0) // FITTED)] = True
        test = ~train
        print(f"{train.sum()} tosses to fit, {test.sum()} to judge, {AFTER} frames after the flight")
        results, curves = {}, {}
        for contact, guesses in MODELS.items():
            if not recording and contact != "hard":  # of what was made, only its own model finds the truth
                continue
            system = cube(contact, folder)
            best, deviation = scan(system, rate, x0[train], seen[train], guesses)
            # Corners of a cube that settles rattle as events: exact slopes are those of single rattles, and say nothing.
            if contact != "event":
                found = fit(system, rate, x0[train], seen[train], best)
                best, deviation = found.x, spread(found, int(train.sum()))
            place, turn = curves[contact] = [np.sqrt((of ** 2).mean(axis=0)) for of in misses(system, rate, x0[test], seen[test], best)]
            print(f"{contact:7} " + ", ".join(f"{name.split('/')[-1]} " + " ".join(f"{v:.3g} +- {d:.1g}" for v, d in zip(np.ravel(value), sd) if d > 1e-9)
                                              for (name, value), sd in zip(best.items(), parts_of(best, deviation)))
                  + f";  not fitted: {1e3 * place[-1]:.1f} mm, {np.degrees(turn[-1]):.1f} degrees at the end")
            results[contact] = best
        if options.picture:
            page, panes = figure()
            for contact, both in curves.items():
                for axes, curve, unit, label in zip(panes, both, (1e3, 180 / np.pi), ("place [mm]", "turn [degrees]")):
                    axes.plot(1e3 * np.arange(AFTER + 1) / rate, unit * curve, label=contact)
                    axes.set(xlabel="ms after the flight", ylabel="error of the " + label)
                    axes.legend()
            page.savefig(options.picture, dpi=150)
            costate.write_replay(page_beside(options.picture), films(tosses, rate, results, folder), title="A toss, recorded and simulated")
        return results, TRUTH


if __name__ == "__main__":
    main(arguments(__doc__, recording="a recording of tosses, or a folder of them"))
