"""Names that the plugin uses in FiftyOne: operators, run keys and the fields that a run writes."""

from __future__ import annotations

import itertools
from collections.abc import Container
from dataclasses import dataclass

PLUGIN_NAME = "@annotator/agreement"

#: ``method`` of the plugin's runs and key of the ``info`` entry that marks the fields it wrote
RUN_METHOD = "annotator_agreement"
#: version of the plugin; written by ``make format`` from pyproject.toml
VERSION = "1.1.0"
#: version of the format in which a run is stored
SCHEMA_VERSION = 12
#: version of the formulas; raise it when a number of the same labels with the same options changes, by a correction or
#: another definition, so that a comparison of an older run with a newer one says so. Not for rounding, new numbers, or
#: another presentation
FORMULAS_VERSION = 2
#: its key among the versions in the config of a run
FORMULAS = "formulas"
DEFAULT_RUN_KEY = "agreement"

COMPUTE_AGREEMENT = "compute_agreement"
UPDATE_AGREEMENT = "update_agreement"
SHOW_AGREEMENT = "show_agreement"
COMPARE_AGREEMENT = "compare_agreement"
CHECK_AGREEMENT = "check_agreement"
#: value of ``other_run_key``: compare a run as it is now with its state before its last update
RUN_NOW = "(now)"
DELETE_AGREEMENT = "delete_agreement"
RENAME_AGREEMENT = "rename_agreement"
VIEW_AGREEMENT = "view_agreement"
SAVE_AGREEMENT_VIEWS = "save_agreement_views"
CONFIGURE_AGREEMENT_APP = "configure_agreement_app"
IMPORT_ANNOTATIONS = "import_annotations"
EXPORT_ANNOTATIONS = "export_annotations"
EXPORT_AGREEMENT = "export_agreement"
LABEL_CONVERGENCE = "label_convergence"
ADD_AGREEMENT_UNITS = "add_agreement_units"
AGREEMENT_PATCHES = "agreement_patches"
RESOLVE_UNITS = "resolve_units"
DECIDE = "decide"
UNDO_DECISIONS = "undo_decisions"
APPLY_DECISIONS = "apply_decisions"
UNDO_APPLIED = "undo_applied"
EXPORT_DECIDED = "export_decided"
EXPORT_DECIDED_AGAINST = "export_decided_against"
OPEN_AGREEMENT_PANEL = "open_agreement_panel"
AGREEMENT_PANEL = "agreement_panel"
#: entry of FiftyOne's store under the panel's name: the view that a form showed, from which the panel leads back
SHOWN_BY_FORM = "shown_by_form"
DECIDE_PANEL = "decide_panel"
#: operators that run in the browser, and the component for choices in a panel (both in ``panels/app.js``)
SHOW_SIDEBAR_GROUPS = "show_sidebar_groups"
ASK_BROWSER = "ask_browser"
SEND_NAMED = "send_named"
CHOICE = "AgreementChoice"

#: entry of a dataset's document: the process that may change its schema and runs (:mod:`.dataset_io.record.lease`)
LEASE = "annotator_agreement_lease"

#: default name of the field of decisions; ending of the name of the field beside it, with who decided what
DEFAULT_GOLD_FIELD, DECISIONS_SUFFIX = "agreement_gold", "_decisions"
#: key of the ``info`` entry that marks both fields
GOLD_MARK = "annotator_agreement_gold"
#: key of the ``info`` entry that marks fields with the values of an import that is not complete
IMPORT_MARK = "annotator_agreement_import"
#: the same for fields that list, for every image, the annotators some of whose labels an import could not read
UNREAD_MARK = "annotator_agreement_unread"

#: prefix of the paths of frame fields in FiftyOne
FRAMES_PREFIX = "frames."


def first_free(name: str, taken: Container[str], ending: str = "_{}") -> str:
    """The name, or the first of ``name_2``, ``name_3`` … that is not taken."""
    numbered = (name + ending.format(number) for number in itertools.count(2))
    return next(free for free in itertools.chain([name], numbered) if free not in taken)


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field that a run writes."""

    type: str  #: ``float``, ``int``, ``str``, ``bool``, ``time``, ``list`` (of strings) or ``heatmap``
    description: str  #: its description for users
    option: str | None = None  #: option that must be on for the field to be written; None: always written
    of_values: bool = False  #: whether it is written only if an annotator has a plain field, which has no labels


@dataclass(frozen=True, slots=True)
class FieldSet:
    """The fields that a run writes on samples and on labels; a field is named run key + suffix."""

    sample: dict[str, FieldSpec]
    label: dict[str, FieldSpec]


#: suffix of the field of samples by which the work list is sorted
COST = "_cost"
#: suffixes of the attributes of labels that name the other annotators of their object, tag or sample
MISSED_BY, DIFFERS_FROM = "_missed_by", "_differs_from"
#: suffixes of what a run with a reference writes on labels of annotators, and on samples
REFERENCE, REFERENCE_F1, REFERENCE_WORST = "_reference", "_reference_f1", "_reference_worst"
#: suffix for semantic masks, which have an IoU instead of F1
REFERENCE_IOU = "_reference_iou"
#: suffix of the field of samples that names the pairs who differ, where annotators have plain fields without labels
DIFFERING_PAIRS = "_differing_pairs"


def pair_name(a: str, b: str) -> str:
    """Text for two annotators in the list of pairs who differ: ``"alice, bob"``."""
    return ", ".join(sorted((a, b)))


_OF_REFERENCE = {
    REFERENCE_F1: FieldSpec("float", "F1 against the reference, mean over the annotators (0-1)", "reference"),
    REFERENCE_WORST: FieldSpec(
        "list", "Annotators with the lowest F1 against the reference; absent if all are 1", "reference"
    ),
}

OBJECT_FIELDS = FieldSet(
    sample={
        "_score": FieldSpec(
            "float", "Agreement score: F1 with equal classes, each object counted by its IoU, mean over pairs (0-1)"
        ),
        COST: FieldSpec(
            "float",
            "What fixing the sample would change, for every two annotators: 1 for an object that one of them drew, 2 "
            "for one that they named differently, 2 (1 - IoU) for one that they drew differently",
        ),
        "_alpha": FieldSpec("float", "Krippendorff's alpha over the objects of the sample"),
        "_iou": FieldSpec("float", "Mean IoU (keypoints: OKS) over all pairs of labels matched in the sample"),
        "_dice": FieldSpec("float", "Mean Dice over all pairs of labels that were matched in the sample"),
        "_n_annotators": FieldSpec("int", "Number of annotators assigned to the sample"),
        "_n_units": FieldSpec("int", "Number of different physical objects that any annotator drew"),
        "_n_disputed": FieldSpec("int", "Number of physical objects on which the annotators do not fully agree"),
        **_OF_REFERENCE,
    },
    label={
        "": FieldSpec(
            "str",
            "Verdict of the label: agreed, class_conflict, attribute_conflict, missed (somebody assigned did not draw "
            "the object), lone (only one annotator drew it), split, duplicate or crowd",
        ),
        "_id": FieldSpec("str", "Match id: labels with the same id in one sample are the same physical object"),
        "_iou": FieldSpec("float", "Mean IoU (keypoints: OKS) of the label with the other labels of its object"),
        "_votes": FieldSpec("int", "Number of annotators who drew the object"),
        "_of": FieldSpec("int", "Number of annotators assigned to the sample"),
        MISSED_BY: FieldSpec("list", "Annotators who were assigned and did not draw the object; absent without any"),
        DIFFERS_FROM: FieldSpec("list", "Annotators who drew the object with another class; absent without any"),
        REFERENCE: FieldSpec(
            "str",
            "What the reference says of the label: right, wrong_class, wrong_attribute (a compared one), loose (it "
            "overlaps with an object of the reference less than the threshold) or extra; absent without a reference",
            "reference",
        ),
    },
)

_OF_RATINGS = {
    "_score": FieldSpec("float", "Agreement score: share of the pairs of annotators who agree (0-1)"),
    COST: FieldSpec("float", "Number of pairs of annotators who disagree"),
    "_majority": FieldSpec("str", "The class or value with the most votes; none in a tie"),
    "_entropy": FieldSpec("float", "Entropy of the annotators' votes in bits: 0 if all agree"),
    "_disputed": FieldSpec("bool", "Whether any two annotators disagree"),
    "_n_annotators": FieldSpec("int", "Number of annotators who rated the sample"),
    DIFFERING_PAIRS: FieldSpec(
        "list",
        "Pairs of annotators who gave different classes or values, where these are plain fields; absent without any",
        of_values=True,
    ),
}
_OF_RATED_LABELS = {
    "": FieldSpec("str", "Verdict of the label: agreed, or class_conflict if any two annotators disagree"),
    "_votes": FieldSpec("int", "Number of annotators who agree with the label, including its own"),
    "_of": FieldSpec("int", "Number of annotators who rated the sample"),
    REFERENCE: FieldSpec(
        "str", "What the reference says of the label: right or wrong_class; absent without", "reference"
    ),
    DIFFERS_FROM: FieldSpec("list", "Annotators who gave another class or value; absent without any"),
}
RATING_FIELDS = FieldSet(sample=_OF_RATINGS, label=_OF_RATED_LABELS)
NUMBER_FIELDS = FieldSet(
    sample={
        **_OF_RATINGS,
        "_mean": FieldSpec("float", "Mean of the annotators' numbers"),
        "_std": FieldSpec("float", "Standard deviation of the annotators' numbers"),
    },
    label=_OF_RATED_LABELS,
)
TAG_FIELDS = FieldSet(
    sample={
        "_score": FieldSpec("float", "Agreement score: mean Jaccard index of tags over the pairs of annotators (0-1)"),
        COST: FieldSpec("float", "What the pairs of annotators lack to agreement: sum of 1 - Jaccard index"),
        "_majority": FieldSpec("list", "The tags that more than half of the annotators gave"),
        "_disputed": FieldSpec("bool", "Whether any tag was not given by all annotators"),
        "_n_annotators": FieldSpec("int", "Number of annotators assigned to the sample"),
        **_OF_REFERENCE,
    },
    label={
        "": FieldSpec(
            "str",
            "Verdict of the tag: agreed, missed (somebody assigned did not give it) or lone (only one gave it); none "
            "where its annotator gave it before",
        ),
        "_votes": FieldSpec("int", "Number of annotators who gave the tag"),
        "_of": FieldSpec("int", "Number of annotators assigned to the sample"),
        MISSED_BY: FieldSpec("list", "Annotators who were assigned and did not give the tag; absent without any"),
        REFERENCE: FieldSpec(
            "str", "What the reference says of the tag: right or extra; absent where there is no reference", "reference"
        ),
    },
)

PIXEL_FIELDS = FieldSet(
    sample={
        "_score": FieldSpec("float", "Agreement score: mean class IoU over the pairs of annotators (0-1)"),
        COST: FieldSpec("float", "What the pairs of annotators lack to agreement: sum of 1 - mean class IoU"),
        "_alpha": FieldSpec("float", "Krippendorff's alpha over the pixels of the sample"),
        "_iou": FieldSpec("float", "Mean IoU over the classes of two masks, mean over pairs; without background"),
        "_dice": FieldSpec("float", "Mean Dice over the classes of two masks, mean over pairs; without background"),
        "_iou_with_background": FieldSpec("float", "The same IoU with background as one of the classes"),
        "_dice_with_background": FieldSpec("float", "The same Dice with background as one of the classes"),
        "_accuracy": FieldSpec("float", "Share of the pixels with the same class from two annotators, mean over pairs"),
        "_kappa": FieldSpec("float", "Cohen's kappa over the pixels of the sample, mean over pairs"),
        "_n_annotators": FieldSpec("int", "Number of annotators with a mask of the sample"),
        "_n_units": FieldSpec("int", "Number of classes used on the sample, without background"),
        "_n_disputed": FieldSpec("int", "Number of these classes on which the masks are not all equal"),
        "_ignored": FieldSpec("float", "Share of the pixels left out because somebody gave them an ignored value"),
        "_boundary_iou": FieldSpec("float", "Boundary IoU, mean over classes and pairs", "boundaries"),
        "_surface_dice": FieldSpec("float", "Surface Dice, mean over classes and pairs", "boundaries"),
        "_hd95": FieldSpec("float", "95 % Hausdorff distance in pixels, mean over classes and pairs", "boundaries"),
        "_map": FieldSpec("heatmap", "Annotators who disagree with the majority, by pixel", "disagreement_map"),
        REFERENCE_IOU: FieldSpec("float", "Class IoU with the reference, mean over the annotators (0-1)", "reference"),
        REFERENCE_WORST: FieldSpec(
            "list", "Annotators with the lowest IoU with the reference; absent if all are 1", "reference"
        ),
    },
    label={
        "_iou": FieldSpec("float", "Mean class IoU of the mask with the other masks, without background"),
        "_of": FieldSpec("int", "Number of annotators with a mask of the sample; none on masks that were left out"),
        REFERENCE_IOU: FieldSpec("float", "Mean class IoU of the mask with the reference", "reference"),
    },
)

#: colour of every verdict, safe for colour-blind readers (after Okabe and Ito, 2008)
VERDICT_COLORS = {
    "agreed": "#009E73",
    "class_conflict": "#D55E00",
    "attribute_conflict": "#CC79A7",
    "missed": "#E69F00",
    "lone": "#56B4E9",
    "split": "#0072B2",
    "duplicate": "#F0E442",
    "crowd": "#666666",
}

#: colours of annotators in one field, safe for colour-blind readers (after Okabe and Ito, 2008)
ANNOTATOR_COLORS = {
    "orange": "#E69F00",
    "light blue": "#56B4E9",
    "green": "#009E73",
    "pink": "#CC79A7",
    "yellow": "#F0E442",
    "red": "#D55E00",
    "blue": "#0072B2",
    "dark grey": "#555555",
}

#: the field sets of all label types
FIELD_SETS = (OBJECT_FIELDS, RATING_FIELDS, NUMBER_FIELDS, TAG_FIELDS, PIXEL_FIELDS)


def chosen_fields(fields: FieldSet, options: object, *, of_values: bool = False) -> FieldSet:
    """The fields of a set that are written under the given options (read as attributes).

    Args:
        fields: all fields
        options: the options
        of_values: whether any annotator has a plain field
    """
    chosen = {
        suffix: spec
        for suffix, spec in fields.sample.items()
        if (spec.option is None or getattr(options, spec.option)) and (of_values or not spec.of_values)
    }
    of_labels = {
        suffix: spec for suffix, spec in fields.label.items() if spec.option is None or getattr(options, spec.option)
    }
    return FieldSet(chosen, of_labels)


def fields_of_role(fields: FieldSet, *, is_model: bool) -> dict[str, FieldSpec]:
    """The fields that a run writes on the labels of a model, or of a reference."""
    wanted = ("_id",) if is_model else ("_id", MISSED_BY)
    return {suffix: fields.label[suffix] for suffix in wanted if suffix in fields.label}


#: suffixes of the derived fields: one label for every object, and consensus labels
UNITS_SUFFIX, CONSENSUS_SUFFIX = "_units", "_consensus"
#: suffixes of sample fields that are reserved for a run, even if it does not write them
RESERVED_SAMPLE_SUFFIXES = (UNITS_SUFFIX, CONSENSUS_SUFFIX, "_map")

_OF_DERIVED_LABELS = {
    "unit": FieldSpec("str", "Match id of the object, the same as on the annotators' labels"),
    "votes": FieldSpec("int", "Number of annotators who drew the object"),
    "of": FieldSpec("int", "Number of annotators assigned to the sample"),
    "mean_iou": FieldSpec("float", "Mean IoU (keypoints: OKS) of the annotators' labels of the object"),
    "annotators": FieldSpec("list", "The annotators who drew the object"),
    "classes": FieldSpec("list", "The class that each of them gave, in the same order"),
    "tie": FieldSpec("bool", "Whether several classes have the most votes; the label names them all then"),
}
#: attributes of the derived labels of objects, in addition to class and geometry
UNIT_ATTRIBUTES = {**_OF_DERIVED_LABELS, "verdict": FieldSpec("str", "Verdict of the object")}
#: attributes of consensus labels, in addition to class and geometry
CONSENSUS_ATTRIBUTES = {
    **_OF_DERIVED_LABELS,
    "confidence": FieldSpec(
        "float", "Share of the assigned annotators who drew it x their mean IoU; none for one vote"
    ),
}
#: attributes of the labels in the field of decisions, in addition to those of the annotators' labels
GOLD_ATTRIBUTES = {
    "decision": FieldSpec("str", "What was chosen: version, consensus or own"),
    "basis": FieldSpec("str", "Whose label it is: the annotator, consensus or own"),
    "basis_id": FieldSpec("str", "Id of the annotator's label that was copied"),
    "decided_by": FieldSpec("str", "Who decided"),
    "decided_at": FieldSpec("time", "When it was decided"),
    "unit": FieldSpec("str", "Match id of the object in the run that it was decided in"),
    "remark": FieldSpec("str", "Why it was decided so"),
}


def written_fields(
    run_key: str, fields: FieldSet, label_paths: tuple[str, ...], *, on_frames: bool = False
) -> dict[str, FieldSpec]:
    """Everything that a run writes, by path.

    Args:
        run_key: key of the run
        fields: the field set of its label types
        label_paths: paths of the labels (``alice.detections``, ``frames.alice.detections``)
        on_frames: whether the labels are on frames; samples then get aggregates with the same names
    """
    of_samples = {run_key + suffix: spec for suffix, spec in fields.sample.items()}
    of_frames = {FRAMES_PREFIX + path: spec for path, spec in of_samples.items()} if on_frames else {}
    if on_frames:
        of_samples = {run_key + suffix: of_video(suffix, spec) for suffix, spec in fields.sample.items()
                      if over_frames(suffix, spec)}  # fmt: skip
    of_labels = {f"{path}.{run_key}{suffix}": spec for path in label_paths for suffix, spec in fields.label.items()}
    return {**of_samples, **of_frames, **of_labels}


def over_frames(suffix: str, spec: FieldSpec) -> str | None:
    """Aggregation of frame values for a video: ``mean``, ``sum`` or ``max``; None: not aggregated."""
    if suffix == "_n_annotators":
        return "max"
    if suffix == COST:
        return "sum"
    return {"float": "mean", "int": "sum"}.get(spec.type)


def of_video(suffix: str, spec: FieldSpec) -> FieldSpec:
    """The field of a video that aggregates a field of its frames."""
    return FieldSpec(spec.type, f"{spec.description}; {over_frames(suffix, spec)} over the frames of the video")


def own_names(run_key: str) -> set[str]:
    """Every field name that a run with this key may write, on samples or on labels."""
    written = {suffix for fields in FIELD_SETS for suffix in (*fields.sample, *fields.label)}
    return {run_key + suffix for suffix in (*written, *RESERVED_SAMPLE_SUFFIXES)}


def reserved_paths(run_key: str) -> list[str]:
    """Sample fields that are reserved for a run with this key, even if it does not write them."""
    return [run_key + suffix for suffix in RESERVED_SAMPLE_SUFFIXES]
