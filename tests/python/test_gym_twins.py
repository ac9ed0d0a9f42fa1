"""The twins against Gymnasium's own environments on MuJoCo, step by step: numbers that tools/gym_reference.py wrote down there."""
import json
import pathlib

import numpy as np
import pytest

import costate

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed")
import costate.gym  # noqa: E402
from costate.gym_twins import TWINS  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

# What tools/gym_reference.py wrote: seeds, actions and what Gymnasium answered. A record is one step from a state of MuJoCo's.
RECORDED = json.loads((pathlib.Path(__file__).parent / "gym_reference.json").read_text())


@pytest.mark.parametrize("task", TWINS)
def test_starts_and_steps_are_gymnasiums(task):
    known = RECORDED[task]
    env = gymnasium.make(f"costate/{task}-v5")
    seen = env.reset(seed=known["seed"])[0]
    np.testing.assert_allclose(seen, known["start"], rtol=0, atol=1e-12)
    ends = 0
    for step in known["steps"]:
        at = env.unwrapped
        at.state[0, :at.physics.states] = step["state"]  # as the motion is chaotic, each step begins where MuJoCo's did
        seen, reward, ended, cut, _ = env.step(np.array(step["action"], dtype=np.float32))
        gate = 1e-8 * (1 + np.max(np.abs(step["seen"])))
        np.testing.assert_allclose(seen, step["seen"], rtol=0, atol=gate)
        assert reward == pytest.approx(step["reward"], abs=1e-6 * (1 + abs(step["reward"])))
        assert (ended, cut) == (step["ended"], step["cut"])
        if ended or cut:  # the next episode draws on from the same generator
            np.testing.assert_allclose(env.reset()[0], step["next_start"], rtol=0, atol=1e-12)
            ends += 1
    assert ends > 0 or task in ("HalfCheetah", "Swimmer", "Ant", "Humanoid", "Pusher")  # which do not end so soon


@pytest.mark.parametrize("task", TWINS)
def test_spaces_are_gymnasiums(task):
    env = costate.gym.Env(f"{task}-v5")
    known = RECORDED[task]
    assert env.observation_space.shape == (len(known["start"]),)
    np.testing.assert_array_equal(env.action_space.low, np.array(known["low"], dtype=np.float32))
    np.testing.assert_array_equal(env.action_space.high, np.array(known["high"], dtype=np.float32))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", ["Hopper", "Reacher"])
def test_gymnasiums_checker_is_content(task):
    check_env(gymnasium.make(f"costate/{task}-v5").unwrapped)


def test_starts_have_gymnasiums_spread():
    env = costate.gym.VectorEnv("HalfCheetah-v5", num_envs=500)
    env.reset(seed=0)
    positions, velocities = env.state[:, :9] - env.physics.system.initial_state[:9], env.state[:, 9:]
    assert np.abs(positions).max() <= 0.1 and np.abs(positions).max() > 0.099
    assert np.std(velocities) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_worlds_start_again_as_in_gymnasiums_sync_vector(mode):
    """The vector environment against Gymnasium's own, made of single twins."""
    many = gymnasium.make_vec("costate/InvertedPendulum-v5", num_envs=3, autoreset_mode=mode)
    assert isinstance(many.unwrapped, costate.gym.VectorEnv)
    single = gymnasium.vector.SyncVectorEnv([lambda: costate.gym.Env("InvertedPendulum-v5")] * 3, autoreset_mode=mode)
    np.testing.assert_array_equal(many.reset(seed=5)[0], single.reset(seed=5)[0])
    rng, ends = np.random.default_rng(0), 0
    for _ in range(40):
        actions = rng.uniform(-3, 3, (3, 1)).astype(np.float32)
        ours, theirs = many.step(actions), single.step(actions)
        for a, b in zip(ours[:4], theirs[:4]):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)
        ended = ours[2] | ours[3]
        ends += ended.sum()
        if mode == AutoresetMode.SAME_STEP and ended.any():
            np.testing.assert_array_equal(ours[4]["_final_obs"], theirs[4]["_final_obs"])
            for w in np.flatnonzero(ended):
                np.testing.assert_allclose(ours[4]["final_obs"][w], theirs[4]["final_obs"][w], rtol=0, atol=1e-13)
        if mode == AutoresetMode.DISABLED and ended.any():
            with pytest.raises(costate.Error, match="reset_mask"):
                many.step(actions)
            np.testing.assert_array_equal(many.reset(options={"reset_mask": ended})[0], single.reset(options={"reset_mask": ended})[0])
    assert ends > 3


def test_mistakes_are_errors():
    with pytest.raises(costate.Error, match="Hopper-v5"):
        costate.gym.Env("Hopping-v5")
    env = costate.gym.VectorEnv("InvertedPendulum-v5", num_envs=3)
    with pytest.raises(costate.Error, match="one per world"):
        env.reset(seed=[1, 2])
    with pytest.raises(costate.Error, match="reset_mask"):
        env.reset(options={"reset_mask": np.array([1, 0, 0])})


def test_policy_gradients_of_a_twin_are_exact():
    for name, label in (("Swimmer-v5", "exact"), ("Hopper-v5", "time grid")):  # a knee of the hopper meets its limit
        env = costate.gym.VectorEnv(name, num_envs=2)
        env.reset(seed=0)
        value, gradient = env.rollout_value_and_grad(steps=3, hidden=4)
        assert gradient.report.label == label and np.isfinite(value)
