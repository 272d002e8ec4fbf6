"""Apply decisions to the annotators' own labels, as one step that can be undone.

Every sample, or frame, gets its changed labels, and what was done beside its decisions, in one write that has no effect
if anything that was read is different by then. A killed process leaves nothing half done, and two processes do nothing
twice. Samples get a new time stamp, so that ``run.update`` finds them.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TextIO, get_args

import fiftyone as fo
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from pymongo import UpdateOne

from ... import names
from ...agreement.settings.arguments import one_of, print_to, takes_arrays, text_of, texts_of, true_or_false
from ...agreement.settings.options import OPTIONS
from ...charts.reports.decided import applied_section, but_left_out
from ...charts.text.sections import as_text
from ...charts.text.words import counted
from ..database.fiftyone_private import reload_samples
from ..labels.source import refuse_read_only
from ..record.gold_fields import APPLIED
from ..record.lease import unless_deleted
from ..record.run_labels import open_run_labels
from ..run.work_through import CountingPass, Progress, SentBatch, rare_collections
from .decidable import Decidable
from .decide import ObjectsToDecide, documents_of, open_to_decide, user_name
from .document_changes import Applying, DocumentChanges
from .gold import Gold
from .stored_decisions import Stored, hash_of_label

if TYPE_CHECKING:
    from pandas import DataFrame

#: what can be done to a label of an annotator: it gets the class of what was decided, or its geometry (of samples: the
#: number, or mask), or its values of the attributes that the run compares; it is deleted where there is no object; it
#: is added where the annotator was assigned and drew none
Change = Literal["class", "geometry", "attributes", "delete", "add"]

_CHANGES: tuple[str, ...] = get_args(Change)
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class AppliedTo:
    """Numbers of changed labels of an annotator, by kind of change; one label may be in several."""

    name: str
    n_class: int = 0  #: labels that got another class
    n_geometry: int = 0  #: labels that got another geometry, number or mask
    n_attributes: int = 0  #: labels that got other values of attributes
    n_deleted: int = 0
    n_added: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Applied:
    """Outcomes of decisions that were applied to the annotators' labels; in a preview: those to expect."""

    field: str  #: the field of decisions
    step: str | None  #: what ``run.decisions.undo_applied`` takes back; None if nothing was changed
    annotators: list[AppliedTo]  #: by name
    n_applied: int = 0  #: objects of which labels were changed, deleted or added
    n_right: int = 0  #: objects on which there is nothing to do
    n_changed: int = 0  #: objects left out, as labels were edited, added or deleted since the decision
    n_edited: int = 0  #: objects left out, as what is right was edited by hand: record_own_labels() records that
    n_unfit: int = 0  #: labels left out: a whole number cannot be 2.5, and a mask is not given a box
    n_meanwhile: int = 0  #: samples or frames left out because others kept on changing them

    def told(self, what: str) -> str:
        """A sentence on the outcomes that begins with ``what``."""
        others = [
            (self.n_changed, "whose labels were edited, added or deleted since the decision"),
            (self.n_edited, "whose decided label was edited by hand"),
            (self.n_unfit, "labels that cannot be made so"),
            (self.n_meanwhile, "samples that somebody kept on changing"),
        ]
        right = f"; on {self.n_right:,} there is nothing to do" if self.n_right else ""
        return f"{what} the labels of {counted(self.n_applied, 'object')}{right}" + but_left_out(others)

    def _title(self) -> str:
        return self.told("Would change" if self.step is None and self.n_applied else "Changed")

    def __repr__(self) -> str:
        undo = "" if self.step is None else f"; run.decisions.undo_applied({self.step!r}) takes it back"
        return f"<{self._title()}{undo}; print_report() says whose>"

    def _repr_html_(self) -> str:
        from ...charts.page.page import sections_html  # imports Plotly, which is not needed to apply

        return sections_html([applied_section(self._title(), self.annotators)])

    def print_report(self, file: TextIO | None = None) -> None:
        """Print the changes to the labels of every annotator.

        Args:
            file: output file, standard output by default
        """
        print_to(file, as_text([applied_section(self._title(), self.annotators)]))

    def to_dataframe(self) -> DataFrame:
        """Changes to the labels of every annotator, a row each."""
        import pandas as pd

        return pd.DataFrame([dataclasses.asdict(each) for each in self.annotators])


@takes_arrays
def apply_decisions(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    annotators: Sequence[str] | str | None = None,
    changes: Sequence[Change] | Change | None = None,
    by: str | None = None,
    gold: str = names.DEFAULT_GOLD_FIELD,
    preview: bool = False,
    progress: Progress = None,
) -> Applied:
    """Change the annotators' own labels to the adjudicated ones; ``run.decisions.undo_applied`` undoes it.

    Labels get the class (number, mask) of what was decided, labels of what is no object are deleted, and annotators get
    a label of every object that they were assigned to and did not draw. Boxes and shapes stay as they were drawn,
    unless ``changes`` has ``"geometry"``. Ids, tags and all other attributes of a label stay; an added label has none.
    Skipped objects stay as they are, and so do objects whose labels were edited, added or deleted since the decision:
    these are counted.

    Samples that somebody changes meanwhile are read again; what others wrote is never overwritten. Samples have been
    edited then: ``run.update`` brings runs up to date. Labels that are the same because they were changed
    here are no agreement: ``run.compare`` says how many there are, and compares without them, too. Numbers on
    how right annotators were leave out labels that were changed here: ask for them (``run.decisions.report``) before.

    Args:
        samples: the dataset, or a view of its samples
        run_key: key of the run, which says who the annotators are and who was assigned
        annotators: change the labels of this annotator, or of several; None for all
        changes: ``"class"``, ``"geometry"`` (numbers and masks, too), ``"attributes"`` (those that the run compares),
            ``"delete"`` and ``"add"``, one or several; None for class, delete and add, or number, mask and delete
        by: name of who does it; None for the name of the user
        gold: the field of decisions
        preview: count only
        progress: as in ``compute``

    Raises:
        AgreementInputError: if there is no such completed run, or no such field; if a label field is read-only, or an
            argument is not usable
    """
    labels = open_run_labels(samples, run_key)
    field = Gold.open(samples, gold)
    chosen = labels.annotators_asked(annotators)
    wanted = [one_of("changes", each, _CHANGES) for each in texts_of("changes", () if changes is None else changes)]
    by = text_of("by", user_name() if by is None else by)
    true_or_false("preview", preview)
    OPTIONS["progress"].checked(progress)
    refuse_read_only(labels.dataset, [*labels.label_paths, *labels.config.fields])
    opened = open_to_decide(labels, gold, among=_decided_in(field, samples))
    if changes is None:
        wanted = [change for change, is_default in possible_changes(opened).items() if is_default]
    step, chosen = str(ObjectId()), chosen or labels.annotators
    with unless_deleted(labels.dataset), rare_collections():
        one_pass = _Pass(opened, annotators=chosen, changes=wanted, by=by, step=step, preview=preview)
        total = one_pass.done(progress)
        if not preview:
            reload_samples(labels.dataset)
    counts = ("n_applied", "n_right", "n_changed", "n_edited", "n_unfit", "n_meanwhile")
    kinds = ("n_class", "n_geometry", "n_attributes", "n_deleted", "n_added")
    applied_to = [
        AppliedTo(name, **{kind: total[name, kind] for kind in kinds})
        for name in labels.annotators if name in chosen
    ]  # fmt: skip
    done = step if total["n_applied"] and not preview else None
    return Applied(field.path, done, applied_to, **{name: total[name] for name in counts})


def possible_changes(opened: ObjectsToDecide) -> dict[Change, bool]:
    """The changes that mean something for the labels of a run, and whether they are made unless asked otherwise."""
    units = opened.units
    found: dict[Change, tuple[bool, bool]] = {
        "class": (units.has_classes and not units.can_repeat, True),
        # of what has no class, the number or mask is what was decided
        "geometry": (bool(units.kind.content), not units.has_classes),
        "attributes": (bool(units.config.attributes), False),
        "delete": (True, True),
        "add": (units.has_votes, True),
    }
    return {change: is_default for change, (is_possible, is_default) in found.items() if is_possible}


def _decided_in(gold: Gold, samples: SampleCollection) -> tuple[ObjectId, ...]:
    """Ids of the samples, or videos, of a dataset or view with decisions."""
    rows = gold.collection.find(gold.with_decisions, {"_sample_id": True})
    found: dict[ObjectId, None] = dict.fromkeys(row["_sample_id" if gold.on_frames else "_id"] for row in rows)
    if isinstance(samples, fo.Dataset):
        return tuple(found)
    return tuple(each for each in documents_of(samples) if each in found)


def _steps(decisions: Sequence[Stored]) -> list[tuple[str, int]]:
    """Version of the decisions of a sample: it differs after another decision, or after they were applied."""
    return [(each["id"], len(each.get(APPLIED) or ())) for each in decisions]


class _Pass(CountingPass):
    """One pass over the samples with decisions; those that somebody changes meanwhile are read again."""

    def __init__(self, objects: ObjectsToDecide, *, preview: bool, **options: Any) -> None:
        super().__init__(objects.reader())
        self._objects, self._work, self._preview = objects, Applying(objects, **options), preview
        self._numbers = [objects.labels.annotators.index(name) for name in self._work.chosen]

    def send(self, rows: list[dict[str, Any]], writers: ThreadPoolExecutor) -> SentBatch:
        """Apply the decisions of a batch, and begin to write it."""
        read = self.reader.columns(rows)
        ids = [sample.sample_id for sample in read.samples]
        counts: list[Counter[Any]] = [Counter() for _ in ids]
        decided: dict[int, list[Stored]] = {}
        for k, decisions in enumerate(read.labels.decided):
            n_right = self._n_right(read.labels, k) if decisions else 0
            if n_right is None:
                decided[k] = decisions
            else:
                counts[k]["n_right"] += n_right
        gold = self._objects.gold
        wanted = dict.fromkeys((*self._objects.fields, gold.name, gold.decisions), True)
        found = gold.collection.find({"_id": {"$in": [ids[k] for k in decided]}}, wanted)
        documents = {document["_id"]: document for document in found}
        between: list[ObjectId] = []
        updates: dict[ObjectId, tuple[UpdateOne, list[Stored]]] = {}
        for k, decisions in decided.items():
            document = documents.get(ids[k], {})
            log = gold.log_of(document)
            current = log.decisions
            if _steps(current) != _steps(decisions):
                between.append(ids[k])
                continue
            applied = DocumentChanges(self._work, read.labels, k, document, log, counts[k]).apply(current)
            if applied is not None and not self._preview:
                updates[ids[k]] = applied
        return SentBatch(ids, counts, writers.submit(lambda: [*between, *gold.swap(updates)]))

    def _n_right(self, objects: Decidable, sample: int) -> int | None:
        """Number of decisions on a sample if what was read shows that there is nothing to do; None if it does not."""
        if not self._work.changes.isdisjoint(("geometry", "attributes")):
            return None
        n, of_decision = 0, {each["id"]: unit for unit in objects.of_sample(sample) for each in objects.found[unit]}
        for decision in objects.decided[sample]:
            if decision["choice"] == "skip":
                continue
            unit = of_decision.get(decision["id"])
            if unit is None or APPLIED in decision or not self._is_right(objects, sample, unit, decision):
                return None
            n += 1
        return n

    def _is_right(self, objects: Decidable, sample: int, unit: int, decision: Stored) -> bool:
        """True if the labels of an object are those that were decided on, and all chosen annotators drew it so."""
        right, rows = objects.gold[sample].get(decision["gold_id"]), objects.rows(unit)
        if right is None or hash_of_label(right, self._objects.kind) != decision["gold_hash"]:
            return False
        annotator, category = (each[rows.start : rows.stop].tolist() for each in (
            objects.members.annotator, objects.members.category))  # fmt: skip
        drew = dict(zip(annotator, category, strict=True))
        code = self._objects.units.code(right) if "class" in self._work.changes else None
        for number in self._numbers:
            if number in drew and code is not None and drew[number] != code:
                return False
            if number not in drew and "add" in self._work.changes and objects.assigned[sample, number]:
                return False
        named = dict(zip(decision["labels"], decision["hashes"], strict=True))
        return objects.is_of_same_labels(unit) and objects.hashes(unit) == named
