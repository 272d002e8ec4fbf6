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
from ...agreement.settings.options import value_name
from ...agreement.statistics.records import Records
from ...agreement.statistics.report import AgreementReport, ReportContext
from ...metrics.bootstrap.confidence import MIN_SAMPLES
from ..database.fiftyone_private import sample_collection
from ..labels.paths import is_of_frames, labels_have, where_labels_are
from ..record.sample_index import SampleIndex, ids_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: attributes of labels that are looked for, in this order: seconds for all labels of an image (Label Studio),
#: and when a label was made
LEAD_TIME, CREATED_AT = "lead_time", "created_at"
#: so many samples with labels are looked at for attributes that are not declared
_FIRST = 100
_COLUMNS = ("annotator", "n_images", "n_labels", "seconds_image", "low", "high", "seconds_label", "score")


def time_attribute(dataset: fo.Dataset, fields: Sequence[str]) -> str | None:
    """The attribute of labels, or field of samples, that says how long they took; None if there is none."""
    schema = dataset.get_field_schema(flat=True)
    known = (name for name in (LEAD_TIME, CREATED_AT) if _is_of_labels(dataset, schema, fields, name, first=_FIRST))
    return next(known, LEAD_TIME if LEAD_TIME in schema and not all(map(is_of_frames, fields)) else None)


def _is_of_labels(
    dataset: fo.Dataset, schema: Mapping[str, fo.Field], fields: Sequence[str], name: str, first: int | None
) -> bool:
    """True if labels have an attribute: it is declared, or labels of the first samples (None: of any) have it."""
    paths = [f"{where_labels_are(schema, field)}.{name}" for field in fields if not is_of_frames(field)]
    return any(path in schema for path in paths) or labels_have(dataset, paths, first=first)


def times_of(
    dataset: fo.Dataset,
    records: Records,
    index: SampleIndex,
    report: AgreementReport,
    context: ReportContext,
    attribute: str | None = None,
    per: str | None = None,
) -> DataFrame:
    """As ``run.times()``, of the samples of some records, with the scores of a report on them."""
    import pandas as pd  # a run does not need it

    schema, fields = dataset.get_field_schema(flat=True), context.config.fields
    found = time_attribute(dataset, fields) if attribute is None else attribute
    if found is None:
        return pd.DataFrame(columns=list(_COLUMNS))
    of_labels = _is_of_labels(dataset, schema, fields, found, first=_FIRST if found in schema else None)
    if not of_labels and found not in schema:
        raise AgreementInputError(
            f"`attribute` must be an attribute of the labels of the run, or a field of samples, got {attribute!r}"
        )
    per_image = found == LEAD_TIME or not of_labels
    per = one_of("per", per or ("image" if per_image else "label"), ("image", "label"))
    images: dict[str, list[float]] = defaultdict(list)
    labels: dict[str, list[float]] = defaultdict(list)
    asked = None if of_labels else _asked(records, index, context.annotators)
    for name, values, n_labels in _values(dataset, index.sample_keys(), context.config, found, per, asked):
        of_image, of_each = _seconds(values, per, n_labels)
        images[name] += of_image
        labels[name] += of_each
    entries: Sequence[Any] = report.annotators
    rows = [_row(each.name, images[each.name], labels[each.name], each.score) for each in entries]
    return pd.DataFrame([row for row in rows if row["n_images"]], columns=list(_COLUMNS))


def _asked(records: Records, index: SampleIndex, annotators: Sequence[str]) -> dict[str, set[str]]:
    """The annotators assigned to every sample, by its id."""
    ids, asked = index.ids(), defaultdict(set)
    for row, number in np.argwhere(records.assigned).tolist():
        asked[ids[row]].add(annotators[number])
    return asked


def _values(
    dataset: fo.Dataset,
    keys: NDArray[np.bytes_],
    config: AgreementConfig,
    attribute: str,
    per: str,
    asked: Mapping[str, set[str]] | None,
) -> Iterator[tuple[str, list[Any], int]]:
    """Annotator, values, and number of labels of every image and annotator.

    Args:
        attribute: attribute of labels, or field of samples
        per: what values of a field of samples are for; they are also of images on which somebody drew nothing
        asked: of a field of samples, who was assigned to every sample, by its id; None for an attribute of labels
    """
    schema = dataset.get_field_schema(flat=True)
    prefixes = {field: where_labels_are(schema, field) for field in config.fields}
    persons = session_names(config.annotators, config.persons) if config.persons else config.annotators
    named = dict(zip(config.annotators, persons, strict=True))  # in attribute mode the values may have got names
    wanted = {f"{prefix}.{attribute if asked is None else '_id'}": True for prefix in prefixes.values()}
    if asked is not None:
        wanted[attribute] = True
    if config.attribute_mode:
        wanted |= {f"{prefix}.{config.annotator_attribute}": True for prefix in prefixes.values()}
    for document in sample_collection(dataset).find({"_id": {"$in": ids_of(keys)}}, wanted):
        by_annotator: dict[str, list[Any]] = defaultdict(list)
        for field, annotator in zip(config.fields, config.annotators or config.fields, strict=False):
            labels = _at(document, prefixes[field])
            for label in labels if isinstance(labels, list) else [labels]:
                if isinstance(label, dict):
                    named_by = config.annotator_attribute
                    name = annotator if named_by is None else label.get(named_by)
                    by_annotator[named.get(value_name(name), value_name(name))].append(label.get(attribute))
        if asked is None:
            yield from ((name, values, len(values)) for name, values in by_annotator.items())
            continue
        value = _at(document, attribute)
        by_name = value if isinstance(value, dict) else None
        for name in asked.get(str(document["_id"]), set()) | {*by_annotator} if by_name is None else by_name:
            n = len(by_annotator.get(name, ()))
            yield name, [value if by_name is None else by_name[name]] * (n if per == "label" else 1), n


def _at(document: Mapping[str, Any], path: str) -> Any:
    """The value at a path of a document; None without one."""
    value: Any = document
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _seconds(values: list[Any], per: str, n_labels: int) -> tuple[list[float], list[float]]:
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
    return [max(known)], [max(known) / n_labels] * n_labels if n_labels else []


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
