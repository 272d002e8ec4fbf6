"""``make way``: draw the way of a run into ``docs/images/way_of_a_run.svg``, from what really runs.

A run on 40 images with boxes of three annotators, then its printed report. A line stands for a module, indented under
the module that called it first, in the order of these calls, with the number of its functions that ran, and the first
line of its docstring. What another thread did is marked.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import sys
import threading
from pathlib import Path
from types import FrameType
from xml.sax.saxutils import escape

import numpy as np

from .plugin import load_plugin
from .private_fiftyone import ROOT, PrivateFiftyOne

PICTURE = ROOT / "docs" / "images" / "way_of_a_run.svg"
ANNOTATORS = ("alice", "bob", "carol")
#: kernels and settings are called from everywhere: what uses them says more than they do
_LEFT_OUT = ("metrics/", "names.py", "unavailable.py", "agreement/settings/", "tools/")
_COLORS = {"agreement": "#2f6f4f", "charts": "#8a4b08", "dataset_io": "#1f4e8c"}
_ROW, _INDENT, _WIDTH = 17, 14, 1100


class Way:
    """The modules in the order in which they were called first."""

    def __init__(self) -> None:
        self.caller: dict[str, str | None] = {}
        self.functions: dict[str, set[int]] = {}
        self.in_thread: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Look at a call of a function."""
        module = _module(frame.f_code.co_filename)
        if event != "call" or module is None or frame.f_code.co_name.startswith("<"):
            return
        self.functions.setdefault(module, set()).add(frame.f_code.co_firstlineno)
        if module in self.caller:
            return
        if threading.current_thread() is not threading.main_thread():
            self.in_thread.add(module)
        above = frame.f_back
        while above is not None and _module(above.f_code.co_filename) in (None, module):
            above = above.f_back
        self.caller[module] = None if above is None else _module(above.f_code.co_filename)

    def rows(self) -> list[tuple[int, str]]:
        """How deep every module stands, and its path."""
        found: list[tuple[int, str]] = []

        def add(module: str, depth: int) -> None:
            found.append((depth, module))
            for called, by in self.caller.items():
                if by == module:
                    add(called, depth + 1)

        for module, by in self.caller.items():
            if by is None:
                add(module, 0)
        return found


@functools.cache
def _module(file_name: str) -> str | None:
    """Path of a module of the product, from the root; None for all others."""
    path = Path(os.path.realpath(file_name))
    if not path.is_relative_to(ROOT):
        return None
    name = path.relative_to(ROOT).as_posix()
    return None if name.startswith((".", *_LEFT_OUT)) or not path.is_file() else name


def _first_line(module: str) -> str:
    text = ast.get_docstring(ast.parse((ROOT / module).read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("``", "")


def _svg(way: Way) -> str:
    rows = way.rows()
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_ROW * (len(rows) + 1)}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>'
    ]
    for number, (depth, module) in enumerate(rows, 1):
        n, x, y = len(way.functions[module]), 10 + _INDENT * depth, _ROW * number
        color = _COLORS.get(module.partition("/")[0], "#444444")
        thread = " · in a thread" if module in way.in_thread else ""
        lines += [
            f'<text x="{x}" y="{y}" fill="{color}">{escape(module)}<tspan fill="#777777"> {n}{thread} </tspan>',
            f'<tspan fill="#222222">{escape(_first_line(module))}</tspan></text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Run, and draw."""
    PrivateFiftyOne(ROOT / ".dev" / "way").start()
    os.environ["FIFTYONE_SHOW_PROGRESS_BARS"] = "false"
    import fiftyone as fo

    plugin, rng, dataset = load_plugin(), np.random.default_rng(1), fo.Dataset()
    samples = []
    for number in range(40):
        sample = fo.Sample(f"/images/{number}.jpg", metadata=fo.ImageMetadata(width=640, height=480))
        for annotator in ANNOTATORS:
            boxes = np.column_stack([rng.uniform(0, 0.6, (5, 2)), np.full((5, 2), 0.2)]).tolist()
            sample[annotator] = fo.Detections(
                detections=[fo.Detection(label=str(rng.choice(["cat", "dog"])), bounding_box=box) for box in boxes]
            )
        samples.append(sample)
    dataset.add_samples(samples, progress=False)
    plugin.compute(dataset, list(ANNOTATORS), run_key="first", progress=False)  # what imports does not belong to it
    way = Way()
    with contextlib.redirect_stdout(io.StringIO()):
        threading.setprofile(way)
        sys.setprofile(way)
        plugin.compute(dataset, list(ANNOTATORS), progress=False).print_report()
        sys.setprofile(None)
        threading.setprofile(None)
    dataset.delete()
    PICTURE.write_text(_svg(way), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {len(way.caller)} modules, {sum(map(len, way.functions.values()))} functions")


if __name__ == "__main__":
    main()
