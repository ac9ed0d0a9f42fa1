"""Files that come with the package, by name."""
import difflib
import os
from pathlib import Path

from .error import Error

_FOLDERS = ("scenes", "examples")
_KINDS = (".xml", ".toml", ".urdf")


def _folders():
    """In a package, and in a checkout around it."""
    return [place / name for place in (Path(__file__).parent, *Path(__file__).resolve().parents) for name in _FOLDERS]


def found(name):
    return next((str(folder / name) for folder in _folders() if (folder / name).is_file()), None)


def meant(name):
    """What somebody may have meant by `name`."""
    there = {file.name for folder in _folders() for file in folder.glob("*.*") if file.suffix in _KINDS}
    near = difflib.get_close_matches(name, there, cutoff=0.75)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(there))}"


def shared():
    """The folder that has the scenes, for the command line."""
    return str(next((folder.parent for folder in _folders() if folder.is_dir()), Path(__file__).parent))


def existing(path):
    """The file; where there is none, the one of that name that comes with the package."""
    path = os.fspath(path)
    if os.path.exists(path):
        return path
    folder, name = os.path.split(path)
    there = found(name) if folder in ("", *_FOLDERS) else None
    if there is None and path.endswith(_KINDS):
        raise Error(f"there is no file {path} in {os.getcwd()}, and the package has no scene of that name; {meant(name)}"
                    if folder in ("", *_FOLDERS) else f"there is no file {path}")
    return there or path
