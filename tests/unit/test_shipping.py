"""The shipped package: unpacks itself once, in a folder that can be written, and nobody else's."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pyspark import cloudpickle

from sparkcep.spark.batch import RowMatcher
from sparkcep.spark.executors import on_executors
from sparkcep.spark.shipping import zipped
from sparkcep.spark.unpacking import SHIPPED, unpacked


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ship") / "sparkcep-1234.zip"
    path.write_bytes(zipped())
    return path


def test_the_zip_holds_sources_and_nothing_else(archive: Path) -> None:
    names = zipfile.ZipFile(archive).namelist()
    assert {f"{SHIPPED}__init__.py", f"{SHIPPED}engine/sweep.py", "sparkcep/__init__.py"} <= set(names)
    assert {Path(name).suffix for name in names} == {".py"}
    assert zipped() == archive.read_bytes(), "same sources, same bytes: shipping again changes nothing"


def test_it_imports_as_the_package(archive: Path, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "import sparkcep, sparkcep.errors, sparkcep.spark.places as places\n"
        "print(sparkcep.__version__, sparkcep.__file__, places.__file__, sparkcep.__doc__.split()[0])"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    home = tmp_path / "sparkcep" / "sparkcep-1234"
    assert told.stdout.split()[1:] == [str(home / "__init__.py"), str(home / "spark/places.py"), "sparkcep"]


def test_where_it_is_unpacked(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cache, common = tmp_path / "cache", tmp_path / f"sparkcep-{os.getuid()}"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    assert unpacked(str(archive)) == str(cache / "sparkcep/sparkcep-1234")
    before = (cache / "sparkcep/sparkcep-1234/engine/sweep.py").stat().st_mtime_ns
    assert unpacked(str(archive)) == str(cache / "sparkcep/sparkcep-1234"), "again: the same folder, untouched"
    assert (cache / "sparkcep/sparkcep-1234/engine/sweep.py").stat().st_mtime_ns == before
    (cache / "sparkcep").chmod(0o777)
    assert unpacked(str(archive)) == str(common / "sparkcep-1234"), "another user could have put code there"
    assert common.stat().st_mode & 0o777 == 0o700
    common.chmod(0o777)
    alone = Path(unpacked(str(archive)))
    assert alone.parent.parent == tmp_path
    assert alone.parent.name not in (common.name, "cache")
    assert (alone / "engine/sweep.py").is_file()
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nothing")
    common.chmod(0o700)
    assert unpacked(str(archive)) == str(common / "sparkcep-1234"), "no cache can be written"


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    run = on_executors(iter)
    assert list(run(iter([]))) == []

    def missing(name: str) -> None:
        def loads(pickled: bytes) -> None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        monkeypatch.setattr("pickle.loads", loads)

    def no_folder(pickled: bytes) -> None:
        raise RuntimeError("cannot cache function 'f': no locator available for file 'x.py'")

    missing("sparkcep")
    with pytest.raises(ModuleNotFoundError, match=r"\[MISSING_ON_EXECUTORS\] .* Call sparkcep\.ship\(spark\) before"):
        run(iter([]))
    missing("numba")
    with pytest.raises(ModuleNotFoundError, match=r"\[MISSING_ON_EXECUTORS\] sparkcep needs 'numba' on executors"):
        run(iter([]))
    monkeypatch.setattr("pickle.loads", no_folder)
    with pytest.raises(RuntimeError, match=r"\[NO_CACHE_ON_EXECUTORS\] .*NUMBA_CACHE_DIR"):
        run(iter([]))


def test_a_worker_without_the_package_can_load_what_tells_it(tmp_path: Path) -> None:
    (tmp_path / "function").write_bytes(cloudpickle.dumps(on_executors(RowMatcher.push)))
    code = (
        "import pickle, sys; sys.modules['sparkcep'] = None\n"
        f"function = pickle.load(open({str(tmp_path / 'function')!r}, 'rb'))\n"
        "try: function(iter([]))\nexcept ModuleNotFoundError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "do not have sparkcep" in told.stdout
    assert f"Python that they run ({sys.executable})" in told.stdout
