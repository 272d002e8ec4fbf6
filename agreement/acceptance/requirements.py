"""Read acceptance requirements (conditions on numbers of a run) from YAML, JSON or a mapping; errors name the line."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..settings.arguments import path_of
from ..settings.errors import AgreementInputError, did_you_mean, shown

#: most requirements of a file
MOST_REQUIREMENTS = 1_000
#: most bytes of a file, and deepest nesting of its values
MOST_BYTES, _DEEPEST = 1 << 18, 5
VALUE, INTERVAL = "value", "interval"
#: instead of a name: every annotator, class, pair or part must reach the limit
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

#: from the keys that lead to a value, the place of the value as text: ``requirements.yaml, line 7``
Place = Callable[..., str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A condition on a number of a run; ``KEYS`` explains each key. Names that are not given are empty."""

    name: str
    place: str  #: file and line of the requirement, for messages
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
    """The requirements in a mapping whose values are texts, lists of texts, or mappings of these.

    Args:
        given: content of a file
        place: gives the place of a value, from the keys that lead to it

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


def read_requirements(requirements: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[list[Requirement], str]:
    """The requirements of a file, or of a mapping like the content of one, and the name of this source."""
    if isinstance(requirements, Mapping):

        def place(*way: str) -> str:
            return "requirements" + "".join(f"[{name[:60]!r}]" for name in way[1:])

        return requirements_of(_texts(requirements, "requirements", 1), place), "requirements"
    if not isinstance(requirements, str | os.PathLike):
        raise AgreementInputError(
            "`requirements` must be the path of a requirements file, or a mapping as in one, got "
            f"{type(requirements).__name__}"
        )
    path = Path(path_of("requirements", requirements))
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AgreementInputError(f"`requirements` must be a readable file, got {str(path)!r}: {reason}") from error
    if len(content) > MOST_BYTES:
        raise AgreementInputError(f"{path.name} must have at most {MOST_BYTES >> 10} kB, got more")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise AgreementInputError(f"{path.name}, line {line}: must be text in UTF-8, got other bytes") from error
    return requirements_in(text, path.name), path.name


def _texts(value: Any, place: str, depth: int) -> Any:
    """A value of a mapping as if it were read from a file: numbers become texts, other types are refused."""
    if depth > _DEEPEST:
        raise AgreementInputError(f"{place} must have at most {_DEEPEST} values within each other, got more")
    if isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise AgreementInputError(f"{place} must have texts as keys, got {str(wrong[0])[:60]!r}")
        return {str(key): _texts(entry, f"{place}[{key[:60]!r}]", depth + 1) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(entry, place, depth + 1) for entry in value]
    if value is None or isinstance(value, bytes) or not isinstance(value, str | int | float):
        raise AgreementInputError(f"{place} must be a text or a number, got {type(value).__name__}")
    return str(value)


def requirements_in(text: str, name: str) -> list[Requirement]:
    """The requirements in a text in YAML or JSON.

    Args:
        text: content of a file
        name: name of the file, for messages
    """
    if len(text) > MOST_BYTES:
        raise AgreementInputError(f"{name} must have at most {MOST_BYTES >> 10} kB, got more")
    if text.lstrip().startswith("{"):  # tabs indent JSON, but not YAML
        text = text.replace("\t", " ")
    lines: dict[tuple[str, ...], int] = {}
    try:
        loader = _Loader(text, name)
        node = loader.get_single_node()
        if node is None:
            raise AgreementInputError(f"{name} must have requirements, got nothing")
        given = loader.values(node, (), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(str(part) for part in (error.context, error.problem) if part)
        raise AgreementInputError(f"{name}, line {mark.line + 1}: must be YAML or JSON, got {said}") from error
    except yaml.YAMLError as error:  # characters that YAML does not allow
        line = text[: getattr(error, "position", 0)].count("\n") + 1
        raise AgreementInputError(f"{name}, line {line}: must have no control characters, got some") from error
    return requirements_of(given, lambda *way: f"{name}, line {lines.get(way, 1)}")


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """Reads texts, lists and mappings, and the line of every key; refuses anchors (they expand) and deep nesting."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self._name, self._depth = name, 0

    def _wrong(self, mark: Any, message: str) -> AgreementInputError:
        return AgreementInputError(f"{self._name}, line {mark.line + 1}: {message}")

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise self._wrong(event.start_mark, "there must be no anchors and aliases (& and *)")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(event.start_mark, f"there must be at most {_DEEPEST} values within each other, got more")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def values(self, node: Any, way: tuple[str, ...], lines: dict[tuple[str, ...], int]) -> Any:
        """A node as text, list or mapping; what YAML takes for another type (``no``, ``1``) stays a text."""
        if isinstance(node, yaml.ScalarNode):
            # JSON writes a character beyond 16 bits as two surrogates
            return node.value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if isinstance(node, yaml.SequenceNode):
            return [self.values(entry, way, lines) for entry in node.value]
        found: dict[str, Any] = {}
        for key_node, value in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._wrong(key_node.start_mark, "keys must be texts, got something else")
            key = self.values(key_node, way, lines)
            if key in found:
                raise self._wrong(key_node.start_mark, f"there must be one {key[:60]!r}, got another one")
            lines[(*way, key)] = key_node.start_mark.line + 1
            found[key] = self.values(value, (*way, key), lines)
        return found
