"""The kernels alone, columns in and numbers out, against kalos 0.8.0 on the same boxes; and the report of records."""

from __future__ import annotations

import dataclasses
import functools
import operator
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tools.dev.other_programs import KALOS, OtherProgram
from tools.dev.plugin import load_plugin

from .generated import ANNOTATORS, N_CLASSES, SEED, GeneratedBoxes, batch_of, context_of, generate, random_boxes
from .output import Limit, Row, at_least, at_most, in_turns, say, timed

if TYPE_CHECKING:
    import fiftyone as fo

N_SAMPLES, N_MANY = 5_000, 100_000
#: our class handling, the cost function of kalos with the same class rule, and how much faster we must be
_COMPARED = (("ignore", "negative_score", 5), ("prefer", "category_lenient", 3))


class Kalos:
    """kalos on some boxes, of which it knows the file."""

    def __init__(self, data: GeneratedBoxes) -> None:
        from tools.compare.annotations import annotations_of

        self._path = str(annotations_of("bench", Path(tempfile.mkdtemp()) / "boxes.json", data).path)
        self._program = OtherProgram(KALOS, "tools.compare.kalos_side", say=say)
        self.close = self._program.close

    def run(self, method: str, cost: str, diagnostics: bool = False) -> tuple[float, float]:
        """Its seconds, and its pooled alpha."""
        seconds, alpha = self._program.ask("timed", self._path, method, cost, 0.5, diagnostics)
        return seconds, alpha


def our_run(data: GeneratedBoxes, classes: str, **conventions: str) -> tuple[float, float]:
    """Seconds of matching, verdicts and per-sample numbers, and the pooled alpha."""
    load_plugin()
    from annotator_agreement.agreement import make_config
    from annotator_agreement.agreement.matching.compute import compute_agreement_of
    from annotator_agreement.metrics import NominalTally

    config = make_config([f"annotator_{k:03d}" for k in range(data.n_annotators)], classes=classes, **conventions)

    def run() -> float:
        ratings = compute_agreement_of(batch_of(data), config).ratings
        return float(NominalTally.from_counts(ratings.unit, ratings.category, ratings.count).alpha())

    return timed(run)


def kernels() -> list[Row]:
    """Both on the same boxes, taking turns, and their pooled alphas.

    The alphas differ because the objectives differ: multi-graph matching joins only objects whose pairs all reach the
    threshold, and maximises the sum of IoU; ours maximises the sum of (IoU - threshold), in which a pair below the
    threshold has a negative value (21 of 42,409 units on these boxes have such a pair).
    """
    data = generate(N_SAMPLES)
    drew = np.zeros((data.n_samples, data.n_annotators), np.bool_)
    drew[data.sample, data.annotator] = True
    kept = drew.all(axis=1)  # the multi-graph matching of kalos needs this
    drawn = data.of_rows(kept[data.sample])
    where_all_drew = dataclasses.replace(drawn, sample=(np.cumsum(kept) - 1)[drawn.sample], n_samples=int(kept.sum()))
    kalos, rows = Kalos(data), []
    for classes, cost, times in _COMPARED:
        seconds = in_turns({
            "ours": lambda classes=classes: our_run(data, classes)[0],
            "kalos": lambda cost=cost: kalos.run("greedy", cost)[0],
        })  # fmt: skip
        title = f"kalos greedy {cost} / ours {classes}"
        rows.append(Row(title, seconds["kalos"], at_least(times), seconds["ours"]))
        _, alpha = our_run(where_all_drew, classes, empty="agree", undefined="one")
        title, near = f"pooled alpha, {classes}: ours, kalos mgm {cost}", Limit(-0.001, 0.001, of_difference=True)
        rows.append(Row(title, alpha, near, kalos.run("mgm", cost)[1]))
    kalos.close()
    return rows


# ---- crowds ----

N_ANNOTATORS, ON_EACH_IMAGE, OBJECTS = 200, (8, 9), (1, 15)
#: median displacement of a corner, as a share of the side
JITTER = 0.1
#: annotators who draw anything anywhere
SPAMMERS = 0.03
#: objects beside another one that they overlap, which makes groups of labels ambiguous
CROWDED = 0.2
FEW, MANY = 200, 2_000


def generate_crowd(n_images: int, n_classes: int, seed: int = SEED, *, alike: bool = False) -> GeneratedBoxes:
    """Draw true objects, and what those who were asked made of them; ``alike``: nobody has a habit of their own."""
    rng = np.random.default_rng(seed)
    jitter = JITTER * rng.lognormal(0.0, 0.4, N_ANNOTATORS)
    missed = rng.beta(1.2, 10.0, N_ANNOTATORS)
    mistaken = rng.beta(1.2, 15.0, N_ANNOTATORS)
    growth = rng.normal(0.0, 0.05, N_ANNOTATORS)
    spams = rng.random(N_ANNOTATORS) < SPAMMERS
    if alike:
        jitter[:], missed[:], mistaken[:], growth[:], spams[:] = JITTER, missed.mean(), mistaken.mean(), 0.0, False
    sample, true, label = _objects(n_images, n_classes, rng)
    asked = np.zeros((n_images, N_ANNOTATORS), np.bool_)
    for row in asked:
        row[rng.choice(N_ANNOTATORS, rng.choice(ON_EACH_IMAGE), replace=False)] = True
    item, annotator = np.nonzero(asked[sample])
    kept = rng.random(len(item)) >= missed[annotator]
    item, annotator = item[kept], annotator[kept]
    side = true[item, 2:]
    low = true[item, :2] + rng.normal(0.0, 1.0, side.shape) * jitter[annotator, None] * side
    high = true[item, :2] + side + rng.normal(0.0, 1.0, side.shape) * jitter[annotator, None] * side
    grown = growth[annotator, None] * side
    first, second = np.clip(low - grown, 0.0, 1.0), np.clip(high + grown, 0.0, 1.0)
    boxes = np.hstack([np.minimum(first, second), np.maximum(np.abs(second - first), 1e-3)])
    drawn = np.where(rng.random(len(item)) < mistaken[annotator], rng.integers(0, n_classes, len(item)), label[item])
    anywhere = spams[annotator]
    boxes[anywhere] = random_boxes(int(anywhere.sum()), rng)
    data = GeneratedBoxes(sample[item], annotator, drawn, boxes, n_images, N_ANNOTATORS, asked)
    return data.of_rows(np.lexsort((annotator, sample[item])))


def _objects(
    n_images: int, n_classes: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    sample = np.repeat(np.arange(n_images), rng.integers(OBJECTS[0], OBJECTS[1] + 1, n_images))
    boxes = random_boxes(len(sample), rng)
    beside = np.flatnonzero((rng.random(len(sample)) < CROWDED) & (np.diff(sample, prepend=-1) == 0))
    shift = rng.uniform(-0.35, 0.35, (len(beside), 2)) * boxes[beside - 1, 2:]
    boxes[beside] = boxes[beside - 1]
    boxes[beside, :2] = np.clip(boxes[beside, :2] + shift, 0.0, 1.0 - boxes[beside, 2:])
    return sample, boxes, rng.integers(0, n_classes, len(sample))


def _crowd_dataset(data: GeneratedBoxes) -> fo.Dataset:
    """The crowd as a dataset: one field of boxes, whose attribute names the annotator, and a list of who was asked."""
    import fiftyone as fo

    dataset = fo.Dataset("bench-crowd", persistent=True, overwrite=True)
    starts = np.searchsorted(data.sample, np.arange(data.n_samples + 1))
    samples = []
    for k in range(data.n_samples):
        rows = slice(starts[k], starts[k + 1])
        drawn = zip(data.annotator[rows], data.label[rows], data.boxes_xywh_rel[rows].tolist(), strict=True)
        labels = [fo.Detection(label=str(name), bounding_box=box, annotator=str(who)) for who, name, box in drawn]
        asked = [str(who) for who in np.flatnonzero(data.assigned[k])]
        samples.append(fo.Sample(filepath=f"/nowhere/{k}.jpg", labels=fo.Detections(detections=labels), asked=asked))
    dataset.add_samples(samples, progress=False)
    return dataset


def crowd() -> list[Row]:
    """200 annotators, 8 or 9 on each image, with one class and with ten, against kalos; and ten times the images."""
    rows, plugin = [], load_plugin()
    asked = {"annotator_attribute": "annotator", "assigned_field": "asked", "progress": False, "overwrite": True}
    for n_classes in (1, 10):
        data, title = generate_crowd(FEW, n_classes), f"crowd, {FEW:,} images, {n_classes} classes"
        dataset, kalos = _crowd_dataset(data), Kalos(data)
        seconds = in_turns({
            "kernels": lambda data=data: our_run(data, "ignore")[0],
            "kalos mgm": lambda kalos=kalos: kalos.run("mgm", "negative_score")[0],
            "kalos greedy": lambda kalos=kalos: kalos.run("greedy", "negative_score")[0],
            "kalos greedy, diagnostics": lambda kalos=kalos: kalos.run("greedy", "negative_score", True)[0],
            "default run": lambda dataset=dataset: timed(lambda: plugin.compute(dataset, "labels", **asked))[0],
        })  # fmt: skip
        dataset.delete()
        kalos.close()
        many, _ = our_run(generate_crowd(MANY, n_classes), "ignore")
        own, whole = seconds["kernels"], seconds["default run"]
        rows += [
            Row(f"{title}, ours / kalos mgm", own, at_most(1), seconds["kalos mgm"]),
            Row(f"{title}, ours / kalos greedy", own, at_most(2.5), seconds["kalos greedy"]),
            Row(f"{title}, default run / the same", whole, at_most(1), seconds["kalos greedy, diagnostics"]),
            Row(f"crowd, {n_classes} classes, time per image, 2,000 / 200", many / MANY, Limit(0.5, 2), own / FEW),
        ]
    return rows


# ---- the report ----

#: so many resamples place an end of an interval within 0.5 % of its width (one standard error)
MANY_RESAMPLES = 40_000
_BATCH = 1_000


def _records_and_context(n_samples: int) -> tuple[Any, Any]:
    """The records of a run on generated boxes, and the context of its report."""
    context = context_of(len(ANNOTATORS), [f"class_{k:02d}" for k in range(N_CLASSES)], resamples=1000)
    from annotator_agreement.agreement.matching.compute import compute_agreement_of
    from annotator_agreement.agreement.objects.records import record

    data, found = generate(n_samples), []
    for first in range(0, n_samples, _BATCH):
        batch = data.of_rows(slice(*np.searchsorted(data.sample, [first, first + _BATCH])))
        batch = dataclasses.replace(batch, sample=batch.sample - first, n_samples=min(_BATCH, n_samples - first))
        found.append(record(compute_agreement_of(batch_of(batch), context.config)))
    return functools.reduce(operator.add, found), context


def _seconds(records: Any, context: Any, repetitions: int) -> tuple[float, float]:
    """Seconds of the report without intervals, and additional seconds for 1,000 resamples."""
    from annotator_agreement.agreement.objects.build import build_object_report

    without = dataclasses.replace(context, config=dataclasses.replace(context.config, resamples=0))
    build = functools.partial(build_object_report, records)
    own, everything = (timed(functools.partial(build, each), repetitions)[0] for each in (without, context))
    return own, everything - own


def _apart(records: Any, context: Any, n_samples: int) -> float:
    """Largest distance of the ends of both kinds of intervals of the headline, as a share of their widths."""
    from annotator_agreement.agreement.objects.build import headline_numbers_of
    from annotator_agreement.agreement.statistics import estimates as estimation

    def intervals(most_resampled: int) -> dict:
        estimation.MOST_RESAMPLED, before = most_resampled, estimation.MOST_RESAMPLED
        headline = headline_numbers_of(records, context)
        found = estimation.estimates(headline, np.arange(n_samples), resamples=MANY_RESAMPLES, seed=SEED)
        estimation.MOST_RESAMPLED = before
        return {key[-1]: (each.interval.low, each.interval.high) for key, each in found.items() if each.interval}

    resampled, by_delta = intervals(n_samples), intervals(n_samples - 1)
    return max(
        float(np.abs(np.subtract(ends, by_delta[name])).max() / np.ptp(ends)) for name, ends in resampled.items()
    )


def report() -> list[Row]:
    """The report of records without intervals, and its intervals, of which both kinds are compared on very many."""
    own, intervals = _seconds(*_records_and_context(N_SAMPLES), 3)
    many = _records_and_context(N_MANY)
    _, of_many = _seconds(*many, 1)
    return [
        Row(f"report of {N_SAMPLES} samples without intervals, s", own, at_most(1.5)),
        Row("1,000 resamples of them, s", intervals, at_most(1)),
        Row(f"intervals of {N_MANY} samples by the delta method, s", of_many, at_most(30)),
        Row(f"delta method / BCa on {N_MANY}: ends apart, of the width", _apart(*many, N_MANY), at_most(0.02)),
    ]
