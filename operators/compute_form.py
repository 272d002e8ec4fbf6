"""The form of the operator that computes agreement: fields first, everything else has a default."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError, make_config
from ..dataset_io.run_keys import check_key_is_free
from ..dataset_io.runs import list_agreements
from ..dataset_io.source import check_samples, comparable_fields, unchecked_source

#: (option, title, {value: explanation}), in the order of the form; the first value is the default
CHOICES: list[tuple[str, str, dict[str, str]]] = [
    (
        "classes",
        "Classes",
        {
            "prefer": "Prefer: match objects of one class first, then others",
            "ignore": "Ignore: match by position alone",
            "require": "Require: only objects of one class can match",
        },
    ),
    (
        "missing",
        "A missed object, in alpha",
        {
            "category": "is a disagreement (a category of its own)",
            "ignore": "is left out (alpha over classes alone)",
        },
    ),
    (
        "empty",
        "An image that everybody left empty",
        {"skip": "is left out", "agree": "counts as agreement (score 1)"},
    ),
    (
        "undefined",
        "Alpha where everybody used one category",
        {"none": "is undefined (no variation)", "one": "is 1"},
    ),
    (
        "method",
        "Matching method",
        {
            "optimal": "Optimal: greatest total overlap, independent of any order",
            "recursive": "Recursive: one annotator after the other; depends on their order",
            "mutual_best": "Mutual best: each other's best match, no threshold; may depend on the order",
        },
    ),
    (
        "similarity",
        "Similarity",
        {"iou": "IoU: shared area / joint area", "dice": "Dice: 2 x shared area / sum of areas"},
    ),
    (
        "invalid",
        "Labels with unusable boxes",
        {"error": "stop with a message", "skip": "leave them out and count them"},
    ),
]

_LABEL_ATTRIBUTES = {"id", "tags", "attributes", "label", "bounding_box", "mask", "mask_path", "confidence", "index"}


def options_of(params: dict[str, Any]) -> dict[str, Any]:
    """The arguments of :func:`compute_agreement` that a form or a caller gave."""
    options = {name: params[name] for name, _, _ in CHOICES if params.get(name) is not None}
    for name in ("run_key", "iou", "overwrite", "annotators", "annotator_attribute", "assigned_field"):
        if params.get(name) not in (None, "", []):
            options[name] = params[name]
    fields = params.get("fields") or []
    fields = [fields] if isinstance(fields, str) else list(fields)
    if len(fields) != 1:
        options.pop("annotator_attribute", None)
        options.pop("assigned_field", None)
    return {"fields": fields, **options}


def compute_form(ctx: foo.ExecutionContext) -> types.Property:
    """The form; what is wrong with the input is shown in it and blocks execution."""
    inputs = types.Object()
    prompt = types.PromptView(label="Compute annotator agreement", submit_button_label="Compute")
    dataset = ctx.dataset
    candidates = comparable_fields(dataset) if dataset is not None else []
    if not candidates:
        warning = types.Warning(label="This dataset has no label fields that can be compared (Detections)")
        inputs.view("nothing_to_compare", warning).invalid = True
        return types.Property(inputs, view=prompt)
    fields = _fields_input(inputs, ctx, candidates)
    if len(fields) == 1:
        _attribute_inputs(inputs, ctx, fields[0])
    default_key = _run_key_inputs(inputs, dataset)
    problem = _problem(ctx, fields, default_key)
    if problem is not None:
        shown = inputs.view("problem", types.Error(label=problem))
        shown.invalid, shown.error_message = True, problem
    inputs.float(
        "iou",
        label="Threshold",
        description="Two labels can be the same object from this similarity on",
        default=0.5,
        min=0.01,
        max=1.0,
        view=types.SliderView(componentsProps={"slider": {"min": 0.05, "max": 1.0, "step": 0.05}}),
    )
    for name, title, values in CHOICES:
        choices = types.DropdownView()
        for value, label in values.items():
            choices.add_choice(value, label=label)
        inputs.enum(name, list(values), label=title, default=next(iter(values)), view=choices)
    return types.Property(inputs, view=prompt)


def target_of(ctx: foo.ExecutionContext) -> SampleCollection:
    """The samples that the user chose; asking for them adds their choice to the form.

    Raises:
        AgreementInputError: if FiftyOne cannot flatten the view
    """
    try:
        return ctx.target_view(require_flat=True)
    except (AttributeError, ValueError) as error:
        raise AgreementInputError(
            "Agreement cannot be computed on this view of groups; choose the view that it was made from"
        ) from error


def free_run_key(dataset: fo.Dataset) -> str:
    """The run key of a new run: ``agreement``, or the first of ``agreement_2``, ``agreement_3`` … that is free."""
    existing = list_agreements(dataset)
    key, number = names.DEFAULT_RUN_KEY, 2
    while key in existing:
        key, number = f"{names.DEFAULT_RUN_KEY}_{number}", number + 1
    return key


def _fields_input(inputs: types.Object, ctx: foo.ExecutionContext, candidates: list[str]) -> list[str]:
    default = candidates if len(candidates) <= 10 else []
    choices = types.AutocompleteView(allow_user_input=False, allow_duplicates=False)
    for name in candidates:
        choices.add_choice(name, label=name)
    inputs.list(
        "fields",
        types.String(),
        label="Annotators' label fields",
        description="Two or more fields, one an annotator; or one field whose labels name their annotator",
        default=default,
        required=True,
        view=choices,
    )
    chosen = ctx.params.get("fields", default)
    return [chosen] if isinstance(chosen, str) else list(chosen or [])


def _attribute_inputs(inputs: types.Object, ctx: foo.ExecutionContext, field: str) -> None:
    attributes, sample_fields = _attribute_choices(ctx.dataset, field)
    inputs.enum(
        "annotator_attribute",
        attributes,
        label="Attribute with the annotator",
        description="Attribute of the labels that names their annotator",
        view=types.AutocompleteView(),
    )
    inputs.enum(
        "assigned_field",
        sample_fields,
        label="Field with the assigned annotators",
        description="Optional; without it everybody is taken to be assigned to every sample that has a label list",
        view=types.AutocompleteView(),
    )


def _attribute_choices(dataset: fo.Dataset, field: str) -> tuple[list[str], list[str]]:
    schema = dataset.get_field_schema(flat=True)
    prefix = f"{field}.detections."
    attributes = [path.removeprefix(prefix) for path in schema if path.startswith(prefix)]
    simple = [name for name in attributes if "." not in name and name not in _LABEL_ATTRIBUTES]
    lists = [
        path
        for path, declared in schema.items()
        if "." not in path
        and isinstance(declared, fo.ListField | fo.StringField)
        and path not in ("id", "filepath", "tags")
    ]
    return simple, lists


def _run_key_inputs(inputs: types.Object, dataset: fo.Dataset) -> str:
    """Ask for the run key; returns its default, a key that is free."""
    existing = list_agreements(dataset)
    key = free_run_key(dataset)
    inputs.str(
        "run_key",
        label="Run key",
        description="Name of the run; all fields that it writes begin with it",
        default=key,
    )
    if existing:
        inputs.bool(
            "overwrite",
            label="Overwrite",
            description=f"Replace a run of the same key (there are: {', '.join(existing)})",
            default=False,
            view=types.SwitchView(),
        )
    return key


def _problem(ctx: foo.ExecutionContext, fields: list[str], default_key: str) -> str | None:
    """What is wrong with the input, as far as the schema tells."""
    options = {"run_key": default_key, **options_of({**ctx.params, "fields": fields})}
    overwrite = options.pop("overwrite", False)
    try:
        samples = target_of(ctx)
        check_samples(samples)
        if len(fields) == 1 and "annotator_attribute" not in options:
            raise AgreementInputError(
                "Choose a second field, or the attribute of the labels that names their annotator"
            )
        config = make_config(**options)
        paths = unchecked_source(samples, config).fields_written(config.run_key)
        check_key_is_free(ctx.dataset, config.run_key, paths, overwrite=overwrite)
    except AgreementInputError as error:
        return str(error)
    return None
