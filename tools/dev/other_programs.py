"""Run other programs, each in its own environment under ``.dev``, and send them requests.

A module that runs in the environment of the other program, with the checkout on its path, calls :func:`serve`; requests
and answers are lines of JSON. Only the standard library is imported here.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .private_fiftyone import ROOT

#: requirements of each for pip, the program itself first
KALOS = ("kalos==0.8.0",)
KALPHACV = ("kalphacv==1.5.2", "pillow")  # it imports Pillow without declaring it


class OtherProgram:
    """A program in its own process, which keeps its data in memory."""

    def __init__(
        self,
        requirements: Sequence[str],
        module: str,
        *arguments: str,
        say: Callable[[str], None] = print,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Install the program if necessary, and start it."""
        self._name = requirements[0]
        folder = ROOT / ".dev" / self._name.split("==")[0]
        python = _python_with(requirements, folder, say)
        self._log = (folder / "stderr.log").open("w+")
        self._process = subprocess.Popen(
            [str(python), "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
        )

    def ask(self, *request: Any) -> Any:
        """The answer to a request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended; the missing answer is reported below
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise RuntimeError(f"{self._name} ended without an answer to {request}: {self._log.read()[-2000:]}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._log.close()


def _python_with(requirements: Sequence[str], folder: Path, say: Callable[[str], None]) -> Path:
    """The interpreter of an environment with the requirements; created at the first call."""
    python, ready = folder / "bin" / "python", folder / "installed"
    wanted = " ".join(requirements)
    if not ready.is_file() or ready.read_text() != wanted:
        say(f"  installing {wanted} into {folder} (once) ...")
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *requirements], check=True)
        ready.write_text(wanted)
    return python


def serve(*functions: Callable[..., Any]) -> None:
    """Answer requests, a name and arguments, until the input ends; other output goes to the standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    named = {function.__name__: function for function in functions}
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        answers.write(json.dumps(named[name](*arguments)) + "\n")
        answers.flush()
