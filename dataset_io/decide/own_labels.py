"""Record labels drawn, edited or deleted by hand in the field of decisions as decisions of somebody."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import takes_arrays, text_of
from ..database.fiftyone_private import reload_samples
from ..record.changes import now
from ..record.run_labels import open_run_labels
from .annotator_labels import hash_of_label, label_key
from .decidable import Decidable
from .decide import Decided, ObjectsToDecide, documents_of, open_to_decide, user_name
from .decision_log import DecisionLog, Made
from .decisions import Gold
from .stored_decisions import BY_RULE, Stored

#: what a decision says of its object
_KEPT = ("labels", "hashes", "classes", "asked", "unit", "verdict", "run_key", "remark")
#: samples that are read at once
_BATCH = 1_000


@takes_arrays
def record_own_labels(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    by: str | None = None,
    gold: str = names.DEFAULT_GOLD_FIELD,
) -> Decided:
    """Record what somebody drew, edited or deleted in the field of decisions, in FiftyOne's App or from Python.

    The App does not say who edited a label; so this compares the labels with what was written. An edited label becomes
    the decision *own label*; a deleted one the decision that there is no object. A drawn label is the own label of the
    undecided object of the run that overlaps it most (IoU of boxes at least 0.5); without one, of an object that no
    annotator drew. A tag is the own label of the undecided tag of that name, a class, number or mask of its sample.
    Samples whose decisions or labels were damaged in the database are left out.

    Args:
        samples: the dataset, or a view of its samples
        run_key: key of the run, to find the object of a drawn label
        by: who drew; None for the name of the user
        gold: the field of decisions

    Returns:
        ``n_decided``: labels that were recorded, as one step for :func:`undo_decisions`; ``n_changed``: samples that
        somebody kept on editing

    Raises:
        AgreementInputError: if there is no such completed run, or no such field
    """
    labels = open_run_labels(samples, run_key)
    field = Gold.open(samples, gold)
    only = None if samples is labels.dataset else documents_of(samples)
    opened = open_to_decide(labels, gold, among=only)
    work = _Recording(opened, text_of("by", user_name() if by is None else by))
    query: Stored = {"$or": [field.has_labels, {"_id": {"$in": field.decided_ids()}}]}
    if only is not None:
        query = {"$and": [query, {"_sample_id" if labels.on_frames else "_id": {"$in": list(only)}}]}
    ids = [row["_id"] for row in field.collection.find(query, {"_id": True})]
    for start in range(0, len(ids), _BATCH):
        work.record(ids[start : start + _BATCH])
    reload_samples(labels.dataset)
    n = work.total["n_decided"]
    return Decided(field.path, work.step if n else None, **work.total)


class _Recording:
    """Records the labels of some samples at a time."""

    def __init__(self, opened: ObjectsToDecide, by: str) -> None:
        self.step = str(ObjectId())
        self.total = Counter(n_decided=0, n_changed=0)
        self._opened = opened
        self._by = by

    def record(self, ids: list[ObjectId]) -> None:
        """Record the labels of some samples, or frames."""
        gold, kind = self._opened.gold, self._opened.kind
        rows = gold.collection.find({"_id": {"$in": ids}}, {gold.name: True, gold.decisions: True})
        made: dict[ObjectId, list[Made]] = defaultdict(list)
        drawn: dict[ObjectId, list[Stored]] = {}
        logs: dict[ObjectId, DecisionLog] = {}
        for row in rows:
            log = gold.log_of(row)
            if log.n_damaged:  # nobody knows what was deleted here, or drawn
                continue
            logs[row["_id"]] = log
            left = {label["_id"]: label for label in log.right}
            edited = []
            for decision in log.decisions:
                is_as_written = not log.is_edited(decision)
                label = left.pop(decision["gold_id"], None)
                edited += [] if is_as_written else [(decision, label)]
            for decision, label in edited:
                if label is None and kind.list_name is None and left:  # the only label has another id
                    _, label = left.popitem()
                made[row["_id"]].append(self._made(decision, label, (decision,)))
            new = list(left.values())
            if new:
                drawn[row["_id"]] = new
        for document_id, on_drawn in self._drawn(drawn).items():
            made[document_id] += on_drawn
        for document_id, document_decisions in made.items():
            for each in document_decisions:
                logs[document_id].add(each)
        refused = gold.write({each: logs[each].update(each) for each in made}, self.step)
        self.total["n_changed"] += len(refused)
        self.total["n_decided"] += sum(len(new) for each, new in made.items() if each not in refused)

    def _made(self, before: Mapping[str, Any], label: Stored | None, replaces: tuple[Stored, ...] = ()) -> Made:
        """A decision for a label as it is now; without a label, that there is no object."""
        choice = "none" if label is None else "own"
        decision: Stored = {
            **{name: before[name] for name in _KEPT},
            "id": str(ObjectId()),
            "choice": choice,
            "annotator": None,
            "decided_by": self._by,
            "decided_at": now(),
            "step": self.step,
            BY_RULE: False,
            "gold_id": None,
            "gold_hash": None,
        }
        written = before.get("written")
        if label is None:
            return Made(decision, None, replaces, written=written)
        same = {name: decision[name] for name in ("decided_by", "decided_at", "unit", "remark")}
        own = {"basis_id": None, **label, **same, "decision": choice, "basis": choice}
        decision |= {"gold_id": label["_id"], "gold_hash": hash_of_label(label, self._opened.kind)}
        return Made(decision, own, replaces, label, written)

    def _drawn(self, drawn: Mapping[ObjectId, list[Stored]]) -> dict[ObjectId, list[Made]]:
        """Decisions for labels that were drawn."""
        if not drawn:
            return {}
        reader = self._opened.reader()
        found: dict[ObjectId, list[Made]] = {}
        for batch in reader.batched(reader.again(list(drawn))):
            objects = reader.columns(batch).labels
            for k, document_id in enumerate(objects.document_ids):
                units = self._objects_of(objects, k, drawn[document_id])
                found[document_id] = []
                for label, unit in zip(drawn[document_id], units, strict=True):
                    own = label_key(self._opened.gold.name, label["_id"], self._opened.kind)
                    before: Stored = {
                        "labels": [own],
                        "hashes": [hash_of_label(label, self._opened.kind)],
                        "classes": [],
                        "asked": [],
                        "unit": str(label["_id"]),
                        "verdict": None,
                    }
                    if unit is not None:
                        before = objects.facts(unit, self._opened.labels.annotators)
                    before |= {"run_key": self._opened.labels.run_key, "remark": None}
                    found[document_id].append(self._made(before, label))
        return found

    def _objects_of(self, objects: Decidable, sample: int, labels: list[Stored]) -> list[int | None]:
        """The undecided object of every drawn label, each at most once; None for what nobody drew."""
        members = objects.members
        open_units = [unit for unit in np.flatnonzero(members.sample == sample).tolist() if not objects.found[unit]]
        return self._opened.units.drawn(members, open_units, labels)
