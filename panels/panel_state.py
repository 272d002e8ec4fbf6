"""The state of the panel: the run that it shows, or why there is none and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import fiftyone as fo

from .. import names
from ..dataset_io import changed_since
from ..dataset_io.app.settings import lacks_colors
from ..dataset_io.record.run import COMPLETED, FAILED, Run, completed_kinds, newest_first

#: meaning of the status of a run that is not completed
_UNDER_WAY = {
    "running": "is being computed, or its process died",
    "renaming": "is being renamed",
    "deleting": "is being deleted",
}


#: what the App keeps of a panel, and of which type each part is if there is one; ``...``: all other entries. A list
#: has entries of one type, a tuple these entries
_ID = re.compile("[0-9a-f]{24}")
_KEPT: dict[Any, Any] = {
    **dict.fromkeys(("run_key", "tab", "decider", "shown", "answer", "by"), str),
    "of_view": bool,
    "known": [str],
    "sort": {...: int},
    "page": {...: int},
    "refreshed": int,
    "decide": {
        **dict.fromkeys(("by", "verdict", "annotator", "label"), str),
        "sample": _ID,
        "votes": int,
        **dict.fromkeys(("skipped", "filtering"), bool),
        "colours": [{"path": str}],
        "left": [(str, float)],
        "at": (_ID, str),
        "past": [(_ID, str)],
        "n": int,
        "editing": {"active": [str], "fields": [str], "step": str},
        "watched": {_ID: object},
        "counted": {},
    },
}


def damaged_parts(kept: dict[str, Any]) -> list[str]:
    """Names of the parts of what the App keeps that are of another type than the panel left there."""
    return sorted(name for name, value in kept.items() if not _is_of(value, _KEPT.get(name, object)))


def _is_of(value: Any, kind: Any) -> bool:
    if value is None or kind is object:
        return True
    if isinstance(kind, list | tuple):
        kinds = kind if isinstance(kind, tuple) else kind * len(value if isinstance(value, list) else ())
        same = isinstance(value, list | tuple) and len(value) == len(kinds) and None not in value
        return same and all(map(_is_of, value, kinds))
    if isinstance(kind, dict):
        if not isinstance(value, dict) or (_ID in kind and not all(map(_ID.fullmatch, value))):
            return False
        other = kind.get(..., object)
        return all(_is_of(entry, kind.get(name, other)) for name, entry in value.items())
    if isinstance(kind, re.Pattern):
        return isinstance(value, str) and kind.fullmatch(value) is not None
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)


@dataclass(frozen=True, slots=True)
class PanelState:
    """The runs of a dataset, and the run to show."""

    keys: list[str] = field(default_factory=list)  #: the runs of the dataset, the newest first
    run_key: str | None = None  #: the run to show; None without one
    config: dict[str, Any] = field(default_factory=dict)  #: its record
    problem: str | None = None  #: why there are no numbers; None if there are
    advice: str = ""  #: what to do about the problem
    notes: list[str] = field(default_factory=list)  #: changes since the run was computed
    has_dataset: bool = True  #: whether there is a dataset to compute on
    n_changed: int = 0  #: samples that somebody changed since the run
    lacks_colors: bool = False  #: whether nobody chose colours for the annotators' labels
    comparable: list[str] = field(default_factory=list)  #: the other runs on labels of its kind, the newest first

    @property
    def results_id(self) -> str:
        """Id of the results, different for every run of the same key."""
        return str(self.config.get("results_id"))

    @property
    def changed_sentence(self) -> str:
        """Sentence on the samples changed since the run."""
        what = "sample was" if self.n_changed == 1 else "samples were"
        return f"{self.n_changed:,} {what} changed since this run"

    @property
    def field_key(self) -> str | None:
        """Prefix of the run's fields; differs from the key if the run was renamed with FiftyOne's ``rename_run()``."""
        key: str | None = self.config.get("options", {}).get("run_key", self.run_key)
        return key

    @property
    def fields(self) -> list[str]:
        """The annotators' fields."""
        return list(self.config.get("options", {}).get("fields", ()))


#: somebody deleted the dataset meanwhile
WITHOUT_DATASET = PanelState(problem="The dataset was deleted", advice="Open another dataset.", has_dataset=False)


def panel_state_of(dataset: fo.Dataset | None, wanted: str | None) -> PanelState:
    """Look at the runs of a dataset.

    Args:
        dataset: the dataset, just loaded by an execution context; None if the App shows none
        wanted: the run that the user chose, which may be gone; None for the default run
    """
    if dataset is None:
        advice = "Open a dataset with labels of several annotators."
        return PanelState(problem="No dataset is open", advice=advice, has_dataset=False)
    if dataset.deleted:
        return WITHOUT_DATASET
    keys = newest_first(dataset)
    if not keys:
        return PanelState(
            problem="No agreement was computed on this dataset yet"
            if wanted is None
            else f"The run {wanted!r} is gone",
            advice="Compute it: choose the fields with the labels of your annotators.",
        )
    completed = (key for key in keys if Run(dataset, key).status == COMPLETED)
    run_key = wanted if wanted in keys else next(completed, keys[0])
    notes = []
    if wanted is not None and wanted != run_key:
        notes.append(f"The run {wanted!r} was deleted or renamed meanwhile; this is {run_key!r}.")
    config = Run(dataset, run_key).config
    problem, advice = _problem(Run(dataset, run_key), config)
    if problem is None:
        notes += _lost_fields(dataset, config)
    n_changed = (changed_since(dataset, run_key) or 0) if problem is None else 0
    options = config.get("options", {})
    in_one_field = options.get("annotator_attribute") is not None
    fields = [path for path in options.get("fields") or () if isinstance(path, str)]
    offers = problem is None and lacks_colors(dataset, run_key, fields, in_one_field=in_one_field)
    kinds = completed_kinds(dataset)
    comparable = [key for key, kind in kinds.items() if key != run_key and kind == kinds.get(run_key)]
    return PanelState(
        keys,
        run_key,
        config,
        problem,
        advice,
        notes,
        n_changed=n_changed,
        lacks_colors=offers,
        comparable=comparable,
    )


def _problem(run: Run, config: dict[str, Any]) -> tuple[str | None, str]:
    run_key, status, version = run.key, config.get("status"), config.get("schema_version")
    if status == FAILED:
        error = config.get("error") or "no reason was recorded"
        return f"The run {run_key!r} failed: {error}", "Compute it again with “overwrite”, or delete it."
    if run.was_killed:
        return (
            f"The process that computed the run {run_key!r} is gone",
            "Compute it again with “overwrite”, or with “Continue” if workers shared it, or delete it.",
        )
    if status != COMPLETED:
        return (
            f"The run {run_key!r} {_UNDER_WAY.get(str(status), f'has the status {status!r}')}",
            "Refresh when it is done. If its process has died, compute it again with “overwrite”, or delete it.",
        )
    if version != names.SCHEMA_VERSION:
        return (
            f"The run {run_key!r} was computed by another version of the plugin",
            "Compute it again with “overwrite” to see it here.",
        )
    return None, ""


def _lost_fields(dataset: fo.Dataset, config: dict[str, Any]) -> list[str]:
    """Fields of a run that somebody deleted."""
    lost = [path for path in config.get("fields_written", []) if dataset.get_field(path) is None]
    if not lost:
        return []
    shown = ", ".join(f"`{path}`" for path in lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
    return [
        f"Fields of this run were deleted: {shown}. The numbers are still correct, but the samples and labels behind "
        "them cannot be shown; compute it again with “overwrite”."
    ]
