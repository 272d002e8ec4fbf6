"""Read requirements: a YAML or JSON file, in which every mistake has a line, or a mapping as in one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ..settings.arguments import path_of
from ..settings.errors import AgreementInputError
from .requirements import Requirement, requirements_of

#: bytes of a file, and values within values, at most
MOST_BYTES, _DEEPEST = 1 << 18, 5


def read_requirements(requirements: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[list[Requirement], str]:
    """The requirements of a file, or of a mapping as it stands in one, and its name."""
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
    """A mapping as in a file: with texts for numbers, and with no values that files do not have."""
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
        text: what is written
        name: what it is called in messages
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
    except yaml.YAMLError as error:  # characters that no YAML has
        line = text[: getattr(error, "position", 0)].count("\n") + 1
        raise AgreementInputError(f"{name}, line {line}: must have no control characters, got some") from error
    return requirements_of(given, lambda *way: f"{name}, line {lines.get(way, 1)}")


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """Reads texts, lists and mappings with the lines of keys; refuses anchors, which expand, and depth."""

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
        """A node as text, list or mapping; a name that YAML takes for something else (``no``, ``1``) is a name."""
        if isinstance(node, yaml.ScalarNode):
            # JSON writes what is beyond 16 bits as a pair
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
