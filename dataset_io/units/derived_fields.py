"""Derived label fields (units, consensus): recorded before they are written, deleted with their run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import fiftyone as fo
import fiftyone.core.labels as fol
from bson import ObjectId

from ... import names
from ...agreement.settings.arguments import true_or_false
from ...agreement.settings.errors import AgreementInputError, keeping_first_error
from ...agreement.settings.options import OPTIONS
from ...charts.text.words import counted
from ..app.appearance import add_path
from ..database.fiftyone_private import list_name, reload_samples
from ..labels.paths import mark_of, places
from ..labels.source import refuse_read_only
from ..labels.stored import NoRoomError
from ..record.lease import unless_deleted, writing
from ..record.run import COMPLETED, FAILED, RUNNING, Run
from ..record.run_labels import RunLabels
from ..record.schema import declare, delete_fields, new_field, refuse_field_of_user
from ..run.read import Reader
from ..run.work_through import CountingPass, Progress, SentBatch, rare_collections
from ..run.write import Writer
from .unit_members import UnitMembers, UnitReader

logger = logging.getLogger(__name__)

#: whether the object of a unit is written, or what it is counted as
Outcome = Literal["n_labels", "n_below_quorum", "n_tied"]

#: entry of a run's config with the records of derived fields, by suffix
RECORD = "derived_fields"


@dataclass(frozen=True, slots=True, repr=False)
class DerivedLabels:
    """Number of labels in a derived field, and numbers left out."""

    field: str  #: the field that was written
    n_labels: int  #: labels in it
    n_below_quorum: int  #: objects with too few votes
    n_tied: int  #: objects left out because several classes have the most votes
    #: objects whose labels were deleted, added or made unusable since the run, or that have no pixels to vote on
    n_left_out: int
    n_changed: int  #: samples or frames left out because somebody kept on editing them

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.told()}>"

    def told(self) -> str:
        """What was written and left out, in words."""
        told = [f"Wrote {counted(self.n_labels, 'label')} into {self.field}"]
        left_out = [
            (self.n_below_quorum, "with too few votes"),
            (self.n_tied, "with several leading classes"),
            (self.n_left_out, "whose labels changed since the run, or have no pixels"),
        ]
        told += [f"left out {counted(n, 'object')} {why}" for n, why in left_out if n]
        if self.n_changed:
            told.append(f"left out {counted(self.n_changed, 'sample')} that somebody was editing")
        return "; ".join(told)


@dataclass(frozen=True, slots=True)
class DerivedField:
    """A derived field to write."""

    suffix: str  #: its name after the run key
    stored: type[fol.Label]  #: type of the field
    description: str  #: its description for users
    attributes: dict[str, names.FieldSpec]  #: attributes of its labels, in addition to class and geometry
    #: gives the stored label of every unit (None if its members are unusable now), and its outcome
    label_documents: Callable[[UnitMembers], tuple[list[dict[str, Any] | None], list[Outcome]]]
    options: dict[str, Any]  #: options, stored in the record


def derived_record(run: Run, suffix: str) -> dict[str, Any] | None:
    """The record of a derived field: ``status`` and options; None if there is none."""
    recorded = run.config.get(RECORD)
    record = recorded.get(suffix) if isinstance(recorded, Mapping) else None
    return dict(record) if isinstance(record, Mapping) else None


def check_can_derive(labels: RunLabels, suffix: str, called: str, *, overwrite: bool) -> None:
    """Refuse to write a derived field that belongs to the user, is read-only, or exists already."""
    true_or_false("overwrite", overwrite)
    if not labels.family.has_objects:
        raise AgreementInputError(
            f"{called}() needs a run on objects, got the run {labels.run_key!r} on {labels.title}"
        )
    dataset, path = labels.dataset, labels.path_of(suffix)
    field = dataset.get_field(path)
    recorded = labels.run.recorded_paths()
    if field is None:
        (place,) = places(dataset, [path])
        if path not in recorded and place.collection.find_one({place.paths[0]: {"$exists": True}}) is not None:
            raise AgreementInputError(f"`{path}` must be free, but it exists, undeclared, in the database; remove it")
        return
    refuse_field_of_user(dataset, path, labels.field_key)
    record = derived_record(labels.run, suffix)
    if record is not None and record.get("status") == COMPLETED and not overwrite:
        raise AgreementInputError(f"`{path}` must be new, but it exists already; replace it with overwrite=True")
    refuse_read_only(dataset, [path])


def derive_labels(labels: RunLabels, units: UnitReader, derived: DerivedField, progress: Progress) -> DerivedLabels:
    """Write a derived field, replacing an old one; even after a crash it is found and deleted with its run."""
    OPTIONS["progress"].checked(progress)
    dataset, path = labels.dataset, labels.path_of(derived.suffix)
    run = Run(dataset, labels.run_key, labels.run.config["results_id"])
    entry, this_pass = f"{RECORD}.{derived.suffix}", str(ObjectId())
    ours = {f"{entry}.pass": this_pass}

    def check() -> None:
        run.require_current()
        if not run.is_current(**ours):
            raise AgreementInputError(f"`{path}` is being written by somebody else; this attempt has stopped")

    def record(status: str) -> None:
        run.update(only_with=ours, **{f"{entry}.status": status})

    started = {**derived.options, "status": RUNNING, "pass": this_pass}
    with unless_deleted(dataset):
        try:
            with writing(dataset):
                run.require_current()
                refuse_field_of_user(dataset, path, labels.field_key)
                before = (run.config.get(RECORD) or {}).get(derived.suffix) or {}
                run.update(fields_added=[path], **{entry: started})
                if dataset.get_field(path) is not None:
                    delete_fields(dataset, [path], being_written=before.get("status") == RUNNING)
                _declare(dataset, labels.field_key, path, derived)
            with rare_collections():
                total = _Pass(units, derived, labels, check).done(progress)
            counts = {name: total[name] for name in ("n_labels", "n_below_quorum", "n_tied", "n_left_out")}
            result = DerivedLabels(path, **counts, n_changed=total["n_meanwhile"])
            with writing(dataset):
                check()
                _declare(dataset, labels.field_key, path, derived)
                record(COMPLETED)
                add_path(dataset, labels.run_key, path)
        except NoRoomError:
            with writing(dataset):
                check()
                delete_fields(dataset, [path])
                run.withdraw(path, entry)
            raise
        except BaseException:
            with keeping_first_error(f"The derived labels of the run {run.key!r} could not be recorded"):
                with writing(run.dataset):
                    if run.is_current():
                        record(FAILED)
                    elif path not in run.recorded_paths():  # somebody deleted or replaced the run meanwhile
                        if mark_of(run.dataset.get_field(path)) == labels.field_key:
                            delete_fields(run.dataset, [path])
                        run.remove_remains([path])
                reload_samples(run.dataset)
            raise
        reload_samples(dataset)
    if result.n_changed:
        logger.warning("%d samples were edited while their objects were written, and are left out", result.n_changed)
    return result


def _declare(dataset: fo.Dataset, field_key: str, path: str, derived: DerivedField) -> None:
    """Declare the field, with the mark of its run, and the attributes of its labels, which need none."""
    info = {names.RUN_METHOD: field_key}
    labels = f"{path}.{list_name(derived.stored)}"
    fields = {
        path: fo.EmbeddedDocumentField(derived.stored, description=derived.description, info=info),
        **{f"{labels}.{name}": new_field(spec) for name, spec in derived.attributes.items()},
    }
    declare(dataset, {name: field for name, field in fields.items() if dataset.get_field(name) is None})


class _Pass(CountingPass):
    """One pass over the labels of a run: batches are read, computed and written concurrently."""

    def __init__(self, units: UnitReader, derived: DerivedField, labels: RunLabels, check: Callable[[], None]) -> None:
        super().__init__(Reader(units))
        self._derived = derived
        self._check = check
        self._writer = Writer(units.source, labels.field_key)
        self._field = labels.path_of(derived.suffix).removeprefix(names.FRAMES_PREFIX)

    def send(self, rows: list[dict[str, Any]], writers: ThreadPoolExecutor) -> SentBatch | None:
        """Compute the labels of a batch and start writing them; samples that the run did not compare are skipped."""
        rows = [row for row in rows if row.get("compared") is not None]
        if not rows:
            return None
        read = self.reader.columns(rows)
        documents, outcomes = self._derived.label_documents(read.labels)
        of_samples: list[list[dict[str, Any]]] = [[] for _ in read.samples]
        counts = [Counter(n_left_out=n) for n in read.n_invalid.tolist()]
        for sample, document, outcome in zip(read.labels.sample.tolist(), documents, outcomes, strict=True):
            is_usable = document is not None or outcome != "n_labels"
            counts[sample][outcome if is_usable else "n_left_out"] += 1
            if document is not None and outcome == "n_labels":
                of_samples[sample].append(document)
        stored = self._derived.stored
        updates = [{self._field: {"_cls": stored.__name__, list_name(stored): docs}} for docs in of_samples]
        self._check()
        ids = [sample.sample_id for sample in read.samples]
        return SentBatch(ids, counts, writers.submit(lambda: self._writer.write(read, updates).refused))
