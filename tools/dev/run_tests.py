"""``make test`` and ``make test-long``: the tests in the App, and beside them all others, of one of the two parts.

Most tests in the App run one after another and take longest: the others have a much lower priority, so that a browser
has the processor when it wants it. ``make test`` has eight of them: there all are alike, or the others would hardly get
on beside programs that keep the machine busy. What both say is shown as they say it. ``make test-all`` runs both parts
in one go, each test once, and no process waits for those of the other part.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

from .private_fiftyone import ROOT

#: which tests belong to a part; those that draw random cases belong to both, and draw a quarter of them in the first
PARTS = {"short": "not long", "long": "long or random or hypothesis", "all": ""}
_BELOW = ["nice", "-n", "10"]
_SIDE_BY_SIDE = ["--dist", "loadscope", "--no-loadscope-reorder"]
#: exit code of pytest where a part has no test
_NO_TESTS = 5


def main() -> None:
    """Run a part, or both; ends with 1 if a test failed."""
    part = sys.argv[1]
    environment = dict(os.environ, PYTHONUNBUFFERED="1", **({"FEW_CASES": "1"} if part == "short" else {}))
    pytest = [sys.executable, "-m", "pytest", "-m", PARTS[part]]
    # a test that waits for its database leaves a processor idle; those of the long part start processes of their own
    side_by_side = [*_SIDE_BY_SIDE, "-n", str(min(4, (os.cpu_count() or 1) + (part == "short")))]
    commands = {
        # a click may be lost while the App draws; a test that failed is tried once more, and named as RERUN
        "App": [*pytest, "tests/app", "-vv", "--reruns", "1", "-rR"],
        "others": [*([] if part == "short" else _BELOW), *pytest, *side_by_side, "--ignore=tests/app"],
    }
    if part != "short":
        commands["oldest FiftyOne"] = [*_BELOW, "sh", "tools/dev/test_oldest.sh"]
    began = time.monotonic()
    running = {
        name: subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for name, command in commands.items()
    }
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    width = max(map(len, commands))

    def show(name: str) -> None:
        for line in running[name].stdout or ():
            minutes, seconds = divmod(int(time.monotonic() - began), 60)
            sys.stdout.write(f"{minutes:3}:{seconds:02} {name:<{width}} {line.rstrip()}".rstrip() + "\n")
            sys.stdout.flush()

    readers = [threading.Thread(target=show, args=(name,), daemon=True) for name in running]
    try:
        for reader in readers:
            reader.start()
        codes = {name: process.wait() for name, process in running.items()}
        for reader in readers:
            reader.join()
    finally:
        for process in running.values():
            process.terminate()
    failed = [name for name, code in codes.items() if code not in (0, _NO_TESTS)]
    sys.stdout.write(f"Failed: {', '.join(failed)}\n" if failed else "All passed.\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
