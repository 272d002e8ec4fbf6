"""Which annotators are sessions of one person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..config import AgreementConfig


def persons_of(config: AgreementConfig) -> dict[str, str]:
    """Person of every annotator who is one of several sessions, by the annotator's name."""
    named = config.named_persons()
    sessions = Counter(named.values())
    return {name: person for name, person in named.items() if sessions[person] > 1}


def same_person(persons: Mapping[str, str], a: str, b: str) -> bool:
    """Whether two annotators are sessions of one person."""
    return a in persons and persons.get(a) == persons.get(b)
