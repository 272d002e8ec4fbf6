"""Colours of the labels in the App by what a run wrote on them, and back to what was there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import fiftyone as fo

from ..fiftyone_private import document_fields

_BY_VALUE = "value"
_OURS = ("colorByAttribute", "valueColors")


def colors_record(dataset: fo.Dataset, attribute: str, fields: Sequence[str]) -> dict[str, Any]:
    """What is needed to undo a colouring: the attribute that colours, and what the scheme said before."""
    scheme = dataset.app_config.color_scheme
    entries = {entry["path"]: dict(entry) for entry in (scheme.fields or [] if scheme is not None else [])}
    return {
        "attribute": attribute,
        "has_scheme": scheme is not None,
        "has_fields": scheme is not None and scheme.fields is not None,
        "color_by": scheme.color_by if scheme is not None else None,
        # not by path: names of fields on frames have dots, which the database does not like in keys
        "fields": [[field, entries.get(field)] for field in fields],
    }


def color_labels(dataset: fo.Dataset, record: Mapping[str, Any], value_colors: Mapping[str, str] | None) -> None:
    """Colour labels by an attribute.

    Args:
        dataset: the dataset
        record: the attribute and the fields
        value_colors: the colour of every value; None leaves them to the App
    """
    scheme = dataset.app_config.color_scheme or fo.ColorScheme()
    entries = {entry["path"]: dict(entry) for entry in scheme.fields or []}
    for field, _ in record["fields"]:
        entry = {**entries.get(field, {"path": field}), "colorByAttribute": record["attribute"]}
        entry.pop("valueColors", None)
        if value_colors is not None:
            entry["valueColors"] = [{"value": value, "color": color} for value, color in value_colors.items()]
        entries[field] = entry
    scheme.fields = list(entries.values())
    scheme.color_by = _BY_VALUE
    dataset.app_config.color_scheme = scheme
    dataset.save()


def without_colors(record: Mapping[str, Any], gone: Mapping[str, Any]) -> dict[str, Any]:
    """The record of one run, if the colours of another are taken out: what this found when it came is what it left.

    Of another of which there is no record it stays, unless this one found colours of it.
    """
    if gone.get("is_left_behind") and not any(_is_ours(entry or {}, gone) for _, entry in record["fields"]):
        return dict(record)
    found = dict(gone["fields"])
    return {
        **record,
        "has_scheme": record["has_scheme"] and gone["has_scheme"],
        "has_fields": record["has_fields"] and gone["has_fields"],
        "color_by": gone["color_by"] if record["color_by"] == _BY_VALUE else record["color_by"],
        "fields": [
            [field, found.get(field) if _is_ours(entry or {}, gone) else entry] for field, entry in record["fields"]
        ],
    }


def left_behind_colors(dataset: fo.Dataset, attributes: Collection[str]) -> list[dict[str, Any]]:
    """Records of colours by some attributes, as if nothing had been there before."""
    scheme = dataset.app_config.color_scheme
    entries = scheme.fields or [] if scheme is not None else []
    colored = {attribute: [[entry["path"], None] for entry in entries if entry.get("colorByAttribute") == attribute]
               for attribute in attributes}  # fmt: skip
    nothing = {"has_scheme": False, "has_fields": False, "color_by": None, "is_left_behind": True}
    return [{"attribute": attribute, **nothing, "fields": fields} for attribute, fields in colored.items()]


def _is_ours(entry: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    return entry.get("colorByAttribute") == record["attribute"]


def uncolor_labels(dataset: fo.Dataset, record: Mapping[str, Any], *, others_color: bool) -> None:
    """Take our colours out of the scheme, whatever else was changed meanwhile.

    Args:
        dataset: the dataset
        record: what was there before
        others_color: whether other runs colour labels, too
    """
    scheme = dataset.app_config.color_scheme
    if scheme is None or not record["fields"]:
        return
    before = dict(record["fields"])
    entries = []
    for found in scheme.fields or []:
        entry = dict(found)
        if entry["path"] in before and _is_ours(entry, record):
            original = before[entry["path"]] or {}
            for name in _OURS:
                entry.pop(name, None)
                if name in original:
                    entry[name] = original[name]
            if set(entry) == {"path"} and not original:
                continue
        entries.append(entry)
    scheme.fields = entries or ([] if record["has_fields"] else None)
    if scheme.color_by == _BY_VALUE and not others_color:
        scheme.color_by = record["color_by"]
    is_empty = not record["has_scheme"] and not any(
        scheme[name] not in (None, []) for name in document_fields(scheme) if name not in ("id", "_cls")
    )
    dataset.app_config.color_scheme = None if is_empty else scheme
    dataset.save()
