"""What a user notices before the first gradient: what an import pulls in, type stubs, the command line. How long they wait is
measured by bench/latency.py."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import costate
import pendulum

PACKAGE = Path(__file__).resolve().parents[2] / "python/costate"


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, **options).stdout


def test_importing_pulls_in_nothing_heavy():
    program = ("import sys, costate; print([m for m in ('scipy', 'jax', 'torch', 'matplotlib', 'gymnasium') "
               "if m in sys.modules])")
    assert python("-c", program) == "[]\n"


def test_the_stubs_are_those_of_the_module(tmp_path):
    python("-m", "nanobind.stubgen", "-q", "-m", "costate._core", "-r", "-O", str(tmp_path))
    for made in (tmp_path / "_core").glob("*.pyi"):
        kept = PACKAGE / "_core" / made.name
        assert kept.read_text() == made.read_text(), f"run: ninja -C build costate_stubs ({made.name} has changed)"
    assert (PACKAGE / "py.typed").exists()


def test_the_reference_page_is_up_to_date():
    python(str(PACKAGE.parent / "reference.py"), "--check")


def test_every_public_name_has_a_docstring():
    for name in costate.__all__:
        assert getattr(costate, name).__doc__, name


def test_the_command_line_is_the_module(tool, scenes):
    environment = dict(os.environ, PYTHONPATH=str(Path(costate.__file__).parents[1]))
    assert python("-m", "costate", "--version", env=environment) == subprocess.run(
        [tool, "--version"], capture_output=True, text=True).stdout


def test_the_command_line_notices_a_full_disk():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        run = subprocess.run([sys.executable, "-m", "costate", "info", "front.toml"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2 and run.stderr.startswith("costate: the output cannot be written")


def test_an_installed_package_needs_numpy_alone():
    program = ("import sys; [sys.modules.__setitem__(m, None) for m in ('scipy', 'jax', 'torch', 'matplotlib', 'gymnasium')];"
               "import costate, numpy as np;"
               "print(costate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], rtol=1e-8).y[0, -1])")
    assert float(python("-c", program)) == pytest.approx(np.exp(-1), rel=1e-6)


def test_the_better_build_that_the_processor_can_run_is_loaded():
    from costate._isa import _FLAGS, choose, processor_flags

    v3, v4 = _FLAGS["x86-64-v3"], _FLAGS["x86-64-v3"] | _FLAGS["x86-64-v4"]
    assert choose("", v4) == "x86-64-v4" and choose("", v3) == "x86-64-v3" and choose("", set()) == "x86-64-v3"
    assert choose("v3", v4) == choose("x86-64-v3", v4) == "x86-64-v3" and choose("v4", v4) == "x86-64-v4"
    for wanted, flags, message in [("v4", v3, "no AVX-512"), ("avx2", v4, "choose"), ("", v3 - {"fma"}, "fma")]:
        with pytest.raises(ImportError, match=message):
            choose(wanted, flags)
    assert processor_flags() >= v3 and processor_flags("/no/such/file") == set()


def test_a_second_build_of_the_engine_is_found_beside_the_first(tmp_path):
    """A package as a wheel lays it out; the second build is a copy of the first."""
    import shutil

    from costate._isa import choose, processor_flags

    if choose("", processor_flags()) != "x86-64-v4":
        pytest.skip("this processor has no AVX-512")
    package = Path(costate.__file__).parent
    shutil.copytree(package, tmp_path / "costate", ignore=shutil.ignore_patterns("__pycache__"))
    wider = tmp_path / "costate/x86-64-v4"
    wider.mkdir()
    for module in (tmp_path / "costate").glob("_core*.so"):
        shutil.copy(module, wider)
    program = "import costate; print(costate._core.__file__, costate.loss.final('q'), costate._core.xla.__name__)"
    for isa, folder in [("", wider), ("v3", tmp_path / "costate")]:
        file = python("-c", program, env=dict(os.environ, PYTHONPATH=str(tmp_path), COSTATE_ISA=isa)).split()[0]
        assert Path(file).parent == folder


def test_the_project_file_describes_the_wheel():
    text = (PACKAGE.parents[1] / "pyproject.toml").read_text()
    assert f'version = "{costate.__version__}"' in text
    for fact in ('COSTATE_ARCH = "x86-64-v3"', 'COSTATE_PYTHON_WIDER = "x86-64-v4"', 'wheel.py-api = "cp312"'):
        assert fact in text


def test_scenes_come_with_the_package():
    assert costate.rigid.load(costate.scene_file("pendulum.xml")).signature.state_size == 2
    with pytest.raises(costate.Error, match="no_such.xml"):
        costate.scene_file("no_such.xml")


def test_files_that_come_with_the_package_are_meant_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("pendulum.xml", "scenes/pendulum.xml"):
        assert costate.load(name).signature.state_size == costate.rigid.load(path=name).signature.state_size == 2
    assert costate.load("examples/bouncing_ball.toml").gradient()[0] == costate.load("bouncing_ball.toml").gradient()[0]
    for load in (costate.load, costate.rigid.load):
        with pytest.raises(costate.Error, match=r"there is no file pendulun.xml in .*did you mean pendulum.xml"):
            load("pendulun.xml")
        with pytest.raises(costate.Error, match=r"there is no file elsewhere/pendulum.xml$"):
            load("elsewhere/pendulum.xml")
    assert "pole" in python("-m", "costate", "info", "cart_pole.xml")


def test_load_hands_options_on_to_models():
    assert costate.load("cart_pole.xml", keyframe="hanging").initial_state[1] == pytest.approx(np.pi)
    with pytest.raises(costate.Error, match="onset is an option of models"):
        costate.load("coffee.toml", onset="none")


def test_a_notebook_shows_a_trajectory():
    sim = pendulum.system().rollout(50, keep=1)
    page = sim.simulate(np.zeros((3, 2)) + 0.2)._repr_html_()
    assert page.count("<polyline") == len(sim.simulate().fields) and "world 0 of 3" in page and "steps 0 to 50" in page
    assert pendulum.system().rollout(5).simulate()._repr_html_().startswith("<pre>Trajectory")


def test_a_terminal_shows_a_bar_and_a_pipe_none(monkeypatch):
    import types

    from costate import progress

    assert progress.automatic(10) is None  # the tests' stderr is no terminal
    shown = []

    class Tqdm:
        def __init__(self, total, **_):
            self.n = 0
            shown.append(total)

        def set_postfix_str(self, text, refresh):
            shown.append(text)

        def update(self, n):
            self.n += n
            Tqdm.seen.append(self.n)

        def close(self):
            shown.append("closed")

    Tqdm.seen = []
    monkeypatch.setattr(progress, "sys", types.SimpleNamespace(stderr=types.SimpleNamespace(isatty=lambda: True)))
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Tqdm))
    costate.minimize(lambda x: (float(x @ x), 2 * x), [1.0, 2.0], iterations=7)
    assert shown[0] == 7 and "loss" in shown[1] and shown[-1] == "closed"
    # One long call: how far it has come, forward and back.
    sim = pendulum.system().rollout(20_000, checkpoints=costate.binomial(20))
    shown.clear(), Tqdm.seen.clear()
    for worlds in (1, 8, 64, 512, 4096, 32768):  # until it takes more than a second
        sim.value_and_grad(np.full((worlds, 2), 0.2), loss=costate.loss.final("q"))
        if shown:
            break
    assert shown[0] == 100 and shown[-1] == "closed"
    assert Tqdm.seen == sorted(Tqdm.seen) and Tqdm.seen[0] >= 0 and Tqdm.seen[-1] <= 100
    shown.clear()
    costate.minimize(lambda x: (float(x @ x), 2 * x), [1.0, 2.0], callback=lambda p: None)
    assert shown == []
    # A notebook's stderr is no terminal.
    notebook = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=object()))
    monkeypatch.setattr(progress, "sys", types.SimpleNamespace(stderr=types.SimpleNamespace(isatty=lambda: False),
                                                               modules={"IPython": notebook}))
    costate.minimize(lambda x: (float(x @ x), 2 * x), [1.0, 2.0], iterations=7)
    assert shown[0] == 7 and shown[-1] == "closed"
