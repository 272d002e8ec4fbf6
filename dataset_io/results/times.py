"""Annotation times of annotators, from attributes or time stamps of their labels, beside their agreement."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import fiftyone as fo
import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from ...agreement.settings.annotators import session_names
from ...agreement.settings.arguments import is_real, one_of
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError
from ...agreement.statistics.report import AgreementReport, ReportContext
from ...metrics.bootstrap.confidence import MIN_SAMPLES
from ..database.fiftyone_private import sample_collection
from ..labels.paths import is_of_frames, where_labels_are
from ..record.sample_index import ids_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: attributes of labels that are looked for, in this order: seconds for all labels of an image (Label Studio),
#: and when a label was made
LEAD_TIME, CREATED_AT = "lead_time", "created_at"
_COLUMNS = ("annotator", "n_images", "n_labels", "seconds_image", "low", "high", "seconds_label", "score")


def time_attribute(dataset: fo.Dataset, fields: Sequence[str]) -> str | None:
    """The attribute of labels, or field of samples, that says how long they took; None if there is none."""
    schema = dataset.get_field_schema(flat=True)
    lists = [where_labels_are(schema, field) for field in fields if not is_of_frames(field)]
    known = (name for name in (LEAD_TIME, CREATED_AT) if any(f"{prefix}.{name}" in schema for prefix in lists))
    return next(known, LEAD_TIME if lists and LEAD_TIME in schema else None)


def times_of(
    dataset: fo.Dataset,
    keys: NDArray[np.bytes_],
    report: AgreementReport,
    context: ReportContext,
    attribute: str | None = None,
    per: str | None = None,
) -> DataFrame:
    """As ``run.times()``, of samples that are known by their keys, with the scores of a report on them."""
    import pandas as pd  # a run does not need it

    schema, config = dataset.get_field_schema(flat=True), context.config
    found = time_attribute(dataset, config.fields) if attribute is None else attribute
    if found is None:
        return pd.DataFrame(columns=list(_COLUMNS))
    prefixes = {field: where_labels_are(schema, field) for field in config.fields}
    of_labels = any(f"{prefix}.{found}" in schema for prefix in prefixes.values())
    if not of_labels and found not in schema:
        raise AgreementInputError(
            f"`attribute` must be an attribute of the labels of the run, or a field of samples, got {attribute!r}"
        )
    per_image = found == LEAD_TIME or not of_labels
    per = one_of("per", per or ("image" if per_image else "label"), ("image", "label"))
    images: dict[str, list[float]] = defaultdict(list)
    labels: dict[str, list[float]] = defaultdict(list)
    for name, values in _values(dataset, keys, prefixes, config, found, of_labels=of_labels):
        of_image, of_each = _seconds(values, per)
        images[name] += of_image
        labels[name] += of_each
    entries: Sequence[Any] = report.annotators
    rows = [_row(each.name, images[each.name], labels[each.name], each.score) for each in entries]
    return pd.DataFrame([row for row in rows if row["n_images"]], columns=list(_COLUMNS))


def _values(
    dataset: fo.Dataset,
    keys: NDArray[np.bytes_],
    prefixes: Mapping[str, str],
    config: AgreementConfig,
    attribute: str,
    *,
    of_labels: bool,
) -> Iterator[tuple[str, list[Any]]]:
    """Annotator and values of the labels of every image and annotator; of a field of samples, for every label."""
    persons = session_names(config.annotators, config.persons) if config.persons else config.annotators
    named = dict(zip(config.annotators, persons, strict=True))  # in attribute mode the values may have got names
    wanted = {f"{prefix}.{attribute if of_labels else '_id'}": True for prefix in prefixes.values()}
    if not of_labels:
        wanted[attribute] = True
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
            for name, values in by_annotator.items():
                yield name, values if of_labels else [_sample_value(document, attribute, name)] * len(values)


def _sample_value(document: Mapping[str, Any], field: str, annotator: str) -> Any:
    """The value of a field of samples, by annotator if it is a dictionary."""
    value: Any = document
    for step in field.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value.get(annotator) if isinstance(value, Mapping) else value


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
