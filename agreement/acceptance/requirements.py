"""Requirements of acceptance: conditions on numbers of a run, checked as they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..settings.errors import AgreementInputError, did_you_mean, shown

#: requirements of a file, at most
MOST_REQUIREMENTS = 1_000
VALUE, INTERVAL = "value", "interval"
#: in the place of a name: everybody, every class, pair or part must reach it
EACH = "each"
#: the keys of a requirement, and what each means
KEYS = {
    "number": "key of the number, as in `run.report.to_dict()`: `existence.f1`. Of an annotator, a class or a pair it "
    "is the key in their entry: `miss_rate`. `reference.` or `models.NAME.` before it: the number against the "
    "reference of the run, or of a model with the annotators: `reference.f1`",
    "at_least": "least value, 0.8 for 80 %; a limit that is missed by rounding alone is reached",
    "at_most": "greatest value, for numbers of which less is better",
    "judge": "what must reach it: `value` (default), or `interval`: the lower end of its 95 % interval for `at_least`, "
    "the upper end for `at_most`",
    "annotator": "the number of this annotator; `each`: everybody must reach it",
    "class": "the number of this class (tag); `each`: every class must reach it",
    "pair": "the number of two annotators, `[alice, bob]`; `each`: every two must reach it",
    "by": "a field of samples, an attribute of labels, or `tags`, which divides the images as in `run.by()`",
    "part": "one of these parts, by its name; `each` (default): every part must reach it",
}

#: where a requirement, or one of its keys, stands: ``requirements.yaml, line 7``
Place = Callable[..., str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A condition on a number of a run; ``KEYS`` explains each key. Empty: none is chosen."""

    name: str
    place: str  #: where it stands
    number: str
    limit: float
    is_most: bool  #: whether the limit is the greatest value
    judge: str = VALUE
    annotator: str = ""
    class_name: str = ""
    pair: tuple[str, ...] = ()  #: two names, or ``EACH`` alone
    by: str = ""
    part: str = EACH

    @property
    def condition(self) -> str:
        """Condition as text: ``existence.f1 ≥ 0.8``."""
        sign, end = ("≤", "upper end") if self.is_most else ("≥", "lower end")
        return f"{self.number} {sign} {self.limit:g}" + f" ({end} of the interval)" * (self.judge == INTERVAL)


def requirements_of(given: Any, place: Place) -> list[Requirement]:
    """The requirements in a mapping: texts, lists of texts, and mappings of these.

    Args:
        given: what was given
        place: says where a value is, by the names on the way to it

    Raises:
        AgreementInputError: at the first mistake, with its place
    """
    if not isinstance(given, Mapping) or set(given) != {"requirements"}:
        found = shown(map(repr, given)) if isinstance(given, Mapping) else type(given).__name__
        raise AgreementInputError(f"{place()}: there must be one key, `requirements`, got {found or 'nothing'}")
    entries = given["requirements"]
    if not isinstance(entries, Mapping) or not entries:
        raise AgreementInputError(f"{place('requirements')}: `requirements` must be a mapping of names to requirements")
    if len(entries) > MOST_REQUIREMENTS:
        raise AgreementInputError(
            f"{place('requirements')}: there must be at most {MOST_REQUIREMENTS:,} requirements, got {len(entries):,}"
        )
    return [_requirement(name, keys, place) for name, keys in entries.items()]


def _requirement(name: str, keys: Any, place: Place) -> Requirement:
    title = repr(name if len(name) <= 60 else f"{name[:60]}…")

    def wrong(message: str, *key: str) -> AgreementInputError:
        return AgreementInputError(f"{place('requirements', name, *key)}: {message}")

    if not isinstance(keys, Mapping):
        raise wrong(f"the requirement {title} must be a mapping of keys to values")
    for key, value in keys.items():
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or f"; the keys are {shown(KEYS, limit=20)}"
            raise wrong(f"there is no key {key[:60]!r} in the requirement {title}{hint}", key)
        if key == "pair" and value != EACH:
            if not isinstance(value, list) or len(set(value)) != 2 or not all(value):
                raise wrong("`pair` must be the names of two annotators, or `each`", key)
        elif not isinstance(value, str) or not value:
            raise wrong(f"`{key}` must be a text or a number", key)
    if "number" not in keys:
        raise wrong(f"the requirement {title} must have a `number`, got none")
    limits = [key for key in ("at_least", "at_most") if key in keys]
    if len(limits) != 1:
        raise wrong(f"the requirement {title} must have one of `at_least` and `at_most`, got {len(limits)}")
    (end,) = limits
    try:
        limit = float(keys[end])
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise wrong(f"`{end}` must be a number, got {keys[end][:60]!r}", end)
    if keys.get("judge", VALUE) not in (VALUE, INTERVAL):
        raise wrong(f"`judge` must be {VALUE} or {INTERVAL}, got {keys['judge'][:60]!r}", "judge")
    if "part" in keys and "by" not in keys:
        raise wrong("`part` must have `by`, the field whose part it is", "part")
    if "pair" in keys and ("annotator" in keys or "class" in keys):
        raise wrong("`pair` must be without `annotator` and `class`, as these have numbers of their own", "pair")
    pair = keys.get("pair", ())
    return Requirement(
        name=name,
        place=place("requirements", name),
        number=keys["number"],
        limit=limit,
        is_most=end == "at_most",
        judge=keys.get("judge", VALUE),
        annotator=keys.get("annotator", ""),
        class_name=keys.get("class", ""),
        pair=(pair,) if isinstance(pair, str) else tuple(pair),
        by=keys.get("by", ""),
        part=keys.get("part", EACH),
    )
