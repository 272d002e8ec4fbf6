"""Requirements files: YAML or JSON, with the line of every value; nothing in them is executed or expanded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ...agreement.acceptance.cvat_requirements import from_cvat, is_of_cvat
from ...agreement.acceptance.given import DEEPEST, Given
from ...agreement.acceptance.requirements import Requirement, requirements_of
from ...agreement.settings.arguments import path_of
from ...agreement.settings.errors import AgreementInputError

#: bytes of a file, at most
MOST_BYTES = 1 << 20
#: characters of a number, at most: YAML's numbers to the base of 60 (1:30:00) take longer the longer they are
_LONGEST = 1_000


def read_requirements(requirements: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[tuple[Requirement, ...], str]:
    """The requirements of a file, or of a mapping as it stands in one, and its name."""
    if isinstance(requirements, Mapping):
        name, given = "requirements", Given.of(requirements, "requirements")
    elif isinstance(requirements, str | os.PathLike):
        path = Path(path_of("requirements", requirements))
        name, given = path.name, _read(path)
    else:
        raise AgreementInputError(
            "`requirements` must be the path of a requirements file, or a mapping as in one, got "
            f"{type(requirements).__name__}"
        )
    return requirements_of(from_cvat(given) if is_of_cvat(given) else given), name


def _read(path: Path) -> Given:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AgreementInputError(f"`requirements` must be a readable file, got {str(path)!r}: {reason}") from error
    if len(content) > MOST_BYTES:
        raise AgreementInputError(f"{path.name} must have at most {MOST_BYTES >> 20} MB, got more")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise AgreementInputError(f"{path.name}, line {line}: must be text in UTF-8, got other bytes") from error
    if path.suffix.lower() == ".json":  # tabs indent JSON, but not YAML
        text = text.replace("\t", " ")
    try:
        loader = _Loader(text, path.name)
        node = loader.get_single_node()
        if node is None:
            raise AgreementInputError(f"{path.name} must have requirements, got an empty file")
        return loader.given(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(str(part) for part in (error.context, error.problem) if part)
        raise AgreementInputError(f"{path.name}, line {mark.line + 1}: must be YAML or JSON, got {said}") from error
    except yaml.YAMLError as error:  # characters that no YAML has
        line = text[: getattr(error, "position", 0)].count("\n") + 1
        raise AgreementInputError(f"{path.name}, line {line}: must have no control characters, got some") from error


class _Loader(yaml.SafeLoader):
    """Reads YAML into values with their lines; refuses what expands (anchors), what is built (tags), and depth."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self._name = name
        self._depth = 0

    def _at(self, mark: Any) -> str:
        return f"{self._name}, line {mark.line + 1}"

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise AgreementInputError(
                f"{self._at(event.start_mark)}: there must be no anchors and aliases (& and *); write `inherits`"
            )
        self._depth += 1
        if self._depth > DEEPEST:
            raise AgreementInputError(
                f"{self._at(event.start_mark)}: there must be at most {DEEPEST} values within each other, got more"
            )
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def given(self, node: Any) -> Given:
        """The value of a node."""
        place = self._at(node.start_mark)
        if node.tag not in _TAGS:
            raise AgreementInputError(f"{place}: there must be no tags, got {node.tag!r}")
        if isinstance(node, yaml.SequenceNode):
            return Given([self.given(entry) for entry in node.value], place)
        if isinstance(node, yaml.MappingNode):
            found: dict[str, Given] = {}
            for key, value in node.value:
                where = self._at(key.start_mark)
                if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                    raise AgreementInputError(f"{where}: keys must be texts, got something else")
                if key.value in found:
                    raise AgreementInputError(f"{where}: there must be one {key.value!r}, got another one")
                entry = self.given(value)
                # the line of a key is where people look
                found[key.value] = Given(entry.value, where, entry.text)
            return Given(found, place)
        try:
            is_text = node.tag == _DATE or len(node.value) > _LONGEST
            value = node.value if is_text else self.construct_object(node)
        except (ValueError, OverflowError) as error:
            raise AgreementInputError(f"{place}: the value must be one that YAML has, got {node.value!r}") from error
        return Given(value, place, node.value)


_YAML = "tag:yaml.org,2002:"
_DATE = f"{_YAML}timestamp"
_TAGS = {f"{_YAML}{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")} | {_DATE}
