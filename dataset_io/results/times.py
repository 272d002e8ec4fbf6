"""How long annotators took, where their labels say so, beside how far they agree."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import fiftyone as fo
import numpy as np
from fiftyone.core.collections import SampleCollection
from numpy.typing import NDArray
from scipy.stats import binom

from ...agreement.settings.annotators import session_names
from ...agreement.settings.arguments import is_real, one_of, takes_arrays
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError
from ...agreement.statistics.report import AgreementReport, ReportContext
from ...metrics.bootstrap.confidence import MIN_SAMPLES
from ..database.fiftyone_private import sample_collection
from ..labels.paths import is_of_frames, where_labels_are
from ..record.sample_index import ids_of
from .load import agreement_on
from .parts import open_parts

if TYPE_CHECKING:
    from pandas import DataFrame

#: attributes of labels that are looked for, in this order: seconds for all labels of an image (Label Studio),
#: and when a label was made
LEAD_TIME, CREATED_AT = "lead_time", "created_at"
_COLUMNS = ("annotator", "n_images", "n_labels", "seconds_image", "low", "high", "seconds_label", "score")


def time_attribute(dataset: fo.Dataset, fields: Sequence[str]) -> str | None:
    """The attribute of labels that says how long they took; None if there is none."""
    schema = dataset.get_field_schema(flat=True)
    lists = [where_labels_are(schema, field) for field in fields if not is_of_frames(field)]
    known = (name for name in (LEAD_TIME, CREATED_AT) if any(f"{prefix}.{name}" in schema for prefix in lists))
    return next(known, None)


@takes_arrays
def agreement_times(
    samples: SampleCollection, run_key: str, attribute: str | None = None, *, per: str | None = None
) -> DataFrame:
    """How long each annotator of a run took, beside how far they agree; read from the labels as they are now.

    The median over images, with a 95 % interval from 10 images on (order statistics), and the median over labels.

    Args:
        samples: the dataset, or a view of it
        run_key: key of the run
        attribute: attribute of labels with seconds, or with the time at which a label was made: then a label took as
            long as passed since the one before it on the image, and an image from its first to its last label. None:
            ``lead_time``, as an import of Label Studio's files keeps it, else ``created_at``
        per: what the seconds of the attribute are for, ``"image"`` (all of its labels have the same) or ``"label"``;
            None: the image for ``lead_time``, else the label

    Returns:
        a pandas DataFrame with ``annotator``, ``n_images`` and ``n_labels`` with a time, ``seconds_image`` with its
        interval (``low``, ``high``), ``seconds_label``, and the ``score``; without rows if labels do not say

    Raises:
        AgreementInputError: if there is no such run, or no such attribute
    """
    opened = open_parts(samples, run_key)
    report = opened.report or agreement_on(samples, run_key, resamples=0)
    return times_of(opened.dataset, opened.index.sample_keys(), report, opened.context, attribute, per)


def times_of(
    dataset: fo.Dataset,
    keys: NDArray[np.bytes_],
    report: AgreementReport,
    context: ReportContext,
    attribute: str | None = None,
    per: str | None = None,
) -> DataFrame:
    """As :func:`agreement_times`, of samples that are known by their keys."""
    import pandas as pd  # a run does not need it

    schema, config = dataset.get_field_schema(flat=True), context.config
    found = time_attribute(dataset, config.fields) if attribute is None else attribute
    if found is None:
        return pd.DataFrame(columns=list(_COLUMNS))
    prefixes = {field: where_labels_are(schema, field) for field in config.fields}
    if not any(f"{prefix}.{found}" in schema for prefix in prefixes.values()):
        raise AgreementInputError(f"`attribute` must be an attribute of the labels of the run, got {attribute!r}")
    per = one_of("per", per or ("image" if found == LEAD_TIME else "label"), ("image", "label"))
    of_images: dict[str, list[float]] = defaultdict(list)
    of_labels: dict[str, list[float]] = defaultdict(list)
    for name, values in _values(dataset, keys, prefixes, config, found):
        image, labels = _seconds(values, per)
        of_images[name] += image
        of_labels[name] += labels
    entries: Sequence[Any] = report.annotators
    rows = [_row(each.name, of_images[each.name], of_labels[each.name], each.score) for each in entries]
    return pd.DataFrame([row for row in rows if row["n_images"]], columns=list(_COLUMNS))


def _values(
    dataset: fo.Dataset,
    keys: NDArray[np.bytes_],
    prefixes: Mapping[str, str],
    config: AgreementConfig,
    attribute: str,
) -> Iterator[tuple[str, list[Any]]]:
    """Annotator and values of the labels of every image and annotator."""
    persons = session_names(config.annotators, config.persons) if config.persons else config.annotators
    named = dict(zip(config.annotators, persons, strict=True))  # in attribute mode the values may have got names
    wanted = {f"{prefix}.{attribute}": True for prefix in prefixes.values()}
    if config.attribute_mode:
        wanted |= {f"{prefix}.{config.annotator_attribute}": True for prefix in prefixes.values()}
    for document in sample_collection(dataset).find({"_id": {"$in": ids_of(keys)}}, wanted):
        for field, annotator in zip(config.fields, config.annotators or config.fields, strict=False):
            labels: Any = document
            for step in prefixes[field].split("."):
                labels = (labels or {}).get(step) if isinstance(labels, dict | type(None)) else None
            by_annotator: dict[str, list[Any]] = defaultdict(list)
            for label in labels if isinstance(labels, list) else [labels] if isinstance(labels, dict) else ():
                if isinstance(label, dict):
                    named_by = config.annotator_attribute
                    name = annotator if named_by is None else label.get(named_by)
                    by_annotator[named.get(str(name), str(name))].append(label.get(attribute))
            yield from by_annotator.items()


def _seconds(values: list[Any], per: str) -> tuple[list[float], list[float]]:
    """Seconds of an image (one, or none) and of its labels."""
    times = sorted(value for value in values if isinstance(value, datetime))
    if times:
        gaps = [(after - before).total_seconds() for before, after in itertools.pairwise(times)]
        return ([sum(gaps)] if gaps else []), gaps
    known = [float(value) for value in values if is_real(value) and np.isfinite(value) and value >= 0]
    if not known:
        return [], []
    if per == "label":
        return [sum(known)], known
    return [max(known)], [max(known) / len(values)] * len(values)


def _row(name: str, images: list[float], labels: list[float], score: float | None) -> dict[str, Any]:
    nan, n = float("nan"), len(images)
    ordered = np.sort(images)
    # the k-th smallest and the k-th largest value enclose the median with at least 95 %
    k = max(int(binom.ppf(0.025, n, 0.5)), 1) if n else 1
    low, high = (float(ordered[k - 1]), float(ordered[n - k])) if n >= MIN_SAMPLES else (nan, nan)
    return {
        "annotator": name,
        "n_images": n,
        "n_labels": len(labels),
        "seconds_image": float(np.median(ordered)) if n else nan,
        "low": low,
        "high": high,
        "seconds_label": float(np.median(labels)) if labels else nan,
        "score": nan if score is None else score,
    }
