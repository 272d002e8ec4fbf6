"""Annotators: their names, the persons behind sessions, and pairs of annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ... import names
from ...metrics.numeric.arrays import BoolArray, IntArray
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


def chosen_annotators(
    fields: tuple[str, ...], annotator_attribute: str | None, annotators: Given
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The config's ``annotators`` and ``persons``.

    Raises:
        AgreementInputError: if the annotators are not usable
    """
    if annotator_attribute is None:
        return _of_fields(fields, annotators)
    if annotators is None:
        return (), ()
    if isinstance(annotators, Mapping):
        return _of_values(annotators)
    if isinstance(annotators, str) or not isinstance(annotators, Sequence):
        raise AgreementInputError(
            "`annotators` must be a list of annotator names in attribute mode, or map them to persons, got "
            f"{annotators!r}"
        )
    return _at_least_two(tuple(sorted({str(name) for name in annotators}))), ()


def _at_least_two(chosen: tuple[str, ...]) -> tuple[str, ...]:
    if len(chosen) < 2:
        raise AgreementInputError(f"Agreement needs at least 2 annotators, got {len(chosen)} ({shown(chosen)})")
    return chosen


def _of_values(annotators: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Values of the attribute, and the person of each."""
    _check_names(annotators, "value")
    person_of = {str(value): person for value, person in annotators.items()}
    values = _at_least_two(tuple(sorted(person_of)))
    persons = tuple(person_of[value] for value in values)
    _check_different(session_names(values, persons))
    return values, persons


def _of_fields(fields: tuple[str, ...], annotators: Given) -> tuple[tuple[str, ...], tuple[str, ...]]:
    in_place = {field: field.removeprefix(names.FRAMES_PREFIX) for field in fields}
    if annotators is None or (isinstance(annotators, tuple | list) and not annotators):
        return tuple(in_place.values()), ()
    if not isinstance(annotators, Mapping):
        raise AgreementInputError(
            f"`annotators` must map field names to annotator names in field mode, got {annotators!r}"
        )
    unknown = sorted(map(str, set(annotators) - set(fields)))
    if unknown:
        raise AgreementInputError(f"`annotators` must name chosen fields, got {shown(unknown)}")
    _check_names(annotators, "field")
    persons = tuple(str(annotators.get(field, in_place[field])) for field in fields)
    named = session_names(tuple(in_place.values()), persons)
    _check_different(named)
    return named, persons if named != persons else ()


def _check_names(annotators: Mapping[str, str], what: str) -> None:
    if any(not isinstance(name, str) or not name for name in annotators.values()):
        raise AgreementInputError(f"`annotators` must give every {what} a name, got {annotators!r}")


def _check_different(named: tuple[str, ...]) -> None:
    if len(set(named)) < len(named):
        raise AgreementInputError(f"`annotators` must be told apart by their names, got {shown(repeated(named))} twice")


#: maximum number of pairs of annotators with intervals (the pairs that share the most samples)
MAX_PAIRS = 200
#: maximum number of shared samples, summed over these pairs
MAX_SHARED = 3_000_000


def pair_rows(a: IntArray, b: IntArray, n_annotators: int) -> IntArray:
    """Number of the pair of annotators ``a`` before ``b``, in the order (0, 1), (0, 2) … (R - 2, R - 1)."""
    number: IntArray = a * n_annotators - a * (a + 1) // 2 + (b - a - 1)
    return number


def pair_names(n_annotators: int) -> tuple[IntArray, IntArray]:
    """Annotators ``(a, b)`` of every pair, in the order of :func:`pair_rows`."""
    a, b = np.triu_indices(n_annotators, 1)
    return a, b


def n_shared(assigned: BoolArray) -> IntArray:
    """Number of samples that both annotators of every pair were assigned to, from assignments ``(S, R)``."""
    shared = assigned.T.astype(np.float64) @ assigned
    of_pairs: IntArray = shared[pair_names(assigned.shape[1])].astype(np.int64)
    return of_pairs


def chosen_pairs(assigned: BoolArray, annotators: Sequence[str]) -> IntArray:
    """The pairs of annotators that have intervals, ascending; ties in shared samples go to the first by name.

    Args:
        assigned: shape ``(S, R)``
        annotators: their names
    """
    a, b = pair_names(len(annotators))
    place = np.argsort(np.argsort(np.array(annotators, dtype=object), kind="stable"), kind="stable")
    first, second = np.minimum(place[a], place[b]), np.maximum(place[a], place[b])
    shared = n_shared(assigned)
    order = np.lexsort([second, first, -shared])[:MAX_PAIRS]
    order = order[np.cumsum(shared[order]) <= MAX_SHARED]
    chosen: IntArray = np.sort(order[shared[order] > 0])
    return chosen
