"""How a shipped package unpacks itself on an executor; `shipping` makes this text the package's ``__init__``.

Python could run it from the zip. But numba caches machine code beside the sources, or in the home directory, and
executors often have none that can be written; versions before 0.61 refuse to compile what lies in a zip. So the first
process that imports the package unpacks it into a folder, and every later one, of whatever session, finds sources and
machine code there. The standard library only: nothing else of the package can be imported yet.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

SHIPPED = "sparkcep/shipped/"
"""Where the package is inside the zip, behind the ``__init__`` that unpacks it."""


def unpacked(archive: str) -> str:
    """Return the folder with the sources of a zip, unpacked unless they are.

    Parameters
    ----------
    archive
        Path of a zip whose name tells its content.

    Notes
    -----
    The folder is ``sparkcep`` in the user's cache or, where that cannot be written, in the folder for temporary
    files, under a name with the user's number; one that another user could write to is not trusted, and replaced by
    one of this process alone.
    """
    name = Path(archive).stem
    for parent in _parents():
        try:
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_ours(parent):
                continue
            if not (parent / name).is_dir():
                _unpack(archive, parent, name)
            if os.access(parent / name / "engine", os.W_OK):
                return str(parent / name)
        except OSError:
            continue
    alone = Path(tempfile.mkdtemp(prefix="sparkcep-"))
    _unpack(archive, alone, name)
    return str(alone / name)


def _parents() -> Iterator[Path]:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(cache):
        yield Path(cache) / "sparkcep"
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    yield Path(tempfile.gettempdir()) / f"sparkcep-{user}"


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can put code there."""
    if not hasattr(os, "getuid"):
        return True
    state = folder.lstat()
    return state.st_uid == os.getuid() and not state.st_mode & 0o022


def _unpack(archive: str, parent: Path, name: str) -> None:
    """Unpack beside the folder and rename: no process ever sees half of it."""
    beside = Path(tempfile.mkdtemp(dir=parent))
    with zipfile.ZipFile(archive) as package:
        for member in package.namelist():
            if member.startswith(SHIPPED):
                target = beside / member[len(SHIPPED) :]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(package.read(member))
    try:
        beside.rename(parent / name)
    except OSError:
        shutil.rmtree(beside, ignore_errors=True)
        if not (parent / name).is_dir():
            raise
