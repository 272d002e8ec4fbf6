"""Presets of the form that computes agreement: the last run's choices, or suggestions from the dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fiftyone as fo

from ..agreement.settings.options import OPTIONS
from ..dataset_io.labels.annotator_attributes import (
    is_copy_of_ours,
    is_likely_reference,
    is_of_model,
    label_attributes,
    likely_annotator,
    likely_assigned,
)
from ..dataset_io.labels.kinds import LabelKind
from ..dataset_io.labels.paths import is_of_frames
from ..dataset_io.record.run import Run, newest_first

_MOST_FIELDS = 10
#: more fields with lists of labels are not searched for an attribute that names annotators
_MOST_SEARCHED = 12
#: recorded entries that the form does not take over from a run: it asks for them elsewhere, or not at all
_OWN = ("fields", "run_key", "annotators", "persons", "seed")


@dataclass(frozen=True, slots=True)
class Preset:
    """The fields that are chosen when the form opens, and the options for them."""

    fields: list[str]
    options: Mapping[str, Any] = field(default_factory=dict)  #: by name; only those that differ from their default
    run_key: str | None = None  #: the run whose choices these are; None for a guess


def preset_of(dataset: fo.Dataset, candidates: Mapping[str, LabelKind], chosen: Sequence[str] | None) -> Preset:
    """Presets for a dataset and the chosen fields.

    Args:
        chosen: the fields that the user has chosen; None while the form opens
    """
    for run_key in newest_first(dataset):
        options = Run(dataset, run_key).config["options"]
        fields = [name for name in options.get("fields", []) if isinstance(name, str)]
        if fields and set(fields) <= set(candidates) and (chosen is None or set(fields) == set(chosen)):
            return Preset(fields, _changed(options), run_key)
    known = {name: kind for name, kind in candidates.items() if not is_copy_of_ours(dataset, name, kind)}
    theirs = {
        name: kind
        for name, kind in known.items()
        if not is_of_model(dataset, name, kind) and not is_likely_reference(dataset, name)
    }
    searched = [chosen[0]] if chosen is not None and len(chosen) == 1 else list(theirs)[:_MOST_SEARCHED]
    if chosen is None or len(chosen) == 1:
        for name in searched:
            kind = candidates.get(name)
            if kind is None or kind.list_name is None:
                continue
            attributes = label_attributes(dataset, name, kind)
            attribute = likely_annotator(attributes)
            if attribute is not None:
                assigned = likely_assigned(dataset, attributes[attribute])
                guess = {"annotator_attribute": attribute, "assigned_field": assigned}
                return Preset([name], {option: value for option, value in guess.items() if value is not None})
    # without two annotators beside them, what looks like a reference or a model is likely to be one
    several = (fields for fields in (_alike(theirs), _alike(known)) if len(fields) > 1)
    return Preset(list(chosen) if chosen is not None else next(several, _alike(known)))


def _changed(options: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded options that the form can take over and that are not at their defaults."""
    given = {name: value for name, value in options.items() if name in OPTIONS and name not in _OWN}
    if options.get("iou_from_data"):
        given["iou"] = "auto"
    if not isinstance(given.get("no_labels"), str):  # the form asks for one meaning, not for one by annotator
        given.pop("no_labels", None)
    return {name: value for name, value in given.items()
            if value != OPTIONS[name].default and value not in (None, [], {})}  # fmt: skip


def _alike(candidates: Mapping[str, LabelKind]) -> list[str]:
    """Comparable fields with the same text after the first underscore (``alice_boxes``, ``bob_boxes``), or without
    underscore; else all fields of the first kind with several; none if these are too many. Plain fields, which may hold
    anything, are chosen only without label fields."""
    labels = {name: kind for name, kind in candidates.items() if kind.is_label}
    groups: dict[tuple[str, str, bool], list[str]] = {}
    kinds: dict[tuple[str, bool], list[str]] = {}
    for name, kind in (labels or candidates).items():
        groups.setdefault((kind.title, name.partition("_")[2], is_of_frames(name)), []).append(name)
        kinds.setdefault(comparable(name, kind), []).append(name)
    several = (fields for fields in (*groups.values(), *kinds.values()) if len(fields) > 1)
    chosen = next(several, next(iter(kinds.values()), []))
    return chosen if len(chosen) <= _MOST_FIELDS else []


def comparable(name: str, kind: LabelKind) -> tuple[str, bool]:
    """Key that is equal for comparable fields; fields of frames and of samples are not comparable."""
    return kind.comparable, is_of_frames(name)
