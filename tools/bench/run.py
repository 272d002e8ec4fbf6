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

from .output import Row, print_rows, say

#: the module of this folder that has the function of each part; those that are no part of the whole last
MODULES = {
    **dict.fromkeys(("kernels", "crowd", "report"), "kernels"),
    "findings": "findings",
    "image_alpha": "image_alpha",
    **dict.fromkeys(("main_job", "sweep", "parts", "decide"), "runs"),
    "panel": "panel",
    "update": "runs",  # which changes labels, after those that share the dataset
    "semantic": "semantic",
    "memory": "large",
    "limits": "large",
    "workers": "workers",
}
APART = {"million": "large"}


def main() -> None:
    """Run the requested parts."""
    os.environ["FIFTYONE_SHOW_PROGRESS_BARS"] = "false"
    PrivateFiftyOne(ROOT / ".dev" / "bench").start()
    say(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    rows: list[Row] = []
    for part in sys.argv[1:] or MODULES:
        module = importlib.import_module(f"tools.bench.{(MODULES | APART)[part]}")
        say(f"{part}: {getattr(module, part).__doc__}")
        rows += getattr(module, part)()
    print_rows(rows)


if __name__ == "__main__":
    main()
