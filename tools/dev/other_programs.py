"""Other programs, each in an environment of its own under ``.dev``, that answer the requests of our scripts.

The side of the other program is a module that runs in its environment, with the checkout on its path, and calls
:func:`serve`; requests and answers are lines of JSON. Nothing but the standard library is imported here.
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

#: what pip installs for each, the program itself first
KALOS = ("kalos==0.8.0",)
KALPHACV = ("kalphacv==1.5.2", "pillow")  # it imports Pillow without declaring it


class OtherProgram:
    """A program in a process of its own, which keeps what it has read in memory."""

    def __init__(
        self,
        requirements: Sequence[str],
        module: str,
        *arguments: str,
        say: Callable[[str], None] = print,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Install the program if that was not done before, and start it.

        Args:
            requirements: what pip installs, the program first (``name==version``)
            module: the module that serves the requests, in the checkout
            arguments: what this module gets
            say: tells the user what takes time
            environment: variables for the process, on top of ours
        """
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
        """The answer to a request.

        Raises:
            RuntimeError: with the end of what the program wrote, if it has ended
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which the missing answer tells
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
    """The interpreter of an environment that has the requirements; made at the first call."""
    python, ready = folder / "bin" / "python", folder / "installed"
    wanted = " ".join(requirements)
    if not ready.is_file() or ready.read_text() != wanted:
        say(f"  installing {wanted} into {folder} (once) ...")
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *requirements], check=True)
        ready.write_text(wanted)
    return python


def serve(answer: Callable[..., Any]) -> None:
    """Answer requests until there are no more; whatever else the program prints goes to the standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        answers.write(json.dumps(answer(*json.loads(line))) + "\n")
        answers.flush()
