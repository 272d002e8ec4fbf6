"""Names that the plugin shares with FiftyOne's database, schema and registry."""

from __future__ import annotations

from dataclasses import dataclass

PLUGIN_NAME = "@annotator/agreement"

#: ``method`` of the plugin's runs and key of the ``info`` entry that marks the fields it wrote
RUN_METHOD = "annotator_agreement"
SCHEMA_VERSION = 1
DEFAULT_RUN_KEY = "agreement"

COMPUTE_AGREEMENT = "compute_agreement"
SHOW_AGREEMENT = "show_agreement"
DELETE_AGREEMENT = "delete_agreement"
RENAME_AGREEMENT = "rename_agreement"

#: fields of the samples of a video stand below this in FiftyOne
FRAMES_PREFIX = "frames."


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field that a run writes.

    Attributes:
        type: ``float``, ``int``, ``str``, ``bool``, ``list`` (of strings) or ``heatmap``
        description: what users read about it
    """

    type: str
    description: str


@dataclass(frozen=True, slots=True)
class FieldSet:
    """What a run writes on samples and on labels, by suffix of the run key."""

    sample: dict[str, FieldSpec]
    label: dict[str, FieldSpec]


OBJECT_FIELDS = FieldSet(
    sample={
        "_score": FieldSpec("float", "Agreement score: mean panoptic quality over the pairs of annotators (0-1)"),
        "_alpha": FieldSpec("float", "Krippendorff's alpha over the objects of the sample"),
        "_iou": FieldSpec("float", "Mean IoU over all pairs of labels that were matched in the sample"),
        "_dice": FieldSpec("float", "Mean Dice over all pairs of labels that were matched in the sample"),
        "_n_annotators": FieldSpec("int", "Number of annotators assigned to the sample"),
        "_n_units": FieldSpec("int", "Number of physical objects that the annotators drew, taken together"),
        "_n_disputed": FieldSpec("int", "Number of physical objects on which the annotators do not fully agree"),
    },
    label={
        "": FieldSpec("str", "Verdict of the label: agreed, class_conflict, missed, lone or crowd"),
        "_id": FieldSpec("str", "Match id: labels with the same id in one sample are the same physical object"),
        "_iou": FieldSpec("float", "Mean IoU of the label with the other labels of its object"),
        "_votes": FieldSpec("int", "Number of annotators who drew the object"),
        "_of": FieldSpec("int", "Number of annotators assigned to the sample"),
    },
)

#: what the families of label types write
FIELD_SETS: dict[str, FieldSet] = {"objects": OBJECT_FIELDS}

#: suffixes of sample fields that belong to every run, whether or not it writes them
RESERVED_SAMPLE_SUFFIXES = ("_units", "_map")


def written_fields(
    run_key: str, fields: FieldSet, label_paths: tuple[str, ...], *, on_frames: bool = False
) -> dict[str, FieldSpec]:
    """Everything that a run writes, by path.

    Args:
        run_key: key of the run
        fields: the field set of its label types
        label_paths: where the labels stand (``alice.detections``, ``frames.alice.detections``)
        on_frames: whether labels are those of frames; samples then get means of the same names
    """
    of_samples = {run_key + suffix: spec for suffix, spec in fields.sample.items()}
    of_frames = {FRAMES_PREFIX + path: spec for path, spec in of_samples.items()} if on_frames else {}
    if on_frames:
        of_samples = {run_key + suffix: of_video(suffix, spec) for suffix, spec in fields.sample.items()
                      if over_frames(suffix, spec)}  # fmt: skip
    of_labels = {f"{path}.{run_key}{suffix}": spec for path in label_paths for suffix, spec in fields.label.items()}
    return {**of_samples, **of_frames, **of_labels}


def over_frames(suffix: str, spec: FieldSpec) -> str | None:
    """How the values of a video's frames become one of the video: ``mean``, ``sum`` or ``max``; None if they do not."""
    if suffix == "_n_annotators":
        return "max"
    return {"float": "mean", "int": "sum"}.get(spec.type)


def of_video(suffix: str, spec: FieldSpec) -> FieldSpec:
    """The field of a video that stands for a field of its frames."""
    return FieldSpec(spec.type, f"{spec.description}; {over_frames(suffix, spec)} over the frames of the video")


def reserved_paths(run_key: str) -> list[str]:
    """Sample fields that belong to a run of this key although it may not write them."""
    return [run_key + suffix for suffix in RESERVED_SAMPLE_SUFFIXES]
