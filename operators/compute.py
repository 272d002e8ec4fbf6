"""The form that computes agreement: presets from earlier runs or guesses, inputs, checks, and the computation."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types
from fiftyone.operators.constants import ViewTarget

from .. import names
from ..agreement import AgreementInputError, make_config
from ..agreement.settings.errors import shown
from ..agreement.settings.options import OPTIONS
from ..charts.reports.document import outcome, report_markdown
from ..dataset_io import compute_agreement, configure_agreement_app
from ..dataset_io.app.settings import app_settings_of
from ..dataset_io.database.fiftyone_private import asks_for_target, flat_target, is_generated
from ..dataset_io.labels.annotator_attributes import (
    check_annotator_attribute,
    is_copy_of_ours,
    is_likely_reference,
    is_of_model,
    label_attributes,
    likely_annotator,
    likely_assigned,
    lists_of_names,
    values_of_attribute,
)
from ..dataset_io.labels.assignment import count_lists
from ..dataset_io.labels.kinds import LabelKind, titles
from ..dataset_io.labels.roles import with_roles
from ..dataset_io.labels.source import check_samples, comparable_fields, unchecked_source
from ..dataset_io.labels.stored import is_of_frames
from ..dataset_io.record.run import Run, list_agreements, newest_first
from ..dataset_io.record.run_keys import check_key_is_free, run_behind
from ..dataset_io.record.run_labels import open_run_labels
from .form import Filled, Form, given_names, is_from_app, shows_part, shows_what_is_gone
from .inputs import (
    Choice,
    Folded,
    FormField,
    Notice,
    Several,
    Switch,
    given_options,
    list_fields,
    option_fields,
    problem,
    role_fields,
    unfolded,
    warning,
)
from .runs import open_panel_on

_MOST_FIELDS = 10
#: more fields with lists of labels are not searched for an attribute that names annotators
_MOST_SEARCHED = 12
#: recorded entries that the form does not take over from a run: it asks for them elsewhere, or not at all
_OWN = ("fields", "run_key", "annotators", "persons", "seed")


def preset_of(
    dataset: fo.Dataset, candidates: Mapping[str, LabelKind], chosen: Sequence[str] | None
) -> tuple[list[str], dict[str, Any], str | None]:
    """The fields that are chosen when the form opens, their options, and the run whose choices these are.

    Args:
        chosen: the fields that the user has chosen; None while the form opens

    Returns:
        the fields; by name the options that differ from their defaults; the run, None for a guess
    """
    for run_key in newest_first(dataset):
        options = Run(dataset, run_key).config["options"]
        fields = [name for name in options.get("fields", []) if isinstance(name, str)]
        if fields and set(fields) <= set(candidates) and (chosen is None or set(fields) == set(chosen)):
            # the recorded options that the form can take over and that are not at their defaults
            given = {name: value for name, value in options.items() if name in OPTIONS and name not in _OWN}
            if options.get("iou_from_data"):
                given["iou"] = "auto"
            if not isinstance(given.get("no_labels"), str):  # the form asks for one meaning, not for one by annotator
                given.pop("no_labels", None)
            kept = [name for name, value in given.items() if value not in (OPTIONS[name].default, None, [], {})]
            return fields, {name: given[name] for name in kept}, run_key
    known = {name: kind for name, kind in candidates.items() if not is_copy_of_ours(dataset, name, kind)}
    theirs = {
        name: kind
        for name, kind in known.items()
        if not is_of_model(dataset, name, kind) and not is_likely_reference(dataset, name)
    }
    searched = [chosen[0]] if chosen is not None and len(chosen) == 1 else list(theirs)[:_MOST_SEARCHED]
    if chosen is None or len(chosen) == 1:
        for name in searched:
            kind = candidates.get(name)
            if kind is None or kind.list_name is None:
                continue
            attributes = label_attributes(dataset, name, kind)
            attribute = likely_annotator(attributes)
            if attribute is not None:
                assigned = likely_assigned(dataset, attributes[attribute])
                guess = {"annotator_attribute": attribute, "assigned_field": assigned}
                return [name], {option: value for option, value in guess.items() if value is not None}, None
    # fields that look like a reference or a model are preset as annotators only if there are not two others
    several = (fields for fields in (_alike(theirs), _alike(known)) if len(fields) > 1)
    return list(chosen) if chosen is not None else next(several, _alike(known)), {}, None


def _alike(candidates: Mapping[str, LabelKind]) -> list[str]:
    """Comparable fields with the same text after the first underscore (``alice_boxes``, ``bob_boxes``), or without
    underscore; else all fields of the first kind with several; none if these are too many. Plain fields, which may hold
    anything, are chosen only if there are no label fields."""
    labels = {name: kind for name, kind in candidates.items() if kind.is_label}
    groups: dict[tuple[str, str, bool], list[str]] = {}
    kinds: dict[tuple[str, bool], list[str]] = {}
    for name, kind in (labels or candidates).items():
        groups.setdefault((kind.title, name.partition("_")[2], is_of_frames(name)), []).append(name)
        kinds.setdefault(comparable(name, kind), []).append(name)
    several = (fields for fields in (*groups.values(), *kinds.values()) if len(fields) > 1)
    chosen = next(several, next(iter(kinds.values()), []))
    return chosen if len(chosen) <= _MOST_FIELDS else []


def comparable(name: str, kind: LabelKind) -> tuple[str, bool]:
    """Key that is equal for comparable fields; fields of frames and of samples are not comparable."""
    return kind.comparable, is_of_frames(name)


#: name of the switch to compute on samples that are the results of a run
_ALL_THE_SAME = "all_the_same"


def _fields(form: Filled) -> Iterator[FormField]:
    dataset = form.dataset
    candidates = comparable_fields(dataset) if dataset is not None else {}
    if not candidates:
        supported = ", ".join(titles())
        yield warning("nothing_to_compare", f"This dataset has no fields that can be compared ({supported})")
        return
    params = unfolded(form.params)
    chosen = given_names(params, "fields") if "fields" in params else None
    preset_fields, presets, preset_run = preset_of(dataset, candidates, chosen)
    fields = preset_fields if chosen is None else chosen
    # the fields of the annotators; after the first choice, only fields that can be compared with it are offered
    first = next((name for name in fields if name in candidates), None)
    choices = types.AutocompleteView(allow_user_input=False, allow_duplicates=False)
    for name, kind in candidates.items():
        if first is None or comparable(name, kind) == comparable(first, candidates[first]):
            choices.add_choice(name, label=name, description=kind.title)
    hint = (
        "Two or more fields of one kind, one per annotator; or one field whose labels name the annotator. "
        "Remove all to see the other kinds of labels"
    )
    yield Several("fields", "Annotators' label fields", hint, default=preset_fields, view=choices)
    of_fields = {name: candidates[name] for name in fields if name in candidates}
    kinds = list(of_fields.values())
    has_lists = bool(kinds) and kinds[0].list_name is not None
    if has_lists:
        for field in _annotator_fields(dataset, params, of_fields, presets):
            yield field
            params.setdefault(field.name, presets.get(field.name))
    values, left = _values_and_left_over(dataset, candidates, {**params, "fields": fields})
    yield from role_fields(dataset, candidates, fields, values, presets)
    if left and is_from_app(form.ctx):
        yield Notice("left_over", f"{shown(left)}: left out, as it was chosen for other fields, or another attribute")
        params = _without(left, params)
    try:
        samples = yield from _target_fields(form)
        if of_fields:
            asked = has_lists and not params.get("assigned_field")
            what = "frames" if is_of_frames(fields[0]) else "images"
            reading = str(presets.get("no_labels", OPTIONS["no_labels"].default))
            yield from list_fields(count_lists(samples, of_fields), what, asked=asked, preset=reading)
        _check(form.ctx, samples, {**params, "fields": fields})
    except AgreementInputError as error:
        yield problem(error)
    if preset_run is not None:
        options = ", ".join(f"{OPTIONS[name].title.lower()}: {value}" for name, value in presets.items())
        yield Notice("preset", f"As in the run {preset_run!r}" + f": {options}" * bool(options))
    yield Folded(fields=(*_run_key_fields(dataset), *option_fields(params, kinds, presets)))


def _compute(form: Filled) -> dict[str, Any]:
    ctx, dataset = form.ctx, form.dataset
    samples, params = target_of(ctx), ctx.params
    if is_from_app(ctx):
        params = _without(_values_and_left_over(dataset, comparable_fields(dataset), params)[1], params)
    options = options_of(params, dataset, from_form=is_from_app(ctx))
    options.setdefault("run_key", free_run_key(dataset))
    before = app_settings_of(dataset, options["run_key"])  # kept if a run is replaced
    report = compute_agreement(samples, **options, progress=form.progress)
    # show the fields of a run in a group of the sidebar, ready to sort and filter by, and annotators in colours.
    # the App sorts by fields with an index alone
    settings = dataclasses.replace(before, sidebar=True, indexes=True)
    in_one_field = open_run_labels(dataset, report.run_key).config.attribute_mode
    if in_one_field and settings.color_by is None:
        settings = dataclasses.replace(settings, color_by="annotator")
    configure_agreement_app(dataset, report.run_key, **dataclasses.asdict(settings))
    colors = in_one_field and settings.color_by != before.color_by
    if not ctx.delegated:
        # to leave a view also reloads the dataset; to reload it with a view of fields that are gone fails
        form.show_sidebar()
        (ctx.ops.clear_view if shows_what_is_gone(ctx, report.run_key) else ctx.ops.reload_dataset)()
        if colors:
            form.show_colors()
        score = f"{report.run_key}_score"
        if ctx.active_fields is not None and score not in ctx.active_fields:
            ctx.ops.set_active_fields([*ctx.active_fields, score])
        open_panel_on(ctx, report.run_key)
        ctx.ops.notify(f"Computed the run '{report.run_key}'. {outcome(report)}", variant="success")
    return {
        "run_key": report.run_key,
        "score": report.score.mean,
        "alpha": report.alpha.pooled,
        "image_alpha": None if report.image_alpha is None else report.image_alpha.value,
        "n_samples": report.n_samples,
        "n_rated": report.n_rated,
        "n_objects": report.n_objects,
        "n_units": report.n_units,
        "worst_samples": [entry["id"] for entry in report.worst_samples],
        "summary": report_markdown(report),
    }


COMPUTE = Form(
    name=names.COMPUTE_AGREEMENT,
    label="Compute annotator agreement",
    sentence="Agreement of several annotators: match their labels, score every sample, and report how far they agree",
    icon="diversity_3",
    fields=_fields,
    execute=_compute,
    delegated=True,
    placed=True,
)


def _values_and_left_over(
    dataset: fo.Dataset, candidates: Mapping[str, LabelKind], params: Mapping[str, Any]
) -> tuple[dict[str, str], list[str]]:
    """The values of the chosen attribute, see :func:`values_of_attribute`, and roles of earlier choices.

    The App keeps what was entered. Without an attribute the form offers only fields as roles, so that any other name is
    left over; with one, any name that is a value of other attributes alone.
    """
    fields, attribute = given_names(params, "fields"), params.get("annotator_attribute")
    attribute = attribute if isinstance(attribute, str) else None
    kind = candidates.get(fields[0]) if len(fields) == 1 and attribute else None
    roles = {*given_names(params, "reference"), *given_names(params, "models")} - {*candidates}
    if kind is None or kind.list_name is None:
        return {}, sorted(roles)
    attributes = label_attributes(dataset, fields[0], kind)
    if attribute not in attributes:
        return {}, []
    values = values_of_attribute(dataset, fields[0], kind, attribute)
    return values, sorted((roles - values.keys()) & set().union(*attributes.values()))


def _without(left: list[str], params: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a form without the roles in ``left``."""
    gone = {"reference": None} if params.get("reference") in left else {}
    return {**params, **gone, "models": [name for name in given_names(params, "models") if name not in left]}


def options_of(params: dict[str, Any], dataset: fo.Dataset, *, from_form: bool) -> dict[str, Any]:
    """The arguments of ``compute`` that a form or a caller gave.

    Args:
        from_form: whether they come from the form: it keeps input from earlier choices of fields, so options without
            effect are dropped silently; for callers they are an error
    """
    params = unfolded(params)
    fields = given_names(params, "fields")
    candidates = comparable_fields(dataset)
    kinds = [candidates[name] for name in fields if name in candidates]
    options = given_options(params, kinds if from_form else None)
    for name in ("run_key", "overwrite", "annotators", "annotator_attribute", "assigned_field", "reference", "models"):
        if params.get(name) not in (None, "", []):
            options[name] = params[name]
    if from_form and len(fields) != 1:
        options.pop("annotator_attribute", None)
    if from_form and "models" in options:
        options["models"] = [name for name in options["models"] if name not in fields]
    if from_form and options.get("reference") in (*fields, *options.get("models", ())):
        del options["reference"]
    if from_form and any(kind.list_name is None for kind in kinds):
        options.pop("assigned_field", None)
    if from_form and "assigned_field" in options:
        options.pop("no_labels", None)
    return {"fields": fields, **options}


def target_of(ctx: foo.ExecutionContext) -> SampleCollection:
    """The samples that the user chose; FiftyOne adds the choice to the form when they are read.

    While the App shows patches, which cannot be compared, it is the whole dataset.

    Raises:
        AgreementInputError: if FiftyOne cannot flatten the view
    """
    if is_from_app(ctx) and is_generated(ctx.view):
        return ctx.dataset
    try:
        return flat_target(ctx)
    except (AttributeError, ValueError) as error:
        raise AgreementInputError(
            "Agreement cannot be computed on this view of groups; choose the view from which it was made"
        ) from error


def _target_fields(form: Filled) -> Generator[FormField, None, SampleCollection]:
    """Ask for the samples, and return them; results of a run are not preset, and to use them must be confirmed."""
    ctx = form.ctx
    if is_from_app(ctx) and is_generated(ctx.view):
        yield Notice("whole_dataset", "The grid shows patches; agreement is computed on the whole dataset")
        return target_of(ctx)
    run_key = run_behind(ctx.view) if shows_part(ctx) else None
    if run_key is not None and is_from_app(ctx):
        form.inputs.view_target(ctx, default_target=ViewTarget.DATASET, require_flat=True)
        chosen = ctx.params.get("view_target") or ctx.request_params.get("view_target", ViewTarget.DATASET)
        if chosen == ViewTarget.DATASET:
            return form.dataset
        all_the_same = ctx.params.get(_ALL_THE_SAME)
        label = f"The results of the run {run_key!r} chose these samples, or labels: most of them are disputed"
        hint = "The numbers would be far too low, and hold for these alone"
        yield warning("chosen_by_a_run", label, hint, blocks=not all_the_same)
        yield Switch(_ALL_THE_SAME, "Compute on them all the same")
    elif is_from_app(ctx) and not asks_for_target(ctx):
        form.inputs.view_target(ctx)
    return target_of(ctx)


def free_run_key(dataset: fo.Dataset) -> str:
    """The run key of a new run: ``agreement``, or the first of ``agreement_2``, ``agreement_3`` … that is free."""
    return names.first_free(names.DEFAULT_RUN_KEY, list_agreements(dataset))


def _annotator_fields(
    dataset: fo.Dataset, params: Mapping[str, Any], fields: Mapping[str, LabelKind], presets: Mapping[str, Any]
) -> Iterator[FormField]:
    """Inputs: the attribute that names the annotator, if one field is chosen; the field with the assigned annotators.

    Args:
        fields: the chosen fields, with lists of labels
        presets: values of options when the form opens
    """
    if len(fields) == 1:
        (name, kind), *_ = fields.items()
        attributes = label_attributes(dataset, name, kind)
        choices = types.AutocompleteView()
        for attribute, values in attributes.items():
            choices.add_choice(attribute, label=attribute, description=shown(sorted(values)))
        preset = presets.get("annotator_attribute")
        chosen = params.get("annotator_attribute", preset)
        found = sorted(attributes.get(chosen, ())) if isinstance(chosen, str) else []
        hint = f"It names {shown(found)}" if found else "Attribute of the labels that names their annotator"
        # not an enumeration: an attribute that only later labels have can be typed
        yield FormField("annotator_attribute", OPTIONS["annotator_attribute"].title, hint, default=preset, view=choices)
    lists = lists_of_names(dataset)
    if lists:
        preset = presets.get("assigned_field")
        yield Choice(
            "assigned_field",
            OPTIONS["assigned_field"].title,
            "Optional; without it the label lists tell who was assigned",
            default=preset if preset in lists else None,
            values=lists,
            view=types.AutocompleteView(),
        )


def _run_key_fields(dataset: fo.Dataset) -> Iterator[FormField]:
    """Inputs: the run key, of which a free one is preset, and whether to replace a run."""
    hint = "Name of the run; all fields that it writes begin with it"
    yield FormField("run_key", OPTIONS["run_key"].title, hint, default=free_run_key(dataset))
    existing = list_agreements(dataset)
    if existing:
        hint = f"Replace a run with the same key (existing runs: {', '.join(existing)})"
        yield Switch("overwrite", OPTIONS["overwrite"].title, hint)


def _check(ctx: foo.ExecutionContext, samples: SampleCollection, params: Mapping[str, Any]) -> None:
    """Check the input, as far as the schema and the first labels tell."""
    given = options_of(dict(params), ctx.dataset, from_form=is_from_app(ctx))
    options = {"run_key": free_run_key(ctx.dataset), **given}
    overwrite = options.pop("overwrite", False)
    engine = {name: options.pop(name) for name in ("workers", "resume") if name in options}
    fields = options["fields"]
    check_samples(samples)
    if not fields:
        raise AgreementInputError("Choose the label fields of at least 2 annotators")
    if len(fields) == 1 and not {"annotator_attribute", "reference", "models"} & {*options}:
        raise AgreementInputError("Choose a second field, or the attribute of the labels that names their annotator")
    for name, value in engine.items():
        OPTIONS[name].checked(value)
    config = make_config(**options)
    source = with_roles(unchecked_source(samples, config))
    check_annotator_attribute(source)
    try:
        taken = overwrite or engine.get("resume", False)
        check_key_is_free(ctx.dataset, config.run_key, source.fields_written(config.run_key), overwrite=taken)
    except AgreementInputError as error:
        message = str(error)  # the form has switches for what are arguments in Python
        for switch in (OPTIONS["overwrite"], OPTIONS["resume"]):
            message = message.replace(f"{switch.name}=True", f"the switch “{switch.title}”")
        raise AgreementInputError(message) from error
