"""Reports without the names of annotators: letters instead, by a key file that stays with its owner."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import random
import re
import sqlite3
import string
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...agreement.evidence.ranking import in_order, name_of
from ...agreement.families.family import report_from_dict
from ...agreement.parts.result import AgreementParts
from ...agreement.settings.arguments import path_of, writing_to
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import OPTIONS
from ...agreement.statistics.report import AgreementReport, SampleReader
from .file_writing import replacing

if TYPE_CHECKING:
    from pandas import DataFrame

Report = TypeVar("Report", bound=AgreementReport)

#: names from this length on are replaced within longer words of file names, too
_SURE = 4
#: the mapping of reports whose keys are names of annotators
_BY_ANNOTATOR = "no_labels"
#: what has words of ours as a value
_OUR_WORDS = {"coverage", "kind", *(name for name, option in OPTIONS.items() if option.choices)}
#: who may read a key file
_OWNER_ALONE = 0o600
#: seconds that another process may take to give letters
_LONGEST_WAIT = 60.0


@functools.lru_cache(maxsize=16)
def _pattern(names: tuple[str, ...], *, is_path: bool) -> re.Pattern[str]:
    """Finds names where they stand alone, also beside an underscore (agreement_alice); long ones in paths anywhere."""
    found = (
        f"(?i:{re.escape(name)})" if is_path and len(name) >= _SURE else rf"(?<![^\W_]){re.escape(name)}(?![^\W_])"
        for name in sorted(names, key=len, reverse=True)
    )
    return re.compile("|".join(found) or r"(?!)")


@dataclass(frozen=True, slots=True)
class Aliases:
    """Aliases of annotators: a letter for every name, in all results."""

    letters: Mapping[str, str]

    def hide(self, value: Any, key: str = "") -> Any:
        """A JSON value with letters instead of names: in texts where a name stands alone, in file names anywhere.

        An annotator may be called as a number, or a choice, of the report is: these stay.
        """
        if isinstance(value, str):
            return self._hidden(value, is_path=key == "filepath")
        if isinstance(value, Mapping):
            is_named = key == _BY_ANNOTATOR
            return {
                self.hide(name) if is_named else name: each if isinstance(each, str) and name in _OUR_WORDS
                else self.hide(each, str(name)) for name, each in value.items()
            }  # fmt: skip
        if isinstance(value, list | tuple):
            return [self.hide(each, key) for each in value]
        return value

    def _hidden(self, text: str, *, is_path: bool) -> str:
        if text in self.letters:
            return self.letters[text]
        # all in one pass: a letter may be the name of somebody else
        folded = {name.casefold(): letter for name, letter in self.letters.items()}
        return _pattern(tuple(self.letters), is_path=is_path).sub(
            lambda found: self.letters.get(found[0]) or folded.get(found[0].casefold(), found[0]), text
        )

    def hide_in(self, frame: DataFrame) -> DataFrame:
        """A table with letters instead of names."""
        frame = frame.copy()
        for name in frame.select_dtypes(exclude="number").columns:
            known: dict[Any, Any] = {}
            hidden = []
            for value in frame[name].tolist():
                same = json.dumps(value) if isinstance(value, list) else value
                if same not in known:
                    known[same] = self.hide(value, str(name))
                hidden.append(known[same])
            frame[name] = hidden
        # everybody in the order of the letters: that of the names would tell who is who
        named = [str(name) for name in frame.columns if str(name).startswith("reference_") and "." in str(name)]
        if named:
            letters = {name: f"{head}.{self.hide(who)}" for name in named for head, who in [name.split(".", 1)]}
            others = [name for name in frame.columns if name not in letters]
            frame = frame.rename(columns=letters)[[*others, *sorted(letters.values())]]
        if "annotator" in frame:
            by = [name for name in ("sample_id", "frame_number", "annotator") if name in frame]
            return frame.sort_values(by, kind="stable", ignore_index=True)
        if "drawn_by" in frame and len(frame):
            rows = zip(frame["drawn_by"], frame["labels"], strict=True)
            drawn = [list(zip(*sorted(zip(*row, strict=True), key=lambda each: each[0]), strict=True)) for row in rows]
            frame["drawn_by"], frame["labels"] = ([[*each[k]] if each else [] for each in drawn] for k in (0, 1))
            frame["missed_by"] = [sorted(names) for names in frame["missed_by"]]
        return frame

    def hide_parts(self, parts: AgreementParts) -> AgreementParts:
        """The same parts under other names, where these are names of annotators."""
        named = [dataclasses.replace(part, name=self.hide(part.name)) for part in parts.parts]
        key = None if parts.run_key is None else self.hide(parts.run_key)
        return dataclasses.replace(parts, by=self.hide(parts.by), run_key=key, parts=named)


@dataclass(frozen=True, slots=True)
class _HiddenSamples:
    """Reads the stored tables of a run with letters instead of names; who decided is not told."""

    samples: SampleReader
    aliases: Aliases

    def read(self, table: str) -> DataFrame:
        return self.aliases.hide_in(self.samples.read(table))

    def times(self, report: AgreementReport, attribute: str | None = None, per: str | None = None) -> DataFrame:
        return self.aliases.hide_in(self.samples.times(report, attribute, per))

    def n_changed(self) -> int | None:
        return self.samples.n_changed()

    def decisions(self) -> None:
        return None


def anonymous_report(report: Report, key_file: str | os.PathLike[str] | bool = True) -> tuple[Report, Aliases]:
    """A report with letters instead of the names of annotators, and these letters.

    Args:
        key_file: JSON file with the letter of every name. It is read if it exists, so that everybody keeps their
            letter; who is not in it gets the next one, by chance, and it is written again. True: letters for this time

    Raises:
        AgreementInputError: if the file is no such file, or cannot be read or written
    """
    config = report.config
    annotators = in_order({name for entry in report.annotators for name in [entry.name]} | _given(config))
    aliases = Aliases(_letters(annotators, key_file))
    hidden = report_from_dict(aliases.hide(report.to_dict()) | {"family": report.family})
    # in the order of their letters: that of their names would tell who is who
    parts: dict[str, Any] = {part: sorted(getattr(hidden, part), key=name_of) for part in ("annotators", "pairs")}
    samples = None if report.samples is None else _HiddenSamples(report.samples, aliases)
    return dataclasses.replace(hidden, samples=samples, **parts), aliases  # type: ignore[return-value]


def _given(config: Mapping[str, Any]) -> set[str]:
    """The names in the options: of annotators, of persons, and of the fields of each."""
    fields = [] if config.get("annotator_attribute") else config.get("fields") or []
    names = [*(config.get("annotators") or []), *(config.get("persons") or []), *fields]
    return {str(name).removeprefix("frames.") for name in names}


def _letters(names: Iterable[str], key_file: str | os.PathLike[str] | bool) -> dict[str, str]:
    """The letter of every name, those of the file first."""
    if isinstance(key_file, bool):
        return _with_new({}, names)
    path = Path(path_of("anonymous", key_file)).absolute()
    with writing_to("anonymous", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone_with(path):
            known = _read(path) if path.exists() else {}
            letters = _with_new(known, names)
            if letters != known:
                with replacing(path) as temporary:
                    if not known:  # a file that is replaced keeps its mode
                        temporary.chmod(_OWNER_ALONE)
                    temporary.write_text(json.dumps(letters, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return letters


def _with_new(known: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The letters of all, those of new names by chance."""
    new = [name for name in names if name not in known]
    random.SystemRandom().shuffle(new)
    free = (letter for letter in _all_letters() if letter not in set(known.values()))
    return {**known, **dict(zip(new, free, strict=False))}


@contextlib.contextmanager
def _alone_with(path: Path) -> Iterator[None]:
    """Have other processes of this machine, and threads, wait that want to give letters by the same file.

    The lock is that of SQLite, which every system has, and which ends with the process that holds it.
    """
    name = hashlib.blake2b(f"{os.environ.get('USER', '')} {path}".encode(), digest_size=8).hexdigest()
    place = Path(tempfile.gettempdir()) / f"annotator-agreement-{name}.lock"
    with contextlib.closing(sqlite3.connect(place, timeout=_LONGEST_WAIT, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def _read(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AgreementInputError(
            f"`anonymous` must be a file with the letter of every name, got {str(path)!r}: {error}"
        ) from None
    is_key = isinstance(found, dict) and all(isinstance(letter, str) and letter for letter in found.values())
    if not is_key or len(set(found.values())) < len(found):
        raise AgreementInputError(
            f'`anonymous` must be a file with one letter for every name, such as {{"alice": "A"}}, got {str(path)!r}, '
            "which holds something else; choose another path"
        )
    return dict(found)


def _all_letters() -> Iterable[str]:
    """A, B … Z, AA, AB …"""
    length = [""]
    while True:
        length = [start + letter for start in length for letter in string.ascii_uppercase]
        yield from length
