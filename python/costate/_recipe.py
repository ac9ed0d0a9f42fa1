"""Systems, losses and studies in other processes: what is pickled is the call that made them.

A model travels as the name of its file and what load() was told; a recorded function as its program. The other process
makes it again, and notices if it comes out different. Copies share the original, which never changes.
"""
import copy
import difflib
import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from . import _core
from .error import Error

P = ParamSpec("P")
Made = TypeVar("Made", _core.System, _core.Loss)


def _refuse_unknown(make, keywords):
    """An option that a function of the engine has not; its own message would list every type."""
    signature = getattr(make, "__nb_signature__", None)
    if signature is None:
        return
    known = re.findall(r"[(,] ?(\w+): ", signature[0][0])
    for name in keywords.keys() - set(known):
        near = difflib.get_close_matches(name, known, 1)
        raise TypeError(f"{make.__name__}() has no option {name!r}; " +
                        (f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known[1:])}"))


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
        _refuse_unknown(make, keywords)
        made = making(*arguments, **keywords)
        recipe: tuple[Any, ...] = (call, *copy.deepcopy(kept(*arguments, **keywords)))  # the caller may write to its arrays later
        setattr(made, "_recipe", (*recipe, _digest(os.fspath(recipe[1][0]))) if found else recipe)
        return made

    call.__module__, call.__qualname__ = module, make.__name__
    return call


def _model_of(system):
    """The text of its file, and the numbers that were read from it, in a few digits each."""
    file = (system._recipe or ())[3:4]
    return "/".join([*(str(digest)[:16] for digest in file), f"{system._fingerprint:016x}"])


def _system_again(recipe, model):
    make, arguments, keywords = recipe[:3]
    system = make(*arguments, **keywords)
    if _model_of(system) != model:
        raise Error(f"'{system.name}' is not the system that was pickled: its model is {_model_of(system)} here and was {model} there; "
                    "has its file changed since?")
    return system


def _loss_again(recipe):
    make, arguments, keywords = recipe
    return make(*arguments, **keywords)


def reduce_system(system):
    if system._recipe is None:
        raise Error(f"'{system.name}' cannot be pickled: it was not made by a function of costate")
    return _system_again, (system._recipe, _model_of(system))


def reduce_loss(loss):
    if loss._recipe is None:
        raise Error(f"{loss!r} cannot be pickled: it was not made by a function of costate.loss")
    return _loss_again, (loss._recipe,)


def _digest(path: str) -> str | None:
    """Of the text of a file; None of a pipe, which is read only once."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def study(path: str, settings=None) -> _core.Study:
    """The Study of a file, which can be pickled."""
    digest = _digest(path)
    made = _core.load_study(path, settings)
    setattr(made, "_recipe", (os.path.abspath(path), copy.deepcopy(settings), digest))
    return made


def _study_again(path, settings, digest):
    made = study(path, settings)
    if digest is None or getattr(made, "_recipe")[2] != digest:
        raise Error(f"{path} is not the file whose study was pickled: has it changed since?")
    return made


def reduce_study(study):
    if study._recipe is None:
        raise Error(f"{study!r} cannot be pickled: it was not made by costate.load")
    return _study_again, study._recipe


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
    if recording.frames == 0 and not recording.bodies and not recording.meshes:  # of what has no picture: a file needs a frame
        return _core.Recording, ()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pickled.rec")
        recording.write(path)
        with open(path, "rb") as file:
            return _recording_again, (file.read(),)
