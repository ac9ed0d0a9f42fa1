"""Systems and losses in other processes: what is pickled is the call that made them.

A model travels as the name of its file and what load() was told; a recorded function as its program. The other process
makes it again, and notices if it comes out different. Copies share the original, which never changes.
"""
import copy
import functools
import os
import tempfile
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from . import _core
from .error import Error

P = ParamSpec("P")
Made = TypeVar("Made", _core.System, _core.Loss)


def remembered(make: Callable[P, Made], module: str, kept=lambda *a, **k: (a, k), found=None) -> Callable[P, Made]:
    """The same function; what it makes can be pickled. `module`: where the function is found by its name; `kept`: the arguments
    that are given to it in another process; `found`: the file that is meant by its first argument, a path."""
    making: Callable = make

    @functools.wraps(make)
    def call(*arguments, **keywords):
        if found and arguments:
            arguments = (found(arguments[0]), *arguments[1:])
        elif found and "path" in keywords:
            keywords["path"] = found(keywords["path"])
        made = making(*arguments, **keywords)
        setattr(made, "_recipe", (call, *copy.deepcopy(kept(*arguments, **keywords))))  # the caller may write to its arrays later
        return made

    call.__module__, call.__qualname__ = module, make.__name__
    return call


def _system_again(recipe, fingerprint):
    make, arguments, keywords = recipe
    system = make(*arguments, **keywords)
    if system._fingerprint != fingerprint:
        raise Error(f"'{system.name}' is not the system that was pickled: has its file changed since?")
    return system


def _loss_again(recipe):
    make, arguments, keywords = recipe
    return make(*arguments, **keywords)


def reduce_system(system):
    if system._recipe is None:
        raise Error(f"'{system.name}' cannot be pickled: it was not made by a function of costate")
    return _system_again, (system._recipe, system._fingerprint)


def reduce_loss(loss):
    if loss._recipe is None:
        raise Error(f"{loss!r} cannot be pickled: it was not made by a function of costate.loss")
    return _loss_again, (loss._recipe,)


def rollout(system, steps, options):
    return system.rollout(steps, **options)


def _recording_again(data):
    handle, path = tempfile.mkstemp(suffix=".rec")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return _core.read_recording(path)
    finally:
        os.remove(path)


def reduce_recording(recording):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pickled.rec")
        recording.write(path)
        with open(path, "rb") as file:
            return _recording_again, (file.read(),)
