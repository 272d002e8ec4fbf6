"""The operator that computes agreement, and its form: only the fields are required."""

from __future__ import annotations

from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError, AgreementReport, make_config
from ..agreement.options import OPTIONS
from ..charts.document import report_markdown
from ..dataset_io import compute_agreement
from ..dataset_io.labels.assignment import count_lists
from ..dataset_io.labels.kinds import LabelKind, titles
from ..dataset_io.labels.paths import all_fields, is_of_frames
from ..dataset_io.labels.source import check_samples, comparable_fields, unchecked_source
from ..dataset_io.record.run import list_agreements
from ..dataset_io.record.run_keys import check_key_is_free
from .base import AgreementOperator, add_problem, add_switch, add_warning, given_names, progress_of
from .option_inputs import add_list_inputs, add_option_inputs, given_options
from .runs import report_output

#: attributes of FiftyOne's own labels
_LABEL_ATTRIBUTES = {
    *("id", "tags", "attributes", "label", "confidence", "index", "logits"),
    *("bounding_box", "mask", "mask_path", "points", "closed", "filled", "support", "instance"),
}
_MOST_DEFAULT_FIELDS = 10


class ComputeAgreement(AgreementOperator):
    """Computes agreement from a form in the App, from a delegated run, or from Python."""

    operator_name = names.COMPUTE_AGREEMENT
    label = "Compute annotator agreement"
    description = "Match the labels of several annotators, score every sample, and report how far they agree"
    icon = "diversity_3"
    submit = "Compute"
    can_be_delegated = True

    def resolve_placement(self, ctx: foo.ExecutionContext) -> types.Placement:
        button = types.Button(label=self.label, icon=self.icon, prompt=True)
        return types.Placement(types.Places.SAMPLES_GRID_SECONDARY_ACTIONS, button)

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        candidates = comparable_fields(ctx.dataset) if ctx.dataset is not None else {}
        if not candidates:
            supported = ", ".join(titles())
            label = f"This dataset has no fields that can be compared ({supported})"
            add_warning(inputs, "nothing_to_compare", label)
            return
        fields = _fields_input(inputs, ctx, candidates)
        of_fields = {name: candidates[name] for name in fields if name in candidates}
        kinds = list(of_fields.values())
        has_lists = bool(kinds) and kinds[0].list_name is not None
        if has_lists:
            _annotator_inputs(inputs, ctx, kinds[0].label_path(fields[0]) if len(fields) == 1 else None)
        default_key = _run_key_inputs(inputs, ctx.dataset)
        try:
            if of_fields:
                lists = count_lists(target_of(ctx), of_fields)
                add_list_inputs(inputs, lists, asked=has_lists and not ctx.params.get("assigned_field"))
            _check(ctx, fields, default_key)
        except AgreementInputError as error:
            add_problem(inputs, error)
        add_option_inputs(inputs, ctx.params, kinds)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        samples = target_of(ctx)
        options = options_of(ctx.params, ctx.dataset, from_form=_is_form(ctx))
        options.setdefault("run_key", free_run_key(ctx.dataset))
        report = compute_agreement(samples, **options, progress=progress_of(ctx))
        if not ctx.delegated:
            ctx.ops.reload_dataset()
            ctx.ops.open_panel(names.AGREEMENT_PANEL, layout="horizontal")
        return {
            "run_key": report.run_key,
            "score": report.score.mean,
            "alpha": report.alpha.pooled,
            "n_samples": report.n_samples,
            "n_rated": report.n_rated,
            "n_objects": report.n_objects,
            "n_units": report.n_units,
            "worst_samples": [entry["id"] for entry in report.worst_samples],
            "summary": report_markdown(report),
        }

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        return report_output(ctx)

    def __call__(self, samples: SampleCollection, fields: str | list[str], **options: Any) -> AgreementReport:
        """Compute agreement from Python; see :func:`~annotator_agreement.compute_agreement` for the options."""
        return compute_agreement(samples, fields, **options)


def _is_form(ctx: foo.ExecutionContext) -> bool:
    """Whether the parameters come from a form that a user opened in the App."""
    return ctx.prompt_id is not None


def options_of(params: dict[str, Any], dataset: fo.Dataset, *, from_form: bool) -> dict[str, Any]:
    """The arguments of :func:`compute_agreement` that a form or a caller gave.

    Args:
        params: what they gave
        dataset: the dataset
        from_form: whether they come from the form: it keeps input from earlier choices of fields, so options without
            effect are dropped silently; for callers they are an error
    """
    fields = given_names(params, "fields")
    candidates = comparable_fields(dataset)
    kinds = [candidates[name] for name in fields if name in candidates]
    options = given_options(params, kinds if from_form else None)
    for name in ("run_key", "overwrite", "annotators", "annotator_attribute", "assigned_field"):
        if params.get(name) not in (None, "", []):
            options[name] = params[name]
    if from_form and len(fields) != 1:
        options.pop("annotator_attribute", None)
    if from_form and any(kind.list_name is None for kind in kinds):
        options.pop("assigned_field", None)
    if from_form and "assigned_field" in options:
        options.pop("no_labels", None)
    return {"fields": fields, **options}


def target_of(ctx: foo.ExecutionContext) -> SampleCollection:
    """The samples that the user chose; reading them adds the choice to the form.

    Raises:
        AgreementInputError: if FiftyOne cannot flatten the view
    """
    try:
        return ctx.target_view(require_flat=True)
    except (AttributeError, ValueError) as error:
        raise AgreementInputError(
            "Agreement cannot be computed on this view of groups; choose the view from which it was made"
        ) from error


def free_run_key(dataset: fo.Dataset) -> str:
    """The run key of a new run: ``agreement``, or the first of ``agreement_2``, ``agreement_3`` … that is free."""
    existing = list_agreements(dataset)
    key, number = names.DEFAULT_RUN_KEY, 2
    while key in existing:
        key, number = f"{names.DEFAULT_RUN_KEY}_{number}", number + 1
    return key


def _fields_input(inputs: types.Object, ctx: foo.ExecutionContext, candidates: dict[str, LabelKind]) -> list[str]:
    """Ask for the fields; after the first choice, offer only fields that can be compared with it."""
    default = preset_fields(candidates)
    chosen = given_names({"fields": default, **ctx.params}, "fields")
    first = next((name for name in chosen if name in candidates), None)
    choices = types.AutocompleteView(allow_user_input=False, allow_duplicates=False)
    for name, kind in candidates.items():
        if first is None or _comparable(name, kind) == _comparable(first, candidates[first]):
            choices.add_choice(name, label=name, description=kind.title)
    inputs.list(
        "fields",
        types.String(),
        label="Annotators' label fields",
        description="Two or more fields of one kind, one per annotator; or one field whose labels name the annotator. "
        "Remove all to see the other kinds of labels",
        default=default,
        required=True,
        view=choices,
    )
    return chosen


def _comparable(name: str, kind: LabelKind) -> tuple[str, bool]:
    """Key that is equal for comparable fields; fields of frames and of samples are not comparable."""
    return kind.comparable, is_of_frames(name)


def preset_fields(candidates: dict[str, LabelKind]) -> list[str]:
    """The fields that are chosen when the form opens: comparable fields with the same text after the first underscore
    (``alice_boxes``, ``bob_boxes``), or without underscore; else all fields of the first kind with several; none if
    these are too many. Plain fields, which may hold anything, are chosen only without label fields."""
    labels = {name: kind for name, kind in candidates.items() if kind.is_label}
    groups: dict[tuple[str, str, bool], list[str]] = {}
    kinds: dict[tuple[str, bool], list[str]] = {}
    for name, kind in (labels or candidates).items():
        groups.setdefault((kind.title, name.partition("_")[2], is_of_frames(name)), []).append(name)
        kinds.setdefault(_comparable(name, kind), []).append(name)
    several = (fields for fields in (*groups.values(), *kinds.values()) if len(fields) > 1)
    chosen = next(several, next(iter(kinds.values())))
    return chosen if len(chosen) <= _MOST_DEFAULT_FIELDS else []


def _annotator_inputs(inputs: types.Object, ctx: foo.ExecutionContext, label_path: str | None) -> None:
    """Ask for the attribute that names the annotator, where one field is chosen, and for the field with those assigned.

    Args:
        inputs: the form
        ctx: what the user sees
        label_path: path of the labels of the field; None where there are several
    """
    attributes, sample_fields = _annotator_choices(ctx.dataset, label_path)
    if label_path is not None:
        choices = types.AutocompleteView()
        for name in attributes:
            choices.add_choice(name, label=name)
        inputs.str(  # not an enumeration: FiftyOne declares attributes only when asked to
            "annotator_attribute",
            label=OPTIONS["annotator_attribute"].title,
            description="Attribute of the labels that names their annotator; one that is not declared can be typed",
            view=choices,
        )
    if sample_fields:
        inputs.enum(
            "assigned_field",
            sample_fields,
            label=OPTIONS["assigned_field"].title,
            description="Optional; without it the label lists tell who was assigned",
            view=types.AutocompleteView(),
        )


def _annotator_choices(dataset: fo.Dataset, label_path: str | None) -> tuple[list[str], list[str]]:
    """Attributes of labels and sample fields that users have; what our own runs wrote names no annotators."""
    fields = all_fields(dataset).items()
    schema = {path: declared for path, declared in fields if names.RUN_METHOD not in (declared.info or {})}
    prefix = f"{label_path}."
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
    """Ask for the run key; returns its default, a free key."""
    existing = list_agreements(dataset)
    key = free_run_key(dataset)
    inputs.str(
        "run_key",
        label=OPTIONS["run_key"].title,
        description="Name of the run; all fields that it writes begin with it",
        default=key,
    )
    if existing:
        description = f"Replace a run with the same key (existing runs: {', '.join(existing)})"
        add_switch(inputs, "overwrite", OPTIONS["overwrite"].title, description)
    return key


def _check(ctx: foo.ExecutionContext, fields: list[str], default_key: str) -> None:
    """Check the input, as far as the schema tells.

    Raises:
        AgreementInputError: naming the first problem
    """
    given = {**ctx.params, "fields": fields}
    options = {"run_key": default_key, **options_of(given, ctx.dataset, from_form=_is_form(ctx))}
    overwrite = options.pop("overwrite", False)
    units = options.pop("units", False)
    samples = target_of(ctx)
    check_samples(samples)
    if not fields:
        raise AgreementInputError("Choose the label fields of at least 2 annotators")
    if len(fields) == 1 and "annotator_attribute" not in options:
        raise AgreementInputError("Choose a second field, or the attribute of the labels that names their annotator")
    config = make_config(**options)
    source = unchecked_source(samples, config, units=units)
    check_key_is_free(ctx.dataset, config.run_key, source.fields_written(config.run_key), overwrite=overwrite)
