"""List past decisions, undo those of one call, delete all."""

from __future__ import annotations

import dataclasses
import html
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import fiftyone as fo
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import takes_arrays, text_of
from ...agreement.settings.errors import AgreementInputError
from ...charts.text.words import counted
from ..database.fiftyone_private import reload_samples
from ..labels.kinds import LabelKind, kind_of
from ..labels.source import whole_samples
from ..record.gold_fields import APPLIED
from ..run.work_through import rare_collections
from .decision_log import Choice, hash_of_label, is_by_rule, stored_labels
from .gold import Gold

if TYPE_CHECKING:
    from pandas import DataFrame

#: names, and decisions, that are shown of many
_MOST_NAMES, _MOST_SHOWN = 3, 10
#: what a decision has as it is stored
_AS_STORED = ("choice", "annotator", "decided_by", "decided_at", "remark", "run_key", "unit", "verdict", "step")


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision on an object."""

    sample_id: str  #: id of the sample, for frames of the video
    frame_number: int | None  #: number of the frame; None on samples
    choice: Choice  #: what was chosen
    annotator: str | None  #: whose label was copied; None if none was
    decided_by: str
    decided_at: datetime  #: in UTC
    remark: str | None
    run_key: str  #: the run in which the object was decided
    unit: str  #: match id of the object in that run
    verdict: str | None  #: verdict of the object in that run
    labels: tuple[str, ...]  #: field and id of the annotators' labels of the object
    gold_id: str | None  #: id of the label in the field of decisions; None without one
    step: str  #: what was decided at once has one id, for ``run.decisions.undo``
    by_rule: bool  #: whether a rule decided, and not somebody on an object that they named
    changed: bool  #: whether an annotator's label of the object was edited or deleted since
    edited: bool  #: whether the label in the field of decisions was edited or deleted since
    applied: bool  #: whether it was applied to the annotators' labels; ``changed`` is about these labels, then


class Decisions(list[Decision]):
    """Decisions, in the order in which they were made."""

    def __repr__(self) -> str:
        by = Counter(each.decided_by for each in self).most_common(_MOST_NAMES)
        who = f", most of them by {', '.join(name for name, _ in by)}" if by else ""
        on = counted(len({each.sample_id for each in self}), "sample")
        return f"<{counted(len(self), 'decision')} on {on}{who}; to_dataframe() has them>"

    def _repr_html_(self) -> str:
        shown = self.to_dataframe().head(_MOST_SHOWN)
        return f"<p>{html.escape(repr(self))}</p>{shown.to_html(index=False)}"

    def to_dataframe(self) -> DataFrame:
        """The decisions as a pandas DataFrame, a row each."""
        import pandas as pd

        columns = [field.name for field in dataclasses.fields(Decision)]
        return pd.DataFrame([[getattr(each, name) for name in columns] for each in self], columns=columns)


@takes_arrays
def list_decisions(dataset: fo.Dataset | SampleCollection, *, gold: str = names.DEFAULT_GOLD_FIELD) -> Decisions:
    """All decisions on objects, in the order in which they were made; skipped objects are among them.

    Args:
        dataset: the dataset, or a view of it, to list the decisions on its samples
        gold: the field of decisions

    Raises:
        AgreementInputError: if there is no such field
    """
    opened = Gold.open_if_any(dataset, gold)
    if opened is None:
        return Decisions()
    only = None
    if isinstance(dataset, fo.DatasetView):
        samples = whole_samples(dataset)
        ids = samples.values("frames.id", unwind=True) if opened.on_frames else samples.values("id")
        only = [ObjectId(each) for each in ids]
    listed = list[Decision]()
    with rare_collections():
        found = opened.decided(only)
        made = [(each, log, row, decision) for each, (log, row) in found.items() for decision in log.decisions]
        prefix, kinds = names.FRAMES_PREFIX if opened.on_frames else "", dict[str, LabelKind]()
        for name in sorted({key.split(" ")[0] for *_, decision in made for key in decision["labels"]}):
            if (kind := kind_of(opened.dataset.get_field(prefix + name))) is not None:
                kinds[name] = kind
        labels = stored_labels(opened.collection, list(found), kinds)  # as they are now
    steps_by_rule = opened.steps_by_rule()
    for document_id, log, row, stored in made:
        there = labels[document_id]
        hashes = [hash_of_label(*there[key]) if key in there else None for key in stored["labels"]]
        decision = Decision(
            sample_id=str(row.get("_sample_id", row["_id"])),
            frame_number=row.get("frame_number"),
            **{name: stored[name] for name in _AS_STORED},
            labels=tuple(stored["labels"]),
            gold_id=None if stored["gold_id"] is None else str(stored["gold_id"]),
            by_rule=is_by_rule(stored, steps_by_rule),
            changed=hashes != stored["hashes"],
            edited=log.is_edited(stored),
            applied=bool(stored.get(APPLIED)),
        )
        listed.append(decision)
    listed.sort(key=lambda each: (each.decided_at, each.sample_id, each.frame_number or 0, each.unit))
    return Decisions(listed)


@takes_arrays
def undo_decisions(
    dataset: fo.Dataset | SampleCollection,
    step: str | None = None,
    *,
    by: str | None = None,
    gold: str = names.DEFAULT_GOLD_FIELD,
) -> int:
    """Undo the last step of decisions: one object, or all that ``run.decisions.decide`` decided in one call.

    Decisions that were replaced by these are there again. Those that were applied to the annotators' labels stay until
    ``run.decisions.undo_applied`` takes that back.

    Args:
        dataset: the dataset, or a view of it
        step: the step, as ``run.decisions.decide`` and ``run.decisions.list`` name it; None for the last one
        by: the last step of this person; only without ``step``
        gold: the field of decisions

    Returns:
        number of decisions that were taken back; 0 if there is nothing to take back

    Raises:
        AgreementInputError: if there is no such field, there are no decisions of the step (any more), or all of them
            were applied
    """
    opened = Gold.open_if_any(dataset, gold)
    by = None if by is None else text_of("by", by)
    wanted = None if step is None else text_of("step", step)
    n = 0
    if opened is not None and (wanted := wanted or opened.latest_step(by)) is not None:
        n = opened.undo(wanted)
        reload_samples(opened.dataset)
    if step is not None and not n:
        raise AgreementInputError(
            f"`step` must be that of decisions which are there, got {step!r}, and none was taken back; "
            "run.decisions.list() has the steps"
        )
    return n


@takes_arrays
def delete_decisions(dataset: fo.Dataset | SampleCollection, *, gold: str = names.DEFAULT_GOLD_FIELD) -> None:
    """Delete the field of decisions with all decisions. The annotators' labels, and runs, stay as they are.

    What was applied to labels can no longer be taken back then. If one of its two fields was deleted or renamed with
    FiftyOne's own functions, what is left is deleted.

    Args:
        dataset: the dataset, or a view of it
        gold: the field of decisions

    Raises:
        AgreementInputError: if there is no such field
    """
    (Gold.left_in(dataset, gold) or Gold.open(dataset, gold)).delete()
