"""One table of all families of label types: random samples of each, their records and their report."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from tests.agreement.agreement_oracle import CLASS_NAMES, Label, batch_of, random_samples, records_of
from tests.agreement.rating_oracle import random_rows
from tests.chance import few

from annotator_agreement.agreement import AgreementConfig, AgreementReport, make_config
from annotator_agreement.agreement.families import build_report
from annotator_agreement.agreement.pixels import MaskValues, compare_masks, mask_columns, measure, record_pixels
from annotator_agreement.agreement.ratings import compute_ratings, record_ratings
from annotator_agreement.agreement.statistics import AttributeCodes, Records, ReportContext, RunFacts
from annotator_agreement.agreement.tags import TagAgreement, compute_tags, record_tags

NAMES = ("alice", "bob", "carol")
MEANING = MaskValues(0, (9,), {1: "sky", 2: "road (2)", 3: "road (3)"})
#: values of attributes, by name
VALUES: dict[str, list[Any]] = {
    "age": [None, 1, 2, 2.25, 9], "mixed": [None, True, 1, "1", "left"], "occluded": [None, True, False],
    "side": [None, "left", "right", "top"],
}  # fmt: skip
_CODES = {name: AttributeCodes(name) for name in VALUES}
for _name, _codes in _CODES.items():
    _codes.of(VALUES[_name])

#: what every annotator gave who was assigned: boxes, a class or number, tags, or a mask
Sample = dict[int, Any]


def _attribute_codes(name: str, labels: Sequence[Label]) -> np.ndarray:
    """Codes of the values that labels have: the same for the same box, wherever it stands."""
    values = VALUES[name]
    return _CODES[name].of([values[int(label[1] * 1e6) % len(values)] for label in labels])


def _record_objects(samples: Sequence[Sample], config: AgreementConfig) -> Records:
    labels = [label for sample in samples for r in sorted(sample) for label in sample[r]]
    columns = tuple(_attribute_codes(name, labels) for name in config.attributes)
    numbers = tuple(_CODES[name].numbers() for name in config.attributes)
    batch = replace(batch_of(samples, len(NAMES)), attributes=columns, attribute_numbers=numbers)
    return records_of(batch, config)


def _ratings(seed: int, n: int, values: Sequence[Any]) -> list[Sample]:
    rows = random_rows(seed, values, n, len(NAMES))
    return [{r: value for r, value in enumerate(row) if value is not None} for row in rows]


def _record_ratings(samples: Sequence[Sample], config: AgreementConfig, *, numbers: bool) -> Records:
    table = np.array([[float(sample.get(r, np.nan)) for r in range(len(NAMES))] for sample in samples])
    tolerance = config.tolerance if numbers else 0.0
    return record_ratings(compute_ratings(table.reshape(-1, len(NAMES)), tolerance), numbers=numbers)


def _tags(seed: int, n: int) -> list[Sample]:
    """Tags of annotators who mostly agree; nobody gave the last one, and some gave one twice."""
    rng = np.random.default_rng(seed)
    samples: list[Sample] = []
    for _ in range(n):
        truth, sample = rng.random(4) < 0.4, {}
        for r in np.flatnonzero(rng.random(len(NAMES)) < 0.8).tolist():
            given = (1 + np.flatnonzero(truth ^ (rng.random(4) < 0.15))).tolist()
            sample[r] = given + given[:1] * int(rng.random() < 0.2)
        samples.append(sample)
    return samples


def computed_tags(samples: Sequence[Sample]) -> TagAgreement:
    """The tags of samples, compared."""
    rows = [(s, r, tag) for s, sample in enumerate(samples) for r in sorted(sample) for tag in sample[r]]
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return compute_tags(*columns, _assigned(samples))


def _masks(seed: int, n: int) -> list[Sample]:
    """Masks that mostly agree; some images are empty."""
    rng = np.random.default_rng(seed)
    samples: list[Sample] = []
    for _ in range(n):
        shape = (int(rng.integers(4, 8)), int(rng.integers(4, 9)))
        truth = rng.choice(5, shape, p=[0.4, 0.25, 0.2, 0.1, 0.05]) * int(rng.random() < 0.9)
        who, share = np.flatnonzero(rng.random(len(NAMES)) < 0.85).tolist(), rng.uniform(0.05, 0.4)
        samples.append({r: np.where(rng.random(shape) < share, rng.choice([0, 1, 2, 9], shape), truth) for r in who})
    return samples


def measured_masks(samples: Sequence[Sample], config: AgreementConfig, meaning: MaskValues = MEANING) -> Any:
    """The masks of samples, compared."""
    compared = [
        compare_masks([sample[r] for r in sorted(sample)], meaning, config) if len(sample) > 1 else None
        for sample in samples
    ]
    return measure(mask_columns(compared, _assigned(samples), config), len(NAMES), meaning.background, config)


def _assigned(samples: Sequence[Sample]) -> np.ndarray:
    assigned = [[r in sample for r in range(len(NAMES))] for sample in samples]
    return np.array(assigned, np.bool_).reshape(-1, len(NAMES))


@dataclass(frozen=True)
class Kind:
    """Labels of one kind: random samples, by seed and number, and the records of samples.

    ``classes`` are the names of the codes; empty where values are no codes.
    """

    samples: Callable[[int, int], list[Sample]]
    record: Callable[[Sequence[Sample], AgreementConfig], Records]
    classes: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    def report(
        self,
        samples: Sequence[Sample],
        *,
        names: Sequence[str] = NAMES,
        class_names: Sequence[str] | None = None,
        batch_size: int = 0,
        clusters: np.ndarray | None = None,
        **options: Any,
    ) -> AgreementReport:
        """The report on samples of three annotators with these names, in batches."""
        context = self.context(names, class_names=class_names, clusters=clusters, **options)
        size = batch_size or max(len(samples), 1)
        starts = range(0, max(len(samples), 1), size)
        parts = (self.record(samples[start : start + size], context.config) for start in starts)
        return build_report(functools.reduce(operator.add, parts), context)

    def context(
        self,
        names: Sequence[str] = NAMES,
        class_names: Sequence[str] | None = None,
        clusters: np.ndarray | None = None,
        **options: Any,
    ) -> ReportContext:
        """What a report needs besides the records; intervals are rough."""
        config = make_config(names, **{"resamples": 20, **options})
        return ReportContext(
            config, config.annotators, ["(missing)", *(class_names or self.classes)], ["labels"],
            RunFacts(n_changed=2, coverage="assumed", seconds=1.5, versions={"numpy": "2"}),
            worst_samples=[{"id": "0" * 24, "filepath": "/a/b.jpg", "score": 0.25, "n_units": 3, "n_disputed": 2}],
            details=self.details, clusters=clusters,
            attribute_values={name: _CODES[name].values_of_codes() for name in config.attributes},
        )  # fmt: skip


KINDS = {
    "objects": Kind(random_samples, _record_objects, CLASS_NAMES[1:]),
    "classes": Kind(
        functools.partial(_ratings, values=(1, 2, 3, 4)),
        functools.partial(_record_ratings, numbers=False),
        ("ant", "cat", "dog", "owl", "(never used)"),
        {"numbers": False},
    ),
    "numbers": Kind(
        functools.partial(_ratings, values=(0.0, 1.0, 2.5, 2.6, 40.0)),
        functools.partial(_record_ratings, numbers=True),
        details={"numbers": True},
    ),
    "tags": Kind(
        _tags, lambda samples, config: record_tags(computed_tags(samples)), ("day", "rain", "snow", "fog", "hail")
    ),
    "masks": Kind(
        _masks,
        lambda samples, config: record_pixels(measured_masks(samples, config)),
        details={**MEANING.to_dict(), "is_rgb": False},
    ),
}

#: kind of labels, and options of a run; the first ones are every kind of labels, and most of what objects have
CASES: list[tuple[str, dict[str, Any]]] = [
    ("objects", {}), ("objects", {"missing": "ignore", "empty": "agree", "classes": "require"}),
    ("objects", {"attributes": list(VALUES), "tolerance": 0.5}), ("classes", {}), ("numbers", {"tolerance": 0.2}),
    ("tags", {}), ("masks", {"empty": "agree", "undefined": "one", "boundaries": True}),
    ("objects", {"undefined": "one", "empty": "agree", "classes": "ignore", "similarity": "dice"}),
    ("objects", {"annotators": {"alice": "anna", "carol": "anna", "bob": "bob"}}),
    ("classes", {"categories": ["dog", "owl", "ant", "cat"], "undefined": "one"}), ("numbers", {"level": "ratio"}),
    ("numbers", {"level": "ordinal"}), ("numbers", {"level": "nominal"}),
    ("tags", {"set_distance": "jaccard", "undefined": "one"}), ("masks", {}),
]  # fmt: skip
#: methods that depend on the order of annotators
BY_ORDER: list[tuple[str, dict[str, Any]]] = [
    ("objects", {"method": "recursive"}),
    ("objects", {"method": "mutual_best", "missing": "ignore"}),
]
_N_FIRST = 7
each_kind = pytest.mark.parametrize("kind", KINDS)
each_case = pytest.mark.parametrize(("kind", "options"), few(CASES, _N_FIRST), ids=str)
each_case_and_method = pytest.mark.parametrize(("kind", "options"), few([*CASES, *BY_ORDER], _N_FIRST), ids=str)
