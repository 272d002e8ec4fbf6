"""Expected values of a report, by plain loops over samples, units and pairs; samples and options for hypothesis."""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import strategies as st

from tests.chance import seeds
from tests.metrics.matching_oracle import similarity_of

from annotator_agreement.agreement import AgreementConfig, make_config
from annotator_agreement.agreement.matching import Batch, Tables, compute_agreement_of
from annotator_agreement.agreement.objects import ObjectRecords, ObjectReport, build_object_report, record
from annotator_agreement.agreement.statistics import ReportContext, RunFacts
from annotator_agreement.metrics import Objects, krippendorff_alpha
from annotator_agreement.metrics.geometry import Boxes

NAN = float("nan")

#: (class code from 1, x_min, y_min, x_max, y_max)
Label = tuple[int, float, float, float, float]
#: labels of every annotator who was assigned to the sample
Sample = dict[int, Sequence[Label]]

NAMES = ("alice", "bob", "carol", "dave")
CLASS_NAMES = ("(missing)", "car", "bus", "van", "tram", "bike", "cart", "boat")


def batch_of(samples: Sequence[Sample], n_annotators: int) -> Batch:
    """The columns of samples."""
    rows = [(s, r, *label) for s, sample in enumerate(samples) for r in sorted(sample) for label in sample[r]]
    table = np.array(rows, dtype=float).reshape(-1, 7)
    assigned = np.array([[r in sample for r in range(n_annotators)] for sample in samples], dtype=bool)
    return Batch(Objects(*table[:, :3].astype(np.int64).T), Boxes(table[:, 3:]), assigned.reshape(-1, n_annotators))


def config_of(n_annotators: int, **options: Any) -> AgreementConfig:
    """A config of as many annotators; intervals, which have tests of their own, are rough."""
    return make_config(NAMES[:n_annotators], **{"resamples": 20, **options})


def records_of(batch: Batch, config: AgreementConfig) -> ObjectRecords:
    """The records of a batch."""
    return record(compute_agreement_of(batch, config))


def context_of(config: AgreementConfig, class_names: Sequence[str] = CLASS_NAMES, **more: Any) -> ReportContext:
    """What a report needs beside the records, in the order of the annotators of the config."""
    return ReportContext(config, config.annotators, class_names, ["Detections"], RunFacts(), **more)


def object_report(
    batches: Batch | Iterable[Batch], config: AgreementConfig, class_names: Sequence[str] = CLASS_NAMES, **more: Any
) -> ObjectReport:
    """The report on a batch, or on several."""
    parts = [batches] if isinstance(batches, Batch) else batches
    records = functools.reduce(operator.add, (records_of(batch, config) for batch in parts))
    return build_object_report(records, context_of(config, class_names, **more))


def report_of(samples: Sequence[Sample], config: AgreementConfig, batch_size: int | None = None) -> ObjectReport:
    """The report of samples, in batches."""
    size = batch_size or max(len(samples), 1)
    starts = range(0, max(len(samples), 1), size)
    return object_report((batch_of(samples[k : k + size], len(config.annotators)) for k in starts), config)


@dataclass(frozen=True)
class Unit:
    """One physical object: the label of every annotator who drew it."""

    sample: int
    members: dict[int, Label]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs of its annotators."""
        return combinations(sorted(self.members), 2)

    def iou(self, a: int, b: int) -> float:
        """IoU of two members."""
        return similarity_of(self.members[a][1:], self.members[b][1:])


def units_of(samples: Sequence[Sample], agreement: Tables) -> list[Unit]:
    """The units that the matching (tested with the metrics) found."""
    rows = [(s, r, label) for s, sample in enumerate(samples) for r in sorted(sample) for label in sample[r]]
    units: dict[int, Unit] = {}
    for (s, r, label), number in zip(rows, agreement.matching.unit.tolist(), strict=True):
        units.setdefault(number, Unit(s, {})).members[r] = label
    return [units[number] for number in sorted(units)]


def drawn(sample: Sample) -> bool:
    """Whether anybody drew anything."""
    return any(len(labels) for labels in sample.values())


def verdict_of(unit: Unit, sample: Sample) -> str | None:
    """Verdict of a unit."""
    if len(sample) < 2:
        return None
    if len({label[0] for label in unit.members.values()}) > 1:
        return "class_conflict"
    if set(unit.members) == set(sample):
        return "agreed"
    return "missed" if len(unit.members) > 1 else "lone"


def pair_score(sample: Sample, units: Sequence[Unit], a: int, b: int, empty: str) -> float:
    """Panoptic quality of two annotators on a sample, nan where it is not scored."""
    n = len(sample[a]) + len(sample[b])
    if n == 0:
        return 1.0 if drawn(sample) or empty == "agree" else NAN
    matched = [unit for unit in units if a in unit.members and b in unit.members]
    return 2 * sum(unit.iou(a, b) for unit in matched if unit.members[a][0] == unit.members[b][0]) / n


def score_of(sample: Sample, units: Sequence[Unit], empty: str) -> float:
    """Score of a sample: mean over its pairs of annotators."""
    return mean([pair_score(sample, units, a, b, empty) for a, b in combinations(sorted(sample), 2)])


def table_of(
    samples: Sequence[Sample], units: Sequence[Unit], n_annotators: int, config: AgreementConfig
) -> np.ndarray:
    """Ratings that alpha counts: units of rated samples, and images that all left empty where these count."""
    missing = 0.0 if config.missing == "category" else NAN
    rows = []
    for unit in units:
        sample = samples[unit.sample]
        if len(sample) >= 2:
            absent = dict.fromkeys(sample, missing)
            rows.append(absent | {r: label[0] for r, label in unit.members.items()})
    if config.empty == "agree" and config.missing == "category":
        rows += [dict.fromkeys(sample, 0.0) for sample in samples if len(sample) >= 2 and not drawn(sample)]
    table = [[row.get(r, NAN) for r in range(n_annotators)] for row in rows]
    return np.array(table, dtype=float).reshape(-1, n_annotators)


def pair_table(samples: Sequence[Sample], units: Sequence[Unit], config: AgreementConfig, a: int, b: int) -> np.ndarray:
    """The two ratings of every unit that alpha of a pair counts."""
    missing = 0.0 if config.missing == "category" else NAN
    shared = [s for s, sample in enumerate(samples) if a in sample and b in sample]
    rows = [
        [unit.members[r][0] if r in unit.members else missing for r in (a, b)]
        for unit in units
        if unit.sample in shared and (a in unit.members or b in unit.members)
    ]
    if config.empty == "agree":
        rows += [[missing, missing] for s in shared if not drawn(samples[s])]
    return np.array(rows, dtype=float).reshape(-1, 2)


def alpha_of(table: np.ndarray, undefined: str) -> float:
    """Alpha of a table; 1 without variation if asked for."""
    alpha = krippendorff_alpha(table)
    comparable = ((~np.isnan(table)).sum(axis=1) >= 2).any()
    return 1.0 if math.isnan(alpha) and undefined == "one" and comparable else alpha


def sample_alpha(sample: Sample, units: Sequence[Unit], config: AgreementConfig) -> tuple[float, str]:
    """Alpha of a sample and, where it is undefined, why."""
    if len(sample) < 2:
        return NAN, "one_annotator"
    if not drawn(sample):
        return (1.0, "") if config.empty == "agree" else (NAN, "no_objects")
    table = table_of([sample], [Unit(0, unit.members) for unit in units], max(sample) + 1, config)
    alpha = alpha_of(table, config.undefined)
    if not math.isnan(alpha):
        return alpha, ""
    comparable = ((~np.isnan(table)).sum(axis=1) >= 2).any()
    return NAN, "single_category" if comparable else "no_pairable_values"


def mean(values: Sequence[float]) -> float:
    """Mean of the values that are defined, nan without any."""
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else NAN


def best_iou(sample: Sample, a: int, b: int) -> float:
    """Mean over the labels of ``a`` of the best IoU with a label of ``b``; nan if ``a`` drew nothing."""
    return mean([max((Unit(0, {0: p, 1: q}).iou(0, 1) for q in sample[b]), default=0.0) for p in sample[a]])


def random_samples(seed: int, n_samples: int = 12, n_annotators: int = 3) -> list[Sample]:
    """Noisy labels without ties: misses, class flips, annotators who are not assigned, images that all left empty."""
    rng = np.random.default_rng(seed)
    samples: list[Sample] = []
    for _ in range(n_samples):
        n = int(rng.integers(0, 5))
        low, size = rng.uniform(0, [0.6, 0.5], (n, 2)), rng.uniform([0.1, 0.05], [0.3, 0.2], (n, 2))
        classes = rng.integers(1, 4, n)
        sample: Sample = {}
        for annotator in range(n_annotators):
            if rng.random() < 0.2:
                continue
            labels = []
            for k in np.flatnonzero(rng.random(n) < 0.8).tolist():
                corners = np.r_[low[k], low[k] + size[k]] + rng.normal(0, 0.12, 4) * np.r_[size[k], size[k]] * 0.7
                box = np.sort(corners.reshape(2, 2), axis=0).ravel().tolist()
                category = int(classes[k]) if rng.random() < 0.85 else int(rng.integers(1, 4))
                labels.append((category, *box))
            sample[annotator] = labels
        samples.append(sample)
    return samples


OPTIONS = st.fixed_dictionaries(
    {
        "missing": st.sampled_from(["category", "ignore"]),
        "undefined": st.sampled_from(["none", "one"]),
        "empty": st.sampled_from(["skip", "agree"]),
        "classes": st.sampled_from(["prefer", "ignore", "require"]),
        "similarity": st.sampled_from(["iou", "dice"]),
        "method": st.sampled_from(["optimal", "optimal", "recursive", "mutual_best"]),
        "iou": st.sampled_from([0.3, 0.5, 0.7]),
    }
)


@st.composite
def _labels(draw: st.DrawFn) -> tuple[int, float, float, float, float]:
    category, x, y = draw(st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(0, 2)))
    width, height = draw(st.tuples(st.integers(1, 5), st.integers(1, 3)))
    return category, x / 20, y / 11, (x + width) / 20, (y + height) / 11


@st.composite
def sample_lists(draw: st.DrawFn) -> tuple[int, list[Sample]]:
    """Number of annotators, and some samples; an annotator can be missing, drawn nothing or up to 3 labels.

    They are small ones on a grid, so that many similarities are equal, or more and noisy ones without ties.
    """
    if draw(st.integers(0, 3)) == 3:
        seed = draw(st.integers(0, 999))
        return 2 + seed % 3, random_samples(seed, n_annotators=2 + seed % 3)
    n_annotators = draw(st.integers(2, 4))
    of_annotator = st.one_of(st.none(), st.lists(_labels(), max_size=3))
    lists = draw(st.lists(st.lists(of_annotator, min_size=n_annotators, max_size=n_annotators), max_size=4))
    return n_annotators, [{r: labels for r, labels in enumerate(entry) if labels is not None} for entry in lists]


TOLERANCE = 1e-9


def object_verdicts(samples: Sequence[Sample], agreement: Tables, threshold: float) -> list[str | None]:
    """The verdicts of all labels by sample, annotator and place in the list."""
    units = units_of(samples, agreement)
    numbers = iter(agreement.matching.unit.tolist())
    found: list[str | None] = []
    for sample in samples:
        labels = [Drawn(r, label, next(numbers)) for r in sorted(sample) for label in sample[r]]
        for label in labels:
            label.verdict = verdict_of(units[label.unit], sample)
        found += [_verdict(k, labels, threshold) for k in range(len(labels))]
    return found


class Drawn:
    """A label of a sample."""

    def __init__(self, annotator: int, label: tuple, unit: int) -> None:
        self.annotator, self.category, self.unit = annotator, label[0], unit
        self.box = shapely.box(*label[1:])
        self.verdict: str | None = None

    def includes(self, other: Drawn) -> bool:
        """Whether another label is smaller, and lies in this one by seven tenths."""
        if other.box.area >= (1 - TOLERANCE) * self.box.area:
            return False
        return self.box.intersection(other.box).area >= (0.7 - TOLERANCE) * other.box.area


def _iou(a: shapely.Geometry, b: shapely.Geometry) -> float:
    return a.intersection(b).area / a.union(b).area


def _verdict(k: int, labels: list[Drawn], threshold: float) -> str | None:
    own = labels[k]
    if own.verdict == "lone" and any(
        other.annotator == own.annotator
        and other.category == own.category
        and _iou(own.box, other.box) >= 0.9 - TOLERANCE
        and (other.verdict != "lone" or n < k)
        for n, other in enumerate(labels)
        if n != k
    ):
        return "duplicate"
    if own.verdict in ("lone", "missed") and any(
        k in split for whole in range(len(labels)) for split in _splits(whole, labels, threshold)
    ):
        return "split"
    return own.verdict


def _splits(whole: int, labels: list[Drawn], threshold: float) -> list[list[int]]:
    """Every set of parts of a label, with the label itself."""
    found = []
    for annotator in {label.annotator for label in labels} - {labels[whole].annotator}:
        inside = [k for k, label in enumerate(labels) if label.annotator == annotator and labels[whole].includes(label)]
        parts = [k for k in inside if not any(_repeats(labels, k, n) for n in inside if n != k)]
        union = shapely.union_all([labels[k].box for k in parts])
        if len(parts) >= 2 and _iou(union, labels[whole].box) >= threshold - TOLERANCE:
            found.append([whole, *parts])
    return found


def _repeats(labels: list[Drawn], k: int, n: int) -> bool:
    """Whether a label lies in a larger one; or in an earlier one of the same area."""
    own, other = labels[k].box, labels[n].box
    if abs(own.area - other.area) <= TOLERANCE * max(own.area, other.area):
        return n < k and own.intersection(other).area >= (0.7 - TOLERANCE) * min(own.area, other.area)
    return labels[n].includes(labels[k])


N_ANNOTATORS = 4
RULES = (
    {}, {"missing": "ignore"}, {"empty": "agree", "undefined": "one"},
    {"missing": "ignore", "empty": "agree", "classes": "require"},
)  # fmt: skip


def each_case(test: Callable[..., None]) -> Callable[..., None]:
    """Call a test with some seeds of random samples, and rules of the run."""
    return pytest.mark.parametrize("rules", RULES, ids=str)(pytest.mark.parametrize("seed", seeds(3))(test))


@dataclass(frozen=True)
class Found:
    """Samples, their units and the report on them."""

    samples: list[Sample]
    units: list[Unit]
    config: AgreementConfig
    report: ObjectReport

    @property
    def rated(self) -> list[int]:
        """Samples that two annotators were assigned to."""
        return [s for s, sample in enumerate(self.samples) if len(sample) >= 2]

    @property
    def rated_units(self) -> list[Unit]:
        """Their units."""
        return [unit for unit in self.units if len(self.samples[unit.sample]) >= 2]

    def label_pairs(self) -> list[tuple[Unit, int, int]]:
        """Pairs of annotators of every unit."""
        return [(unit, a, b) for unit in self.units for a, b in unit.pairs()]


def found(seed: int, rules: dict[str, Any]) -> Found:
    """The report on noisy labels of four annotators."""
    return _found(seed, tuple(sorted(rules.items())))


@functools.lru_cache(maxsize=32)
def _found(seed: int, rules: tuple[tuple[str, Any], ...]) -> Found:
    samples = random_samples(seed, n_samples=40, n_annotators=N_ANNOTATORS)
    return found_in(samples, **dict(rules))


def found_in(samples: list[Sample], n_annotators: int = N_ANNOTATORS, **rules: Any) -> Found:
    """The report on samples."""
    config = config_of(n_annotators, **rules)
    units = units_of(samples, compute_agreement_of(batch_of(samples, n_annotators), config))
    return Found(samples, units, config, report_of(samples, config))


def same(value: float | None, expected: float, tolerance: float = 1e-9) -> None:
    """A number of a report: None where it is undefined."""
    if np.isnan(expected):
        assert value is None, value
    else:
        assert value == pytest.approx(expected, rel=0, abs=tolerance)


def median(values: list[float]) -> float:
    """Median; nan without values."""
    return float(np.median(values)) if values else NAN


def share(part: float, whole: float) -> float:
    """Part divided by whole; nan if the whole is 0."""
    return part / whole if whole else NAN


def listed(pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Pairs of different names with how often they occur, the most frequent first, then by name."""
    counts = Counter((a, b) for a, b in pairs if a != b)
    return [{"a": a, "b": b, "n": n} for (a, b), n in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]


def assigned_pairs(sample: Sample) -> list[tuple[int, int]]:
    """Pairs of annotators assigned to a sample."""
    return list(combinations(sorted(sample), 2))
