"""Names that the plugin shares with FiftyOne's database, schema and registry."""

from __future__ import annotations

PLUGIN_NAME = "@annotator/agreement"

#: ``method`` of the plugin's runs and key of the ``info`` entry that marks the fields it wrote
RUN_METHOD = "annotator_agreement"
SCHEMA_VERSION = 1
DEFAULT_RUN_KEY = "agreement"

COMPUTE_AGREEMENT = "compute_agreement"
SHOW_AGREEMENT = "show_agreement"
DELETE_AGREEMENT = "delete_agreement"
RENAME_AGREEMENT = "rename_agreement"

#: suffix of every field a run writes on samples, with its description
SAMPLE_FIELDS = {
    "_score": "Agreement score of the sample: mean panoptic quality over its pairs of annotators (0-1)",
    "_alpha": "Krippendorff's alpha over the objects of the sample",
    "_iou": "Mean IoU over all pairs of labels that were matched in the sample",
    "_dice": "Mean Dice over all pairs of labels that were matched in the sample",
    "_n_annotators": "Number of annotators assigned to the sample",
    "_n_units": "Number of physical objects that the annotators drew, taken together",
    "_n_disputed": "Number of physical objects on which the annotators do not fully agree",
}

#: suffix of every attribute a run writes on labels, with its description
LABEL_FIELDS = {
    "": "Verdict of the label: agreed, class_conflict, missed or lone",
    "_id": "Match id: labels with the same id in one sample are the same physical object",
    "_iou": "Mean IoU of the label with the other labels of its object",
    "_votes": "Number of annotators who drew the object",
    "_of": "Number of annotators assigned to the sample",
}

#: suffixes of sample fields that later versions write; a run key reserves them from the start
RESERVED_SAMPLE_SUFFIXES = ("_units", "_map")


def sample_paths(run_key: str) -> list[str]:
    """Sample fields that a run of this key writes."""
    return [run_key + suffix for suffix in SAMPLE_FIELDS]


def label_paths(run_key: str, list_path: str) -> list[str]:
    """Label attributes that a run of this key writes, below ``list_path`` (``alice.detections``)."""
    return [f"{list_path}.{run_key}{suffix}" for suffix in LABEL_FIELDS]


def reserved_paths(run_key: str) -> list[str]:
    """Sample fields that belong to a run of this key although this version does not write them."""
    return [run_key + suffix for suffix in RESERVED_SAMPLE_SUFFIXES]
