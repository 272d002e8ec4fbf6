"""Record labels drawn, edited or deleted by hand in the field of decisions as decisions of somebody."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import takes_arrays, text_of
from ..database.fiftyone_private import reload_samples
from ..record.changes import now
from .annotator_labels import hash_of_label, label_key
from .decide import Decided, ObjectsToDecide, open_decided, user_name
from .decision_log import DecisionLog, Made
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
    opened = open_decided(samples, run_key, gold)
    field = opened.gold
    work = _Recording(opened, text_of("by", user_name() if by is None else by))
    query: Stored = {"$or": [field.has_labels, {"_id": {"$in": field.decided_ids()}}]}
    if opened.among is not None:
        query = {"$and": [query, {"_sample_id" if field.on_frames else "_id": {"$in": list(opened.among)}}]}
    ids = [row["_id"] for row in field.collection.find(query, {"_id": True})]
    for start in range(0, len(ids), _BATCH):
        work.record(ids[start : start + _BATCH])
    reload_samples(field.dataset)
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
            read = [(decision, left.pop(decision["gold_id"], None)) for decision in log.decisions]
            for decision, label in read:
                if not log.is_edited(decision):
                    continue
                if label is None and kind.list_name is None and left:  # the only label has another id
                    _, label = left.popitem()
                made[row["_id"]].append(self._made(decision, label, (decision,)))
            if left:
                drawn[row["_id"]] = list(left.values())
        for document_id, on_drawn in self._drawn(drawn).items():
            made[document_id] += on_drawn
        for document_id, document_decisions in made.items():
            for each in document_decisions:
                logs[document_id].add(each)
        refused = gold.swap({each: (logs[each].update(each), logs[each].entries) for each in made})
        self.total["n_changed"] += len(refused)
        self.total["n_decided"] += sum(len(new) for each, new in made.items() if each not in refused)

    def _made(self, before: Mapping[str, Any], label: Stored | None, replaces: tuple[Stored, ...] = ()) -> Made:
        """A decision for a label as it is now; without a label, that there is no object."""
        choice = "none" if label is None else "own"
        said = {"choice": choice, "annotator": None, "decided_by": self._by, "decided_at": now(), "step": self.step}
        facts = {name: before[name] for name in _KEPT}
        others = {"replaces": replaces, "read": label, "written": before.get("written")}
        return Made.of(facts, label, self._opened.kind, basis=choice, said={**said, BY_RULE: False}, **others)

    def _drawn(self, drawn: Mapping[ObjectId, list[Stored]]) -> dict[ObjectId, list[Made]]:
        """Decisions for labels that were drawn."""
        if not drawn:
            return {}
        reader = self._opened.reader()
        found: dict[ObjectId, list[Made]] = {}
        for batch in reader.batched(reader.again(list(drawn))):
            objects = reader.columns(batch).labels
            for k, document_id in enumerate(objects.document_ids):
                undecided = [unit for unit in objects.of_sample(k) if not objects.found[unit]]
                units = self._opened.units.drawn(objects.members, undecided, drawn[document_id])
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
