"""The labels that a run compared, in their current state in the dataset, and how many samples were changed since."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone as fo
import fiftyone.core.media as fom
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from pymongo.collection import Collection

from ... import names
from ...agreement.families.family import Family
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ..database.fiftyone_private import pipeline_of, sample_collection, stages_of, stored_dataset
from ..labels.kinds import LabelKind, kind_of, titles
from ..labels.source import Source, flattened, recorded_source, refuse_parts
from ..labels.stored import is_of_frames
from .run import COMPLETED, Run
from .sample_index import CHANGES_RECORD, changes_since, ids_of, sample_keys


@dataclass(frozen=True, slots=True)
class RunLabels:
    """The labels of a completed run."""

    run: Run  #: the run
    samples: SampleCollection  #: the dataset or view; for groups the samples of all slices
    #: prefix of the run's fields; differs from its key if it was renamed with FiftyOne's own ``rename_run()``
    field_key: str
    config: AgreementConfig  #: the options of the run
    kinds: tuple[LabelKind, ...]  #: type of the labels of every field
    annotators: tuple[str, ...]  #: names, sorted

    @property
    def run_key(self) -> str:
        """Key of the run."""
        return self.run.key

    @property
    def dataset(self) -> fo.Dataset:
        """The dataset of the run."""
        return self.run.dataset

    @property
    def family(self) -> Family:
        """Family of the compared label types."""
        return self.kinds[0].family

    @property
    def title(self) -> str:
        """Label type of the run, for messages."""
        return " and ".join(titles(self.kinds))

    @property
    def have_attributes(self) -> bool:
        """True if all fields hold labels, which can have attributes, not plain values."""
        return all(kind.is_label for kind in self.kinds)

    @property
    def on_frames(self) -> bool:
        """True if the labels are on frames of videos."""
        return is_of_frames(self.config.fields[0])

    @property
    def label_paths(self) -> tuple[str, ...]:
        """Path in the schema of the label, or list of labels, of every field."""
        return tuple(kind.label_path(name) for kind, name in zip(self.kinds, self.config.fields, strict=True))

    @property
    def score_field(self) -> str:
        """The field with the score of every sample; for videos the mean over the frames."""
        return f"{self.field_key}_score"

    def path_of(self, suffix: str) -> str:
        """Schema path of a field of the run on samples or frames."""
        return f"{names.FRAMES_PREFIX if self.on_frames else ''}{self.field_key}{suffix}"

    def field_of(self, annotator: str) -> str:
        """The field with the labels of an annotator."""
        if self.config.attribute_mode:
            return self.config.fields[0]
        return self.config.fields[self.config.annotators.index(annotator)]

    def kind_of(self, annotator: str) -> LabelKind:
        """Type of the labels of an annotator."""
        return self.kinds[self.config.fields.index(self.field_of(annotator))]

    def source(self) -> Source:
        """All labels of the dataset, as a source.

        Raises:
            AgreementInputError: if the field that says who was asked is gone
        """
        asked = self.config.assigned_field
        if asked is not None and self.dataset.get_field(asked) is None:
            raise _gone(self.run_key, asked)
        return recorded_source(self.dataset, self.config, self.kinds, self.annotators)

    def source_of_run(self) -> Source:
        """The labels that the run compared, in its view, if any; without aliases for classes that this view renames."""
        config = AgreementConfig.from_dict(self.run.completed()["options"])
        of_run = flattened(self.run.target(), on_frames=self.on_frames)
        return dataclasses.replace(self.source(), samples=of_run, config=config)

    def annotators_asked(self, annotators: Any) -> tuple[str, ...]:
        """The annotators that an argument names: a name, a list of names, or None for none.

        Raises:
            AgreementInputError: if they are not names of annotators of the run
        """
        if annotators is None or (isinstance(annotators, str) and not annotators):
            return ()
        named = (annotators,) if isinstance(annotators, str) else annotators
        if not isinstance(named, Sequence) or not all(isinstance(name, str) for name in named):
            raise AgreementInputError(f"`annotators` must be a name, or a list of names, got {annotators!r}")
        self.check_annotators("annotators", list(named))
        return tuple(dict.fromkeys(named))

    def check_annotators(self, option: str, given: list[str]) -> None:
        """Raise :class:`AgreementInputError` unless all names are annotators of the run."""
        unknown = [name for name in given if name not in self.annotators]
        if unknown:
            raise AgreementInputError(
                f"`{option}` must name annotators of the run {self.run_key!r} ({shown(self.annotators)}), got "
                f"{shown(map(repr, unknown))}{did_you_mean(unknown[0], self.annotators)}"
            )


def open_run_labels(samples: SampleCollection, run_key: str) -> RunLabels:
    """Find the labels of a completed run in a dataset or view.

    Raises:
        AgreementInputError: if there is no such run, it did not complete, or its labels or fields are gone
    """
    run = Run(samples, run_key)
    refuse_parts(samples)
    run.require()
    record = run.completed()
    config, annotators = AgreementConfig.from_dict(record["options"]), tuple(record["annotators"])
    dataset, slices = stored_dataset(samples), []
    if isinstance(samples, fo.Dataset) and samples.media_type == fom.GROUP:
        compared = {f"{config.run_key}_n_annotators": {"$ne": None}}
        slices = sample_collection(dataset).distinct(f"{dataset.group_field}.name", compared)
    if slices and len(set(dataset.group_media_types.values())) > 1:
        samples = dataset.select_group_slices(slices)
    else:  # the samples of all group slices, which must not differ in media type
        samples = flattened(samples, on_frames=is_of_frames(config.fields[0]))
    kinds = []
    for name in config.fields:
        kind = kind_of(samples.get_field(name))
        if kind is None:
            raise _gone(run_key, name)
        kinds.append(kind)
    # how the view of the run renames stored classes, if it does so alike in all fields
    view, maps = run.target(), {field: dict[str, str]() for field in config.fields}
    for stage in stages_of(view) if isinstance(view, fo.DatasetView) else ():
        if isinstance(stage, fo.MapLabels) and stage.field in maps:
            before = maps[stage.field]
            maps[stage.field] = {**stage.map, **{name: stage.map.get(new, new) for name, new in before.items()}}
    of_view, *others = maps.values()
    if all(each == of_view for each in others):  # else a name means different classes in different fields
        in_view = {name: config.aliases.get(new, new) for name, new in of_view.items()}
        config = dataclasses.replace(config, aliases={**config.aliases, **in_view})
    labels = RunLabels(run, samples, config.run_key, config, tuple(kinds), annotators)
    with_values = [path for kind, path in zip(kinds, labels.label_paths, strict=True) if kind.is_label]
    of_values = [] if labels.have_attributes else [labels.path_of(names.DIFFERING_PAIRS)]
    for path in [labels.score_field, *of_values, *(f"{path}.{config.run_key}_of" for path in with_values)]:
        if samples.get_field(path) is None:
            raise _gone(run_key, path)
    return labels


def _gone(run_key: str, path: str) -> AgreementInputError:
    return AgreementInputError(
        f"The fields of the run {run_key!r} must be in the dataset and the view, got no `{path}`; if it "
        "was renamed, rename it back; else pass a view that has it, or compute the run again with overwrite=True"
    )


# ---- what was changed since ----


@takes_arrays
def changed_since(dataset: fo.Dataset | SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> int | None:
    """Count samples (for runs on frames: videos) that were edited, added or deleted since a run.

    Found by the time stamps that FiftyOne gives to samples when they are saved, so an edit of another field counts,
    too. What this plugin wrote since (other runs, objects, tags) does not count. For a run on a view: the samples that
    it compared, and those that are in the view now.

    Args:
        dataset: the dataset, or a view of it
        run_key: key of the run

    Returns:
        the number; None if it is not known, as the dataset was cloned since

    Raises:
        AgreementInputError: if there is no such run, or it did not complete
    """
    run = Run(dataset, run_key)
    if run.config.get("status") != COMPLETED:
        run.require_completed()  # only then: it reloads the dataset, which takes most of the time
    config = run.completed()
    on_frames = any(map(is_of_frames, config["fields_written"]))
    found = changes_since(run.dataset, config[CHANGES_RECORD], run.index, on_frames=on_frames)
    if found is None:
        return None
    samples, n_deleted = found
    if not (samples or n_deleted):
        return 0
    collection, view = sample_collection(run.dataset), run.target()
    edited = _existing(collection, samples)
    if not isinstance(view, fo.DatasetView):
        return len(edited) + n_deleted
    compared = run.index().sample_keys()
    changed = np.isin(sample_keys(edited), compared)
    if not changed.all():
        among: list[dict[str, Any]] = [{"$match": {"_id": {"$in": edited}}}, {"$project": {"_id": True}}]
        in_view = [row["_id"] for row in collection.aggregate([*pipeline_of(view), *among], allowDiskUse=True)]
        changed |= np.isin(sample_keys(edited), sample_keys(in_view))
    n_gone = len(compared) - len(_existing(collection, ids_of(compared))) if n_deleted else 0
    return int(changed.sum()) + n_gone


def _existing(collection: Collection[dict[str, Any]], sample_ids: Iterable[ObjectId]) -> list[ObjectId]:
    return [row["_id"] for row in collection.find({"_id": {"$in": list(sample_ids)}}, {"_id": True})]
