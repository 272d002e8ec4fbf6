"""Base of all operators: their entry in the App, the choice of a run, and helpers for forms."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, ClassVar

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io.app.appearance import sidebar_groups
from ..dataset_io.record.run import COMPLETED, Run, newest_first


class AgreementOperator(foo.Operator):
    """An operator of the plugin: a form, one function call, a message."""

    operator_name: ClassVar[str]  #: its name in FiftyOne
    label: ClassVar[str]  #: its name in the App
    description: ClassVar[str]  #: its description in the operator browser
    icon: ClassVar[str]  #: a Material icon
    submit: ClassVar[str]  #: text of its button
    #: text below the choice of a run; None if the form does not begin with a choice of a run
    run_text: ClassVar[str | None] = None
    can_be_delegated: ClassVar[bool] = False  #: whether it can be run by a worker
    #: the harm it can do, for assistants that ask before they call it: ``low`` changes nothing, ``medium`` adds what
    #: can be removed again, ``high`` removes
    risk: ClassVar[str] = "medium"

    def __init_subclass__(cls, function: Callable[..., Any] | None = None) -> None:
        """Let an operator be called from Python as the function that it is a form for, with its arguments and help."""
        super().__init_subclass__()
        if function is not None:
            cls.__doc__ = function.__doc__
            cls.__call__ = _method(function)

    @property
    def package(self) -> ModuleType:
        """The plugin as a Python package: what ``import annotator_agreement`` gives where that is installed."""
        return importlib.import_module(__package__.rpartition(".")[0])

    @property
    def config(self) -> foo.OperatorConfig:
        """The configuration that FiftyOne registers."""
        return foo.OperatorConfig(
            name=self.operator_name,
            label=self.label,
            description=self.description,
            icon=self.icon,
            dynamic=True,
            allow_immediate_execution=True,
            allow_delegated_execution=self.can_be_delegated,
            risk_level=self.risk,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        """The form; it shows errors of the input, which block execution."""
        inputs = types.Object()
        if self.run_text is None or _add_run_choice(inputs, ctx, self.run_text):
            try:
                self.add_inputs(inputs, ctx)
            except AgreementInputError as error:
                add_problem(inputs, error)
        return types.Property(inputs, view=types.PromptView(label=self.label, submit_button_label=self.submit))

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        """Add the form's inputs other than the run.

        Raises:
            AgreementInputError: if the input is not usable
        """


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as a method that does not use its object, with its signature and docstring."""

    @functools.wraps(function)
    def call(self: AgreementOperator, *arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    signature = inspect.signature(function)
    of_object = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__signature__ = signature.replace(parameters=[of_object, *signature.parameters.values()])  # type: ignore[attr-defined]
    return call


def chosen_run(ctx: foo.ExecutionContext) -> str:
    """The chosen run; when the form opens, the one that the panel gave it, or the newest.

    Raises:
        AgreementInputError: if there is none
    """
    keys = list(_runs_to_choose(ctx.dataset))
    if not ctx.params.get("run_key") and not keys:
        raise AgreementInputError("This dataset has no agreement runs; compute agreement first")
    chosen: str = ctx.params.get("run_key") or keys[0]
    return chosen


def is_from_app(ctx: foo.ExecutionContext) -> bool:
    """Whether the App asks for a form or sends one, not a caller in Python."""
    # of a form that is sent only the rest of the request tells it: only the App says which panels it shows
    return ctx.prompt_id is not None or "spaces" in ctx.request_params


def given_names(params: Mapping[str, Any], name: str) -> list[str]:
    """The names that a parameter gives, one or several; none if it is empty.

    Raises:
        AgreementInputError: if it is something else
    """
    given = params.get(name) or []
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(entry, str) for entry in names):
        raise AgreementInputError(f"`{name}` must be a list of names, got {given!r}")
    return list(names)


def _add_run_choice(inputs: types.Object, ctx: foo.ExecutionContext, description: str) -> bool:
    """Ask for a run; without runs, warn in the form and return False."""
    titles = _runs_to_choose(ctx.dataset) if ctx.dataset is not None else {}
    if not titles:
        add_warning(inputs, "no_runs", "This dataset has no agreement runs", "Compute agreement first")
        return False
    add_choice(inputs, "run_key", "Run", titles, description=description, required=True)
    return True


def _runs_to_choose(dataset: fo.Dataset) -> dict[str, str]:
    """The runs and their titles, the newest first; those that did not complete come last."""
    status = {key: Run(dataset, key).status for key in newest_first(dataset)}
    ordered = sorted(status, key=lambda key: status[key] != COMPLETED)
    return {key: key if status[key] == COMPLETED else f"{key} ({status[key]})" for key in ordered}


def add_choice(
    inputs: types.Object,
    name: str,
    label: str,
    titles: Mapping[str, str] | Iterable[str],
    *,
    default: str | None = None,
    as_radio_buttons: bool = False,
    **options: Any,
) -> None:
    """Ask for one of some values.

    Args:
        inputs: the form
        name: name of the parameter
        label: title of the input
        titles: the values with their titles, or only values
        default: the value when the form opens; None: the first one
        as_radio_buttons: whether to show radio buttons; else a dropdown
        options: options of the input, such as a description
    """
    titles = titles if isinstance(titles, Mapping) else {value: value for value in titles}
    view = types.RadioGroup() if as_radio_buttons else types.DropdownView()
    for value, title in titles.items():
        view.add_choice(value, label=title)
    inputs.enum(name, list(titles), label=label, default=default or next(iter(titles)), view=view, **options)


def add_several(
    inputs: types.Object, name: str, label: str, description: str, values: Iterable[str] | None, **options: Any
) -> None:
    """Ask for a list of texts: some of the given values, or free text if no values are given."""
    view = types.AutocompleteView(allow_user_input=values is None, allow_duplicates=False)
    for value in values or ():
        view.add_choice(value, label=value)
    inputs.list(name, types.String(), label=label, description=description, view=view, **options)


def add_switch(inputs: types.Object, name: str, label: str, description: str = "", *, default: bool = False) -> None:
    """Ask for yes or no."""
    inputs.bool(name, label=label, description=description or None, default=default, view=types.SwitchView())


def add_slider(inputs: types.Object, name: str, label: str, description: str, *, default: float = 0.5) -> None:
    """Ask for a number in (0, 1]; keep the description short, because the slider's value covers its middle."""
    view = types.SliderView(componentsProps={"slider": {"min": 0.05, "max": 1.0, "step": 0.05}})
    inputs.float(name, label=label, description=description, default=default, min=0.01, max=1.0, view=view)


def add_problem(inputs: types.Object, error: Exception) -> None:
    """Show an error that blocks execution."""
    problem = inputs.view("problem", types.Error(label=str(error)))
    problem.invalid, problem.error_message = True, str(error)


def add_warning(inputs: types.Object, name: str, label: str, description: str = "") -> None:
    """Show a warning that says why there is nothing to execute."""
    inputs.view(name, types.Warning(label=label, description=description or None)).invalid = True


def summary_output(label: str, outputs: types.Object | None = None) -> types.Property:
    """The result ``summary`` as Markdown, below other outputs."""
    outputs = types.Object() if outputs is None else outputs
    outputs.str("summary", view=types.MarkdownView())
    return types.Property(outputs, view=types.View(label=label))


def progress_of(ctx: foo.ExecutionContext) -> Any:
    """A callback that shows progress in the App."""
    return fo.report_progress(lambda bar: ctx.set_progress(progress=bar.progress, label="Samples"), dt=1.0)


def tell(ctx: foo.ExecutionContext, message: str, variant: str = "success", *, reload: bool = True) -> None:
    """Notify the user, if the App waits for the result, and reload the dataset."""
    if not ctx.delegated:
        if reload:
            show_sidebar(ctx)
            ctx.ops.reload_dataset()
        ctx.ops.notify(message, variant=variant)


def show_sidebar(ctx: foo.ExecutionContext) -> None:
    """Let the App show the groups of the sidebar, which it reads only when it opens a dataset."""
    groups = {"groups": sidebar_groups(ctx.dataset)}
    ctx.trigger(f"{names.PLUGIN_NAME}/{names.SHOW_SIDEBAR_GROUPS}", groups)


def show_colors(ctx: foo.ExecutionContext) -> None:
    """Let the App draw labels in the colours of the dataset, which it reads only when it opens a dataset."""
    scheme = ctx.dataset.app_config.color_scheme
    if scheme is None:
        ctx.trigger("reset_color_scheme")
    else:
        ctx.trigger("set_color_scheme", {"color_by": scheme.color_by, "fields": scheme.fields or []})
