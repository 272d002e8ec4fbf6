"""``Form``, the declaration of an operator, and the class made from it; and what the App shows when it is called."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import time
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, ClassVar

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io.app.appearance import sidebar_groups
from ..dataset_io.database.fiftyone_private import is_part, serialized_stages, view_in_app
from ..dataset_io.labels.stored import all_fields
from ..dataset_io.record.gold_fields import gold_fields
from ..dataset_io.record.run import COMPLETED, Run, newest_first
from ..dataset_io.record.run_labels import RunLabels, open_run_labels
from .inputs import Choice, FormField, Notice, Switch, problem, warning

#: parameter of an operator that the App calls again, after it has left the view
_LEFT = "view_left"
#: the longest that an operator waits for the App, in seconds
_MAX_SECONDS = 10.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Form:
    """The declaration of an operator."""

    name: str  #: its name in FiftyOne
    label: str  #: its name in the App
    sentence: str  #: its description in the operator browser
    icon: str  #: a Material icon
    #: does what the filled form says; returns the result of the operator
    execute: Callable[[Filled], dict[str, Any]]
    submit: str = ""  #: text of its button; by default the first word of its name in the App
    #: the inputs other than the run; an `AgreementInputError` is shown, and blocks execution
    fields: Callable[[Filled], Iterable[FormField]] = lambda form: ()
    run: str | None = None  #: text below the choice of a run; None if the form asks for no run
    of_gold: bool = False  #: whether the form asks for a field of decisions
    delegated: bool = False  #: whether it can be run by a worker
    #: the harm it can do, for assistants that ask before they call it: ``low`` changes nothing, ``medium`` adds what
    #: can be removed again, ``high`` removes
    risk: str = "medium"
    summary: str | None = None  #: title of the result ``summary``, which is shown as Markdown; None if it is not shown
    opens_panel: bool = False  #: whether a button above the summary shows the run in the panel
    placed: bool = False  #: whether it has a button above the grid
    config: dict[str, Any] = dataclasses.field(default_factory=dict)  #: more for FiftyOne's configuration
    #: from the values of the form, whether a worker is preset
    prefers_worker: Callable[[dict[str, Any]], bool] | None = None


@dataclasses.dataclass
class Filled:
    """A form as it is filled in, in the App or by a caller."""

    ctx: foo.ExecutionContext
    uri: str = ""  #: of the operator
    inputs: types.Object = dataclasses.field(default_factory=types.Object)  #: the inputs so far

    @property
    def params(self) -> Any:
        """Values of the form by name; a caller may give anything."""
        return self.ctx.params

    @property
    def dataset(self) -> fo.Dataset:
        """The dataset; None if none is open."""
        return self.ctx.dataset

    @functools.cached_property
    def run_key(self) -> str:
        """The chosen run; when the form opens, the one that the panel gave it, or the newest.

        Raises:
            AgreementInputError: if there is none
        """
        chosen: str | None = self.params.get("run_key") or next(iter(runs_to_choose(self.dataset)), None)
        if chosen is None:
            raise AgreementInputError("This dataset has no agreement runs; compute agreement first")
        return chosen

    @functools.cached_property
    def labels(self) -> RunLabels:
        """The labels of the chosen run."""
        return open_run_labels(self.dataset, self.run_key)

    @property
    def gold(self) -> str:
        """The chosen field of decisions; when the form opens, the first one."""
        return self.get("gold") or next(iter(gold_fields(self.dataset)), names.DEFAULT_GOLD_FIELD)

    @property
    def samples(self) -> SampleCollection:
        """The dataset, or the current view if the form says so."""
        return self.ctx.view if self.params.get("within_view") and shows_part(self.ctx) else self.dataset

    def get(self, name: str, default: Any = None) -> Any:
        """Value of a parameter; the default if it is empty."""
        return self.params.get(name) or default

    def given(self, *wanted: str) -> dict[str, Any]:
        """The wanted parameters that are not empty, as arguments of a function that has defaults for the others."""
        return {name: self.params[name] for name in wanted if self.params.get(name)}

    def names(self, name: str) -> list[str]:
        """The names that a parameter gives, see :func:`given_names`."""
        return given_names(self.params, name)

    @property
    def progress(self) -> Any:
        """A callback that shows progress in the App."""
        return fo.report_progress(lambda bar: self.ctx.set_progress(progress=bar.progress, label="Samples"), dt=1.0)

    def tell(self, message: str, variant: str = "success", *, reload: bool = True) -> None:
        """Notify the user, if the App waits for the result, and reload the dataset."""
        if not self.ctx.delegated:
            if reload:
                self.show_sidebar()
                self.ctx.ops.reload_dataset()
            self.ctx.ops.notify(message, variant=variant)

    def show_sidebar(self) -> None:
        """Let the App show the groups of the sidebar, which it reads only when it opens a dataset."""
        groups = {"groups": sidebar_groups(self.dataset)}
        self.ctx.trigger(f"{names.PLUGIN_NAME}/{names.SHOW_SIDEBAR_GROUPS}", groups)

    def show_colors(self) -> None:
        """Let the App draw labels in the colours of the dataset, which it reads only when it opens a dataset."""
        scheme = self.dataset.app_config.color_scheme
        if scheme is None:
            self.ctx.trigger("reset_color_scheme")
        else:
            self.ctx.trigger("set_color_scheme", {"color_by": scheme.color_by, "fields": scheme.fields or []})

    def within_view(self) -> Iterator[FormField]:
        """Offer to use only the current view, if it is a part of the dataset."""
        if shows_part(self.ctx):
            yield Switch("within_view", "Within the current view", is_box=True)

    def confirmed(self, name: str, question: str, hint: str, said: str) -> Iterator[FormField]:
        """A switch to confirm, without which the App cannot submit the form; callers from Python need not set it."""
        yield Switch(name, question, hint)
        if is_from_app(self.ctx) and not self.params.get(name):
            yield Notice("asked", said, blocks=True)


class AgreementOperator(foo.Operator):
    """An operator of the plugin: a form, one function call, a message."""

    form: ClassVar[Form]

    @property
    def package(self) -> ModuleType:
        """The plugin as a Python package: what ``import annotator_agreement`` gives where that is installed."""
        return importlib.import_module(__package__.rpartition(".")[0])

    @property
    def config(self) -> foo.OperatorConfig:
        """The configuration that FiftyOne registers."""
        config = foo.OperatorConfig(
            name=self.form.name,
            label=self.form.label,
            description=self.form.sentence,
            icon=self.form.icon,
            dynamic=True,
            allow_immediate_execution=True,
            allow_delegated_execution=self.form.delegated,
            risk_level=self.form.risk,
        )
        for name, value in self.form.config.items():
            setattr(config, name, value)
        return config

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        """The form; it shows errors of the input, which block execution."""
        filled = Filled(ctx, self.uri)
        try:
            for field in _all_fields(self.form, filled):
                field.add(filled.inputs)
        except AgreementInputError as error:
            problem(error).add(filled.inputs)
        view = types.PromptView(
            label=self.form.label, submit_button_label=self.form.submit or self.form.label.split()[0]
        )
        return types.Property(filled.inputs, view=view)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        """Run the function of the form with the values."""
        return self.form.execute(Filled(ctx, self.uri))


def operator_of(form: Form) -> type[AgreementOperator]:
    """The operator of a form."""
    members: dict[str, Any] = {"form": form, "__doc__": form.sentence, "__module__": __name__}
    # only what is needed, because FiftyOne calls what a class overrides: an empty output would close the next form
    if form.summary is not None:
        members["resolve_output"] = _resolve_output
    if form.prefers_worker is not None:
        members["resolve_execution_options"] = _resolve_execution_options
    if form.placed:
        members["resolve_placement"] = _resolve_placement
    return type(form.name, (AgreementOperator,), members)


def _resolve_output(operator: AgreementOperator, ctx: foo.ExecutionContext) -> types.Property:
    """The summary, below a button to the panel."""
    outputs = types.Object()
    if operator.form.opens_panel:
        opens, of_run = f"{names.PLUGIN_NAME}/{names.OPEN_AGREEMENT_PANEL}", {"run_key": ctx.params.get("run_key")}
        shown = {"label": "Show in the panel", "icon": "diversity_3", "variant": "contained"}
        outputs.btn("open_panel", **shown, on_click=opens, params=of_run)
    outputs.str("summary", view=types.MarkdownView())
    return types.Property(outputs, view=types.View(label=operator.form.summary))


def _resolve_execution_options(operator: AgreementOperator, ctx: foo.ExecutionContext) -> foo.ExecutionOptions:
    """Execution options of FiftyOne: delegated by default where the form prefers a worker."""
    prefers_worker = operator.form.prefers_worker
    return foo.ExecutionOptions(
        allow_immediate_execution=True,
        allow_delegated_execution=True,
        default_choice_to_delegated=prefers_worker is not None and prefers_worker(ctx.params),
    )


def _resolve_placement(operator: AgreementOperator, ctx: foo.ExecutionContext) -> types.Placement:
    """The button in the App."""
    button = types.Button(label=operator.form.label, icon=operator.form.icon, prompt=True)
    return types.Placement(types.Places.SAMPLES_GRID_SECONDARY_ACTIONS, button)


def _all_fields(form: Form, filled: Filled) -> Iterator[FormField]:
    """The choices of a run and of a field of decisions, if the form has them, and its other fields."""
    if form.run is not None:
        choice = run_choice(filled.dataset, "Run", form.run)
        yield choice
        if choice.blocks:
            return
    if form.of_gold:
        fields = [] if filled.dataset is None else gold_fields(filled.dataset)
        if not fields:
            yield warning("no_decisions", "Nothing was decided on this dataset yet")
            return
        yield Choice("gold", "Field of decisions", values=fields, required=True)
    yield from form.fields(filled)


def run_choice(dataset: fo.Dataset | None, label: str, hint: str) -> FormField:
    """The choice of a run; if there is none, a warning, which blocks the form."""
    titles = {} if dataset is None else runs_to_choose(dataset)
    if not titles:
        return warning("no_runs", "This dataset has no agreement runs", "Compute agreement first")
    return Choice("run_key", label, hint, values=titles, required=True)


def runs_to_choose(dataset: fo.Dataset) -> dict[str, str]:
    """The runs and their titles, the newest first; those that did not complete come last."""
    status = {key: Run(dataset, key).status for key in newest_first(dataset)}
    ordered = sorted(status, key=lambda key: status[key] != COMPLETED)
    return {key: key if status[key] == COMPLETED else f"{key} ({status[key]})" for key in ordered}


def given_names(params: Any, name: str) -> list[str]:
    """The names in a parameter, which is a text or a list; empty if it has no value."""
    given = params.get(name) or []
    found = [given] if isinstance(given, str) else given
    if not isinstance(found, list | tuple) or not all(isinstance(entry, str) for entry in found):
        raise AgreementInputError(f"`{name}` must be a list of names, got {given!r}")
    return list(found)


# ---- what the App shows when an operator is called ----


def is_from_app(ctx: foo.ExecutionContext) -> bool:
    """True if the App asks for a form or sends one, not a caller in Python."""
    # a form that is sent has no ``prompt_id``; only requests of the App say which panels it shows (``spaces``)
    return ctx.prompt_id is not None or "spaces" in ctx.request_params


def shows_part(ctx: foo.ExecutionContext) -> bool:
    """True if the App shows something other than the whole dataset."""
    return is_part(ctx.view)


def must_leave_view(ctx: foo.ExecutionContext, operator_uri: str, run_key: str) -> bool:
    """True if the App must first leave a view of a run's own fields, which it cannot draw without them.

    If so, the App is told to leave the view and to call the operator again. It gets the requests of an operator only
    when that ends, and asks for its old view until the server has the new one. So an operator that removes fields ends
    at once if this is true, and is called a second time; then this function waits until the server has the new view.

    Args:
        ctx: what the user sees
        operator_uri: the operator that removes the fields
        run_key: the run whose fields it removes

    Returns:
        whether to end now and do nothing; always False for calls that do not come from the App
    """
    own = names.own_names(Run(ctx.dataset, run_key).field_key)
    if ctx.params.get(_LEFT):
        end = time.monotonic() + _MAX_SECONDS
        while _shows(serialized_stages(view_in_app()), own) and time.monotonic() < end:
            time.sleep(0.05)
        return False
    if not is_from_app(ctx) or not _shows(ctx.request_params.get("view"), own):
        return False
    ctx.ops.clear_view()
    ctx.trigger(operator_uri, {**ctx.params, _LEFT: True})
    return True


def shows_what_is_gone(ctx: foo.ExecutionContext, run_key: str) -> bool:
    """True if the App shows a view of a run's own fields that the run, computed again, does not have."""
    there = {path.rsplit(".", 1)[-1] for path in all_fields(ctx.dataset)}
    return _shows(ctx.request_params.get("view"), names.own_names(Run(ctx.dataset, run_key).field_key) - there)


def _shows(stages: Any, fields: set[str]) -> bool:
    text = json.dumps(stages, default=str)
    return any(name in text for name in fields)
