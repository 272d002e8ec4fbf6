"""The operator that sets up the App for a run."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..dataset_io import configure_agreement_app
from ..dataset_io.app.settings import AppSettings, app_settings_of, check_settings
from ..dataset_io.record.run_labels import open_run_labels
from .base import AgreementOperator, add_choice, add_switch, chosen_run, show_colors, tell

_NOTHING = "nothing of the run"
_COLORS = {
    _NOTHING: "As it is",
    "annotator": "By annotator",
    "verdict": "By verdict",
    "id": "By object: labels of one object look alike",
}
_SWITCHES = {
    "sidebar": ("Group in the sidebar", "The fields of the run stand together"),
    "indexes": ("Indexes", "Filtering and sorting by the fields of the run is immediate on large datasets"),
    "link_instances": ("Link labels of one object", "Hovering one highlights the others"),
}


class ConfigureAgreementApp(AgreementOperator, function=configure_agreement_app):
    """Sets up the App for a run with the chosen settings."""

    operator_name = names.CONFIGURE_AGREEMENT_APP
    label = "Configure annotator agreement in the App"
    description = "Sidebar group, indexes, colours and links for an agreement run; undone with the run"
    icon = "palette"
    submit = "Apply"
    run_text = "The run that the App is set up for"
    can_be_delegated = True

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        run_key = chosen_run(ctx)
        current = app_settings_of(ctx.dataset, run_key)
        for name, (label, description) in _SWITCHES.items():
            add_switch(inputs, name, label, description, default=getattr(current, name))
        add_choice(inputs, "color_by", "Colour labels", _COLORS, default=current.color_by)
        check_settings(open_run_labels(ctx.dataset, run_key), AppSettings(**_given(ctx.params)))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        run_key = chosen_run(ctx)
        before = app_settings_of(ctx.dataset, run_key)
        settings = configure_agreement_app(ctx.dataset, run_key, **_given(ctx.params))
        if not ctx.delegated:
            if settings.color_by != before.color_by:
                show_colors(ctx)
            tell(ctx, "The App is set up")
        return _given(ctx.params)


def _given(params: dict[str, Any]) -> dict[str, Any]:
    """The settings that a form, or a caller, gave."""
    settings: dict[str, Any] = {name: params.get(name) or False for name in _SWITCHES}
    color_by = params.get("color_by")
    return {**settings, "color_by": None if color_by in (None, _NOTHING) else color_by}
