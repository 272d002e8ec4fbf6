"""Measure everything and print it beside its limits, ``ok`` or ``over``: ``make bench``.

Parts of it: ``make bench ARGS="main_job kernels"``. ``make bench ARGS=million`` is no part of the whole,
as it takes hours.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys

from tools.dev.private_fiftyone import ROOT, PrivateFiftyOne

from .output import print_rows, say

PARTS = (
    *("kernels", "crowd", "findings", "main_job", "sweep", "report", "shapes", "semantic", "memory", "limits", "panel"),
    *("update", "decide", "keyboard", "image_alpha", "parts", "convergence", "workers"),
)


def main() -> None:
    """Run the requested parts."""
    parts = sys.argv[1:] or PARTS
    os.environ["FIFTYONE_SHOW_PROGRESS_BARS"] = "false"
    PrivateFiftyOne(ROOT / ".dev" / "bench").start()
    say(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    rows = []
    for part in parts:
        rows += importlib.import_module(f"tools.bench.{part}").measure()
    print_rows(rows)


if __name__ == "__main__":
    main()
