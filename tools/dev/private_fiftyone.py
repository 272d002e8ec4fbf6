"""A private FiftyOne: with its own database process, plugin folder and configuration.

Used by the demo, the App, the tests and the benchmarks, so that none of them touches the user's FiftyOne. Imports
nothing of FiftyOne: the environment must be set before that is imported.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: how long to wait for what is late: a busy machine is slow, and what is ready is not waited for
PATIENT_SECONDS = 240


def find_mongod() -> str | None:
    """The MongoDB server that came with FiftyOne, or one on the PATH; None if there is none."""
    spec = importlib.util.find_spec("fiftyone")
    if spec is not None and spec.origin is not None:
        bundled = Path(spec.origin).parent / "db" / "bin" / "mongod"
        if bundled.is_file():
            return str(bundled)
    return shutil.which("mongod")


def free_port() -> int:
    """A TCP port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _reserved_port() -> socket.socket:
    """A socket that keeps a TCP port of this machine from all others, until a server listens there."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


class PrivateFiftyOne:
    """A folder with a database, a plugin folder and configuration, and the database process.

    The database stops when this process ends. Create the object before importing FiftyOne: FiftyOne's exit handlers
    need the database, and then run first.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        # the database may start much later: the port must not be another database's by then
        self._reserved = _reserved_port()
        self.port = int(self._reserved.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.stop)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that make FiftyOne use this folder."""
        return {
            "FIFTYONE_DATABASE_URI": f"mongodb://127.0.0.1:{self.port}",
            "FIFTYONE_DATABASE_VALIDATION": "false",
            "FIFTYONE_DATABASE_DIR": str(self.folder / "unused-db"),
            "FIFTYONE_PLUGINS_DIR": str(self.folder / "plugins"),
            "FIFTYONE_CONFIG_PATH": str(self.folder / "config.json"),
            "FIFTYONE_APP_CONFIG_PATH": str(self.folder / "app_config.json"),
            "FIFTYONE_DEFAULT_DATASET_DIR": str(self.folder / "datasets"),
            "FIFTYONE_DATASET_ZOO_DIR": str(self.folder / "zoo"),
            "FIFTYONE_MODEL_ZOO_DIR": str(self.folder / "models"),
            "FIFTYONE_DO_NOT_TRACK": "true",
        }

    def prepare(self) -> None:
        """Create the folders, link the checkout as a plugin, and set the environment of this process."""
        for name in ("db", "plugins", "datasets"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        link = self.folder / "plugins" / "agreement"
        if not link.is_symlink():
            link.symlink_to(ROOT)
        os.environ.update(self.environment)

    def start(self) -> PrivateFiftyOne:
        """Start the database and wait until it answers."""
        if self._process is not None:
            return self
        mongod = find_mongod()
        if mongod is None:
            raise RuntimeError("No MongoDB was found; run `make setup` first")
        self.prepare()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):  # end in the ordinary way, which stops the database
                signal.signal(number, lambda *_: sys.exit(1))
        self._stop_orphan()
        log = self.folder / "mongod.log"
        arguments = ["--dbpath", str(self.folder / "db"), "--port", str(self.port), "--bind_ip", "127.0.0.1"]
        self._process = subprocess.Popen(
            [mongod, *arguments, "--nounixsocket", "--logpath", str(log)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._owners.write_text(f"{self._process.pid} {os.getpid()}")
        deadline = time.monotonic() + PATIENT_SECONDS
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    self._reserved.close()
                    return self
            if self._process.poll() is not None:
                raise RuntimeError(
                    f"MongoDB did not start in {self.folder / 'db'} (is another `make demo` or `make app` running?); "
                    f"its log is {log}"
                )
            time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"MongoDB did not answer within {PATIENT_SECONDS} seconds; its log is {log}")

    @property
    def _owners(self) -> Path:
        """File with the ids of the database process and of the process that started it."""
        return self.folder / "mongod.pid"

    def _stop_orphan(self) -> None:
        """Stop a database of this folder whose starter was killed before it could stop it."""
        import psutil  # comes with FiftyOne

        if not self._owners.is_file():
            return
        database, starter = map(int, self._owners.read_text().split())
        if psutil.pid_exists(starter) and starter != os.getpid():
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(database)
            if str(self.folder / "db") in process.cmdline():
                process.terminate()
                process.wait(30)

    def crash(self) -> None:
        """Kill the database, as a power failure would; :meth:`start` starts it again where it was."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None

    def stop(self) -> None:
        """Stop the database."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None
