"""Which build of the engine is loaded.

A wheel holds two: _core for every x86-64 machine since 2015 (AVX2), and x86-64-v4/_core for those with AVX-512. The better one that
the processor can run is taken, or what COSTATE_ISA names (x86-64-v3 or x86-64-v4; v3 and v4 for short). A module built in a
checkout is for the machine it was built on, and the only one there.
"""
import importlib.machinery
import importlib.util
import os
import platform
import sys
from pathlib import Path

_WIDER = "x86-64-v4"
# What the levels of the x86-64 ABI mean, in the words of /proc/cpuinfo.
_FLAGS = {"x86-64-v3": {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
          "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}}


def processor_flags(file="/proc/cpuinfo"):
    """Of the first processor; nothing if they cannot be read."""
    try:
        with open(file) as lines:
            for line in lines:
                if line.startswith("flags"):
                    return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()


def choose(wanted, flags):
    """The instruction set to load. `wanted`: COSTATE_ISA, or an empty string; `flags`: of the processor, empty if unknown."""
    names = {name: name for name in _FLAGS} | {name[-2:]: name for name in _FLAGS}
    if wanted and wanted not in names:
        raise ImportError(f"COSTATE_ISA is {wanted!r}: choose {' or '.join(_FLAGS)}, or leave it unset")
    if flags and not flags >= _FLAGS["x86-64-v3"]:
        raise ImportError("costate needs a processor with AVX2 and FMA (x86-64-v3, since 2015); this one lacks "
                          + ", ".join(sorted(_FLAGS["x86-64-v3"] - flags)))
    wide = flags >= _FLAGS[_WIDER]
    if wanted and names[wanted] == _WIDER and not wide:
        raise ImportError(f"COSTATE_ISA is {wanted!r}, but this processor has no AVX-512")
    return names[wanted] if wanted else _WIDER if wide else "x86-64-v3"


def load():
    """Makes costate._core the chosen build, where there is a choice."""
    folder = Path(__file__).parent / _WIDER
    if not folder.is_dir() or platform.machine() != "x86_64":
        return
    if choose(os.environ.get("COSTATE_ISA", ""), processor_flags()) != _WIDER:
        return
    name = f"{__package__}._core"
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        file = folder / f"_core{suffix}"
        if file.exists():
            spec = importlib.util.spec_from_file_location(name, file)
            assert spec is not None and spec.loader is not None and __package__ is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            setattr(sys.modules[__package__], "_core", module)
            return
