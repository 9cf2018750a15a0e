"""Environments of their own for other matchers, made once with pip, and processes in them."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import FOLDER as DATA

FOLDER = DATA / "peers"
MEMORY, SECONDS = 8 * 2**30, 120
"""What one process may reserve, in bytes, and what one command may take."""


class NotAvailable(Exception):
    """A matcher that cannot be run here, with the reason."""


@dataclass(frozen=True)
class Peer:
    """Another matcher: the package, its version, the Python it needs, the script that runs it.

    `needs` are the packages that it imports for the work here, installed with it and without theirs.
    `memory` is what its process may reserve, in bytes; a Java machine reserves far more than its heap.
    """

    package: str
    version: str
    python: str
    script: str
    needs: tuple[str, ...] = ()
    memory: int = MEMORY


EPIGREP = Peer("epigrep", "0.2.0", "3.11", "with_epigrep.py")
PYCER = Peer("pycer", "0.1.6", "3.13", "with_pycer.py")
_DATES = ("python-dateutil==2.9.0.post0", "pytz==2025.2", "six==1.17.0")
PANDAS_MATCH_RECOGNIZE = Peer(
    "pandas-match-recognize",
    "0.2.5",
    "3.11",
    "with_pandas_match_recognize.py",
    ("pandas==2.2.3", "numpy==2.1.3", "antlr4-python3-runtime==4.13.2", "psutil==7.1.3", "tzdata==2025.2", *_DATES),
)
_OF_FLINK = ("apache-flink-libraries==2.3.0", "py4j==0.10.9.7", "cloudpickle==3.1.1", "ruamel.yaml==0.18.16")
FLINK = Peer(
    "apache-flink",
    "2.3.0",
    "3.11",
    "with_flink.py",
    (*_OF_FLINK, *_DATES, "typing_extensions==4.15.0"),
    2 * MEMORY,
)


def interpreter(peer: Peer) -> Path:
    """Return the Python of the peer's environment, which is made if it is not there.

    Raises
    ------
    NotAvailable
        Where there is no such Python, or pip cannot install the package.
    """
    folder = FOLDER / f"{peer.package}-{peer.version}"
    python = folder / "bin" / "python"
    if (folder / "_complete").exists():
        return python
    _done([_base(peer.python), "-m", "venv", "--clear", str(folder)], f"no environment for {peer.package}")
    wanted = f"{peer.package}=={peer.version}"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", wanted, *peer.needs]
    _done(install, f"pip cannot install {wanted}")
    (folder / "_complete").touch()
    return python


def _base(version: str) -> str:
    known = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for candidate in (shutil.which(f"python{version}"), *map(str, known)):
        if candidate is None:
            continue
        said = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        if said.stdout.startswith(f"Python {version}."):
            return candidate
    raise NotAvailable(f"there is no Python {version}")


def _done(command: list[str], failure: str) -> None:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        raise NotAvailable(f"{failure}: {last}")


class PeerProcess:
    """A process that loads a file once and answers commands about it; see `benchmarks.peers.serving`.

    Raises
    ------
    NotAvailable
        When a command takes more time or memory than is allowed, or the process ends.
    """

    def __init__(self, peer: Peer, file: Path, folder: Path) -> None:
        self.peer = peer
        script = Path(__file__).parent / peer.script
        self._talk = folder / "stderr"
        self._process = subprocess.Popen(
            [str(interpreter(peer)), str(script), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._talk.open("wb"),
            cwd=folder,
            env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
            text=True,
        )
        resource.prlimit(self._process.pid, resource.RLIMIT_AS, (peer.memory, peer.memory))

    def ask(self, command: str) -> Any:
        """Send a command; return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        out_of_time = threading.Event()

        def end() -> None:
            out_of_time.set()
            self._process.kill()

        limit = threading.Timer(SECONDS, end)
        limit.start()
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
            for line in self._process.stdout:
                if line.startswith("="):
                    return json.loads(line[1:])
        except BrokenPipeError:
            pass
        finally:
            limit.cancel()
        caps = f"{SECONDS} s and {self.peer.memory // 2**30} GiB"
        last = "" if out_of_time.is_set() else "; it ended: " + self._last_words()
        raise NotAvailable(f"{self.peer.package} gave no answer to '{command}' within {caps}{last}")

    def _last_words(self) -> str:
        self._process.wait(timeout=10)
        lines = self._talk.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self._process.returncode}"

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
