"""What a wheel promises, tried in an environment that holds NumPy and the wheel alone (./dev wheel runs it):
no shared library but those of the system's C++ and of the wheel; scenes, replays, type stubs and the
command line are there; both builds of the engine give the same numbers."""
import subprocess
import sys
from pathlib import Path

import numpy as np


def mapped():
    """Shared libraries of this process."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if ".so" in line.split()[-1]}


before = mapped()
import costate  # noqa: E402

humanoid = costate.rigid.load(costate.scene_file("humanoid.xml"))
sim = humanoid.rollout(steps=100)
value, grad = sim.value_and_grad(loss=costate.loss.final("q"))
if sys.argv[1:] == ["number"]:  # what a fresh process finds
    print(repr(float(np.linalg.norm(grad.x0))), costate._core.simd_bytes())
    sys.exit()


def fresh(*arguments, **environment):
    return subprocess.run([sys.executable, "-I", *arguments], capture_output=True, text=True, env=environment, check=True).stdout


package = Path(costate.__file__).parent
home = package.parent
system = ("libstdc++.so", "libgcc_s.so", "libm.so", "libc.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux")
new = mapped() - before
strange = {file for file in new
           if home not in Path(file).parents and not Path(file).name.startswith(system) and "/lib-dynload/" not in file}
assert not strange, f"the wheel uses libraries it does not carry: {strange}"
assert (package / "py.typed").exists() and (package / "_core/__init__.pyi").exists()
recording = costate.rigid.record(humanoid, humanoid.rollout(steps=20, keep=1).simulate().states)
assert "THREE" in recording._repr_html_(), "a replay carries its own viewer"
assert "torso" in fresh("-m", "costate", "info", costate.scene_file("humanoid.xml"))

widths = []
for isa in ("x86-64-v3", "x86-64-v4")[:1 + (costate._core.simd_bytes() == 64)]:
    norm, width = fresh(__file__, "number", COSTATE_ISA=isa).split()
    assert abs(float(norm) / np.linalg.norm(grad.x0) - 1) < 1e-9, (isa, norm)
    widths.append(width)
print(f"registers of {' and '.join(widths)} bytes, carries {', '.join(sorted(Path(file).name for file in new if home in Path(file).parents))}")
