"""The other engines: how each family of them is installed, what is run, and the cache of what was measured.

Each family has a virtual environment of its own under .cache/peers, because some downgrade each other's packages. Each
script beside this file prints one JSON object a line: peer, version, task, metric, value, unit. Results are kept in
.cache/peers/results.json by machine, so that a later run shows the ratios without measuring again."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent.parent / ".cache/peers"
RESULTS = CACHE / "results.json"
ENSEMBLE = [("16384", precision) for precision in ("f32", "f64")]

SCENES = str(HERE.parent.parent / "scenes")
WALKERS = ["hopper", "half_cheetah", "ant", "humanoid"]

# `about`: what an alternative of a filter begins with for which only these families are measured. `limit_s`: of one script.
FAMILIES = {
    "scipy": {"about": ["ode"], "pip": ["scipy"], "runs": [["ode_scipy.py"]]},
    "casadi": {"about": ["ode"], "pip": ["casadi"], "runs": [["ode_casadi.py"], ["ode_first_gradient.py", "casadi"]]},
    "crocoddyl": {"about": ["control"], "pip": ["crocoddyl"], "runs": [["control_crocoddyl.py"]]},
    "mpc": {"about": ["control"], "apt": ["python3-torch"], "pip": ["--no-deps", "mpc"], "runs": [["control_mpc.py"]]},
    "pinocchio": {"about": ["rigid"], "pip": ["pin"], "runs": [["rigid_pinocchio.py"]]},
    "mujoco": {"about": ["rigid", "contact"], "pip": ["mujoco", "gymnasium", "numpy"],
               "runs": [["rigid_mujoco.py", "--folder", SCENES]]},
    # Reverse mode needs one iteration of its solver; a first gradient of the humanoid compiles for minutes.
    "mjx": {"about": ["rigid", "contact"], "pip": ["mujoco-mjx", "jax", "gymnasium"], "limit_s": 1800,
            "runs": [["rigid_mjx.py", "--folder", SCENES, "--setting", "cheap1", "--model", model] for model in WALKERS]},
    # PyPI's torch does not start without gigabytes of CUDA libraries; Debian's is built for the CPU.
    "torch": {"about": ["ode"], "apt": ["python3-torch", "python3-scipy", "libopenblas0-pthread"],
              "pip": ["--no-deps", "torchdiffeq"],
              "runs": [*(["ode_ensemble.py", peer, *case] for case in ENSEMBLE for peer in ("torch-loop", "torchdiffeq")),
                       ["ode_torch.py"], ["ode_events.py", "torchdiffeq"], ["ode_first_gradient.py", "torchdiffeq"],
                       ["ode_neural.py", "torch loop rk4 1 thread", "odeint rk4 1 thread", "odeint_adjoint rk4 1 thread",
                        "odeint dopri5 tol=1e-6 1 thread", "odeint dopri8 tol=1e-6 1 thread"]]},
    "jax": {"about": ["ode"], "pip": ["jax", "diffrax"],
            "runs": [*(["ode_ensemble.py", peer, *case] for case in ENSEMBLE
                       for peer in ("jax-scan", "jax-checkpoint", "diffrax")),
                     ["ode_diffrax.py"], ["ode_events.py", "diffrax"], ["ode_first_gradient.py", "jax", "diffrax"],
                     ["ode_neural.py", "jax scan", "diffrax rk4 100", "diffrax Dopri5 20", "diffrax Tsit5 20", "diffrax Dopri8 8"]]},
    "openmm": {"about": ["md"], "pip": ["openmm", "numpy"],
               "runs": [["md_lennard_jones.py", "openmm", n] for n in ("500", "4000")]},
    "jax-md": {"about": ["md"], "pip": ["jax-md", "jax", "numpy"],
               "runs": [*(["md_lennard_jones.py", "jax-md", n, precision, form] for n in ("500", "4000")
                          for precision in ("f32", "f64") for form in ("Dense", "OrderedSparse")),
                        *(["md_walkers.py", peer, precision] for precision in ("f32", "f64")
                          for peer in ("jax", "jax-checkpoint"))]},
    "torch-walkers": {"about": ["md"], "apt": ["python3-torch", "libopenblas0-pthread"], "pip": [],
                      "runs": [["md_walkers.py", "torch", precision] for precision in ("f32", "f64")]},
    "warp": {"about": ["mpm"], "pip": ["warp-lang", "numpy"], "runs": [["mpm_warp.py", "50"]]},
    # Its first gradient in three dimensions takes longer than ten minutes: two substeps say what there is to say.
    "taichi": {"about": ["mpm"], "pip": ["taichi", "numpy"], "runs": [["mpm_taichi.py", "2"]]},
}


class Unavailable(Exception):
    """A family that cannot be installed here; the message says what would."""


def installed(packages):
    answer = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Abbrev} ${Package}\n", *packages], capture_output=True,
                            text=True).stdout
    return all(any(line.startswith("ii") and line.endswith(" " + p) for line in answer.splitlines()) for p in packages)


def environment(name):
    """Path of the Python of a family, installed on first use."""
    family, venv = FAMILIES[name], CACHE / name
    stamp, wanted = venv / "installed.json", json.dumps([family.get("apt", []), family["pip"]])
    if stamp.exists() and stamp.read_text() == wanted:
        return venv / "bin/python"
    system = family.get("apt", [])
    if system and not installed(system):
        line = ["apt-get", "install", "-y", "--no-install-recommends", *system]
        if os.geteuid() != 0 or subprocess.run(line, capture_output=True).returncode != 0:
            raise Unavailable(f"needs: sudo {' '.join(line)}")
    CACHE.mkdir(parents=True, exist_ok=True)
    # The system's Python: it is the one that sees the system's packages.
    make = ["/usr/bin/python3", "-m", "venv", "--clear", *(["--system-site-packages"] if system else []), str(venv)]
    install = [str(venv / "bin/pip"), "install", "-q", *family["pip"]]
    for step in [make, install] if family["pip"] else [make]:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable((done.stderr.strip() or done.stdout.strip() or "failed").splitlines()[-1])
    stamp.write_text(wanted)
    return venv / "bin/python"


def run_script(python, arguments, limit_s):
    """The JSON lines a script prints; what it printed before an error or the time limit still counts."""
    command = [str(python), str(HERE / arguments[0]), *arguments[1:]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
        output, trouble = done.stdout, done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired as expired:
        output, trouble = (expired.stdout or b"").decode(), [f"stopped after {limit_s} s"]
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    for what in trouble:
        print(f"  {' '.join(arguments)}: {what}", file=sys.stderr)
    return lines


def better(new, old):
    """The faster of two measurements of the same thing; the new one where faster has no meaning."""
    if not all(isinstance(line["value"], (int, float)) for line in (new, old)):
        return new
    if new["unit"].endswith("/s"):
        return max(new, old, key=lambda line: line["value"])
    return min(new, old, key=lambda line: line["value"]) if new["unit"] in ("s", "ms", "us") else new


def merge(new, old):
    """The new lines, each as fast as it was ever measured here: a peer is not blamed for what else the machine did."""
    key = lambda line: (line["peer"], line["version"], line["task"], line["metric"], line["unit"])
    known = {key(line): line for line in old}
    return [better(line, known.get(key(line), line)) for line in new]


def load(machine):
    """{family: {"when": seconds since 1970, "lines": [...]}} as measured on this machine."""
    return json.loads(RESULTS.read_text()).get(machine, {}) if RESULTS.exists() else {}


def concerned(pattern):
    """The families with something to say about benchmarks that match the pattern: `rigid` needs no ODE solver."""
    subjects = {subject for family in FAMILIES.values() for subject in family["about"]}
    parts = [part.lstrip("^(") for part in (pattern or "").split("|")]
    named = {subject for subject in subjects if any(part.startswith(subject) for part in parts)}
    return [name for name, family in FAMILIES.items() if not named or named & set(family["about"])]


def measure(machine, families=tuple(FAMILIES)):
    """Runs the families and adds their results to the cache; a family that fails keeps its earlier ones."""
    for name in families:
        start = time.perf_counter()
        try:
            python = environment(name)
        except Unavailable as why:
            print(f"  {name}: not measured, {why}", file=sys.stderr)
            continue
        limit = FAMILIES[name].get("limit_s", 900)
        lines = [line for arguments in FAMILIES[name]["runs"] for line in run_script(python, arguments, limit)]
        everything = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        earlier = everything.setdefault(machine, {}).get(name, {}).get("lines", [])
        everything[machine][name] = {"when": time.time(), "lines": merge(lines, earlier)}
        part = RESULTS.with_suffix(".part")
        part.write_text(json.dumps(everything, indent=1))
        part.replace(RESULTS)
        print(f"  {name}: {len(lines)} figures, {time.perf_counter() - start:.0f} s", file=sys.stderr)
