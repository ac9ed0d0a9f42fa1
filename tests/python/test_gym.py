"""Gymnasium's own checker, the engine's rollouts, and differences."""
import numpy as np
import pytest

import costate

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed")
import costate.gym  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402


@pytest.mark.parametrize("task", ["Pendulum", "CartPole", "Hopper"])
@pytest.mark.filterwarnings("ignore")
def test_gymnasiums_checker_is_content(task):
    check_env(gymnasium.make(f"costate/{task}-v0").unwrapped)


def test_a_step_is_a_rollout():
    env = gymnasium.make("costate/CartPole-v0").unwrapped
    env.reset(seed=1)
    before = env.state.copy()
    observation, reward, *_ = env.step([0.5])
    sim = env.physics.system.rollout(env.physics.task.frame_skip, hold=env.physics.task.frame_skip)
    expected = sim.simulate(before[0], np.array([[0.5]])).final_state
    np.testing.assert_allclose(observation, expected, rtol=1e-12)
    assert reward == pytest.approx(np.cos(expected[1]) - 0.01 * 0.25)


def test_a_vector_environment_is_many_single_ones():
    many = costate.gym.VectorEnv("CartPole", num_envs=5)
    many.reset(seed=3)
    start = many.state.copy()
    actions = np.linspace(-1, 1, 5)[:, None]
    observations, rewards, *_ = many.step(actions)
    one = costate.gym.Physics("CartPole")
    for w in range(5):
        y, reward, _ = one.step(start[w:w + 1], actions[w])
        np.testing.assert_allclose(observations[w], y[0], rtol=1e-12)
        assert rewards[w] == pytest.approx(reward[0])


def test_worlds_that_fall_start_again():
    env = costate.gym.VectorEnv("Hopper", num_envs=3)
    env.reset(seed=0)
    env.state[1, 1] = 0.3  # below where it counts as fallen
    _, _, fallen, _, _ = env.step(np.zeros((3, 3)))
    assert fallen.tolist() == [False, True, False]
    env.step(np.zeros((3, 3)))
    assert env.state[1, 1] == pytest.approx(1.3, abs=0.1) and env.elapsed.tolist() == [2, 0, 2]


def test_policy_gradients_agree_with_differences():
    env = costate.gym.VectorEnv("CartPole", num_envs=4)
    env.reset(seed=5)
    value, gradient = env.rollout_value_and_grad(steps=10, hidden=8)
    assert set(gradient) >= {"policy/w1", "policy/b1", "policy/w2", "policy/b2"}
    weights = {n: np.asarray(env._sim.system.parameters[n]) for n in gradient}
    rng = np.random.default_rng(0)
    direction = {n: rng.standard_normal(w.shape) for n, w in weights.items()}
    h = 1e-5
    moved = [env.rollout_value_and_grad({n: weights[n] + s * h * direction[n] for n in weights}, steps=10, hidden=8)[0]
             for s in (1, -1)]
    expected = sum(np.sum(gradient[n] * direction[n]) for n in gradient)
    assert (moved[0] - moved[1]) / (2 * h) == pytest.approx(expected, rel=1e-6)
    assert value == pytest.approx(env.rollout_value_and_grad(weights, steps=10, hidden=8)[0], rel=1e-12)


def test_an_unknown_task_is_an_error():
    with pytest.raises(costate.Error, match="CartPole"):
        costate.gym.Physics("CatPole")


def test_make_vec_gives_the_fast_environment():
    many = gymnasium.make_vec("costate/Hopper-v0", num_envs=6)
    assert isinstance(many.unwrapped, costate.gym.VectorEnv) and many.num_envs == 6
    many.action_space.seed(2)
    observations, _ = many.reset(seed=2)
    assert observations.shape == (6, 11)
    observations, rewards, *_ = many.step(many.action_space.sample())
    assert observations.shape == (6, 11) and rewards.shape == (6,)
    assert many.unwrapped.rollout_value_and_grad(steps=2, hidden=4)[1].report.label == "exact"


@pytest.mark.parametrize("task", ["CartPole", "Hopper", "Ant"])
def test_pictures_show_the_robot_where_it_is(task):
    env = gymnasium.make(f"costate/{task}-v0", render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    pixels = env.render()
    assert pixels.shape == (240, 320, 3) and pixels.dtype == np.uint8
    empty = costate.picture.image(costate.Recording())
    centre = pixels[80:160, 110:210].reshape(-1, 3).astype(int)
    floor = {tuple(c) for c in empty.reshape(-1, 3)}
    assert np.mean([tuple(c) not in floor for c in centre]) > 0.03  # something stands there that is neither floor nor sky
    env.state[0, 0] += 0.3  # the camera follows; the floor does not
    assert not np.array_equal(env.render(), pixels)
    many = gymnasium.make_vec(f"costate/{task}-v0", num_envs=2, render_mode="rgb_array")
    many.reset(seed=0)
    assert [p.shape for p in many.render()] == [(240, 320, 3)] * 2


def test_a_window_and_none(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    env = gymnasium.make("costate/CartPole-v0", render_mode="human").unwrapped
    env.reset(seed=0)
    env.step([0.1])
    assert env.screen.window is not None
    env.close()
    with pytest.raises(costate.Error, match="render_mode"):
        silent = gymnasium.make("costate/CartPole-v0").unwrapped
        silent.reset()
        silent.render()
    with pytest.raises(costate.Error, match="rgb_array"):
        costate.gym.Env("CartPole", render_mode="ascii")


def test_stable_baselines_learns_with_it():
    baselines = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    from stable_baselines3.common.env_checker import check_env as check

    check(gymnasium.make("costate/Pendulum-v0"))
    model = baselines.PPO("MlpPolicy", gymnasium.make("costate/Pendulum-v0"), n_steps=64, batch_size=32, n_epochs=1, seed=0, device="cpu")
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(128)
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters()))
