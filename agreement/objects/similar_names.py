"""Class names that may be meant to be one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

#: shorter names are not compared letter by letter: "car" and "cat" are different things
MIN_LENGTH = 5

_SEPARATORS = re.compile(r"[\s_\-]+")


def similar_names(names: Sequence[str]) -> list[list[str]]:
    """Groups of names that differ in case, spaces, underscores, hyphens or one letter; nothing is merged.

    One letter (or space), added, left out or another one, counts in names of at least ``MIN_LENGTH`` characters; digits
    are no letters, so that "class_01" and "class_02" are different. What is similar to one of a group belongs to it.

    Args:
        names: of classes, each once

    Returns:
        groups of at least two names, everything in alphabetical order
    """
    by_form: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        by_form[" ".join(_SEPARATORS.split(name.casefold())).strip()].append(name)
    group = {form: form for form in by_form}

    def root(form: str) -> str:
        while group[form] != form:
            form = group[form]
        return form

    for a, b in _one_letter_apart(sorted(by_form)):
        first, second = sorted((root(a), root(b)))
        group[second] = first
    joined: dict[str, list[str]] = defaultdict(list)
    for form, own in by_form.items():
        joined[root(form)] += own
    return sorted(sorted(own) for own in joined.values() if len(own) > 1)


def _one_letter_apart(forms: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of forms of which one becomes the other by one letter that is added, left out or replaced."""
    long = {form for form in forms if len(form) >= MIN_LENGTH}
    by_gap: dict[tuple[int, str], str] = {}
    for form in sorted(long):
        for place, letter in enumerate(form):
            if letter.isdigit() or (letter == " " and form[place - 1].isdigit() and form[place + 1].isdigit()):
                continue
            rest = form[:place] + form[place + 1 :]
            if rest in long:
                yield rest, form
            # forms with a gap in one place that are equal but for it are a chain: neighbours are enough
            previous = by_gap.get((place, rest))
            if previous is not None:
                yield previous, form
            by_gap[place, rest] = form
