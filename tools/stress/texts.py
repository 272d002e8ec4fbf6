"""Hostile names of classes and annotators, exported in every format, to paths that cannot be."""

from __future__ import annotations

import csv
import io
import os
import re
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import fiftyone as fo

import annotator_agreement as plugin
from .parameters import TEXTS, any_value, broken_promise, own_folder
from .run import Campaign, Outcome

_PARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "<img src=http://h/x.png>", "](http://h)", "![", "|", "`", "&lt;", "'")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d+)?(e[+-]?\d+)?|inf|nan)")
_FORBIDDEN_TAGS = {"img", "script", "iframe", "object", "link", "form", "embed", "base"}


class _Tags(HTMLParser):
    """All tags of a page, and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))


def formulas(archive: Path) -> list[str]:
    """The cells of the exported tables that a spreadsheet takes for formulas."""
    cells: set[str] = set()
    with zipfile.ZipFile(archive) as tables:
        for entry in tables.namelist():
            text = tables.read(entry).decode("utf-8-sig")
            cells.update(cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row)
    return sorted(cell for cell in cells if re.match(r"[=+\-@\t\r\n]", cell) and not _NUMBER.fullmatch(cell))


def active_parts(page: str) -> list[str]:
    """What a page would run, or ask other computers for, apart from its own scripts."""
    tags = _Tags()
    tags.feed(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    found = [tag for tag, _ in tags.found if tag in _FORBIDDEN_TAGS]
    for _, attributes in tags.found:
        for name, value in attributes:
            leads_away = name in ("src", "href", "action") and not (value or "").startswith("#")
            found += [f"{name}={value}"] * (name.startswith("on") or leads_away)
    return found


def _name(random: Random) -> str:
    if random.random() < 0.5:
        return random.choice([text for text in TEXTS if 0 < len(text) <= 500])
    return "".join(random.choices(_PARTS, k=random.randrange(1, 4))) + random.choice(("x", "1", "SUM(1)"))


def _one_round(random: Random, folder: Path) -> Iterator[str]:
    classes, who = [_name(random) for _ in range(4)], [f"{_name(random)}{k}" for k in range(3)]
    dataset = fo.Dataset(f"stress-texts-{os.getpid()}")
    try:
        samples = []
        for number in range(3):
            labels = [
                fo.Detection(label=random.choice(classes), bounding_box=[0.1, 0.1, 0.3, 0.3 + k / 50], who=name)
                for k, name in enumerate(who)
            ]
            samples.append(fo.Sample(f"/images/{number}.jpg", all=fo.Detections(detections=labels)))
        dataset.add_samples(samples, dynamic=True)
        options = {"annotator_attribute": "who", "resamples": 0}
        wrong = broken_promise(lambda: plugin.compute(dataset, "all", **options))
        if wrong is not None:
            yield wrong
        if plugin.list_runs(dataset):
            yield from _exports(dataset, random, folder)
    finally:
        dataset.delete()


def _exports(dataset: fo.Dataset, random: Random, folder: Path) -> Iterator[str]:
    tables = plugin.load(dataset).export(path=folder / "tables.zip", overwrite=True)
    yield from (f"a cell {cell!r}" for cell in formulas(Path(tables)))
    page = plugin.load(dataset).export(path=folder / "page.html", overwrite=True)
    yield from (f"in the page: {part}" for part in active_parts(Path(page).read_text(encoding="utf-8")))
    for _ in range(3):
        path: Any = random.choice([any_value(random), random.choice(TEXTS), f"{random.choice(TEXTS)}.html"])
        format = random.choice((None, "html", "csv", "json"))
        outside = set(folder.parent.iterdir())
        wrong = broken_promise(lambda: plugin.load(dataset).export(path=path, format=format, overwrite=True))  # noqa: B023
        if wrong is not None:
            yield f"to {path!r:.80} as {format}: {wrong}"
        if set(folder.parent.iterdir()) - outside and ".." not in str(path):
            yield f"to {path!r:.80}: a file outside its folder"


def hostile_text(seed: int, rounds: int) -> Outcome:
    """Export runs of hostile names."""
    examples: list[str] = []
    with own_folder() as folder:
        for number in range(rounds):
            random = Random(f"{seed} texts {number}")
            examples += [f"round {number}: {wrong}" for wrong in _one_round(random, folder)]
    return Outcome(rounds, len(examples), examples)


CAMPAIGNS = (Campaign("texts", "hostile names in every export, and paths that cannot be", hostile_text, 60),)
