"""The labels that a run compared, as they stand in the dataset now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone as fo
import fiftyone.core.media as fom
from fiftyone.core.collections import SampleCollection

from ...agreement.config import AgreementConfig
from ...agreement.errors import AgreementInputError, shown
from ..fiftyone_private import is_generated, sample_collection, stored_dataset
from ..labels.kinds import LabelKind, kind_of
from ..labels.paths import is_of_frames
from ..labels.source import flattened
from . import run_config, runs


@dataclass(frozen=True, slots=True)
class RunLabels:
    """The labels of a run.

    Attributes:
        samples: the dataset or view, of groups the samples of all slices
        run_key: key of the run
        field_key: what its fields begin with; not the run key if it was renamed with FiftyOne's own ``rename_run()``
        config: the options of the run
        kinds: type of the labels of every field
        annotators: names, sorted
    """

    samples: SampleCollection
    run_key: str
    field_key: str
    config: AgreementConfig
    kinds: tuple[LabelKind, ...]
    annotators: tuple[str, ...]

    @property
    def family(self) -> str:
        """How the labels were compared."""
        return self.kinds[0].family

    @property
    def on_frames(self) -> bool:
        """Whether the labels are those of frames of videos."""
        return is_of_frames(self.config.fields[0])

    @property
    def label_paths(self) -> tuple[str, ...]:
        """Where the label, or list of labels, of every field stands in the schema."""
        return tuple(kind.label_path(name) for kind, name in zip(self.kinds, self.config.fields, strict=True))

    @property
    def score_field(self) -> str:
        """The field with the scores of the samples, of videos their means."""
        return f"{self.field_key}_score"

    def field_of(self, annotator: str) -> str:
        """The field with the labels of an annotator."""
        if self.config.attribute_mode:
            return self.config.fields[0]
        return self.config.fields[self.config.annotators.index(annotator)]

    def value_of(self, annotator: str) -> str:
        """What the attribute of the labels calls an annotator, who may be one of several sessions of a person."""
        return self.config.annotator_value(annotator)


def open_run_labels(samples: SampleCollection, run_key: str) -> RunLabels:
    """Find the labels of a completed run in a dataset or view.

    Raises:
        AgreementInputError: if there is no such run, it did not complete, or its labels or fields are gone
    """
    dataset = runs.dataset_of(samples)
    if is_generated(samples):
        raise AgreementInputError(
            f"`samples` must be a dataset or a view of its samples, got a view of parts of {dataset.name!r}; pass the "
            "dataset"
        )
    require_completed(dataset, run_key)
    record = run_config.read_config(dataset, run_key)
    config = AgreementConfig.from_dict(record["options"])
    samples = _compared_slices(samples, config)
    kinds = []
    for name in config.fields:
        kind = kind_of(samples.get_field(name))
        if kind is None:
            raise _gone(run_key, name)
        kinds.append(kind)
    labels = RunLabels(samples, run_key, config.run_key, config, tuple(kinds), tuple(record["annotators"]))
    needed = [labels.score_field] + [f"{path}.{config.run_key}_of" for path in _paths_of_labels(labels)]
    for path in needed:
        if samples.get_field(path) is None:
            raise _gone(run_key, path)
    return labels


def _compared_slices(samples: SampleCollection, config: AgreementConfig) -> SampleCollection:
    """The samples of all slices of groups; of a dataset whose slices differ in media type, of those that were compared.

    Raises:
        AgreementInputError: of a view with slices of different media types
    """
    dataset = stored_dataset(samples)
    if isinstance(samples, fo.Dataset) and samples.media_type == fom.GROUP:
        compared = {f"{config.run_key}_n_annotators": {"$ne": None}}
        slices = sample_collection(dataset).distinct(f"{dataset.group_field}.name", compared)
        if slices and len(set(dataset.group_media_types.values())) > 1:
            return dataset.select_group_slices(slices)
    return flattened(samples, on_frames=is_of_frames(config.fields[0]))


def require_completed(dataset: SampleCollection, run_key: str) -> None:
    """Raise :class:`AgreementInputError` unless the key is a completed run of ours."""
    runs.require_run(dataset, run_key)
    status = run_config.read_config(dataset, run_key).get("status")
    if status != run_config.COMPLETED:
        raise AgreementInputError(
            f"The run {run_key!r} must be completed, got the status {status!r}; compute it again with overwrite=True"
        )


def _paths_of_labels(labels: RunLabels) -> list[str]:
    """Where the run wrote on labels."""
    return [path for kind, path in zip(labels.kinds, labels.label_paths, strict=True) if kind.is_label]


def _gone(run_key: str, path: str) -> AgreementInputError:
    return AgreementInputError(
        f"What the run {run_key!r} compared and wrote must be in the dataset and the view, got none of `{path}`; pass "
        "a view that has it, or compute the run again with overwrite=True"
    )


def annotators_asked(labels: RunLabels, annotators: Any) -> tuple[str, ...]:
    """The annotators that an argument names, one or several; none if it is None.

    Raises:
        AgreementInputError: if they are not names of annotators of the run
    """
    named = (annotators,) if isinstance(annotators, str) else annotators or ()
    if not isinstance(named, Sequence) or not all(isinstance(name, str) for name in named):
        raise AgreementInputError(f"`annotators` must be a name, or a list of names, got {annotators!r}")
    check_annotators_of(labels, "annotators", list(named))
    return tuple(dict.fromkeys(named))


def check_annotators_of(labels: RunLabels, option: str, given: list[str]) -> None:
    """Raise :class:`AgreementInputError` unless names are those of annotators of the run."""
    unknown = [name for name in given if name not in labels.annotators]
    if unknown:
        raise AgreementInputError(
            f"`{option}` must name annotators of the run {labels.run_key!r} ({shown(labels.annotators)}), got "
            f"{shown(map(repr, unknown))}"
        )
