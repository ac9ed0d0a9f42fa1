"""What the commands of ./dev are made of: packages, phases, builds and their progress. Needs Python 3.9 alone."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
JOBS = len(os.sched_getaffinity(0))

# Package -> the program it is wanted for, if any: a program that is already on the PATH needs no package.
PACKAGES = {
    "build": {"cmake": "cmake", "ninja-build": "ninja", "g++": "g++", "ccache": "ccache", "libtbb-dev": None,
              "libeigen3-dev": None, "libfmt-dev": None, "libtomlplusplus-dev": None, "libcli11-dev": None,
              "libsundials-dev": None, "coinor-libipopt-dev": None, "libtinyxml2-dev": None, "nlohmann-json3-dev": None,
              "libjs-three": None},
    "test": {"libgtest-dev": None},
    "browser": {"chromium": "chromium"},  # for the tests of the replay page
    "mpi": {"libopenmpi-dev": None, "openmpi-bin": "mpirun"},  # for the tests of ranks
    "python": {"python3-venv": None, "python3-dev": None},
    "torch": {"python3-torch": None},  # PyPI's drags in five gigabytes of CUDA
    "bench": {"libbenchmark-dev": None, "python3-venv": None},
    "format": {"clang-format": "clang-format"},
    "lint": {"clang-format": "clang-format", "clang-tidy": "clang-tidy"},
    "clang": {"clang-19": "clang++-19"},
    "arm": {"g++-aarch64-linux-gnu": "aarch64-linux-gnu-g++", "qemu-user": "qemu-aarch64", "libtbb-dev:arm64": None,
            "libgtest-dev:arm64": None, "libtinyxml2-dev:arm64": None},
}
OTHER_MACHINES = ["clang", "arm"]  # half a gigabyte each, installed when first asked for


class Failed(Exception):
    """A phase that failed and has already said why."""

    def __init__(self, code=1):
        self.code = code


# --- packages --------------------------------------------------------------------------------------------------------

def missing_packages(groups):
    wanted = {package: program for group in groups for package, program in PACKAGES[group].items()}
    unknown = [p for p, program in wanted.items() if not (program and shutil.which(program))]
    if not unknown:
        return []
    try:
        answer = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Abbrev} ${Package} ${Package}:${Architecture}\n",
                                 *unknown], capture_output=True, text=True).stdout
    except FileNotFoundError:
        print("dev: no dpkg here; taking it on trust that these are installed in some form:", *unknown, file=sys.stderr)
        return []
    installed = {name for line in answer.splitlines() if line.startswith("ii") for name in line.split()[1:]}
    return [p for p in unknown if p not in installed]


def need(*groups):
    missing = missing_packages(groups)
    if not missing:
        return
    install = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    foreign = sorted({package.split(":")[1] for package in missing if ":" in package})
    if os.geteuid() == 0:
        prefix = []
    elif shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        prefix = ["sudo", "-n"]
    else:
        first = "".join(f"  sudo dpkg --add-architecture {name} && sudo apt-get update\n" for name in foreign)
        print(f"dev: packages are missing and cannot be installed without a password. Run:\n\n"
              f"{first}  sudo apt-get install {' '.join(missing)}\n", file=sys.stderr)
        raise Failed(2)
    quiet = prefix + ["env", "DEBIAN_FRONTEND=noninteractive"]
    with Phase(f"install {' '.join(missing)}"):
        for name in foreign:
            run(prefix + ["dpkg", "--add-architecture", name])
        # A bare machine has no package lists, or old ones.
        if run(quiet + ["apt-get", "-q", "update"], capture=True, check=False) != 0:
            print("dev: apt-get update failed; trying with the lists that are there", file=sys.stderr)
        if run(quiet + install, capture=True, check=False) != 0:
            print(f"dev: could not install. To see why, run:\n\n  sudo {' '.join(install)}\n", file=sys.stderr)
            raise Failed(2)


# --- running things --------------------------------------------------------------------------------------------------

class Phase:
    """Prints one line when it ends well: what was done and the seconds it took."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.start = time.perf_counter()

    def __exit__(self, kind, error, trace):
        state = "" if kind is None else "  FAILED"
        print(f"{self.name:<40} {time.perf_counter() - self.start:7.1f} s{state}", flush=True)


def run(command, capture=False, check=True, drop=None, env=None):
    """Exit status of a command run in the root. `capture` shows its output only when it fails, `drop` hides matching lines."""
    command = [str(c) for c in command]
    if not capture and not drop:
        code = subprocess.run(command, cwd=ROOT, env=env).returncode
    else:
        kept = []
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace")
        for line in process.stdout:
            if capture:
                kept.append(line)
            elif not drop.search(line):
                print(line, end="", flush=True)
        code = process.wait()
        if code != 0:
            sys.stdout.write("".join(kept))
    if code != 0 and check:
        raise Failed(code if 0 < code < 126 else 1)
    return code


class Beside:
    """Runs a function beside the block, which ends when both have: `with Beside(f) as beside: ...; beside.result()`."""

    def __init__(self, function):
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.future = self.pool.submit(function or (lambda: None))

    def result(self):
        return self.future.result()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.pool.shutdown()
        if kind is None:
            self.result()  # what it raised, is raised here


class Build(NamedTuple):
    """A build folder: the preset that configures it, and what is set beyond the preset."""
    preset: str = "release"
    variant: str = ""  # names the folder where settings differ from the preset's
    settings: tuple = ()

    @property
    def name(self):
        return self.variant or self.preset

    @property
    def folder(self):
        return "build" if self.name == "release" else f"build-{self.name}"


class Progress:
    """Says how far a build is, from ninja's own counter: on a terminal in one line that changes, in a log now and then."""

    def __init__(self, what, out=sys.stdout, clock=time.monotonic):
        self.what, self.out, self.clock = what, out, clock
        self.changes = out.isatty()  # one line, written again and again
        self.every = 0.5 if self.changes else 20  # seconds
        self.start = self.last = clock()
        self.shown = False

    def step(self, done, total):
        now = self.clock()
        if now - self.last < self.every or done == 0:
            return
        self.last = now
        left = (now - self.start) * (total - done) / done
        text = f"{self.what}: {done} of {total} files, about {left:.0f} s left"
        self.out.write(f"\r\033[K{text}" if self.changes else f"{text}\n")
        self.out.flush()
        self.shown = True

    def say(self, line):
        """A line that is not progress: an error or a warning."""
        self.end()
        self.out.write(line)
        self.out.flush()

    def end(self):
        if self.changes and self.shown:
            self.out.write("\r\033[K")
            self.out.flush()
        self.shown = False


NINJA_STEP = re.compile(r"^\s*\[(\d+)/(\d+)\] ")
NINJA_NOISE = re.compile(r"^ninja: (no work|Entering)")


def configure(tree):
    with Phase(f"configure {tree.name}"):
        run(["cmake", "--preset", tree.preset, "-B", tree.folder, *tree.settings], capture=True)


def build(tree=Build(), targets=(), what=None):
    configure(tree)
    command = ["cmake", "--build", tree.folder, "-j", str(JOBS), *(["--target", *targets] if targets else [])]
    with Phase(f"build {tree.name}"):
        watch_ninja(command, f"building {what or tree.name}")


def watch_ninja(command, what, quiet=False, env=None):
    """Runs what runs ninja, and says how far it is. `quiet`: its other lines are shown only when it fails."""
    progress, kept = Progress(what, sys.stdout), []
    process = subprocess.Popen([str(c) for c in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", env=dict(env or os.environ, NINJA_STATUS="[%f/%t] "))
    for line in process.stdout:
        step = NINJA_STEP.match(line)
        if step:
            progress.step(int(step[1]), int(step[2]))
        elif quiet:
            kept.append(line)
        elif not NINJA_NOISE.match(line):
            progress.say(line)
    code = process.wait()
    progress.end()
    if code != 0:
        sys.stdout.write("".join(kept))
        raise Failed(code if 0 < code < 126 else 1)


def sources():
    """C++ and CUDA files that belong to the project, tracked or about to be."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.h", "*.cpp", "*.cu", "*.cuh"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split()
    return [f for f in listed if (ROOT / f).exists()]


def for_each(command, files):
    """Runs `command file` for every file, as many at once as there are cores; the files it failed on."""
    def one(file):
        done = subprocess.run([*command, file], cwd=ROOT, capture_output=True, text=True)
        return file, done.returncode, done.stdout + (done.stderr if done.returncode else "")

    bad = []
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for file, code, text in pool.map(one, files):
            if code:
                bad.append(file)
                print(text.strip())
    return bad
