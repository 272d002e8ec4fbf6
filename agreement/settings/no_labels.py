"""Null label lists: their meaning (not assigned, or drew nothing), and the effect of the other meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .errors import AgreementInputError, shown

Reading = Literal["not_assigned", "drew_nothing"]
#: meaning of null lists, of all annotators or by annotator (or field); who is not in a mapping is not assigned
NoLabels: TypeAlias = Reading | Mapping[str, Reading]

NOT_ASSIGNED: Reading = "not_assigned"
DREW_NOTHING: Reading = "drew_nothing"
#: title of the option in forms
TITLE = "A null label list"
#: the main numbers of the two readings differ if alpha or F1 differs by more than this
CLOSE = 0.02
_MEANING: dict[str, str] = {NOT_ASSIGNED: "were not assigned", DREW_NOTHING: "drew nothing"}
#: names in a sentence
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class AnnotatorLists:
    """Numbers of images on which an annotator has labels, an empty label list, and no list (null, or no field).

    With one field for all annotators, a list without a label of the annotator is an empty one.
    """

    name: str
    n_labels: int
    n_empty: int
    n_null: int


@dataclass(frozen=True, slots=True)
class OtherReading:
    """The main numbers of the same labels and the same matching if null lists meant the opposite.

    ``no_labels`` is the option that gives this reading. It changes who was assigned on ``n_samples`` images, by the
    null lists of ``annotators``. ``f1`` is None for tags, which have no such number.
    """

    no_labels: str | dict[str, str]
    n_samples: int
    annotators: list[str]
    n_rated: int
    score: float | None
    alpha: float | None
    mean_alpha: float | None = None
    n_alpha: int = 0
    f1: float | None = None


def drew_nothing(no_labels: NoLabels, called: Iterable[str]) -> bool:
    """True if a null list of an annotator means that they drew nothing.

    Args:
        called: the names of the annotator and of their fields
    """
    if isinstance(no_labels, str):
        return no_labels == DREW_NOTHING
    return any(no_labels.get(name) == DREW_NOTHING for name in called)


def check_named(no_labels: NoLabels, known: Iterable[str]) -> None:
    """Raise :class:`AgreementInputError` if a mapping names somebody who is not known."""
    unknown = sorted(set(() if isinstance(no_labels, str) else no_labels) - set(known))
    if unknown:
        raise AgreementInputError(
            f"`no_labels` must map annotators, or their fields, got {shown(map(repr, unknown))}; known are "
            f"{shown(sorted(set(known)))}"
        )


def opposite(no_labels: NoLabels, drew: Mapping[str, bool]) -> str | dict[str, str]:
    """The value of the option that gives every null list the opposite meaning.

    Args:
        drew: for every annotator, whether their null lists mean in the run that they drew nothing
    """
    if isinstance(no_labels, str):
        return NOT_ASSIGNED if no_labels == DREW_NOTHING else DREW_NOTHING
    return {name: NOT_ASSIGNED if nothing else DREW_NOTHING for name, nothing in drew.items()}


def null_policy(no_labels: NoLabels | Mapping[str, str] | str, assigned_field: str | None) -> str:
    """Name of the meaning of null lists: an option's value, ``assigned_field`` or ``by_annotator``."""
    if assigned_field is not None:
        return "assigned_field"
    return no_labels if isinstance(no_labels, str) else "by_annotator"


def reading_warning(other: OtherReading, alpha: tuple[str, float | None], f1: float | None, what: str) -> str | None:
    """The warning that the numbers depend on what a null list means; None where they hardly do.

    Args:
        other: the main numbers under the other reading
        alpha: title and value of the alpha of the run
        f1: F1 of the run, None if it has none
        what: ``images`` or ``frames``
    """
    changed = [
        (name, *("undefined" if value is None else f"{value:.3f}" for value in (there, here)))
        for name, there, here in (("F1", other.f1, f1), (alpha[0], other.alpha, alpha[1]))
        if (there is not here if there is None or here is None else abs(there - here) > CLOSE)
    ]
    if not changed:
        return None
    differences = ", and ".join(
        f"{name}{' would be' if not k else ''} {there}, not {here}" for k, (name, there, here) in enumerate(changed)
    )
    said = other.no_labels
    meaning = f"mean that they {_MEANING[said]}" if isinstance(said, str) else "are read the other way"
    if other.n_samples == 1:
        what, meaning = what[:-1], meaning.replace("mean ", "means ", 1).replace("are ", "is ", 1)
    who = other.annotators[:_MOST_NAMED]
    if len(other.annotators) > len(who):
        who = [*who, f"{len(other.annotators) - len(who)} others"]
    either = " or ".join([", ".join(who[:-1]), who[-1]] if len(who) > 1 else who)
    return (
        f"{differences}, if the {other.n_samples:,} {what} without a list of {either} {meaning}: "
        f"set “{TITLE}” (no_labels={said!r})"
    )
