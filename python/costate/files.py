"""Anything the engine can read, by one function."""
import difflib
from pathlib import Path

from . import _core, rigid
from .error import Error


def load(path, settings=None):
    """What a file describes.

    .xml, .urdf   System: a model of rigid bodies
    .toml         Study: a physics, a loss, and what may be changed; `settings` changes values of the file:
                  {"parameters.g": 1.6, "domain.dx": 0.01}
    .rec          Recording

    A plain name that is not a file here means a scene that comes with the package: load("humanoid.xml").
    """
    path = _existing(str(path))
    if path.endswith(".toml"):
        return _core.load_study(path, settings)
    if settings:
        raise Error("settings change values of a TOML file; a model's are parameters of its System")
    if path.endswith(".rec"):
        return _core.read_recording(path)
    return rigid.load(path)


def _existing(path):
    """The file, or the scene of that name that comes with the package."""
    if Path(path).name != path or Path(path).exists():
        return path
    found = next((folder / path for folder in _scene_folders() if (folder / path).is_file()), None)
    return str(found or path)


def _scene_folders():
    return (Path(__file__).parent / "scenes", *(p / "scenes" for p in Path(__file__).resolve().parents))


def scene_file(name):
    """Path of a scene that comes with the package: "humanoid.xml", "coffee.toml"."""
    there = set()
    for folder in _scene_folders():
        if (folder / name).is_file():
            return str(folder / name)
        there.update(file.name for file in folder.glob("*.*") if file.suffix in (".xml", ".toml", ".urdf"))
    near = difflib.get_close_matches(name, there)
    raise Error(f"the scene {name} is not part of this installation; " + (f"did you mean {' or '.join(near)}?" if near else
                f"there are {', '.join(sorted(there))}"))
