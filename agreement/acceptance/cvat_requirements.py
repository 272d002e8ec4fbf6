"""CVAT's quality requirements (its API from 2.74 on) as requirements: a base for each annotation type, and children."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..settings.errors import AgreementInputError, did_you_mean, shown
from . import given as must_be
from .given import Given
from .requirements import REFERENCE

#: how FiftyOne calls CVAT's annotation types, also as this plugin imports them
_LABELS = {
    "tag": ("classification", "classifications"),
    "rectangle": ("detections",),
    "polygon": ("polylines", "detections"),
    "polyline": ("polylines",),
    "ellipse": ("polylines", "detections"),
    "mask": ("detections", "segmentation"),
    "points": ("keypoints",),
    "skeleton": ("keypoints",),
    "skeleton_keypoint": ("keypoints",),
}
#: CVAT's metrics as those of a file: a label of another class is no true positive
_METRICS = {"accuracy": "accuracy", "precision": "class_precision", "recall": "class_recall"}
#: names of the same entry in the releases of CVAT
_METRIC, _SCORE = ("metric", "target_metric"), ("required_score", "target_metric_threshold")
_PARENT, _CHILDREN = ("parent_requirement", "parent_id", "parent"), ("children", "child_requirements")
_LISTS = ("requirements", "results")


def is_of_cvat(given: Given) -> bool:
    """True for a list of CVAT's requirements, or an object with one."""
    return isinstance(_list_of(given).value, list)


def _list_of(given: Given) -> Given:
    if isinstance(given.value, dict):
        return next((given.value[name] for name in _LISTS if name in given.value), given)
    return given


def from_cvat(given: Given) -> Given:
    """CVAT's requirements as the requirements of a file. CVAT compares with a ground truth, so they do, too.

    The settings of CVAT's matching are left out: labels are matched with the reference as the options of the run say.

    Raises:
        AgreementInputError: if something is not as CVAT writes it, or a filter uses what the run does not store
    """
    listed = [*_flattened(_list_of(given).value, None)]
    names = _names(listed)
    found: dict[str, Given] = {}
    for (entry, parent), name in zip(listed, names, strict=True):
        above = parent if parent is not None else _parent(entry, listed)
        inherits = None if above is None else names[next(k for k, (each, _) in enumerate(listed) if each is above)]
        found[name] = _requirement(entry, inherits)
    return Given({"requirements": Given(found, given.place)}, given.place)


def _flattened(entries: Any, parent: Given | None, depth: int = 0) -> Iterator[tuple[Given, Given | None]]:
    """All requirements, children within their parents too, each with the parent that it stands in."""
    for entry in entries:
        entry.entries("a requirement")
        yield entry, parent
        children = _first(entry, _CHILDREN)
        if children is not None and isinstance(children.value, list) and depth < must_be.DEEPEST:
            yield from _flattened(children.value, entry, depth + 1)


def _first(entry: Given, keys: tuple[str, ...]) -> Given | None:
    """The entry with one of some names, unless it is null."""
    found = next((entry.value[key] for key in keys if key in entry.value), None)
    return None if found is None or found.value is None else found


def _names(listed: list[tuple[Given, Given | None]]) -> list[str]:
    names: list[str] = []
    for entry, _ in listed:
        given = _first(entry, ("name",))
        if given is None:
            raise entry.wrong("a requirement must have a `name`, got none")
        name = must_be.text("name", given)
        if name in names:
            raise given.wrong(f"there must be one requirement {name!r}, got another one")
        names.append(name)
    return names


def _parent(entry: Given, listed: list[tuple[Given, Given | None]]) -> Given | None:
    """The parent that a requirement names by its id."""
    given = _first(entry, _PARENT)
    if given is None:
        return None
    found = next((each for each, _ in listed if "id" in each.value and each.value["id"].plain() == given.plain()), None)
    if found is None:
        raise given.must_be("parent_requirement", "the id of another requirement")
    return found


def _requirement(entry: Given, inherits: str | None) -> Given:
    """One requirement of CVAT in the keys of a file."""
    place, keys = entry.place, {}
    if inherits is not None:
        keys["inherits"] = Given(inherits, place)
    else:
        keys["against"] = Given(REFERENCE, place)
    kind = _first(entry, ("annotation_type",))
    if kind is not None:
        if kind.value not in _LABELS:
            raise kind.must_be(
                "annotation_type", f"one of {shown(_LABELS, limit=20)}{did_you_mean(kind.value, _LABELS)}"
            )
        keys["labels"] = Given([Given(name, kind.place) for name in _LABELS[kind.value]], kind.place)
    metric, score = _first(entry, _METRIC), _first(entry, _SCORE)
    if metric is not None:
        keys["metric"] = Given(_METRICS[must_be.among(*_METRICS)("metric", metric)], metric.place)
    if score is not None:
        keys["at_least"] = score
    if (enabled := _first(entry, ("enabled",))) is not None:
        keys["enabled"] = enabled
    rule = _first(entry, ("filter",))
    if rule is not None and rule.value != "":
        keys |= _filters(rule)
    return Given(keys, place)


# ---- filters: JSON Logic ----


def _filters(given: Given) -> dict[str, Given]:
    """A filter of CVAT, which is JSON Logic as text, in the keys of a file."""
    try:
        rule = json.loads(given.value) if isinstance(given.value, str) else given.plain()
    except (ValueError, RecursionError) as error:
        raise given.must_be("filter", "JSON Logic") from error
    found: dict[str, Any] = {}
    attribute: dict[str, Any] = {}
    for operator, variable, values in _conditions(rule, given):
        _add(found, attribute, operator, variable, values, given)
    if attribute:
        if set(attribute) != {"name", "value"}:
            raise _unknown(given, "shape.attribute.name without shape.attribute.value")
        found.setdefault("attributes", {})[attribute["name"]] = attribute["value"]
    return {key: Given.of(value, given.place) for key, value in found.items()}


def _unknown(given: Given, what: object) -> AgreementInputError:
    return given.wrong(
        "`filter` must be conditions joined by `and` on shape.label, shape.area, shape.occluded, or "
        f"shape.attribute.name with shape.attribute.value, got {str(what)[:80]}"
    )


def _conditions(rule: Any, given: Given) -> Iterator[tuple[str, str, list[Any]]]:
    """Operator, variable and values of every condition."""
    if not isinstance(rule, Mapping) or len(rule) != 1:
        raise _unknown(given, rule)
    ((operator, arguments),) = rule.items()
    if operator == "and" and isinstance(arguments, list):
        for each in arguments:
            yield from _conditions(each, given)
        return
    listed = arguments if isinstance(arguments, list) else []
    variables = [each.get("var") for each in listed if isinstance(each, Mapping)]
    if len(variables) != 1 or not isinstance(variables[0], str) or len(listed) not in (2, 3):
        raise _unknown(given, rule)
    yield operator, variables[0], [each for each in listed if not isinstance(each, Mapping)]


def _add(
    found: dict[str, Any], attribute: dict[str, Any], operator: str, variable: str, values: list[Any], given: Given
) -> None:
    """Add what one condition says."""
    if variable == "shape.label" and operator in ("==", "in") and len(values) == 1:
        found["classes"] = values[0] if operator == "in" else [values[0]]
    elif variable == "shape.area" and operator in ("<=", ">=", "<", ">"):
        low, high = found.get("area", [None, None])
        if len(values) == 2 and operator == "<=":
            low, high = values
        elif operator[0] == ">":
            low = values[0]
        else:
            high = values[0]
        found["area"] = [low, high]
    elif variable == "shape.occluded" and operator == "==" and len(values) == 1:
        found.setdefault("attributes", {})["occluded"] = values[0]
    elif variable in ("shape.attribute.name", "shape.attribute.value") and operator == "==" and len(values) == 1:
        attribute[variable.rpartition(".")[2]] = values[0]
    else:
        raise _unknown(given, f"{variable} {operator}")
