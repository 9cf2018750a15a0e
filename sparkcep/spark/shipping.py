"""``sparkcep.ship``: executors without sparkcep get it from the driver."""

from __future__ import annotations

import atexit
import hashlib
import io
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import SparkSession

from sparkcep.spark.unpacking import SHIPPED

if TYPE_CHECKING:
    from importlib.abc import Traversable

Session = TypeVar("Session", bound=SparkSession)
_LEFT_OUT = {"__pycache__", "demo_data"}
# What the package's __init__ does inside the zip, behind the text of `unpacking`.
_START = """
__path__ = [unpacked(__spec__.loader.archive)]
__file__ = os.path.join(__path__[0], "__init__.py")
exec(compile(Path(__file__).read_bytes(), __file__, "exec", dont_inherit=True))
"""


def ship(spark: Session) -> Session:
    """Send sparkcep to executors that do not have it installed; call it once, before the first match runs.

    Parameters
    ----------
    spark
        The session, classic or Connect.

    Returns
    -------
    SparkSession
        The session that was given. Shipping the same version again changes nothing.

    Notes
    -----
    The sources travel as a zip of a few hundred kilobytes, by ``spark.addArtifacts``. An executor unpacks them into
    ``sparkcep`` in its user's cache (``XDG_CACHE_HOME``, else ``~/.cache``), or under its folder for temporary files
    where that cannot be written. There numba keeps compiled kernels too: they are compiled once per machine, which
    takes seconds, and not once per worker.

    numpy, numba and pyarrow hold machine code and do not travel: executors must have them. A match that finds
    one of them, or sparkcep itself, missing says so. Where sparkcep is installed on executors, what was shipped wins.

    Examples
    --------
    >>> spark = sparkcep.ship(spark)                                         # doctest: +SKIP
    """
    spark.addArtifacts(str(_archive()), pyfile=True)
    return spark


@cache
def _archive() -> Path:
    """Write the zip; executors may fetch it at any time, so it stays as long as this process."""
    content = zipped()
    folder = Path(tempfile.mkdtemp(prefix="sparkcep-ship-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # The name tells the content: another version is another file, and the same one is known to be there.
    archive = folder / f"sparkcep-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    archive.write_bytes(content)
    return archive


def zipped() -> bytes:
    """Return the package as a zip that unpacks itself when it is imported; the same sources give the same bytes."""
    written = io.BytesIO()
    spark: Any = files("sparkcep.spark")  # a Path, or one inside a zip
    package: Traversable = spark.parent
    starting = (package / "spark" / "unpacking.py").read_text(encoding="utf-8") + _START
    with zipfile.ZipFile(written, "w") as archive:
        _add(archive, "sparkcep/__init__.py", starting.encode())
        for name, source in _sources(package, SHIPPED):
            _add(archive, name, source.read_bytes())
    return written.getvalue()


def _sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir() and item.name not in _LEFT_OUT:
            yield from _sources(item, f"{prefix}{item.name}/")
        elif item.name.endswith(".py"):
            yield f"{prefix}{item.name}", item


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
