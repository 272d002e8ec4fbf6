"""Classes and names as the database stores them, and as parts of FiftyOne's expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import fiftyone.core.expressions as foe
from fiftyone import ViewField as F
from fiftyone.core.expressions import ViewExpression

from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import NO_LABEL
from ..labels.paths import places
from ..record.run_labels import RunLabels


def stored_as(name: str) -> list[Any]:
    """All stored values that are displayed as a text: the text itself, and the number or boolean of that name."""
    values: list[Any] = [None] if name == NO_LABEL else []
    values.append(name)
    if name in ("True", "False"):
        values.append(name == "True")
    try:
        number = float(name)
    except ValueError:
        return values
    if name in (str(number), value_name(number)):
        values.append(int(number) if number.is_integer() and abs(number) < 2**63 else number)
    return values


def class_values(labels: RunLabels, classes: Iterable[str]) -> list[Any]:
    """The stored names of some classes, including aliases."""
    aliases = labels.config.aliases
    meant = [name for name in classes if name not in aliases]
    meant += [alias for alias, name in aliases.items() if name in meant]
    return [value for name in meant for value in stored_as(name)]


def has_class(labels: RunLabels, name: str) -> bool:
    """True if any label in the fields of a run has this class."""
    values = class_values(labels, [name])
    return any(
        place.collection.find_one({path: {"$in": values}}, {"_id": True}) is not None
        for place in places(labels.dataset, _class_paths(labels))
        for path in place.paths
    )


def classes_of(labels: RunLabels) -> list[str]:
    """The classes of the labels in the fields of a run, sorted."""
    found = [
        value
        for place in places(labels.dataset, _class_paths(labels))
        for path in place.paths
        for value in place.collection.distinct(path)
    ]
    names = {NO_LABEL if value is None else value_name(value) for value in found}
    return sorted({labels.config.aliases.get(name, name) for name in names})


def _class_paths(labels: RunLabels) -> list[str]:
    """Paths of the classes of labels, or of plain values, in the schema."""
    pairs = zip(labels.kinds, labels.label_paths, strict=True)
    return [f"{path}.label" if kind.list_name else kind.value_path(path) for kind, path in pairs]


def is_one_of(value: ViewExpression, stored: Sequence[Any]) -> ViewExpression:
    """Condition that a value is one of some stored values; an absent one counts as None."""
    named = [as_value(each) for each in stored if each is not None]
    found = value == named[0] if len(named) == 1 else value.is_in(named)
    return found | ~value.exists() if None in stored else found


def contains_any(names: ViewExpression, wanted: Sequence[str]) -> ViewExpression:
    """Condition that a list of names has any of some."""
    return F.any([names.contains([as_value(name)]) for name in wanted])


def in_range(value: ViewExpression, least: int | None, most: int | None) -> Iterator[ViewExpression]:
    """Condition that a number is in a range, whose ends may be open."""
    if least is not None:
        yield value >= least
    if most is not None:
        yield value <= most


def as_value(value: Any) -> Any:
    """A value as part of an expression, in which a text that begins with a dollar would be a field."""
    is_field = isinstance(value, str) and value.startswith("$")
    return foe.ViewExpression({"$literal": value}) if is_field else value
