"""How often a report finds something in data without habits, and how often it finds planted ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .generated import GeneratedBoxes, generate, report_on
from .habits import SIMULATED, report_on_classes
from .kernels import generate_crowd
from .output import Row, at_most, say

RUNS = 200
#: data on which all annotators do alike, by title
WITHOUT_HABITS: dict[str, Callable[[int], GeneratedBoxes]] = {
    "2 annotators, 60 images": lambda seed: generate(60, 2, seed),
    "3 annotators, 60 images": lambda seed: generate(60, 3, seed),
    "4 annotators, 60 images": lambda seed: generate(60, 4, seed),
    "5 annotators, 300 images": lambda seed: generate(300, 5, seed),
    "crowd of 200, 200 images": lambda seed: generate_crowd(200, 10, seed, alike=True),
}
#: annotators, images and runs of the table of power
POWER = ((2, 60, 40), (3, 30, 40), (3, 60, 40), (4, 100, 40), (8, 200, 10))


def forgetful(data: GeneratedBoxes, rng: np.random.Generator, share: float = 0.35) -> GeneratedBoxes:
    """The data without a share of the objects of the first annotator."""
    return data.of_rows((data.annotator != 0) | (rng.random(len(data.sample)) >= share))


def _report_on_forgetful(n_images: int, n_annotators: int, seed: int, share: float) -> Any:
    return report_on(forgetful(generate(n_images, n_annotators, seed), np.random.default_rng(seed), share))


#: a habit of the first annotator in words, how the report on it is made, and its sizes
HABITS: tuple[tuple[str, Callable[[int, int, int, float], Any], dict[str, float]], ...] = (
    ("does not draw so many of the objects", _report_on_forgetful, {"35 %": 0.35, "10 %": 0.1}),
    ("one class for so many images, whatever is there", report_on_classes, {"35 %": 0.35, "15 %": 0.15}),
    (
        "a random class for so many images",
        lambda *case: report_on_classes(*case, at_random=True),
        {"35 %": 0.35, "15 %": 0.15},
    ),
    ("rates higher by so many points of 5", SIMULATED["numbers"][0], {"0.6": 0.6, "0.3": 0.3}),
    ("leaves out so many of the tags", SIMULATED["tags"][0], {"30 %": 0.3, "15 %": 0.15}),
    ("paints one class so much wider", SIMULATED["masks"][0], {"12 %": 0.12, "6 %": 0.06}),
)


def _share_without_habits(title: str, report: Callable[[int], Any]) -> Row:
    n = sum(bool(report(seed).findings) for seed in range(RUNS))
    say(f"{title}, nobody has a habit: {n} of {RUNS} runs have a finding")
    return Row(f"findings without habits, {title}, share of runs", n / RUNS, at_most(0.05))


def findings() -> list[Row]:
    """The runs with a finding where nobody has a habit, and the table of ``docs/method/findings.md`` with one."""
    rows = [
        _share_without_habits(title, lambda seed, draw=draw: report_on(draw(seed)))
        for title, draw in WITHOUT_HABITS.items()
    ]
    for family, (report, _, _) in SIMULATED.items():
        for n, images in ((2, 60), (3, 30), (3, 100), (4, 60), (8, 200)):
            of_size = functools.partial(report, images, n)
            rows.append(_share_without_habits(f"{family}, {n} annotators, {images} images", of_size))
    say("| habit | size | " + " | ".join(f"{n} annotators, {images} images" for n, images, _ in POWER) + " |")
    say("| --- " * (2 + len(POWER)) + "|")
    for habit, report, sizes in HABITS:
        for title, size in sizes.items():
            cells = []
            for n_annotators, n_images, runs in POWER:
                found = (report(n_images, n_annotators, seed, size).findings for seed in range(runs))
                n = sum(any(each.annotators == ["worker 1"] for each in of_run) for of_run in found)
                cells.append(f"{n} of {runs}")
                where = f"{n_annotators} annotators, {n_images} images"
                rows.append(Row(f"named, {habit}, {title}, {where}, share of runs", n / runs))
            say(f"| {habit} | {title} | " + " | ".join(cells) + " |")
    return rows
