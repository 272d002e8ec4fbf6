"""Undo what one call of ``run.decisions.apply`` changed on the annotators' labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import fiftyone as fo
from fiftyone.core.collections import SampleCollection
from pymongo import UpdateOne

from ... import names
from ...agreement.settings.arguments import takes_arrays, text_of
from ...charts.reports.decided import but_left_out
from ...charts.text.words import counted
from ..database.fiftyone_private import reload_samples
from ..labels.kinds import LabelKind, kind_of
from ..labels.paths import attributes_of_runs
from ..labels.source import refuse_read_only
from ..record.gold_fields import APPLIED
from ..record.lease import unless_deleted
from ..run.work_through import MAX_ATTEMPTS, rare_collections
from .gold import Gold
from .label_edits import LabelEdits
from .stored_decisions import REPLACED_BY, Stored


@dataclass(frozen=True, slots=True, repr=False)
class TakenBack:
    """Outcomes of undoing applied decisions, in labels."""

    step: str | None  #: the step; None if there was none
    n_objects: int = 0  #: objects whose labels are again what they were
    n_changed: int = 0  #: objects left as they are, as labels were edited since
    n_meanwhile: int = 0  #: samples or frames left as they are because others kept on changing them

    def told(self) -> str:
        """A sentence on the outcomes."""
        others = [
            (self.n_changed, "whose labels were edited since"),
            (self.n_meanwhile, "samples that somebody changed"),
        ]
        return f"Took back what was applied to {counted(self.n_objects, 'object')}" + but_left_out(others)

    def __repr__(self) -> str:
        return f"<{self.told()}>"


@takes_arrays
def undo_applied(
    dataset: fo.Dataset | SampleCollection, step: str | None = None, *, gold: str = names.DEFAULT_GOLD_FIELD
) -> TakenBack:
    """Undo the changes of one call of ``run.decisions.apply`` to the annotators' labels; the decisions stay.

    Labels are again what they were, with their ids and all attributes: what was changed of them changes back, deleted
    labels are there again at their places, added ones are gone. An object of which a label was edited since stays as it
    is, and is counted. Where somebody decided again since, that decision stays.

    Args:
        dataset: the dataset, or a view of it
        step: the step, as ``run.decisions.apply`` names it; None for the last one
        gold: the field of decisions

    Raises:
        AgreementInputError: if there is no such field, or a label field is read-only
    """
    field = Gold.open(dataset, gold)
    latest = latest_applied(field) if step is None else None
    if step is None and latest is None:
        return TakenBack(None)
    wanted = latest.step if latest is not None else text_of("step", step)
    step_query = {**field.with_decisions, f"{field.decisions}.{APPLIED}.step": wanted}
    work = _Undoing(field, wanted, field.collection.distinct(f"{field.decisions}.{APPLIED}.fields", step_query))
    with unless_deleted(field.dataset), rare_collections():
        total = field.change(step_query, (*work.kinds, field.decisions), work.undone, 1 + MAX_ATTEMPTS)
        reload_samples(field.dataset)
    return TakenBack(wanted, total["n_objects"], total["n_changed"], total["n_meanwhile"])


@dataclass(frozen=True, slots=True)
class AppliedStep:
    """Decisions that were applied at once."""

    step: str
    by: str
    at: datetime  #: in UTC
    n_objects: int


def latest_applied(gold: Gold) -> AppliedStep | None:
    """Step of the last application; None if nothing was applied."""
    part = f"{gold.decisions}.{APPLIED}"
    stages: list[Stored] = [
        {"$match": {**gold.with_decisions, f"{part}.0": {"$exists": True}}},
        {"$project": dict.fromkeys((f"{part}.step", f"{part}.at", f"{part}.by"), True)},
        {"$unwind": f"${gold.decisions}"},
        {"$unwind": f"${part}"},
        {
            "$group": {
                "_id": f"${part}.step",
                "by": {"$first": f"${part}.by"},
                "at": {"$max": f"${part}.at"},
                "n": {"$sum": 1},
            }
        },
        {"$sort": {"at": -1, "_id": -1}},
        {"$limit": 1},
    ]
    found = gold.collection.aggregate(stages, allowDiskUse=True)
    return next((AppliedStep(row["_id"], row["by"], row["at"], row["n"]) for row in found), None)


class _Undoing:
    """Undoes a step, some samples at a time."""

    def __init__(self, gold: Gold, step: str, fields: Sequence[str]) -> None:
        prefix = names.FRAMES_PREFIX if gold.on_frames else ""
        found = {name: kind_of(gold.dataset.get_field(prefix + name)) for name in sorted(fields)}
        self._gold = gold
        self._step = step
        self.kinds: dict[str, LabelKind] = {name: kind for name, kind in found.items() if kind is not None}
        self._of_runs = attributes_of_runs(gold.dataset)
        refuse_read_only(gold.dataset, [prefix + path for name, kind in self.kinds.items()
                                        for path in (name, kind.label_path(name))])  # fmt: skip

    def undone(self, document: Stored) -> tuple[Counter[str], tuple[UpdateOne, list[Any]] | None]:
        """Outcomes of taking back the step on a sample, or frame, its update, and its log after it."""
        edits, counts = LabelEdits(document, self.kinds), Counter[str]()
        log = self._gold.log_of({self._gold.decisions: document[self._gold.decisions]}).entries
        for at in reversed(range(len(log))):
            self._take_back(edits, log, at, counts)
        return counts, (edits.update({self._gold.decisions: log}), log) if counts["n_objects"] else None

    def _take_back(self, edits: LabelEdits, log: list[Any], at: int, counts: Counter[str]) -> None:
        """Undo the changes to the labels of a decision where possible, and note it in the log; later ones are done."""
        decision = log[at]
        parts = decision.get(APPLIED) or []
        if self._step not in (part["step"] for part in parts):
            return
        changes = [self._declared(change) for change in parts[-1]["changes"]]
        hashes = dict(zip(decision["labels"], decision["hashes"], strict=True))
        is_as_applied = all(
            edits.can_take_back(change) and edits.hash(change["key"]) == hashes.get(change["key"]) for change in changes
        )
        later = list(_later(log, at))
        is_last = parts[-1]["step"] == self._step and not any(log[k].get(APPLIED) for k in later)
        if not is_last or not is_as_applied:
            counts["n_changed"] += 1
            return
        for change in reversed(changes):
            edits.take_back(change)
        counts["n_objects"] += 1
        before = {name: parts[-1][name] for name in ("labels", "hashes")}
        log[at] = {**decision, **before, APPLIED: parts[:-1]}
        if len(parts) == 1:
            del log[at][APPLIED]
        for k in later:  # decided on the labels as they were applied, with those that were added or without
            if set(zip(log[k]["labels"], log[k]["hashes"], strict=True)) <= hashes.items():
                log[k] = {**log[k], **before}

    def _declared(self, change: Stored) -> Stored:
        """A change without what runs wrote on a deleted label that were deleted since."""
        gone = {*change.get("of_runs", ())} - self._of_runs
        if not gone:
            return change
        return {**change, "before": {name: value for name, value in change["before"].items() if name not in gone}}


def _later(log: Sequence[Any], at: int) -> Iterator[int]:
    """Places of the decisions that replaced one, the next one first; they follow it in the log."""
    for k in range(at + 1, len(log)):
        if log[k]["id"] == log[at].get(REPLACED_BY):
            at = k
            yield k
