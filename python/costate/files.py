"""Anything the engine can read, by one function."""
import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

from . import _core, rigid
from ._recipe import remembered
from .error import Error

AnyPath = str | os.PathLike[str]

load_plugin = remembered(_core.load_plugin, "costate", lambda path: ((os.path.abspath(path),), {}))


@overload
def load(path: AnyPath) -> Any: ...


@overload
def load(path: AnyPath, settings: Mapping[str, Any]) -> _core.Study: ...


def load(path, settings=None):
    """What a file describes.

    .xml, .urdf   System: a model of rigid bodies
    .toml         Study: a physics, a loss, and what may be changed; `settings` changes values of the file:
                  {"parameters.g": 1.6, "domain.dx": 0.01}
    .rec          Recording
    .so           System: a physics in C++ of your own (load_plugin)

    A plain name that is not a file here means a scene that comes with the package: load("humanoid.xml").
    An editor cannot know which of the three comes back. It does with rigid.load, load_study and read_recording.
    """
    path = _existing(str(path))
    if path.endswith(".toml"):
        return _core.load_study(path, settings)
    if settings:
        raise Error("settings change values of a TOML file; a model's are parameters of its System")
    if path.endswith(".rec"):
        return _core.read_recording(path)
    if path.endswith(".so"):
        return load_plugin(path)
    return rigid.load(path)


def load_study(path: AnyPath, settings: Mapping[str, Any] | None = None) -> _core.Study:
    """The Study of a .toml file."""
    return _core.load_study(_existing(str(path)), settings)


def read_recording(path: AnyPath) -> _core.Recording:
    """The Recording of a .rec file."""
    return _core.read_recording(str(path))


def _existing(path):
    """The file, or the scene of that name that comes with the package."""
    if Path(path).name != path or Path(path).exists():
        return path
    found = next((folder / path for folder in _scene_folders() if (folder / path).is_file()), None)
    return str(found or path)


def _scene_folders():
    return (Path(__file__).parent / "scenes", *(p / "scenes" for p in Path(__file__).resolve().parents))


def scene_file(name: str) -> str:
    """Path of a scene that comes with the package: "humanoid.xml", "coffee.toml"."""
    there: set[str] = set()
    for folder in _scene_folders():
        if (folder / name).is_file():
            return str(folder / name)
        there.update(file.name for file in folder.glob("*.*") if file.suffix in (".xml", ".toml", ".urdf"))
    near = difflib.get_close_matches(name, there)
    raise Error(f"the scene {name} is not part of this installation; " + (f"did you mean {' or '.join(near)}?" if near else
                f"there are {', '.join(sorted(there))}"))
