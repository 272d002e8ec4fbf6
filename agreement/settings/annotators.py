"""Annotators: their names, the persons behind sessions, pairs of annotators; and names that are spelt alike."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ... import names
from ...metrics.numeric.arrays import BoolArray, IntArray, columns_together
from .arguments import repeated
from .errors import AgreementInputError, shown

#: the annotators as the user gives them
Given: TypeAlias = Mapping[str, str] | Sequence[str] | None


def session_names(sessions: Sequence[str], persons: Sequence[str]) -> tuple[str, ...]:
    """Names of annotators: the person, followed by the session if a person has several.

    Args:
        sessions: field, or value of the attribute, of every annotator
        persons: person of every annotator; if empty, the sessions are the names
    """
    if not persons:
        return tuple(sessions)
    n_sessions = Counter(persons)
    return tuple(
        f"{person} ({session})" if n_sessions[person] > 1 else person
        for session, person in zip(sessions, persons, strict=True)
    )


def spelt_alike(given: Iterable[str], of: str) -> Iterator[tuple[list[str], str]]:
    """Groups of names that differ only in case, blanks or the Unicode form of their letters, with a question on each.

    Args:
        given: names of annotators or of classes
        of: ``"annotators"`` or ``"classes"``
    """

    def in_form(name: str) -> str:
        return unicodedata.normalize("NFKC", name)

    groups: dict[str, set[str]] = defaultdict(set)
    for name in given:
        groups["".join(in_form(name).casefold().split())].add(name)
    for group in (sorted(own) for _, own in sorted(groups.items()) if len(own) > 1):
        ways = {"case": {"".join(in_form(name).split()) for name in group},
                "blanks": {in_form(name).casefold() for name in group},
                "Unicode form": {"".join(name.casefold().split()) for name in group}}  # fmt: skip
        kept = min(group, key=lambda name: (name != " ".join(in_form(name).split()), name))
        aliases = {name: kept for name in group if name != kept}
        yield group, (
            f"{of.capitalize()} {shown(map(repr, group), 10)} differ only in "
            f"{' and '.join(way for way, found in ways.items() if len(found) > 1)}: one "
            + (f"person? Importing with `aliases={aliases}` joins their labels" if of == "annotators" else
               f"class? `aliases={aliases}` joins them")
        )  # fmt: skip


def chosen_annotators(
    fields: tuple[str, ...], annotator_attribute: str | None, annotators: Given, least: int = 2
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The config's ``annotators`` and ``persons``.

    Raises:
        AgreementInputError: if the annotators are not usable
    """
    in_fields, is_mapping = annotator_attribute is None, isinstance(annotators, Mapping)
    in_place = {field: field.removeprefix(names.FRAMES_PREFIX) for field in fields}
    if annotators is None or (in_fields and isinstance(annotators, tuple | list) and not annotators):
        return (tuple(in_place.values()) if in_fields else ()), ()
    if in_fields and not is_mapping:
        raise AgreementInputError(
            f"`annotators` must map field names to annotator names in field mode, got {annotators!r}"
        )
    if isinstance(annotators, str) or not isinstance(annotators, Mapping | Sequence):
        raise AgreementInputError(
            "`annotators` must be a list of annotator names in attribute mode, or map them to persons, got "
            f"{annotators!r}"
        )
    if in_fields and (unknown := sorted(map(str, set(annotators) - set(fields)))):
        raise AgreementInputError(f"`annotators` must name chosen fields, got {shown(unknown)}")
    given = annotators if isinstance(annotators, Mapping) else {}
    if any(not isinstance(name, str) or not name for name in given.values()):
        what = "field" if in_fields else "value"
        raise AgreementInputError(f"`annotators` must give every {what} a name, got {annotators!r}")
    if in_fields:
        chosen = tuple(in_place.values())
        persons = tuple(str(given.get(field, in_place[field])) for field in fields)
    else:
        chosen = tuple(sorted({str(value) for value in annotators}))
        if len(chosen) < least:
            raise AgreementInputError(f"Agreement needs at least 2 annotators, got {len(chosen)} ({shown(chosen)})")
        person_of = {str(value): person for value, person in given.items()}
        persons = tuple(person_of[value] for value in chosen) if is_mapping else ()
    named = session_names(chosen, persons)
    if is_mapping and len(set(named)) < len(named):
        raise AgreementInputError(f"`annotators` must be told apart by their names, got {shown(repeated(named))} twice")
    return (named, persons if named != persons else ()) if in_fields else (chosen, persons)


#: maximum number of pairs of annotators with intervals (the pairs that share the most samples)
MAX_PAIRS = 200
#: maximum number of shared samples, summed over these pairs
MAX_SHARED = 3_000_000


@dataclass(frozen=True, slots=True)
class AnnotatorPairs:
    """The ``P`` pairs of annotators who share a sample, in the order (0, 1), (0, 2) … (R - 2, R - 1).

    Pairs without a shared sample are not kept: if there are very many annotators, most pairs have none.
    """

    a: IntArray  #: shape ``(P,)``, the first annotator
    b: IntArray  #: shape ``(P,)``, the second one, ``> a``
    n_shared: IntArray  #: shape ``(P,)``, samples that both were assigned to
    n_annotators: int  #: number ``R`` of annotators

    @classmethod
    def of(cls, assigned: BoolArray) -> AnnotatorPairs:
        """The pairs from assignments ``(S, R)``."""
        return cls(*columns_together(assigned), assigned.shape[1])

    def __len__(self) -> int:
        return len(self.a)

    def rows(self, a: IntArray, b: IntArray) -> IntArray:
        """Number of the pair of annotators ``a`` before ``b``, who share a sample."""
        return np.searchsorted(self.a * self.n_annotators + self.b, a * self.n_annotators + b)

    def names(self, annotators: Sequence[str]) -> list[tuple[str, str]]:
        """The names of both annotators of every pair."""
        return [(annotators[a], annotators[b]) for a, b in zip(self.a.tolist(), self.b.tolist(), strict=True)]

    def chosen(self, annotators: Sequence[str]) -> IntArray:
        """The pairs that have intervals, ascending; ties in shared samples go to the first by name."""
        place = np.argsort(np.argsort(np.array(annotators, dtype=object), kind="stable"), kind="stable")
        first, second = np.minimum(place[self.a], place[self.b]), np.maximum(place[self.a], place[self.b])
        order = np.lexsort([second, first, -self.n_shared])[:MAX_PAIRS]
        return np.sort(order[np.cumsum(self.n_shared[order]) <= MAX_SHARED])
