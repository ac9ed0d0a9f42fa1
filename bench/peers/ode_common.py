"""What every measurement here shares: the clock, the JSON line, the reference values."""
import json
import resource
import time
from importlib.metadata import PackageNotFoundError, version

# Lotka-Volterra, p = (1.5, 1, 3, 1), u0 = (1, 1), g = |1 - u(10)|^2 / 2
LV_G = 4.424874073408009e-3
LV_DU0 = (0.2995995083036823, -0.01415181634485351)
LV_DP = (0.6219615855512809, 0.06800140415087434, 0.1691764639958928, 0.2725606939500075)
# Robertson, p = (.04, 1e4, 3e7), t = 40
ROB_DY1_DP1 = -4.24755877
# bouncing ball, h0 = 50, v0 = 0, g = 9.8, e = 0.8, t = 15
BALL_DE, BALL_DG, BALL_DH0 = 314.56883995768527, -7.277029744509887, 1.5961821700760583


cpu_s = None  # CPU seconds, all threads, of the call timed last: far below the wall clock means others had the cores


def version_of(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "checkout"  # on the PYTHONPATH, not installed


def emit(peer, task, metric, value, unit, package=None):
    global cpu_s
    value = value if isinstance(value, (str, list)) else float(f"{float(value):.6g}")
    line = dict(peer=peer, version=version_of(package or peer.split()[0]), task=task, metric=metric, value=value, unit=unit)
    if cpu_s is not None:
        line["cpu_s"] = float(f"{cpu_s:.3g}")
        cpu_s = None
    print(json.dumps(line), flush=True)


def timed(call):
    global cpu_s
    cpu, wall = time.process_time(), time.perf_counter()
    result = call()
    wall, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    return wall, result


def best(call, repeats=3, budget=1.0):
    """Least seconds of one call, over at least `repeats` calls and `budget` seconds, after one that warms up.
    The least of many single calls is what survives on a machine that others use too.
    `call` must block until its result is there."""
    global cpu_s
    call()
    seconds, end = [], time.perf_counter() + budget
    while len(seconds) < repeats or time.perf_counter() < end:
        wall = timed(call)[0]
        seconds.append((wall, cpu_s))
    wall, cpu_s = min(seconds)
    return wall


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def relative_error(got, exact):
    """Largest componentwise relative error."""
    return max(abs(float(a) - b) / abs(b) for a, b in zip(got, exact))


def cap_memory(gib=12):
    """Fails with an error instead of swapping or waking the OOM killer."""
    resource.setrlimit(resource.RLIMIT_DATA, (gib << 30, gib << 30))
