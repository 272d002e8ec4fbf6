"""The forms on runs: show, update, compare, rename, delete, set up the App; and a run as a metric of evaluations."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..agreement.acceptance.requirements import INTERVAL, VALUE, Requirement, read_requirements, requirements_in
from ..agreement.statistics.main_numbers import COMPARED
from ..charts.reports.comparison import comparison_markdown
from ..charts.reports.document import outcome, report_markdown
from ..charts.reports.other_results import acceptance_sentence
from ..charts.text.sections import Facts, Section, as_markdown
from ..charts.text.words import counted, listed, shown_number
from ..dataset_io import (
    agreement_on,
    changed_since,
    compare_agreement,
    configure_agreement_app,
    delete_agreement,
    load_agreement,
    rename_agreement,
    update_agreement,
)
from ..dataset_io.app.settings import AppSettings, app_settings_of, check_settings
from ..dataset_io.database.fiftyone_private import open_panel
from ..dataset_io.jobs.lifecycle import check_rename, what_is_deleted
from ..dataset_io.record.run import Run, completed_kinds
from ..dataset_io.results.check import check_with
from ..dataset_io.results.measure_convergence import agreement_convergence
from .form import Filled, Form, must_leave_view, run_choice, shows_part
from .inputs import Choice, FormField, Notice, Number, ServerFile, Switch, Text, warning

#: values of the choice of samples: of the whole run, or those in the view
RUN, VIEW = "run", "view"


_SAMPLES = Choice(
    "samples",
    "Samples",
    values={RUN: "The whole run", VIEW: "The samples in the current view, as the run found them"},
    as_radio_buttons=True,
    required=True,
)


def _show(form: Filled) -> dict[str, Any]:
    of_view = form.get("samples") == VIEW
    report = agreement_on(form.ctx.view, form.run_key) if of_view else load_agreement(form.dataset, form.run_key)
    return {"summary": report_markdown(report), "report": report.to_dict()}


SHOW = Form(
    name=names.SHOW_AGREEMENT,
    label="Show the annotator agreement report",
    sentence="Show the report of an agreement run",
    icon="summarize",
    run="The run whose report is shown",
    fields=lambda form: [_SAMPLES] if shows_part(form.ctx) else [],
    execute=_show,
    opens_panel=True,
    summary="Annotator agreement",
    risk="low",
)


def _update_fields(form: Filled) -> Iterator[FormField]:
    n_changed = changed_since(form.dataset, form.run_key)
    label = "Nothing was saved since the run" if n_changed == 0 else "It is not known what was saved since"
    if n_changed:
        label = f"Saved or deleted since the run: {counted(n_changed, 'sample')}"
    yield Notice("changed", label)


def _update(form: Filled) -> dict[str, Any]:
    report = update_agreement(form.dataset, form.run_key, progress=form.progress)
    form.tell(f"Updated the run '{form.run_key}'. {outcome(report)}")
    return {"run_key": form.run_key, "summary": report_markdown(report), "report": report.to_dict()}


UPDATE = Form(
    name=names.UPDATE_AGREEMENT,
    label="Update annotator agreement",
    sentence="Compute an agreement run again where images were edited, added or deleted since, with its options",
    icon="update",
    run="The run that is brought up to date, with its options",
    fields=_update_fields,
    execute=_update,
    delegated=True,
)


OPEN_PANEL = Form(
    name=names.OPEN_AGREEMENT_PANEL,
    label="Open the annotator agreement panel",
    sentence="Show a run in the panel",
    icon="diversity_3",
    fields=lambda form: [FormField("run_key", "Run")],
    execute=lambda form: open_panel_on(form.ctx, form.params.get("run_key")),
    config={"unlisted": True},
    risk="low",
)


def open_panel_on(ctx: foo.ExecutionContext, run_key: str | None) -> dict[str, Any]:
    """Open the panel on a run; returns an empty result."""
    # if the panel is open, the App only brings it to the front, with its current run
    ctx.ops.close_panel(name=names.AGREEMENT_PANEL)
    if not open_panel(ctx, names.AGREEMENT_PANEL, {"run_key": run_key}) and run_key is not None:
        sentence = f"Choose the run {run_key!r} in the panel; this version of FiftyOne cannot open the panel on a run"
        Filled(ctx).tell(sentence, reload=False)
    return {}


def _compare_fields(form: Filled) -> Iterator[FormField]:
    found = {} if form.dataset is None else completed_kinds(form.dataset)
    families = {key: kind[:2] for key, kind in found.items()}
    updated = [key for key in families if Run(form.dataset, key).config.get("previous")]
    kinds = list(families.values())
    first = [key for key in reversed(families) if kinds.count(families[key]) > 1 or key in updated]
    if not first:
        label = "This dataset has no two completed agreement runs on labels of one kind, and none that was updated"
        advice = "Correct labels and update the run, or compute agreement again under another run key"
        yield warning("no_runs", label, advice)
        return
    key_a = form.params.get("run_key")
    key_a = key_a if key_a in first else first[0]
    second = {names.RUN_NOW: "the same run now, from before its last update"} if key_a in updated else {}
    second |= {key: key for key in first if key != key_a and families[key] == families[key_a]}
    yield Choice("run_key", "From", "The first run: before the change", values=first, required=True)
    yield Choice("other_run_key", "To", "The second run: after the change", values=second, required=True)


def _compare(form: Filled) -> dict[str, Any]:
    other = form.params.get("other_run_key")
    comparison = compare_agreement(form.dataset, form.params.get("run_key"), None if other == names.RUN_NOW else other)
    return {"summary": comparison_markdown(comparison), "comparison": comparison.to_dict()}


#: values of the choice where requirements come from
_ONE, _WRITTEN, _FILE = "one", "written", "file"
_EXAMPLE = """requirements:
  they find the same objects:
    number: existence.f1
    at_least: 0.8"""


def _check_fields(form: Filled) -> Iterator[FormField]:
    titles = {_ONE: "One number", _WRITTEN: "Requirements written here", _FILE: "A requirements file"}
    source = form.get("source", _FILE if form.get("requirements") else _ONE)
    yield Choice("source", "What must hold", default=source, values=titles, as_radio_buttons=True)
    if source == _ONE:
        numbers = _required_numbers(form)
        yield Choice("number", "Number", values=numbers, required=True)
        yield Number("at_least", "At least", "0.8 for 80 %", default=0.8, least=0.0, most=1.0)
        hint = "The lower end of its 95 % interval must reach it, not only the value"
        yield Switch("by_interval", "Allow for chance", hint)
    elif source == _WRITTEN:
        example = types.TextFieldView(multiline=True, rows=10, placeholder=_EXAMPLE)
        yield FormField("written", "Requirements", "YAML, as in a requirements file", view=example)
    else:
        yield ServerFile("requirements", "Requirements file", "YAML or JSON, on the machine of the App's server")
    yield from form.within_view()
    if _wanted(form) is None:
        what = "Write the requirements" if source == _WRITTEN else "Choose a file"
        yield Notice("nothing", what, blocks=True)


def _required_numbers(form: Filled) -> dict[str, str]:
    """Titles of the numbers that can be required, by key; F1 of objects comes first."""
    shown = [each for each in form.labels.family.report.main_numbers if each.group != COMPARED]
    measure = form.labels.kinds[0].measure
    return {each.key: each.name(measure) for each in sorted(shown, key=lambda each: each.key != "existence.f1")}


def _wanted(form: Filled) -> tuple[list[Requirement], str] | None:
    """The requirements, and the name of their source; None as long as nothing is filled in.

    Raises:
        AgreementInputError: if they are not written as they must be
    """
    given = form.get("requirements")
    if form.get("source") == _WRITTEN:
        text = form.get("written", "")
        return (requirements_in(text, "requirements"), "requirements") if text.strip() else None
    # the App keeps a file that was chosen before one number
    if form.get("source") == _FILE or (given and not form.get("source")):
        path = given.get("absolute_path") if isinstance(given, Mapping) and "requirements" not in given else given
        return read_requirements(path) if path else None
    keys = {"number": form.get("number", next(iter(_required_numbers(form)))), "at_least": form.get("at_least", 0.8)}
    keys["judge"] = INTERVAL if form.params.get("by_interval") else VALUE
    return read_requirements({"requirements": {_required_numbers(form).get(keys["number"], keys["number"]): keys}})


def _check(form: Filled) -> dict[str, Any]:
    wanted = _wanted(form)
    if wanted is None:
        raise AgreementInputError("`requirements` must be given, got none")
    check = check_with(form.samples, form.run_key, *wanted)
    variant = {"passed": "success", "failed": "error"}.get(check.outcome, "warning")
    form.tell(acceptance_sentence(check), variant, reload=False)
    return {"summary": check.to_markdown(), **check.to_dict()}


CHECK = Form(
    name=names.CHECK_AGREEMENT,
    label="Check requirements",
    sentence="Check whether an agreement run reaches what is required: is the delivery accepted?",
    icon="fact_check",
    run="The run that is checked",
    fields=_check_fields,
    execute=_check,
    summary="Acceptance",
)


COMPARE = Form(
    name=names.COMPARE_AGREEMENT,
    label="Compare annotator agreement",
    sentence="Show what changed from one agreement run to another, with intervals, and on which samples",
    icon="compare_arrows",
    fields=_compare_fields,
    execute=_compare,
    summary="Annotator agreement, compared",
    risk="low",
)


def _rename_fields(form: Filled) -> Iterator[FormField]:
    yield FormField("new_run_key", "New run key", "Its fields' names begin with it", required=True)
    if form.get("new_run_key") and form.get("run_key"):
        check_rename(form.dataset, form.get("run_key"), form.get("new_run_key"))


def _rename(form: Filled) -> dict[str, Any]:
    run_key, new_key = form.params.get("run_key"), form.params.get("new_run_key")
    if must_leave_view(form.ctx, form.uri, run_key):
        return {}
    rename_agreement(form.dataset, run_key, new_key)
    if app_settings_of(form.dataset, new_key).color_by is not None:
        form.show_colors()
    form.tell(f"Renamed the run '{run_key}' to '{new_key}'")
    return {"run_key": new_key}


RENAME = Form(
    name=names.RENAME_AGREEMENT,
    label="Rename annotator agreement",
    sentence="Rename an agreement run and its fields",
    icon="drive_file_rename_outline",
    run="The run to rename",
    fields=_rename_fields,
    execute=_rename,
)


def _delete_fields(form: Filled) -> Iterator[FormField]:
    run_key = form.run_key
    Run(form.dataset, run_key).require()
    written = what_is_deleted(form.dataset, run_key)
    removed = [Facts([(what, listed(found)) for what, found in written.items()])]
    yield Text(f"removed_{run_key}", as_markdown([Section(f"This removes the run '{run_key}'", removed)]))
    yield Notice("kept", "Your own labels and fields are not touched")
    # the name of the switch has the run key, so that another run must be confirmed again
    yield from form.confirmed(f"delete_{run_key}", f"Yes, delete the run '{run_key}'", "", "It cannot be undone")


def _delete(form: Filled) -> dict[str, Any]:
    run_key = form.params.get("run_key")
    if must_leave_view(form.ctx, form.uri, run_key):
        return {}
    colors = app_settings_of(form.dataset, run_key).color_by
    delete_agreement(form.dataset, run_key)
    if colors is not None:
        form.show_colors()
    form.tell(f"Deleted the run '{run_key}' and everything that it wrote")
    return {"run_key": run_key}


DELETE = Form(
    name=names.DELETE_AGREEMENT,
    label="Delete annotator agreement",
    sentence="Delete an agreement run and everything that it wrote",
    icon="delete",
    run="The run that is deleted, with all its fields",
    fields=_delete_fields,
    execute=_delete,
    risk="high",
)

_NOTHING = "nothing of the run"
_COLORS = {
    _NOTHING: "As it is",
    "annotator": "By annotator",
    "verdict": "By verdict",
    "id": "By object: labels of one object look alike",
}
_SWITCHES = (
    Switch("sidebar", "Group in the sidebar", "The fields of the run stand together"),
    Switch("indexes", "Indexes", "Filtering and sorting by the fields of the run is immediate on large datasets"),
)


def _settings(form: Filled) -> dict[str, Any]:
    """The settings that a form, or a caller, gave."""
    settings: dict[str, Any] = {switch.name: form.get(switch.name, False) for switch in _SWITCHES}
    color_by = form.params.get("color_by")
    return {**settings, "color_by": None if color_by in (None, _NOTHING) else color_by}


def _configure_fields(form: Filled) -> Iterator[FormField]:
    current = app_settings_of(form.dataset, form.run_key)
    for switch in _SWITCHES:
        yield dataclasses.replace(switch, default=getattr(current, switch.name))
    yield Choice("color_by", "Colour labels", default=current.color_by, values=_COLORS)
    check_settings(form.labels, AppSettings(**_settings(form)))


def _configure(form: Filled) -> dict[str, Any]:
    before = app_settings_of(form.dataset, form.run_key)
    settings = configure_agreement_app(form.dataset, form.run_key, **_settings(form))
    if not form.ctx.delegated:
        if settings.color_by != before.color_by:
            form.show_colors()
        form.tell("The App is set up")
    return _settings(form)


CONFIGURE_APP = Form(
    name=names.CONFIGURE_AGREEMENT_APP,
    label="Configure annotator agreement in the App",
    sentence="Sidebar group, indexes and colours for an agreement run; undone with the run",
    icon="palette",
    submit="Apply",
    run="The run that the App is set up for",
    fields=_configure_fields,
    execute=_configure,
    delegated=True,
)


logger = logging.getLogger(__name__)


class LabelConvergence(foo.EvaluationMetric):
    """F1 with equal classes of annotators among each other, at the IoU and on the images of an evaluation.

    ``evaluate_detections(…, custom_metrics={"@annotator/agreement/label_convergence": {"run_key": "agreement"}})``.
    """

    @property
    def config(self) -> foo.EvaluationMetricConfig:
        """The configuration that FiftyOne registers."""
        config = foo.EvaluationMetricConfig(
            name=names.LABEL_CONVERGENCE,
            label="F1 of annotators among each other",
            description="F1 with equal classes of the annotators of an agreement run, at the same IoU",
            eval_types=["detection"],
            lower_is_better=False,
            unlisted=True,
            risk_level="low",
        )
        config.kwargs["lower_is_better"] = False  # where FiftyOne looks for it
        return config

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        """The choice of a run."""
        inputs = types.Object()
        run_choice(ctx.dataset, "Agreement run", "whose annotators the model is compared with").add(inputs)
        return types.Property(inputs)

    def compute(self, samples: SampleCollection, results: Any, run_key: str = names.DEFAULT_RUN_KEY, **_: Any) -> float:
        """F1 with equal classes of the annotators.

        Args:
            samples: the evaluated samples
            results: results of ``evaluate_detections()``

        Raises:
            AgreementInputError: if no two annotators have labels on these samples
        """
        best = agreement_convergence(samples, run_key, resamples=0).f1_at(results.config.iou)
        if best is None:
            raise AgreementInputError(
                f"The evaluated samples must have labels of two annotators of the run {run_key!r}, got none"
            )
        of_model = shown_number(float(results.metrics()["fscore"]), 2)
        said = f"F1 {of_model}, of annotators among each other {shown_number(best, 2)}"
        logger.info(said)
        return best
