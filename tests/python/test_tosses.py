"""Recorded tosses: both published layouts, what flights say, and what is wrong with a file."""
import numpy as np
import pytest

import costate
from costate import tosses

RATE, HALF = 148.0, 0.0524
SPIN, VELOCITY, GRAVITY = np.array([2.0, -1.0, 3.0]), np.array([0.4, -0.2, 0.5]), 9.81  # in the world


def turned(angle):
    """exp(angle [w]) of the start (1, 2, 0, -1) / sqrt 6."""
    axis, half = SPIN / np.linalg.norm(SPIN), np.linalg.norm(SPIN) * np.asarray(angle) / 2
    a = np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * axis], axis=1)
    b = np.array([1.0, 2.0, 0.0, -1.0]) / np.sqrt(6)
    w = a[:, :1] * b[0] - a[:, 1:] @ b[1:, None]
    return np.hstack([w, a[:, :1] * b[1:] + b[0] * a[:, 1:] + np.cross(a[:, 1:], b[1:])])


def rows(frames=30, noise=0.0, seed=0):
    """Quaternion and position of a flight; every fourth frame has the other sign."""
    t = np.arange(frames) / RATE
    x = np.array([0.1, 0.2, 1.0]) + t[:, None] * VELOCITY - 0.5 * GRAVITY * t[:, None] ** 2 * [0, 0, 1]
    x += noise * np.random.default_rng(seed).standard_normal(x.shape)
    return np.hstack([turned(t) * np.where(np.arange(frames) % 4 == 3, -1, 1)[:, None], x])


def archive(path, *tables, **more):
    np.savez(path, rows=np.concatenate(tables), start=np.concatenate([[0], np.cumsum([len(t) for t in tables])]), **more)
    return path


def test_every_layout_is_the_same_recording(tmp_path):
    table, other = rows(), rows(20)
    of = {"archive": tosses.load(archive(tmp_path / "a.npz", table, other, rate=RATE))}
    for kind in ("npy", "csv"):
        folder = tmp_path / kind
        folder.mkdir()
        for name, part in ((9, table), (10, other)):  # by number, not by spelling
            np.save(folder / f"{name}.npy", part) if kind == "npy" else np.savetxt(folder / f"{name}.csv", part, delimiter=",")
        of[kind] = tosses.load(folder)
    half_widths = [np.hstack([t[:, 4:] / HALF, t[:, :4], np.zeros((len(t), 12))]) for t in (table, other)]
    of["contactnets"] = tosses.load(archive(tmp_path / "b.npz", *half_widths))
    for kind, found in of.items():
        assert [len(t.time) for t in found] == [30, 20], kind
        np.testing.assert_allclose(found[0].position, table[:, 4:], atol=1e-14, err_msg=kind)
        np.testing.assert_allclose(np.sum(found[0].quaternion[1:] * found[0].quaternion[:-1], axis=1), 1, atol=1e-3, err_msg=kind)
        assert found[1].time[-1] == pytest.approx(19 / RATE, rel=1e-14)


def test_pytorch_files_are_read(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.tensor(rows()), tmp_path / "0.pt")
    np.testing.assert_allclose(tosses.load(tmp_path)[0].position, rows()[:, 4:], atol=1e-15)


def test_a_flight_is_its_state_and_gravity():
    toss = tosses._toss("it", rows(), RATE, HALF, None)
    flight = tosses.flight(toss, HALF)
    t = flight.frame / RATE
    assert flight.frame == 29 and flight.gravity == pytest.approx(GRAVITY, abs=1e-9) and flight.noise < 1e-12
    np.testing.assert_allclose(flight.state[:3], rows()[29, 4:], atol=1e-12)
    np.testing.assert_allclose(np.abs(flight.state[3:7]), np.abs(turned([t])[0]), atol=1e-12)
    np.testing.assert_allclose(flight.state[7:10], VELOCITY - [0, 0, GRAVITY * t], atol=1e-10)
    # The spin of a free joint is in the body: a simulation from there goes on as the recording would.
    assert np.linalg.norm(flight.state[10:]) == pytest.approx(np.linalg.norm(SPIN), rel=1e-10)


def test_a_simulation_goes_on_where_the_flight_ends(tmp_path):
    (tmp_path / "cube.xml").write_text("<mujoco><worldbody><body><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body></worldbody></mujoco>")
    cube = costate.rigid.load(tmp_path / "cube.xml")
    table = rows()
    flight = tosses.flight(tosses._toss("it", table[:15], RATE, HALF, None), HALF, gravity=GRAVITY)
    end = cube.rollout(15 * 40).simulate(flight.state, None, {"dt": 1 / RATE / 40}).final_state
    np.testing.assert_allclose(end[:3], table[29, 4:], atol=2e-4)  # Euler
    assert abs(end[3:7] @ table[29, :4]) == pytest.approx(1, abs=1e-6)


def test_a_survey_knows_gravity_and_its_error():
    thrown = []
    for seed in range(30):
        table = rows(30, 2e-5, seed)
        table[20:, 4:] = [0.3, 0.1, HALF + 1e-4 * np.sin(seed)]  # lies on the floor
        table[20:, :4] = [1, 0, 0, 0]
        thrown.append(tosses._toss("it", table, RATE, HALF, None))
    found = tosses.survey(thrown, HALF)
    assert found.flights == 30 and abs(found.gravity[0] - GRAVITY) < 4 * found.gravity[1] < 0.02
    assert abs(found.half_width[0] - HALF) < 4 * found.half_width[1]
    short = tosses.survey([t.scaled(0.98) for t in thrown], 0.98 * HALF)
    assert short.gravity[0] == pytest.approx(0.98 * found.gravity[0], rel=1e-9)
    assert "gravity 9.8" in repr(found) and "half width 52.4" in repr(found)


@pytest.mark.parametrize("make, words", [
    (lambda d: d / "none.npz", "there is no such file"),
    (lambda d: d, "no .npy, .csv or .pt file"),
    (lambda d: (np.savez(d / "a.npz", rows=rows()), d / "a.npz")[1], "but not start"),
    (lambda d: (np.savez(d / "a.npz", rows=rows(), start=[0, 40]), d / "a.npz")[1], "number of rows, 30"),
    (lambda d: archive(d / "a.npz", rows()[:, :6]), "seven numbers"),
    (lambda d: archive(d / "a.npz", 2 * rows()), "neither of columns"),
    (lambda d: archive(d / "a.npz", np.where(np.arange(7) == 5, np.nan, rows())), "frame 0 is not finite"),
    (lambda d: ((d / "0.csv").write_text("a,b"), d)[1], "table of numbers"),
    (lambda d: ((d / "a.npz").write_text("no"), d / "a.npz")[1], "not an .npz file"),
])
def test_a_bad_recording_says_what_is_wrong(tmp_path, make, words):
    with pytest.raises(costate.Error, match=words):
        tosses.load(make(tmp_path))


def test_bad_options_are_refused(tmp_path):
    path = archive(tmp_path / "a.npz", rows())
    with pytest.raises(costate.Error, match="there are 'pll' and 'contactnets'"):
        tosses.load(path, columns="xyz")
    with pytest.raises(costate.Error, match="'contactnets' has them"):
        tosses.load(path, columns="contactnets")
    with pytest.raises(costate.Error, match="both are positive"):
        tosses.load(path, rate=0)
    with pytest.raises(costate.Error, match="two are needed"):
        tosses.survey(tosses.load(path), HALF)
