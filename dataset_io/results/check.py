"""Check a run against a requirements file (YAML or JSON, with lines), and keep the last check with the run."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fiftyone as fo
import yaml
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.acceptance.cvat_requirements import from_cvat, is_of_cvat
from ...agreement.acceptance.evaluate import CheckedRun, check_requirements
from ...agreement.acceptance.given import DEEPEST, Given
from ...agreement.acceptance.outcome import AcceptanceCheck
from ...agreement.acceptance.requirements import Requirement, requirements_of
from ...agreement.families.family import build_report
from ...agreement.settings.arguments import path_of, takes_arrays
from ...agreement.settings.errors import AgreementInputError
from ...metrics.numeric.arrays import BoolArray
from ..record.lease import writing
from ..record.run import Run
from ..record.sample_index import keys_of
from .load import records_on

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


#: results that are kept with a run, at most
MOST_KEPT = 1_000


@takes_arrays
def check_agreement(
    dataset: fo.Dataset | SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    requirements: str | os.PathLike[str] | Mapping[str, Any] = "requirements.yaml",
) -> AcceptanceCheck:
    """Check whether a run meets requirements: each passed, failed, or has not enough data.

    The numbers are those of the report, from the stored records; no label is read again. The last check of a whole run
    is kept with it, and the panel shows it.

    Args:
        dataset: the dataset, or a view to check only its samples
        run_key: key of the run
        requirements: path of a requirements file (YAML, or CVAT's JSON), or a mapping as in one; the page
            "Requirements files" lists the keys

    Returns:
        the check

    Raises:
        AgreementInputError: with every mistake in the file and its line; if the file is for other label types, or
            names annotators or attributes that the run has not; as :func:`load_agreement`
    """
    wanted, source = read_requirements(requirements)
    run = Run(dataset, run_key)
    loaded = run.records()
    samples, is_whole = dataset, isinstance(dataset, fo.Dataset)
    records, index, report = loaded.records, loaded.index, loaded.report
    context = dataclasses.replace(loaded.context, clusters=index.clusters())
    if not is_whole:
        records, index, context = records_on(samples, run_key, loaded)
        report = build_report(records, context)
    on_frames = index.frame_numbers() is not None

    def tagged(tags: Sequence[str]) -> BoolArray:
        return index.among(keys_of(samples.match_tags(list(tags)), on_frames=on_frames))

    found = check_requirements(wanted, source, CheckedRun(records, context, report, tagged))
    if is_whole:
        results_id = run.config["results_id"]
        with writing(run.dataset):
            kept = {"results_id": results_id, "check": found.shortened(MOST_KEPT).to_dict()}
            run.update(only_with={"results_id": results_id}, acceptance=kept)
    return found


def last_check(config: Mapping[str, Any]) -> AcceptanceCheck | None:
    """The last check of a run, from its record; None without one, or if the run was computed again or updated since."""
    kept = config.get("acceptance")
    try:
        if kept is None or kept["results_id"] != config["results_id"]:
            return None
        return AcceptanceCheck.from_dict(kept["check"])
    except (TypeError, KeyError, AttributeError):  # damaged, or of another version
        return None
