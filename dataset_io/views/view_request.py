"""``ViewRequest``, the checked arguments of a view of a run; classes and names as the database stores them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone.core.expressions as foe
from fiftyone import ViewField as F
from fiftyone.core.expressions import ViewExpression

from ...agreement.settings.arguments import is_real
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import NO_LABEL
from ..labels.stored import places
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
    """Condition that a value is one of some stored values; an absent value counts as None."""
    named = [as_value(each) for each in stored if each is not None]
    found = value == named[0] if len(named) == 1 else value.is_in(named)
    return found | ~value.exists() if None in stored else found


def contains_any(names: ViewExpression, wanted: Sequence[str]) -> ViewExpression:
    """Condition that a list of names contains any of the wanted names."""
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


#: MongoDB holds no larger integers
_MOST = 2**63 - 1

#: verdicts of the reference on labels of annotators; the last one is on its own labels: an annotator did not draw it
OF_REFERENCE = ("right", "wrong_class", "wrong_attribute", "loose", "extra", "missed")
MISSED = OF_REFERENCE[-1]
#: verdicts on a model against annotators
OF_MODEL = ("right", "wrong_class", "loose", "extra", MISSED)

Votes = int | tuple[int | None, int | None] | None


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """The conditions of a view; empty or None for no condition."""

    verdicts: tuple[str, ...] = ()  #: labels with one of these
    annotators: tuple[str, ...] = ()  #: one, or two who disagree
    missed_by: str | None = None  #: annotator who missed the units
    classes: tuple[str, ...] = ()  #: classes of the units
    confusion: tuple[str, ...] = ()  #: two classes of one unit
    reference: tuple[str, ...] = ()  #: labels with one of these verdicts of the reference
    model: str | None = None  #: a model, whose labels are shown with one of the verdicts ``OF_MODEL``
    votes: tuple[int | None, int | None] | None = None  #: least and most annotators who agree
    assigned: tuple[int | None, int | None] | None = None  #: least and most annotators asked for a unit
    min_score: float | None = None  #: lowest score of samples
    max_score: float | None = None  #: highest score

    @property
    def has_scores(self) -> bool:
        """True if the samples are limited by their scores."""
        return self.min_score is not None or self.max_score is not None

    @property
    def is_pair(self) -> bool:
        """True if the disagreements of two annotators are requested."""
        return len(self.annotators) == 2

    @property
    def has_labels(self) -> bool:
        """True if there is a condition on labels, not only on samples."""
        return any(getattr(self, each.name) for each in dataclasses.fields(self) if not each.name.endswith("_score"))

    def shown(self, annotators: Sequence[str]) -> tuple[str, ...]:
        """The annotators whose labels are shown."""
        return tuple(name for name in self.annotators or annotators if name != self.missed_by)


def check_request(labels: RunLabels, asked: Mapping[str, Any]) -> ViewRequest:
    """Check the conditions of a view.

    Args:
        labels: labels of the run
        asked: arguments of :func:`~.agreement_view.view_agreement` by name; None, or left out, for no condition; in
            addition ``assigned``: labels of units for which this number of annotators was asked, given like ``votes``
    """
    for option in options_without(labels):
        if asked.get(option) is not None:
            raise AgreementInputError(f"`{option}` must be None for a run on {labels.title}, got {asked[option]!r}")
    model, models = asked.get("model"), labels.config.models
    if model is not None:
        if model not in models or not labels.family.has_objects:
            must = f"a model of the run {labels.run_key!r} ({shown(models)})"
            must = must if models else "None for a run without models"
            must = must if labels.family.has_objects else f"None for a run on {labels.title}"
            raise AgreementInputError(f"`model` must be {must}, got {model!r}")
        for option in ("missed_by", "classes", "confusion", "reference", "votes", "assigned"):
            if asked.get(option) is not None:
                raise AgreementInputError(f"`{option}` must be None with `model`, got {asked[option]!r}")
    known: Sequence[str] = labels.family.verdicts if model is None else OF_MODEL
    verdicts = _names("verdict", asked.get("verdict"))
    unknown = [verdict for verdict in verdicts if verdict not in known]
    if unknown:
        raise AgreementInputError(
            f"`verdict` must be one of {', '.join(known)}, got {unknown[0]!r}{did_you_mean(unknown[0], known)}"
        )
    annotators = _names("annotators", asked.get("annotators"))
    no_annotators = [name for name in annotators if name in models]
    if no_annotators:
        raise AgreementInputError(
            f"`annotators` must be annotators, got the model {no_annotators[0]!r}; use model={no_annotators[0]!r} for "
            "its labels"
        )
    labels.check_annotators("annotators", list(annotators))
    if len(annotators) > 2:
        raise AgreementInputError(
            f"`annotators` must be one annotator, or two who disagree, got {len(annotators)} ({', '.join(annotators)})"
        )
    classes, two = _names("classes", asked.get("classes")), asked.get("confusion")
    confusion = _names("confusion", two)
    if two is not None and (isinstance(two, str) or len(two) != 2 or len(confusion) != 2):
        raise AgreementInputError(f"`confusion` must be two different classes, got {two!r}")
    request = ViewRequest(
        model=None if model is None else str(model),
        verdicts=verdicts,
        annotators=annotators,
        missed_by=asked.get("missed_by"),
        classes=classes,
        confusion=confusion,
        reference=_reference(labels, asked.get("reference")),
        votes=_votes(asked.get("votes")),
        assigned=_votes(asked.get("assigned")),
        min_score=_score("min_score", asked.get("min_score")),
        max_score=_score("max_score", asked.get("max_score")),
    )
    _check_missed_by(labels, request)
    for option, names in (("classes", request.classes), ("confusion", request.confusion)):
        absent = [name for name in names if not has_class(labels, name)]
        if absent:
            there, meant = classes_of(labels), labels.config.aliases.get(absent[0])
            raise AgreementInputError(
                f"`{option}` must be classes of labels of the run {labels.run_key!r}, got {shown(map(repr, absent))}"
                f"{did_you_mean(meant or absent[0], there)}; classes are {shown(there, limit=20)}"
            )
    if request.min_score is not None and request.max_score is not None and request.min_score > request.max_score:
        raise AgreementInputError(
            f"`min_score` must be at most `max_score`, got {request.min_score!r} and {request.max_score!r}"
        )
    return request


def options_without(labels: RunLabels) -> tuple[str, ...]:
    """Conditions that do not apply to the labels of a run."""
    without = labels.family.not_in_views
    # plain fields have no labels with votes, or with verdicts of the reference
    return without if labels.have_attributes else (*without, "votes", "reference")


def _names(option: str, value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if names is None:
        return ()
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise AgreementInputError(f"`{option}` must be a name or a list of names, got {value!r}")
    return tuple(dict.fromkeys(names))


def _reference(labels: RunLabels, value: Any) -> tuple[str, ...]:
    said = _names("reference", value)
    unknown = [name for name in said if name not in OF_REFERENCE]
    if unknown:
        raise AgreementInputError(f"`reference` must be one of {', '.join(OF_REFERENCE)}, got {unknown[0]!r}")
    if said and labels.config.reference is None:
        raise AgreementInputError(
            f"`reference` must be None for a run without a reference, got {value!r}; compute it with reference=…"
        )
    if MISSED in said and labels.kinds[0].list_name is None:
        raise AgreementInputError(f"`reference` must not be {MISSED!r} for a run on {labels.title}, got {value!r}")
    if MISSED in said and said != (MISSED,):
        raise AgreementInputError(
            f"`reference` must be {MISSED!r} alone, which shows labels of the reference, got {value!r}"
        )
    return said


def _check_missed_by(labels: RunLabels, request: ViewRequest) -> None:
    if request.missed_by is None:
        return
    if not isinstance(request.missed_by, str):
        raise AgreementInputError(f"`missed_by` must be the name of an annotator, got {request.missed_by!r}")
    labels.check_annotators("missed_by", [request.missed_by])
    if len(labels.annotators) < 3:
        (other,) = [name for name in labels.annotators if name != request.missed_by] or ["…"]
        raise AgreementInputError(
            f"`missed_by` must be None for two annotators, got {request.missed_by!r}: an object counts as missed where "
            f"two others drew it; use annotators={other!r}, verdict='lone' for what only the other one has"
        )
    if request.annotators == (request.missed_by,):
        raise AgreementInputError(
            f"`missed_by` must not be one of `annotators`, whose labels are shown, got {request.missed_by!r} for both"
        )


def _votes(value: Any) -> tuple[int | None, int | None] | None:
    if value is None:
        return None
    limits = (value, value) if isinstance(value, int) else value
    if (
        isinstance(limits, str)
        or not isinstance(limits, Sequence)
        or len(limits) != 2
        or not all(limit is None or is_count(limit) for limit in limits)
        or (None not in limits and limits[0] > limits[1])
    ):
        raise AgreementInputError(
            f"`votes` must be a number of annotators, or the least and the most (least, most), got {value!r}"
        )
    least, most = (None if limit is None else int(limit) for limit in limits)
    return None if (least, most) == (None, None) else (least, most)


def is_count(value: object) -> bool:
    """True if a value is a whole number of at least 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST


def _score(option: str, value: Any) -> float | None:
    if value is None:
        return None
    if not is_real(value):
        raise AgreementInputError(f"`{option}` must be a number, got {value!r}")
    return float(value)
