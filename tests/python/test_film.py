"""Pictures and films of recordings, where a browser is installed."""
import os
import shutil

import numpy as np
import pytest

import costate


@pytest.fixture
def recording():
    pendulum = costate.load("pendulum.xml")
    return costate.rigid.record(pendulum, pendulum.rollout(20, keep=2).simulate({"q": [0.5]}))


def test_a_recording_draws_a_picture_of_a_moment(recording, tmp_path):
    if not any(shutil.which(name) for name in (os.environ.get("COSTATE_BROWSER", ""), "chromium", "chromium-browser", "google-chrome")):
        pytest.skip("there is no browser here")
    image = pytest.importorskip("matplotlib.image")
    pictures = []
    for time in (0.0, None):
        path = tmp_path / f"{time}.png"
        recording.write_png(str(path), time=time, width=320, height=240)
        pictures.append(image.imread(path))
    assert pictures[0].shape[:2] == (240, 320) and pictures[0].std() > 0.01
    assert np.abs(pictures[0] - pictures[1]).max() > 0.1  # it has moved


def test_without_a_browser_the_error_says_what_to_install(recording, tmp_path, monkeypatch):
    monkeypatch.setenv("COSTATE_BROWSER", "no_such_browser")
    for write in (recording.write_png, recording.write_mp4):
        with pytest.raises(costate.Error, match="no browser to draw with|no ffmpeg to pack") as error:
            write(str(tmp_path / "picture"))
        assert error.value.advice.startswith("install ")
