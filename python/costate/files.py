"""Anything the engine can read, by one function."""
import os
from collections.abc import Mapping
from typing import Any, overload

from . import _core, rigid
from ._recipe import remembered, study
from ._scenes import existing, found, meant
from .error import Error

AnyPath = str | os.PathLike[str]



def _absolute(path: AnyPath) -> AnyPath:
    return os.path.abspath(path) if os.fspath(path) else path  # nothing is no folder


load_plugin = remembered(_core.load_plugin, "costate", lambda path: ((_absolute(path),), {}), _absolute)


@overload
def load(path: AnyPath) -> Any: ...


@overload
def load(path: AnyPath, settings: Mapping[str, Any]) -> _core.Study: ...


@overload
def load(path: AnyPath, **options: Any) -> _core.System: ...


def load(path, settings=None, **options):
    """What a file describes.

    .xml, .urdf   System: a model of rigid bodies; `options` are those of rigid.load: onset="none", keyframe="home"
    .toml         Study: a physics, a loss, and what may be changed; `settings` changes values of the file:
                  {"parameters.g": 1.6, "domain.dx": 0.01}
    .rec          Recording
    .so           System: a physics in C++ of your own (load_plugin)

    A plain name that is not a file here means a scene that comes with the package: load("humanoid.xml").
    An editor cannot know which of the three comes back. It does with rigid.load, load_study and read_recording.
    """
    path = existing(path)
    if options and not path.endswith((".xml", ".urdf")):
        raise Error(f"{path}: {next(iter(options))} is an option of models (.xml, .urdf); "
                    "values of a study are changed by settings: {'contact.onset': 'none'}")
    if path.endswith(".toml"):
        return study(path, settings)
    if settings:
        raise Error("settings change values of a TOML file; a model's are parameters of its System")
    if path.endswith(".rec"):
        return _core.read_recording(path)
    if path.endswith(".so"):
        return load_plugin(path)
    if not path.endswith((".xml", ".urdf")):
        raise Error(f"{path}: the ending says what is in a file: .xml or .urdf (a model), .toml (a study), .rec (a recording), .so (a physics "
                    "of your own)")
    return rigid.load(path, **options)


def load_study(path: AnyPath, settings: Mapping[str, Any] | None = None) -> _core.Study:
    """The Study of a .toml file."""
    return study(existing(path), settings)


def read_recording(path: AnyPath) -> _core.Recording:
    """The Recording of a .rec file."""
    return _core.read_recording(str(path))


def scene_file(name: str) -> str:
    """Path of a scene that comes with the package: "humanoid.xml", "coffee.toml"."""
    file = found(name)
    if file is None:
        raise Error(f"the scene {name} is not part of this installation; {meant(name)}")
    return file
