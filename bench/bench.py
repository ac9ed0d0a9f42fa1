#!/usr/bin/env python3
"""Runs the benchmarks and prints one table: our rate, gradient against forward, share of what the machine can do, and
how many times faster than each other engine measured on this machine. Called by `./dev bench`.

A benchmark is called task/variant, its last part `forward` or `gradient` (a hand-written reference: `prototype_forward`,
`prototype_gradient`), with "float" or "double" as a part of its name where that applies. Its counters (bench/measure.h):
rate, and where they are known flops and bytes, all per second; `error`, relative; of rollouts on a device `call`, the
seconds of a whole one. Benchmarks called machine/... measure the machine, or the device."""
import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))
import families  # noqa: E402

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def machine():
    """Model, cores and instruction set: what decides whether two measurements may be compared."""
    info = Path("/proc/cpuinfo").read_text()
    found = re.search(r"model name\s*: (.*)", info)
    flags = (re.search(r"flags\s*: (.*)", info) or [""] * 2)[1].split()
    isa = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("sse2", "SSE2")) if flag in flags), "?")
    return f"{found[1].strip() if found else os.uname().machine}, {len(os.sched_getaffinity(0))} cores, {isa}"


def measure(program, pattern, repetitions, device):
    """{name: entry of the fastest repetition} and the context, from Google Benchmark's JSON."""
    # Many short repetitions, interleaved: on a machine with other work the best of each comes from the same quiet moments.
    # A device is ours alone, and each of its benchmarks takes the best of five by itself.
    command = [program, "--benchmark_format=json",
               *([f"--device={device}"] if device else
                 [f"--benchmark_repetitions={repetitions}", "--benchmark_min_time=0.05",
                  "--benchmark_enable_random_interleaving=true"]),
               *([f"--benchmark_filter=({pattern})|^machine/"] if pattern else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0 and not done.stdout:
        sys.exit(f"bench: {program} ended with {done.returncode}")
    report = json.loads(done.stdout)
    fastest, failed = {}, []
    for entry in report["benchmarks"]:
        name = re.sub(r"/(real_time|manual_time|iterations:\d+|min_time:[\d.]+|repeats:\d+|threads:\d+)", "", entry["run_name"])
        if entry.get("error_occurred"):
            failed.append(f"{name}: {entry['error_message']}")
        elif entry["run_type"] == "iteration":
            entry["seconds"] = entry["real_time"] * SECONDS[entry["time_unit"]]
            if name not in fastest or entry["seconds"] < fastest[name]["seconds"]:
                fastest[name] = entry
    return fastest, report["context"], failed


def sibling(name, replace):
    """The name with its last part changed by `replace`, or None where that changes nothing."""
    head, _, last = name.rpartition("/")
    other = f"{head}/{replace(last)}"
    return other if other != name else None


def faster_by(ours, theirs):
    """How many times faster `ours` is: by rate where both have one, else by seconds per iteration."""
    if "rate" in ours and "rate" in theirs:
        return ours["rate"] / theirs["rate"]
    return theirs["seconds"] / ours["seconds"]


def peer_figures(lines):
    """Timings of the peers as {"seconds"} or {"rate"}, with who and what."""
    for line in lines:
        if isinstance(line["value"], (int, float)) and line["value"] > 0:
            kind = {"seconds": line["value"] * SECONDS[line["unit"]]} if line["unit"] in SECONDS else \
                   {"rate": line["value"]} if line["unit"].endswith("/s") else None
            if kind:
                yield dict(kind, peer=line["peer"], version=line["version"], task=line["task"], metric=line["metric"])


def comparable(ours, figure):
    return "seconds" in figure or "rate" in ours


def matching(name, ours, figures, matches):
    """The peers' figures for a benchmark, each with how many times faster ours is."""
    for match in matches:
        if not re.fullmatch(match["ours"], name):
            continue
        # `each`: the peer's time is that of one of the items which our rate counts.
        one = {"seconds": 1 / ours["rate"]} if match.get("each") else ours
        for figure in figures:
            if re.fullmatch(match["task"], figure["task"]) and re.fullmatch(match["metric"], figure["metric"]) \
                    and comparable(one, figure):
                yield figure, faster_by(one, figure)


def against_peers(name, ours, figures, matches):
    """{peer: times faster than the fastest of its matching measurements}."""
    best = {}
    for figure, ratio in matching(name, ours, figures, matches):
        best[figure["peer"]] = min(ratio, best.get(figure["peer"], ratio))
    return best


def peak(fastest, name, what):
    """The machine's own figure for a benchmark: FMA peak in its precision, or memory bandwidth."""
    kind = "float" if "float" in name.split("/") else "double"
    entry = fastest.get(f"machine/fma_peak/{kind}" if what == "flops" else "machine/triad_bandwidth")
    return entry.get(what) if entry else None


def compare(fastest, figures, matches):
    """One row a benchmark: dict of metric -> (value, unit)."""
    rows = {}
    for name, ours in sorted(fastest.items(), key=lambda item: (not item[0].startswith("machine/"), item[0])):
        row = {"time": (ours["seconds"], "s")}
        if "rate" in ours:
            row["rate"] = (ours["rate"], "1/s")
        forward = sibling(name, lambda last: last.replace("gradient", "forward"))
        if forward in fastest:
            row["gradient / forward"] = (1 / faster_by(ours, fastest[forward]), "1")
        hand = sibling(name, lambda last: last if last.startswith("prototype_") else "prototype_" + last)
        if hand in fastest:
            row["speed / prototype"] = (faster_by(ours, fastest[hand]), "1")
        if "call" in ours:
            row["whole call"] = (ours["call"], "s")
        if "memory" in ours:
            row["memory"] = (ours["memory"], "B")
        if "error" in ours:
            row["error"] = (ours["error"], "1")
        for what, label in ("flops", "share of FMA peak"), ("bytes", "share of bandwidth"):
            if what in ours:
                row[what] = (ours[what], "flop/s" if what == "flops" else "B/s")
                limit = peak(fastest, name, what)
                if limit and not name.startswith("machine/"):
                    row[label] = (ours[what] / limit, "1")
        for peer, ratio in against_peers(name, ours, figures, matches).items():
            row[f"speed / {peer}"] = (ratio, "1")
        rows[name] = row
    return rows


def short(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.2e}"


def ours_text(row):
    """The figure people ask for: the rate, for the machine's own rows flop/s or B/s, else the time."""
    for what in "rate", "flops", "bytes":
        if what in row:
            return short(row[what][0]), row[what][1]
    seconds = row["time"][0]
    unit = next(u for u in ("s", "ms", "us", "ns") if seconds >= SECONDS[u] or u == "ns")
    return short(seconds / SECONDS[unit]), unit


def aligned(table, left):
    """Prints rows of cells in columns, those in `left` flush left."""
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        cells = [cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


# What to say about a model that walks on a floor: the benchmark behind contact/<model>/<precision>/, the peer, the unit.
WALKS = [("forward", "mujoco-c", "forward, 100 steps", "steps/s"),
         ("steps32/gradient", "mjx", "value and gradient, 32 steps", "steps/s"),
         ("jacobian", "mujoco-c", "Jacobian of a step, each", "us")]


def print_walkers(fastest, figures, matches):
    """Models on a floor beside MuJoCo C and MJX, one line for each model and question."""
    models = list(dict.fromkeys(name.split("/")[1] for name in fastest if name.startswith("contact/")))
    table = [["model", "", "unit", "double", "float", "peer", "theirs", "double", "float"]]
    for what, peer, title, unit in WALKS:
        for model in models:
            cells, ratios, theirs = [], [], ""
            for precision in "double", "float":
                name = f"contact/{model}/{precision}/{what}"
                ours = fastest.get(name)
                if ours is None or "rate" not in ours:
                    cells.append(""), ratios.append("")
                    continue
                cells.append(short(ours["rate"] if unit != "us" else 1e6 / ours["rate"]))
                found = [pair for pair in matching(name, ours, figures, matches) if pair[0]["peer"] == peer]
                if found:
                    figure, ratio = min(found, key=lambda pair: pair[1])
                    theirs = short(figure["rate"] if "rate" in figure else 1e6 * figure["seconds"])
                ratios.append(f"{short(ratio)}x" if found else "")
            if any(cells):
                table.append([model, title, unit, *cells, peer if theirs else "", theirs, *ratios])
    if len(table) > 1:
        print("\nwalkers on a floor, all cores; right: how many times faster than the peer")
        aligned(table, (0, 1, 2, 5))


def print_table(rows):
    titles = {"gradient / forward": "grad/fwd", "speed / prototype": "vs hand", "share of FMA peak": "FMA peak",
              "share of bandwidth": "bandwidth", "whole call": "call", "memory": "memory", "error": "error"}
    extra = list(dict.fromkeys([m for m in titles if any(m in row for row in rows.values())] +
                               [m for row in rows.values() for m in row if m.startswith("speed / ")]))
    table = [["benchmark", "ours", "unit", *(titles.get(m, "vs " + m.removeprefix("speed / ")) for m in extra)]]
    for name, row in rows.items():
        cells = []
        for m in extra:
            value = row[m][0] if m in row else None
            cells.append("" if value is None else f"{100 * value:.0f} %" if m.startswith("share") else
                         f"{value:.0e}" if m == "error" else f"{1e3 * value:.1f} ms" if m == "whole call" else
                         f"{1e-9 * value:.2f} GB" if m == "memory" else f"{value:.2f}" if m in titles else f"{short(value)}x")
        table.append([name, *ours_text(row), *cells])
    aligned(table, (0, 2))


def age(seconds):
    hours = seconds / 3600
    return "just now" if hours < 0.5 else f"{hours:.0f} h ago" if hours < 48 else f"{hours / 24:.0f} days ago"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--program", default="build-bench/bin/costate_bench")
    options.add_argument("--device", help="the program measures rollouts there: costate_device_bench")
    options.add_argument("--filter")
    options.add_argument("--peers", action="store_true")
    options.add_argument("--json")
    options.add_argument("--repetitions", type=int, default=20)
    options = options.parse_args()

    here = machine()
    if options.peers:
        print("measuring the other engines", file=sys.stderr)
        families.measure(here, families.concerned(options.filter))
    known = families.load(here) if not options.device else {}  # other engines were measured on the CPU
    figures = [f for family in known.values() for f in peer_figures(family["lines"])]
    fastest, context, failed = measure(options.program, options.filter, options.repetitions, options.device)
    matches = json.loads((HERE / "peers/match.json").read_text())
    rows = compare(fastest, figures, matches)

    here_now = context.get("device", "?") if options.device else \
        f"{here}, {context.get('compiler', '?')}, {context.get('simd', '?')}"
    print(here_now)
    load = os.getloadavg()[0]
    if context.get("cpu_scaling_enabled") or load > 1.5 * len(os.sched_getaffinity(0)):
        print(f"the machine is busy (load {load:.1f}): compare ratios rather than figures")
    print_table(rows)
    print_walkers(fastest, figures, matches)
    for name, family in known.items():
        versions = sorted({f"{line['peer']} {line['version']}" for line in family["lines"]})
        print(f"{', '.join(versions)}: measured {age(time.time() - family['when'])}")
    if options.json:
        flat = [dict(name=name, metric=metric, value=value, unit=unit, machine=here_now)
                for name, row in rows.items() for metric, (value, unit) in row.items()]
        Path(options.json).write_text(json.dumps(flat, indent=1) + "\n")
    for trouble in failed:
        print("FAILED", trouble, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
