"""Type checkers find nothing to complain about, and see a misspelt name. Each is run where it is installed."""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
import costate

@costate.system(states=["q", "v"], parameters={"k": 1.0}, dt=0.01)
def spring(q, v, k):
    return [v, -k * q]

sim = spring.rollout(10, keep=2)
value, gradient = sim.value_and_grad([1.0, 0.0], loss=costate.loss.final("q"))
size: float = value
jacobian: np.ndarray = sim.jacobian([1.0, 0.0]).x0
fitted = costate.fit(sim, {"q": np.zeros((6, 1))}, {"k": 1.0})
deviation: np.ndarray = fitted.covariance
model = costate.rigid.load("hopper.xml")
names: list[str] = model.signature.match(["body/*"])
study = costate.load_study("scene.toml")
study.run()
loop = costate.closed_loop(model, hidden=(8, 8))
best = costate.minimize(lambda p: (0.0, p), {"k": 1.0})
reached: bool = best.converged
sim.value([1.0, 0.0], p={"k": 2.0}, loss=costate.loss.final("q"))
sim.simulate({"q": np.ones(1)}, p={"k": np.ones(1)})
"""
MISSPELT = "\nspring.rolout(10)\nmodel.rolout(10)\nstudy.rnu()\nfitted.covarince\n"


def mypy(files, folder):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    return subprocess.run([sys.executable, "-m", "mypy", "--ignore-missing-imports", "--cache-dir", str(folder), *map(str, files)],
                          capture_output=True, text=True, cwd=folder, env=dict(os.environ, MYPYPATH=str(ROOT / "python")))


def pyright(files, folder):
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    tool = shutil.which("basedpyright", path=places) or shutil.which("pyright", path=places)
    if tool is None:
        pytest.skip("pyright is not installed")

    def seen_from(path):  # pyright leaves out what is not relative, without failing
        return os.path.relpath(path, folder)
    # PyTorch 1 exports clip_grad_norm_ without saying so: that would be a private import.
    settings = {"include": [seen_from(f) for f in files], "extraPaths": [seen_from(ROOT / "python")], "typeCheckingMode": "basic",
                "reportMissingImports": False, "reportMissingModuleSource": False, "reportPrivateImportUsage": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    found = subprocess.run([tool, "--project", str(folder / "pyrightconfig.json"), "--pythonpath", sys.executable],
                           capture_output=True, text=True, cwd=folder)
    assert "No source files found" not in found.stdout and "Ignoring path" not in found.stdout, found.stdout
    return found


@pytest.fixture(scope="module", params=[mypy, pyright])
def findings(request, tmp_path_factory):
    """The lines with an error of one run over everything: most of its time goes into reading NumPy, PyTorch and JAX."""
    folder = tmp_path_factory.mktemp("types")
    programs = {"program.py": PROGRAM, "misspelt.py": PROGRAM + MISSPELT}
    for name, text in programs.items():
        (folder / name).write_text(text)
    files = [ROOT / "python/costate", *(ROOT / "examples/python").glob("*.py"), *(folder / name for name in programs)]
    found = request.param(files, folder)
    assert found.returncode == 1, found.stdout + found.stderr  # the misspelt names, and no failure of the checker's own
    return [line for line in found.stdout.splitlines() if "error:" in line]


def test_the_package_the_examples_and_what_the_documentation_writes_are_typed(findings):
    assert not [line for line in findings if "misspelt.py" not in line]


@pytest.mark.parametrize("name, times", [("rolout", 2), ("rnu", 1), ("covarince", 1)])
def test_misspelt_names_are_seen(findings, name, times):
    assert sum(name in line for line in findings) == times
