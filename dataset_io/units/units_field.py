"""Derived fields with one label for every object of a run, or for those of the consensus; patches of disputed objects.

Such a field is recorded in the run before it is written, and deleted with the run.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import fiftyone as fo
import fiftyone.core.labels as fol
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ... import names
from ...agreement.matching.verdicts import VERDICTS
from ...agreement.settings.arguments import is_real, one_of, takes_arrays, true_or_false
from ...agreement.settings.errors import AgreementInputError, keeping_first_error
from ...agreement.settings.options import OPTIONS
from ...charts.text.words import counted
from ...metrics.consensus.consensus import NO_CLASS, consensus_score, quorum_votes, vote_classes
from ..app.appearance import add_path
from ..database.fiftyone_private import list_name, reload_samples
from ..labels.checks import check_sizes, label_facts, with_masks
from ..labels.source import refuse_read_only
from ..labels.stored import NoRoomError, as_read, mark_of, places
from ..record.lease import unless_deleted, writing
from ..record.run import COMPLETED, FAILED, RUNNING, Run, dataset_of
from ..record.run_labels import RunLabels, open_run_labels
from ..record.schema import declare, delete_fields, new_field, refuse_field_of_user
from ..run.read import Progress, rare_collections
from ..views.view_request import is_count
from .changing import Changed, Write, change
from .consensus_geometry import ConsensusMaker, Shapes, consensus_maker
from .unit_labels import Stored, UnitLabels, UnitReader

logger = logging.getLogger(__name__)

#: outcome for an object: a label is written, it has too few votes, or its classes tie
Outcome = Literal["n_labels", "n_below_quorum", "n_tied"]

#: entry of a run's config with the records of derived fields, by suffix
RECORD = "derived_fields"


@dataclass(frozen=True, slots=True, repr=False)
class DerivedLabels:
    """Number of labels in a derived field, and of objects left out."""

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
        """A sentence on the numbers written and left out."""
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
    if dataset.get_field(path) is None:
        (place,) = places(dataset, [path])
        is_stored = {place.paths[0]: {"$exists": True}}
        if path not in labels.run.recorded_paths() and place.collection.find_one(is_stored) is not None:
            raise AgreementInputError(f"`{path}` must be free, but it exists, undeclared, in the database; remove it")
        return
    refuse_field_of_user(dataset, path, labels.field_key)
    record = derived_record(labels.run, suffix)
    if record is not None and record.get("status") == COMPLETED and not overwrite:
        raise AgreementInputError(f"`{path}` must be new, but it exists already; replace it with overwrite=True")
    refuse_read_only(dataset, [path])


def _derive_labels(
    labels: RunLabels,
    reader: UnitReader,
    suffix: str,
    declared: tuple[type[fol.Label], str, dict[str, names.FieldSpec]],
    label_documents: Callable[[UnitLabels], tuple[list[Stored | None], list[Outcome]]],
    options: dict[str, Any],
    progress: Progress,
) -> DerivedLabels:
    """Write a derived field, or replace it; even after a crash it is found, and deleted with its run.

    ``declared`` are the type of the field, its description, and the attributes of its labels beside class and geometry;
    ``label_documents`` gives the stored label of every unit (None if its members are unusable now), and its outcome.
    """
    OPTIONS["progress"].checked(progress)
    dataset, path, (stored, description, attributes) = labels.dataset, labels.path_of(suffix), declared
    run = Run(dataset, labels.run_key, labels.run.config["results_id"])
    entry, this_pass = f"{RECORD}.{suffix}", str(ObjectId())
    ours, name, in_list = {f"{entry}.pass": this_pass}, path.removeprefix(names.FRAMES_PREFIX), list_name(stored)

    def check() -> None:
        run.require_current()
        if not run.is_current(**ours):
            raise AgreementInputError(f"`{path}` is being written by somebody else; this attempt has stopped")

    def declare_missing() -> None:
        field = fo.EmbeddedDocumentField(stored, description=description, info={names.RUN_METHOD: labels.field_key})
        fields = {path: field, **{f"{path}.{in_list}.{each}": new_field(spec) for each, spec in attributes.items()}}
        declare(dataset, {each: field for each, field in fields.items() if dataset.get_field(each) is None})

    def derived_of(rows: list[Stored]) -> dict[ObjectId, Changed]:
        found = reader.units([row for row in rows if row.get("compared") is not None])  # others were not compared
        made: list[list[Stored]] = [[] for _ in found.samples]
        counts = [Counter({"n_left_out": n}) for n in found.n_left_out.tolist()]
        for sample, document, outcome in zip(found.sample.tolist(), *label_documents(found), strict=True):
            counts[sample]["n_left_out" if document is None and outcome == "n_labels" else outcome] += 1
            if document is not None and outcome == "n_labels":
                made[sample].append(document)
        unchanged = (as_read(each, reader.source.kinds, reader.source.label_paths) for each in found.samples)
        values = ({name: {"_cls": stored.__name__, in_list: each}} for each in made)
        writes = (Write(new, condition, name) for new, condition in zip(values, unchanged, strict=True))
        outcomes = zip(found.samples, counts, writes, strict=True)
        return {sample.sample_id: (count, write) for sample, count, write in outcomes}

    with unless_deleted(dataset):
        try:
            with writing(dataset):
                run.require_current()
                refuse_field_of_user(dataset, path, labels.field_key)
                before = (run.config.get(RECORD) or {}).get(suffix) or {}
                run.update(fields_added=[path], **{entry: {**options, "status": RUNNING, "pass": this_pass}})
                if dataset.get_field(path) is not None:
                    delete_fields(dataset, [path], being_written=before.get("status") == RUNNING)
                declare_missing()
            with rare_collections():
                total = change(reader, derived_of, check=check, progress=progress)
            counts = {each: total[each] for each in ("n_labels", "n_below_quorum", "n_tied", "n_left_out")}
            result = DerivedLabels(path, **counts, n_changed=total["n_meanwhile"])
            with writing(dataset):
                check()
                declare_missing()
                run.update(only_with=ours, **{f"{entry}.status": COMPLETED})
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
                        run.update(only_with=ours, **{f"{entry}.status": FAILED})
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


@takes_arrays
def add_units(
    dataset: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    shapes: Shapes = "medoid",
    overwrite: bool = False,
    progress: Progress = None,
) -> DerivedLabels:
    """Write one label for every object of a run into ``<key>_units``, on frames into ``frames.<key>_units``.

    The geometry is a consensus. Boxes: the median of every edge. Masks and polylines: the medoid, the member with the
    highest mean IoU to the others (ties: the first by annotator name). Keypoints: the median of every point that at
    least half of the members labelled. Temporal detections: the median of first and last frames, rounded down. Boxes
    with polylines: the median of their bounding boxes.

    The class is the majority class; "no class" counts as a class. If several classes tie, the label names them all
    (``"car / van"``), and ``tie`` is true. The other attributes are ``unit`` (the match id), ``verdict`` (``split`` if
    any member has it), ``votes``, ``of``, ``mean_iou``, ``annotators``, and the class that each of them gave in
    ``classes``.

    Verdict, votes and IoU are as written by the run; class and geometry come from the current labels. Objects whose
    labels were deleted, added or made unusable since the run are left out and counted.

    Args:
        dataset: the dataset, or a view of it; the objects of all samples of the run are written
        run_key: key of the run
        shapes: consensus of masks and polygons: ``"medoid"``, or ``"vote"``: detections with the pixels that are in at
            least half of the members (for polygons, pixels with their centre inside)
        overwrite: replace objects that were written before
        progress: as in ``compute``

    Returns:
        number of labels written, and numbers left out

    Raises:
        AgreementInputError: if there is no such completed run on objects, or the field is not free
    """
    labels = open_run_labels(dataset_of(dataset), run_key)
    check_can_derive(labels, names.UNITS_SUFFIX, "run.objects.write", overwrite=overwrite)
    reader, maker = open_units(labels, shapes)

    def documents(units: UnitLabels) -> tuple[list[Stored | None], list[Outcome]]:
        made = unit_documents(units, maker, reader)
        for document, code in zip(made, units.verdict.tolist(), strict=True):
            if document is not None:
                document["verdict"] = VERDICTS[code] if code >= 0 else None
        return made, ["n_labels"] * units.n_units

    described = "What the annotators drew as one physical object: one label for each"
    declared = (maker.stored, described, names.UNIT_ATTRIBUTES)
    return _derive_labels(labels, reader, names.UNITS_SUFFIX, declared, documents, {"shapes": shapes}, progress)


def open_units(labels: RunLabels, shapes: Shapes) -> tuple[UnitReader, ConsensusMaker]:
    """The reader of the units of a run, and the maker of their consensus geometry.

    Raises:
        AgreementInputError: if ``shapes`` does not suit the labels, or needs image sizes that are unknown
    """
    reader = UnitReader(labels)
    maker = consensus_maker(with_masks(reader.source, label_facts(reader.source)), shapes)
    if maker.needs_size:
        check_sizes(reader.source)
    return reader, maker


def unit_documents(units: UnitLabels, maker: ConsensusMaker, reader: UnitReader) -> list[Stored | None]:
    """The label of every unit as stored; None if the geometry of a member is unusable (now)."""
    voted = vote_classes(units.unit, units.category, units.n_units)
    class_names, nameless = reader.codes.names(), {NO_CLASS, reader.codes.get(None)}
    who = [reader.source.annotators[k] for k in units.annotator.tolist()]
    said = [class_names[code] for code in units.category.tolist()]
    end = np.searchsorted(units.unit, np.arange(units.n_units + 1)).tolist()
    columns = (voted.category, voted.tie, units.votes, units.assigned, units.mean_iou)
    rows = zip(maker.extents(units), units.unit_ids, *(each.tolist() for each in columns), strict=True)
    documents: list[Stored | None] = []
    for k, (extent, unit_id, category, tie, n_votes, n_assigned, iou) in enumerate(rows):
        if extent is None:
            documents.append(None)
            continue
        given = said[end[k] : end[k + 1]]
        label = None if category in nameless else class_names[category]
        if tie:  # all classes with the most votes, as one label: ``car / van``
            named = Counter("no class" if name is None else str(name) for name in given)
            label = " / ".join(sorted(name for name, n in named.items() if n == max(named.values())))
        document = {"_id": ObjectId(), "_cls": maker.label.__name__, "tags": [], "label": label, **extent}
        document |= {"unit": unit_id, "votes": n_votes, "of": n_assigned}
        document |= {"mean_iou": iou if iou == iou else None}  # nan is not equal to itself
        documents.append({**document, "annotators": who[end[k] : end[k + 1]], "classes": given, "tie": tie})
    return documents


#: what is done with units whose leading classes have equal votes
Ties = Literal["leave_out", "keep"]


@takes_arrays
def resolve_units(
    dataset: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    quorum: float | Literal["majority"] = "majority",
    ties: Ties = "leave_out",
    shapes: Shapes = "medoid",
    overwrite: bool = False,
    progress: Progress = None,
) -> DerivedLabels:
    """Write the consensus of the annotators into ``<key>_consensus``, on frames into ``frames.<key>_consensus``.

    An object gets a label if enough of the assigned annotators drew it. Geometry and class follow
    ``run.objects.write``: class by vote, boxes by median, shapes by medoid or by votes on every pixel. ``confidence``
    is the share of the assigned annotators who drew the object times their mean IoU (for keypoints once for every
    point); None with a single vote. A sample without an object with enough votes gets an empty list.

    FiftyOne's exporters (COCO, YOLO, VOC, CVAT …) can export the field unchanged.

    The annotators' own labels do not change. Deleting the run deletes the consensus; to keep it, clone the field:
    ``dataset.clone_sample_field("agreement_consensus", "ground_truth")``.

    Args:
        dataset: the dataset, or a view of it; the consensus of all samples of the run is written
        run_key: key of the run
        quorum: ``"majority"``: more than half of the assigned annotators (2 of 2, 2 of 3, 3 of 4); or the least
            share of them, in (0, 1], rounded up: half of 2 is 1, half of 3 is 2
        ties: objects for which several classes have the most votes: ``"leave_out"`` counts them and writes no label;
            ``"keep"`` writes a label with all leading classes (``"car / van"``) and ``tie`` true
        shapes: ``"medoid"`` or ``"vote"``; see ``run.objects.write``
        overwrite: replace an existing consensus
        progress: as in ``compute``

    Returns:
        number of labels written, and numbers left out

    Raises:
        AgreementInputError: if there is no such completed run on objects, the field is not free, or an option is not
            usable
    """
    labels = open_run_labels(dataset_of(dataset), run_key)
    check_can_derive(labels, names.CONSENSUS_SUFFIX, "run.objects.consensus", overwrite=overwrite)
    if not isinstance(quorum, str) or quorum != "majority":  # expressions of FiftyOne cannot be compared
        if not is_real(quorum) or not 0 < quorum <= 1:
            raise AgreementInputError(
                f'`quorum` must be "majority" or a share of the annotators in (0, 1], got {quorum!r}'
            )
        quorum = float(quorum)
    one_of("ties", ties, get_args(Ties))
    reader, maker = open_units(labels, shapes)

    documents = functools.partial(consensus_documents, maker=maker, reader=reader, quorum=quorum, ties=ties)
    share = "more than half" if quorum == "majority" else f"at least {quorum:g}"
    described = f"Consensus of the annotators: objects with the votes of {share} of those assigned"
    declared = (maker.stored, described, names.CONSENSUS_ATTRIBUTES)
    options = {"quorum": quorum, "ties": ties, "shapes": shapes}
    return _derive_labels(labels, reader, names.CONSENSUS_SUFFIX, declared, documents, options, progress)


def consensus_documents(
    units: UnitLabels,
    maker: ConsensusMaker,
    reader: UnitReader,
    *,
    quorum: float | Literal["majority"] = "majority",
    ties: Ties = "leave_out",
) -> tuple[list[Stored | None], list[Outcome]]:
    """The consensus label of every unit as stored (None if its members are unusable now), and its outcome."""
    made = unit_documents(units, maker, reader)
    votes, assigned = units.votes, units.assigned
    outcomes: list[Outcome] = []
    enough = (votes >= quorum_votes(assigned, quorum)).tolist()
    scores = consensus_score(votes, assigned, units.mean_iou).tolist()
    for document, has_enough, score in zip(made, enough, scores, strict=True):
        is_tied = document is not None and document["tie"] and ties == "leave_out"
        outcomes.append("n_below_quorum" if not has_enough else "n_tied" if is_tied else "n_labels")
        if document is not None:
            confidence = score if score == score else None  # nan is not equal to itself
            of_points = maker.label is fo.Keypoint and confidence is not None
            document["confidence"] = [confidence] * len(document["points"]) if of_points else confidence
    return made, outcomes


#: verdicts of disputed objects, the worst first
DISPUTED = ("class_conflict", "attribute_conflict", "split", "missed", "lone", "duplicate")
_RANKED = (*DISPUTED, *(verdict for verdict in VERDICTS if verdict not in DISPUTED))


@takes_arrays
def agreement_patches(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    verdict: str | Sequence[str] | None = None,
    max_units: int | None = None,
) -> DatasetView:
    """The disputed objects of a run, one patch for each, which shows only the annotators' labels of this object.

    The worst come first: by verdict (class conflict, attribute conflict, split, missed, lone, duplicate), then by the
    share of the assigned annotators who drew the object, then by mean IoU, both ascending. A temporal detection becomes
    a clip; an object on a frame becomes a patch of the frame, which the App takes from the video if frames have no
    files.

    The view consists of FiftyOne's own stages, so it can be saved and opened in the App. Edits and tags of the object's
    consensus label reach the dataset; edits and tags of the annotators' labels do not, as FiftyOne syncs only the field
    that patches are made from.

    Args:
        samples: the dataset, or a view of it; labels that a view hides are not shown
        run_key: key of the run, with objects written by ``run.objects.write``
        verdict: objects with this verdict, or one of several; None for all disputed objects
        max_units: maximum number of objects, the worst first; None for all

    Raises:
        AgreementInputError: if there is no such completed run on objects, its objects were not written, or an argument
            is not usable
    """
    labels = open_run_labels(samples, run_key)
    verdicts = check_verdicts(verdict)
    if max_units is not None and not is_count(max_units):
        raise AgreementInputError(f"`max_units` must be None or at least 1, got {max_units!r}")
    check_units(labels)
    path = labels.path_of(names.UNITS_SUFFIX)
    field = path.removeprefix(names.FRAMES_PREFIX)
    shown = [name.removeprefix(names.FRAMES_PREFIX) for name in labels.config.fields]
    view = labels.samples.view()
    if labels.on_frames:  # the App takes frames without files from the video
        has_paths = labels.samples.get_field(f"{names.FRAMES_PREFIX}filepath") is not None
        have_files = has_paths and bool(labels.samples.count("frames.filepath"))
        view = labels.samples.to_frames(sample_frames=False if have_files else "dynamic", sparse=True)
    of_list = f"{field}.{list_name(labels.samples.get_field(path).document_type)}"
    view = view.filter_labels(field, {"$in": ["$$this.verdict", list(verdicts)]})
    unit_id = f"$$this.{labels.field_key}_id"
    for name in shown:  # before making patches, so that less is copied to each
        view = view.filter_labels(name, {"$in": [unit_id, f"${of_list}.unit"]}, only_matches=False)
    if labels.kinds[0].stored is fol.TemporalDetections:  # which FiftyOne shows as clips instead of patches
        view = view.to_clips(field, other_fields=shown)
    else:
        view = view.to_patches(field, other_fields=shown)
    rank = {"$indexOfArray": [list(_RANKED), f"${field}.verdict"]}
    share = {"$divide": [f"${field}.votes", {"$max": [f"${field}.of", 1]}]}
    view = view.sort_by([(rank, 1), (share, 1), (f"{field}.mean_iou", 1), (f"{field}.unit", 1), ("sample_id", 1)])
    if max_units is not None:
        view = view.limit(int(max_units))
    for name in shown:
        view = view.filter_labels(name, {"$eq": [unit_id, f"${field}.unit"]}, only_matches=False)
    return view


def check_verdicts(verdict: Any) -> tuple[str, ...]:
    """The requested verdicts; without a request those of disputed objects."""
    if verdict is None:
        return DISPUTED
    verdicts = (verdict,) if isinstance(verdict, str) else verdict
    if not isinstance(verdicts, Sequence) or not verdicts:
        raise AgreementInputError(f"`verdict` must be a verdict, or a list of them, got {verdict!r}")
    return tuple(dict.fromkeys(one_of("verdict", entry, VERDICTS) for entry in verdicts))


def check_units(labels: RunLabels) -> None:
    """Refuse a run whose objects were not written completely."""
    if not labels.family.has_objects:
        raise AgreementInputError(
            f"The run must be on objects to show them one by one, got {labels.run_key!r} on {labels.title}"
        )
    dataset, path = labels.dataset, labels.path_of(names.UNITS_SUFFIX)
    record = derived_record(labels.run, names.UNITS_SUFFIX)
    if record is None or dataset.get_field(path) is None:
        raise AgreementInputError(
            f"The objects of the run {labels.run_key!r} must be written first: run.objects.write()"
        )
    if record.get("status") != COMPLETED:
        raise AgreementInputError(
            f"The objects of the run {labels.run_key!r} must be complete, got the status {record['status']!r}; "
            "write them again: run.objects.write()"
        )
    if labels.samples.get_field(path) is None:
        raise AgreementInputError(f"The view must have the field `{path}`, got one without it")


def has_units(labels: RunLabels) -> bool:
    """True if the objects of a run were written."""
    try:
        check_units(labels)
    except AgreementInputError:
        return False
    return True
