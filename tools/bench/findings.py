"""How often a report finds something in data without habits, and how often it finds planted ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tools.dev.plugin import load_plugin

from .crowd import generate_crowd
from .generated import GeneratedBoxes, generate
from .habits import SIMULATED
from .output import Row, say

RUNS = 200
#: data on which all annotators do alike, by title
WITHOUT_HABITS: dict[str, Callable[[int], GeneratedBoxes]] = {
    "2 annotators, 60 images": lambda seed: generate(60, 2, seed),
    "3 annotators, 60 images": lambda seed: generate(60, 3, seed),
    "4 annotators, 60 images": lambda seed: generate(60, 4, seed),
    "5 annotators, 300 images": lambda seed: generate(300, 5, seed),
    "crowd of 200, 200 images": lambda seed: generate_crowd(200, 10, seed, alike=True),
}
#: share of the objects that the first annotator of four does not draw
PLANTED = 0.35


def report_on(data: GeneratedBoxes) -> Any:
    """The report without intervals and other thresholds."""
    load_plugin()
    from annotator_agreement.agreement import make_config
    from annotator_agreement.agreement.objects.batch import Batch
    from annotator_agreement.agreement.objects.build import build_object_report
    from annotator_agreement.agreement.objects.compute import compute_agreement_of
    from annotator_agreement.agreement.objects.records import record
    from annotator_agreement.agreement.report import ReportContext, RunFacts
    from annotator_agreement.metrics import Objects
    from annotator_agreement.metrics.geometry.boxes import Boxes

    boxes = data.boxes_xywh_rel.copy()
    boxes[:, 2:] += boxes[:, :2]
    names = [f"worker {k + 1}" for k in range(data.n_annotators)]
    config = make_config(names, resamples=0, sensitivity=False)
    batch = Batch(Objects(data.sample, data.annotator, data.label + 1), Boxes(boxes), data.assigned)
    classes = ["(missing)", *(f"class {k}" for k in range(int(data.label.max()) + 1))]
    return build_object_report(
        record(compute_agreement_of(batch, config)), ReportContext(config, names, classes, ["Detections"], RunFacts())
    )


def forgetful(data: GeneratedBoxes, rng: np.random.Generator) -> GeneratedBoxes:
    """The data without some of the objects of the first annotator."""
    kept = (data.annotator != 0) | (rng.random(len(data.sample)) >= PLANTED)
    columns = (data.sample, data.annotator, data.label, data.boxes_xywh_rel)
    return GeneratedBoxes(*(column[kept] for column in columns), data.n_samples, data.n_annotators, data.asked)


def measure() -> list[Row]:
    """Count the runs with a finding, without habits and with one."""
    rows = []
    for title, draw in WITHOUT_HABITS.items():
        n = sum(bool(report_on(draw(seed)).findings) for seed in range(RUNS))
        say(f"{title}, nobody has a habit: {n} of {RUNS} runs have a finding")
        rows.append(Row(f"findings without habits, {title}, share of runs", n / RUNS, None, None, "at most 0.05"))
    n = 0
    for seed in range(RUNS):
        data = forgetful(generate(60, 4, seed), np.random.default_rng(seed))
        n += any(each.kind == "misses" and each.annotators == ["worker 1"] for each in report_on(data).findings)
    rows.append(Row("planted habit found, 60 images, share of runs", n / RUNS, None, None, "at least 0.95"))
    return [*rows, *(row for family in SIMULATED for row in _of_family(family))]


def _of_family(family: str) -> Iterator[Row]:
    """Count the runs with a finding on ratings, tags or masks, without habits and with one."""
    report, habit, kind = SIMULATED[family]
    for n_annotators, n_images in ((2, 60), (3, 30), (3, 100), (4, 60), (8, 200)):
        n = sum(bool(report(n_images, n_annotators, seed).findings) for seed in range(RUNS))
        title = f"{family}, {n_annotators} annotators, {n_images} images"
        say(f"{title}, nobody has a habit: {n} of {RUNS} runs have a finding")
        yield Row(f"findings without habits, {title}, share of runs", n / RUNS, None, None, "at most 0.05")
    n = sum(
        any(each.kind == kind and each.annotators == ["worker 1"] for each in report(100, 4, seed, habit).findings)
        for seed in range(RUNS)
    )
    yield Row(f"planted habit found, {family}, 100 images, share of runs", n / RUNS, None, None, "at least 0.95")
