"""What a wheel promises, tried in an environment that holds NumPy and the wheel alone (./dev wheel runs it):
no shared library but those of the system's C++ and of the wheel; import and first gradient are quick; scenes, replays, type stubs and the
command line are there; both builds of the engine give the same numbers."""
import subprocess
import sys
import time
from pathlib import Path

import numpy as np


def mapped():
    """Shared libraries of this process."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if ".so" in line.split()[-1]}


before = mapped()
start = time.perf_counter()
import costate  # noqa: E402

imported = time.perf_counter()
humanoid = costate.rigid.load(costate.scene_file("humanoid.xml"))
sim = humanoid.rollout(steps=100)
value, grad = sim.value_and_grad(loss=costate.loss.final("q"))
first = time.perf_counter()

if len(sys.argv) > 1:  # the number alone, for the comparison below
    print(repr(float(np.linalg.norm(grad.x0))), costate._core.simd_bytes())
    sys.exit()

package = Path(costate.__file__).parent
home = package.parent
system = ("libstdc++.so", "libgcc_s.so", "libm.so", "libc.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux")
strange = {file for file in mapped() - before
           if home not in Path(file).parents and not Path(file).name.startswith(system) and "/lib-dynload/" not in file}
assert not strange, f"the wheel uses libraries it does not carry: {strange}"
assert imported - start < 0.2, f"import took {imported - start:.2f} s"
assert first - imported < 1, f"the first gradient took {first - imported:.2f} s"
assert (package / "py.typed").exists() and (package / "_core/__init__.pyi").exists()

recording = costate.rigid.record(humanoid, sim.simulate().states)
page = recording._repr_html_()
assert "THREE" in page, "the replay carries its own viewer"


def child(*arguments, **environment):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, check=True).stdout


assert "humanoid" in child("-m", "costate", "info", costate.scene_file("humanoid.xml"))
widths = set()
for isa in ("x86-64-v3", "x86-64-v4")[:1 + (costate._core.simd_bytes() == 64)]:
    norm, width = child(__file__, "number", COSTATE_ISA=isa).split()
    assert abs(float(norm) / np.linalg.norm(grad.x0) - 1) < 1e-9, (isa, norm)
    widths.add(width)
print(f"import {imported - start:.3f} s, first gradient of a humanoid {first - imported:.3f} s, registers of "
      f"{' and '.join(sorted(widths))} bytes, libraries: " + ", ".join(sorted(
          Path(file).name for file in mapped() - before if home in Path(file).parents)))
